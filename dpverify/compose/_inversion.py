"""What a sum of independent privacy losses exceeds, from the product of their transforms: an integral along a contour.

With M the product of the moment generating functions (`_transforms`), L the sum and c > 0,

    P(L > eps)          = 1/(2 pi i) times the integral of M(s) e^{-s eps}/s over c + i R,
    E(1 - e^{eps - L})+ = the same with 1/(s (s + 1)), since 1/s - 1/(s + 1) belongs to l -> (1 - e^{-l})+.

The line is bent into a ray and its mirror image: s = c + u e^{i theta}, 0 < theta < pi/2. Let turn = pi/2 - theta. Legs ahead
are turned by that angle; there Re(e^{i t} beta) <= 0 for every t in [theta, pi/2], since beta is a sum of z^k with coefficients
>= 0 and 0 < k < p, and t + k turn lies in [pi/2, 3 pi/2], as p turn < pi/2. On the other legs beta <= 0 is real. So
M(s) e^{-s limit} is bounded between the ray and the line, where e^{-s (eps - limit)} falls: the arcs vanish, and so does the
rest of the ray beyond u, at the rate e^{-u (eps - limit) cos theta}. This needs eps > limit. The integrand is integrated as a
Taylor series on panels along the ray; its coefficients beyond the last are bounded by the integrand on a larger circle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from flint import acb, acb_poly, arb, ctx, fmpq

from dpverify.arithmetic.precision import working_precision
from dpverify.compose._transforms import Transform
from dpverify.errors import PrecisionError

_CIRCLE = 3.0
"""The radius of the circle, in half lengths of a panel."""
_LONGEST_PHASE = 4.0
"""(eps - limit) times half the length of a panel: a Taylor series of e^{-x} loses x/log 2 bits."""
_SHORTEST = 1e-9
_LONGEST = 1e9
_FIRST = 0.05


def turned(largest_p: int) -> float:
    """The angle pi/2 - theta for coordinates with exponents up to `largest_p`; any below pi/(2p) will do."""
    return 0.3 * math.pi / largest_p


def exceeding(transforms: Sequence[Transform], gap: arb, turn: float, *, weighted: bool) -> arb:
    """P(L > limit + gap), or, `weighted`, E(1 - e^{limit + gap - L})+, for gap > 0; a ball at the working precision.

    Transforms that are one and the same object are looked at once.
    """
    counted: dict[int, tuple[Transform, int]] = {}
    for one in transforms:
        counted[id(one)] = (one, counted.get(id(one), (one, 0))[1] + 1)
    return _Inversion(list(counted.values()), gap, turn, weighted).value()


class _Inversion:
    def __init__(self, transforms: list[tuple[Transform, int]], gap: arb, turn: float, weighted: bool) -> None:
        self.transforms, self.gap, self.weighted = transforms, gap, weighted
        self.turn = turn
        self.ray = acb(0, arb.pi() / 2 - arb(turn)).exp()
        self.start = self._start()

    def value(self) -> arb:
        sizes = [abs(one.value(acb(self.start))).upper() for one, _ in self.transforms]
        size = abs(self._weight(acb(self.start))).upper()
        for one, (_, count) in zip(sizes, self.transforms, strict=True):
            size *= one**count
        goal = size * arb(2) ** (6 - int(ctx.prec))
        end, error = self._end(goal)
        terms = int(ctx.prec) * 3 // 4
        total, low, half, longest = acb(0), fmpq(0), self.start / 5, _LONGEST_PHASE / float(self.gap)
        while low < _exactly(end):
            half = min(half, longest)
            missed = self._missed(low, half, terms)
            while not missed < goal / 16:
                half /= 1.5
                if half < self.start * _SHORTEST:
                    raise _too_far()
                missed = self._missed(low, half, terms)
            error += missed
            total += self._panel(low, half, terms, sizes)
            low += 2 * _exactly(half)  # doubles would leave gaps
            half *= 1.5
        error = error.upper()
        return (total.imag + arb(0, error)) / arb.pi()

    def _panel(self, low: fmpq, half: float, terms: int, sizes: Sequence[arb]) -> acb:
        """The integral over [low, low + 2 half], but for what the Taylor coefficients left out give."""
        s, step = acb(arb(self.start)) + self.ray * (arb(low) + half), self.ray * half
        faded = min(float(arb(low)) * float(self.gap) * math.sin(self.turn), 0.5 * int(ctx.prec))
        allowed = arb(faded).exp() * arb(2) ** (4 - int(ctx.prec))
        product = self._weight_series(s, step, terms)
        for (one, count), size in zip(self.transforms, sizes, strict=True):
            series = one.series(s, step, half, terms, size * allowed)
            for _ in range(count):
                product = _cut(product * series, terms)
        return step * sum((product[k] * 2 / (k + 1) for k in range(0, terms, 2)), acb(0))

    def _weight_series(self, s: acb, step: acb, terms: int) -> acb_poly:
        power, exponential = (-s * self.gap).exp(), []
        for k in range(terms):
            exponential.append(power)
            power *= -step * self.gap / (k + 1)
        found = _cut(acb_poly(exponential) * _reciprocal(s, step, terms), terms)
        return _cut(found * _reciprocal(s + 1, step, terms), terms) if self.weighted else found

    def _missed(self, low: fmpq, half: float, terms: int) -> arb:
        """What the Taylor coefficients from `terms` on give on one panel, at most."""
        middle, radius = acb(arb(self.start)) + self.ray * (arb(low) + half), _CIRCLE * half
        bound = self._weight_bound(middle, radius)
        for one, count in self.transforms:
            if bound.is_finite():
                bound *= one.bound(middle, radius) ** count
        if not bound.is_finite():
            return arb.pos_inf()
        circle = arb(_CIRCLE)
        return (2 * half * bound * circle**-terms / (1 - 1 / circle) / (terms + 1)).upper()

    def _end(self, goal: arb) -> tuple[float, arb]:
        """(length of the ray, bound on what lies beyond)."""
        fall = self.gap * arb(self.turn).sin()
        bound = (-self.gap * self.start).exp()
        for one, count in self.transforms:
            bound *= one.bound(acb(self.start), 0.0, outer=True) ** count
        end = self.start
        while end < self.start * _LONGEST:
            size = arb(end)
            beyond = (bound * (-size * fall).exp() / (fall * (size * size if self.weighted else size))).upper()
            if beyond < goal / 16:
                return end, beyond
            end *= 1.1
        raise _too_far()

    def _start(self) -> float:
        """Where the integrand is smallest on the positive axis, roughly; any c > 0 is right."""

        def height(c: float) -> float:
            s = acb(c)
            found = abs(self._weight(s)).log()
            for one, count in self.transforms:
                found += abs(one.value(s)).log() * count
            return float(found.mid())

        with working_precision(53):
            c = _FIRST / max(float(one.spread) for one, _ in self.transforms)
            lowest = height(c)
            for factor in (2.0, 1.4, 0.7):
                while (further := height(c * factor)) < lowest:
                    lowest, c = further, c * factor
        return c

    def _weight_bound(self, s: acb, radius: float) -> arb:
        """The largest weight within `radius` of s."""
        away = abs(s).lower() - radius
        if not away > 0:
            return arb.pos_inf()
        found = ((radius - s.real) * self.gap).exp() / away
        if self.weighted:
            away = abs(s + 1).lower() - radius
            found = found / away if away > 0 else arb.pos_inf()
        return found.upper()

    def _weight(self, s: acb) -> acb:
        found = (-s * self.gap).exp() / s
        return found / (s + 1) if self.weighted else found


def _exactly(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio())


def _reciprocal(s: acb, step: acb, terms: int) -> acb_poly:
    """1/(s + step t) as a series in t."""
    ratio, found = -step / s, [1 / s]
    for _ in range(terms - 1):
        found.append(found[-1] * ratio)
    return acb_poly(found)


def _cut(series: acb_poly, terms: int) -> acb_poly:
    return acb_poly([series[k] for k in range(terms)])


def _too_far() -> PrecisionError:
    return PrecisionError(
        "the integral for a sum of privacy losses takes too many pieces; move the request away from the extreme.", reached=0
    )
