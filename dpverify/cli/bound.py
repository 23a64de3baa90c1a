"""`dpverify bound`: solve for whichever of epsilon, delta and the noise parameter is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.cli.common import publish, text, whole
from dpverify.errors import ImpossibleRequest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

EXAMPLE = "dpverify bound gaussian --epsilon 1 --delta 1e-6"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Options for the quantities. Those of a mechanism come from its declaration, and only its file is read for them."""
    parser.add_argument("mechanism", metavar="NAME", type=text, help="a mechanism; `dpverify list` shows them all")
    quantities = parser.add_argument_group(
        "quantities",
        "All but one of epsilon, delta and the mechanism's parameters. A number is a decimal or a fraction, taken exactly.",
    )
    quantities.add_argument("--epsilon", metavar="E", type=text, help="privacy loss, in nats")
    quantities.add_argument("--delta", metavar="D", type=text, help="0 asks for pure differential privacy")
    quantities.add_argument("--sensitivity", metavar="S", type=text, default="1", help="default: 1")
    for name, meaning in _parameters(words).items():
        quantities.add_argument(f"--{name}", metavar="X", type=text, help=meaning)
    parser.add_argument("--digits", metavar="N", type=whole, default=15, help="guaranteed significant digits; default: 15")


def run(options: argparse.Namespace) -> int:
    """Solve and print. Raises InputError unless exactly one quantity is left out."""
    from dpverify.mechanisms import by_name
    from dpverify.report import bound

    mechanism = by_name(options.mechanism)
    given = {name: getattr(options, name) for name in ("epsilon", "delta", *(one.name for one in mechanism.parameters))}
    try:
        solved = mechanism.solve(sensitivity=options.sensitivity, digits=options.digits, **given)
    except ImpossibleRequest:
        if options.output_format == "json":
            publish(options, bound.refusal_as_data(options.mechanism, given, options.digits))
        raise
    if options.output_format == "json":
        publish(options, bound.as_data(solved))
    else:
        publish(options, bound.as_text(solved, {**given, "sensitivity": options.sensitivity}))
    return 0


def _parameters(words: Sequence[str]) -> dict[str, str]:
    """The parameters of the mechanism that is named among `words`, with their meaning; of all, where none is named."""
    from dpverify.mechanisms import by_name, names

    named = [name for name in names() if name in words] or names()
    found: dict[str, dict[str, None]] = {}
    for mechanism in map(by_name, named):
        for parameter in mechanism.parameters:
            found.setdefault(parameter.name, {})[parameter.meaning] = None
    return {name: "; ".join(meanings) for name, meanings in found.items()}
