"""On which line of a TOML file a table or a key stands. A reading for messages: values are tomllib's business."""

from __future__ import annotations

import re
from collections import Counter

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"""\s*(?:"([^"]+)"|'([^']+)'|([A-Za-z0-9_-]+))\s*=""")


def positions(text: str) -> dict[tuple[str, int, str], int]:
    """Lines, counted from 1, by (table, which of the tables of that name counted from 0, key); key "" is the header."""
    found: dict[tuple[str, int, str], int] = {}
    seen: Counter[str] = Counter()
    table, number = "", 0
    for line, content in enumerate(text.splitlines(), start=1):
        if header := _HEADER.fullmatch(content):
            table = re.sub(r"\s*\.\s*", ".", header[2]).replace('"', "")
            number = seen[table]
            seen[table] += 1
            found[table, number, ""] = line
        elif key := _KEY.match(content):
            found.setdefault((table, number, key[1] or key[2] or key[3]), line)
    return found
