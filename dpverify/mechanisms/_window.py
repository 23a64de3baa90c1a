"""The worst true value for 1 < p < 2, where it may lie inside the domain: a certified maximum over windows.

For shifts of exactly c the largest log-ratio of output densities is the maximum over s in [0, l - c] of

    F(s) = h(s + c) - h(s),   h(t) = theta t^p + k(t),   k = log C  (`_gains`, item 1).

All bounds come from values at the ends of intervals. For 1 < p < 2, t^p has an increasing slope and a falling second
derivative, k is concave (its slope falls), C is concave and symmetric, and x^a e^{-theta x^p} rises to one peak and falls.
Two forms of each bound compete: differences of values at s + c and s, and, for shifts that are small beside the interval,
c times a bound on the next derivative (mean value).
"""

from __future__ import annotations

from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.enclose.box_maximum import Box, Point
from dpverify.mechanisms._power_kernel import PowerKernel

_ZERO = fmpq(0)


class Window:
    """F as a function of s/(l - c) in [0, 1]; what `enclose.box_maximum` asks for. Lives at one working precision."""

    def __init__(self, kernel: PowerKernel, length: fmpq, shift: fmpq) -> None:
        self._kernel = kernel
        self._length = length
        self._shift = shift
        self._room = length - shift
        self._ends: dict[fmpq, _End] = {}
        self._summit = self._at(length / 2)

    def value(self, point: Point) -> arb:
        low = self._at(point[0] * self._room)
        high = self._at(low.t + self._shift)
        return high.height - low.height + BALLS.log(high.normaliser / low.normaliser)

    def enclosure(self, box: Box) -> arb:
        """theta ((s + c)^p - s^p) is largest at the right end, k(s + c) - k(s) at the left one; or c times the largest h'."""
        left, right, left_end, right_end = self._corners(box)
        apart = right_end.height - right.height + BALLS.log(left_end.normaliser / left.normaliser)
        near = self._shift * (right_end.push + left.slope)
        return apart.min(near)

    def gradient(self, box: Box) -> tuple[arb, ...]:
        """F'(s) = h'(s + c) - h'(s), scaled."""
        left, right, left_end, right_end = self._corners(box)
        if box.is_point():
            return (self._room * (left_end.push - left.push + left_end.slope - left.slope),)
        high = left_end.push - left.push + left_end.slope - right.slope
        low = right_end.push - right.push + right_end.slope - left.slope
        second = self._second(left, right_end)
        return (self._room * _meet(_between(low, high), self._shift * second),)

    def concavity(self, box: Box) -> arb:
        """-F'' from below, scaled: F''(s) = h''(s + c) - h''(s), or c times h''' on the whole window."""
        left, right, left_end, right_end = self._corners(box)
        apart = (
            left_end.bow - right.bow + self._normaliser_second(left_end, right_end) - self._normaliser_second(left, right)
        ).upper()
        near = (self._shift * self._third(left, right_end)).upper()
        return arb((-apart.min(near) if near.is_finite() else -apart).lower()) * arb(self._room) ** 2

    def _corners(self, box: Box) -> tuple[_End, _End, _End, _End]:
        """What is known at s and s + c, for the smallest and the largest s of the box: s, S, s + c, S + c."""
        left, right = (self._at(end[0] * self._room) for end in (box.low, box.high))
        return left, right, self._at(left.t + self._shift), self._at(right.t + self._shift)

    def _at(self, t: fmpq) -> _End:
        found = self._ends.get(t)
        if found is None:
            found = self._ends[t] = _End(self._kernel, self._length, t)
        return found

    # Derivatives of k and h on an interval [first.t, last.t].

    def _normaliser_range(self, first: _End, last: _End) -> arb:
        """C on the interval: concave, largest in the middle of the domain."""
        lowest = first.normaliser.min(last.normaliser)
        inside = first.t <= self._summit.t <= last.t
        highest = self._summit.normaliser if inside else first.normaliser.max(last.normaliser)
        return _between(lowest, highest)

    def _normaliser_second(self, first: _End, last: _End) -> arb:
        """k'' = C''/C - k'^2 on the interval."""
        slope = _between(last.slope, first.slope)
        return self._relative_second(first, last) - slope * slope

    def _relative_second(self, first: _End, last: _End) -> arb:
        """C''/C on the interval."""
        kernel = self._kernel
        humps = self._hump(first.t, last.t) + self._hump(self._length - last.t, self._length - first.t)
        return -kernel.rate() * arb(kernel.p) * kernel.theta * humps / self._normaliser_range(first, last)

    def _second(self, first: _End, last: _End) -> arb:
        """h'' on the interval; infinitely wide where it begins at 0."""
        if first.t == 0:
            return _unknown()
        return _between(last.bow, first.bow) + self._normaliser_second(first, last)

    def _third(self, first: _End, last: _End) -> arb:
        """h''' on the interval: theta p (p-1) (p-2) t^{p-3} + C'''/C - 3 k' C''/C + 2 k'^3; infinitely wide next to an end."""
        kernel, p = self._kernel, self._kernel.p
        if first.t == 0 or last.t == self._length:
            return _unknown()
        factor = arb(p * (p - 1) * (p - 2)) * kernel.theta
        slope = _between(last.slope, first.slope)
        bends = self._hump_slope(first.t, last.t) - self._hump_slope(self._length - last.t, self._length - first.t)
        third = -kernel.rate() * arb(p) * kernel.theta * bends / self._normaliser_range(first, last)
        powers = _between(factor * kernel.power(first.t, p - 3), factor * kernel.power(last.t, p - 3))
        return powers + third - 3 * slope * self._relative_second(first, last) + 2 * slope * slope * slope

    def _hump(self, low: fmpq, high: fmpq) -> arb:
        """x^{p-1} e^{-theta x^p} on [low, high]."""
        return self._peaked(low, high, self._kernel.p - 1)

    def _hump_slope(self, low: fmpq, high: fmpq) -> arb:
        """Its derivative, ((p-1) x^{p-2} - p theta x^{2p-2}) e^{-theta x^p}, for low > 0: the first term falls."""
        kernel, p = self._kernel, self._kernel.p
        falling = [arb(p - 1) * kernel.power(x, p - 2) * kernel.bump(x) for x in (low, high)]
        return _between(falling[1], falling[0]) - arb(p) * kernel.theta * self._peaked(low, high, 2 * p - 2)

    def _peaked(self, low: fmpq, high: fmpq, exponent: fmpq) -> arb:
        """x^exponent e^{-theta x^p} on [low, high], exponent > 0: rises until theta p x^p = exponent, then falls."""
        kernel, p = self._kernel, self._kernel.p
        ends = [kernel.power(x, exponent) * kernel.bump(x) for x in (low, high)]
        level = arb(exponent / p)
        climb = [kernel.theta * kernel.power(x) - level for x in (low, high)]
        if climb[0] >= 0 or climb[1] <= 0:
            return _between(ends[0].min(ends[1]), ends[0].max(ends[1]))
        peak = BALLS.power(level / kernel.theta, arb(exponent / p)) * BALLS.exp(-level)
        return _between(ends[0].min(ends[1]), peak)


