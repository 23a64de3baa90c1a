"""Thresholds, intervals and what lies outside of an interval, on any scalar."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.exploration import Candidate, Exploration
from dpverify.audit.features import Coordinate, Scalar, scalar_from_json
from dpverify.audit.ordered import Ordered
from dpverify.audit.table import Floats, Table
from dpverify.audit.texts import is_character

FINE_CUTS = 512
COARSE_CUTS = 40


@dataclass(frozen=True, slots=True)
class Within:
    """low < scalar <= high, or the numbers outside of that (`inside` False). An output without the scalar is in neither."""

    scalar: Scalar
    low: float
    high: float
    inside: bool = True

    def mask(self, table: Table) -> NDArray[np.bool_]:
        values = self.scalar.values(table)
        if not self.inside:
            found: NDArray[np.bool_] = values <= self.low
            found |= values > self.high
            return found
        if self.low == -math.inf:
            return values <= self.high
        if self.high == math.inf:
            return values > self.low
        found = values > self.low
        found &= values <= self.high
        return found

    def describe(self) -> str:
        subject = self.scalar.describe()
        low, high = (_said(self.scalar, cut) for cut in (self.low, self.high))
        if not self.inside:
            return f"{subject} <= {low} or > {high}"
        if self.low == -math.inf:
            return f"{subject} <= {high}"
        if self.high == math.inf:
            return f"{subject} > {low}"
        return f"{low} < {subject} <= {high}"

    def to_json(self) -> dict[str, Any]:
        return {
            "family": "within",
            "of": self.scalar.to_json(),
            "low": None if self.low == -math.inf else self.low,
            "high": None if self.high == math.inf else self.high,
            "inside": self.inside,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Within:
        low, high = data["low"], data["high"]
        return cls(
            scalar_from_json(data["of"]),
            -math.inf if low is None else float(low),
            math.inf if high is None else float(high),
            bool(data["inside"]),
        )


def _said(scalar: Scalar, cut: float) -> str:
    """A cut; of a code point with the character."""
    is_point = isinstance(scalar, Coordinate) and is_character(scalar.path) and 0 <= cut < 0x110000
    return f"{plain(cut)} ({chr(int(cut))!r})" if is_point else plain(cut)


def plain(number: float) -> str:
    """A number as a reader writes it."""
    return repr(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def propose(exploration: Exploration, scalar: Scalar) -> Iterator[Candidate]:
    """The most promising threshold, interval and outer interval on one scalar, in either direction."""
    ordered = exploration.ordered(scalar)
    first, second, pooled = ordered.first, ordered.second, ordered.pooled
    if len(pooled) < 2:
        return
    cuts = cut_points(ordered, FINE_CUTS)
    below, other_below = at_most(first, cuts), at_most(second, cuts)
    for index, lead in exploration.best(
        np.concatenate([below, len(first) - below]), np.concatenate([other_below, len(second) - other_below]), keep=3
    ):
        cut = plain_cut(cuts[index % len(cuts)], pooled)
        event = Within(scalar, -math.inf, cut) if index < len(cuts) else Within(scalar, cut, math.inf)
        yield Candidate(event, lead)

    cuts = cut_points(ordered, COARSE_CUTS)
    low, high = np.triu_indices(len(cuts), k=1)
    if not len(low):
        return
    below, other_below = at_most(first, cuts), at_most(second, cuts)
    hits, other_hits = below[high] - below[low], other_below[high] - other_below[low]
    for inside in (True, False):
        for index, lead in exploration.best(
            hits if inside else len(first) - hits, other_hits if inside else len(second) - other_hits
        ):
            below_it, above_it = (plain_cut(cuts[end[index]], pooled) for end in (low, high))
            yield Candidate(Within(scalar, below_it, above_it, inside), lead)


def cut_points(ordered: Ordered, count: int) -> Floats:
    """Places to cut, all of them sampled values: every value where there are few; else evenly by rank, denser in the tails."""
    pooled = ordered.pooled
    if len(pooled) <= count:
        return pooled[:-1]
    cuts = []
    for values in (ordered.first, ordered.second):
        if len(values):
            tail = np.unique(np.geomspace(1, max(len(values) // 2, 1), max(count // 16, 6)).astype(np.int64)) - 1
            cuts += [values[tail], values[len(values) - 1 - tail]]
    evenly = np.linspace(0, len(pooled) - 2, max(count // 2, 6)).astype(np.int64)
    return np.unique(np.concatenate([*cuts, pooled[evenly]]))


def plain_cut(cut: float, pooled: Floats) -> float:
    """The shortest decimal that separates the sampled values as `cut` does: at least `cut`, and below the next one."""
    place = int(np.searchsorted(pooled, cut, side="right"))
    following = float(pooled[place]) if place < len(pooled) else math.inf
    cut = float(cut)
    if not math.isfinite(cut):
        return cut
    for digits in range(-3, 17):
        short = round(cut, digits)
        if cut <= short < following:
            return short
    return cut


def at_most(ordered: Floats, cuts: Floats) -> NDArray[np.int64]:
    """How many values do not exceed each cut."""
    return np.searchsorted(ordered, cuts, side="right")
