"""The logistic mechanism."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.mechanisms._additive import AdditiveNoise
from dpverify.mechanisms._parameters import scale_parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Logistic(AdditiveNoise):
    """Add logistic noise of scale s: pure DP, delta(eps) = (e^{d/2} - e^{eps/2})^2 / (e^d - 1).

    That is for |eps| <= d = sensitivity/s; delta is 0 above and 1 - e^eps below. The least scale is
    sensitivity / (eps + 2 log1p(r) - 2 log1p(-delta)), r = sqrt(delta (1 - e^-eps + delta e^-eps)).
    [Vinterbo 2022, Theorem 4]
    """

    __slots__ = ()
    name = "logistic"
    scale = scale_parameter()
    loss_slope = 1
    # With z = (order - 1/2) d the power moment is (d/2) / sinh(d/2) times sinh(z)/z = prod (1 + z^2/(n pi)^2): its log is
    # concave in z^2.
    zcdp_is_mean_loss = True

    @property
    def against_gaussian(self) -> str:
        return "heavier"  # psi' = tanh(x/2)

    def log_density(self, m: Arithmetic, x: Value) -> Value:
        return -x - 2 * m.log1p(m.exp(-x))

    def cdf(self, m: Arithmetic, x: Value) -> Value:
        return 1 / (1 + m.exp(-x))

    def threshold(self, m: Arithmetic, eps: Value, d: Value) -> Value:
        return m.log(m.expm1((eps + d) / 2)) - m.log(-m.expm1((eps - d) / 2))

    def profile(self, m: Arithmetic, eps: Value, d: Value) -> Value:
        return m.expm1((eps - d) / 2) ** 2 / -m.expm1(-d)

    def shift_for(self, m: Arithmetic, eps: Value, delta: Value) -> Value:
        root = m.sqrt(delta * (delta * m.exp(-eps) - m.expm1(-eps)))
        return eps + 2 * (m.log1p(root) - m.log1p(-delta))

    def epsilon_for(self, m: Arithmetic, delta: Value, d: Value) -> Value:
        return d + 2 * m.log1p(-m.sqrt(-delta * m.expm1(-d)))

    def absolute_moment(self, m: Arithmetic, order: int) -> Value:
        if order == 1:
            return 2 * m.log(m.rational(2))
        zeta = m.zeta(m.rational(order))
        return 2 * math.factorial(order) * (1 - m.rational(1, 2 ** (order - 1))) * zeta

    def log_power_moment(self, m: Arithmetic, order: Value, d: Value) -> Value:
        twice = 2 * order - 1
        # sinh(twice d/2) / (twice sinh(d/2)), each sinh(y) as e^y (1 - e^{-2y})/2.
        return (order - 1) * d + m.log(m.expm1(-twice * d) / (twice * m.expm1(-d)))

    def mean_loss(self, m: Arithmetic, d: Value) -> Value:
        return d * (1 + m.exp(-d)) / -m.expm1(-d) - 2

    def loss_variance(self, m: Arithmetic, d: Value) -> Value:
        return 4 - 4 * d * d * m.exp(-d) / m.expm1(-d) ** 2

    def score_variance(self, m: Arithmetic) -> Value:
        return m.rational(1, 3)

    def upper_quantile(self, m: Arithmetic, tail: Value) -> Value:
        return m.log1p(-tail) - m.log(tail)

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        return rng.logistic(size=size)
