"""How text results are laid out: labelled rows, wrapped, and numbers that are rounded to the safe side."""

from __future__ import annotations

import decimal
import textwrap

WIDTH = 100
INDENT = 12
_DIGITS = 4


def command_row(label: str, command: str) -> list[str]:
    """A row that is not wrapped, so that the command in it can be copied."""
    return [f"  {label:{INDENT - 2}}{command}"]


def row(label: str, content: str) -> list[str]:
    """The lines of one labelled row; the content is wrapped, its own line breaks are kept."""
    lines: list[str] = []
    for part in content.splitlines() or [""]:
        lines += textwrap.wrap(part, WIDTH - INDENT, break_long_words=False, break_on_hyphens=False)
    return [f"  {label if place == 0 else '':{INDENT - 2}}{line}" for place, line in enumerate(lines)]


def down(value: float) -> str:
    """Four digits that say no more than `value` does as a lower bound."""
    return _rounded(value, decimal.ROUND_FLOOR)


def up(value: float) -> str:
    """Four digits that say no more than `value` does as an upper bound."""
    return _rounded(value, decimal.ROUND_CEILING)


def _rounded(value: float, direction: str) -> str:
    shortened = decimal.Context(prec=_DIGITS, rounding=direction).create_decimal(value)
    return f"{shortened:g}" if shortened else "0"
