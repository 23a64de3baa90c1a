"""mpmath: the independent second opinion, many digits without a certificate.

Each `MultiprecisionArithmetic` owns a context, so the caller's `mpmath.mp` is neither read nor changed.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath
from flint import fmpq
from mpmath import mpf

from dpverify.errors import PrecisionError

_LARGEST = 10_000
"""Bits before the binary point of an exponent, at most."""


_SERIES = {"gamma_lower": 8, "normal_cdf": 3, "student_cdf": 16, "gamma_upper": 40, "zeta": 40, "hurwitz_zeta": 120}
"""What functions that are summed term by term cost at low precision, in exponentials; twice the bits, and they cost four times
as much."""
_DOUBLED = 256


class MultiprecisionArithmetic:
    """mpmath numbers at `digits` decimal digits of working precision. `counted` hears of every function that is evaluated,
    before it is: how many exponentials it costs, about, and the working precision in bits."""

    name = "mpmath"

    def __init__(self, digits: int, counted: Callable[[float, int], None] | None = None) -> None:
        self.context = mpmath.MPContext()
        self.context.dps = digits
        self._counted = counted

    def count(self, evaluations: float = 1) -> None:
        """Say that so many exponentials, or work like that, are about to be evaluated."""
        if self._counted is not None:
            self._counted(evaluations, self.context.prec)

    def _count_series(self, name: str) -> None:
        self.count(_SERIES[name] * (1 + self.context.prec / _DOUBLED))

    def exact(self, number: fmpq) -> mpf:
        return self.context.mpf(int(number.p)) / int(number.q)

    def rational(self, above: int, below: int = 1) -> mpf:
        return self.context.mpf(above) / below

    def pi(self) -> mpf:
        return +self.context.pi

    def exp(self, x: mpf) -> mpf:
        self.count()
        return self.context.zero if self._is_far_below(x) else self.context.exp(x)

    def expm1(self, x: mpf) -> mpf:
        self.count()
        return -self.context.one if self._is_far_below(x) else self.context.expm1(x)

    def _is_far_below(self, x: mpf) -> bool:
        """Whether e^x is 0 for every purpose. An x that is as large, up or down, would end the process in GMP.

        Raises PrecisionError for one that is as large and positive.
        """
        if not self.context.isfinite(x) or self.context.mag(x) <= _LARGEST:
            return False
        if self.context.re(x) > 0:
            raise PrecisionError(
                f"e^x at an x of {self.context.mag(x)} bits before the point is no number that mpmath holds: the second "
                f"opinion ends here. Ask for a less extreme epsilon, delta or scale.",
                reached=0,
            )
        return True

    def log(self, x: mpf) -> mpf:
        self.count()
        return self.context.log(x)

    def log1p(self, x: mpf) -> mpf:
        self.count()
        return self.context.log1p(x)

    def sqrt(self, x: mpf) -> mpf:
        return self.context.sqrt(x)

    def abs(self, x: mpf) -> mpf:
        return self.context.fabs(x)

    def sign(self, x: mpf) -> mpf:
        return self.context.sign(x)

    def normal_cdf(self, x: mpf) -> mpf:
        self._count_series("normal_cdf")
        return self.context.erfc(-x / self.context.sqrt(2)) / 2

    def zeta(self, x: mpf) -> mpf:
        self._count_series("zeta")
        return self.context.zeta(x)

    def power(self, x: mpf, y: mpf) -> mpf:
        self.count()
        return self.context.power(x, y)

    def atan(self, x: mpf) -> mpf:
        self.count()
        return self.context.atan(x)

    def floor(self, x: mpf) -> mpf:
        return self.context.floor(x)

    def gamma(self, x: mpf) -> mpf:
        self.count()
        return self.context.gamma(x)

    def gamma_upper(self, a: mpf, x: mpf) -> mpf:
        self._count_series("gamma_upper")
        return self.context.gammainc(a, x, regularized=True)

    def gamma_lower(self, a: mpf, x: mpf) -> mpf:
        self._count_series("gamma_lower")
        return self.context.gammainc(a, 0, x, regularized=True)

    def student_cdf(self, nu: mpf, x: mpf) -> mpf:
        self._count_series("student_cdf")
        square = x * x
        if square > nu:
            tail = self.context.betainc(nu / 2, self.rational(1, 2), 0, nu / (nu + square), regularized=True) / 2
        else:
            tail = (1 - self.context.betainc(self.rational(1, 2), nu / 2, 0, square / (nu + square), regularized=True)) / 2
        return 1 - tail if x > 0 else tail

    def hurwitz_zeta(self, s: mpf, a: mpf) -> mpf:
        self._count_series("hurwitz_zeta")
        return self.context.zeta(s, a)
