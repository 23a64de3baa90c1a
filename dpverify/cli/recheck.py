"""`dpverify recheck`: a verdict from saved evidence, without sampling and without running the mechanism."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dpverify.cli.common import publish, require_writable
from dpverify.cli.exit_codes import of_verdict
from dpverify.errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

EXAMPLE = "dpverify recheck examples/leaky_count_evidence.json"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """The evidence file."""
    parser.add_argument(
        "evidence", metavar="EVIDENCE.json", help="what `dpverify audit` wrote to --evidence, or with --output-format json"
    )


def run(options: argparse.Namespace) -> int:
    """Read, recompute, print."""
    require_writable(options.output, "--output")
    evidence = _read(options.evidence)

    from dpverify.audit.evidence import recheck
    from dpverify.report import audit as report

    result = recheck(evidence)
    publish(options, report.as_data(result) if options.output_format == "json" else report.as_text(result, rechecked=True))
    return of_verdict(result.verdict)


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
