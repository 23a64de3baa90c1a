"""Doubles as a reader gets them: few digits, rounded to the safe side."""

from __future__ import annotations

import decimal

_DIGITS = 4


def down(value: float) -> str:
    """Four digits that say no more than `value` does as a lower bound."""
    return _rounded(value, decimal.ROUND_FLOOR)


def up(value: float) -> str:
    """Four digits that say no more than `value` does as an upper bound."""
    return _rounded(value, decimal.ROUND_CEILING)


def _rounded(value: float, direction: str) -> str:
    shortened = decimal.Context(prec=_DIGITS, rounding=direction).create_decimal(value)
    return f"{shortened:g}" if shortened else "0"
