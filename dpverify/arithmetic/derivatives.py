"""Formulas with their first derivative: dual numbers over any other arithmetic.

Run on `Dual(x, 1)`, a formula returns its value and its slope at x; on balls both are enclosures over the whole of x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import fmpq

from dpverify.arithmetic.interface import Value


@dataclass(frozen=True, slots=True)
class Dual:
    """value + slope * dx, with dx^2 = 0."""

    value: Value
    slope: Value

    def __add__(self, other: Any) -> Dual:
        right = _dual(other)
        return Dual(self.value + right.value, self.slope + right.slope)

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    def __sub__(self, other: Any) -> Dual:
        return self + -_dual(other)

    def __rsub__(self, other: Any) -> Dual:
        return _dual(other) - self

    def __mul__(self, other: Any) -> Dual:
        right = _dual(other)
        return Dual(self.value * right.value, self.slope * right.value + self.value * right.slope)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        right = _dual(other)
        return Dual(self.value / right.value, (self.slope - self.value / right.value * right.slope) / right.value)

    def __rtruediv__(self, other: Any) -> Dual:
        return _dual(other) / self

    def __pow__(self, power: Any) -> Dual:
        """A constant power."""
        exponent = _constant(power) if isinstance(power, Dual) else power
        return Dual(self.value**exponent, exponent * self.value ** (exponent - 1) * self.slope)


def _dual(value: Any) -> Dual:
    return value if isinstance(value, Dual) else Dual(value, 0)


def _constant(x: Dual) -> Value:
    """The value of something that must not move."""
    if not x.slope == 0:
        raise NotImplementedError("no derivative is known in this argument")
    return x.value


class DerivativeArithmetic:
    """The functions of `base`, each with its derivative (chain rule)."""

    name = "derivative"

    def __init__(self, base: Any) -> None:
        self.base = base

    def exact(self, number: fmpq) -> Dual:
        return _dual(self.base.exact(number))

    def rational(self, above: int, below: int = 1) -> Dual:
        return _dual(self.base.rational(above, below))

    def pi(self) -> Dual:
        return _dual(self.base.pi())

    def exp(self, x: Dual) -> Dual:
        value = self.base.exp(x.value)
        return Dual(value, value * x.slope)

    def expm1(self, x: Dual) -> Dual:
        return Dual(self.base.expm1(x.value), self.base.exp(x.value) * x.slope)

    def log(self, x: Dual) -> Dual:
        return Dual(self.base.log(x.value), x.slope / x.value)

    def log1p(self, x: Dual) -> Dual:
        return Dual(self.base.log1p(x.value), x.slope / (1 + x.value))

    def sqrt(self, x: Dual) -> Dual:
        root = self.base.sqrt(x.value)
        return Dual(root, x.slope / (2 * root))

    def abs(self, x: Dual) -> Dual:
        return Dual(self.base.abs(x.value), self.base.sign(x.value) * x.slope)

    def sign(self, x: Dual) -> Dual:
        return _dual(self.base.sign(x.value))

    def normal_cdf(self, x: Dual) -> Dual:
        density = self.base.exp(-x.value * x.value / 2) / self.base.sqrt(2 * self.base.pi())
        return Dual(self.base.normal_cdf(x.value), density * x.slope)

    def atan(self, x: Dual) -> Dual:
        return Dual(self.base.atan(x.value), x.slope / (1 + x.value * x.value))

    def power(self, x: Dual, y: Dual) -> Dual:
        """A constant power."""
        exponent = _constant(y)
        return Dual(self.base.power(x.value, exponent), exponent * self.base.power(x.value, exponent - 1) * x.slope)

    def gamma(self, x: Dual) -> Dual:
        """Of a constant."""
        return Dual(self.base.gamma(_constant(x)), 0)
