"""The numbers of two samples in order: what thresholds, intervals and cells are cut from. Sorted once, merged in one pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.table import Floats


@dataclass(frozen=True, slots=True)
class Ordered:
    """Either sample sorted, the distinct values of both, and how often each occurs in the two together."""

    first: Floats
    second: Floats
    pooled: Floats
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, first: Floats, second: Floats) -> Ordered:
        """Of two samples in any order. NaN, which is no number, is left out."""
        first, second = np.sort(numbers(first)), np.sort(numbers(second))
        both = np.concatenate([first, second])
        both.sort(kind="stable")  # a merge of two runs: several times as quick as another sort
        if not len(both):
            return cls(first, second, both, np.zeros(0, dtype=np.int64))
        starts = np.flatnonzero(np.concatenate([[True], both[1:] != both[:-1]]))
        return cls(first, second, both[starts], np.diff(starts, append=len(both)))


def numbers(values: Floats) -> Floats:
    """The values that are numbers."""
    missing = np.isnan(values)
    return values[~missing] if missing.any() else values
