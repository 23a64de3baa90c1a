"""Thresholds on learned scores. The event is `thresholds.Within` of a score; the threshold maximises the forecast bound.

One threshold in either direction is proposed by counts, one by a smooth curve of the odds along the score: a score is an
estimate of just these odds, so that the curve knows the few largest scores far better than their own counts do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dpverify.audit import odds
from dpverify.audit.events.thresholds import FINE_CUTS, Within, at_most, cut_points
from dpverify.audit.exploration import Candidate, Exploration, Lead
from dpverify.audit.ordered import Ordered
from dpverify.audit.scores import Score


def propose(exploration: Exploration, score: Score) -> Iterator[Candidate]:
    """The most promising threshold in either direction, seen on outputs from which the score did not learn."""
    forecast = replace(exploration.forecast, caution=exploration.forecast.ranking_caution)
    exploration = replace(exploration, forecast=forecast)
    ordered = Ordered.of(*(score.values(table) for table in exploration.rank))
    first, second = ordered.first, ordered.second
    if len(ordered.pooled) < 2:
        return
    cuts = cut_points(ordered, FINE_CUTS)
    below, other_below = at_most(first, cuts), at_most(second, cuts)
    for index, lead in exploration.best(
        np.concatenate([below, len(first) - below]), np.concatenate([other_below, len(second) - other_below]), rank=True
    ):
        cut = float(cuts[index % len(cuts)])
        event = Within(score, -math.inf, cut) if index < len(cuts) else Within(score, cut, math.inf)
        yield Candidate(event, lead)
    hits, other_hits = np.diff(below, prepend=0, append=len(first)), np.diff(other_below, prepend=0, append=len(second))
    places = np.append(cuts, ordered.pooled[-1])
    curve = odds.fitted(places, hits, other_hits)
    if curve is None:
        return
    for forward in (True, False):
        for way in (1, -1):
            best, promise = odds.best(
                forecast, curve, places[::way], hits[::way], other_hits[::way], (len(first), len(second)), forward=forward
            )
            cut = float(cuts[::way][best])
            event = Within(score, -math.inf, cut) if way == 1 else Within(score, cut, math.inf)
            yield Candidate(event, Lead(forward, promise, 0, foreseen=promise))
