"""The privacy profile of discrete Gaussian noise and its inverses.

The noise is P(x) = e^{-x^2/(2 v)} / Z on the integers, v = sigma^2, and the loss of the noise moved by D is
D (2 x - D)/(2 v). With S(k) the sum of e^{-x^2/(2 v)} over x >= k,
    delta(epsilon) = (S(t - D) - e^epsilon S(t)) / Z,   t = floor(epsilon v / D + D/2) + 1,
which is the largest of the excesses g_t of the events {x >= t} over all t.

delta is NOT monotone in sigma: where epsilon is not small beside D it rises again over stretches of sigma, since the least
loss above epsilon jumps as an integer comes within reach. What holds is this. For fixed t and delta > 0, write g_t - delta as
the mean of a function of |x|. It changes sign at most twice as |x| grows, from - to + to - for t > D, and once, from + to -,
for 1 <= t <= D. The laws of |x| are an exponential family in -1/(2 v) with the statistic x^2, so the mean changes sign at
most as often as sigma grows, and in the same order (variation diminishing; S. Karlin, Total Positivity, 1968): the set of
sigma with g_t > delta is an interval, and reaches down to 0 for 1 <= t <= D. The least sigma that satisfies a claim is found
by joining such intervals from 0 on until none reaches further.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from flint import arb, fmpq

from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.enclose.decide import is_above
from dpverify.enclose.refine import enclose
from dpverify.mechanisms import _gaussian_sums, _mills
from dpverify.mechanisms._certified import log_of
from dpverify.mechanisms._discrete import certified_delta
from dpverify.mechanisms._least_sigma import LeastSigma


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianPair:
    """P: discrete Gaussian noise with variance parameter v moved by D. Q: the noise."""

    is_symmetric: ClassVar[bool] = True

    v: fmpq
    shift: int

    def hockey_stick(self, eps: fmpq) -> arb:
        return excess(self.v, self.shift, eps, threshold(self.v, self.shift, eps))

    def loss_tail(self, eps: fmpq) -> arb:
        return tail(self.v, threshold(self.v, self.shift, eps) - self.shift)

    def loss_limit(self) -> arb:
        return arb.pos_inf()

    def power_moment(self, order: fmpq) -> arb | fmpq:
        log = self.log_power_moment(order)
        return fmpq(1) if log == 0 else arb(log).exp()

    def log_power_moment(self, order: fmpq) -> arb | fmpq:
        """order (order - 1) D^2/(2 v), plus the log of the sum over the integers moved by order D, over the sum itself."""
        on_reals = order * (order - 1) * self.mean_loss()
        if (order * self.shift).q == 1:
            return on_reals
        return on_reals + (_gaussian_sums.whole(self.v, order * self.shift) / _gaussian_sums.whole(self.v)).log()

    def mean_loss(self) -> fmpq:
        return self.shift**2 / (2 * self.v)

    def loss_variance(self) -> arb:
        return arb(self.shift**2 / self.v**2) * second_moment(self.v)

    def zcdp_rho(self) -> fmpq:
        """D^2/(2 v): by Poisson's formula the sum over moved integers is never larger, and at integer orders it is equal."""
        return self.mean_loss()

    def loss_quantile(self, tail_mass: fmpq) -> fmpq:
        """The least x with P(L > x) <= tail_mass: the loss just below the least k with P(noise >= k) <= tail_mass."""

        def is_heavier(k: int) -> bool:
            return is_above(lambda: tail(self.v, k), tail_mass, what=lambda: f"the tail of {self!r}")

        low, high = 0, 1
        if is_heavier(0):
            while is_heavier(high):
                low, high = high, 2 * high
        else:
            low = -1
            while not is_heavier(low):
                low, high = 2 * low, low
            high = min(high, 0)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if is_heavier(middle) else (low, middle)
        return loss(self.v, self.shift, high - 1 + self.shift)

    def reversed(self) -> Self:
        return self


def threshold(v: fmpq, d: int, eps: fmpq) -> int:
    """The least integer whose loss exceeds eps."""
    return int((eps * v / d + fmpq(d, 2)).floor()) + 1


def loss(v: fmpq, d: int, x: int) -> fmpq:
    """The privacy loss at x."""
    return d * (2 * x - fmpq(d)) / (2 * v)


