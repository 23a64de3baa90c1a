"""The result of an audit as text and as data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpverify.arithmetic.rounded import down, up
from dpverify.guarantees import Verdict
from dpverify.report.layout import INDENT, row

if TYPE_CHECKING:
    from dpverify.audit.result import AuditResult, Witness

_LONGEST_INPUT = 50

MEANING = {
    Verdict.REFUTED: "A true claim is refuted with a probability of at most {alpha:.3g}.",
    Verdict.NOT_REFUTED: "This speaks of the events that were tested. Others may exist.",
    Verdict.UNDECIDED: "The claim is neither refuted nor spoken for.",
}


def as_data(result: AuditResult) -> dict[str, Any]:
    """The documented JSON of `audit` and `recheck`; `evidence` is the object itself."""
    return {
        "verdict": result.verdict.value,
        "epsilon": result.epsilon,
        "delta": result.delta,
        "epsilon_lower": result.epsilon_lower,
        "confidence": result.confidence,
        "samples": result.samples,
        "witness": None if result.witness is None else result.witness.to_json(),
        "detectable_epsilon": result.detectable_epsilon,
        "seconds": result.seconds,
        "evidence": result.evidence,
    }


def as_text(result: AuditResult, *, rechecked: bool = False) -> str:
    """The verdict in one line; below it what was measured, the witness or the power, and what that means.

    Lower bounds are rounded down and detectable values up, so that the text never says more than the numbers do.
    `rechecked` says that the verdict was recomputed from saved counts.
    """
    claim = f"epsilon = {result.epsilon:.6g}, delta = {result.delta:.6g}"
    mechanism = result.evidence["mechanism"]
    lines = [_headline(result.verdict, mechanism["name"], claim)]
    lines += row("measured", measured(result))
    if result.witness is not None:
        lines += witness_rows(result.witness, mechanism["inputs"])
    if result.verdict is not Verdict.REFUTED:
        lines += row("power", power(result.detectable_epsilon))
    lines += row("samples", f"{result.samples:,} outputs a side, of at most {result.evidence['samples']:,}")
    for note in result.notes:
        lines += row("note", note)
    lines += row("meaning", MEANING[result.verdict].format(alpha=result.evidence["alpha"]))
    if rechecked:
        lines += row("source", "recomputed from saved counts, which are not signed; nothing was sampled")
    return "\n".join(lines) + "\n"


def _headline(verdict: Verdict, name: str, claim: str) -> str:
    sentence = {
        Verdict.REFUTED: f"{name} does not satisfy {claim}.",
        Verdict.NOT_REFUTED: f"no event that was tested contradicts {claim} of {name}.",
        Verdict.UNDECIDED: f"the audit of {name} cannot tell whether it satisfies {claim}.",
    }[verdict]
    return f"{verdict.value}: {sentence}"


def witness_rows(witness: Witness, inputs: list[str]) -> list[str]:
    """The event, and how often it occurred on either input."""
    likelier, other = witness.likelier, 1 - witness.likelier
    shown = inputs if max(map(len, inputs)) <= _LONGEST_INPUT else ["inputs[0]", "inputs[1]"]
    rows = [
        (f"on {shown[likelier]}", f"{witness.hits:,}", f"of {witness.draws:,} outputs"),
        (f"on {shown[other]}", f"{witness.other_hits:,}", f"of {witness.other_draws:,} outputs"),
    ]
    widths = [max(len(cells[column]) for cells in rows) for column in range(2)]
    lines = row("witness", witness.description)
    lines += [f"{'':{INDENT}}  {place:{widths[0]}}  {hits:>{widths[1]}} {draws}" for place, hits, draws in rows]
    if witness.remark:
        lines += row("remark", witness.remark)
    return lines


def measured(result: AuditResult) -> str:
    """The bound on epsilon, and how sure it is."""
    alpha = result.evidence["alpha"]
    sure = f"confidence {100 * result.confidence:.6g} %" if alpha >= 1e-6 else f"level {alpha:.3g}"
    return f"epsilon is at least {down(result.epsilon_lower)} ({sure})"


def power(detectable: float) -> str:
    """What the audit would have found."""
    if math.isinf(detectable):
        return (
            "none: no epsilon, however large, would have been refuted with probability 0.9 in a tested event; give more samples"
        )
    return f"an epsilon of {up(detectable)} in a tested event would have been refuted with probability 0.9"
