"""Where the privacy loss of noise with density ~ exp(-c |x|^p) passes epsilon > 0.

With h(v) = (1 + v)^p - |1 - v|^p, x = d/2 (1 + v), k = eps/c (2/d)^p and e = eps/(c d^p), the loss at x is eps where

- p > 1:      h(v) = k, increasing on v > 0. The event {L > eps} is the half line x > d/2 (1 + v).
- 0 < p < 1:  the loss rises to its peak c d^p at x = d and falls to 0 beyond. With w the distance from d in units of d, it is
              eps where w^p + 1 - (1 - w)^p = 1 - e on the left (w < 1/2), and on the right where w^p + 1 - (1 + w)^p = 1 - e,
              or equivalently (1 + w)^p - w^p = e. All three are monotone, since p < 1. The event is the interval between.

Each equation is solved for the logarithm of its unknown, with the logarithms of both sides compared: the slope is then
moderate everywhere. A start in plain floats is followed by Newton steps that nobody need trust, and by a proof: a function
whose slope exceeds m throughout y +- r, and whose size at y is at most m r, has its zero there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flint import arb, ctx, fmpq

from dpverify.arithmetic.floats import FLOATS
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.enclose.start import newton
from dpverify.mechanisms._event import Event

Equation = Callable[[Any, Value], tuple[Value, Value]]
"""y -> (log of the left side at e^y, its derivative)."""

_STEPS = 100
_NEAR = 1.4
"""|log v| below which h is evaluated as it is written; beyond, in a form without cancellation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLawLoss:
    """The shape: exponent p and weight c, exact."""

    p: fmpq
    c: fmpq

    def event(self, m: Arithmetic, eps: Value, d: Value, *, fully: bool) -> Event | None:
        """{x : L(x) > eps} for 0 < eps below the largest loss; None where an end could not be settled.

        On balls the ends hold about half the working precision, or, `fully`, nearly all of it.
        """
        p = m.exact(self.p)
        if self.p == 2:
            return Event(low=d / 2 + eps / (2 * m.exact(self.c) * d), high=None)
        log_e = m.log(eps / m.exact(self.c)) - p * m.log(d)
        if self.p > 1:
            level = log_e + p * m.log(m.rational(2))
            v = self._solved(m, self._odd, level, self._odd_start, fully)
            return None if v is None else Event(low=d / 2 * (1 + v), high=None)
        gap = -m.expm1(log_e)
        if not gap > 0:
            return None
        log_gap = m.log(gap)
        left = self._solved(m, self._left, log_gap, self._gap_start, fully)
        # At w = 1 the right equation has e = 2^p - 1.
        is_beyond = bool(log_e < m.log(m.expm1(p * m.log(m.rational(2)))))
        if is_beyond:
            right = self._solved(m, self._beyond, log_e, self._beyond_start, fully)
        else:
            right = self._solved(m, self._right, log_gap, self._gap_start, fully)
        return None if left is None or right is None else Event(low=d * (1 - left), high=d * (1 + right))

    # The equations, and where to start.

    def _odd(self, m: Arithmetic, y: Value) -> tuple[Value, Value]:
        """log h(e^y)."""
        p = m.exact(self.p)
        if -_NEAR < y < _NEAR:
            v = m.exp(y)
            ratio = m.abs(1 - v) / (1 + v)
            power, side = m.power(ratio, p), m.sign(1 - v) * m.power(ratio, p - 1)
            return p * m.log1p(v) + m.log1p(-power), p * v / (1 + v) * (1 + side) / (1 - power)
        if y > 0:
            value, slope = self._odd_small(m, -y)
            return p * y + value, p - slope
        return self._odd_small(m, y)

    def _odd_small(self, m: Arithmetic, y: Value) -> tuple[Value, Value]:
        """log h(e^y) for e^y < 1: h(v) = (1 + v)^p (1 - e^{-p l}), l = log((1 + v)/(1 - v))."""
        p, v = m.exact(self.p), m.exp(y)
        angle = m.log1p(v) - m.log1p(-v)
        fall = -m.expm1(-p * angle)
        return p * m.log1p(v) + m.log(fall), p * v / (1 + v) * (1 + m.exp((1 - p) * angle)) / fall

    def _odd_start(self, level: float) -> float:
        p = FLOATS.exact(self.p)
        first = level - FLOATS.log(2 * p)  # h(v) is near 2 p v for small v, and near 2 p v^{p - 1} for large
        return first if first <= 0 else first / (p - 1)

    def _left(self, m: Arithmetic, y: Value) -> tuple[Value, Value]:
        """log(w^p + 1 - (1 - w)^p) at w = e^y."""
        return self._gap(m, y, -1)

    def _right(self, m: Arithmetic, y: Value) -> tuple[Value, Value]:
        """log(w^p + 1 - (1 + w)^p) at w = e^y."""
        return self._gap(m, y, 1)

    def _gap(self, m: Arithmetic, y: Value, side: int) -> tuple[Value, Value]:
        p, w = m.exact(self.p), m.exp(y)
        power, log_other = m.exp(p * y), m.log1p(side * w)
        value = power - m.expm1(p * log_other)
        return m.log(value), p * (power - side * w * m.exp((p - 1) * log_other)) / value

    def _gap_start(self, level: float) -> float:
        return level / FLOATS.exact(self.p) - 1

    def _beyond(self, m: Arithmetic, y: Value) -> tuple[Value, Value]:
        """log((1 + w)^p - w^p) at w = e^y, which falls."""
        p, x = m.exact(self.p), m.exp(-y)
        angle = p * m.log1p(x)
        rise = m.expm1(angle)
        return p * y + m.log(rise), p - p * x / (1 + x) * m.exp(angle) / rise

    def _beyond_start(self, level: float) -> float:
        p = FLOATS.exact(self.p)
        return max((level - FLOATS.log(p)) / (p - 1), 0.0)

    # Solving.

    def _solved(self, m: Any, equation: Equation, level: Value, start: Callable[[float], float], fully: bool) -> Value | None:
        """e^y with equation(y) = level."""
        target = float(level)
        if not math.isfinite(target):
            return None
        y = newton(lambda point: equation(FLOATS, point), target, start(target))
        return _enclosed(m, equation, level, y, fully) if m.name == "arb" else m.exp(_refined(m, equation, level, y))


def _refined(m: Any, equation: Equation, level: Value, start: float) -> Value:
    y = m.context.mpf(start)
    for _ in range(_STEPS):
        value, slope = equation(m, y)
        step = (value - level) / slope
        y -= step
        if abs(step) <= (1 + abs(y)) * m.context.eps * 16:
            break
    return y


def _enclosed(m: Arithmetic, equation: Equation, level: arb, start: float, fully: bool) -> arb | None:
    """A ball that holds e^y, or None where the proof does not come out."""
    y = arb(start)
    precision = int(ctx.prec)
    goal = arb(2) ** -(precision if fully else precision // 2 - 6)
    for _ in range(_STEPS):
        value, slope = equation(m, y)
        step = (value - level) / slope
        if not step.is_finite():
            return None
        if abs(step) < goal * (1 + abs(y)) or (abs(step).mid() < 4 * step.rad()):
            break
        y = (y - step).mid()
    radius = (2 * abs(step)).upper() + arb(2) ** -(2 * precision)
    around = y + arb(0, radius)
    _, slope = equation(m, around)
    if not abs(value - level) <= abs(slope) * radius:
        return None
    result: arb = around.exp()
    return result
