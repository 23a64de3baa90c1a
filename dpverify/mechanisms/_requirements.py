"""How much privacy loss a bounded mechanism has to cover, as a function of theta, and how it is enclosed.

theta > 0 is the coefficient of the kernel, with lengths in units of the longest side of the domain: less theta is more noise.
Every requirement increases with theta from 0 without bound (`_gains`), so a given epsilon is met up to exactly one theta.
What is asked of it: `value` and `slope` on balls at the working precision, `start` in floating point (only speed depends on
it), `opinion` on mpmath numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from flint import arb, ctx, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.enclose.ball_maximum import Allotment, allotment, ball_maximum, share
from dpverify.enclose.box_maximum import Box, Point, box_maximum
from dpverify.mechanisms import _gaussian_start
from dpverify.mechanisms._gains import TruncatedGain, normaliser_pull
from dpverify.mechanisms._power_kernel import PowerKernel
from dpverify.mechanisms._window import Window

if TYPE_CHECKING:
    from mpmath import mpf

    from dpverify.arithmetic.multiprecision import MultiprecisionArithmetic

_UNIT = Box((fmpq(0),), (fmpq(1),))
_SPARED = 24
"""Bits by which a searched maximum may be less accurate than the working precision."""

Gain: TypeAlias = Any
"""One of the classes of `_gains`: Gain(kernel, length, cap)."""


class Requirement(Protocol):
    """The loss as a function of theta."""

    @property
    def proportional(self) -> bool:
        """Whether the loss is a multiple of theta."""

    @property
    def factor(self) -> fmpq | None:
        """Where this is a number, the loss is exactly factor * unit^p * theta."""

    @property
    def unit(self) -> fmpq: ...

    def value(self, theta: arb) -> arb: ...

    def slope(self, theta: arb) -> arb: ...

    def start(self, epsilon: float) -> float:
        """About the theta at which the loss is epsilon."""

    def opinion(self, m: MultiprecisionArithmetic, theta: mpf) -> mpf: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportional:
    """factor * unit^p * theta, or theta times a `multiple` that is not known to be of that form."""

    factor: fmpq | None
    unit: fmpq
    p: fmpq
    multiple: Callable[[Arithmetic], Value] | None
    proportional: bool = True

    def value(self, theta: arb) -> arb:
        return theta * self._multiple(BALLS)

    def slope(self, theta: arb) -> arb:
        return self._multiple(BALLS)

    def start(self, epsilon: float) -> float:
        return epsilon / float(self._multiple(BALLS))

    def opinion(self, m: MultiprecisionArithmetic, theta: mpf) -> mpf:
        return theta * self._multiple(m)

    def _multiple(self, m: Arithmetic) -> Value:
        if self.multiple is not None:
            return self.multiple(m)
        unit = m.rational(1) if self.unit == 1 else m.power(m.exact(self.unit), m.exact(self.p))
        return m.exact(self.factor) * unit


class AtShifts:
    """theta * extra + sum_k g_k(c_k), at given shifts."""

    proportional = False
    factor = None
    unit = fmpq(1)

    def __init__(
        self,
        gain: Gain,
        p: fmpq,
        lengths: Sequence[fmpq],
        shifts: Sequence[fmpq],
        extra: Callable[[Arithmetic], Value] | None = None,
    ) -> None:
        self._gain = gain
        self._p = p
        self._lengths = tuple(lengths)
        self._shifts = tuple(shifts)
        self._extra = extra
        self._last: tuple[arb, int, list[Any]] | None = None

    def value(self, theta: arb) -> arb:
        total = theta * self._extra(BALLS) if self._extra else arb(0)
        for gain, shift in zip(self._gains(theta), self._shifts, strict=True):
            total += gain.value(shift)
        return total

    def slope(self, theta: arb) -> arb:
        total = self._extra(BALLS) if self._extra else arb(0)
        for gain, shift in zip(self._gains(theta), self._shifts, strict=True):
            total += gain.pull(shift)
        return total

    def start(self, epsilon: float) -> float:
        if self._gain is TruncatedGain and self._p == 2:
            return _gaussian_start.at_shifts(_floats(self._lengths), _floats(self._shifts), epsilon)
        extra = float(self._extra(BALLS)) if self._extra else 0.0
        return epsilon / (extra + _roughly(self._gain, self._p, self._lengths, self._shifts, epsilon))

    def opinion(self, m: MultiprecisionArithmetic, theta: mpf) -> mpf:
        kernel = PowerKernel(m, self._p, theta)
        total = theta * self._extra(m) if self._extra else m.rational(0)
        for length, shift in zip(self._lengths, self._shifts, strict=True):
            total += self._gain(kernel, length, shift).value(shift)
        return total

    def _gains(self, theta: arb) -> list[Any]:
        precision = int(ctx.prec)
        if self._last is None or self._last[0] is not theta or self._last[1] != precision:
            kernel = PowerKernel(BALLS, self._p, theta)
            made = [self._gain(kernel, length, shift) for length, shift in zip(self._lengths, self._shifts, strict=True)]
            self._last = (theta, precision, made)
        return self._last[2]


class OverBall:
    """theta * extra + the maximum of sum_k g_k(c_k) over sum_k c_k^2 <= radius^2, c_k <= cap_k."""

    proportional = False
    factor = None
    unit = fmpq(1)

    def __init__(
        self,
        gain: Gain,
        p: fmpq,
        lengths: Sequence[fmpq],
        caps: Sequence[fmpq],
        radius_squared: fmpq,
        extra: Callable[[Arithmetic], Value] | None = None,
    ) -> None:
        self._gain = gain
        self._p = p
        self._lengths = tuple(lengths)
        self._caps = tuple(caps)
        self._radius_squared = radius_squared
        self._extra = extra
        self._allotment: Allotment | None = None

    def value(self, theta: arb) -> arb:
        found = ball_maximum(self._parts(BALLS, theta), self._radius_squared, self._allotment)
        self._allotment = found.allotment
        return found.value + theta * self._extra(BALLS) if self._extra else found.value

    def slope(self, theta: arb) -> arb:
        """At the maximising shifts (envelope theorem)."""
        if self._allotment is None:
            self.value(theta)
        assert self._allotment is not None
        total = self._extra(BALLS) if self._extra else arb(0)
        for part, c in zip(self._parts(BALLS, theta), self._allotment.point, strict=True):
            total += part.pull(c)
        return total

    def start(self, epsilon: float) -> float:
        if self._gain is TruncatedGain and self._p == 2:
            theta, point, multiplier = _gaussian_start.over_ball(
                _floats(self._lengths), float(arb(self._radius_squared)), epsilon
            )
            self._allotment = allotment(point, multiplier, self._caps)
            return theta
        even = fmpq(*math.sqrt(float(arb(self._radius_squared)) / len(self._caps)).as_integer_ratio())
        shifts = [min(even, cap) for cap in self._caps]
        extra = float(self._extra(BALLS)) if self._extra else 0.0
        return epsilon / (extra + _roughly(self._gain, self._p, self._lengths, shifts, epsilon))

    def shifts(self, theta: arb) -> tuple[fmpq, ...]:
        """The worst shifts, about."""
        self.value(theta)
        assert self._allotment is not None
        return self._allotment.point

    def opinion(self, m: MultiprecisionArithmetic, theta: mpf) -> mpf:
        """Newton's method of mpmath on the conditions of Lagrange, from the shares found in double precision."""
        parts = self._parts(m, theta)
        limit = m.exact(self._radius_squared)
        plain = [
            (
                lambda c, part=part: float(part.slope(m.context.mpf(c))),
                lambda c, part=part: float(part.bend(m.context.mpf(c))),
                float(arb(part.cap)),
            )
            for part in parts
        ]
        point, multiplier = share(plain, float(limit))
        pinned = [c >= cap for c, (_, _, cap) in zip(point, plain, strict=True)]
        free = [k for k, held in enumerate(pinned) if not held]
        shifts = [m.exact(part.cap) for part in parts]

        def conditions(*unknowns: mpf) -> list[mpf]:
            mu = unknowns[-1] if multiplier else m.rational(0)
            rows = [parts[k].slope(c) - 2 * mu * c for k, c in zip(free, unknowns, strict=False)]
            if multiplier:
                held = sum((shifts[k] ** 2 for k in range(len(parts)) if pinned[k]), m.rational(0))
                rows.append(sum((c * c for c in unknowns[:-1]), held) - limit)
            return rows

        if free:
            begin = [point[k] for k in free] + ([multiplier] if multiplier else [])
            found = m.context.findroot(conditions, begin, verify=False)
            for k, c in zip(free, found, strict=False):
                shifts[k] = c
        total = sum((part.value(c) for part, c in zip(parts, shifts, strict=True)), m.rational(0))
        return total + theta * self._extra(m) if self._extra else total

    def _parts(self, m: Arithmetic, theta: Value) -> list[Any]:
        kernel = PowerKernel(m, self._p, theta)
        return [self._gain(kernel, length, cap) for length, cap in zip(self._lengths, self._caps, strict=True)]


