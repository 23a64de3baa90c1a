"""SymPy expressions: what derivations, LaTeX and proofs are made of.

`expm1` and `log1p` are written out, so that simplification sees plain exponentials and logarithms.
"""

from __future__ import annotations

import sympy
from flint import fmpq


class SymbolicArithmetic:
    """Exact expressions; nothing is ever rounded."""

    name = "sympy"

    def exact(self, number: fmpq) -> sympy.Rational:
        return sympy.Rational(int(number.p), int(number.q))

    def rational(self, above: int, below: int = 1) -> sympy.Rational:
        return sympy.Rational(above, below)

    def pi(self) -> sympy.Expr:
        return sympy.pi

    def exp(self, x: sympy.Expr) -> sympy.Expr:
        return sympy.exp(x)

    def expm1(self, x: sympy.Expr) -> sympy.Expr:
        return sympy.exp(x) - 1

    def log(self, x: sympy.Expr) -> sympy.Expr:
        return sympy.log(x)

    def log1p(self, x: sympy.Expr) -> sympy.Expr:
        return sympy.log(1 + x)

    def sqrt(self, x: sympy.Expr) -> sympy.Expr:
        return sympy.sqrt(x)

    def abs(self, x: sympy.Expr) -> sympy.Expr:
        return sympy.Abs(x)

    def sign(self, x: sympy.Expr) -> sympy.Expr:
        return sympy.sign(x)

    def normal_cdf(self, x: sympy.Expr) -> sympy.Expr:
        return sympy.erfc(-x / sympy.sqrt(2)) / 2

    def zeta(self, x: sympy.Expr) -> sympy.Expr:
        return sympy.zeta(x)

    def power(self, x: sympy.Expr, y: sympy.Expr) -> sympy.Expr:
        return x**y

    def atan(self, x: sympy.Expr) -> sympy.Expr:
        return sympy.atan(x)

    def floor(self, x: sympy.Expr) -> sympy.Expr:
        return sympy.floor(x)

    def gamma(self, x: sympy.Expr) -> sympy.Expr:
        return sympy.gamma(x)

    def gamma_upper(self, a: sympy.Expr, x: sympy.Expr) -> sympy.Expr:
        return sympy.uppergamma(a, x) / sympy.gamma(a)

    def gamma_lower(self, a: sympy.Expr, x: sympy.Expr) -> sympy.Expr:
        return sympy.lowergamma(a, x) / sympy.gamma(a)

    def student_cdf(self, nu: sympy.Expr, x: sympy.Expr) -> sympy.Expr:
        half = sympy.Rational(1, 2)
        constant = sympy.gamma((nu + 1) / 2) / (sympy.sqrt(nu * sympy.pi) * sympy.gamma(nu / 2))
        return half + constant * x * sympy.hyper((half, (nu + 1) / 2), (half * 3,), -x * x / nu)

    def hurwitz_zeta(self, s: sympy.Expr, a: sympy.Expr) -> sympy.Expr:
        return sympy.zeta(s, a)


SYMBOLS = SymbolicArithmetic()
