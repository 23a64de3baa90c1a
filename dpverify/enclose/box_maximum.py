"""Certified maxima of smooth functions of a few numbers on a box, by branch and bound.

The function says how to bound itself on a box, and its gradient; where it can, also how concave it is there. A box is given
up only when its bound falls under a value that the function takes. Three bounds compete: the function's own, the mean-value
form about the middle, and, where the function is certainly concave on the box,

    f <= f(x) + sum_i sup_t (g_i t - m t^2/2)   for any x in the box, g = grad f(x), f + m |.|^2/2 concave,

which at a good x is off by the square of the gradient: it ends the search near a maximum at once, at any precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from flint import arb, fmpq

from dpverify.enclose.effort import spend
from dpverify.errors import PrecisionError

LARGEST_EFFORT = 20_000
"""Boxes examined before giving up."""
_COST = 50
"""What a box costs, in evaluations of a simple function."""
_STEPS = 60
"""Steps uphill within one box; they only choose the point at which the concave bound is taken."""

Point: TypeAlias = tuple[fmpq, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """A product of closed intervals with rational ends."""

    low: Point
    high: Point

    def middle(self) -> Point:
        return tuple((a + b) / 2 for a, b in zip(self.low, self.high, strict=True))

    def is_point(self) -> bool:
        return self.low == self.high

    def face(self, axis: int, *, upper: bool) -> Box:
        """The side on which coordinate `axis` has its upper or lower end."""
        end = self.high[axis] if upper else self.low[axis]
        return Box(_replaced(self.low, axis, end), _replaced(self.high, axis, end))

    def halves(self, axis: int) -> tuple[Box, Box]:
        middle = (self.low[axis] + self.high[axis]) / 2
        return Box(self.low, _replaced(self.high, axis, middle)), Box(_replaced(self.low, axis, middle), self.high)


class Smooth(Protocol):
    """A function on a box. Every method runs at the working precision in force, and its answer is certain."""

    def value(self, point: Point) -> arb:
        """The value at a point."""

    def enclosure(self, box: Box) -> arb:
        """A ball that holds every value on the box; its lower end does not matter."""

    def gradient(self, box: Box) -> tuple[arb, ...]:
        """For each coordinate a ball that holds every partial derivative on the box; it may be infinitely wide."""

    def concavity(self, box: Box) -> arb:
        """An m such that f + m |x|^2/2 is concave on the box; not positive where none is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Maximum:
    """`value`: a ball that holds the maximum. `point`: where the largest value was seen (nothing rests on it)."""

    value: arb
    point: Point


def box_maximum(function: Smooth, box: Box, *, bits: int, what: Callable[[], str], guesses: tuple[Point, ...] = ()) -> Maximum:
    """The maximum over a box, to about 2^-bits of it, or as exactly as its values are known.

    `guesses` are points worth a look first; only speed depends on them. Raises PrecisionError, naming `what()`, when the
    effort is spent.
    """
    search = _Search(function, bits, what)
    for point in (*guesses, box.low, box.high):
        search.see(point)
    search.run(box)
    return Maximum(value=search.best.lower().union(search.ceiling.max(search.best.upper())), point=search.point)