class OverWindows:
    """sum_k max_s [h_k(s + c_k) - h_k(s)]: truncated laws, 1 < p < 2, at given shifts."""

    proportional = False
    factor = None
    unit = fmpq(1)

    def __init__(self, p: fmpq, lengths: Sequence[fmpq], shifts: Sequence[fmpq]) -> None:
        self._p = p
        self._lengths = tuple(lengths)
        self._shifts = tuple(shifts)
        self._points: dict[tuple[fmpq, fmpq], Point] = {}

    def value(self, theta: arb) -> arb:
        kernel = PowerKernel(BALLS, self._p, theta)
        found: dict[tuple[fmpq, fmpq], arb] = {}
        total = arb(0)
        for pair in zip(self._lengths, self._shifts, strict=True):
            if pair not in found:
                found[pair] = self._largest(kernel, *pair)
            total += found[pair]
        return total

    def slope(self, theta: arb) -> arb:
        """At the worst true values (envelope theorem)."""
        kernel = PowerKernel(BALLS, self._p, theta)
        total = arb(0)
        for length, shift in zip(self._lengths, self._shifts, strict=True):
            s = self._worst(kernel, length, shift)
            total += kernel.power(s + shift) - kernel.power(s)
            total += normaliser_pull(kernel, length, s + shift) - normaliser_pull(kernel, length, s)
        return total

    def start(self, epsilon: float) -> float:
        return epsilon / _roughly(TruncatedGain, self._p, self._lengths, self._shifts, epsilon)

    def opinion(self, m: MultiprecisionArithmetic, theta: mpf) -> mpf:
        kernel = PowerKernel(m, self._p, theta)
        total = m.rational(0)
        for length, shift in zip(self._lengths, self._shifts, strict=True):
            total += _second_look(kernel, length, shift)
        return total

    def _largest(self, kernel: PowerKernel, length: fmpq, shift: fmpq) -> arb:
        if shift == length:
            return kernel.theta * kernel.power(length)
        window = Window(kernel, length, shift)
        guesses = tuple(point for point in [self._points.get((length, shift))] if point is not None)
        found = box_maximum(window, _UNIT, bits=int(ctx.prec) - _SPARED, guesses=guesses, what=lambda: "the worst true value")
        self._points[length, shift] = found.point
        return found.value

    def _worst(self, kernel: PowerKernel, length: fmpq, shift: fmpq) -> fmpq:
        if shift == length:
            return fmpq(0)
        if (length, shift) not in self._points:
            self._largest(kernel, length, shift)
        return self._points[length, shift][0] * (length - shift)