class _End:
    """What is known at one t."""

    __slots__ = ("_kernel", "_slope", "height", "length", "normaliser", "t")

    def __init__(self, kernel: PowerKernel, length: fmpq, t: fmpq) -> None:
        self._kernel = kernel
        self.length = length
        self.t = t
        self.height: arb = kernel.theta * kernel.power(t)
        self.normaliser: arb = kernel.mass(t) + kernel.mass(length - t)
        self._slope: arb | None = None

    @property
    def slope(self) -> arb:
        """k'(t)."""
        if self._slope is None:
            t, u = self.t, self.length - self.t
            difference = self._kernel.bump_difference(t, u) if t <= u else -self._kernel.bump_difference(u, t)
            self._slope = self._kernel.rate() * difference / self.normaliser
        return self._slope

    @property
    def push(self) -> arb:
        """theta p t^{p-1}."""
        kernel = self._kernel
        return arb(kernel.p) * kernel.theta * kernel.power(self.t, kernel.p - 1)

    @property
    def bow(self) -> arb:
        """theta p (p-1) t^{p-2}."""
        kernel, p = self._kernel, self._kernel.p
        return arb.pos_inf() if self.t == 0 else arb(p * (p - 1)) * kernel.theta * kernel.power(self.t, p - 2)


def _between(low: arb, high: arb) -> arb:
    return low.union(high)


def _unknown() -> arb:
    return arb(0, arb.pos_inf())


def _meet(first: arb, second: arb) -> arb:
    """A ball that holds what both hold."""
    if not second.is_finite():
        return first
    if not first.is_finite():
        return second
    return first.lower().max(second.lower()).union(first.upper().min(second.upper()))
