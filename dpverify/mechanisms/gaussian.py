"""The Gaussian mechanism."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.mechanisms import _mills
from dpverify.mechanisms._additive import AdditiveNoise
from dpverify.mechanisms._parameters import scale_parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Gaussian(AdditiveNoise):
    """Add Gaussian noise of standard deviation sigma: delta(eps) = Phi(d/2 - eps/d) - e^eps Phi(-d/2 - eps/d).

    Here d = sensitivity/sigma; the privacy loss is unbounded, so delta > 0 for every real eps.
    [Balle & Wang 2018, Theorem 8; Vinterbo 2022, Theorem 5]
    """

    __slots__ = ()
    name = "gaussian"
    sigma = scale_parameter("sigma", meaning="standard deviation of the noise")
    zcdp_is_mean_loss = True  # the log of the power moment is order (order - 1) d^2/2, linear in (order - 1/2)^2

    @property
    def against_gaussian(self) -> str:
        return "equal"

    def log_density(self, m: Arithmetic, x: Value) -> Value:
        return -x * x / 2 - m.log(2 * m.pi()) / 2

    def cdf(self, m: Arithmetic, x: Value) -> Value:
        return m.normal_cdf(x)

    def threshold(self, m: Arithmetic, eps: Value, d: Value) -> Value:
        return d / 2 + eps / d

    def profile(self, m: Arithmetic, eps: Value, d: Value) -> Value:
        return m.normal_cdf(d / 2 - eps / d) - m.exp(eps) * m.normal_cdf(-d / 2 - eps / d)

    def absolute_moment(self, m: Arithmetic, order: int) -> Value:
        if order % 2 == 0:
            return m.rational(math.prod(range(1, order, 2)))
        half = (order - 1) // 2
        return m.rational(2**half * math.factorial(half)) * m.sqrt(2 / m.pi())

    def shift_guess(self, eps: float, log_delta: float) -> float | None:
        return _mills.shift(eps, log_delta)

    def epsilon_guess(self, log_delta: float, d: float) -> float | None:
        return _mills.epsilon(log_delta, d)

    def log_power_moment(self, m: Arithmetic, order: Value, d: Value) -> Value:
        return order * (order - 1) * d * d / 2

    def mean_loss(self, m: Arithmetic, d: Value) -> Value:
        return d * d / 2

    def loss_variance(self, m: Arithmetic, d: Value) -> Value:
        return d * d

    def score_variance(self, m: Arithmetic) -> Value:
        return m.rational(1)

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        return rng.standard_normal(size)
