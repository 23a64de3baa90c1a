"""Sets of single values: of one coordinate, or of the whole output (a tuple, a bit string, a category, a text).

The set is the union of the values with the largest estimated likelihood ratio, cut where the forecast bound is largest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.exploration import Candidate, Exploration, by_cautious_ratio
from dpverify.audit.features import Coordinate
from dpverify.audit.table import Codes, Column, Kind, Path, Table, name, path_from_json

MOST_VALUES = 2000
"""A set holds no more values than this; evidence stays readable."""

FEW_VALUES = 8
"""Up to here a comparison with each value is quicker than any search."""

SHOWN = 6

MOSTLY_DISTINCT = 0.9
"""The part of distinct values from which on a coordinate is taken for a continuous one."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """The coordinate on `path` (None: the whole output) has one of the codes. `examples` are for readers alone."""

    path: Path | None
    codes: tuple[int, ...]
    examples: tuple[str, ...] = field(default=(), compare=False)

    def mask(self, table: Table) -> NDArray[np.bool_]:
        return members(codes_of(table, self.path), np.array(self.codes, dtype=np.uint64))

    def describe(self) -> str:
        subject = "output" if self.path is None else name(self.path)
        if len(self.codes) == 1:
            return f"{subject} is {', '.join(self.examples)}"
        more = len(self.codes) - len(self.examples)
        return f"{subject} is one of {', '.join(self.examples)}{f' and {more} more values' if more > 0 else ''}"

    def to_json(self) -> dict[str, Any]:
        return {
            "family": "one of",
            "path": None if self.path is None else list(self.path),
            "codes": [f"{code:016x}" for code in self.codes],
            "examples": list(self.examples),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> OneOf:
        path = data["path"]
        codes = tuple(int(code, 16) for code in data["codes"])
        if not codes or not all(0 <= code < 2**64 for code in codes):
            raise ValueError("no codes")
        return cls(None if path is None else path_from_json(path), codes, tuple(map(str, data["examples"])))


def members(codes: Codes, wanted: Codes) -> NDArray[np.bool_]:
    """Which codes are among the wanted ones. Most that are not are told by 16 of their bits, without a search."""
    if len(wanted) <= FEW_VALUES:
        found: NDArray[np.bool_] = codes == wanted[0]
        for code in wanted[1:]:
            found |= codes == code
        return found
    possible = np.zeros(2**16, dtype=np.bool_)
    possible[_sixteen_bits(wanted)] = True
    found = possible[_sixteen_bits(codes)]
    rows = np.flatnonzero(found)
    ordered = np.sort(wanted)
    place = np.minimum(np.searchsorted(ordered, codes[rows]), len(ordered) - 1)
    found[rows] = ordered[place] == codes[rows]
    return found


def _sixteen_bits(codes: Codes) -> NDArray[np.uint64]:
    """Sixteen bits that depend on all of them: the top of the product with 2^64 divided by the golden ratio."""
    mixed: NDArray[np.uint64] = ((codes ^ (codes >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(48)
    return mixed


def codes_of(table: Table, path: Path | None) -> Codes:
    """One code an output."""
    return table.whole() if path is None else table.column(path).codes


def propose(exploration: Exploration, path: Path | None) -> Iterator[Candidate]:
    """The most promising set of values, in either direction."""
    first, second = (codes_of(table, path) for table in exploration.search)
    values, counts = _distinct(exploration, path, first, second)
    repeated = counts > chance_repeats(counts)
    if not repeated.any():
        return
    values, counts = values[repeated], counts[repeated]
    if len(values) > MOST_VALUES:
        values = values[np.argsort(-counts, kind="stable")[:MOST_VALUES]]
    values = np.sort(values)
    hits = tuple(_occurrences(codes, values) for codes in (first, second))
    checked = tuple(_occurrences(codes_of(table, path), values) for table in exploration.rank)
    for forward in (True, False):
        order = by_cautious_ratio(*(hits if forward else hits[::-1]))
        gathered = tuple(np.cumsum(side[order]) for side in checked)
        for index, lead in exploration.best(*gathered, rank=True):
            if lead.forward == forward:
                chosen = order[: index + 1]
                yield Candidate(_one_of(exploration, path, values[chosen], first, second), lead)


def _distinct(exploration: Exploration, path: Path | None, first: Codes, second: Codes) -> tuple[Codes, NDArray[np.int64]]:
    """Each code and how often it occurs on both sides together, in any order.

    Where all outputs are plain numbers, these are in order already and their codes are their bits.
    """
    if path is not None and all(_plain_numbers(table.column(path)) for table in exploration.search):
        ordered = exploration.ordered(Coordinate(path))
        return ordered.pooled.view(np.uint64), ordered.counts
    return np.unique(np.concatenate([first, second]), return_counts=True)


def _plain_numbers(column: Column) -> bool:
    """Whether equal numbers have equal bits here, and nothing else is among them."""
    plain = column.exact is None and bool((column.kinds == Kind.NUMBER).all())
    return plain and not bool((column.codes == NEGATIVE_ZERO).any())


NEGATIVE_ZERO = np.uint64(1 << 63)


def chance_repeats(counts: NDArray[np.int64]) -> int:
    """How often a value may occur by chance alone, where values are as good as continuous; 1 where they are not.

    Where hardly any value repeats, outputs fall into tiny cells, each with a Poisson number of mean a or so; a is twice the
    number of pairs beside that of single outputs, and twice that again where a density peaks. Of n outputs hardly any has k or
    more companions once n a^k / k! is small. Values that repeat for a reason do not enter a.
    """
    total = int(counts.sum())
    if len(counts) <= MOSTLY_DISTINCT * total:
        return 1
    companions = 4 * float((counts == 2).sum()) / max(float((counts == 1).sum()), 1.0)
    expected, most = float(total), 0
    while expected > STRAY and most < MOST_CHANCE:
        most += 1
        expected *= companions / most
    return max(most, 1)


STRAY, MOST_CHANCE = 0.1, 40


def one_value(exploration: Exploration, path: Path, code: int) -> OneOf:
    """The event that a coordinate has the value with this code."""
    first, second = (codes_of(table, path) for table in exploration.search)
    return _one_of(exploration, path, np.array([code], dtype=np.uint64), first, second)


def _one_of(exploration: Exploration, path: Path | None, codes: Codes, first: Codes, second: Codes) -> OneOf:
    examples = tuple(_example(exploration, path, code, first, second) for code in codes[:SHOWN])
    return OneOf(path, tuple(map(int, codes)), examples)


def _example(exploration: Exploration, path: Path | None, code: np.uint64, first: Codes, second: Codes) -> str:
    for codes, table in zip((first, second), exploration.search, strict=True):
        rows = np.flatnonzero(codes == code)
        if len(rows):
            shown = table if path is None else Table(table.size, {(): table.column(path)})
            return shown.example(int(rows[0]))
    return f"{int(code):016x}"


def _occurrences(codes: Codes, values: Codes) -> NDArray[np.int64]:
    found = codes[members(codes, values)]
    return np.bincount(np.searchsorted(values, found), minlength=len(values))
