"""The Gumbel mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flint import acb, arb, ctx, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.enclose.integral import integral
from dpverify.enclose.refine import check_digits, enclose
from dpverify.enclose.root import positive_root
from dpverify.enclose.start import newton
from dpverify.mechanisms import _additive
from dpverify.mechanisms._certified import log_of
from dpverify.mechanisms._event import Measured
from dpverify.mechanisms._parameters import scale_parameter
from dpverify.mechanisms._unimodal import UnimodalNoise
from dpverify.mechanisms._unimodal_pair import GumbelPair


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

    def dominating_pair(self) -> Any:
        return GumbelPair(noise=self)

    # The noise is not centred.

    def score_variance(self, m: Arithmetic) -> Value:
        return m.rational(1)  # psi'(X) = 1 - e^-X, and e^-X is exponentially distributed

    def upper_quantile(self, m: Arithmetic, tail: Value) -> Value:
        """The x with P(X > x) = tail."""
        return -m.log(-m.log1p(-tail))

    def mean(self, *, digits: int = 15) -> Enclosure:
        """E Z = gamma scale."""
        return self.moment(1, digits=digits)

    def variance(self, *, digits: int = 15) -> Enclosure:
        """E Z^2 - (E Z)^2 = pi^2 scale^2/6."""
        return self._scaled(lambda: arb.pi() ** 2 / 6, 2, digits, "the variance")

    def mean_squared_error(self, *, digits: int = 15) -> Enclosure:
        """E Z^2 = (pi^2/6 + gamma^2) scale^2: the noise has a mean."""
        return self.moment(2, digits=digits)

    def moment(self, order: int, *, digits: int = 15) -> Enclosure:
        """E Z^order, for an integer order >= 1."""
        checked = _additive.checked_order(order)
        return self._scaled(lambda: _raw_moment(checked), checked, digits, f"moment {order}")

    def mean_absolute_moment(self, order: int, *, digits: int = 15) -> Enclosure:
        """E |Z|^order: the moment itself for an even order, else with twice E max(0, -Z)^order added."""
        checked = _additive.checked_order(order)
        if checked % 2 == 0:
            return self.moment(checked, digits=digits)
        return self._scaled(
            lambda: _raw_moment(checked) + 2 * _negative_part(checked), checked, digits, f"absolute moment {order}"
        )

    def _scaled(self, moment: Callable[[], arb], order: int, digits: int, what: str) -> Enclosure:
        """A moment of the noise, from that in units of the scale."""
        return enclose(
            lambda bits: moment() * arb(self.exact_scale) ** order, check_digits(digits), what=lambda: f"{what} of {self!r}"
        )

    def tail_probability(self, bound: Number, *, digits: int = 15) -> Enclosure:
        """P(|Z| > bound), both tails."""
        size = _additive.checked_bound(bound) / self.exact_scale
        return enclose(
            lambda bits: _outside(arb(size)), check_digits(digits), what=lambda: f"P(|noise| > {bound})", within=(0, 1)
        )

    def tail_bound(self, probability: Number, *, digits: int = 15) -> Enclosure:
        """The least bound with P(|Z| > bound) <= probability, in units of the answer, for 0 < probability <= 1."""
        exact = _additive.checked_probability(probability)
        if exact == 1:
            return Enclosure(fmpq(0), digits=check_digits(digits))

        def value(bits: int) -> arb:
            def slope(x: arb) -> arb:
                return -BALLS.exp(self.log_density(BALLS, x)) - BALLS.exp(self.log_density(BALLS, -x))

            return positive_root(_outside, slope, exact, increasing=False, bits=bits) * arb(self.exact_scale)

        return enclose(
            value, check_digits(digits), what=lambda: f"the bound that the noise of {self!r} exceeds at {probability}"
        )


def _outside(x: arb) -> arb:
    """P(|X| > x)."""
    return (-x.exp()).exp() - (-(-x).exp()).expm1()


def _raw_moment(order: int) -> arb:
    """E X^order by the cumulants, which are gamma and (n - 1)! zeta(n)."""
    cumulants = [arb.const_euler(), *(math.factorial(n - 1) * arb(n).zeta() for n in range(2, order + 1))]
    moments = [arb(1)]
    for n in range(1, order + 1):
        moments.append(sum((math.comb(n - 1, k) * cumulants[k] * moments[n - 1 - k] for k in range(n)), arb(0)))
    return moments[order]


def _negative_part(order: int) -> arb:
    """E max(0, -X)^order = the integral over y > 0 of y^order e^y exp(-e^y).

    Beyond Y it is at most order! (e^Y + 1) exp(-e^Y), since y^order <= order! e^y.
    """
    reach = arb(int(ctx.prec)).log().upper() + 1

    def integrand(m: Any, y: acb) -> acb:
        return y**order * m.exp(y - m.exp(y))

    end = reach.exp()
    rest = math.factorial(order) * (end + 1) * (-end).exp()
    return integral(integrand, [arb(0), reach]) + arb(0, 1) * rest.upper()