class _Search:
    """The state of one branch and bound: the best value seen, and the largest bound of what was given up."""

    def __init__(self, function: Smooth, bits: int, what: Callable[[], str]) -> None:
        self.function = function
        self.goal = arb(2) ** -bits
        self.what = what
        self.best = arb.neg_inf()
        self.ceiling = arb.neg_inf()
        self.point: Point = ()

    def see(self, point: Point) -> arb:
        value = self.function.value(point)
        if value.lower() > self.best.lower():
            self.best, self.point = value, point
        return value

    def settles(self, bound: arb) -> bool:
        """Give up what lies under `bound`, if no value there can matter."""
        best = self.best.lower()
        if bound <= best + (abs(best) * self.goal).max(4 * self.best.rad()):
            self.ceiling = self.ceiling.max(bound)
            return True
        return False

    def run(self, box: Box) -> None:
        waiting = [box]
        effort = 0
        while waiting:
            effort += 1
            spend(_COST)
            if effort > LARGEST_EFFORT:
                raise PrecisionError(
                    f"{self.what()}: the maximum was not found among {LARGEST_EFFORT} boxes; ask for fewer digits, or move"
                    " the request away from the extreme.",
                    reached=0,
                )
            waiting += self.examined(waiting.pop())

    def examined(self, box: Box) -> tuple[Box, ...]:
        """What is left of a box: nothing, a side of it, or its halves (the more promising one last)."""
        if box.is_point():
            self.ceiling = self.ceiling.max(self.see(box.low).upper())
            return ()
        bound = self.function.enclosure(box).upper()
        if self.settles(bound):
            return ()
        slopes = self.function.gradient(box)
        side = _dominant_side(box, slopes)
        if side != box:
            return (side,)
        middle = box.middle()
        half = [(b - a) / 2 for a, b in zip(box.low, box.high, strict=True)]
        reach = sum((abs(slope) * width for slope, width in zip(slopes, half, strict=True)), arb(0))
        if self.settles(_least(bound, (self.see(middle) + reach).upper())):
            return ()
        modulus = self.function.concavity(box).lower()
        if modulus > 0 and self.settles(_least(bound, self.concave_bound(box, middle, modulus))):
            return ()
        axis = max(range(len(half)), key=lambda i: _effect(slopes[i], half[i]))
        first, second = box.halves(axis)
        return (first, second) if slopes[axis].mid() > 0 else (second, first)

    def concave_bound(self, box: Box, start: Point, modulus: arb) -> arb:
        """The third bound of the module docstring, at a point that a search uphill finds."""
        if len(start) == 1:
            return self.bound_at_root(box, modulus)
        point, before = start, None
        gap = arb.pos_inf()
        for _ in range(_STEPS):
            slopes = self.function.gradient(Box(point, point))
            gap = sum((_rise(s, point[i], box, i, modulus) for i, s in enumerate(slopes)), arb(0))
            if self.is_small(gap):
                break
            following = _uphill(box, point, slopes, before, modulus)
            if following == point:
                break
            before = (point, slopes)
            point = following
        return arb((self.see(point) + gap).upper())

    def bound_at_root(self, box: Box, modulus: arb) -> arb:
        """In one dimension: at the root of the slope, which falls along the box, or at the end where it keeps its sign."""
        low, high = box.low[0], box.high[0]
        falling, rising = (self.slope(end) for end in (high, low))
        point, slope = high, falling
        if rising <= 0:
            point, slope = low, rising
        elif falling < 0:
            stayed = ""
            for turn in range(_STEPS):
                # The secant; every fourth time the middle, by logarithms where the ends differ by orders of magnitude.
                target = high - (falling * (high - low) / (falling - rising)).mid().fmpq()
                point = target if turn % 4 < 3 and low < target < high else _between(low, high, turn)
                slope = self.slope(point)
                if not slope.is_finite() or not (slope > 0 or slope < 0):
                    break
                if self.is_small(_rise(slope, point, box, 0, modulus)):
                    break
                # An end that stays twice counts half (Illinois), so that both close in.
                if slope > 0:
                    low, rising, falling = point, slope, falling / 2 if stayed == "high" else falling
                    stayed = "high"
                else:
                    high, falling, rising = point, slope, rising / 2 if stayed == "low" else rising
                    stayed = "low"
        return arb((self.see((point,)) + _rise(slope, point, box, 0, modulus)).upper())

    def slope(self, place: fmpq) -> arb:
        return self.function.gradient(Box((place,), (place,)))[0]

    def is_small(self, gap: arb) -> bool:
        return bool(gap <= abs(self.best.lower()) * self.goal / 2)


def _dominant_side(box: Box, slopes: tuple[arb, ...]) -> Box:
    """The side of the box that holds its maximum, where signs of slopes are certain."""
    for axis, slope in enumerate(slopes):
        if box.low[axis] != box.high[axis] and (slope >= 0 or slope <= 0):
            box = box.face(axis, upper=bool(slope >= 0))
    return box


def _rise(slope: arb, here: fmpq, box: Box, axis: int, modulus: arb) -> arb:
    """sup of slope t - modulus t^2/2 over the t that stay in the box, or a little more."""
    ahead = (slope * (box.high[axis] - here)).upper().max((slope * (box.low[axis] - here)).upper())
    steepest = abs(slope).upper()
    return _least(ahead.max(arb(0)), (steepest * steepest / (2 * modulus)).upper())


def _uphill(
    box: Box, point: Point, slopes: tuple[arb, ...], before: tuple[Point, tuple[arb, ...]] | None, modulus: arb
) -> Point:
    """The next point: along the gradient, by the step that the last change of the gradient suggests, kept within the box."""
    step = 1 / modulus
    if before is not None:
        moved = [arb(a - b) for a, b in zip(point, before[0], strict=True)]
        bent = [s - r for s, r in zip(slopes, before[1], strict=True)]
        curvature = -sum((a * b for a, b in zip(moved, bent, strict=True)), arb(0)).mid()
        length = sum((a * a for a in moved), arb(0)).mid()
        if curvature > 0:
            step = length / curvature
    target = [a + (step * s).mid().fmpq() if (step * s).is_finite() else a for a, s in zip(point, slopes, strict=True)]
    return tuple(min(max(x, a), b) for x, a, b in zip(target, box.low, box.high, strict=True))


def _between(low: fmpq, high: fmpq, turn: int) -> fmpq:
    """The middle of two numbers; every other time, where they differ by orders of magnitude, that of their logarithms."""
    if turn % 2 and low >= 0 and high > 16 * low:
        bits = int((high / max(low, high / (1 << 64))).floor()).bit_length()
        return high / (1 << max(bits // 2, 1))
    return (low + high) / 2


def _effect(slope: arb, width: fmpq) -> float:
    """How much a coordinate contributes to the doubt about a box."""
    doubt = abs(slope).upper() * width
    return float(doubt) if doubt.is_finite() else float("inf") if width else 0.0


def _least(first: arb, second: arb) -> arb:
    return first.min(second) if second.is_finite() else first


def _replaced(point: Point, axis: int, value: fmpq) -> Point:
    return (*point[:axis], value, *point[axis + 1 :])
