"""From docstrings as this project writes them, which are plain text, to reStructuredText. Text only: nothing is imported.

Plain text means: paragraphs whose formulas may hold any sign, `code` between single backticks, lists that begin with "- ",
and tables whose second column is aligned.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_TERM = re.compile(r'[\w"\', .]*')


def rst(docstring: str, linked: Collection[str] = ()) -> list[str]:
    """The lines of reStructuredText that look like `docstring`, a cleaned one (`inspect.cleandoc`).

    Names of the package in `linked` become links.
    """
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", docstring.strip("\n")):
        rows = paragraph.split("\n")
        if all(row.startswith("    ") for row in rows):
            lines += ["::", "", *rows]
        elif (column := _column(rows)) is not None:
            lines += _table(rows, column, linked)
        else:
            lines += _prose(rows, linked)
        lines.append("")
    return lines


def inline(text: str, linked: Collection[str] = ()) -> str:
    """One run of text: what reStructuredText would take for markup is escaped, names in `linked` become links."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an odd backtick is no markup
        return _plain(text, linked)
    return "".join(_code(part, parts[place + 1]) if place % 2 else _plain(part, linked) for place, part in enumerate(parts))


def _plain(text: str, linked: Collection[str]) -> str:
    escaped = re.sub(r"([\\*|_`])", r"\\\1", text)
    escaped = re.sub(r"(?<![^\s(])\\\*([a-z]+)\\\*(?!\w)", r"*\1*", escaped)  # a stressed word; 2*x*y is none
    return re.sub(rf"\b({'|'.join(linked)})\b", r":py:obj:`~dpverify.\1`", escaped) if linked else escaped


def _code(text: str, after: str) -> str:
    return f"``{text}``" + ("\\ " if re.match(r"\w", after) else "")


def _column(rows: list[str]) -> int | None:
    """Where the second column of a table begins; None for what is no table."""
    starts = [match.end() for row in rows if (match := re.match(r"[\w\"][\w\"', .]*?  +(?=\S)", row))]
    if not starts:
        return None
    column = starts[0]
    if all(row[column - 1 : column] in (" ", "") and _TERM.fullmatch(row[:column]) for row in rows):
        return column
    return None


def _table(rows: list[str], column: int, linked: Collection[str]) -> list[str]:
    entries: list[tuple[str, list[str]]] = []
    for row in rows:
        if row[:column].strip():
            entries.append((row[:column].strip(), []))
        entries[-1][1].append(row[column:].strip())
    return [line for term, texts in entries for line in (f"``{term}``", f"    {inline(' '.join(texts), linked)}")]


def _prose(rows: list[str], linked: Collection[str]) -> list[str]:
    """A paragraph, or a list, or one after the other."""
    chunks: list[tuple[str, list[str]]] = []
    for row in rows:
        item = row.startswith("- ")
        if item or not chunks or (chunks[-1][0] == "- " and not row.startswith("  ")):
            chunks.append(("- " if item else "", []))
        chunks[-1][1].append(row[2:].strip() if item else row.strip())
    return [line for mark, texts in chunks for line in (f"{mark}{inline(' '.join(texts), linked)}", "")]
