"""The Laplace mechanism."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.mechanisms._additive import AdditiveNoise
from dpverify.mechanisms._parameters import scale_parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Laplace(AdditiveNoise):
    """Add Laplace noise of scale s: pure DP, delta(eps) = 1 - e^{(eps - d)/2}.

    That is for |eps| <= d = sensitivity/s; delta is 0 above and 1 - e^eps below. The least scale is
    sensitivity / (eps - 2 log(1 - delta)). [Vinterbo 2022, Theorem 3]
    """

    __slots__ = ()
    name = "laplace"
    scale = scale_parameter()
    loss_slope = 1
    attains_loss_limit = True
    # With z = (order - 1/2) d the power moment is e^{-d/2} (cosh z + (d/2) sinh(z)/z), an entire function of z^2 of order
    # 1/2 with negative zeros only, hence a product of factors 1 + z^2/c, c > 0: its log is concave in z^2.
    zcdp_is_mean_loss = True

    @property
    def against_gaussian(self) -> str:
        return "heavier"  # psi' = 1

    def log_density(self, m: Arithmetic, x: Value) -> Value:
        return -m.abs(x) - m.log(m.rational(2))

    def cdf(self, m: Arithmetic, x: Value) -> Value:
        return (1 - m.sign(x) * m.expm1(-m.abs(x))) / 2

    def threshold(self, m: Arithmetic, eps: Value, d: Value) -> Value:
        return (eps + d) / 2

    def profile(self, m: Arithmetic, eps: Value, d: Value) -> Value:
        return -m.expm1((eps - d) / 2)

    def shift_for(self, m: Arithmetic, eps: Value, delta: Value) -> Value:
        return eps - 2 * m.log1p(-delta)

    def epsilon_for(self, m: Arithmetic, delta: Value, d: Value) -> Value:
        return d + 2 * m.log1p(-delta)

    def absolute_moment(self, m: Arithmetic, order: int) -> Value:
        return m.rational(math.factorial(order))

    def log_power_moment(self, m: Arithmetic, order: Value, d: Value) -> Value:
        twice = 2 * order - 1
        return (order - 1) * d + m.log1p((order - 1) * m.expm1(-twice * d) / twice)

    def mean_loss(self, m: Arithmetic, d: Value) -> Value:
        return d + m.expm1(-d)

    def loss_variance(self, m: Arithmetic, d: Value) -> Value:
        return 3 - (4 * d + 2) * m.exp(-d) - m.exp(-2 * d)

    def score_variance(self, m: Arithmetic) -> Value:
        return m.rational(1)

    def upper_quantile(self, m: Arithmetic, tail: Value) -> Value:
        return -m.log(2 * tail)

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        return rng.laplace(size=size)
