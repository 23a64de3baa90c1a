"""Two coordinates that are equal, or are not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.exploration import Candidate, Exploration
from dpverify.audit.table import Path, Table, name, path_from_json


@dataclass(frozen=True, slots=True)
class Equal:
    """Two coordinates have, or (`negated`) have not, the same value."""

    first: Path
    second: Path
    negated: bool = False

    def mask(self, table: Table) -> NDArray[np.bool_]:
        equal: NDArray[np.bool_] = table.column(self.first).codes == table.column(self.second).codes
        return ~equal if self.negated else equal

    def describe(self) -> str:
        return f"{name(self.first)} {'!=' if self.negated else '=='} {name(self.second)}"

    def to_json(self) -> dict[str, Any]:
        return {"family": "equal", "first": list(self.first), "second": list(self.second), "negated": self.negated}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Equal:
        return cls(path_from_json(data["first"]), path_from_json(data["second"]), bool(data["negated"]))


def propose(exploration: Exploration, first: Path, second: Path) -> Iterator[Candidate]:
    """Equality or its opposite, whichever promises more, in either direction; nothing where it never varies."""
    masks = tuple(Equal(first, second).mask(table) for table in exploration.search)
    counts = tuple(int(mask.sum()) for mask in masks)
    if sum(counts) in (0, sum(len(mask) for mask in masks)):
        return
    hits, other_hits = (np.array([count, len(mask) - count]) for count, mask in zip(counts, masks, strict=True))
    for index, lead in exploration.best(hits, other_hits):
        yield Candidate(Equal(first, second, index == 1), lead)
