"""One claim becomes one outcome: by an audit, or by the catalogue's certified arithmetic."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpverify.errors import DpverifyError, ImpossibleRequest, InputError, NotCovered, UndecidedComparison, UndecidedError
from dpverify.gate.checking import InvalidNeighbours, joined, member, problems
from dpverify.gate.claims import AnalyticClaim, Claim
from dpverify.gate.outcome import Analysis, Diagnosis, Outcome
from dpverify.guarantees import Verdict

if TYPE_CHECKING:
    from dpverify.audit.result import AuditResult

DIGITS = (15, 60, 240)
"""Significant digits at which a certified delta is compared with the claimed one, until the order is certain."""


def decide(
    claim: Claim, *, alpha: float, seed: int, seconds: float | None = None, audit: Callable[[], AuditResult] | None = None
) -> Outcome:
    """What becomes of a claim. `alpha` bounds the probability of refuting it if it is true, `seconds` the time it may take.

    `audit` replaces the audit of a sampled claim, where one is under way already.
    An error that dpverify raises on purpose becomes part of the outcome, with what had been measured.
    """
    started = time.perf_counter()
    wrong = problems(claim)
    if wrong:
        return _unusable(claim, wrong, started)
    if isinstance(claim, AnalyticClaim):
        return _analytic(claim, started)
    from dpverify.gate.diagnosis import diagnose
    from dpverify.gate.effort import audited

    error: DpverifyError | None = None
    result: AuditResult | None
    try:
        result = audited(claim, alpha=alpha, seed=seed, seconds=seconds) if audit is None else audit()
    except DpverifyError as raised:
        error, result = raised, getattr(raised, "partial", None)
    refuted = result is not None and result.verdict is Verdict.REFUTED
    diagnosis = None
    if result is not None and (error is None or refuted):
        diagnosis = diagnose(claim, result, seed)
    elif error is not None and "changed its input" in str(error):
        diagnosis = Diagnosis(rule="DP006", cause="The mechanism changes the data that it is given.", fix="Work on a copy.")
    return Outcome(
        claim=claim,
        verdict=None if error is not None and not refuted else result.verdict if result is not None else None,
        alpha=alpha,
        seed=seed,
        result=result,
        diagnosis=diagnosis,
        error=error,
        seconds=time.perf_counter() - started,
    )


def _unusable(claim: Claim, wrong: list[InputError], started: float) -> Outcome:
    neighbours = next((error for error in wrong if isinstance(error, InvalidNeighbours)), None)
    diagnosis = None
    if neighbours is not None:
        cause = "The claim is about neighbours, and the two inputs are none: nothing that is measured speaks of the claim."
        diagnosis = Diagnosis(rule="DP005", cause=cause, fix="Give two datasets that differ in one record.")
    error = wrong[0] if len(wrong) == 1 else InputError(joined(wrong))
    return Outcome(claim=claim, verdict=None, error=error, diagnosis=diagnosis, seconds=time.perf_counter() - started)


def _analytic(claim: AnalyticClaim, started: float) -> Outcome:
    mechanism = member(claim)
    verdict, delta, error = Verdict.UNDECIDED, None, None
    try:
        for digits in DIGITS:
            delta = mechanism.delta(claim.epsilon, digits=digits)
            try:
                verdict = Verdict.PROVED if delta <= claim.delta else Verdict.REFUTED
                break
            except UndecidedComparison:
                continue
    except UndecidedError as raised:
        error = raised
    except DpverifyError as raised:
        return Outcome(claim=claim, verdict=None, error=raised, seconds=time.perf_counter() - started)
    analysis = None
    if delta is not None:
        analysis = Analysis(
            mechanism=repr(mechanism), delta=delta, scale_name=mechanism.scale_name, least=_least(claim, type(mechanism))
        )
    return Outcome(
        claim=claim,
        verdict=verdict,
        analysis=analysis,
        diagnosis=_below_the_bound(claim, analysis) if verdict is Verdict.REFUTED and analysis is not None else None,
        error=error,
        seconds=time.perf_counter() - started,
    )


def _least(claim: AnalyticClaim, family: Any) -> float | None:
    shape = {name: value for name, value in claim.parameters.items() if name != family.scale_name}
    try:
        least = float(family.bound(epsilon=claim.epsilon, delta=claim.delta, **shape).upper)
        return least if least < math.inf else None  # it may lie beyond the largest double
    except (ImpossibleRequest, NotCovered, UndecidedError):
        return None


def _below_the_bound(claim: AnalyticClaim, analysis: Analysis) -> Diagnosis:
    given = claim.parameters.get(analysis.scale_name, "its default")
    if analysis.least is None:
        fix = f"No {analysis.scale_name} is known that satisfies the claim; claim a larger epsilon or delta."
    else:
        fix = f"Use {analysis.scale_name} = {analysis.least!r}, the least double that satisfies the claim, or more."
    return Diagnosis(rule="DP002", cause=f"{analysis.scale_name} = {given} lies below the certified bound.", fix=fix)
