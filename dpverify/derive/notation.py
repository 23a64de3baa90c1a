"""The symbols and function names that statements are written in, and the arithmetic that writes formulas with them.

No proof uses these symbols, which carry no assumptions: proofs use the symbols of a region, whose signs are known.
"""

from __future__ import annotations

import sympy

from dpverify.arithmetic.symbols import SymbolicArithmetic

x, epsilon, delta, d, t, rho, s, sensitivity = sympy.symbols("x epsilon delta d t rho s sensitivity")

density, distribution, loss, profile = (sympy.Function(name) for name in ("f", "F", "L", "delta"))

Phi = sympy.Function("Phi")
"""The distribution function of the standard Gaussian, where a statement is shown; proofs see erfc."""


class Notation(SymbolicArithmetic):
    """As SymPy, with Phi for the Gaussian distribution function, the way the literature writes it."""

    name = "notation"

    def normal_cdf(self, x: sympy.Expr) -> sympy.Expr:
        return Phi(sympy.expand(x))


NOTATION = Notation()


def tidy(expression: sympy.Expr) -> sympy.Expr:
    """Multiply out, and leave exponentials and logarithms as they are."""
    return sympy.expand(expression, log=False, power_exp=False, power_base=False)
