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
    from dpverify.audit.result import AuditResult
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
        cause = "outputs depend on each other: calls share a generator, a seed or a state."
        return Diagnosis(rule=_REMEDIES["reuse"][0], cause=cause, fix=_REMEDIES["reuse"][1])
    found = result.cause
    assert found is not None  # a refutation has one
    rule, fix = _REMEDIES[found.kind]
    return Diagnosis(rule=rule, cause=found.text, fix=_more_noise(result) if found.kind == "scale" else fix)


_REMEDIES = {
    "reuse": (
        "DP006",
        "Draw fresh noise for every output from the rng that the mechanism is given, and keep nothing between calls.",
    ),
    "precision": (
        "DP003",
        "Round the noisy answer to a grid that does not depend on the data, or draw noise on such a grid in exact integer"
        " arithmetic.",
    ),
    "constant": ("DP004", "See that the noise reaches the output, and that rounding or clamping does not remove it again."),
    "support": (
        "DP004",
        "Look for clamping, rounding, error values or missing outputs that depend on the data, and for noise whose scale is off"
        " by a large factor.",
    ),
    "presence": (
        "DP001",
        "Decide by noise of its own, or not from the data at all, which keys, items and missing values an output has; noise on"
        " the numbers alone does not hide them.",
    ),
    "scale": ("DP001", ""),
}
"""The rule of each kind of cause (`audit.causes`), and what would help."""


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
            fix=_REMEDIES["constant"][1],
        )
    return Diagnosis(
        rule="DP006",
        cause="The mechanism returns the same outputs whatever generator it is given: its noise comes from a fixed seed.",
        fix="Draw all noise from the rng that the mechanism is given; never seed inside it.",
    )


def _more_noise(result: AuditResult) -> str:
    with decimal.localcontext(prec=3, rounding=decimal.ROUND_CEILING):
        reached = +decimal.Decimal(result.epsilon_lower)
        factor = reached / decimal.Decimal(result.epsilon) if result.epsilon > 0 and result.delta == 0 else None
    how = "Add more noise" if factor is None else f"Multiply the scale by {factor} or more"
    return (
        f"{how}, or claim an epsilon of {reached} or more. Often the sensitivity is taken too small, or epsilon is used where a"
        " part of it was meant. `dpverify bound NAME --epsilon E --delta D` gives the least scale of a known mechanism."
    )
