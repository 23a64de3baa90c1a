"""What the engine takes on trust about special functions: one entry a function, each fact with its reason.

These facts, SymPy's differentiation rules and its polynomial arithmetic are all that a derivation rests on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sympy


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A function that is positive for every real z (the arctangent: for every z > 0), and an explicit bound on it."""

    tail_bound: Callable[[sympy.Expr], sympy.Expr]
    """z -> a value that the function does not exceed, for every z >= 0 up to `largest`."""
    statement: str
    """What is taken on trust, as a sentence that a derivation lists among its assumptions."""
    largest: sympy.Expr | None = None
    """Where the bound ends; None: nowhere."""


FACTS: dict[type, Facts] = {
    # The bound: with t = z + r, z >= 0, the integrand e^(-(z + r)^2) is at most e^(-z^2) e^(-r^2); integrate over r >= 0.
    sympy.erfc: Facts(
        tail_bound=lambda z: sympy.exp(-(z**2)),
        statement=(
            "`erfc(z)` is `2/sqrt(pi)` times the integral of `e^(-r^2)` over `r >= z`, so that `erfc(0) = 1` (the Gaussian "
            "integral), `erfc(z) > 0`, `erfc(z) + erfc(-z) = 2`, and `erfc(z) <= e^(-z^2)` for `z >= 0`."
        ),
    ),
    # The bound: the derivative of pi/2 z/(1 + z^2) - atan(z) is pi/2 (1 - z^2) - (1 + z^2) over (1 + z^2)^2, first positive,
    # then negative; the difference vanishes at 0 and at 1.
    sympy.atan: Facts(
        tail_bound=lambda z: sympy.pi / 2 * z / (1 + z**2),
        statement=(
            "`atan(z)` has the derivative `1/(1 + z^2)`, `atan(0) = 0` and `atan(1) = pi/4`, so that `atan(z) > 0` and "
            "`atan(z) + atan(1/z) = pi/2` for `z > 0`, and `atan(z) <= pi/2 z/(1 + z^2)` for `0 <= z <= 1`."
        ),
        largest=sympy.Integer(1),
    ),
}


def assumptions(expression: sympy.Expr) -> tuple[str, ...]:
    """The statements that a derivation about this expression has to list."""
    return tuple(facts.statement for function, facts in FACTS.items() if expression.has(function))
