"""Parts of a text: a character, a field, a number in it, how many digits it has, what is under a key of JSON text.

A part is a step of a path like any other, written as text: "text:character:-1" is the last character. Steps follow each
other: the second field of the third line, read as a number. What a part is depends on the one text alone, so nothing here
can make an audit unsound. Which parts are worth a look is `dissecting`'s business.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Path: TypeAlias = "tuple[int | str, ...]"

MARK = "text:"
"""How a step begins that leads into a text. A key that begins like that is quoted."""

LENGTH = "length"
"""The last step of the path under which the number of items of a list, a dict or a text is found."""

ABSENT: Any = object()
"""What a text that has no such part has there."""

CHUNK = 4_000_000
"""Characters that are looked at together, at most."""

NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?(?![A-Za-z]*+[0-9_])"  # not inside of a3f09
)
"""A number that stands by itself in a text, be it with a unit. A sign right behind a word is a dash."""

CLASSES = {
    "digits": "digits 0-9",
    "upper": "capital letters A-Z",
    "lower": "small letters a-z",
    "spaces": "spaces and line breaks",
    "others": "ASCII characters beside letters, digits and spaces",
}


@dataclass(frozen=True, slots=True)
class Part:
    """One step into a text. Places count from 0, or from the end: -1 is the last.

    "character" and "field": the one at `place`; fields are what stands between `of`. "first" and "last": so many characters.
    "number": the whole text as a number, or, with a place, one of the numbers in it. "class": how many characters of a class.
    "count": how often `of` occurs. "json": what the text says as JSON.
    """

    kind: str
    place: int | None = None
    of: str = ""

    @property
    def step(self) -> str:
        """As it stands in a path."""
        return f"{MARK}{self.kind}:{'' if self.place is None else self.place}:{self.of}"

    def describe(self, subject: str) -> str:
        """What is meant, where `subject` is the text."""
        place, of = self.place, self.of
        if self.kind in ("first", "last"):
            return f"{self.kind} {place} characters of {subject}"
        if self.kind == "class":
            return f"count of {CLASSES[of]} in {subject}"
        if self.kind == "count":
            return f"count of {of!r} in {subject}"
        if self.kind == "json":
            return f"({subject} read as JSON)"
        if place is None:
            return f"{subject} read as a number"
        which = {0: f"first {self.kind}", -1: f"last {self.kind}"}.get(
            place, f"{self.kind} {place + 1}" if place > 0 else f"{self.kind} {-place} from the end"
        )
        return f"{which} {'in' if self.kind == 'number' else 'of'} {subject}{f' split at {of!r}' if of else ''}"


@lru_cache(maxsize=4096)
def part_of(step: str) -> Part | None:
    """The part that a step names; None for a step that is a key. Raises ValueError where it begins like a part and is none."""
    if not step.startswith(MARK):
        return None
    kind, _, rest = step.removeprefix(MARK).partition(":")
    place, _, of = rest.partition(":")
    part = Part(kind, int(place) if place else None, of)
    has_place, has_text = part.place is not None, bool(of)
    fits = {
        "character": has_place and not has_text,
        "first": has_place and not has_text and int(place) > 0,
        "last": has_place and not has_text and int(place) > 0,
        "field": has_place and has_text,
        "number": not has_text and (not has_place or int(place) >= 0),
        "class": not has_place and of in CLASSES,
        "count": not has_place and has_text,
        "json": not has_place and not has_text,
    }
    if not fits.get(kind, False) or part.step != step:
        raise ValueError(f"{step!r} is no part of a text")
    return part


def is_part(path: Path) -> bool:
    """Whether a path leads into a text."""
    return any(type(step) is str and step.startswith(MARK) for step in path)


def is_character(path: Path) -> bool:
    """Whether a path leads to a single character."""
    return bool(path) and str(path[-1]).startswith(f"{MARK}character:")


def is_number(path: Path) -> bool:
    """Whether a path leads to a number that is written in a text."""
    return is_part(path) and not is_character(path) and not str(path[-1]).startswith((f"{MARK}class:", f"{MARK}count:"))


def step_of_key(key: Any) -> int | str:
    """The step that a key or an index is. A key that looks like a step of another kind is quoted."""
    if isinstance(key, int):
        return key
    text = str(key)
    return f"'{text}'" if text == LENGTH or text.startswith(MARK) else text


def key_of_step(step: int | str) -> int | str:
    """The key or the index that `step_of_key` made a step of."""
    return step[1:-1] if isinstance(step, str) and step.startswith((f"'{MARK}", f"'{LENGTH}'")) else step


def followed(cells: Sequence[Any], steps: Sequence[int | str]) -> list[Any]:
    """Where these steps lead to from each of some texts; ABSENT where there is nothing."""
    found: list[Any] = list(cells)
    for step in steps:
        found = _after(found, step)
    return found


def _after(cells: list[Any], step: int | str) -> list[Any]:
    part = part_of(step) if isinstance(step, str) else None
    if part is None:
        return [_length_of(cell) for cell in cells] if step == LENGTH else [_item(cell, step) for cell in cells]
    return _FOLLOW[part.kind](cells, part)


def _length_of(cell: Any) -> Any:
    return float(len(cell)) if isinstance(cell, str | list | dict) else ABSENT


def _item(cell: Any, step: int | str) -> Any:
    if isinstance(cell, list):
        return cell[step] if isinstance(step, int) and 0 <= step < len(cell) else ABSENT
    if isinstance(cell, dict) and isinstance(step, str):
        return cell.get(key_of_step(step), ABSENT)
    return ABSENT


def _characters(cells: list[Any], part: Part) -> list[Any]:
    place = part.place or 0
    cut = slice(place, place + 1 or None)
    return [cell[cut] or ABSENT if type(cell) is str else ABSENT for cell in cells]


def _ends(cells: list[Any], part: Part) -> list[Any]:
    cut = slice(None, part.place) if part.kind == "first" else slice(-(part.place or 0), None)
    return [cell[cut] if type(cell) is str else ABSENT for cell in cells]


def _fields(cells: list[Any], part: Part) -> list[Any]:
    place, of = part.place or 0, part.of
    parted = [cell.split(of, place + 1) if place >= 0 else cell.rsplit(of, -place) for cell in cells if type(cell) is str]
    needed = place + 1 if place >= 0 else -place
    found = iter([fields[place] if len(fields) >= needed else ABSENT for fields in parted])
    return [next(found) if type(cell) is str else ABSENT for cell in cells]


def _numbers(cells: list[Any], part: Part) -> list[Any]:
    if part.place is None:
        return [_number(cell) for cell in cells]
    if part.place == 0:
        return [_finite(match[0]) if type(cell) is str and (match := NUMBER.search(cell)) else ABSENT for cell in cells]
    return [_number_at(cell, part.place) for cell in cells]


def _number(cell: Any) -> Any:
    if type(cell) is not str:
        return ABSENT
    try:
        number = float(cell)
    except ValueError:
        return ABSENT
    return number if number == number else ABSENT


def _number_at(cell: Any, place: int) -> Any:
    if type(cell) is not str:
        return ABSENT
    match = next(islice(NUMBER.finditer(cell), place, None), None)
    return ABSENT if match is None else _finite(match[0])


def _finite(text: str) -> Any:
    """A number inside of a text; one like 1e999 is no number but a few characters in a row."""
    number = float(text)
    return number if math.isfinite(number) else ABSENT


def _counts(cells: list[Any], part: Part) -> list[Any]:
    of = part.of
    return [float(cell.count(of)) if type(cell) is str else ABSENT for cell in cells]


def _read_as_json(cells: list[Any], part: Part) -> list[Any]:
    return [_json(cell) for cell in cells]


def _json(cell: Any) -> Any:
    if type(cell) is not str:
        return ABSENT
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return ABSENT


def _in_class(cells: list[Any], part: Part) -> list[Any]:
    """Many texts together, as one array of characters: a look at each character of each text would take too long."""
    found: list[Any] = [ABSENT] * len(cells)
    rows = [row for row, cell in enumerate(cells) if type(cell) is str]
    while rows:
        texts, total = [], 0
        for row in rows:
            texts.append(cells[row])
            total += len(texts[-1])
            if total > CHUNK:
                break
        ends = np.cumsum([len(text) for text in texts])
        together = np.concatenate([[0], np.cumsum(_is_in(_code_points("".join(texts)), part.of))])
        for row, count in zip(rows, np.diff(together[ends], prepend=0).tolist(), strict=False):
            found[row] = float(count)
        rows = rows[len(texts) :]
    return found


def _code_points(text: str) -> NDArray[Any]:
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def _is_in(points: NDArray[Any], which: str) -> NDArray[np.bool_]:
    """Which characters are of a class; characters beyond ASCII are of none."""
    table = _ASCII[which]
    found: NDArray[np.bool_] = table[np.minimum(points, 128)]
    return found


def _table_of(holds: Callable[[str], bool]) -> NDArray[np.bool_]:
    return np.array([holds(chr(point)) for point in range(128)] + [False])


_ASCII = {
    "digits": _table_of(str.isdigit),
    "upper": _table_of(str.isupper),
    "lower": _table_of(str.islower),
    "spaces": _table_of(str.isspace),
    "others": _table_of(lambda text: not text.isalnum() and not text.isspace()),
}

_FOLLOW: dict[str, Callable[[list[Any], Part], list[Any]]] = {
    "character": _characters,
    "first": _ends,
    "last": _ends,
    "field": _fields,
    "number": _numbers,
    "class": _in_class,
    "count": _counts,
    "json": _read_as_json,
}