def excess(v: fmpq, d: int, eps: fmpq, t: int) -> arb:
    """g_t = P(x >= t) - e^eps Q(x >= t)."""
    normaliser = _gaussian_sums.whole(v)
    if t <= 0:
        return -arb(eps).expm1() - (_gaussian_sums.upper(v, 1 - t + d) - _gaussian_sums.upper(v, 1 - t, eps)) / normaliser
    if t <= d:
        return 1 - (_gaussian_sums.upper(v, 1 - t + d) + _gaussian_sums.upper(v, t, eps)) / normaliser
    return (_gaussian_sums.upper(v, t - d) - _gaussian_sums.upper(v, t, eps)) / normaliser


def tail(v: fmpq, k: int) -> arb:
    """P(noise >= k)."""
    return _gaussian_sums.upper(v, k) / _gaussian_sums.whole(v)


def second_moment(v: fmpq) -> arb:
    """E Z^2 of the noise."""
    return _gaussian_sums.second_moment(v) / _gaussian_sums.whole(v)


# The engine for "arb".


def delta(noise: Any, eps: fmpq, digits: int) -> Enclosure:
    """delta(eps)."""
    return certified_delta(noise, eps, digits)


def epsilon(noise: Any, exact_delta: fmpq, digits: int) -> Enclosure:
    """The least epsilon >= 0, for a positive delta.

    The threshold is t from the loss at t - 1 up to that at t. delta falls, so the least t with delta(loss at t) <= delta is
    found by galloping and halving; then P(x >= t) - e^epsilon Q(x >= t) = delta is solved for epsilon.
    """
    pair: DiscreteGaussianPair = noise.pair()
    v, d = pair.v, pair.shift

    def exceeds(eps: fmpq) -> bool:
        return is_above(lambda: pair.hockey_stick(eps), exact_delta, what=lambda: f"delta({brief(eps)}) of {noise!r}")

    if not exceeds(fmpq(0)):
        return Enclosure(fmpq(0), digits=digits)
    low = d // 2  # its loss is at most 0
    high = max(low + 1, threshold(v, d, _epsilon_guess(v, d, exact_delta)))
    stride = 1
    if exceeds(loss(v, d, high)):
        while exceeds(loss(v, d, high)):
            low, high, stride = high, high + stride, 2 * stride
    else:
        while high - stride > low and not exceeds(loss(v, d, high - stride)):
            high, stride = high - stride, 2 * stride
        low = max(low, high - stride)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exceeds(loss(v, d, middle)) else (low, middle)
    return enclose(
        lambda bits: ((tail(v, high - d) - arb(exact_delta)) / tail(v, high)).log(),
        digits,
        what=lambda: f"epsilon of {noise!r} at delta = {brief(exact_delta)}",
    )


def scale(noise: Any, eps: fmpq, exact_delta: fmpq, sensitivity: fmpq, digits: int) -> Enclosure:
    """The least sigma, for a positive delta."""
    return least_sigma(eps, exact_delta, int(sensitivity.p), digits)


def least_sigma(eps: fmpq, exact_delta: fmpq, d: int, digits: int, *, beyond: fmpq | None = None) -> Enclosure:
    """The least sigma at which delta(eps) <= delta; with `beyond`, which violates the claim, the least one above it."""
    search = LeastSigma(
        excess=lambda sigma, t: excess(sigma * sigma, d, eps, t),
        threshold=lambda sigma: threshold(sigma * sigma, d, eps),
        level=exact_delta,
        start=fmpq(d, 8),
        safe_threshold=d // 2 + 1,
        beyond=beyond,
    )
    return enclose(search.enclosed, digits, what=lambda: f"sigma at epsilon = {brief(eps)}, delta = {brief(exact_delta)}")


def satisfies(sigma: fmpq, eps: fmpq, exact_delta: fmpq, d: int) -> bool:
    """Whether delta(eps) <= delta at this sigma, certified."""
    pair = DiscreteGaussianPair(v=sigma * sigma, shift=d)
    return not is_above(lambda: pair.hockey_stick(eps), exact_delta, what=lambda: f"delta at sigma = {sigma}")


def _epsilon_guess(v: fmpq, d: int, exact_delta: fmpq) -> fmpq:
    """The epsilon of Gaussian noise on the reals, in plain floating point; only speed depends on it."""
    try:
        found = _mills.epsilon(log_of(exact_delta), float(d / arb(v).sqrt()))
    except (OverflowError, ValueError, ZeroDivisionError):
        found = None
    return fmpq(0) if found is None else fmpq(*found.as_integer_ratio())
