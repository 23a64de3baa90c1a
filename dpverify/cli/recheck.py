"""`dpverify recheck`: a verdict from saved evidence, without sampling; with `--replay` the counts are drawn again."""

from __future__ import annotations

import ast
import json
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from dpverify.cli.common import publish, require_writable, text
from dpverify.cli.exit_codes import of_verdict
from dpverify.errors import InputError, shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

EXAMPLE = "dpverify recheck examples/leaky_count_evidence.json"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """The evidence file."""
    parser.add_argument(
        "evidence", metavar="EVIDENCE.json", help="what `dpverify audit` wrote to --evidence, or with --output-format json"
    )
    replay = parser.add_argument_group("replay", "Draw again from the recorded seeds, and compare every count.")
    replay.add_argument("--replay", metavar="TARGET", type=text, help="the mechanism: module:name or path/file.py:name")
    replay.add_argument(
        "--inputs",
        metavar=("A", "B"),
        nargs=2,
        type=text,
        help="the two inputs, where the evidence does not hold them as Python literals",
    )


def run(options: argparse.Namespace) -> int:
    """Read, recompute, print."""
    options.output = require_writable(options.output, "--output")
    evidence = _read(options.evidence)

    from dpverify.audit.evidence import recheck
    from dpverify.report import audit as report

    result = recheck(evidence)
    if options.replay is not None:
        with redirect_stdout(sys.stderr):  # what the audited code prints must not mix with the result
            _replay(options, evidence)
    elif options.inputs is not None:
        raise InputError("--inputs: a recheck uses no inputs; name the mechanism with --replay TARGET as well.")
    own = report.as_data(result) if options.output_format == "json" else report.as_text(result, rechecked=True)
    publish(options, f"{own}{_AGREES}" if isinstance(own, str) and options.replay is not None else own)
    return of_verdict(result.verdict)


_AGREES = "  replay    drawn again from the recorded seeds; every count agrees\n"


def _replay(options: argparse.Namespace, evidence: dict[str, Any]) -> None:
    """Audit again as the evidence says. Raises InputError that names what is different, if anything is."""
    from dpverify.audit.api import audit
    from dpverify.gate.target import load_input, load_target

    mechanism = load_target(options.replay)
    inputs = (
        (load_input(options.inputs[0]), load_input(options.inputs[1]))
        if options.inputs is not None
        else tuple(_literal(words) for words in evidence["mechanism"]["inputs"])
    )
    try:
        again = audit(
            mechanism,
            inputs=(inputs[0], inputs[1]),
            epsilon=evidence["claim"]["epsilon"],
            delta=evidence["claim"]["delta"],
            **{key: evidence[key] for key in ("samples", "alpha", "seed", "outputs", "stop_early")},
        ).evidence
    except KeyError as error:
        raise InputError(f"evidence: {error} is missing, so the audit cannot be made again; the file was cut.") from error
    found = _difference(evidence, again, "evidence")
    if found is not None:
        versions = evidence.get("versions")
        raise InputError(
            f"{found}. This is another mechanism than the evidence is of, or one whose noise does not come from rng, or the"
            f" versions differ too much: the evidence has {shown(versions, str)}, here are {again['versions']}."
        )


def _literal(words: str) -> Any:
    try:
        return ast.literal_eval(words)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise InputError(
            f"evidence: the input {shown(words, str)} is no Python literal; give both with --inputs A B to replay."
        ) from None


def _difference(stored: Any, again: Any, place: str) -> str | None:
    """The first difference, in words; what names versions and the mechanism is left aside."""
    if isinstance(stored, dict) and isinstance(again, dict):
        keys = [key for key in again if key not in ("versions", "mechanism", "tested")]
        return next(filter(None, (_difference(stored.get(key), again[key], f"{place}.{key}") for key in keys)), None)
    if isinstance(stored, list) and isinstance(again, list) and len(stored) == len(again):
        pairs = enumerate(zip(stored, again, strict=True))
        return next(filter(None, (_difference(*pair, f"{place}[{number}]") for number, pair in pairs)), None)
    if stored == again:
        return None
    return f"{place} = {shown(stored)} is stored, and drawn again it is {shown(again)}"


def _read(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as stream:
            found = json.load(stream)
    except OSError as error:
        raise InputError(
            f"{path}: this file cannot be read ({error.strerror}); name a file that audit --evidence wrote."
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: this file is no JSON ({error}); name a file that audit --evidence wrote.") from error
    # The JSON result of an audit holds its evidence; whoever saved that one has what is needed.
    return found["evidence"] if isinstance(found, dict) and "schema" not in found and "evidence" in found else found
