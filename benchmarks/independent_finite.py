"""Privacy quantities of discrete, finite and bounded mechanisms straight from their definitions, in mpmath.

Sums of probabilities, and searches over true answers: nothing here knows a formula of dpverify.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from independent import CLOSER, CannotTell, Law, integral
from mpmath import mp, mpf

_MOST_TERMS = 4000


# Whole numbers.


def geometric_tail(s: Any, k: int) -> Any:
    """The sum of e^(-|x|/s) over x >= k."""
    r = mp.exp(-1 / s)
    rest = -mp.expm1(-1 / s)
    if k > 0:
        return mp.exp(-k / s) / rest
    return (1 + r - mp.exp(-(1 - k) / s)) / rest


def gaussian_tail(sigma: Any, k: int) -> Any:
    """The sum of e^(-x^2/(2 sigma^2)) over x >= k: term by term, or by Euler and Maclaurin where there are many."""
    if k <= 0:
        return gaussian_tail(sigma, 1) + 1 + (gaussian_tail(sigma, 1) - gaussian_tail(sigma, 1 - k))
    v = sigma * sigma
    fall = k / v  # the log density falls that much at each step, at least
    if min(100 / fall, 14 * sigma) < _MOST_TERMS:
        total, x = mpf(0), k
        while True:
            term = mp.exp(-(mpf(x) ** 2) / (2 * v))
            total += term
            if term < total * mpf(10) ** -(mp.dps - 8) and x > k + 3:
                return total
            x += 1
    z = mpf(k) / sigma
    first = mp.exp(-z * z / 2)
    total = sigma * mp.sqrt(mp.pi / 2) * mp.erfc(z / mp.sqrt(2)) + first / 2
    before, here = mpf(1), z  # Hermite polynomials He_0, He_1
    for j in range(1, 30):
        # the derivative of order n = 2j - 1 is -He_n(z) sigma^-n e^(-z^2/2)
        term = mp.bernoulli(2 * j) / mp.factorial(2 * j) * here * first / sigma ** (2 * j - 1)
        total += term
        if abs(term) < total * mpf(10) ** -48:
            return total
        for n in (2 * j - 1, 2 * j):
            before, here = here, z * here - n * before
    raise CannotTell("Euler-Maclaurin does not close")


def whole_numbers(tail: Callable[[int], Any], log_weight: Callable[[int], Any], shift: int, eps: Any) -> tuple[Any, Any]:
    """(sum of max(p - e^eps q, 0), sum of p where p > e^eps q) for noise on the whole numbers whose loss does not fall."""

    def above(x: int) -> bool:
        return bool(log_weight(x - shift) - log_weight(x) - eps > mpf(10) ** (15 - mp.dps) * (1 + eps))

    reach = 1
    while not above(reach):
        reach *= 2
        if reach > 10**60:
            return mpf(0), mpf(0)
    low, high = -1, reach
    while above(low):
        low *= 2
        if low < -(10**60):
            raise CannotTell("the loss exceeds eps everywhere")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if above(middle) else (middle, high)
    total = 2 * tail(1) + 1
    mass = tail(high - shift) / total
    return mass - mp.exp(eps) * tail(high) / total, mass


# Laws of few outcomes.


def by_terms(terms: list[tuple[Any, Any, Any]], order: Any) -> tuple[Any, Any]:
    """The Renyi divergence from (weight, log p, log q) of every outcome."""
    if order == 1:
        total = mp.fsum(width * mp.exp(p) * (p - q) for width, p, q in terms)
        return total, (abs(total) + mpf(10) ** -20) * mpf(10) ** -32
    exponents = [order * p + (1 - order) * q for _, p, q in terms]
    top = max(exponents)
    total = mp.fsum(width * mp.exp(exponent - top) for (width, _, _), exponent in zip(terms, exponents, strict=True))
    value = (top + mp.log(total)) / (order - 1)
    return value, mpf(10) ** -45 / abs(order - 1)


def corners(outcomes: list[tuple[Any, Any, Any]]) -> list[tuple[Any, Any]]:
    """(type I error, power) of the best tests, which reject the outcomes of the largest losses."""
    found = [(mpf(0), mpf(0))]
    for width, p, q in sorted(outcomes, key=lambda one: one[2] - one[1]):
        level, power = found[-1]
        found.append((level + width * mp.exp(q), power + width * mp.exp(p)))
    return found


def polygon_trade_off(outcomes: list[tuple[Any, Any, Any]], level: Any) -> Any:
    """The least type II error, by interpolation between the corners."""
    found = corners(outcomes)
    for (a, low), (b, high) in itertools.pairwise(found):
        if level <= b and b > a:
            rest = found[-1][1] - high
            return rest + (high - low) * (b - level) / (b - a)
    return mpf(0)


def polygon_mu(outcomes: list[tuple[Any, Any, Any]]) -> Any:
    """The largest gap of normal quantiles at a corner."""
    found = corners(outcomes)
    gaps = []
    for level, power in found[1:-1]:
        level_above, power_above = found[-1][0] - level, found[-1][1] - power
        shares = [min(level, level_above), min(power, power_above)]
        if min(shares) < mpf(10) ** -30:
            continue
        gaps.append(normal(shares[1], power < power_above) - normal(shares[0], level < level_above))
    return max(gaps, default=mpf(0))


def normal(share: Any, below: bool) -> Any:
    """The standard normal quantile of a share of at most 1/2, or of 1 less that share."""
    return (-1 if below else 1) * mp.sqrt(2) * mp.erfinv(1 - 2 * share)


# Selection: the best event of two candidates (or of two groups), over all gaps of their scores.


def over_gaps(cdf: Callable[[Any], Any], eta: Any, eps: Any) -> Any:
    """sup over x of cdf(x + eta) - e^eps cdf(x)."""

    def gain(x: Any) -> Any:
        return cdf(x + eta) - mp.exp(eps) * cdf(x)

    places = sorted(
        {
            centre + sign * mpf(2) ** k
            for centre in (mpf(0), -eta, -eta / 2 - eps / 2)
            for sign in (1, -1)
            for k in range(-20, 12)
        }
        | {mpf(0), -eta, -(eta + eps) / 2, (eta - eps) / 2 - eta}
    )
    values = [gain(x) for x in places]
    best = max(range(len(places)), key=values.__getitem__)
    low, high = places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)]
    return max(values[best], golden(gain, low, high)[1])


def golden(f: Callable[[Any], Any], low: Any, high: Any, steps: int = 110) -> tuple[Any, Any]:
    """(place, value) of the maximum of a function with one peak."""
    ratio = (mp.sqrt(5) - 1) / 2
    first, second = high - ratio * (high - low), low + ratio * (high - low)
    at_first, at_second = f(first), f(second)
    for _ in range(steps):
        if at_first >= at_second:
            high, second, at_second = second, first, at_first
            first = high - ratio * (high - low)
            at_first = f(first)
        else:
            low, first, at_first = first, second, at_second
            second = low + ratio * (high - low)
            at_second = f(second)
    return (first, at_first) if at_first >= at_second else (second, at_second)


# Outputs within a box.


def lower_gamma(s: Any, x: Any) -> Any:
    """The integral of t^(s - 1) e^(-t) over [0, x], by its series."""
    if x > 120:
        return mp.gamma(s) - mp.gammainc(s, x)
    term = 1 / s
    total, k = term, 0
    while term > total * mpf(10) ** -mp.dps:
        k += 1
        term *= x / (s + k)
        total += term
    return x**s * mp.exp(-x) * total


class Bounded:
    """The kernel e^(-|x|^p/w) on [0, length]: what true answers at distance `shift` lose. `inflated`: what falls outside is
    moved to the ends; else the law is cut and rescaled."""

    def __init__(self, p: Any, w: Any, length: Any, *, inflated: bool) -> None:
        self.p, self.w, self.length, self.inflated = p, w, length, inflated
        self._law = Law(log_density=lambda x: -(abs(x) ** p) / w)
        self._known: dict[Any, Any] = {}
        self.doubt = mpf(0)
        """The largest relative error of an integral so far."""
        self.searching = False

    def part(self, a: Any, b: Any) -> Any:
        """The integral of the kernel over [a, b], 0 <= a; while searching as an incomplete gamma function of few digits."""
        if a == b:
            return mpf(0)
        if self.searching:
            low, high = (mp.inf if mp.isinf(x) else x**self.p / self.w for x in (a, b))
            gamma = mp.gammainc(1 / self.p, low) if mp.isinf(high) else lower_gamma(1 / self.p, high)
            return gamma * self.w ** (1 / self.p) / self.p
        key = (a, b)
        if key not in self._known:
            h = self._law.log_density
            value, error = integral(lambda x: mp.exp(h(x)), h, a, b, CLOSER)
            self.doubt = max(self.doubt, error / value)
            self._known[key] = value
        return self._known[key]

    def level(self, t: Any, u: Any) -> Any:
        """sup over outputs of the log ratio of the laws at true answers t and u."""
        t, u = (min(max(x, mpf(0)), self.length) for x in (t, u))
        ends = (mpf(0), self.length, t, u)
        inside = max(abs(x - u) ** self.p - abs(x - t) ** self.p for x in ends) / self.w
        if not self.inflated:
            inverse = [self.part(mpf(0), one) + self.part(mpf(0), self.length - one) for one in (t, u)]
            return inside + mp.log(inverse[1] / inverse[0])
        atoms = [
            mp.log(self.part(one, mp.inf) / self.part(two, mp.inf))
            for one, two in ((t, u), (self.length - t, self.length - u))
            if one >= 0 and two >= 0
        ]
        return max(inside, *atoms)

    def worst(self, shift: Any) -> Any:
        """sup over pairs of true answers at a distance of at most `shift`."""
        room = max(self.length - shift, mpf(0))
        shift = min(shift, self.length)

        def at(t: Any, distance: Any = shift) -> Any:
            return max(self.level(t, t + distance), self.level(t + distance, t))

        # Reflection gives the other half. For 1 < p < 2 the slope is t^(p - 1) near 0: the peak may be next to it.
        steps = range(1, 400, 8) if 1 < self.p < 2 else range(1, 40, 6)
        places = sorted({room * part for part in (mpf(0), *(mpf(2) ** -k for k in steps), mpf(1) / 3)})
        self.searching = True
        # what is compared is a sum of logs near 0: as many digits more as it is small
        size = max(abs(x - shift) ** self.p - abs(x) ** self.p for x in (mpf(0), self.length)) / self.w
        with mp.workdps(45 + max(0, int(-mp.log10(size)) if size > 0 else 0)):
            values = [at(t) for t in places]
            top = max(values)
            best = next(i for i, value in enumerate(values) if value >= top * (1 - mpf(10) ** -38))
            around = max(best - 1, 0), min(best + 1, len(places) - 1)
            falls = best == 0 and all(a > b for a, b in itertools.pairwise(values))
            if falls or not room:
                place = mpf(0)
            elif places[around[0]] > 0:
                logs = [mp.log(places[i]) for i in around]
                place = mp.exp(golden(lambda x: at(mp.exp(x)), logs[0], logs[1], 75)[0])
            else:
                place = golden(at, places[around[0]], places[around[1]], 75)[0]
            for distance in (shift / 2, shift / 16):  # no smaller shift is worse
                if (
                    max(at(mpf(0), distance), at((self.length - distance) / 2, distance))
                    > top * (1 + mpf(10) ** -30) + mpf(10) ** -40
                ):
                    raise CannotTell("a smaller shift seems worse")
        self.searching = False
        return max(at(place) for place in {mpf(0), places[best], min(max(place, mpf(0)), room)})


def on_box(parts: Sequence[Bounded], shifts: Sequence[Any]) -> tuple[Any, Any]:
    """(level, estimated error) of independent coordinates: losses add up."""
    level = mp.fsum(part.worst(shift) for part, shift in zip(parts, shifts, strict=True))
    return level, 8 * mp.fsum(part.doubt for part in parts) + level * mpf(10) ** -33
