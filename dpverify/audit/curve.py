"""Claims that are curves: every point (epsilon, delta) that a claim implies is a claim of its own, and may be tested.

A mechanism that keeps the claim keeps each of its points, so a test of any point at level alpha is a test of the claim at
level alpha, and it may be chosen on exploration outputs which point an event is tested at: where the test is strongest.

- a profile: the points as they are given, delta for each epsilon;
- mu-GDP:   delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), which is exact
            (Dong, Roth and Su, Gaussian differential privacy, 2019);
- (a, t)-RDP:  delta(epsilon) = e^((a-1)(t-epsilon)) (1 - 1/a)^a / (a-1), and 1 at most
            (Canonne, Kamath and Steinke, The discrete Gaussian for differential privacy, 2020, Proposition 12);
- rho-zCDP: the same at t = rho a for the best order a > 1.

The formulas are those of `notions`.

Each delta is rounded up to a double, so that no point says more than the claim does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.enclosure import arb_above
from dpverify.arithmetic.exact import float_above, to_exact
from dpverify.arithmetic.precision import working_precision
from dpverify.errors import InputError, shown
from dpverify.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from dpverify.notions import renyi_conversion
from dpverify.notions.gaussian_dp import gaussian_profile

POINTS = 12
"""Points of a curve between which an audit chooses, where the claim is a formula."""

MOST_POINTS = 200
_SPREAD = tuple(0.5 * 10 ** (-0.5 * k) for k in range(POINTS))
"""The deltas at which the points of a formula lie: 0.5, 0.16, ..., 1.6e-6."""
_BITS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A claim and some points of it, by rising epsilon. `parameter` is what the notion calls its one number, if it has one."""

    notion: str
    numbers: dict[str, Any]
    points: tuple[tuple[float, float], ...]
    parameter: str | None

    def to_json(self) -> dict[str, Any]:
        """The claim as evidence holds it."""
        return {"notion": self.notion, **self.numbers}

    def parameter_lower(self, epsilon: float, delta: float) -> float | None:
        """The parameter below which no claim of this notion allows (epsilon, delta), given that no smaller epsilon is allowed.

        It is the root of delta(epsilon) = `delta`, which rises with the parameter, rounded down by a part 1e-9 or so; 0.0 where
        epsilon is 0. None for a notion without one parameter.
        """
        if self.parameter is None:
            return None
        if epsilon <= 0:
            return 0.0
        low, high = 0.0, 1.0
        while high < 1e6 and self._delta_of(high, epsilon) < delta:
            low, high = high, 2 * high
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if self._delta_of(middle, epsilon) <= delta else (low, middle)
        return low

    def allows(self, epsilon: float, delta: float) -> bool:
        """Whether the claim implies (epsilon, delta): whether it is a point of the curve, or above one."""
        return any(eps <= epsilon and least <= delta for eps, least in self.points)

    def _delta_of(self, parameter: float, epsilon: float) -> float:
        if self.notion == "GaussianDP":
            return gaussian_delta(to_exact(parameter, "mu"), epsilon)
        if self.notion == "ZCDP":
            return zcdp_delta(to_exact(parameter, "rho"), epsilon)
        return renyi_delta(to_exact(Fraction(self.numbers["order"]), "order"), to_exact(parameter, "epsilon"), epsilon)


def curve_of(claim: Any) -> Curve:
    """The curve of a guarantee or of a profile, a list of (epsilon, delta). Raises InputError for anything else."""
    if isinstance(claim, PureDP | ApproxDP):
        delta = getattr(claim, "delta", Fraction(0))
        return _profile([(claim.epsilon, delta)])
    if isinstance(claim, GaussianDP):
        mu = to_exact(claim.mu, "mu")
        return _formula("GaussianDP", {"mu": str(claim.mu)}, lambda eps: gaussian_delta(mu, eps), "mu")
    if isinstance(claim, ZCDP):
        rho = to_exact(claim.rho, "rho")
        return _formula("ZCDP", {"rho": str(claim.rho)}, lambda eps: zcdp_delta(rho, eps), "rho")
    if isinstance(claim, RenyiDP):
        order, bound = to_exact(claim.order, "order"), to_exact(claim.epsilon, "epsilon")
        numbers = {"order": str(claim.order), "epsilon": str(claim.epsilon)}
        return _formula("RenyiDP", numbers, lambda eps: renyi_delta(order, bound, eps), "epsilon")
    if isinstance(claim, Sequence) and not isinstance(claim, str | bytes):
        return _profile(claim)
    raise InputError(
        f"claim = {shown(claim)}: PureDP, ApproxDP, GaussianDP, ZCDP, RenyiDP or a list of (epsilon, delta) is needed; "
        f"convert other notions first."
    )


