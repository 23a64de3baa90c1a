"""The table of theorems as text, Markdown and data, and the map from paper items to files. Pure functions of checked lines."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from dpverify.prove.kernel.evaluation import evaluate
from dpverify.prove.kernel.intervals import Arithmetic
from dpverify.prove.kernel.terms import Rejected, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dpverify.prove.engine import Line
    from dpverify.prove.kernel.statements import Statement
    from dpverify.prove.kernel.terms import Term

_WIDTH = 100
_DIGITS = 6
_SOURCES = (
    "[V]: S. Vinterbo, Differential Privacy for Symmetric Log-Concave Mechanisms (AISTATS 2022). [Liu]: F. Liu,",
    "Generalized Gaussian Mechanism for Differential Privacy (IEEE TKDE 2019). [CH]: B. Chen, M. Hale, The Bounded",
    "Gaussian Mechanism for Differential Privacy (2022). [BW]: B. Balle, Y.-X. Wang, Improving the Gaussian Mechanism for",
    "Differential Privacy (ICML 2018).",
)


def as_data(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The documented JSON of `prove` and of reports/proofs.json."""
    return [
        {
            "id": line.entry.name,
            "claim": line.entry.theorem.claim,
            "source": line.entry.table["source"],
            "verdict": line.verdict,
            "trust": trust(line),
            "obligations": list(obligations(line)),
            "witness": witness(line),
            "seconds": round(line.seconds, 3),
        }
        for line in lines
    ]


def trust(line: Line) -> str:
    """What a reader must believe beside the kernel."""
    theorem = line.entry.theorem
    schema = line.entry.table["schema"]
    parts = ["kernel", f"schema {schema}"]
    lemmas = [obligation.lemma for obligation in theorem.obligations if obligation.lemma]
    if lemmas:
        parts.append(f"theorems {', '.join(lemmas)}")
    parts += [f"CITED, NOT CHECKED: {cite}" for cite in line.outcome.cited]
    return "; ".join(parts)


def obligations(line: Line) -> Iterator[str]:
    """Each obligation with the kinds of steps that met it, or OPEN."""
    certified = line.certificate.get("obligations", {}) if not line.fault else {}
    for obligation in line.entry.theorem.obligations:
        if obligation.lemma:
            state = "OPEN" if f"lemma {obligation.lemma}" in line.outcome.missing else "lemma"
        elif obligation.cite:
            state = "CITED, NOT CHECKED"
        elif obligation.name in certified:
            state = ", ".join(sorted(set(_kinds(certified[obligation.name]["step"]))))
        else:
            state = "OPEN"
        yield f"{obligation.name}: {state}"


def witness(line: Line) -> str | None:
    """The witness of a refutation in one line, with both sides of what it shows; None where nothing is refuted."""
    if not line.entry.theorem.refutes or line.fault or line.outcome.missing:
        return None
    if "exhibit" in line.entry.table:
        return str(line.entry.table["exhibit"])
    parts = [_event(line.entry.table)] if {"event", "count"} & set(line.entry.table) else []
    for obligation in line.entry.theorem.obligations:
        if obligation.statement is None or not obligation.statement.exists:
            continue
        step = line.certificate["obligations"][obligation.name]["step"]
        point = ", ".join(f"{name} = {_decimal(value)}" for name, value in step["point"].items())
        parts.append(f"{point or obligation.name}: {_sides(obligation.statement, step['point'])}")
    return "; ".join(parts)


def _event(table: Mapping[str, Any]) -> str:
    """The event of a refutation, in words."""
    if "count" in table:
        count = table["count"]
        return f"{count['least']} or more of {count['coordinates']} outputs above {count['threshold']} scales"
    event = table["event"]
    boxes = " or ".join(" x ".join(f"[{low}, {high}]" for low, high in box) for box in event["boxes"])
    return f"shift ({', '.join(event['shift'])}), epsilon {event['epsilon']}, outputs in {boxes}"


