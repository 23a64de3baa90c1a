"""The numbers of two samples in order: what thresholds, intervals and cells are cut from. Sorted once, merged in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.table import Floats

T = TypeVar("T", np.int32, np.float64)


@dataclass(frozen=True, slots=True)
class Ordered:
    """Either sample sorted, the distinct values of both, and how often each occurs in the two together."""

    first: Floats
    second: Floats
    pooled: Floats
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, first: Floats, second: Floats, *, spacing: float = 0.0) -> Ordered:
        """Of two samples in any order. NaN, which is no number, is left out. `spacing` as columns have it (`table`)."""
        first, second = numbers(first), numbers(second)
        one, other = _whole(first, spacing), _whole(second, spacing)
        if one is None or other is None:
            first, second = np.sort(first), np.sort(second)
            return cls(first, second, *_merged(first, second))
        one.sort()
        other.sort()
        steps, counts = _merged(one, other)
        return cls(_back(one, spacing), _back(other, spacing), _back(steps, spacing), counts)


def _whole(values: Floats, spacing: float) -> NDArray[np.int32] | None:
    """The values as multiples of a spacing, in integers that are sorted several times as quickly; None where they are none."""
    if not spacing or not len(values) or not max(values.max(), -values.min()) < 2**31 * spacing:
        return None
    steps = values / spacing
    whole = steps.astype(np.int32)
    return whole if bool((whole == steps).all()) else None


def _back(steps: NDArray[np.int32], spacing: float) -> Floats:
    values: Floats = steps * np.float64(spacing)
    return values


def _merged(first: NDArray[T], second: NDArray[T]) -> tuple[NDArray[T], NDArray[np.int64]]:
    """The distinct values of two ordered samples, and how often each occurs."""
    both = np.concatenate([first, second])
    both.sort(kind="stable")  # a merge of two runs: several times as quick as another sort
    if not len(both):
        return both, np.zeros(0, dtype=np.int64)
    starts = np.flatnonzero(np.concatenate([[True], both[1:] != both[:-1]]))
    return both[starts], np.diff(starts, append=len(both))


def numbers(values: Floats) -> Floats:
    """The values that are numbers."""
    missing = np.isnan(values)
    return values[~missing] if missing.any() else values
