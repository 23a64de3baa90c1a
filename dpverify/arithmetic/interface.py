"""The small interface that every formula is written against.

A formula is a function `f(m, ...)`: it uses `+ - * / **` on its values, and the methods of `m` for everything else.
The same formula then runs on Arb balls (certified numbers), SymPy expressions (derivations), mpmath (second opinion),
NumPy arrays (plots) and text (what the command line prints). There is no branching on values in a formula: the caller
decides which formula applies, by exact comparison of rationals.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from flint import fmpq

Value: TypeAlias = Any
"""A number of whichever arithmetic is in use: arb, sympy.Expr, mpf, numpy array or text."""


class Arithmetic(Protocol):
    """What a formula may call. Integers mix with values freely; every other constant goes through `rational`."""

    name: str

    def exact(self, number: fmpq) -> Value:
        """A given exact rational as a value."""

    def rational(self, above: int, below: int = 1) -> Value:
        """above / below. Writing `1/3` in a formula would be a float."""

    def pi(self) -> Value: ...

    def exp(self, x: Value) -> Value: ...

    def expm1(self, x: Value) -> Value:
        """e^x - 1, accurate near 0."""

    def log(self, x: Value) -> Value: ...

    def log1p(self, x: Value) -> Value:
        """log(1 + x), accurate near 0."""

    def sqrt(self, x: Value) -> Value: ...

    def abs(self, x: Value) -> Value: ...

    def sign(self, x: Value) -> Value:
        """-1, 0 or 1."""

    def normal_cdf(self, x: Value) -> Value:
        """Phi(x), the probability that a standard Gaussian is at most x; accurate in relative terms in the lower tail."""

    def zeta(self, x: Value) -> Value:
        """Riemann's zeta function."""

    def power(self, x: Value, y: Value) -> Value:
        """x^y for a real exponent y and x >= 0."""

    def atan(self, x: Value) -> Value: ...

    def floor(self, x: Value) -> Value:
        """The largest whole number that is not above x."""

    def gamma(self, x: Value) -> Value:
        """Euler's gamma function, x > 0."""

    def gamma_upper(self, a: Value, x: Value) -> Value:
        """Q(a, x) = Gamma(a, x)/Gamma(a), a > 0, x >= 0; accurate in relative terms for large x."""

    def gamma_lower(self, a: Value, x: Value) -> Value:
        """P(a, x) = 1 - Q(a, x), a > 0, x >= 0; accurate in relative terms for small x."""

    def student_cdf(self, nu: Value, x: Value) -> Value:
        """The probability that Student's t with nu degrees of freedom is at most x; accurate in relative terms in the
        lower tail."""

    def hurwitz_zeta(self, s: Value, a: Value) -> Value:
        """The sum of (a + n)^-s over n >= 0, for s > 1 and a > 0."""
