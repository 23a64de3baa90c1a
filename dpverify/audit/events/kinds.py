"""Missing values and mixed types: whether a coordinate is a number, NaN, None, text, a list, or absent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.exploration import Candidate, Exploration
from dpverify.audit.table import Kind, Path, Table, name, path_from_json


@dataclass(frozen=True, slots=True)
class IsKind:
    """The coordinate on `path` is, or (`negated`) is not, of a kind."""

    path: Path
    kind: Kind
    negated: bool = False

    def mask(self, table: Table) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = table.column(self.path).kinds == self.kind
        return ~found if self.negated else found

    def describe(self) -> str:
        words = self.kind.words
        return f"{name(self.path)} {words.replace('is', 'is not', 1) if self.negated else words}"

    def to_json(self) -> dict[str, Any]:
        return {"family": "kind", "path": list(self.path), "kind": self.kind.name.lower(), "negated": self.negated}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> IsKind:
        return cls(path_from_json(data["path"]), Kind[data["kind"].upper()], bool(data["negated"]))


def propose(exploration: Exploration, path: Path) -> Iterator[Candidate]:
    """The most promising kind, in either direction; nothing where all outputs are of one kind."""
    counts = tuple(np.bincount(table.column(path).kinds, minlength=len(Kind)) for table in exploration.search)
    if ((counts[0] + counts[1]) > 0).sum() < 2:
        return
    sizes = tuple(table.size for table in exploration.search)
    hits, other_hits = (np.concatenate([count, size - count]) for count, size in zip(counts, sizes, strict=True))
    for index, lead in exploration.best(hits, other_hits):
        yield Candidate(IsKind(path, Kind(index % len(Kind)), index >= len(Kind)), lead)
