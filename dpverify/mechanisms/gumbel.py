"""The Gumbel mechanism."""

from __future__ import annotations

import math

from flint import arb, fmpq

from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.enclose.start import newton
from dpverify.mechanisms._certified import log_of
from dpverify.mechanisms._parameters import scale_parameter
from dpverify.mechanisms._unimodal import Measured, UnimodalNoise


class Gumbel(UnimodalNoise):
    """Add Gumbel noise, with cdf exp(-e^(-x/scale)): delta(eps) = (1 - e^-d) exp(-(d + eps)/(e^d - 1)) for eps >= 0.

    Here d = sensitivity/scale; the privacy loss is unbounded, so delta > 0 for every real eps. The noise is not centred: its
    mean is gamma scale (Euler's gamma = 0.577...), its variance pi^2 scale^2/6, its mean squared error the sum of the
    variance and the squared mean.

    The density is log-concave and not symmetric, so the two orders of the dominating pair differ. With P the noise and Q the
    noise moved up by d, the loss e^-x (e^d - 1) - d falls, and passes eps where e^-t = w = (d + eps)/(e^d - 1), so that
    delta = F(t) - e^eps F(t - d) = e^-w - e^eps e^(-w e^d) = A(eps) as above, w e^d being w + d + eps. The other order is at
    most d, and gives B(eps) = 1 - e^eps + e^eps A(-eps) for 0 <= eps <= d. It is the smaller one. For with k = 1/(e^d - 1) and
    C = A(0) the difference is D(eps) = A - B = C e^(-k eps) + e^eps - 1 - C e^((1 + k) eps), and
    - D(0) = 0, D(d) = A(d) > 0; D'' e^-eps = C k^2 e^(-(1 + k) eps) + 1 - C (1 + k)^2 e^(k eps) falls, so D is convex and
      then concave;
    - D'(0) = 1 - (1 + 2k) C >= 0, since C = e^(-kd)/(1 + k) with d = log(1 + 1/k) >= 2/(2k + 1), while
      log((1 + 2k)/(1 + k)) <= k/(1 + k) <= 2k/(2k + 1) <= k d;
    - so D is at least 0 on its convex part, where it starts with a slope that is not negative, and on the rest, where it is
      above the chord to D(d).
    """

    __slots__ = ()
    name = "gumbel"
    scale = scale_parameter()
    no_derivation = "the engine derives profiles of symmetric densities"

    def log_density(self, m: Arithmetic, x: Value) -> Value:
        return -x - m.exp(-x)

    def cdf(self, m: Arithmetic, x: Value) -> Value:
        return m.exp(-m.exp(-x))

    def profile(self, m: Arithmetic, eps: Value, d: Value) -> Value:
        """For eps >= 0."""
        return -m.expm1(-d) * m.exp(-(d + eps) / m.expm1(d))

    def measured(self, m: Arithmetic, eps: Value, d: Value) -> Measured:
        value, rise = self.profile(m, eps, d), m.expm1(d)
        return Measured(value=value, by_shift=value * (d + eps) * (1 + rise) / rise**2, by_epsilon=-value / rise)

    def exact_epsilon(self, m: Arithmetic, delta: fmpq, d: fmpq) -> Value:
        shift = m.exact(d)
        return m.expm1(shift) * m.log(-m.expm1(-shift) / m.exact(delta)) - shift

    def shift_start(self, eps: fmpq, delta: fmpq) -> float | None:
        size = float(arb(eps))

        def log_profile(log_d: float) -> tuple[float, float]:
            d = math.exp(log_d)
            rise = math.expm1(d)
            return math.log(-math.expm1(-d)) - (d + size) / rise, d * (d + size) * (1 + rise) / rise**2

        target = log_of(delta)
        try:
            return math.exp(newton(log_profile, target, math.log(max(size / (1 - target), math.exp(target)))))
        except (OverflowError, ValueError):
            return None
