"""Thresholds among the outermost outputs of a scalar, where counts are small and a curve through their neighbours says more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpverify.audit import odds
from dpverify.audit.events.thresholds import Within, at_most, plain_cut
from dpverify.audit.exploration import Candidate, Exploration, Lead
from dpverify.audit.features import Scalar
from dpverify.audit.table import Floats

OUTERMOST = 5_000
"""Outputs of either side through which the curve is drawn, at most; and no more than a fifth of them all."""

FEWEST = 100
INNERMOST_RANK = 6
STEP = 1.2
"""Ranks are binned between powers of it."""

SPARSE, SPARE = 32, 2
"""Every so many values guess where to cut, so that about so many times as many as are wanted lie beyond."""


@dataclass(frozen=True, slots=True)
class Tail:
    """Cuts from the outside in, the outputs of either side between each and the one before, and the distinct values there."""

    cuts: Floats
    hits: NDArray[np.int64]
    other_hits: NDArray[np.int64]
    pooled: Floats


def propose(exploration: Exploration, scalar: Scalar) -> Iterator[Candidate]:
    """The most promising threshold among the outermost outputs, from either end and in either direction."""
    sides = [scalar.values(table) for table in exploration.whole or exploration.search]
    first, second = map(_finite, sides)
    most = min(OUTERMOST, min(len(first), len(second)) // 5)
    if most < FEWEST:
        return
    for upper, outermost, other_outermost in zip((False, True), _ends(first, most), _ends(second, most), strict=True):
        tail = _tail(outermost, other_outermost, upper)
        if tail is None:
            continue
        inward = np.cumsum(tail.hits + tail.other_hits)
        places = np.log(inward - (tail.hits + tail.other_hits) / 2)
        curve = odds.fitted(places, tail.hits, tail.other_hits)
        if curve is None:
            continue
        for forward in (True, False):
            best, promise = odds.best(
                exploration.forecast, curve, places, tail.hits, tail.other_hits, (len(first), len(second)), forward=forward
            )
            cut = plain_cut(float(tail.cuts[best]), tail.pooled)
            event = Within(scalar, cut, math.inf) if upper else Within(scalar, -math.inf, cut)
            yield Candidate(event, Lead(forward, promise, 0, foreseen=promise))


def _finite(values: Floats) -> Floats:
    finite = np.isfinite(values)
    return values if finite.all() else values[finite]


def _ends(values: Floats, most: int) -> tuple[Floats, Floats]:
    """The smallest and the largest, in order."""
    sample = np.sort(values[::SPARSE])
    place = SPARE * most // SPARSE
    if place < len(sample):  # cuts that leave a few more than are wanted, which is quicker than to part them all
        few, many = values[values <= sample[place]], values[values >= sample[-1 - place]]
        if min(len(few), len(many)) >= most:
            return np.sort(few)[:most], np.sort(many)[len(many) - most :]
    parted = np.partition(values, (most - 1, len(values) - most))
    return np.sort(parted[:most]), np.sort(parted[len(values) - most :])


def _tail(first: Floats, second: Floats, upper: bool) -> Tail | None:
    """The outermost outputs at one end, given in order; None where too few are different."""
    # beyond the inner end of either sample the other one is not known
    end = max(first[0], second[0]) if upper else min(first[-1], second[-1])
    first, second = ((one[one >= end] if upper else one[one <= end]) for one in (first, second))
    pooled, counts = np.unique(np.concatenate([first, second]), return_counts=True)
    if len(pooled) < FEWEST // 2:
        return None
    inward = counts[::-1].cumsum() if upper else counts.cumsum()
    ranks = np.geomspace(INNERMOST_RANK, inward[-1], max(int(math.log(inward[-1] / INNERMOST_RANK) / math.log(STEP)), 2))
    places = np.unique(np.searchsorted(inward, ranks.astype(np.int64)))
    places = places[places < len(pooled) - 1]
    # above, `value > cut` is the event, and the cut is the next value inwards
    cuts = pooled[len(pooled) - 2 - places] if upper else pooled[places]
    hits, other_hits = (len(one) - at_most(one, cuts) if upper else at_most(one, cuts) for one in (first, second))
    return Tail(cuts, np.diff(hits, prepend=0), np.diff(other_hits, prepend=0), pooled)
