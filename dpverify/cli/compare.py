"""`dpverify compare`: which mechanism adds the least noise at a given guarantee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpverify.cli.common import publish, text, whole
from dpverify.cli.exit_codes import NOTHING_REFUTED, UNUSABLE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

EXAMPLE = "dpverify compare --epsilon 1 --delta 1e-6"
FORMATS = ("text", "json", "csv")


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """The guarantee that all mechanisms are calibrated to."""
    request = parser.add_argument_group("guarantee", "A number is a decimal or a fraction, taken exactly.")
    request.add_argument("--epsilon", metavar="E", type=text, required=True, help="privacy loss, in nats")
    request.add_argument("--delta", metavar="D", type=text, default="0", help="default: 0, which asks for pure DP")
    request.add_argument("--sensitivity", metavar="S", type=text, default="1", help="default: 1")
    parser.add_argument("--digits", metavar="N", type=whole, default=15, help="guaranteed significant digits; default: 15")


def run(options: argparse.Namespace) -> int:
    """Calibrate every mechanism that adds noise to a number, and rank them by mean squared error.

    Rows that cannot be answered say why. What was computed before an interruption is printed before it takes its course.
    """
    from dpverify.cli.progress import Progress
    from dpverify.enclose.refine import check_digits
    from dpverify.mechanisms._comparison import entries, ranked

    check_digits(options.digits)
    request = {name: getattr(options, name) for name in ("epsilon", "delta", "sensitivity")}
    contenders: list[Any] = []
    computed = entries(**request)
    try:
        with Progress(len(computed)) as progress:
            for compute in computed:
                contenders.append(compute(options.digits))
                progress.advance()
    finally:
        if contenders:
            publish(options, _written(options, ranked(contenders), request))
    return NOTHING_REFUTED if any(one.error is not None for one in contenders) else UNUSABLE


def _written(options: argparse.Namespace, contenders: list[Any], request: dict[str, str]) -> Any:
    from dpverify.report import compare

    if options.output_format == "json":
        return compare.as_data(contenders)
    return compare.as_csv(contenders) if options.output_format == "csv" else compare.as_text(contenders, request)
