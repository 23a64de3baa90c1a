"""Everything that an HTML report draws beyond its outcomes: collected once, so that the page itself stays pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.arithmetic.exact import float_above, to_exact
from dpverify.errors import DpverifyError
from dpverify.gate.checking import member
from dpverify.gate.claims import AnalyticClaim, SampledClaim
from dpverify.gate.pictures import pictured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpverify.gate.outcome import Outcome
    from dpverify.gate.pictures import Pictures

POINTS = 24
"""Points of a privacy profile."""

Profiles = dict[str, tuple[tuple[float, float], ...]]


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
            profiles[claim.name] = _profile(claim)
    return pictures, profiles


def _profile(claim: AnalyticClaim) -> tuple[tuple[float, float], ...]:
    """Certified upper ends of delta at epsilons from 0 to twice the claimed one; what is not certified is left out."""
    mechanism = member(claim)
    reach = max(2 * float_above(to_exact(claim.epsilon, "epsilon")), 0.1)
    points = []
    for place in range(POINTS + 1):
        epsilon = reach * place / POINTS
        try:
            points.append((epsilon, mechanism.delta(epsilon).upper))
        except DpverifyError:
            continue
    return tuple(points)
