"""Several intervals of one scalar at once: what a likelihood ratio that goes up and down leaves above a level.

A scalar is cut into cells; the cells with the largest estimated likelihood ratio are joined, cut where the forecast bound is
largest. It is the learned score of one variable, compiled to intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.events.thresholds import at_most, cut_points, plain, plain_cut
from dpverify.audit.exploration import Candidate, Exploration, by_cautious_ratio
from dpverify.audit.features import Scalar, scalar_from_json
from dpverify.audit.table import Table

CELLS = 96
FEW = 32
"""Intervals up to which comparing is quicker than searching."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """low < scalar <= high for one of several intervals that do not meet, in rising order."""

    scalar: Scalar
    intervals: tuple[tuple[float, float], ...]

    def mask(self, table: Table) -> NDArray[np.bool_]:
        values = self.scalar.values(table)
        if len(self.intervals) > FEW:
            ends = np.array([end for interval in self.intervals for end in interval])
            odd: NDArray[np.bool_] = (np.searchsorted(ends, values, side="left") % 2 == 1) & ~np.isnan(values)
            return odd | (values == -math.inf) if ends[0] == -math.inf else odd
        found = np.zeros(len(values), dtype=np.bool_)
        for low, high in self.intervals:
            there = values <= high
            if low > -math.inf:
                there &= values > low
            found |= there
        return found

    def describe(self) -> str:
        subject = self.scalar.describe()
        said = []
        for low, high in self.intervals[:SHOWN]:
            if low == -math.inf:
                said.append(f"{subject} <= {plain(high)}")
            elif high == math.inf:
                said.append(f"{subject} > {plain(low)}")
            else:
                said.append(f"{plain(low)} < {subject} <= {plain(high)}")
        more = len(self.intervals) - SHOWN
        return " or ".join(said) + (f" or in one of {more} more intervals" if more > 0 else "")

    def to_json(self) -> dict[str, Any]:
        ends = [[None if math.isinf(end) else end for end in interval] for interval in self.intervals]
        return {"family": "pieces", "of": self.scalar.to_json(), "intervals": ends}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Pieces:
        intervals = tuple(
            (-math.inf if low is None else float(low), math.inf if high is None else float(high))
            for low, high in data["intervals"]
        )
        ends = [end for interval in intervals for end in interval]
        if not ends or not all(one < other for one, other in pairwise(ends)):
            raise ValueError("intervals rise and do not meet")
        return cls(scalar_from_json(data["of"]), intervals)


SHOWN = 4


def propose(exploration: Exploration, scalar: Scalar) -> Iterator[Candidate]:
    """The most promising union of cells, in either direction; nothing where it is a single interval or all but one."""
    ordered = exploration.ordered(scalar)
    if len(ordered.pooled) < 4:
        return
    cuts = cut_points(ordered, CELLS)
    cuts = cuts[np.isfinite(cuts)]
    edges = np.concatenate([[-math.inf], cuts, [math.inf]])
    hits = tuple(np.diff(at_most(side, cuts), prepend=0, append=len(side)) for side in (ordered.first, ordered.second))
    checked = tuple(_in_cells(scalar.values(table), cuts) for table in exploration.rank)
    for forward in (True, False):
        order = by_cautious_ratio(*(hits if forward else hits[::-1]))
        gathered = tuple(np.cumsum(side[order]) for side in checked)
        for index, lead in exploration.best(*gathered, rank=True):
            if lead.forward == forward:
                intervals = _joined(np.sort(order[: index + 1]), edges)
                ends = intervals[0][0] == -math.inf, intervals[-1][1] == math.inf
                if len(intervals) > 2 or (len(intervals) == 2 and not all(ends)):
                    said = tuple((plain_cut(low, ordered.pooled), plain_cut(high, ordered.pooled)) for low, high in intervals)
                    yield Candidate(Pieces(scalar, said), lead)


def _in_cells(values: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many values lie between neighbouring cuts."""
    values = np.ascontiguousarray(values)
    below = [np.count_nonzero(values <= cut) for cut in cuts]
    return np.diff(below, prepend=0, append=len(values) - np.count_nonzero(np.isnan(values)))


def _joined(cells: NDArray[np.int64], edges: NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    """The cells as intervals, neighbours in one."""
    starts = np.flatnonzero(np.diff(cells, prepend=-2) > 1)
    stops = np.append(starts[1:], len(cells)) - 1
    return tuple((float(edges[cells[start]]), float(edges[cells[stop] + 1])) for start, stop in zip(starts, stops, strict=True))