def _second_look(kernel: PowerKernel, length: fmpq, shift: fmpq) -> mpf:
    """max_s [h(s + c) - h(s)] on mpmath: the best of many s, then golden-section steps around it."""
    m = kernel.m
    room, c, whole = m.exact(length - shift), m.exact(shift), m.exact(length)

    def gain(s: mpf) -> mpf:
        above = kernel.mass(s + c) + kernel.mass(whole - s - c)
        below = kernel.mass(s) + kernel.mass(whole - s)
        return kernel.theta * (kernel.power(s + c) - kernel.power(s)) + m.log(above / below)

    places = [room * m.rational(k, 32) for k in range(33)]
    places += [room * m.rational(1, 2**k) for k in range(6, 60, 3)]
    places += [room * (1 - m.rational(1, 2**k)) for k in range(6, 60, 3)]
    places.sort()
    values = [gain(s) for s in places]
    best = max(range(len(places)), key=values.__getitem__)
    low, high = places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)]
    ratio = (m.sqrt(m.rational(5)) - 1) / 2
    inner = [high - ratio * (high - low), low + ratio * (high - low)]
    seen = [gain(s) for s in inner]
    largest = max(*values, *seen)
    for _ in range(2 * m.context.dps):  # type: ignore[attr-defined]  # a maximum is flat: half the digits of its place suffice
        if seen[0] >= seen[1]:
            high = inner[1]
            inner = [high - ratio * (high - low), inner[0]]
            seen = [gain(inner[0]), seen[0]]
        else:
            low = inner[0]
            inner = [inner[1], low + ratio * (high - low)]
            seen = [seen[1], gain(inner[1])]
        largest = max(largest, *seen)
    return largest


def _roughly(gain: Gain, p: fmpq, lengths: Sequence[fmpq], shifts: Sequence[fmpq], epsilon: float) -> float:
    """About loss/theta at the theta where the loss is epsilon: three fixed-point steps."""
    theta = 1.0
    ratio = 1.0
    for _ in range(3):
        kernel = PowerKernel(BALLS, p, arb(theta))
        loss = sum(float(gain(kernel, length, c).value(c)) for length, c in zip(lengths, shifts, strict=True))
        ratio = max(loss / theta, 1e-290)
        theta = epsilon / ratio
    return ratio


def _floats(numbers: Sequence[fmpq]) -> list[float]:
    return [int(number.p) / int(number.q) for number in numbers]
