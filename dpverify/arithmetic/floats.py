"""Python floats: the elementary functions, for starting points. Nothing that is certified passes through here.

Only what the search for a starting point needs is offered; it is quick because nothing is imported for it.
"""

from __future__ import annotations

import math

from flint import fmpq


class FloatArithmetic:
    """Double precision by the `math` module. Overflow raises, as it does there."""

    name = "float"

    def exact(self, number: fmpq) -> float:
        return int(number.p) / int(number.q)

    def rational(self, above: int, below: int = 1) -> float:
        return above / below

    def pi(self) -> float:
        return math.pi

    def exp(self, x: float) -> float:
        return math.exp(x)

    def expm1(self, x: float) -> float:
        return math.expm1(x)

    def log(self, x: float) -> float:
        return math.log(x)

    def log1p(self, x: float) -> float:
        return math.log1p(x)

    def sqrt(self, x: float) -> float:
        return math.sqrt(x)

    def abs(self, x: float) -> float:
        return abs(x)

    def sign(self, x: float) -> float:
        return math.copysign(1.0, x) if x else 0.0

    def power(self, x: float, y: float) -> float:
        return float(x**y)


FLOATS = FloatArithmetic()
