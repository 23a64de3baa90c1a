"""Complex balls: the formulas again, off the real line, for rigorous integration.

An integrator bounds the error of a quadrature by the size of the integrand on a region of the complex plane, which is
sound only where the integrand is analytic. `ANALYTIC` answers with a value that is not finite wherever a formula crosses
a branch cut or a kink; `PLAIN` is for values alone.
"""

from __future__ import annotations

from flint import acb, arb, fmpq


class ComplexBallArithmetic:
    """Arb's complex balls. `analytic` says whether a result may be used as a proof that the formula is analytic."""

    name = "acb"

    def __init__(self, *, analytic: bool) -> None:
        self.analytic = analytic

    def exact(self, number: fmpq) -> acb:
        return acb(arb(number))

    def rational(self, above: int, below: int = 1) -> acb:
        return acb(arb(fmpq(above, below)))

    def pi(self) -> acb:
        return acb(arb.pi())

    def exp(self, x: acb) -> acb:
        return x.exp()

    def expm1(self, x: acb) -> acb:
        return x.expm1()

    def log(self, x: acb) -> acb:
        return x.log(analytic=self.analytic)

    def log1p(self, x: acb) -> acb:
        # log1p itself takes no flag, so where a proof is asked for, the cut is looked for by the plain logarithm.
        if self.analytic and not (1 + x).log(analytic=True).is_finite():
            return _nowhere()
        return x.log1p()

    def sqrt(self, x: acb) -> acb:
        return x.sqrt(analytic=self.analytic)

    def abs(self, x: acb) -> acb:
        """|x| of a real variable, continued to each half plane: x on the right, -x on the left."""
        return x.real_abs(analytic=self.analytic)

    def sign(self, x: acb) -> acb:
        """The sign of a real variable, continued to each half plane."""
        return x.real_sgn(analytic=self.analytic)

    def normal_cdf(self, x: acb) -> acb:
        return (-x * acb(arb(_HALF).sqrt())).erfc() / 2

    def zeta(self, x: acb) -> acb:
        return x.zeta()

    def power(self, x: acb, y: acb) -> acb:
        found = x.pow(y, analytic=self.analytic)
        if self.analytic or found.is_finite() or not (y.imag == 0 and y.real > 0):
            return found
        largest = (abs(x).upper() ** y.real).upper()  # around 0, where x^y is continuous
        return acb(arb(0, largest), arb(0, largest))

    def atan(self, x: acb) -> acb:
        # The cuts are where 1 + x^2 is negative.
        if self.analytic and not (1 + x * x).log(analytic=True).is_finite():
            return _nowhere()
        return x.atan()

    def gamma(self, x: acb) -> acb:
        return x.gamma()


def _nowhere() -> acb:
    return acb(arb.nan(), arb.nan())


_HALF = fmpq(1, 2)

ANALYTIC = ComplexBallArithmetic(analytic=True)
PLAIN = ComplexBallArithmetic(analytic=False)
