"""The triangular mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from flint import acb, arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.enclose.decide import is_above
from dpverify.enclose.integral import integral
from dpverify.errors import ImpossibleRequest
from dpverify.mechanisms._bounded_support import BoundedSupportNoise
from dpverify.mechanisms._parameters import scale_parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ZERO, _ONE = fmpq(0), fmpq(1)


class Triangular(BoundedSupportNoise):
    """Add noise with density (1 - |x/scale|)/scale on [-scale, scale]: the sum of two uniform draws from half of that range.

    With d = sensitivity/scale and w = e^-eps, for eps >= 0: the loss exceeds eps above t, and with it
    - d <= 1 - w:      t = 1 - d w/(1 - w),        delta = d^2 / (2 (1 - w));
    - 1 - w <= d <= 2: t = 1 - (2 - d) w/(1 + w),  delta = 1 - (2 - d)^2 / (2 (1 + w));
    and delta = 1 from d = 2 on. The least scale is sensitivity/d, d = sqrt(2 delta (1 - w)) where delta <= (1 - w)/2, else
    2 - sqrt(2 (1 - delta)(1 + w)). Variance scale^2/6.
    """

    __slots__ = ()
    name = "triangular"
    scale = scale_parameter(meaning="half-width of the noise")
    texts: ClassVar[dict[str, str]] = {
        "delta": "d^2/(2*(1 - w)) if d <= 1 - w; 1 - (2 - d)^2/(2*(1 + w)) if d <= 2; else 1; d = sensitivity/scale, "
        "w = exp(-epsilon)",
        "epsilon": "-log1p(-d^2/(2*delta)) if 2*delta <= d; else -log((2 - d)^2/(2*(1 - delta)) - 1); d = sensitivity/scale",
        "scale": "sensitivity/d, d = sqrt(2*delta*(1 - w)) if 2*delta <= 1 - w; else 2 - sqrt(2*(1 - delta)*(1 + w)), "
        "w = exp(-epsilon)",
    }

    @property
    def reach(self) -> fmpq:
        return _ONE

    def log_density(self, m: Arithmetic, x: Value) -> Value:
        return m.log1p(-m.abs(x))

    def cdf_within(self, m: Arithmetic, x: Value) -> Value:
        """(1 + x)^2/2 for x <= 0, 1 - F(-x) above."""
        rest = 1 - m.abs(x)
        return (1 + m.sign(x) * (1 - rest * rest)) / 2

    # The profile and its inverses.

    def least_delta(self, m: Arithmetic, d: fmpq) -> fmpq:
        if d >= 2:
            return _ONE
        return d * d / 2 if d <= 1 else 1 - (2 - d) * (2 - d) / 2

    def exact_delta(self, m: Arithmetic, eps: fmpq, d: fmpq) -> Value | fmpq:
        if d >= 2:
            return _ONE
        if eps == 0:
            return 1 - (2 - d) * (2 - d) / 4
        if _is_far(eps, d):
            return m.exact(d * d) / (-2 * m.expm1(m.exact(-eps)))
        return 1 - m.exact((2 - d) * (2 - d)) / (2 * (1 + m.exp(m.exact(-eps))))

    def exact_shift(self, m: Arithmetic, eps: fmpq, delta: fmpq) -> Value:
        if eps > 0 and _is_far(eps, 2 * delta):
            return m.sqrt(m.exact(-2 * delta) * m.expm1(m.exact(-eps)))
        # 2 - sqrt(2 (1 - delta)(1 + w)), without its cancellation for small deltas and epsilons.
        root = m.sqrt(m.exact(2 - 2 * delta) * (1 + m.exp(m.exact(-eps))))
        return (m.exact(4 * delta) - m.exact(2 - 2 * delta) * m.expm1(m.exact(-eps))) / (2 + root)

    def exact_epsilon(self, m: Arithmetic, delta: fmpq, d: fmpq) -> Value:
        if 2 * delta <= d:
            return -m.log1p(m.exact(-d * d / (2 * delta)))
        return -m.log(m.exact((2 - d) * (2 - d) / (2 - 2 * delta) - 1))

    def tail_masses(self, m: Arithmetic, eps: fmpq, *, inclusive: bool) -> tuple[Value | fmpq, Value | fmpq]:
        """P and Q of what lies above t; no value of the loss has a probability."""
        d = self.shift
        if d >= 2:
            return _ONE, _ZERO
        w = m.exp(m.exact(-eps))
        if eps > 0 and _is_far(eps, d):
            rest = m.exact(-d) / m.expm1(m.exact(-eps))  # 1 - t + d
            return rest * rest / 2, rest * w * rest * w / 2
        rest = m.exact(2 - d) / (1 + w)  # 1 + t - d
        return 1 - rest * rest / 2, rest * w * rest * w / 2

    def common_moment(self, m: Arithmetic, order: fmpq) -> Value:
        d = arb(self.shift)

        def integrand(m: Any, x: acb) -> acb:
            p, q = 1 - m.abs(x - m.exact(self.shift)), 1 - m.abs(x)
            value: acb = m.power(p, m.exact(order)) * m.power(q, m.exact(1 - order))
            return value

        inner = [arb(0), d] if self.shift < 1 else [d / 2]
        return integral(integrand, [inner[0], *inner[1:], arb(1)]) + integral(integrand, [d - 1, inner[0]])

    def absolute_moment(self, m: Arithmetic, order: int) -> Value:
        return m.rational(2, (order + 1) * (order + 2))

    def upper_quantile(self, m: Arithmetic, tail: Value) -> Value:
        return 1 - m.sqrt(2 * tail)

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        return rng.random(size) - rng.random(size)

    def _refuse_impossible_epsilon(self, delta: fmpq) -> None:
        if delta == self.least_delta(BALLS, self.shift) and delta < 1:
            raise ImpossibleRequest(
                "delta is the probability of outputs that only one neighbour can produce, which no finite epsilon brings it "
                "down to; give a larger delta."
            )
        super()._refuse_impossible_epsilon(delta)


def _is_far(eps: fmpq, x: fmpq) -> bool:
    """Whether x < 1 - e^-eps, for eps > 0. They are never equal: e to a rational power other than 0 is irrational."""
    return is_above(lambda: -BALLS.expm1(arb(-eps)), x, what=lambda: f"1 - e^-{eps}")
