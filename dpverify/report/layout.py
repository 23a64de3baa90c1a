"""How text results are laid out: labelled rows, wrapped."""

from __future__ import annotations

import textwrap

WIDTH = 100
INDENT = 12


def command_row(label: str, command: str) -> list[str]:
    """A row that is not wrapped, so that the command in it can be copied."""
    return [f"  {label:{INDENT - 2}}{command}"]


def row(label: str, content: str) -> list[str]:
    """The lines of one labelled row; the content is wrapped, its own line breaks are kept."""
    lines: list[str] = []
    for part in content.splitlines() or [""]:
        lines += textwrap.wrap(part, WIDTH - INDENT, break_long_words=False, break_on_hyphens=False)
    return [f"  {label if place == 0 else '':{INDENT - 2}}{line}" for place, line in enumerate(lines)]
