"""The second opinion on randomized response: the sum of positive parts in mpmath, and plain roots of it."""

from __future__ import annotations

from typing import Any

from flint import fmpq
from mpmath import mpf

from dpverify.arithmetic.multiprecision import MultiprecisionArithmetic
from dpverify.enclose.second_opinion import positive_root, settled


def delta(mechanism: Any, eps: fmpq, digits: int) -> mpf:
    """delta(eps) to about `digits` digits."""
    flip = mechanism.exact_flip
    return settled(lambda m: _excess(m, m.exact(flip), m.exact(eps), mechanism.values), digits, what=f"delta of {mechanism!r}")


def epsilon(mechanism: Any, exact_delta: fmpq, digits: int) -> mpf:
    """The least epsilon >= 0 to about `digits` digits."""

    def value(m: MultiprecisionArithmetic) -> Any:
        flip, level = m.exact(mechanism.exact_flip), m.exact(exact_delta)
        if _excess(m, flip, m.rational(0), mechanism.values) <= level:
            return m.rational(0)
        if exact_delta == 0:
            return m.log((1 - flip) * (mechanism.values - 1) / flip)
        return positive_root(m, lambda eps: _excess(m, flip, eps, mechanism.values), level, increasing=False)

    return settled(value, digits, what=f"epsilon of {mechanism!r}")


def scale(mechanism: Any, eps: fmpq, exact_delta: fmpq, sensitivity: fmpq, digits: int) -> mpf:
    """The least flip probability to about `digits` digits."""
    others = mechanism.values - 1

    def value(m: MultiprecisionArithmetic) -> Any:
        growth, level = m.exp(m.exact(eps)), m.exact(exact_delta)
        return positive_root(m, lambda flip: flip * (1 + growth / others) + level, m.rational(1), increasing=True)

    return settled(value, digits, what="flip")


def _excess(m: MultiprecisionArithmetic, flip: Any, eps: Any, values: int) -> Any:
    truth, other, growth = 1 - flip, flip / (values - 1), m.exp(eps)
    parts = [truth - growth * other, other - growth * truth, (values - 2) * (other - growth * other)]
    return sum((part for part in parts if part > 0), m.rational(0))
