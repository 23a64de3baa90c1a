"""What is certain of a told law, beside the report of the audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpverify.verdict import Triangulation


def beside(found: Triangulation, report: Any) -> Any:
    """The report of the audit with the certified numbers: text below text, an object inside the object."""
    if isinstance(report, str):
        return f"{found}\n\n{report}"
    delta, epsilon = found.certified_delta, found.certified_epsilon
    certified = {
        "law": found.told,
        "delta": None if delta is None else delta.decimal(15),
        "epsilon": None if epsilon is None else epsilon.decimal(15),
        "violates": found.law_violates,
        "agrees": found.agrees,
        "events": list(found.events),
        "audit_verdict": found.audit.verdict.value,
    }
    return {**report, "verdict": found.verdict.value, "certified": certified}
