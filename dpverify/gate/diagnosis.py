"""Why a claim is refuted, most likely, and what would help. Heuristic: a reading of the witness and a few more outputs.

The verdict never rests on anything said here.
"""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING

import numpy as np

from dpverify.audit.callables import form_of
from dpverify.audit.calls import Calls, Request
from dpverify.errors import DpverifyError
from dpverify.gate.outcome import Diagnosis
from dpverify.guarantees import Verdict

if TYPE_CHECKING:
    from dpverify.audit.result import AuditResult, Witness
    from dpverify.gate.claims import SampledClaim

PROBED = 64
"""Outputs that are drawn twice, with generators of different seeds, to see whether the noise follows the generator."""


def diagnose(claim: SampledClaim, result: AuditResult, seed: int) -> Diagnosis | None:
    """What is likely wrong, for a claim that is refuted or whose outputs depend on each other; None otherwise."""
    if result.verdict is not Verdict.REFUTED and not _dependent(result):
        return None
    if (frozen := _frozen(claim, seed)) is not None:
        return frozen
    if _dependent(result):
        return Diagnosis(
            rule="DP006",
            cause="Outputs depend on each other: calls share a generator, a seed or a state.",
            fix="Draw fresh noise for every output from the rng that the mechanism is given, and keep nothing between calls.",
        )
    witness = result.witness
    assert witness is not None  # a refutation has one
    if witness.precise:
        return _precision(result)
    if witness.other_hits == 0:
        return _support(witness)
    return _scale(result)


def _dependent(result: AuditResult) -> bool:
    return bool(result.evidence["one_output_per_call"]) or any("depend on each other" in note for note in result.notes)


def _frozen(claim: SampledClaim, seed: int) -> Diagnosis | None:
    """Whether the mechanism returns the same outputs whatever generator it gets, or the same output always."""
    codes = []
    try:
        for place in (1, 2):
            calls = Calls(claim.mechanism, form_of(claim.mechanism), (claim.inputs[0], claim.inputs[1]), seed)
            codes.append(calls.outputs(Request(side=0, block=2**31 + place, size=PROBED)).whole())
    except DpverifyError:
        return None
    if not np.array_equal(codes[0], codes[1]):
        return None
    if (codes[0] == codes[0][0]).all():
        return Diagnosis(
            rule="DP004",
            cause=f"All of {2 * PROBED} outputs on inputs[0] are the same: hardly any noise is added, or none.",
            fix="See that the noise reaches the output, and that rounding or clamping does not remove it again.",
        )
    return Diagnosis(
        rule="DP006",
        cause="The mechanism returns the same outputs whatever generator it is given: its noise comes from a fixed seed.",
        fix="Draw all noise from the rng that the mechanism is given; never seed inside it.",
    )


def _precision(result: AuditResult) -> Diagnosis:
    scale = " The scale of the noise may well be right." if result.verdict_on_reals is Verdict.NOT_REFUTED else ""
    return Diagnosis(
        rule="DP003",
        cause=f"Noise is drawn and added in floating point: which doubles can come out depends on the input.{scale}",
        fix="Round the noisy answer to a grid that does not depend on the data, or draw noise on such a grid in exact integer"
        " arithmetic.",
    )


def _support(witness: Witness) -> Diagnosis:
    return Diagnosis(
        rule="DP004",
        cause=f"The event occurs on inputs[{witness.likelier}] and not once in {witness.other_draws:,} outputs on"
        f" inputs[{1 - witness.likelier}]: what can come out depends on the input, or there is far too little noise.",
        fix="Look for clamping, rounding, error values or missing outputs that depend on the data, and for noise whose scale"
        " is off by a large factor.",
    )


def _scale(result: AuditResult) -> Diagnosis:
    with decimal.localcontext(prec=3, rounding=decimal.ROUND_FLOOR):
        reached = +decimal.Decimal(result.epsilon_lower)
        factor = reached / decimal.Decimal(result.epsilon) if result.epsilon > 0 else None
    if factor is None or result.delta > 0:
        how = "There is less noise than the claim needs."
        fix = f"Add more noise, or claim an epsilon of {reached} or more."
    else:
        how = f"Noise that scales as sensitivity/epsilon would have to be at least {factor:.3g} times as large."
        fix = f"Multiply the scale by {factor:.3g} or more, or claim an epsilon of {reached} or more."
    return Diagnosis(
        rule="DP001",
        cause=f"{how} Often the sensitivity is taken too small, or epsilon is used where a part of it was meant.",
        fix=f"{fix} `dpverify bound NAME --epsilon E --delta D` gives the least scale of a known mechanism.",
    )
