"""The hyperbolic secant mechanism."""

from __future__ import annotations

import math

from flint import arb, fmpq

from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.mechanisms._event import Event
from dpverify.mechanisms._parameters import scale_parameter
from dpverify.mechanisms._unimodal import Exactly, UnimodalNoise


class HyperbolicSecant(UnimodalNoise):
    """Add noise with density sech(x/scale) / (pi scale): pure DP at scale = sensitivity/epsilon.

    delta(eps) = F(d - t) - e^eps F(-t), F(x) = (2/pi) atan(e^x), t = (log(e^(eps + d) - 1) - log(1 - e^(eps - d)))/2, for
    |eps| < d = sensitivity/scale; 0 above and 1 - e^eps below. Variance pi^2 scale^2/4.
    The density is log-concave with the tails of Laplace noise of the same scale.
    """

    __slots__ = ()
    name = "hyperbolic-secant"
    scale = scale_parameter()
    loss_slope = 1
    loss_rises = True
    no_derivation = None
    # With sin(t) = tanh(x) the power moment becomes Laplace's integral of the Legendre function P_{order - 1}(cosh d). In
    # (order - 1/2)^2 it is entire of order 1/2, and its zeros are negative: the eigenvalues of Legendre's equation that
    # belong to solutions which vanish at cosh d. So it is a product of factors 1 + z^2/c, c > 0, with a concave logarithm.
    zcdp_is_mean_loss = True

    @property
    def against_gaussian(self) -> str:
        return "heavier"  # psi' = tanh(x)

    def log_density(self, m: Arithmetic, x: Value) -> Value:
        return -x - m.log1p(m.exp(-2 * x)) + m.log(m.rational(2)) - m.log(m.pi())

    def cdf(self, m: Arithmetic, x: Value) -> Value:
        return 2 * m.atan(m.exp(x)) / m.pi()

    def threshold(self, m: Arithmetic, eps: Value, d: Value) -> Value:
        return (m.log(m.expm1(eps + d)) - m.log(-m.expm1(eps - d))) / 2

    def absolute_moment(self, m: Arithmetic, order: int) -> Value:
        """(4/pi) order! beta(order + 1), beta(s) = 4^-s (zeta(s, 1/4) - zeta(s, 3/4)) being Dirichlet's beta function."""
        s = m.rational(order + 1)
        beta = m.hurwitz_zeta(s, m.rational(1, 4)) - m.hurwitz_zeta(s, m.rational(3, 4))
        return 4 * math.factorial(order) * beta / (m.pi() * 4 ** (order + 1))

    def power_moment(self, order: fmpq) -> arb:
        return arb(self.shift).cosh().legendre_p(arb(order - 1))

    def expected_loss(self) -> arb:
        """2 log cosh(d/2), the derivative of the log of P_{order - 1}(cosh d) at order 1."""
        d = arb(self.shift)
        return d + 2 * ((-d).exp().log1p() - arb(2).log())

    def loss_limit(self, d: fmpq) -> Exactly:
        return d

    def shift_at_limit(self, eps: fmpq) -> Exactly:
        return eps

    def event(self, m: Arithmetic, eps: Value, d: Value, *, fully: bool) -> Event:
        return Event(low=self.threshold(m, eps, d))

    def score_variance(self, m: Arithmetic) -> Value:
        return m.rational(1, 2)  # E tanh(X)^2
