"""Proving and checking: a theorem's hints become a certificate, and certificates become verdicts.

Checking needs the kernel and the schemas alone; `prove` imports the tactics when it runs.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dpverify.errors import InputError
from dpverify.prove.kernel.certificate import FORMAT, Outcome, load, seal, verify
from dpverify.prove.kernel.terms import Rejected
from dpverify.prove.schemas.reading import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dpverify.prove.library import Entry

RETRACTED = "retracted by its author (and our refutation)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the table. `fault` says what is wrong with the certificate, "" if nothing is; `seconds` is the time taken."""

    entry: Entry
    verdict: str
    outcome: Outcome
    certificate: dict[str, Any] = field(default_factory=dict)
    fault: str = ""
    seconds: float = 0.0


def check_all(entries: Mapping[str, Entry], wanted: set[str]) -> list[Line]:
    """The committed certificates of the wanted theorems, checked by the kernel. `wanted` holds their lemmas too."""
    established: dict[str, Outcome] = {}
    lines = []
    for name, entry in entries.items():
        if name in wanted:
            lines.append(judge(entry, committed(entry), established))
    return sorted(lines, key=lambda line: line.entry.name)


def committed(entry: Entry) -> str | None:
    """The text of the certificate beside a theorem, None if there is none. Raises InputError if it cannot be read."""
    path = entry.certificate_path
    try:
        return path.read_text(encoding="utf-8") if path.exists() else None
    except (OSError, UnicodeError) as error:
        raise InputError(f"{path}: this certificate cannot be read ({error}); `dpverify prove --write` renews it.") from error


def prove_all(entries: Mapping[str, Entry], wanted: set[str], *, renew: bool = False) -> list[Line]:
    """New certificates for the wanted theorems, checked by the kernel; formulas compared with those of the mechanisms named.

    Unless they are to be renewed, the committed certificates are checked too.
    """
    from dpverify.prove.tactics.pins import difference

    established: dict[str, Outcome] = {}
    lines = []
    for name, entry in entries.items():
        if name in wanted:
            start = time.perf_counter()
            line = judge(entry, write(certify(entry)), established)
            fault = line.fault or difference(entry)
            if not renew:
                fault = fault or judge(entry, committed(entry), dict(established)).fault
            lines.append(replace(line, fault=fault, seconds=time.perf_counter() - start))
    return sorted(lines, key=lambda line: line.entry.name)


def with_lemmas(entries: Mapping[str, Entry], names: Iterable[str]) -> set[str]:
    """The names and everything that they rest on."""
    found: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += [obligation.lemma for obligation in entries[name].theorem.obligations if obligation.lemma]
    return found


def certify(entry: Entry, complaints: list[str] | None = None) -> dict[str, Any]:
    """A certificate for a theorem: its obligations and mutants, as far as the hints and the search reach.

    An obligation for which nothing is found is left out, and will be listed as open; `complaints` receives why.
    """
    from dpverify.prove.tactics.search import NotFound, find, sample

    reader = Reader(entry.table.get("let"))
    hints: Mapping[str, Any] = entry.table.get("proof", {})
    met = {}
    for obligation in entry.theorem.obligations:
        if obligation.statement is None:
            continue
        hint = dict(hints.get(obligation.name, {}))
        place = hint.pop("point", {}) if not obligation.statement.exists else {}
        try:
            point = None if obligation.statement.exists else sample(obligation.statement, place, reader)
            met[obligation.name] = {"point": point, "step": find(obligation.statement, hint, reader)}
        except NotFound as error:
            if complaints is not None:
                complaints.append(f"{entry.name}, {obligation.name}: {error}")
    mutants = []
    for hint, mutant in zip(entry.table.get("mutant", []), entry.theorem.mutants, strict=True):
        point = {name: str(reader.term(text)) for name, text in hint["point"].items()}
        name = hint.get("obligation") or next(
            changed.name for changed, old in zip(mutant, entry.theorem.obligations, strict=True) if changed != old
        )
        mutants.append({"obligation": name, "point": point})
    certificate = {
        "format": FORMAT,
        "theorem": entry.name,
        "claim": entry.theorem.fingerprint(),
        "obligations": met,
        "mutants": mutants,
    }
    return {**certificate, "seal": seal(certificate)}


def write(certificate: Mapping[str, Any]) -> str:
    """A certificate as text: the same bytes for the same certificate."""
    return json.dumps(certificate, indent=1, ensure_ascii=True, sort_keys=True) + "\n"


def judge(entry: Entry, text: str | None, established: dict[str, Outcome]) -> Line:
    """Check a certificate's text (None: there is none) and say what the theorem earned. `established` receives the outcome."""
    start = time.perf_counter()
    stated = tuple(obligation.name for obligation in entry.theorem.obligations if obligation.statement)
    fault, outcome, certificate = "", Outcome(verdict="open", missing=stated), {}
    if text is not None:
        try:
            certificate = load(text)
            outcome = verify(entry.theorem, certificate, established)
        except Rejected as error:
            fault = str(error)
    if not fault:
        established[entry.name] = outcome
    verdict = outcome.verdict
    if entry.table.get("retracted") and verdict == "refuted with witness":
        verdict = RETRACTED
    seconds = time.perf_counter() - start
    return Line(entry=entry, verdict=verdict, outcome=outcome, certificate=certificate, fault=fault, seconds=seconds)
