"""Privacy quantities straight from the densities, by numerical integration in mpmath: the opinion of an outsider.

Nothing here knows a formula of dpverify: no profile, no threshold, no cumulative distribution function. A noise is its log
density, the places where that is not smooth, and the places where the privacy loss turns; everything else is found by
bisection and by Gauss-Legendre and tanh-sinh integration over pieces that fit the density. Good to 30 digits and more where
the reported error is small; an answer comes with the error that it was estimated to have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

from mpmath import mp, mpf
from mpmath.calculus.quadrature import GaussLegendre

WANTED, WANTED_AGAIN = mpf(10) ** -32, mpf(10) ** -48
"""Relative error that an integral aims at, at first and where an answer was contradicted and is judged again."""
SECOND_LOOK = 300
"""Decimal digits from which on it is judged again."""
CLOSER = mpf(10) ** -50
"""The same, where differences of integrals matter."""
_DEEPEST = 12
_INSIDE = 1 - mpf(2) ** -40
"""An end of a piece may lie where the density ends: it is looked at a little within."""


class CannotTell(Exception):
    """The independent route does not reach the accuracy that a judgement needs."""


def _bounded(exponential: Callable[[Any], Any], least: Any) -> Callable[[Any], Any]:
    """The same function, which for an exponent of ten thousand bits does not end the process in GMP."""

    def bounded(x: Any) -> Any:
        if mp.isfinite(x) and mp.mag(x) > 10_000:
            if mp.re(x) > 0:
                raise CannotTell("e^x of an x with more than ten thousand bits before the point")
            return least
        return exponential(x)

    return bounded


mp.exp, mp.expm1 = _bounded(mp.exp, mpf(0)), _bounded(mp.expm1, mpf(-1))


@dataclass(frozen=True, kw_only=True)
class Law:
    """A noise in units of its scale."""

    log_density: Callable[[Any], Any]
    """Up to a constant that `constant` holds; -inf off the support."""
    kinks: tuple[Any, ...] = (0,)
    low: Any = -mp.inf
    high: Any = mp.inf
    turning: Callable[[Any], tuple[Any, ...]] = field(default=lambda d: ())
    """Where the loss against the law moved by d turns."""
    heavy: bool = False
    symmetric: bool = True

    def mirrored(self) -> Law:
        """The law of -X."""
        return Law(
            log_density=lambda x: self.log_density(-x),
            kinks=tuple(-k for k in self.kinks),
            low=-self.high,
            high=-self.low,
            heavy=self.heavy,
            symmetric=self.symmetric,
        )


# Integration.


@lru_cache(maxsize=16)
def _nodes(degree: int, dps: int) -> list[tuple[Any, Any]]:
    with mp.workdps(dps):
        found: list[tuple[Any, Any]] = GaussLegendre(mp).calc_nodes(degree, mp.prec)
    return found


def _is_second_look() -> bool:
    return bool(mp.dps > SECOND_LOOK)


def _gauss(g: Callable[[Any], Any], a: Any, b: Any, degree: int) -> Any:
    middle, half = (a + b) / 2, (b - a) / 2
    return half * mp.fsum(w * g(middle + half * x) for x, w in _nodes(degree, 90 if _is_second_look() else 60))


def _piece(
    g: Callable[[Any], Any], a: Any, b: Any, total: Any, wanted: Any, *, smooth: bool, depth: int = 0
) -> tuple[Any, Any]:
    """(integral, error) over a finite piece, where `total` says how much there is already.

    Doubling the points of Gauss-Legendre squares the relative error, as long as g is analytic around the piece ("smooth").
    At a kink the difference of the two counts as the error, and tanh-sinh integration takes over where it is too large.
    """
    before, aim = _gauss(g, a, b, 4), mpf(0)
    for degree in (5, 6):
        value = _gauss(g, a, b, degree)
        size = abs(total) + abs(value)
        aim, error = wanted * size, abs(value - before)
        if smooth and size:
            error = min(error, 1000 * error * error / size)
        if error <= aim:
            return value, error
        if error > size * mpf(10) ** -8:
            break
        before = value
    if depth == 0 or depth == _DEEPEST:
        value, error = mp.quad(g, [a, b], error=True, maxdegree=8)
        if error <= aim or depth == _DEEPEST:
            return value, error
    middle = (a + b) / 2
    left = _piece(g, a, middle, total, wanted, smooth=smooth, depth=depth + 1)
    right = _piece(g, middle, b, total + left[0], wanted, smooth=smooth, depth=depth + 1)
    return left[0] + right[0], left[1] + right[1]


def _peak(h: Callable[[Any], Any], a: Any, b: Any) -> Any:
    """About where h is largest on [a, b], one end of which is finite."""
    with mp.workdps(30):
        if mp.isinf(a) or mp.isinf(b):
            sign, end = (1, a) if mp.isinf(b) else (-1, b)
            places = [end] + [end + sign * (1 + abs(end)) * mpf(2) ** k for k in range(-60, 100, 2)]
        else:
            places = [a + (b - a) * mpf(2) ** -k for k in range(0, 80, 3)] + [
                b - (b - a) * mpf(2) ** -k for k in range(0, 80, 3)
            ]
        places = sorted(set(places))
        values = [h(x) for x in places]
        best = max(range(len(places)), key=lambda i: values[i])
        low, high = places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)]
        ratio = (mp.sqrt(5) - 1) / 2
        for _ in range(60):
            first, second = high - ratio * (high - low), low + ratio * (high - low)
            low, high = (low, second) if h(first) >= h(second) else (first, high)
        inner = (low + high) / 2
        return inner if h(inner) > values[best] + mpf(10) ** -12 else places[best]


def _is_flat(h: Callable[[Any], Any], x: Any, y: Any) -> bool:
    """Whether the envelope hardly changes between two places, as a power does: pieces may then grow quickly."""
    return bool(abs(h(x + (y - x) * (1 - _INSIDE)) - h(x + (y - x) * _INSIDE)) < 3)


def integral(g: Callable[[Any], Any], h: Callable[[Any], Any], a: Any, b: Any, wanted: Any = 0) -> tuple[Any, Any]:
    """(integral of g over [a, b], estimated error); e^h is an envelope with one peak on [a, b], one end of which is finite."""
    wanted = wanted or (WANTED_AGAIN if _is_second_look() else WANTED)
    a, b = mpf(a), mpf(b)  # halves of Python's whole numbers would be floats
    if not a < b:
        return mpf(0), mpf(0)
    start = min(max(_peak(h, a, b), a), b)  # it was rounded
    top = h(start)
    total, error = mpf(0), mpf(0)
    for sign, end in ((1, b), (-1, a)):
        room = abs(end - start)
        if room == 0:
            continue
        width = min(room, 1 + abs(start))
        for _ in range(400):  # until the envelope falls by about e
            fall = top - h(start + sign * width * _INSIDE)
            if fall > 4:
                width /= 2
            elif fall < 1 and 2 * width < room:
                width *= 2
                if top - h(start + sign * width * _INSIDE) > 4:
                    width /= 2
                    break
            else:
                break
        x = start
        for _ in range(3000):
            width = min(width, abs(end - x))
            while h(x + sign * width * (1 - _INSIDE)) - h(x + sign * width * _INSIDE) > 12:
                width /= 2
            y = x + sign * width if width < abs(end - x) else end
            smooth = a < min(x, y) and max(x, y) < b
            value, doubt = _piece(g, min(x, y), max(x, y), total, wanted, smooth=smooth)
            total, error = total + value, error + doubt
            if y == end:
                break
            x = y
            if h(x) < top - 40 and abs(value) <= wanted * abs(total) / 1000:
                error += 8 * abs(value)
                break
            width *= 4 if _is_flat(h, x, y) else 2
        else:
            raise CannotTell("the tail is too long")
    return total, error


@lru_cache(maxsize=64)
def _constant(law: Law, dps: int) -> Any:
    with mp.workdps(dps):
        ends = [law.low, *sorted(law.kinks), law.high]
        parts = [integral(lambda x: mp.exp(law.log_density(x)), law.log_density, a, b) for a, b in pairwise(ends)]
        return 1 / mp.fsum(part[0] for part in parts)


def constant(law: Law) -> Any:
    """What normalises the density."""
    return _constant(law, max(mp.dps, 60))


# The loss.


def loss(law: Law, d: Any, x: Any) -> Any:
    """log p/q for P the noise moved by d, Q the noise; None where neither lives."""
    p, q = law.log_density(x - d), law.log_density(x)
    if p == -mp.inf:
        return None if q == -mp.inf else -mp.inf
    return mp.inf if q == -mp.inf else p - q


def segments(law: Law, d: Any) -> list[tuple[Any, Any]]:
    """Stretches on which both densities are smooth and the loss does not turn."""
    special = {mpf(k) + move for k in law.kinks for move in (0, d)} | {mpf(t) for t in law.turning(d)}
    special |= {end + move for end in (law.low, law.high) for move in (0, d)}
    return [(a, b) for a, b in pairwise(sorted(special)) if b - a > mpf(10) ** (10 - mp.dps) * (1 + abs(d))]


def exceeding(law: Law, d: Any, eps: Any) -> list[tuple[Any, Any]]:
    """The stretches where the loss exceeds eps."""
    tiny = mpf(10) ** (15 - mp.dps)
    slack = mpf(10) ** (25 - mp.dps) * (abs(eps) + d)
    found = []
    for a, b in segments(law, d):
        inner_a = _far(law, b, d, -1) if mp.isinf(a) else a + _step(a, b, d, tiny)
        inner_b = _far(law, a, d, 1) if mp.isinf(b) else b - _step(a, b, d, tiny)
        at_a, at_b = loss(law, d, inner_a), loss(law, d, inner_b)
        if at_a is None or at_b is None:
            continue
        above_a, above_b = at_a - eps > slack, at_b - eps > slack
        if above_a and above_b:
            found.append((a, b))
        elif above_a or above_b:
            place = _crossing(law, d, eps, inner_a, inner_b, rising=above_b)
            found.append((place, b) if above_b else (a, place))
    return found


def _step(a: Any, b: Any, d: Any, tiny: Any) -> Any:
    width = 1 + d if mp.isinf(b - a) else b - a
    return max(width * tiny, (1 + abs(a if mp.isinf(b) else b)) * mpf(10) ** (4 - mp.dps))


def _far(law: Law, end: Any, d: Any, sign: int) -> Any:
    return end + sign * (1 + abs(end) + d) * mpf(10) ** (20 if law.heavy else 9)


def _crossing(law: Law, d: Any, eps: Any, a: Any, b: Any, *, rising: bool) -> Any:
    """Where the loss passes eps between a and b, by bisection: first of the exponent where the stretch is long."""
    low, high = a, b
    for _ in range(40):  # geometric approach from the nearer end
        span = high - low
        near_low = low + span * mpf(2) ** -24
        near_high = high - span * mpf(2) ** -24
        if (loss(law, d, near_low) > eps) == rising:
            high = near_low
        elif (loss(law, d, near_high) > eps) != rising:
            low = near_high
        else:
            break
    for _ in range(4 * mp.dps + 100):
        middle = (low + high) / 2
        low, high = (low, middle) if (loss(law, d, middle) > eps) == rising else (middle, high)
        if high - low <= mpf(10) ** (8 - mp.dps) * min(abs(low) + mpf(10) ** (-mp.dps // 2), low - a, b - high):
            break
    return (low + high) / 2


# Quantities. Each is (value, estimated error).


def hockey_stick(law: Law, d: Any, eps: Any) -> tuple[Any, Any]:
    """The integral of max(p - e^eps q, 0), the larger of both orders."""
    ways = [law] if law.symmetric else [law, law.mirrored()]
    return max((_hockey_stick(way, d, eps) for way in ways), key=lambda pair: pair[0])


def _hockey_stick(law: Law, d: Any, eps: Any) -> tuple[Any, Any]:
    scale = constant(law)

    def excess(x: Any) -> Any:
        p, q = law.log_density(x - d), law.log_density(x)
        return mp.exp(p) * (1 if q == -mp.inf else -mp.expm1(eps - (p - q))) if p != -mp.inf else mpf(0)

    stretches = [piece for stretch in exceeding(law, d, eps) for piece in _layered(law, d, eps, *stretch)]
    return _summed(excess, lambda x: law.log_density(x - d), stretches, scale)


def _layered(law: Law, d: Any, eps: Any, a: Any, b: Any) -> list[tuple[Any, Any]]:
    """The stretch, split near a crossing where the loss is so steep that q fades within a small part of it."""
    cuts = [a, b]
    for end, sign in ((a, 1), (b, -1)):
        if mp.isinf(end):
            continue
        step = (1 + abs(end)) * mpf(10) ** (-mp.dps // 3)
        near = loss(law, d, end + sign * step)
        if near is None or mp.isinf(near) or abs(near - eps) > mpf(10) ** (mp.dps // 4) * (1 + abs(eps)):
            continue
        width = step / abs(near - eps) if near != eps else mp.inf
        cuts += [end + sign * width * reach for reach in (1, 8, 64, 512)]
    inner = sorted(cut for cut in cuts if a < cut < b)
    return list(pairwise([a, *inner, b]))


def mass_above(law: Law, d: Any, eps: Any, *, below: bool = False) -> tuple[Any, Any]:
    """P(loss > eps), the larger of both orders; or 1 less that, by integrating over the other stretches."""
    ways = [law] if law.symmetric else [law, law.mirrored()]
    found = []
    for way in ways:
        stretches = exceeding(way, d, eps)
        if below:
            stretches = _rest(stretches, segments(way, d))

        def density(x: Any, way: Law = way) -> Any:
            return mp.exp(way.log_density(x - d))

        def envelope(x: Any, way: Law = way) -> Any:
            return way.log_density(x - d)

        found.append(_summed(density, envelope, stretches, constant(way)))
    return (min if below else max)(found, key=lambda pair: pair[0])


def _rest(stretches: list[tuple[Any, Any]], within: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    found = []
    for a, b in within:
        inside = [(max(a, low), min(b, high)) for low, high in stretches if low < b and high > a]
        places = [a, *(end for pair in sorted(inside) for end in pair), b]
        found += [(low, high) for low, high in zip(places[::2], places[1::2], strict=True) if low < high]
    return found


def _summed(g: Any, h: Any, stretches: list[tuple[Any, Any]], scale: Any) -> tuple[Any, Any]:
    parts = [integral(g, h, a, b) for a, b in stretches]
    return scale * mp.fsum(part[0] for part in parts), scale * mp.fsum(part[1] for part in parts)


def largest_loss(law: Law, d: Any) -> Any:
    """The supremum of the loss: at ends of stretches, or far out."""
    values = [mpf(0)]
    for way in [law] if law.symmetric else [law, law.mirrored()]:
        for a, b in segments(way, d):
            tiny = mpf(10) ** (15 - mp.dps)
            for x in (
                _far(way, b, d, -1) if mp.isinf(a) else a + _step(a, b, d, tiny),
                _far(way, a, d, 1) if mp.isinf(b) else b - _step(a, b, d, tiny),
            ):
                found = loss(way, d, x)
                if found is not None:
                    values.append(found)
    return max(values)


def renyi(law: Law, d: Any, order: Any) -> tuple[Any, Any]:
    """The Renyi divergence, the larger of both orders; Kullback-Leibler at order 1."""
    ways = [law] if law.symmetric else [law, law.mirrored()]
    return max((_renyi(way, d, order) for way in ways), key=lambda pair: pair[0])


def _renyi(law: Law, d: Any, order: Any) -> tuple[Any, Any]:
    stretches = []
    for a, b in segments(law, d):
        inside = a + (1 + d) if mp.isinf(b) else b - (1 + d) if mp.isinf(a) else (a + b) / 2
        found = loss(law, d, inside)
        if found == mp.inf and order >= 1:
            return mp.inf, mpf(0)
        if found is not None and not mp.isinf(found):
            stretches.append((a, b))
    scale = constant(law)
    if order == 1:

        def weighed(x: Any) -> Any:
            return mp.exp(law.log_density(x - d)) * loss(law, d, x)

        total, error = _summed(weighed, lambda x: law.log_density(x - d), stretches, scale)
        return total, error

    def exponent(x: Any) -> Any:
        return order * law.log_density(x - d) + (1 - order) * law.log_density(x)

    tops = [exponent(_peak(exponent, a, b)) for a, b in stretches]
    if not tops:
        return mp.inf, mpf(0)
    top = max(tops)
    total, error = _summed(lambda x: mp.exp(exponent(x) - top), exponent, stretches, scale)
    return (top + mp.log(total)) / (order - 1), error / (total * abs(order - 1))


def upper_mass(law: Law, x: Any) -> tuple[Any, Any]:
    """P(X > x)."""
    ends = [max(x, law.low), *(mpf(k) for k in sorted(law.kinks) if x < k), law.high]
    stretches = [(a, b) for a, b in pairwise(ends) if a < b]
    return _summed(lambda y: mp.exp(law.log_density(y)), law.log_density, stretches, constant(law))


def quantile(law: Law, tail: Any) -> Any:
    """The x with P(X > x) = tail, by Newton's method on the logarithm within a bracket."""
    low = law.low if not mp.isinf(law.low) else mpf(-1)
    high = law.high if not mp.isinf(law.high) else mpf(1)
    while mp.isinf(law.low) and upper_mass(law, low)[0] < tail:
        low = 2 * low
    while mp.isinf(law.high) and upper_mass(law, high)[0] > tail:
        high = 2 * high
    x = (low + high) / 2
    for _ in range(60):
        value = upper_mass(law, x)[0]
        low, high = (x, high) if value > tail else (low, x)
        if value == tail or value == 0:
            break
        slope = -constant(law) * mp.exp(law.log_density(x)) / value if law.low < x < law.high else mpf(0)
        step = mp.log(value / tail) / slope if slope else mp.inf
        following = x - step
        if abs(step) < mpf(10) ** -31 * (1 + abs(x)):
            return following
        x = following if low < following < high else (low + high) / 2
    else:
        raise CannotTell("no quantile")
    return x


def trade_off(law: Law, d: Any, level: Any) -> Any:
    """The least type II error at type I error `level`, where the loss is monotone: half lines are the best tests."""
    ways = [law] if law.symmetric else [law, law.mirrored()]
    return min(_trade_off(way, d, level) for way in ways)


def _trade_off(law: Law, d: Any, level: Any) -> Any:
    rising = [loss(law, d, x) for x in (d / 2 - mpf("0.3") * d, d / 2 + mpf("0.3") * d)]
    if None in rising or rising[0] <= rising[1]:  # None: neither law is there, all of one lies beyond all of the other
        return upper_mass(law.mirrored(), d - quantile(law, level))[0]
    mirror = law.mirrored()  # reject below x
    return upper_mass(law, -quantile(mirror, level) - d)[0]


def moment(law: Law, order: int) -> tuple[Any, Any]:
    """E |X|^order."""
    ends = [law.low, *sorted({mpf(0), *(mpf(k) for k in law.kinks)}), law.high]

    def envelope(x: Any) -> Any:
        return law.log_density(x) + order * mp.log(abs(x)) if x else -mp.inf

    return _summed(lambda x: mp.exp(law.log_density(x)) * abs(x) ** order, envelope, list(pairwise(ends)), constant(law))
