"""Decisions and bounds of the joint test: the observed counts choose the region, a root in epsilon or delta gives the bound.

Bounds follow Buehler (1957): a statistic T, fixed beforehand, orders the pairs of counts; with R = {T >= T(observed)} the
bound is the largest parameter at which the joint test of `joint` still rejects with R. R does not depend on the parameter
and the claims are nested, so that the test rejects every smaller parameter too: decision and bound never disagree.
T is the slope (for epsilon) or the shift (for delta) at which the pair lies on the edge of the region of `ordering` with z
the normal quantile of alpha. A p-value speaks of one claim, and orders by z instead, at the slope and shift of that claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

from flint import arb

from dpverify.arithmetic.enclosure import arb_above
from dpverify.arithmetic.precision import working_precision
from dpverify.audit.statistics import ordering
from dpverify.audit.statistics.binomial import lower, upper
from dpverify.audit.statistics.counts import Counts
from dpverify.audit.statistics.joint import Edge, Region, supremum, windows
from dpverify.audit.statistics.ordering import Integers

NUISANCE_SHARE = 1e-3
"""beta / alpha: the part of the error that pays for restricting the search over q. Fixed, and the same in every test."""

_LEAST_Z = 0.05
"""Levels above 0.48 order as this z does."""

_LEAST_LEVEL = 1e-270
"""Doubles carry the sums of the joint test down to here; at smaller levels it rejects nothing."""


def quantile(alpha: float) -> float:
    """The z of the ordering at level alpha."""
    return max(_LEAST_Z, -NormalDist().inv_cdf(alpha))


def ratio_above(epsilon: float) -> float:
    """e^epsilon, rounded up; inf beyond 1e25, where no count of draws in this world could reject the claim."""
    with working_precision(80):
        ratio = arb_above(arb(epsilon).exp().upper())
    return ratio if ratio <= _LARGEST_RATIO else math.inf


_LARGEST_RATIO = 1e25


CLOSE, _AGREED = 3e-2, 1e-6
"""How far below equality a search for a root may stop, a hundredth of a deviation; and how near it must not, so that the
same question asked afresh, whose last digits may differ, has the same answer."""

_SKEWED, _HARDLY_SKEWED = 2.2, 25
"""By what part of the level the normal law is off where the skewness is 1; and hits that are added, as few are less so."""


@dataclass(slots=True)
class RegionOfCounts:
    """The region {x >= critical(y)} of one ordering, its critical values computed where they are asked for."""

    draws: int
    other_draws: int
    slope: float
    shift: float
    z: float
    _known: Region | None = None

    def critical(self, first: int, last: int) -> Integers:
        """The critical values for y = first..last, each its own."""
        return ordering.critical_values(first, last, self.other_draws, self.slope, self.shift, self.z)

    def over(self, low_q: float, high_q: float, small: float) -> Region:
        """The region with critical values for all y that matter when low_q <= q <= high_q."""
        first, _ = windows(self.other_draws, low_q, small)
        _, last = windows(self.other_draws, high_q, small)
        known = self._known
        if known is None or first < known.first or last > known.last:
            first, _ = windows(self.other_draws, max(low_q - (high_q - low_q) / 16, 0.9 * low_q), small)
            stride = self.stride((low_q + high_q) / 2)
            critical = ordering.critical_values(first, last, self.other_draws, self.slope, self.shift, self.z, stride=stride)
            known = Region(draws=self.draws, other_draws=self.other_draws, first=first, critical=critical, stride=stride)
            self._known = known
        return known

    def spreads(self, other_hits: float) -> tuple[float, float]:
        """Roughly the deviation of X - slope Y on the edge of the claim, as the ordering has it and as binomial counts do."""
        y, rest = other_hits + 0.5, max(1 - other_hits / self.other_draws, 0.0)
        mean = self.shift + self.slope * y
        binomial = mean * max(1 - mean / self.draws, 0.0) + self.slope**2 * y * rest
        return math.sqrt((mean + self.slope**2 * y) * rest), math.sqrt(max(binomial, 0.25))

    def edge(self, other_hits: float) -> tuple[float, float]:
        """(offset, steepness): roughly, counts on the edge of the region have their level at the claim whose slope is e^offset
        times that of the region, and the logarithm of the level rises so steeply with that of the slope.

        The edge lies z deviations off, as the ordering has them; what is known to be missing are strides and skewness.
        """
        poisson, binomial = self.spreads(other_hits)
        mean = self.slope * (other_hits + 0.5)
        steepness = (self.z + 1 / (1 + self.z)) * mean / binomial
        strides = (self.stride(other_hits / self.other_draws) - 1) / 2 * self.slope / mean
        y = other_hits + _HARDLY_SKEWED
        x = self.shift + self.slope * y
        skewness = (self.slope**3 * y - x) / math.sqrt(x + self.slope**2 * y) ** 3
        offset = self.z * (poisson - binomial) / mean - strides + (_SKEWED * skewness - CLOSE / 2) / steepness
        return offset, steepness

    def stride(self, q: float) -> int:
        """Counts of Y that are answered for together: a 32nd of a deviation of either count."""
        mean = self.other_draws * q
        spread = min(math.sqrt(mean * (1 - q)), math.sqrt(self.shift + self.slope * mean) / max(self.slope, 1e-300))
        return max(1, int(spread / FINE))


FINE = 32
"""Strides in a deviation. The region that they enlarge is one of a level that is larger by 4 %, or .01 deviations."""


@dataclass(frozen=True, slots=True)
class Nuisance:
    """The Berger-Boos set at one beta: q <= q_high, and ratio q + delta >= p_low."""

    p_low: float
    q_high: float

    @staticmethod
    def of(counts: Counts, beta: float) -> Nuisance:
        p_low = lower(counts.hits, counts.draws, beta / 2)
        return Nuisance(p_low, upper(counts.other_hits, counts.other_draws, beta / 2))

    def supremum(self, region: RegionOfCounts, edge: Edge, level: float) -> float:
        """sup F over the set."""
        q_low = max(0.0, (self.p_low - edge.delta) / edge.ratio * (1 - 1e-12) - 1e-300)
        if q_low >= self.q_high:
            return 0.0
        return supremum(region.over(q_low, self.q_high, 1e-7 * level), edge, q_low, self.q_high, level)


def joint_epsilon_lower(counts: Counts, *, delta: float, alpha: float) -> float:
    """The largest epsilon >= 0 that the joint test rejects, to a part 3e-2 of the level; 0.0 where none."""
    test = _EpsilonTest.of(counts, delta, alpha)
    if test is None:
        return 0.0
    offset, steepness = test.region.edge(counts.other_hits)
    slope = test.region.slope * counts.other_draws / counts.draws
    return largest_rejected(test.surplus, math.log(slope) + offset, steepness)


def joint_rejects(counts: Counts, *, epsilon: float, delta: float, alpha: float) -> bool:
    """Whether the joint test rejects the claim: the region is the one of `joint_epsilon_lower`, so the two agree."""
    test = _EpsilonTest.of(counts, delta, alpha)
    return test is not None and test.surplus(epsilon) <= 0


@dataclass(frozen=True, slots=True)
class _EpsilonTest:
    counts: Counts
    delta: float
    alpha: float
    region: RegionOfCounts
    nuisance: Nuisance

    @staticmethod
    def of(counts: Counts, delta: float, alpha: float) -> _EpsilonTest | None:
        if counts.hits == 0 or counts.other_draws == 0 or delta >= 1 or alpha < _LEAST_LEVEL:
            return None
        z, shift = quantile(alpha), delta * counts.draws
        slope = ordering.slope_at(counts.hits, counts.other_hits, counts.other_draws, shift, z)
        if slope is None:
            return None
        region = RegionOfCounts(counts.draws, counts.other_draws, slope, shift, z)
        return _EpsilonTest(counts, delta, alpha, region, Nuisance.of(counts, NUISANCE_SHARE * alpha))

    def surplus(self, epsilon: float) -> float:
        """`log_surplus` of the supremum; rises with epsilon."""
        ratio = ratio_above(epsilon)
        if math.isinf(ratio):
            return math.inf
        edge = Edge(ratio=ratio, delta=self.delta)
        return log_surplus(self.nuisance.supremum(self.region, edge, self.alpha), self.alpha)


def joint_delta_lower(counts: Counts, *, epsilon: float, alpha: float) -> float:
    """The largest delta that the joint test rejects at this epsilon, to a part 3e-2 of the level; 0.0 where none."""
    if counts.hits == 0 or counts.other_draws == 0 or alpha < _LEAST_LEVEL:
        return 0.0
    z, ratio = quantile(alpha), ratio_above(epsilon)
    if math.isinf(ratio):
        return 0.0
    slope = ratio * counts.draws / counts.other_draws
    shift = ordering.shift_at(counts.hits, counts.other_hits, counts.other_draws, slope, z)
    if shift is None:
        return 0.0
    region = RegionOfCounts(counts.draws, counts.other_draws, slope, shift, z)
    nuisance = Nuisance.of(counts, NUISANCE_SHARE * alpha)

    def surplus(delta: float) -> float:
        return log_surplus(nuisance.supremum(region, Edge(ratio=ratio, delta=delta), alpha), alpha)

    poisson, binomial = region.spreads(counts.other_hits)
    guess = (shift + z * (poisson - binomial)) / counts.draws
    return largest_rejected(surplus, guess, (z + 1 / (1 + z)) * counts.draws / binomial)


def joint_p_value(counts: Counts, *, epsilon: float, delta: float) -> float:
    """The least level at which the joint test, ordered by z at this claim, rejects; rounded up, and at most 1."""
    ratio = ratio_above(epsilon)
    if counts.hits == 0 or counts.other_draws == 0 or delta >= 1 or math.isinf(ratio):
        return 1.0
    slope, shift = ratio * counts.draws / counts.other_draws, delta * counts.draws
    z = ordering.signed_root(counts.hits, counts.other_hits, counts.other_draws, slope, shift)
    if z <= _LEAST_Z:
        return 1.0
    region, edge = RegionOfCounts(counts.draws, counts.other_draws, slope, shift, z), Edge(ratio=ratio, delta=delta)
    level = max(1.5 * NormalDist().cdf(-z), _LEAST_LEVEL)
    for _ in range(12):
        found = Nuisance.of(counts, NUISANCE_SHARE * level).supremum(region, edge, level) / (1 - NUISANCE_SHARE)
        if found >= level:  # the set at level `found` lies inside the one that was searched
            return min(1.0, math.nextafter(found, math.inf))
        if found >= level * 0.9995:
            break
        level = max(found * 1.0002, _LEAST_LEVEL)
    return level


def log_surplus(found: float, alpha: float) -> float:
    """log(found / (alpha - beta)): the test rejects where it is <= 0."""
    return math.log(found / (alpha * (1 - NUISANCE_SHARE))) if found > 0 else -math.inf


def largest_rejected(
    surplus: Callable[[float], float],
    guess: float,
    steepness: float,
    *,
    floor: float = 0.0,
    ceiling: float = math.inf,
    resolution: float = 0.0,
    close: float = CLOSE,
) -> float:
    """The largest x in [floor, ceiling] with surplus(x) <= 0, within `close` of equality; `floor` where surplus(floor) > 0.

    `surplus` rises; `steepness` is a rough guess of its slope. Secants inside a bracket, widened until there is one; where
    `surplus` jumps, a bracket of width `resolution` ends the search.
    """
    good: tuple[float, float] | None = None
    bad: tuple[float, float] | None = None
    x, step = min(max(guess, floor), ceiling), 0.5 / steepness
    for turn in range(60):
        value = surplus(x)
        if -close <= value <= -_AGREED:
            return x
        if value <= 0:
            good = (x, value)
            if x == ceiling:
                return ceiling
        elif x == floor:
            return floor
        else:
            bad = (x, value)
        if good is None or bad is None:
            wanted = (value + close / 2) / steepness if math.isfinite(value) else -step
            if turn >= _PATIENCE:
                wanted = math.copysign(step, value)
            x = min(max(floor, x - min(max(wanted, -step), step)), ceiling)
            step *= 2
        else:
            x = _between(good, bad, close)
            if bad[0] - good[0] <= resolution or not good[0] < x < bad[0]:
                break
    return good[0] if good else floor


_PATIENCE = 3
"""Evaluations on one side of the root after which the steepness is no guide to it."""


def _between(good: tuple[float, float], bad: tuple[float, float], close: float) -> float:
    """The secant through the ends, aimed at the middle of the accepted strip and kept off the ends."""
    low, high = good[0], bad[0]
    if not math.isfinite(good[1]):
        return (low + high) / 2
    share = (-close / 2 - good[1]) / (bad[1] - good[1])
    return low + (high - low) * min(max(share, 0.02), 0.98)