def _sides(statement: Statement, point: dict[str, str]) -> str:
    relation = statement.conclusion.under({name: number(text) for name, text in point.items()})
    return f"{_value(relation.left)} {relation.op} {_value(relation.right)}"


def _value(term: Term) -> str:
    try:
        value = evaluate(term, {}, Arithmetic(40))
    except Rejected:
        return "(not a single number)"
    return f"{value.low:.{_DIGITS}g}"


def _decimal(text: str) -> str:
    """A rational as a decimal where that is exact and short."""
    value = number(text)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1 or len(text) > 30:
        return text
    places = next(k for k in range(40) if (value * 10**k).denominator == 1)
    return f"{value.numerator * 10**places // value.denominator}e-{places}" if places > 12 else f"{float(value):.{places}f}"


def _kinds(step: Any) -> Iterator[str]:
    if isinstance(step, dict):
        if "kind" in step:
            yield step["kind"]
        for part in step.values():
            yield from _kinds(part)
    elif isinstance(step, list):
        for part in step:
            yield from _kinds(part)


def as_text(lines: Sequence[Line]) -> str:
    """One line a theorem; below it what is open, cited, wrong or the witness."""
    width = max((len(line.entry.name) for line in lines), default=0)
    written = []
    for line in lines:
        written.append(f"{line.entry.name:{width}}  {line.verdict}")
        for label, text in _notes(line):
            written += textwrap.wrap(
                f"{label}: {text}", _WIDTH, initial_indent=" " * (width + 2), subsequent_indent=" " * (width + 4)
            )
    return "\n".join(written) + "\n"


def _notes(line: Line) -> Iterator[tuple[str, str]]:
    if line.fault:
        yield "REJECTED", line.fault
    shown = witness(line)
    if shown:
        yield "witness", shown
    if line.outcome.missing and not line.fault:
        yield "open", "; ".join(line.outcome.missing)
    for cite in line.outcome.cited:
        yield "CITED, NOT CHECKED", cite


def as_markdown(lines: Sequence[Line], command: str) -> str:
    """reports/proofs.md: the table, then each claim with its obligations. No times: the same proofs give the same bytes."""
    counts: dict[str, int] = {}
    for line in lines:
        counts[line.verdict] = counts.get(line.verdict, 0) + 1
    summary = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    written = [
        "# Theorems and refutations",
        "",
        f"Written by `{command}`. {len(lines)} claims: {summary}.",
        "",
        *_SOURCES,
        "",
        "| id | source | verdict | trust | witness or what is open |",
        "|---|---|---|---|---|",
    ]
    for line in lines:
        remark = witness(line) or "; ".join(line.outcome.missing)
        source = line.entry.table["source"]
        written.append(f"| {line.entry.name} | {source} | {line.verdict} | {trust(line)} | {_cell(remark)} |")
    for line in lines:
        written += ["", f"## {line.entry.name}", "", line.entry.theorem.claim, "", f"**{line.verdict}**", ""]
        if "note" in line.entry.table:
            written += [str(line.entry.table["note"]), ""]
        written += [
            f"What is shown: {line.entry.theorem.conclusion}",
            "",
            line.entry.theorem.argument,
            "",
            *(f"- {text}" for text in obligations(line)),
        ]
        mutants = [f"- mutant: {mutant['why']}" for mutant in line.entry.table.get("mutant", [])]
        written += [f"{text} (refuted)" for text in mutants] if not line.fault else mutants
    return "\n".join(written) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def mapping(lines: Sequence[Line], command: str) -> str:
    """proofs/MAPPING.md: paper item -> file."""
    written = [
        "# From paper items to files",
        "",
        f"Written by `{command}`.",
        "",
        "| item | theorem | certificate | schema |",
        "|---|---|---|---|",
    ]
    for line in sorted(lines, key=lambda line: (line.entry.table["source"], line.entry.name)):
        name = line.entry.name
        files = f"[{name}.toml]({name}.toml) | [{name}.json](certificates/{name}.json)"
        written.append(f"| {line.entry.table['source']} | {files} | {line.entry.table['schema']} |")
    return "\n".join(written) + "\n"
