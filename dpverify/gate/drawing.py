"""Everything that an HTML report draws beyond its outcomes: collected once, so that the page itself stays pure."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dpverify.arithmetic.exact import float_above, to_exact
from dpverify.errors import NotCovered
from dpverify.gate.checking import member
from dpverify.gate.claims import AnalyticClaim, SampledClaim
from dpverify.gate.pictures import pictured
from dpverify.notions.sides import of_profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpverify.gate.outcome import Outcome
    from dpverify.gate.pictures import Pictures
    from dpverify.notions.sides import Sides

POINTS = 96
"""Places at which a privacy profile is computed. Even: the claimed epsilon is one of them."""

Profiles = dict[str, "Sides"]


def drawn(outcomes: Sequence[Outcome], *, seed: int) -> tuple[dict[str, Pictures], Profiles]:
    """(pictures, profiles) by the name of the claim, for those of which there is something to draw."""
    pictures: dict[str, Pictures] = {}
    profiles: Profiles = {}
    for outcome in outcomes:
        claim = outcome.claim
        if isinstance(claim, SampledClaim) and outcome.result is not None and outcome.error is None:
            found = pictured(claim, outcome.result, seed)
            if found is not None:
                pictures[claim.name] = found
        elif isinstance(claim, AnalyticClaim) and outcome.analysis is not None:
            with suppress(NotCovered):  # the claim was decided, its surroundings need not be
                profiles[claim.name] = _profile(claim)
    return pictures, profiles


def _profile(claim: AnalyticClaim) -> Sides:
    """delta at epsilons from 0 to twice the claimed one; what is not certified is left out."""
    return of_profile(member(claim), reach=max(2 * float_above(to_exact(claim.epsilon, "epsilon")), 0.1), points=POINTS)
