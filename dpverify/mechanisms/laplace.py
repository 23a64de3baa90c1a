"""The Laplace mechanism."""

from __future__ import annotations

import math

from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.mechanisms._additive import AdditiveNoise
from dpverify.mechanisms._parameters import scale_parameter


class Laplace(AdditiveNoise):
    """Add Laplace noise of scale s: pure DP, delta(eps) = 1 - e^{(eps - d)/2}.

    That is for |eps| <= d = sensitivity/s; delta is 0 above and 1 - e^eps below. The least scale is
    sensitivity / (eps - 2 log(1 - delta)). [Vinterbo 2022, Theorem 3]
    """

    __slots__ = ()
    name = "laplace"
    scale = scale_parameter()
    loss_slope = 1

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
