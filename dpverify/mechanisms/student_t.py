"""The Student-t mechanism."""

from __future__ import annotations

from typing import ClassVar

from flint import acb, arb, fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import rational_power
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.enclose.refine import check_digits
from dpverify.errors import ImpossibleRequest
from dpverify.mechanisms._additive import checked_order
from dpverify.mechanisms._event import Event
from dpverify.mechanisms._parameters import Parameter, scale_parameter
from dpverify.mechanisms._unimodal import Exactly, UnimodalNoise

_ZERO, _HALF = fmpq(0), fmpq(1, 2)
_FAST = fmpq(7, 8)


class StudentT(UnimodalNoise):
    """Add Student-t noise with nu degrees of freedom (any real nu > 0): pure DP.

    The density is proportional to (1 + (x/scale)^2/nu)^(-(nu + 1)/2); nu = 1 is Cauchy noise. The least scale for pure DP is
    sensitivity / (2 sqrt(nu) sinh(epsilon/(nu + 1))). Variance scale^2 nu/(nu - 2) for nu > 2, else infinite.

    With d = sensitivity/scale and k = eps/(nu + 1), the loss (nu + 1)/2 log((nu + x^2)/(nu + (x - d)^2)) exceeds eps > 0 where
    (e^k - e^-k) x^2 - 2 d e^k x + d^2 e^k + nu (e^k - e^-k) < 0: between the two roots (d e^k -+ R)/(2 sinh k) with
    R^2 = d^2 - 4 nu sinh(k)^2, an interval and no half line; nowhere if R^2 <= 0, so that the largest loss is
    (nu + 1) asinh(d/(2 sqrt(nu))). That is never rational: the logarithm of an algebraic number other than 1 is
    transcendental (Lindemann). The density is symmetric and unimodal, so the worst shift is the sensitivity (`_unimodal`).
    """

    __slots__ = ()
    name = "student-t"
    scale = scale_parameter()
    nu = Parameter("nu", meaning="degrees of freedom, any nu > 0", typical=("1", "5"), is_scale=False)
    texts: ClassVar[dict[str, str]] = {
        "delta": "F(b - d) - F(a - d) - exp(epsilon)*(F(b) - F(a)), a, b = (d*exp(k) -+ sqrt(d^2 - 4*nu*sinh(k)^2))"
        "/(2*sinh(k)), k = epsilon/(nu + 1), F the cdf of Student's t, d = sensitivity/scale; "
        "0 if epsilon >= (nu + 1)*asinh(d/(2*sqrt(nu)))",
        "epsilon": "the least epsilon >= 0 with delta(epsilon) <= delta; "
        "(nu + 1)*asinh(sensitivity/(2*sqrt(nu)*scale)) if delta = 0",
        "scale": "the least scale with delta(epsilon) <= delta; sensitivity/(2*sqrt(nu)*sinh(epsilon/(nu + 1))) if delta = 0",
    }
    compared_shapes = ({"nu": "3"}, {"nu": "10"})
    no_derivation = "the event on which its loss exceeds epsilon is an interval, and the engine derives half lines"

    @property
    def exact_nu(self) -> fmpq:
        found: fmpq = self.exact_parameters["nu"]
        return found

    def log_density(self, m: Arithmetic, x: Value) -> Value:
        nu = m.exact(self.exact_nu)
        constant = m.log(m.gamma((nu + 1) / 2) / m.gamma(nu / 2)) - m.log(nu * m.pi()) / 2
        return constant - (nu + 1) / 2 * m.log1p(x * x / nu)

    def cdf(self, m: Arithmetic, x: Value) -> Value:
        return m.student_cdf(m.exact(self.exact_nu), x)

    def loss_limit(self, d: fmpq) -> Exactly:
        def limit(m: Arithmetic) -> Value:
            nu = m.exact(self.exact_nu)
            tangent = m.exact(d) / (2 * m.sqrt(nu))
            return (nu + 1) * m.log1p(tangent + tangent * tangent / (1 + m.sqrt(1 + tangent * tangent)))  # asinh

        return limit

    def shift_at_limit(self, eps: fmpq) -> Exactly:
        if eps == 0:
            return _ZERO

        def shift(m: Arithmetic) -> Value:
            return 2 * m.sqrt(m.exact(self.exact_nu)) * _sinh(m, m.exact(eps / (self.exact_nu + 1)))

        return shift

    def event(self, m: Arithmetic, eps: Value, d: Value, *, fully: bool) -> Event | None:
        """The larger root as it is, the smaller one as (d^2 e^k + 2 nu sinh k)/(d e^k + R), which does not cancel."""
        if eps == 0:
            return Event(low=d / 2)
        nu = m.exact(self.exact_nu)
        k = eps / (nu + 1)
        sinh, edge = _sinh(m, k), m.sqrt(nu)
        square = (d - 2 * edge * sinh) * (d + 2 * edge * sinh)
        if not square > 0:
            return None
        grown = d * m.exp(k)
        root = m.sqrt(square)
        return Event(low=(d * grown + 2 * nu * sinh) / (grown + root), high=(grown + root) / (2 * sinh))

    def exact_shift(self, m: Arithmetic, eps: fmpq, delta: fmpq) -> Value | fmpq | None:
        """At eps = 0 and nu = 1 or 2, where delta(0) = 1 - 2 F(-d/2) is elementary and may be rational at a rational d."""
        if eps != 0 or self.exact_nu not in (1, 2):
            return None
        if self.exact_nu == 2:  # delta = h / sqrt(2 + h^2) with h = d/2
            square = 8 * delta**2 / (1 - delta**2)
            root = rational_power(square, _HALF)
            return m.sqrt(m.exact(square)) if root is None else root
        # delta = (2/pi) atan(d/2); tan(pi/4) = 1 is the only rational case (Niven), and the others are found as roots.
        return fmpq(2) if delta == _HALF else None

    def exact_delta(self, m: Arithmetic, eps: fmpq, d: fmpq) -> fmpq | None:
        """The rational cases of delta(0)."""
        if eps != 0 or self.exact_nu not in (1, 2):
            return None
        if self.exact_nu == 1:
            return _HALF if d == 2 else None
        root = rational_power(8 + d * d, _HALF)
        return None if root is None else d / root

    def power_moment(self, order: fmpq) -> Value | fmpq:
        """With h = (nu + 1)/2 and z = -d^2/(4 nu): the sum over n of
        (h order)_n (h (1 - order))_n (h - 1/2)_n / ((h/2)_n ((h + 1)/2)_n) z^n/n! for |z| < 1; an integral elsewhere.

        Feynman's formula joins the two powers in one, whose integral over x is that of (1 + t (1 - t) d^2/nu)^(1/2 - h)
        against a beta law of t; the binomial series, term by term. For nu = 1 Legendre's P_{order - 1}(1 + d^2/2).
        """
        if self.exact_nu == 1:
            return arb(1 + self.shift**2 / 2).legendre_p(arb(order - 1))
        z = self._argument()
        if z is None:
            return super().power_moment(order)
        h = (self.exact_nu + 1) / 2
        above, below = (h * order, h * (1 - order), h - _HALF), (h / 2, (h + 1) / 2)
        return acb(arb(z)).hypgeom([acb(one) for one in map(arb, above)], [acb(one) for one in map(arb, below)]).real

    def expected_loss(self) -> Value | fmpq | None:
        """The derivative of that series at order 1, where only (h (1 - order))_n = -h (order - 1) (n - 1)! + ... varies from 0:
        -h^2 (2 h - 1) z / (h (h + 1)/2) times a series of the same kind; log(1 + d^2/4) for nu = 1."""
        if self.exact_nu == 1:
            return arb(self.shift**2 / 4).log1p()
        z = self._argument()
        if z is None:
            return super().expected_loss()
        h = (self.exact_nu + 1) / 2
        above, below = (fmpq(1), fmpq(1), h + 1, h + _HALF), (fmpq(2), h / 2 + 1, (h + 3) / 2)
        series = acb(arb(z)).hypgeom([acb(one) for one in map(arb, above)], [acb(one) for one in map(arb, below)]).real
        return -arb(2 * h * (2 * h - 1) * z / (h + 1)) * series

    @property
    def zcdp_is_mean_loss(self) -> bool:  # type: ignore[override]
        """For Cauchy noise: its power moment is Legendre's P_{order - 1}(1 + d^2/2), as that of `HyperbolicSecant` at another
        argument, and the same proof holds."""
        return bool(self.exact_nu == 1)

    def _argument(self) -> fmpq | None:
        """-d^2/(4 nu), where the series converge fast."""
        z = -(self.shift**2) / (4 * self.exact_nu)
        return z if z > -_FAST else None

    def absolute_moment(self, m: Arithmetic, order: int) -> Value:
        """nu^(k/2) Gamma((k + 1)/2) Gamma((nu - k)/2) / (sqrt(pi) Gamma(nu/2)) for k < nu."""
        nu = self.exact_nu
        if order % 2 == 0:
            value = fmpq(1)
            for step in range(1, order // 2 + 1):
                value *= nu * (2 * step - 1) / (nu - 2 * step)
            return m.exact(value)
        gammas = m.gamma(m.rational(order + 1, 2)) * m.gamma(m.exact((nu - order) / 2)) / m.gamma(m.exact(nu / 2))
        return m.power(m.exact(nu), m.rational(order, 2)) * gammas / m.sqrt(m.pi())

    def score_variance(self, m: Arithmetic) -> Value:
        nu = m.exact(self.exact_nu)
        return (nu + 1) / (nu + 3)

    def mean_absolute_moment(self, order: int, *, digits: int = 15) -> Enclosure:
        """E |Z|^order; infinite for order >= nu."""
        if checked_order(order) >= self.exact_nu:
            return Enclosure.infinity(digits=check_digits(digits))
        return super().mean_absolute_moment(order, digits=digits)

    def moment(self, order: int, *, digits: int = 15) -> Enclosure:
        """E Z^order: 0 for odd order < nu; infinite for even order >= nu, and not defined for odd order >= nu."""
        if checked_order(order) % 2 and order >= self.exact_nu:
            raise ImpossibleRequest(f"moment {order} of {self!r} is not defined (both tails are infinite); give a larger nu.")
        return super().moment(order, digits=digits)

    def variance(self, *, digits: int = 15) -> Enclosure:
        """scale^2 nu/(nu - 2); infinite for nu <= 2."""
        return super().variance(digits=digits)


def _sinh(m: Arithmetic, x: Value) -> Value:
    return (m.expm1(x) - m.expm1(-x)) / 2
