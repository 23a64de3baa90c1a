"""Exact rationals: a formula that needs nothing but + - * / has an exact value, and ties with handed-in numbers are decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import fmpq

from dpverify.arithmetic.interface import Arithmetic


class _IrrationalError(Exception):
    """The formula called for more than rational operations."""


class RationalArithmetic:
    """Runs the rational formulas, and stops at the first function that is none."""

    name = "rational"

    def exact(self, number: fmpq) -> fmpq:
        return number

    def rational(self, above: int, below: int = 1) -> fmpq:
        return fmpq(above, below)

    def __getattr__(self, function: str) -> Any:
        raise _IrrationalError(function)


_RATIONALS: Any = RationalArithmetic()


def rational_value(formula: Callable[[Arithmetic], Any]) -> fmpq | None:
    """The exact value of `formula(m)`, or None where it is not a rational formula (or states nothing)."""
    try:
        value = formula(_RATIONALS)
    except _IrrationalError:
        return None
    return None if value is None else fmpq(value)
