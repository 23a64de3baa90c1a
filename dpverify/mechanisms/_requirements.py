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
from dpverify.arithmetic.precision import working_precision
from dpverify.enclose.ball_maximum import Allotment, allotment, ball_maximum, plainly, share
from dpverify.enclose.box_maximum import Box, Point, box_maximum
from dpverify.mechanisms import _gaussian_start
from dpverify.mechanisms._gains import FlatGain, TruncatedGain, normaliser_pull
from dpverify.mechanisms._power_kernel import PowerKernel
from dpverify.mechanisms._window import Window

if TYPE_CHECKING:
    from mpmath import mpf

    from dpverify.arithmetic.multiprecision import MultiprecisionArithmetic

_UNIT = Box((fmpq(0),), (fmpq(1),))
_COARSE_DIGITS, _COARSE_BITS = 20, 64
_STEPS = 30
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
    terms: tuple[tuple[fmpq, fmpq], ...] | None = None
    """(coefficient, base): the factor is known to be the sum of coefficient * base^p."""
    proportional: bool = True

    def value(self, theta: arb) -> arb:
        return theta * self._multiple(BALLS)

    def slope(self, theta: arb) -> arb:
        return self._multiple(BALLS)

    def start(self, epsilon: float) -> float:
        return epsilon / float(self._multiple(BALLS))

    def opinion(self, m: MultiprecisionArithmetic, theta: mpf) -> mpf:
        return theta * self._multiple(m)

    def over(self, other: Proportional) -> fmpq | None:
        """This factor over the other one, where they are seen to be commensurable."""
        if self.factor is not None and other.factor is not None and self.unit == other.unit:
            return self.factor / other.factor
        if self.terms is None or other.terms is None or len(self.terms) != len(other.terms):
            return None
        pairs = zip(self.terms, other.terms, strict=True)
        found = {a / b if x == y else None for (a, x), (b, y) in pairs}
        return found.pop() if len(found) == 1 else None

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
        """Newton's method on the conditions of Lagrange, from the shares found in double precision."""
        with working_precision(_COARSE_BITS):  # a starting point: nothing rests on it
            plain = [plainly(part) for part in self._parts(BALLS, arb(float(theta)))]
            point, multiplier = share(plain, float(arb(self._radius_squared)))
        parts = self._parts(m, theta)
        shifts = [
            m.exact(part.cap) if c >= cap else m.context.mpf(c)
            for part, c, (_, _, cap) in zip(parts, point, plain, strict=True)
        ]
        free = [k for k, c in enumerate(point) if c < plain[k][2]]
        mu = m.context.mpf(multiplier)
        held = sum((c * c for k, c in enumerate(shifts) if k not in free), m.rational(0))
        digits = 10
        while free and digits < m.context.dps:
            moves = [(parts[k].slope(shifts[k]) - 2 * mu * shifts[k], 2 * mu - parts[k].bend(shifts[k])) for k in free]
            change = m.rational(0)
            if mu > 0:
                excess = held - m.exact(self._radius_squared)
                for k, (rest, stiffness) in zip(free, moves, strict=True):
                    excess += shifts[k] * (shifts[k] + 2 * rest / stiffness)
                change = excess / sum(4 * shifts[k] ** 2 / move[1] for k, move in zip(free, moves, strict=True))
            for k, (rest, stiffness) in zip(free, moves, strict=True):
                shifts[k] += (rest - 2 * shifts[k] * change) / stiffness
            mu += change
            digits = 2 * digits - 2
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
        self._places: dict[tuple[fmpq, fmpq], float] = {}

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
        """From the larger of both ends: the maximum is not much larger."""
        ratios = (_roughly(gain, self._p, self._lengths, self._shifts, epsilon) for gain in (TruncatedGain, FlatGain))
        return epsilon / max(ratios)

    def opinion(self, m: MultiprecisionArithmetic, theta: mpf) -> mpf:
        kernel = PowerKernel(m, self._p, theta)
        total = m.rational(0)
        for length, shift in zip(self._lengths, self._shifts, strict=True):
            if shift == length:
                total += theta * kernel.power(length)
                continue
            place = self._places.get((length, shift))
            if place is None:
                coarse = type(m)(_COARSE_DIGITS)
                place = _looked_for(_SecondLook(PowerKernel(coarse, self._p, coarse.context.mpf(theta)), length, shift))
            found, self._places[length, shift] = _settled_on(_SecondLook(kernel, length, shift), place)
            total += found
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


class _SecondLook:
    """F(s) = h(s + c) - h(s) and its slope on mpmath, as functions of s/(l - c)."""

    def __init__(self, kernel: PowerKernel, length: fmpq, shift: fmpq) -> None:
        m = kernel.m
        self.kernel, self.m = kernel, m
        self.room, self.shift, self.whole = m.exact(length - shift), m.exact(shift), m.exact(length)

    def value(self, place: mpf) -> mpf:
        low = self.room * place
        high = low + self.shift
        ratio = self._normaliser(high) / self._normaliser(low)
        return self.kernel.theta * (self.kernel.power(high) - self.kernel.power(low)) + self.m.log(ratio)

    def slope(self, place: mpf) -> mpf:
        low = self.room * place
        return self._height_slope(low + self.shift) - self._height_slope(low)

    def _normaliser(self, t: mpf) -> mpf:
        return self.kernel.mass(t) + self.kernel.mass(max(self.whole - t, 0 * t))

    def _height_slope(self, t: mpf) -> mpf:
        """h'(t)."""
        kernel, m = self.kernel, self.m
        bumps = kernel.bump(t) - kernel.bump(max(self.whole - t, 0 * t))
        push = m.exact(kernel.p) * kernel.theta * kernel.power(t, kernel.p - 1)
        return push + kernel.rate() * bumps / self._normaliser(t)


def _looked_for(look: _SecondLook) -> float:
    """The best of many places, denser towards both ends."""
    near = [2.0**-k for k in range(5, 60, 3)]
    places = sorted([k / 24 for k in range(25)] + near + [1 - x for x in near])
    return max(places, key=lambda place: float(look.value(look.m.context.mpf(place))))  # type: ignore[attr-defined]


def _settled_on(look: _SecondLook, start: float) -> tuple[mpf, float]:
    """The value at the root of the slope next to `start`, or at an end, and where that is."""
    context = look.m.context  # type: ignore[attr-defined]
    ends = [context.mpf(0), context.mpf(1)]
    here, other = context.mpf(start), context.mpf(start) * (1 - context.mpf(2) ** -10) + context.mpf(2) ** -30
    slope, before = look.slope(here), look.slope(other)
    for _ in range(_STEPS):
        if slope == before:
            break
        step = slope * (here - other) / (slope - before)
        other, before = here, slope
        here = min(max(here - step, ends[0]), ends[1])
        slope = look.slope(here)
        if abs(step) <= context.mpf(10) ** (-context.dps // 2 - 4):  # a maximum is flat: half the digits suffice
            break
    values = [(look.value(place), float(place)) for place in (here, *ends)]
    return max(values, key=lambda pair: pair[0])


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
