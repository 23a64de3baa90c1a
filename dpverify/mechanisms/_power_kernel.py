"""e^{-theta |x|^p} on an interval of length at most 1: the few functions from which the bounded mechanisms are made.

With true value t in [0, l] and output x in [0, l], the density of the truncated law is e^{-theta |x - t|^p} / C(t). Up to one
factor, C(t) = M(t) + M(l - t) with M(x) = P(1/p, theta x^p), the regularised lower incomplete gamma function; M' is a constant
times e^{-theta x^p}, so M is concave, and with it C and log C, for every p > 0. C is symmetric about l/2.

No mechanism and no search lives here.
"""

from __future__ import annotations

from typing import Any

from flint import fmpq

from dpverify.arithmetic.interface import Arithmetic, Value

Place = Any
"""A number in [0, 1]: an exact rational, or a value of the arithmetic."""


class PowerKernel:
    """The kernel at one theta > 0, on one arithmetic. Build a new one when the working precision changes."""

    __slots__ = ("_gaussian", "_inverse", "_rate", "m", "p", "theta")

    def __init__(self, m: Arithmetic, p: fmpq, theta: Value) -> None:
        self.m = m
        self.p = p
        self.theta = theta
        self._inverse = m.exact(1 / p)
        # Where there is erf, it is known much better than the function that it is a case of.
        self._gaussian = m.sqrt(theta) if p == 2 and m.name in ("arb", "mpmath") else None
        self._rate: Value | None = None

    def power(self, x: Place, exponent: fmpq | None = None) -> Value:
        """x^p, or x^exponent."""
        chosen = self.p if exponent is None else exponent
        base = self.m.exact(x) if isinstance(x, fmpq) else x
        if chosen.q == 1 and (self.m.name != "arb" or base > 0 or chosen <= 1):
            return base ** int(chosen.p)  # of a ball that holds 0, flint gives no power but the first
        return self.m.power(base, self.m.exact(chosen))

    def mass(self, x: Place) -> Value:
        """M(x) = P(1/p, theta x^p)."""
        if isinstance(x, fmpq) and x == 0:
            return self.m.rational(0)
        if self._gaussian is not None:
            return self._erf(self._gaussian * (self.m.exact(x) if isinstance(x, fmpq) else x))
        if self.p == 1:
            return -self.m.expm1(-self.theta * self.power(x))
        return self.m.gamma_lower(self._inverse, self.theta * self.power(x))

    def _erf(self, x: Value) -> Value:
        return x.erf() if self.m.name == "arb" else self.m.context.erf(x)  # type: ignore[attr-defined]

    def tail(self, x: Place) -> Value:
        """1 - M(x) = Q(1/p, theta x^p): twice the probability that the unbounded noise exceeds x."""
        if isinstance(x, fmpq) and x == 0:
            return self.m.rational(1)
        if self.p == 1:
            return self.m.exp(-self.theta * self.power(x))
        return self.m.gamma_upper(self._inverse, self.theta * self.power(x))

    def rate(self) -> Value:
        """M'(0+): M'(x) = rate e^{-theta x^p}."""
        if self._rate is None:
            self._rate = self.m.power(self.theta, self._inverse) / self.m.gamma(1 + self._inverse)
        return self._rate

    def bump(self, x: Place) -> Value:
        """e^{-theta x^p}."""
        return self.m.exp(-self.theta * self.power(x))

    def bump_difference(self, x: Place, y: Place) -> Value:
        """e^{-theta x^p} - e^{-theta y^p}, for x <= y, accurate in relative terms."""
        first = self.theta * self.power(x)
        return self.m.exp(-first) * -self.m.expm1(first - self.theta * self.power(y))

    def mass_slope(self, x: Place) -> Value:
        """The derivative of M(x) by theta: x M'(x) / (p theta)."""
        place = self.m.exact(x) if isinstance(x, fmpq) else x
        return self.rate() * self.bump(x) * place * self._inverse / self.theta
