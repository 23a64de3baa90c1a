"""`dpverify audit`: sample a mechanism's code and try to refute its claim."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpverify.cli.common import publish, require_writable, text, whole, write_file
from dpverify.cli.exit_codes import NOTHING_REFUTED, of_verdict
from dpverify.errors import InputError, MechanismError, MissingDependency, shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Executor

    from dpverify.audit.result import AuditResult
    from dpverify.verdict import Triangulation

FORMATS = ("text", "json", "junit", "sarif", "github", "html")
EXAMPLE = "dpverify audit examples/sound_count.py:noisy_count --epsilon 1 --inputs 10 11"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """The claim, the two inputs, and how hard to try."""
    planned = "--plan" in words
    parser.add_argument(
        "target",
        metavar="TARGET",
        type=text,
        nargs="?" if planned else None,
        help="the mechanism: module:name or path/file.py:name",
    )
    claim = parser.add_argument_group("the claim", "A number is a decimal or a fraction and is taken exactly: 0.1, 1e-6, 1/3.")
    claim.add_argument("--epsilon", metavar="E", type=text, required=True, help="privacy loss, in nats")
    claim.add_argument("--delta", metavar="D", type=text, default="0", help="default: 0, pure differential privacy")
    claim.add_argument(
        "--inputs",
        metavar=("A", "B"),
        nargs=2,
        type=text,
        required=not planned,
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
    scale = parser.add_argument_group("scale", "Wherever outputs are drawn, the same seed gives the same evidence.")
    where = scale.add_mutually_exclusive_group()
    where.add_argument("--workers", metavar="W", type=whole, help="processes that call the mechanism; default: this one")
    where.add_argument(
        "--scheduler", metavar="ADDRESS", type=text, help="a dask scheduler whose workers call it, tcp://host:8786 say"
    )
    scale.add_argument(
        "--checkpoint", metavar="FILE", help="write every answer down, and go on from what is there: survives any interruption"
    )
    plan = parser.add_argument_group("plan", "How many outputs are needed, before any is drawn; TARGET and --inputs are not.")
    plan.add_argument("--plan", action="store_true", help="say what --samples could see, or what --resolution needs, and stop")
    plan.add_argument("--resolution", metavar="R", type=text, help="the violation, true epsilon minus E, that is to be seen")
    known = parser.add_argument_group("what is known", "The law of the code, whose certified numbers are then laid beside.")
    known.add_argument(
        "--told", metavar="LAW", type=text, help="a mechanism of `dpverify list` and its parameters: 'gaussian sigma=1'"
    )
    known.add_argument(
        "--answers", metavar=("A", "B"), nargs=2, type=float, help="true answers on the two inputs, where these are no numbers"
    )
    parser.add_argument("--evidence", metavar="FILE", help="save what was counted, for `dpverify recheck`")


def run(options: argparse.Namespace) -> int:
    """Load, audit, print, save. Whatever was measured is handed over even when the mechanism fails half way."""
    output, evidence = require_writable(options.output, "--output"), require_writable(options.evidence, "--evidence")
    if None not in (options.output, options.evidence) and os.path.realpath(options.output) == os.path.realpath(
        options.evidence
    ):
        raise InputError(f"--output and --evidence both name {options.output}; give each a file of its own.")
    options.output, options.evidence = output, evidence
    if options.checkpoint:
        options.checkpoint = os.path.abspath(options.checkpoint)
    if options.plan:
        return _plan(options)
    if options.answers is not None and options.told is None:
        raise InputError("--answers are what the noise of --told is added to; give both, or neither.")
    if options.resolution is not None:
        raise InputError("--resolution says what --plan is to find; give both, or neither.")
    with redirect_stdout(sys.stderr):  # what the audited code prints must not mix with the result
        mechanism, inputs = _loaded(options)
    try:
        with redirect_stdout(sys.stderr):
            found = _audit(options, mechanism, inputs)
    except (MechanismError, KeyboardInterrupt) as error:
        partial: AuditResult | None = getattr(error, "partial", None)
        if partial is not None:
            _hand_over(options, partial, mechanism, inputs)
        raise
    return _hand_over(options, found, mechanism, inputs)


def _loaded(options: argparse.Namespace) -> tuple[Any, tuple[Any, Any]]:
    """The mechanism and its inputs. What is loaded may change the working directory; names of files stay what they are."""
    from dpverify.gate.target import load_input, load_target

    here = os.getcwd()

    def found(words: str) -> Any:
        return load_input(os.path.join(here, words) if ".py:" in words and os.getcwd() != here else words)

    return load_target(options.target), (found(options.inputs[0]), found(options.inputs[1]))


def _audit(options: argparse.Namespace, mechanism: Any, inputs: tuple[Any, Any]) -> AuditResult | Triangulation:
    with _executor(options.scheduler) as executor:
        request = {
            "inputs": inputs,
            "epsilon": options.epsilon,
            "delta": options.delta,
            "samples": options.samples,
            "alpha": options.alpha,
            "seed": options.seed,
            "outputs": options.outputs,
            "timeout": options.timeout,
            "workers": options.workers,
            "executor": executor,
            "checkpoint": options.checkpoint,
        }
        if options.told is not None:
            from dpverify.verdict import triangulate

            return triangulate(mechanism, told=_law(options.told), answers=options.answers, **request)
        from dpverify.audit.api import audit

        return audit(mechanism, **request)


def _law(words: str) -> Any:
    """A mechanism of the catalogue from its name and parameters."""
    from dpverify.mechanisms import by_name

    name, *given = words.split()
    named = dict(word.split("=", 1) for word in given if "=" in word)
    if len(named) < len(given) or not given:
        raise InputError(f"--told {shown(words, str)}: write a name and its parameters, 'gaussian sigma=1 sensitivity=2' say.")
    try:
        return by_name(name)(**named)
    except TypeError as error:
        raise InputError(f"--told {shown(words, str)}: {error}.") from None


@contextmanager
def _executor(address: str | None) -> Iterator[Executor | None]:
    """The workers of a dask scheduler. Raises MissingDependency without dask, InputError where nobody answers."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise MissingDependency(
            "--scheduler needs dask, which is not installed here: pip install 'dpverify[dask]'. --workers needs nothing."
        ) from None
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            f"--scheduler {shown(address, str)}: no scheduler answers there ({type(error).__name__}: {shown(error, str)}); "
            f"start one with `dask scheduler` and give the address that it prints."
        ) from None
    with client:
        yield client.get_executor()


