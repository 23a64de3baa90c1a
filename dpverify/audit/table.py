"""Outputs of a mechanism as columns: whatever a batch holds becomes numbers, kinds and codes, one column a coordinate.

A *path* says where in an output a coordinate sits: `()` is the output itself, `(2,)` its third item, `("age", 0)` the first
item under the key "age". Every output has a *kind* on every path (number, NaN, None, text, list ..., or absent), a
float64 value where it is a number, and a 64-bit code that is equal for equal values and, collisions aside, for no others.
Values are compared as a reader of the output would: 1, 1.0 and True are one number, tuples and arrays are lists.

Nothing statistical lives here. A function of an output is a function of that output whatever it computes, so nothing in
this file can make an audit unsound; it can only make it blind.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from hashlib import blake2b
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.texts import ABSENT, LENGTH, followed, is_part, key_of_step, part_of
from dpverify.errors import shown

T = TypeVar("T")
Path: TypeAlias = "tuple[int | str, ...]"
Floats: TypeAlias = "NDArray[np.float64]"
Kinds: TypeAlias = "NDArray[np.uint8]"
Codes: TypeAlias = "NDArray[np.uint64]"

Texts: TypeAlias = "NDArray[np.object_]"

MOST_REMEMBERED = 16
"""Columns of things read off all outputs that a table remembers."""

MOST_PARTS = 16
"""Parts of texts that get columns of their own while events are sought."""

FEW_TEXTS, TEXT_BYTES = 256, 50
"""From so many it is told whether texts are all different; what a text takes beside its characters."""


class Kind(IntEnum):
    """What an output has on a path."""

    ABSENT = 0
    NUMBER = 1
    NAN = 2
    NONE = 3
    TEXT = 4
    LIST = 5
    MAPPING = 6
    OTHER = 7

    @property
    def words(self) -> str:
        """How a witness names it."""
        return _WORDS[self]


NUMBER = Kind.NUMBER
"""At hand for what is asked of every block: Python 3.11 takes its time to find a member of an enumeration."""

_WORDS = {
    Kind.ABSENT: "is absent",
    Kind.NUMBER: "is a number",
    Kind.NAN: "is NaN",
    Kind.NONE: "is None",
    Kind.TEXT: "is text",
    Kind.LIST: "is a list",
    Kind.MAPPING: "is a mapping",
    Kind.OTHER: "is some other object",
}

OPAQUE = "<an object of "
"""How the text for an object begins that shows nothing of its content."""
SEED_OF_KIND = np.array([0, *(0x9E3779B97F4A7C15 * (k + 1) % 2**64 for k in range(1, 8))], dtype=np.uint64)


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """One coordinate of every output of a batch. `exact` is absent where the bits of `values` say it all; `texts` are the
    texts themselves, None in the place of what is no text, and absent where there are none at all.

    `known`: the kinds; None where all cells are numbers or NaN, and nobody has asked yet which. `spacing`: a power of two of
    which all numbers are multiples; 0 where none is known.
    """

    values: Floats
    known: Kinds | None = None
    exact: Codes | None = None
    labels: Mapping[int, str] = dataclasses.field(default_factory=dict)
    texts: Texts | None = None
    spacing: float = 0.0

    @property
    def kinds(self) -> Kinds:
        """What each output has here."""
        if self.known is None:
            object.__setattr__(self, "known", _number_or_nan(self.values))
        assert self.known is not None
        return self.known

    @property
    def codes(self) -> Codes:
        """Equal for equal cells."""
        if self.exact is not None:
            return self.exact
        bits = np.ascontiguousarray(self.values).view(np.uint64)
        if self.plain:
            return bits
        numbers = self.kinds == Kind.NUMBER
        if numbers.all():
            return bits
        return np.where(numbers, bits, SEED_OF_KIND[self.kinds])

    @property
    def plain(self) -> bool:
        """Whether it is known at a glance that all cells are numbers, whose bits are their codes."""
        return self.exact is None and self.kinds.strides == (0,) and len(self.kinds) > 0 and self.kinds.item(0) == NUMBER

    def rounded(self, spacing: float) -> Column:
        """The same column with every number moved to the nearest multiple of `spacing`, a power of two; no negative zero."""
        with np.errstate(over="ignore", invalid="ignore"):
            steps = self.values / spacing
            values = np.rint(steps)
            values *= spacing
            values += 0.0
            large = max(steps.max(initial=0.0), -steps.min(initial=0.0))
        if not large < 2.0**52:  # multiples already, or not to be told from NaN here
            values = np.where(np.abs(steps) < 2.0**52, values, self.values)
        exact = None if self.exact is None else self._recoded(values)
        return Column(values, self.known, exact, self.labels, self.texts, spacing)

    def _recoded(self, values: Floats) -> Codes:
        assert self.exact is not None
        moved = (self.kinds == Kind.NUMBER) & (values != self.values)
        return np.where(moved, values.view(np.uint64), self.exact)

    def taken(self, rows: Any) -> Column:
        """The cells of some rows."""
        exact, texts, known = (None if part is None else part[rows] for part in (self.exact, self.texts, self.known))
        values = np.ascontiguousarray(self.values[rows])  # which are read many times
        return Column(values, known, exact, self.labels, texts, self.spacing)

    def kept(self) -> Column:
        """The same cells in memory of their own."""
        return Column(self.values.copy(), self.known, self.exact, self.labels, self.texts)


def constant(kind: Kind, size: int) -> Column:
    """A column on which every output has the same kind and no number."""
    return Column(np.full(size, np.nan), one_kind(kind, size))


@lru_cache(maxsize=64)
def one_kind(kind: Kind, size: int) -> Kinds:
    """The same kind throughout, in the memory of one."""
    return np.broadcast_to(np.uint8(kind), (size,))


def _number_or_nan(values: Floats) -> Kinds:
    if len(values) and math.isnan(values.min()):  # which any NaN makes NaN, and which is quicker than to ask each
        return np.where(np.isnan(values), np.uint8(Kind.NAN), np.uint8(NUMBER))
    return one_kind(NUMBER, len(values))


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """A batch of outputs as columns. A path that no output has is a column of absences."""

    size: int
    columns: Mapping[Path, Column]
    _known: dict[Hashable, Any] = dataclasses.field(default_factory=dict, compare=False, repr=False)

    def remembered(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What `compute` returns, without computing it again for the same key, as long as not much else was asked for since."""
        if key not in self._known:
            if len(self._known) >= MOST_REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[key] = compute()
        found: T = self._known[key]
        return found

    def column(self, path: Path) -> Column:
        """The column of a path. One that leads into texts is read off them when it is asked for."""
        found = self.columns.get(path)
        if found is None and is_part(path):
            return self.remembered(path, lambda: self._part(path))
        return constant(Kind.ABSENT, self.size) if found is None else found

    def _part(self, path: Path) -> Column:
        from dpverify.audit.reading import column_of_part

        return column_of_part(followed(self._cells(path[:-1]), path[-1:]), path)

    def _cells(self, path: Path) -> list[Any]:
        """The texts on a path, or what is in them; ABSENT elsewhere."""
        if is_part(path):
            return self.remembered((path, "cells"), lambda: followed(self._cells(path[:-1]), path[-1:]))
        texts = self.column(path).texts
        return [ABSENT] * self.size if texts is None else [ABSENT if text is None else text for text in texts.tolist()]

    @property
    def coordinates(self) -> list[Path]:
        """The paths that hold at least one number, without those that lead into texts."""
        numbers = [path for path, column in self.columns.items() if (column.kinds == Kind.NUMBER).any()]
        return [path for path in numbers if not is_length(path) and not is_part(path)]

    @property
    def width(self) -> int:
        """How many cells of eight bytes an output takes, more or less: its columns, and texts where these are all different."""
        few = [column.texts[:FEW_TEXTS].tolist() for column in self.columns.values() if column.texts is not None]
        large = [texts for texts in few if len(set(texts)) > len(texts) / 2]
        characters = sum(sum(len(text) for text in texts if text) / len(texts) for texts in large)
        return len(self.columns) + (MOST_PARTS + int(characters + TEXT_BYTES * len(large)) // 8 if large else 0)

    @property
    def opaque(self) -> set[str]:
        """The kinds of objects among the outputs of which nothing but the type can be read."""
        labels = (label for column in self.columns.values() for label in column.labels.values())
        return {label.removeprefix(OPAQUE).removesuffix(">") for label in labels if label.startswith(OPAQUE)}

    def numbers(self) -> tuple[Floats, ...]:
        """All numbers of all outputs, one array a coordinate; NaN where an output has none."""
        return self.remembered("numbers", lambda: tuple(self.columns[path].values for path in self.coordinates))

    def whole(self) -> Codes:
        """One code for each whole output. Absent cells add nothing, so it does not depend on the rest of the batch."""
        code = np.zeros(self.size, dtype=np.uint64)
        for path, column in self.columns.items():
            if is_part(path):
                continue
            mixed = _mixed(column.codes + np.uint64(code_of_text(repr(path))))
            code += np.where(column.kinds == Kind.ABSENT, np.uint64(0), mixed)
        return code

    def rounded(self, grid: Mapping[Path, float]) -> Table:
        """The outputs after rounding: a column moves to multiples of its spacing in `grid`, others stay."""
        if not grid:
            return self
        return Table(self.size, _Rounded(self.columns, grid))

    def taken(self, rows: Any) -> Table:
        """Some rows: a slice, or an array of row numbers or of truth values."""
        columns = {path: column.taken(rows) for path, column in self.columns.items()}
        size = len(range(*rows.indices(self.size))) if isinstance(rows, slice) else int(np.arange(self.size)[rows].size)
        return Table(size, columns)

    def apart(self) -> Table:
        """The same columns, and nothing remembered: tables that threads share would remember for each other."""
        return Table(self.size, self.columns)

    def kept(self) -> Table:
        """The same outputs in memory of their own: a mechanism may well write into what it returned again."""
        return Table(self.size, {path: column.kept() for path, column in self.columns.items()})

    def example(self, row: int) -> str:
        """One output, readable."""
        paths = [path for path in self.columns if not is_length(path) and not is_part(path)]
        if all(path == () for path in paths):
            return text_of_cell(self.columns[()], row)
        kinds = {path: self.columns[path].kinds[row] for path in paths}
        leaves = [path for path in paths if kinds[path] not in (Kind.ABSENT, Kind.LIST, Kind.MAPPING)]
        cells = [f"{_name_of_path(path)}={text_of_cell(self.columns[path], row)}" for path in leaves]
        if all(len(path) <= 1 and all(isinstance(step, int) for step in path) for path in paths):
            return "(" + ", ".join(cell.partition("=")[2] for cell in cells) + ")"
        return "{" + ", ".join(cells) + "}"


class _Rounded(Mapping[Path, Column]):
    """Columns that are rounded when somebody looks at them: an event looks at one or two, and an output may have thousands."""

    def __init__(self, exact: Mapping[Path, Column], grid: Mapping[Path, float]) -> None:
        self._exact = exact
        self._grid = grid
        self._known: dict[Path, Column] = {}

    def __getitem__(self, path: Path) -> Column:
        if path not in self._known:
            column = self._exact[path]
            self._known[path] = column.rounded(self._grid[path]) if path in self._grid and not is_length(path) else column
        return self._known[path]

    def __iter__(self) -> Iterator[Path]:
        return iter(self._exact)

    def __len__(self) -> int:
        return len(self._exact)


def is_length(path: Path) -> bool:
    """Whether the path names a number of items rather than an item."""
    return bool(path) and path[-1] == LENGTH


def path_from_json(steps: Any) -> Path:
    """The path whose steps were saved. Raises ValueError where these are no steps of a path."""
    if not isinstance(steps, list) or not all(type(step) in (int, str) for step in steps):
        raise ValueError(f"{shown(steps)} is no path")
    for step in steps:
        if isinstance(step, str):
            part_of(step)
    return tuple(steps)


def name(path: Path) -> str:
    """How a witness names the coordinate: output, output[0], output['age'][0], length of output, last character of output."""
    if is_length(path):
        return f"length of {name(path[:-1])}"
    if not is_part(path):
        return "output" + _name_of_path(path)
    part = part_of(path[-1]) if isinstance(path[-1], str) else None
    return f"{name(path[:-1])}{_name_of_path(path[-1:])}" if part is None else part.describe(name(path[:-1]))


def _name_of_path(path: Path) -> str:
    return "".join(f"[{key_of_step(step)!r}]" for step in path)


def text_of_cell(column: Column, row: int) -> str:
    """A cell, readable."""
    kind = Kind(column.kinds[row])
    if kind is Kind.NUMBER:
        if column.exact is not None and (label := column.labels.get(int(column.exact[row]))) is not None:
            return label  # a number that no double holds
        value = float(column.values[row])
        if (label := column.labels.get(int(np.float64(value).view(np.uint64)))) is not None:
            return label  # a character
        return repr(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if kind is Kind.TEXT and column.texts is not None and column.texts[row] is not None:
        return repr(column.texts[row])
    if kind is Kind.NAN:
        return "NaN"
    if kind is Kind.NONE:
        return "None"
    return column.labels.get(int(column.codes[row]), kind.words.removeprefix("is "))


def joined(tables: Sequence[Table]) -> Table:
    """Several batches, one below the other."""
    if len(tables) == 1:
        return tables[0]
    paths = dict.fromkeys(path for table in tables for path in table.columns)
    columns = {}
    for path in paths:
        parts = [table.column(path) for table in tables]
        exact = None if all(part.exact is None for part in parts) else np.concatenate([part.codes for part in parts])
        labels = {code: label for part in parts for code, label in part.labels.items()}
        values = np.concatenate([part.values for part in parts])
        plain = all(part.plain for part in parts)
        kinds = one_kind(Kind.NUMBER, len(values)) if plain else np.concatenate([part.kinds for part in parts])
        columns[path] = Column(values, kinds, exact, labels, _joined_texts(parts))
    return Table(sum(table.size for table in tables), columns)


def _joined_texts(parts: Sequence[Column]) -> Texts | None:
    if all(part.texts is None for part in parts):
        return None
    return np.concatenate([np.full(len(part.values), None) if part.texts is None else part.texts for part in parts])


def code_of_text(text: str) -> int:
    """A code that other texts do not have, collisions aside."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _mixed(codes: Codes) -> Codes:
    """A fixed scrambling of 64 bits (the finaliser of the splitmix64 generator), so that sums of codes do not cancel."""
    codes = (codes ^ (codes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes ^ (codes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return codes ^ (codes >> np.uint64(31))
