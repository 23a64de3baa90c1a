"""What is among the items of an output, wherever it stands: sets, and lists of no fixed length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.events.atoms import chance_repeats
from dpverify.audit.exploration import Candidate, Exploration
from dpverify.audit.table import Codes, Kind, Path, Table, name, path_from_json, text_of_cell

MOST_VALUES = 64
"""Values that are looked for in every output, at most: those whose numbers differ most between the sides."""


@dataclass(frozen=True, slots=True)
class Holds:
    """A value, given by its code, is, or (`negated`) is not, among the items at `path`; an output without items has none."""

    path: Path
    code: int
    example: str = field(compare=False)
    negated: bool = False

    def mask(self, table: Table) -> NDArray[np.bool_]:
        found = np.zeros(table.size, dtype=bool)
        for item in items_of(table, self.path):
            column = table.columns[item]
            found |= (column.codes == np.uint64(self.code)) & (column.kinds != Kind.ABSENT)
        return ~found if self.negated else found

    def describe(self) -> str:
        return f"{self.example} is {'not ' if self.negated else ''}among the items of {name(self.path)}"

    def to_json(self) -> dict[str, Any]:
        return {
            "family": "holds",
            "path": list(self.path),
            "code": f"{self.code:016x}",
            "example": self.example,
            "negated": self.negated,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Holds:
        code = int(data["code"], 16)
        if not 0 <= code < 2**64:
            raise ValueError("no code")
        return cls(path_from_json(data["path"]), code, str(data["example"]), bool(data["negated"]))


def items_of(table: Table, path: Path) -> list[Path]:
    """The coordinates that are items, by their place, of what is at `path`."""
    return [item for item in table.columns if len(item) == len(path) + 1 and item[:-1] == path and isinstance(item[-1], int)]


def containers(paths: list[Path]) -> list[Path]:
    """Where items with places are."""
    return list(dict.fromkeys(path[:-1] for path in paths if path and isinstance(path[-1], int)))


def propose(exploration: Exploration, path: Path) -> Iterator[Candidate]:
    """The value whose presence, or absence, promises most, in either direction; nothing where all outputs have as many items:
    there each place has its own events."""
    sides = [_codes(table, path) for table in exploration.search]
    if all(there.all() for _, there in sides):
        return
    found = [np.unique(codes[there], return_counts=True) for codes, there in sides]
    values = np.unique(np.concatenate([one[0] for one in found]))
    counts = np.zeros((2, len(values)), dtype=np.int64)
    for side, (one, number) in enumerate(found):
        counts[side, np.searchsorted(values, one)] = number
    repeated = counts.sum(axis=0) > chance_repeats(counts.sum(axis=0))
    values, counts = values[repeated], counts[:, repeated]
    rates = counts / np.maximum([[table.size] for table in exploration.search], 1)
    foremost = np.argsort(-np.abs(rates[0] - rates[1]) / np.sqrt(rates.sum(axis=0)), kind="stable")[:MOST_VALUES]
    hits = [np.array([_holding(codes, there, values[one]) for one in foremost], dtype=np.int64) for codes, there in sides]
    sizes = [table.size for table in exploration.search]
    if not len(foremost):
        return
    for index, lead in exploration.best(*(np.concatenate([hit, size - hit]) for hit, size in zip(hits, sizes, strict=True))):
        code = values[foremost[index % len(foremost)]]
        yield Candidate(Holds(path, int(code), _example(exploration, path, code), index >= len(foremost)), lead)


def _codes(table: Table, path: Path) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """The code of each item of each output, and which places are filled."""
    columns = [table.columns[item] for item in items_of(table, path)]
    if not columns:
        return np.zeros((table.size, 0), dtype=np.uint64), np.zeros((table.size, 1), dtype=bool)[:, :0]
    return np.stack([one.codes for one in columns], axis=1), np.stack([one.kinds != Kind.ABSENT for one in columns], axis=1)


def _holding(codes: Codes, there: NDArray[np.bool_], value: np.uint64) -> int:
    return int(((codes == value) & there).any(axis=1).sum()) if codes.shape[1] else 0


def _example(exploration: Exploration, path: Path, code: np.uint64) -> str:
    for table in exploration.search:
        for item in items_of(table, path):
            column = table.columns[item]
            rows = np.flatnonzero((column.codes == code) & (column.kinds != Kind.ABSENT))
            if len(rows):
                return text_of_cell(column, int(rows[0]))
    return "a value"