def _plan(options: argparse.Namespace) -> int:
    from dpverify.audit.planning import audit_plan
    from dpverify.report import audit_plan as report

    found = audit_plan(
        epsilon=options.epsilon,
        delta=options.delta,
        alpha=options.alpha,
        resolution=options.resolution,
        samples=options.samples,
    )
    publish(options, report.as_data(found) if options.output_format == "json" else report.as_text(found))
    return NOTHING_REFUTED


def _hand_over(options: argparse.Namespace, found: AuditResult | Triangulation, mechanism: Any, inputs: tuple[Any, Any]) -> int:
    from dpverify.audit.result import AuditResult
    from dpverify.report.json import to_json

    result = found if isinstance(found, AuditResult) else found.audit
    if options.evidence is not None:
        write_file(options.evidence, to_json(result.evidence), "--evidence")
    data = _page(options, result, mechanism, inputs) if options.output_format == "html" else _shown(options, result)
    if not isinstance(found, AuditResult) and options.output_format in ("text", "json"):
        from dpverify.report import triangulation

        data = triangulation.beside(found, data)
    publish(options, data)
    return of_verdict(found.verdict)


def _shown(options: argparse.Namespace, result: AuditResult) -> str | dict[str, Any]:
    from dpverify.report import audit as report

    if options.output_format in ("text", "json"):
        return report.as_data(result) if options.output_format == "json" else report.as_text(result)
    from dpverify.cli.outputs import foreign
    from dpverify.report.findings import of_audit

    module = options.target.rpartition(":")[0]
    file = module if module.endswith(".py") else getattr(sys.modules.get(module), "__file__", None)
    findings = of_audit(result, file=file)
    return foreign(options.output_format, findings, exit_code=of_verdict(result.verdict))


def _page(options: argparse.Namespace, result: AuditResult, mechanism: Any, inputs: tuple[Any, Any]) -> str:
    """The result as a page, with pictures of outputs that are drawn for them."""
    from dpverify.gate.claims import SampledClaim, place_of
    from dpverify.gate.diagnosis import diagnose
    from dpverify.gate.drawing import drawn
    from dpverify.gate.files import relative
    from dpverify.gate.outcome import Outcome
    from dpverify.report.html import as_html

    claim = SampledClaim(
        name=result.evidence["mechanism"]["name"],
        mechanism=mechanism,
        inputs=inputs,
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
            evidence=None if options.evidence is None else relative(Path(options.evidence)),
        )
        pictures, _ = drawn([outcome], seed=options.seed)
    return as_html([outcome], seed=options.seed, alpha=alpha, title=f"Audit of {claim.name}", pictures=pictures)
