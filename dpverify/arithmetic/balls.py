"""Arb balls: each value carries a rigorous error bound (python-flint).

A result is as precise as the working precision in force when it was computed; `precision.working_precision` sets it.
"""

from __future__ import annotations

from flint import arb, fmpq


class BallArithmetic:
    """The certified arithmetic. Every method returns a ball that contains the true value."""

    name = "arb"

    def exact(self, number: fmpq) -> arb:
        return arb(number)

    def rational(self, above: int, below: int = 1) -> arb:
        return arb(fmpq(above, below))

    def pi(self) -> arb:
        return arb.pi()

    def exp(self, x: arb) -> arb:
        return x.exp()

    def expm1(self, x: arb) -> arb:
        return x.expm1()

    def log(self, x: arb) -> arb:
        return x.log()

    def log1p(self, x: arb) -> arb:
        return x.log1p()

    def sqrt(self, x: arb) -> arb:
        return x.sqrt()

    def abs(self, x: arb) -> arb:
        return abs(x)

    def sign(self, x: arb) -> arb:
        return x.sgn()

    def normal_cdf(self, x: arb) -> arb:
        y = -x * arb(_HALF).sqrt()
        if y > _FAR:
            # Arb bounds the effect of y's radius by a 30-bit exponential, which is hopeless this far out; erfc is
            # monotone, so its values at the exact end points enclose it.
            return y.lower().erfc().union(y.upper().erfc()) / 2
        return y.erfc() / 2

    def zeta(self, x: arb) -> arb:
        return x.zeta()


_HALF = fmpq(1, 2)
_FAR = 4096

BALLS = BallArithmetic()
