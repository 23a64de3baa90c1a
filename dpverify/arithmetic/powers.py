"""Rational powers of rationals, where they are rational."""

from __future__ import annotations

from flint import fmpq

_LARGEST_EXPONENT = 10_000
"""Larger powers fill the memory; they are left to balls."""


def exact_power(base: fmpq, exponent: fmpq) -> fmpq | None:
    """base^exponent for base >= 0, if it is rational (and not monstrous); None otherwise."""
    if base == 1 or exponent == 0:
        return fmpq(1)
    if base == 0:
        return fmpq(0) if exponent > 0 else None
    if exponent < 0:
        return exact_power(1 / base, -exponent)
    above, below = int(exponent.p), int(exponent.q)
    if above > _LARGEST_EXPONENT:
        return None
    # In lowest terms base^(above/below) is rational exactly if base is a perfect power of degree `below`.
    top, bottom = _root(int(base.p), below), _root(int(base.q), below)
    return None if top is None or bottom is None else fmpq(top, bottom) ** above


def _root(number: int, degree: int) -> int | None:
    """The whole number whose power of this degree is `number` >= 1, or None."""
    if degree == 1 or number == 1:
        return number
    if degree >= number.bit_length():
        return None
    low, high = 1, 1 << -(-number.bit_length() // degree)
    while low < high:
        middle = (low + high) // 2
        if middle**degree < number:
            low = middle + 1
        else:
            high = middle
    return low if low**degree == number else None
