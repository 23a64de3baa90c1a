"""mpmath: the independent second opinion, many digits without a certificate.

Each `MultiprecisionArithmetic` owns a context, so the caller's `mpmath.mp` is neither read nor changed.
"""

from __future__ import annotations

import mpmath
from flint import fmpq
from mpmath import mpf


class MultiprecisionArithmetic:
    """mpmath numbers at `digits` decimal digits of working precision."""

    name = "mpmath"

    def __init__(self, digits: int) -> None:
        self.context = mpmath.MPContext()
        self.context.dps = digits

    def exact(self, number: fmpq) -> mpf:
        return self.context.mpf(int(number.p)) / int(number.q)

    def rational(self, above: int, below: int = 1) -> mpf:
        return self.context.mpf(above) / below

    def pi(self) -> mpf:
        return +self.context.pi

    def exp(self, x: mpf) -> mpf:
        return self.context.exp(x)

    def expm1(self, x: mpf) -> mpf:
        return self.context.expm1(x)

    def log(self, x: mpf) -> mpf:
        return self.context.log(x)

    def log1p(self, x: mpf) -> mpf:
        return self.context.log1p(x)

    def sqrt(self, x: mpf) -> mpf:
        return self.context.sqrt(x)

    def abs(self, x: mpf) -> mpf:
        return self.context.fabs(x)

    def sign(self, x: mpf) -> mpf:
        return self.context.sign(x)

    def normal_cdf(self, x: mpf) -> mpf:
        return self.context.erfc(-x / self.context.sqrt(2)) / 2

    def zeta(self, x: mpf) -> mpf:
        return self.context.zeta(x)
