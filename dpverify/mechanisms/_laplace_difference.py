"""Noise that is the difference of two independent Laplace numbers: what decides between two candidates with Laplace noise."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from flint import arb, ctx, fmpq

from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.mechanisms._event import Event
from dpverify.mechanisms._parameters import scale_parameter
from dpverify.mechanisms._unimodal import Exactly, UnimodalNoise

_STEPS = 200


class LaplaceDifference(UnimodalNoise):
    """Density (1 + |x|) e^{-|x|}/4: log-concave and symmetric, with a privacy loss below d that never reaches it."""

    __slots__ = ()
    name = "laplace-difference"
    scale = scale_parameter()
    loss_slope = 1

    _profile: ClassVar[str] = "F(d - t) - exp(epsilon)*F(-t)"
    _where: ClassVar[str] = (
        "F(x) = 1/2 + sign(x)*(1/2 - (2 + |x|)*exp(-|x|)/4), log((1 + |t|)/(1 + |t - d|)) = |t| - |t - d| - epsilon, "
        "d = sensitivity/scale"
    )
    texts: ClassVar[dict[str, str]] = {
        "delta": f"{_profile} with {_where}",
        "epsilon": f"the least epsilon >= 0 with {_profile} <= delta, {_where}",
        "scale": f"the scale with {_profile} = delta, {_where}",
    }

    def log_density(self, m: Arithmetic, x: Value) -> Value:
        size = m.abs(x)
        return m.log1p(size) - size - m.log(m.rational(4))

    def cdf(self, m: Arithmetic, x: Value) -> Value:
        size = m.abs(x)
        tail = (2 + size) * m.exp(-size) / 4
        if m.name in ("arb", "mpmath"):  # on numbers, the tail that is small is the one that is computed
            return 1 - tail if x > 0 else tail
        return (1 + m.sign(x) * (1 - 2 * tail)) / 2

    def absolute_moment(self, m: Arithmetic, order: int) -> Value:
        return m.rational(math.factorial(order) * (order + 2), 2)

    def loss_limit(self, d: fmpq) -> Exactly:
        return d

    def shift_at_limit(self, eps: fmpq) -> Exactly:
        return eps

    def event(self, m: Arithmetic, eps: Value, d: Value, *, fully: bool) -> Event | None:
        """Beyond d the loss is d - log((1 + x)/(1 + x - d)), from d - log(1 + d) on; before, see `_inside`."""
        at_shift = d - m.log1p(d)
        if eps > at_shift:
            return Event(low=-d / m.expm1(eps - d) - 1)
        if m.name == "arb" and not eps < at_shift:
            return None
        half = self._inside_ball(eps, d) if m.name == "arb" else self._inside_number(m, eps, d)
        return None if half is None else Event(low=d / 2 + half)

    @staticmethod
    def _inside_number(m: Arithmetic, eps: Any, d: Any) -> Any:
        """The w with 2 w - 2 artanh(w/(1 + d/2)) = eps, the loss at d/2 + w, 0 <= w <= d/2: halves, then Newton steps."""
        c = 1 + d / 2
        low, high = 0 * d, d / 2
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if _loss(m, middle, c) < eps else (low, middle)
        w = (low + high) / 2
        for _ in range(12):
            w = w - (_loss(m, w, c) - eps) / (2 - 2 * c / (c * c - w * w))
        return w

    def _inside_ball(self, eps: arb, d: arb) -> arb | None:
        """The same, enclosed by two signs."""
        from dpverify.arithmetic.balls import BALLS

        if eps == 0:
            return arb(0)
        c = 1 + d / 2
        low, high = arb(0), (d / 2).mid()
        w = (eps.mid() / (2 - 2 / c)).mid()
        for _ in range(_STEPS):
            if not low < w < high:
                w = ((low + high) / 2).mid()
            gap = (_loss(BALLS, w, c) - eps).mid()
            if gap > 0:
                high = w
            else:
                low = w
            step = (gap / (2 - 2 * c / (c * c - w * w))).mid()
            w = (w - step).mid()
            if abs(step) < w * arb(2) ** (8 - int(ctx.prec)):
                break
        for lost in (16, 32, 64, 128):
            radius = w * arb(2) ** (lost - int(ctx.prec))
            below, above = (w - radius).mid(), (w + radius).mid()
            if _loss(BALLS, below, c) < eps < _loss(BALLS, above, c):
                return below.union(above)
        return None


def _loss(m: Arithmetic, w: Any, c: Any) -> Any:
    return 2 * w - (m.log1p(w / c) - m.log1p(-w / c))
