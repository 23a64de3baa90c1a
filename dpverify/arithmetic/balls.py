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
        return _erfc(-x * arb(_HALF).sqrt()) / 2

    def zeta(self, x: arb) -> arb:
        return x.zeta()

    def power(self, x: arb, y: arb) -> arb:
        if x > 0:
            return x**y
        # A base that is 0, or cannot be told from it: from 0 to the power of its upper end.
        end = x.upper()
        return arb(0).union(end**y) if y > 0 and end > 0 else x**y

    def atan(self, x: arb) -> arb:
        return x.atan()

    def floor(self, x: arb) -> arb:
        return x.floor()

    def gamma(self, x: arb) -> arb:
        return x.gamma()

    def gamma_upper(self, a: arb, x: arb) -> arb:
        middle = x.mid()
        tail = _erfc(middle.sqrt()) if a == _HALF_BALL else middle.gamma_upper(a, True)
        return tail + _gamma_spread(a, x)

    def gamma_lower(self, a: arb, x: arb) -> arb:
        middle = x.mid()
        mass = middle.sqrt().erf() if a == _HALF_BALL else middle.gamma_lower(a, True)
        return mass + _gamma_spread(a, x)

    def student_cdf(self, nu: arb, x: arb) -> arb:
        middle = x.mid()
        lower_tail = _student_tail(nu, middle)
        value = 1 - lower_tail if middle > 0 else lower_tail
        return value + _student_spread(nu, x)

    def hurwitz_zeta(self, s: arb, a: arb) -> arb:
        return s.zeta(a)


_HALF = fmpq(1, 2)
_HALF_BALL = arb(_HALF)
_FAR = 4096


def _erfc(x: arb) -> arb:
    """erfc. Arb bounds the effect of x's radius by a 30-bit exponential, which is hopeless far out; erfc is monotone, so its
    values at the exact end points enclose it."""
    return x.lower().erfc().union(x.upper().erfc()) if x > _FAR else x.erfc()


# Arb bounds what the radius of an argument does to these functions crudely, far in a tail hopelessly. They are evaluated at
# the exact midpoint instead; by the mean value theorem the rest is at most the radius times the largest derivative.


def _gamma_spread(a: arb, x: arb) -> arb:
    """A ball that holds Q(a, y) - Q(a, mid x) for every y in x."""
    radius = x.rad()
    if radius == 0:
        return radius
    steepest = abs(x ** (a - 1) * (-x).exp()).upper() * a.rgamma().upper()
    return arb(0, (radius * steepest).upper())


def _student_tail(nu: arb, x: arb) -> arb:
    """P(T < -|x|) for an exact x."""
    square = x * x
    if square > nu:
        return (nu / (nu + square)).beta_lower(nu / 2, arb(_HALF), True) / 2
    # Near the middle the same function is one minus a small one, which converges quicker.
    return (1 - (square / (nu + square)).beta_lower(arb(_HALF), nu / 2, True)) / 2


def _student_spread(nu: arb, x: arb) -> arb:
    """A ball that holds F(y) - F(mid x) for every y in x."""
    radius = x.rad()
    if radius == 0:
        return radius
    nearest = abs(x).lower()
    constant = ((nu + 1) / 2).gamma() * (nu / 2).rgamma() / (nu * arb.pi()).sqrt()
    steepest = (constant * (1 + nearest * nearest / nu) ** (-(nu + 1) / 2)).upper()
    return arb(0, (radius * steepest).upper())


BALLS = BallArithmetic()
