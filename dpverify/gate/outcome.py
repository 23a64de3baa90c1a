"""What became of a claim: its verdict or the error that stands in its place, and what is likely wrong. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpverify.guarantees import Verdict
from dpverify.showing import notebook

if TYPE_CHECKING:
    from dpverify.audit.result import AuditResult
    from dpverify.errors import DpverifyError
    from dpverify.gate.claims import Claim

RULES = {
    "DP001": "statistical violation",
    "DP002": "analytic claim below the certified bound",
    "DP003": "precision leak",
    "DP004": "support mismatch",
    "DP005": "invalid neighbours",
    "DP006": "state or stream reuse",
}
"""The kinds of findings, by the ids that outside tools know them by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """`rule` is a key of RULES; `cause` and `fix` are sentences. Heuristic: the verdict does not rest on it."""

    rule: str
    cause: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """How the catalogue decided a claim: the certified delta at the claimed epsilon, and the least scale that satisfies it.

    `delta` is an Enclosure. `least` is a double, certified to satisfy the claim; None where no scale does, or none is known.
    """

    mechanism: str
    delta: Any
    scale_name: str
    least: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a claim.

    verdict    "proved", "refuted", "not refuted" or "undecided"; None where it could not be checked, and `error` says why
    alpha      the probability with which a true claim of this kind would have been refuted; 0 where arithmetic decided
    seed       what all draws follow from; None where nothing was drawn
    seconds    time taken; 0 where the outcome was `remembered` from an earlier run
    evidence   where the evidence was written, if it was
    """

    claim: Claim
    verdict: Verdict | None
    seconds: float
    alpha: float = 0.0
    seed: int | None = None
    result: AuditResult | None = None
    analysis: Analysis | None = None
    diagnosis: Diagnosis | None = None
    error: DpverifyError | None = None
    remembered: bool = False
    evidence: str | None = None

    def _repr_html_(self) -> str:
        return notebook(self, "outcome")

    @property
    def exit_code(self) -> int:
        """What a command returns that checked this claim alone."""
        if self.verdict is None:
            return 2 if self.error is None else self.error.exit_code
        return {Verdict.REFUTED: 1, Verdict.UNDECIDED: 3}.get(self.verdict, 0)


def worst(codes: list[int]) -> int:
    """The exit code of several claims: 4 before 1 before 2 before 3 before 0."""
    return next((code for code in (4, 1, 2, 3) if code in codes), 0)
