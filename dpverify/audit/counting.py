"""Counting the events of a question in a block. Of thresholds one inside another only the outermost looks at all outputs.

What is counted does not depend on how: a rare threshold's hits are looked up again for each that implies it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from dpverify.audit import dependence
from dpverify.audit.events import Event, Within
from dpverify.audit.features import Coordinate
from dpverify.audit.grid import before_rounding
from dpverify.audit.table import Path, Table

Counted: TypeAlias = "tuple[int, float, float]"
"""As `dependence.counted` has it."""

RARE = 16
"""One output in so many: from there on looking at the hits alone is quicker than looking at all."""


def counts_of(table: Table, events: Sequence[Event], precise: Sequence[bool], grid: Mapping[Path, float]) -> list[Counted]:
    """How often each event occurs in a block, and how its hits follow each other."""
    rounded = table if all(precise) else table.rounded(grid)
    # what each event says of the block as it is, or the event itself, which looks at rounded outputs
    plain = [event if exact else before_rounding(event, grid, table) for event, exact in zip(events, precise, strict=True)]
    found: dict[int, Counted] = {}
    for outermost, others in _nested(tuple(plain)):
        cover = plain[outermost]
        assert isinstance(cover, Within)
        mask = cover.mask(table)
        found[outermost] = dependence.counted(mask)
        if found[outermost][0] * RARE <= table.size:
            rows = np.flatnonzero(mask)
            values = cover.scalar.values(table)[rows]
            for place in others:
                inner = plain[place]
                assert isinstance(inner, Within)
                hits = (
                    rows[(values > inner.low) & (values <= inner.high)] if inner.low > -math.inf else rows[values <= inner.high]
                )
                found[place] = dependence.counted_at(hits, table.size)
    for place, (event, same) in enumerate(zip(events, plain, strict=True)):
        if place not in found:
            found[place] = dependence.counted(event.mask(rounded) if same is None else same.mask(table))
    return [found[place] for place in range(len(events))]


@lru_cache(maxsize=64)
def _nested(events: tuple[Event | None, ...]) -> list[tuple[int, list[int]]]:
    """Thresholds by their places, each with those that imply it: the widest on either side of each coordinate."""
    intervals = {
        place: event
        for place, event in enumerate(events)
        if isinstance(event, Within) and event.inside and isinstance(event.scalar, Coordinate)
    }
    found = []
    for scalar in dict.fromkeys(event.scalar for event in intervals.values()):
        there = {place: event for place, event in intervals.items() if event.scalar == scalar}
        below = [place for place, one in there.items() if one.low == -math.inf]
        above = [place for place, one in there.items() if one.high == math.inf]
        if below:
            widest = max(below, key=lambda place: there[place].high)
            found.append((widest, [at for at, one in there.items() if at != widest and one.high <= there[widest].high]))
        if above:
            widest = min(above, key=lambda place: there[place].low)
            found.append((widest, [at for at, one in there.items() if at != widest and one.low >= there[widest].low]))
    return [(widest, others) for widest, others in found if others]