def curve_from_json(data: Any) -> Curve:
    """The curve that `to_json` described. Raises InputError where it describes none."""
    try:
        notion, numbers = data["notion"], {key: value for key, value in data.items() if key != "notion"}
        if notion == "profile":
            curve = _profile([(point["epsilon"], point["delta"]) for point in numbers["points"]])
        else:
            kinds = {"GaussianDP": GaussianDP, "ZCDP": ZCDP, "RenyiDP": RenyiDP}
            curve = curve_of(kinds[notion](**numbers))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"evidence: claim = {shown(data)} describes no claim; the file was edited.") from None
    return curve


def _profile(given: Sequence[Any]) -> Curve:
    points: dict[float, float] = {}
    said = []
    if not 1 <= len(given) <= MOST_POINTS:
        raise InputError(f"claim: a profile of {len(given)} points; from 1 to {MOST_POINTS} are needed.")
    for place, point in enumerate(given):
        try:
            epsilon, delta = point
        except (TypeError, ValueError):
            raise InputError(f"claim[{place}] = {shown(point)}: a pair (epsilon, delta) is needed.") from None
        exact = to_exact(epsilon, f"epsilon of claim[{place}]"), to_exact(delta, f"delta of claim[{place}]")
        if not 0 <= exact[0] <= 10**300 or not 0 <= exact[1] < 1:
            raise InputError(f"claim[{place}] = {shown(point)}: 0 <= epsilon <= 10^300 and 0 <= delta < 1 are needed.")
        said.append({"epsilon": str(exact[0]), "delta": str(exact[1])})
        above = float_above(exact[0]), float_above(exact[1])
        points[above[0]] = min(above[1], points.get(above[0], 1.0))
    ordered = tuple(sorted((eps, delta) for eps, delta in points.items() if delta < 1))
    if not ordered:
        raise InputError("claim: no double lies between any of its deltas and 1; a claim this weak cannot be tested.")
    return Curve(notion="profile", numbers={"points": said}, points=ordered, parameter=None)


def _formula(notion: str, numbers: dict[str, str], delta_at: Callable[[float], float], parameter: str) -> Curve:
    """Points at which delta takes a spread of values, found by bisection; those that say nothing are left out."""
    found = {0.0: delta_at(0.0)}
    for target in _SPREAD:
        if target >= found[0.0]:
            continue
        low, high = 0.0, 1.0
        while delta_at(high) > target and high < 1e9:
            low, high = high, 2 * high
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if delta_at(middle) > target else (low, middle)
        found[high] = delta_at(high)
    points = tuple(sorted((eps, delta) for eps, delta in found.items() if delta < 1))
    if not points:
        raise InputError(f"claim: {notion} with {numbers} implies no (epsilon, delta) that could be tested; it is too weak.")
    kept = [points[0], *(after for before, after in pairwise(points) if after[1] < before[1])]
    return Curve(notion=notion, numbers=numbers, points=tuple(kept), parameter=parameter)


def gaussian_delta(mu: fmpq, epsilon: float) -> float:
    """The delta of mu-GDP at epsilon, rounded up."""
    if mu == 0:
        return 0.0
    with working_precision(_BITS):
        value = gaussian_profile(BALLS, arb(epsilon), arb(mu))
        return min(1.0, max(0.0, arb_above(value.upper())))


def renyi_delta(order: fmpq, bound: fmpq, epsilon: float) -> float:
    """The delta of (order, bound)-RDP at epsilon, rounded up."""
    with working_precision(_BITS):
        return min(1.0, arb_above(renyi_conversion.delta_formula(order, arb(bound), to_exact(epsilon, "epsilon")).upper()))


def zcdp_delta(rho: fmpq, epsilon: float) -> float:
    """The delta of rho-zCDP at epsilon, rounded up, at the best order."""
    return renyi_conversion.delta_from_zcdp(rho, epsilon).upper
