"""Rows as an aligned table or as comma-separated values. Every cell is text by the time it comes here."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns two blanks apart, as wide as their widest cell; the last one is not padded."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header) - 1)]
    shown = ("  ".join([*(f"{cell:{width}}" for cell, width in zip(line, widths, strict=False)), line[-1]]) for line in lines)
    return "".join(f"{line.rstrip()}\n" for line in shown)


def comma_separated(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """RFC 4180, with plain newlines."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return stream.getvalue()
