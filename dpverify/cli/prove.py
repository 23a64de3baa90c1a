"""`dpverify prove`: theorems and refutations, each with a certificate that a small kernel checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpverify.cli.common import publish, require_writable, write_file
from dpverify.cli.exit_codes import NOTHING_REFUTED, REFUTED
from dpverify.errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from dpverify.prove.engine import Line

FORMATS = ("text", "json", "junit", "sarif", "github")
EXAMPLE = "dpverify prove V-T3 --check-only"
WRITER = "dpverify prove --write"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Which theorems, and whether they are proved anew."""
    parser.add_argument("ids", metavar="ID", nargs="*", help="theorems to show (default: all)")
    parser.add_argument("--check-only", action="store_true", help="check the committed certificates with the kernel alone")
    parser.add_argument("--write", action="store_true", help="write the certificates, proofs/MAPPING.md and reports/proofs.*")
    parser.add_argument("--directory", metavar="DIR", default="proofs", help="where the theorems are (default: proofs)")


def run(options: argparse.Namespace) -> int:
    """Prove or check, print; 0 if every certificate checks and every verdict is the one of the committed table."""
    if options.write and (options.ids or options.check_only):
        raise InputError("--write: the table is written whole; leave out the names of theorems and --check-only.")
    options.output = require_writable(options.output, "--output")
    from dpverify.prove import engine
    from dpverify.prove.library import read
    from dpverify.report import proofs as report

    directory = Path(options.directory)
    entries = read(directory)
    unknown = sorted(set(options.ids) - set(entries))
    if unknown:
        raise InputError(f"{', '.join(unknown)}: there is no such theorem; there are {', '.join(entries)}.")
    wanted = engine.with_lemmas(entries, options.ids) if options.ids else set(entries)
    lines = engine.check_all(entries, wanted) if options.check_only else engine.prove_all(entries, wanted, renew=options.write)
    shown = [line for line in lines if not options.ids or line.entry.name in options.ids]
    table = directory.parent / "reports" / "proofs.json"
    if options.write:
        _write(lines, directory, table)
    own = options.output_format in ("text", "json")
    if own:  # what could be shown is shown even where the committed table cannot be read
        publish(options, report.as_data(shown) if options.output_format == "json" else report.as_text(shown))
    different = _differences(lines, table)
    code = REFUTED if different or any(line.fault for line in lines) else NOTHING_REFUTED
    if not own:
        from dpverify.cli.outputs import foreign
        from dpverify.report.findings import of_proofs

        publish(options, foreign(options.output_format, of_proofs(shown, different), exit_code=code))
    return code


def _differences(lines: list[Line], table: Path) -> list[str]:
    """The theorems whose verdict is not the committed one."""
    try:
        committed = {row["id"]: row["verdict"] for row in json.loads(table.read_text(encoding="utf-8"))}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{table}: the committed table cannot be read ({error}); `{WRITER}` writes it.") from error
    return [line.entry.name for line in lines if committed.get(line.entry.name) != line.verdict]


def _write(lines: list[Line], directory: Path, table: Path) -> None:
    from dpverify.prove import engine
    from dpverify.report import proofs as report
    from dpverify.report.json import to_json

    for line in lines:
        line.entry.certificate_path.parent.mkdir(exist_ok=True)
        write_file(str(line.entry.certificate_path), engine.write(line.certificate), "--write")
    table.parent.mkdir(exist_ok=True)
    data = report.as_data(lines)
    if _without_times(_old(table)) != _without_times(data):  # times alone are no reason to change a committed file
        write_file(str(table), to_json(data), "--write")
    write_file(str(table.with_suffix(".md")), report.as_markdown(lines, WRITER), "--write")
    write_file(str(directory / "MAPPING.md"), report.mapping(lines, WRITER), "--write")


def _old(table: Path) -> Any:
    try:
        return json.loads(table.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []


def _without_times(rows: Any) -> list[Any]:
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]
