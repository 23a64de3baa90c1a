"""`dpverify audit`: sample a mechanism's code and try to refute its claim."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from dpverify.cli.common import publish, require_writable, text, whole, write_file
from dpverify.cli.exit_codes import of_verdict
from dpverify.errors import InputError, MechanismError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from dpverify.audit.api import AuditResult

FORMATS = ("text", "json", "junit", "sarif", "github", "html")
EXAMPLE = "dpverify audit examples/sound_count.py:noisy_count --epsilon 1 --inputs 10 11"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """The claim, the two inputs, and how hard to try."""
    parser.add_argument("target", metavar="TARGET", type=text, help="the mechanism: module:name or path/file.py:name")
    claim = parser.add_argument_group("the claim", "A number is a decimal or a fraction and is taken exactly: 0.1, 1e-6, 1/3.")
    claim.add_argument("--epsilon", metavar="E", type=text, required=True, help="privacy loss, in nats")
    claim.add_argument("--delta", metavar="D", type=text, default="0", help="default: 0, pure differential privacy")
    claim.add_argument(
        "--inputs",
        metavar=("A", "B"),
        nargs=2,
        type=text,
        required=True,
        help="two neighbouring datasets: Python literals, or path/file.py:NAME",
    )
    effort = parser.add_argument_group("effort")
    effort.add_argument("--samples", metavar="N", type=whole, default=10**6, help="outputs a side, at most; default: 1000000")
    effort.add_argument(
        "--alpha", metavar="A", type=text, default="1e-3", help="probability of refuting a true claim; default: 1e-3"
    )
    effort.add_argument("--seed", metavar="K", type=whole, default=0, help="the same seed gives the same verdict; default: 0")
    effort.add_argument(
        "--outputs",
        choices=("bits", "reals"),
        default="bits",
        help="bits: floats as they are; reals: floats rounded first, so that low-order bits play no part; default: bits",
    )
    effort.add_argument(
        "--timeout",
        metavar="T",
        type=float,
        help="seconds that one call of the mechanism may take; it then runs in a child process; default: no limit",
    )
    parser.add_argument("--evidence", metavar="FILE", help="save what was counted, for `dpverify recheck`")


def run(options: argparse.Namespace) -> int:
    """Load, audit, print, save. Whatever was measured is handed over even when the mechanism fails half way."""
    for path, option in ((options.output, "--output"), (options.evidence, "--evidence")):
        require_writable(path, option)
    if None not in (options.output, options.evidence) and os.path.realpath(options.output) == os.path.realpath(
        options.evidence
    ):
        raise InputError(f"--output and --evidence both name {options.output}; give each a file of its own.")
    try:
        with redirect_stdout(sys.stderr):  # what the audited code prints must not mix with the result
            result = _audit(options)
    except (MechanismError, KeyboardInterrupt) as error:
        partial: AuditResult | None = getattr(error, "partial", None)
        if partial is not None:
            _hand_over(options, partial)
        raise
    return _hand_over(options, result)


def _audit(options: argparse.Namespace) -> AuditResult:
    from dpverify.gate.target import load_input, load_target

    mechanism = load_target(options.target)
    inputs = (load_input(options.inputs[0]), load_input(options.inputs[1]))

    from dpverify.audit.api import audit

    return audit(
        mechanism,
        inputs=inputs,
        epsilon=options.epsilon,
        delta=options.delta,
        samples=options.samples,
        alpha=options.alpha,
        seed=options.seed,
        outputs=options.outputs,
        timeout=options.timeout,
    )


def _hand_over(options: argparse.Namespace, result: AuditResult) -> int:
    from dpverify.report.json import to_json

    if options.evidence is not None:
        write_file(options.evidence, to_json(result.evidence), "--evidence")
    publish(options, _shown(options, result))
    return of_verdict(result.verdict)


def _shown(options: argparse.Namespace, result: AuditResult) -> str | dict[str, Any]:
    from dpverify.report import audit as report

    if options.output_format in ("text", "json"):
        return report.as_data(result) if options.output_format == "json" else report.as_text(result)
    if options.output_format == "html":
        return _page(options, result)
    from dpverify.cli.outputs import foreign
    from dpverify.report.findings import of_audit

    place = options.target.rpartition(":")[0]
    file = place if place.endswith(".py") else getattr(sys.modules.get(place), "__file__", None)
    findings = of_audit(result, file=file)
    return foreign(options.output_format, findings, exit_code=of_verdict(result.verdict))


def _page(options: argparse.Namespace, result: AuditResult) -> str:
    """The result as a page, with pictures of outputs that are drawn for them."""
    from dpverify.gate.claims import SampledClaim, place_of
    from dpverify.gate.diagnosis import diagnose
    from dpverify.gate.drawing import drawn
    from dpverify.gate.outcome import Outcome
    from dpverify.gate.target import load_input, load_target
    from dpverify.report.html import as_html

    mechanism = load_target(options.target)
    claim = SampledClaim(
        name=result.evidence["mechanism"]["name"],
        mechanism=mechanism,
        inputs=(load_input(options.inputs[0]), load_input(options.inputs[1])),
        epsilon=options.epsilon,
        delta=options.delta,
        outputs=options.outputs,
        place=place_of(mechanism),
        target=options.target,
    )
    alpha = result.evidence["alpha"]
    with redirect_stdout(sys.stderr):
        outcome = Outcome(
            claim=claim,
            verdict=result.verdict,
            seconds=result.seconds,
            alpha=alpha,
            seed=options.seed,
            result=result,
            diagnosis=diagnose(claim, result, options.seed),
            evidence=options.evidence,
        )
        pictures, _ = drawn([outcome], seed=options.seed)
    return as_html([outcome], seed=options.seed, alpha=alpha, title=f"Audit of {claim.name}", pictures=pictures)
