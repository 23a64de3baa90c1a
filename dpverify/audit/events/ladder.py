"""Thresholds on a scalar of few values, of counts say: a curve through all of them tells which is worth most, where the
outermost are too rare to speak for themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpverify.audit import odds
from dpverify.audit.events.thresholds import Within
from dpverify.audit.exploration import Candidate, Exploration, Lead
from dpverify.audit.features import Scalar

MOST_VALUES = 200
FEWEST_VALUES = 7

SCREENED = 1_000
"""Outputs among which there may be no more values than that, before all are sorted."""


def propose(exploration: Exploration, scalar: Scalar) -> Iterator[Candidate]:
    """The most promising threshold from either end and in either direction, by what the curve foresees."""
    sides = [scalar.values(table) for table in exploration.whole or exploration.search]
    few = np.concatenate([values[:SCREENED] for values in sides])
    if not FEWEST_VALUES <= len(np.unique(few[np.isfinite(few)])) <= MOST_VALUES:
        return
    first, second = (np.unique(values[np.isfinite(values)], return_counts=True) for values in sides)
    steps = np.union1d(first[0], second[0])
    if len(steps) > MOST_VALUES:
        return
    hits, other_hits = np.zeros((2, len(steps)), dtype=np.int64)
    hits[np.searchsorted(steps, first[0])] = first[1]
    other_hits[np.searchsorted(steps, second[0])] = second[1]
    curve = odds.fitted(steps, hits, other_hits)
    if curve is None:
        return
    sizes = len(sides[0]), len(sides[1])
    for way in (1, -1):
        for forward in (True, False):
            inward = steps[::way], hits[::way], other_hits[::way]
            best, promise = odds.best(exploration.forecast, curve, *inward, sizes, forward=forward)
            upper = way < 0
            cut = float(inward[0][best + 1] if upper else inward[0][best])
            event = Within(scalar, cut, math.inf) if upper else Within(scalar, -math.inf, cut)
            yield Candidate(event, Lead(forward, promise, 0, foreseen=promise))
