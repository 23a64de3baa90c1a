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
_SMALL = arb(2) ** -6


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
        if eps == 0:
            return arb(0)
        c = 1 + d / 2
        low, high = arb(0), (d / 2).mid()
        w = (eps.mid() * c / d).mid()
        for _ in range(_STEPS):
            if not low < w < high:
                w = ((low + high) / 2).mid()
            gap = (_loss_ball(w, d) - eps).mid()
            if gap > 0:
                high = w
            else:
                low = w
            step = (gap * (c * c - w * w) / (c * d - 2 * w * w)).mid()
            w = (w - step).mid()
            if abs(step) < w * arb(2) ** (8 - int(ctx.prec)):
                break
        lost = 16
        while lost < ctx.prec:
            radius = w * arb(2) ** (lost - int(ctx.prec))
            below, above = (w - radius).mid(), (w + radius).mid()
            if _loss_ball(below, d) < eps < _loss_ball(above, d):
                return below.union(above)
            lost *= 2
        return None


def _loss(m: Arithmetic, w: Any, c: Any) -> Any:
    return 2 * w - (m.log1p(w / c) - m.log1p(-w / c))


def _loss_ball(w: arb, d: arb) -> arb:
    """2 w - 2 artanh(z), z = w/(1 + d/2), without the cancellation of a small d: w d/(1 + d/2) - 2 (artanh(z) - z)."""
    c = 1 + d / 2
    z = w / c
    if z > _SMALL:
        return 2 * w - (z.log1p() - (-z).log1p())
    # artanh(z) - z = z^3/3 + z^5/5 + ..., below a geometric series from each term on.
    rest, power, order = arb(0), z**3, 3
    while power > z**3 * arb(2) ** -int(ctx.prec):
        rest += power / order
        power, order = power * z * z, order + 2
    return w * d / c - 2 * (rest + arb(0).union((power / order / (1 - z * z)).upper()))
