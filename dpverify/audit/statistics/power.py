"""What an audit could have seen: the least true epsilon that the same test would have refuted with a given probability.

"Not refuted" means little without it. The power is a sum of exact binomial probabilities over a region in which the test
rejects for certain; where that region is only known from inside, the power is understated and the answer errs upward.
No verdict rests on anything here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from flint import arb

from dpverify.arithmetic.precision import working_precision
from dpverify.audit.statistics import ordering, tails
from dpverify.audit.statistics.binomial import lower, upper
from dpverify.audit.statistics.conditional import side_p_value, side_rejects
from dpverify.audit.statistics.counts import Counts, Design, check
from dpverify.audit.statistics.inversion import (
    NUISANCE_SHARE,
    Nuisance,
    RegionOfCounts,
    joint_rejects,
    largest_rejected,
    log_surplus,
    quantile,
    ratio_above,
)
from dpverify.audit.statistics.joint import Edge, Region, region_probability, windows
from dpverify.audit.statistics.ordering import Integers
from dpverify.audit.statistics.roots import narrowed

_OUTSIDE = 1e-6
"""Mass of Y that the power ignores."""


def detectable_epsilon(
    *,
    other_hits: int,
    other_draws: int,
    draws: int,
    epsilon: float,
    delta: float,
    alpha: float,
    power: float = 0.9,
    design: Design = "random-side",
) -> float:
    """The least epsilon' >= epsilon at which a mechanism would have been refuted against (epsilon, delta) with this power.

    The mechanism has P(S) = min(1, e^epsilon' q + delta) and Q(S) = q, with q the exact upper confidence bound of Q(S) at
    level 1 - alpha from `other_hits` of `other_draws`; it is tested by `rejects` at level `alpha`, with `draws` and
    `other_draws` outputs a side. `epsilon` >= 0 in nats, 0 <= `delta` <= 1, 0 < `alpha`, `power` < 1. inf where no epsilon'
    reaches this power, because even P(S) = 1 would not. Exact binomial tails, not certified; rounded up by 1e-7 or so.
    """
    check(delta=delta, alpha=alpha, epsilon=epsilon)
    check(alpha=power)
    q = upper(other_hits, other_draws, alpha)
    if draws == 0 or other_draws == 0 or q * ratio_above(epsilon) + delta >= 1:  # the claim allows P(S) = 1
        return math.inf
    low, high = windows(other_draws, q, _OUTSIDE)
    if delta == 0 and design == "random-side":
        critical = _conditional_critical(low, high, draws, epsilon, alpha)
    else:
        critical = _joint_critical(low, high, draws, other_draws, epsilon, delta, alpha)
    region = Region(draws=draws, other_draws=other_draws, first=low, critical=critical)

    def refuted(p: float) -> float:
        value, error = region_probability(region, p, q, _OUTSIDE)
        return value - error

    if refuted(1.0) < power:
        return math.inf

    def surplus(candidate: float) -> float:
        return _probit(refuted(min(1.0, math.exp(candidate) * q + delta))) - _probit(power)

    step = (_probit(power) - _probit(alpha)) * math.sqrt(
        1 / (draws * (ratio_above(epsilon) * q + delta)) + 1 / (other_draws * q)
    )
    return _least_epsilon(surplus, epsilon, math.log(max(1 - delta, 1e-300) / q), step)


def _probit(probability: float) -> float:
    """The quantile of the normal distribution; finite at 0 and 1."""
    return NormalDist().inv_cdf(min(max(probability, 1e-12), 1 - 1e-12))


def power_at(*, draws: int, p: float, q: float, epsilon: float, delta: float, alpha: float) -> float:
    """The probability that `rejects` is True at (epsilon, delta) and level alpha, where P(S) = p and Q(S) = q.

    `draws` outputs a side, their sides by a fair coin where delta = 0. 0 < q, p < 1. Exact binomial sums over a region in which
    the test rejects for certain, less what they leave out; not certified. A lower bound, up to rounding.
    """
    check(delta=delta, alpha=alpha, epsilon=epsilon)
    low, high = windows(draws, q, _OUTSIDE)
    if delta == 0:
        critical = _conditional_critical(low, high, draws, epsilon, alpha)
    else:
        critical = _joint_critical(low, high, draws, draws, epsilon, delta, alpha)
    value, error = region_probability(Region(draws=draws, other_draws=draws, first=low, critical=critical), p, q, _OUTSIDE)
    return value - error


def _least_epsilon(surplus: Callable[[float], float], low: float, high: float, step: float) -> float:
    """The least epsilon in [low, high] from which on `surplus` is >= 0, rounded up; at `high` it is known to be.

    `step`: roughly how far from `low` that is.
    """
    most, below = high, surplus(low)
    if below >= 0:
        return low
    while True:
        high = min(low + step, most)
        above = surplus(high)
        if above >= 0 or high >= most:
            break
        low, below, step = high, above, 2 * step
    return narrowed(surplus, low, high, (below, above), 1e-7 * max(1.0, high))[1] if above >= 0 else high


def _conditional_critical(first: int, last: int, draws: int, epsilon: float, alpha: float) -> Integers:
    """For y = first..last the least x that the conditional test rejects, at most draws + 1.

    Walks along the edge of the region: one more x or y moves the tail Pr(Bin(x + y, theta) >= x) by one term. Where that is far
    it is found at a few y, within a five-hundredth of its deviation.
    """
    if last - first > MOST_WALKED:
        slope, z = ratio_above(epsilon), quantile(alpha)

        def least(y: int) -> int:
            guess = int(slope * y + z * math.sqrt(slope * (1 + slope) * y))
            fine = max(1, int(2e-3 * slope * math.sqrt(y + 1)))
            return _least_rejected(lambda x: side_rejects(x, y, epsilon, alpha), min(guess, draws), draws, fine)

        return _from_a_few(first, last, slope, draws, least)
    theta, other = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(min(epsilon, 700.0)))
    x, beyond = first, draws + 1
    while x < beyond:
        middle = (x + beyond) // 2
        if side_rejects(middle, first, epsilon, alpha):
            beyond = middle
        else:
            x = middle + 1
    critical = np.full(last - first + 1, draws + 1, dtype=np.int64)
    if x > draws:
        return critical
    tail, term = side_p_value(x, first, epsilon), _term(x, first, theta, other)
    for y in range(first, last + 1):
        while tail > alpha and x <= draws:
            tail -= other * term
            term *= theta * (x + y + 1) / (x + 1)
            x += 1
        if x > draws:
            break
        critical[y - first] = x
        tail += term * x * other / (y + 1)
        term *= other * (x + y + 1) / (y + 1)
    return critical


def _term(x: int, y: int, theta: float, other: float) -> float:
    """Pr(Bin(x + y, theta) = x)."""
    with working_precision(tails.working_bits(x + y)):
        return float(tails.probability(x, x + y, arb(theta), arb(other)))


def _joint_critical(
    first: int, last: int, draws: int, other_draws: int, epsilon: float, delta: float, alpha: float
) -> Integers:
    """For y = first..last critical values from which on the joint test is sure to reject, at most draws + 1.

    Where one count of Y stands for many of X, the sets below are long in terms of X, and counts are tested one by one.
    The regions of the observed counts nest. So where the largest of them passes the test over every nuisance set that
    counts in it can have, each of its counts is rejected. Those sets all lie between the ends taken here.
    """
    ratio, beta = ratio_above(epsilon), NUISANCE_SHARE * alpha
    if ratio * draws > STEEP * other_draws:
        return _critical_one_by_one(first, last, draws, other_draws, epsilon, delta, alpha)
    edge, z, q_high = Edge(ratio=ratio, delta=delta), quantile(alpha), upper(last, other_draws, beta / 2)

    def region(minus_log_slope: float) -> RegionOfCounts:
        return RegionOfCounts(draws, other_draws, math.exp(-minus_log_slope), delta * draws, z)

    def surplus(minus_log_slope: float) -> float:
        candidate = region(minus_log_slope)
        least_hits = int(candidate.critical(first, first)[0])
        nuisance = Nuisance(lower(min(least_hits, draws), draws, beta / 2), q_high)
        return log_surplus(nuisance.supremum(candidate, edge, alpha), alpha)

    level = -math.log(ratio * draws / other_draws)
    offset, steepness = region(level).edge((last + first) / 2)
    step = 2e-3 / steepness
    found = region(
        largest_rejected(surplus, level + offset, steepness, floor=-60, ceiling=60 + level, resolution=step, close=3e-2)
    )
    return np.minimum(found.critical(first, last), draws + 1)


MOST_WALKED = 5_000
"""Counts of Y past which the edge of the conditional test's region is walked, one by one."""

STEEP = 20.0
"""Counts of X that one of Y may stand for where all counts are answered for at once."""

MOST_TESTED, SOME_TESTED = 12, 6
"""Counts of Y that are all tested one by one, at most; of more of them some are, and what lies between is interpolated."""


def _critical_one_by_one(
    first: int, last: int, draws: int, other_draws: int, epsilon: float, delta: float, alpha: float
) -> Integers:
    """The same from the test itself: for a few y the least x that it rejects, within a fiftieth of its deviation."""
    slope, shift, z = ratio_above(epsilon) * draws / other_draws, delta * draws, quantile(alpha)

    def least(y: int) -> int:
        guess = int(ordering.critical_values(y, y, other_draws, slope, shift, z)[0])
        fine = max(1, int(2e-2 * slope * math.sqrt(y + 1)))

        def rejected(x: int) -> bool:
            counts = Counts(hits=x, draws=draws, other_hits=y, other_draws=other_draws)
            return joint_rejects(counts, epsilon=epsilon, delta=delta, alpha=alpha)

        return _least_rejected(rejected, min(guess, draws), draws, fine)

    return _from_a_few(first, last, slope, draws, least)


def _from_a_few(first: int, last: int, slope: float, draws: int, least: Callable[[int], int]) -> Integers:
    """For y = first..last what `least` says of each, or of a few between which it is interpolated."""
    points = last - first + 1 if last - first < MOST_TESTED else SOME_TESTED
    tested = np.unique(np.linspace(first, last, points).astype(np.int64))
    found = [least(y) for y in tested.tolist()]
    y = np.arange(first, last + 1)
    beyond = np.interp(np.sqrt(y + 0.5), np.sqrt(tested + 0.5), np.array(found) - slope * tested)  # nearly straight so
    critical = np.ceil(slope * y + beyond - 1e-6).astype(np.int64)
    nested: Integers = np.minimum(critical + (len(y) > len(tested)), draws + 1)
    return nested


def _least_rejected(rejected: Callable[[int], bool], guess: int, most: int, fine: int) -> int:
    """The least x <= `most` that is rejected, up to `fine` more; most + 1 where none is. All above a rejected one are."""
    low, high, step = -1, most + 1, 4 * fine
    x = guess
    while low < x < high:  # outwards from the guess until both sides are known
        if rejected(x):
            high, x = x, x - step
        else:
            low, x = x, x + step
        step *= 2
        if low >= 0 and high <= most:
            break
    if high > most and not rejected(most):
        return most + 1
    high = min(high, most)
    while high - low > fine:
        middle = (low + high) // 2
        low, high = (low, middle) if rejected(middle) else (middle, high)
    return high
