"""`dpverify gate`: every claim of a project, from pyproject.toml and from decorated functions, in one run."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpverify.cli.common import publish, require_writable, text, write_file
from dpverify.cli.outputs import FOREIGN, foreign
from dpverify.cli.outputs import FORMATS as COMMON
from dpverify.errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from dpverify.gate.config import Configuration
    from dpverify.gate.outcome import Outcome

FORMATS = (*COMMON, "html")
EXAMPLE = "dpverify gate --config examples/pyproject.toml"
__all__ = ["EXAMPLE", "FORMATS", "configure", "run"]


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Where the claims are, what replaces their settings, and what is written besides."""
    parser.add_argument("--config", metavar="FILE", default="pyproject.toml", help="default: pyproject.toml")
    effort = parser.add_argument_group("effort", "These replace what [tool.dpverify] says.")
    effort.add_argument("--budget", metavar="TIME", type=text, help="time for all claims, such as 90s or 5m; default: no limit")
    effort.add_argument(
        "--alpha", metavar="A", type=text, help="probability that the run refutes any true claim; default: 1e-6"
    )
    effort.add_argument("--seed", metavar="K", type=text, help="seed of the run, or random; default: 0")
    effort.add_argument("--no-cache", action="store_true", help="audit again what an earlier run has audited (so if CI=true)")
    parser.add_argument("--evidence", metavar="DIR", help="where evidence is written; default: .dpverify/evidence beside FILE")
    parser.add_argument(
        "--also",
        metavar="FORMAT=FILE",
        action="append",
        default=[],
        type=_also,
        help=f"write the results to FILE as well; FORMAT is one of {', '.join(FORMATS)}; may be repeated",
    )
    parser.add_argument("--verbose", action="store_true", help="explain every claim, not only those that are not in order")


def run(options: argparse.Namespace) -> int:
    """Read, check, print."""
    files = [(options.output, "--output"), *[(path, "--also") for _, path in options.also]]
    kept = [require_writable(path, option) for path, option in files]
    _require_different([path for path, _ in files if path is not None])
    options.output, options.also = kept[0], [(form, path) for (form, _), path in zip(options.also, kept[1:], strict=True)]
    options.evidence = options.evidence and os.path.abspath(options.evidence)
    from dpverify.gate.config import ConfigurationError
    from dpverify.gate.outcome import worst
    from dpverify.report.findings import of_configuration, of_gate

    try:
        with redirect_stdout(sys.stderr):  # what the audited code prints must not mix with the results
            configuration = _configuration(options)
            outcomes = _outcomes(options, configuration)
    except ConfigurationError as error:
        findings = of_configuration(error)
        for form, path in _wanted(options):
            if form in FOREIGN:
                _write(options, path, foreign(form, findings, exit_code=error.exit_code))
        raise
    code = worst([outcome.exit_code for outcome in outcomes])
    for form, path in _wanted(options):
        if form in FOREIGN:
            _write(options, path, foreign(form, of_gate(outcomes), exit_code=code))
        else:
            _write(options, path, _own(form, outcomes, configuration, verbose=options.verbose))
    return code


def _require_different(paths: list[str]) -> None:
    """No result may overwrite another."""
    seen: set[str] = set()
    for path in paths:
        if (real := os.path.realpath(path)) in seen:
            raise InputError(f"--output, --also: {path} is named twice; give each result a file of its own.")
        seen.add(real)


def _require_directory(path: Path) -> None:
    """Find out before the work starts whether evidence can be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise InputError(
            f"{path}: evidence cannot be written there ({error.strerror}); name a directory that you may write to: --evidence."
        ) from error


def _configuration(options: argparse.Namespace) -> Configuration:
    from dataclasses import replace

    from dpverify.gate import spending
    from dpverify.gate.config import read

    changes: dict[str, Any] = {}
    if options.budget is not None:
        changes["seconds"] = spending.seconds_of(options.budget, "--budget")
    if options.alpha is not None:
        changes["alpha"] = spending.alpha_of(options.alpha, "--alpha")
    if options.seed is not None:
        changes["seed"] = spending.seed_from(options.seed, "--seed")
    return replace(read(Path(options.config)), **changes)


def _outcomes(options: argparse.Namespace, configuration: Configuration) -> list[Outcome]:
    from dpverify.cli.progress import Progress
    from dpverify.gate import cache
    from dpverify.gate.claims import SampledClaim
    from dpverify.gate.files import DIRECTORY
    from dpverify.gate.run import run as run_claims

    evidence = Path(options.evidence) if options.evidence else configuration.root / DIRECTORY / "evidence"
    if any(isinstance(claim, SampledClaim) for claim in configuration.claims):
        _require_directory(evidence)
    remember = cache.wanted() and not options.no_cache
    with Progress(len(configuration.claims)) as progress:
        return list(run_claims(configuration, remember=remember, evidence=evidence, told=lambda outcome: progress.advance()))


def _own(form: str, outcomes: list[Outcome], configuration: Configuration, *, verbose: bool) -> str | dict[str, Any]:
    from dpverify.report import gate as report

    if form == "html":
        from dpverify.gate.drawing import drawn
        from dpverify.report.html import as_html

        with redirect_stdout(sys.stderr):
            pictures, profiles = drawn(outcomes, seed=configuration.seed)
        return as_html(outcomes, seed=configuration.seed, alpha=configuration.alpha, pictures=pictures, profiles=profiles)
    if form == "json":
        return report.as_data(outcomes, seed=configuration.seed, alpha=configuration.alpha)
    return report.as_text(outcomes, seed=configuration.seed, alpha=configuration.alpha, verbose=verbose)


def _wanted(options: argparse.Namespace) -> list[tuple[str, str | None]]:
    """Every format that is asked for, with its file; None is where --output says."""
    return [(options.output_format, None), *options.also]


def _write(options: argparse.Namespace, path: str | None, result: str | dict[str, Any]) -> None:
    from dpverify.report.json import to_json

    if path is None:
        publish(options, result)
    else:
        write_file(path, result if isinstance(result, str) else to_json(result), "--also")


def _also(words: str) -> tuple[str, str]:
    form, sign, path = words.partition("=")
    if form not in FORMATS or not sign or not path:
        import argparse

        raise argparse.ArgumentTypeError(f"{words!r} is not FORMAT=FILE with a FORMAT of {', '.join(FORMATS)}")
    return form, path
