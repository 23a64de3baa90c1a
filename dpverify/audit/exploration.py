"""What a search looks at: exploration samples in two halves, and a forecast of what an event would show when confirmed.

One half proposes, the other half ranks, so that the best of ten thousand events is not the luckiest of them. Everything here
is a heuristic: a poor forecast costs power and never soundness, because what is picked is tested on fresh outputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.features import spacing_of
from dpverify.audit.ordered import Ordered
from dpverify.audit.statistics.events import approximate_epsilon_lower
from dpverify.audit.table import Floats, Table

if TYPE_CHECKING:
    from dpverify.audit.events import Event
    from dpverify.audit.features import Scalar

Pair: TypeAlias = "tuple[Table, Table]"
"""Outputs of the first input and of the second."""


CAUTION = 2.0
"""Deviations by which counts are moved against an event: of a thousand that were tried, the luckiest looks three better."""

RANKING_CAUTION = 1.5
"""The same where few events are compared, on outputs that did not propose them."""

BOLDNESS = 0.5
"""The same for a second opinion: what is rare and strong is worth a small share of the error, though it may be luck."""

MANY_HITS = 200
"""Hits from which on most of the wariness is gone."""

LITTLE_CAUTION, LITTLE_RANKING_CAUTION = 1.6, 1.0
"""The first two where outputs are single numbers: neighbouring thresholds share their luck."""


LEADING = 192
"""Of many events that are compared, those whose forecast is refined."""

LEAST_EPSILON = 1e-3
"""Points of a curve below it are compared as if they lay here: any part of nothing is infinite."""


@dataclass(frozen=True, slots=True)
class Lead:
    """Why an event is worth a look: the side on which it should be likelier (`forward`: the first), the bound that is forecast,
    and, where it never occurred on the other side, how often it did on this one (`unmatched`). `error` is the standard
    deviation of the log ratio that the promise rests on, once it has been ranked, and `hope` is the promise with hardly any
    caution. `foreseen` is a promise that rests on more than the event's own counts."""

    forward: bool
    promise: float
    unmatched: int
    error: float = 0.0
    hope: float = -math.inf
    foreseen: float = -math.inf


@dataclass(frozen=True, slots=True)
class Candidate:
    """An event and its lead."""

    event: Event
    lead: Lead


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The lower bound on epsilon that an event may be expected to show on `planned` outputs a side, at level alpha.

    With the `points` of a curve: the largest part of the claimed epsilon of any point that it may be expected to show.
    """

    delta: float
    alpha: float
    planned: int
    points: tuple[tuple[float, float], ...] = ()
    caution: float = CAUTION
    ranking_caution: float = RANKING_CAUTION
    wariness: float = 0.0

    def __call__(
        self, hits: NDArray[Any], draws: int | NDArray[Any], other_hits: NDArray[Any], other_draws: int | NDArray[Any]
    ) -> Floats:
        """Counts are moved `caution` standard deviations against the event first: a count of 3 may well have been 1. With
        `wariness`, rare events by so many more: the luck of the luckiest is large where counts are small."""
        hits, other_hits = np.asarray(hits, dtype=np.float64), np.asarray(other_hits, dtype=np.float64)
        caution = self.caution + self.wariness / (1 + hits / MANY_HITS)
        low = np.maximum(hits - caution * np.sqrt(hits * (1 - hits / draws)), 0.0)
        high = other_hits + caution * np.sqrt((other_hits + 1) * np.maximum(1 - other_hits / other_draws, 0.0))
        return self.of_rates(low / draws, np.minimum(high / other_draws, 1.0))

    def of_rates(self, rate: Floats, other_rate: Floats) -> Floats:
        """The same where the probabilities of the event on either side are taken as known."""
        if not self.points:
            return self._bound(rate, other_rate, self.delta)
        parts: Floats = np.max([self._part(rate, other_rate, point) for point in self.points], axis=0)
        return parts

    def point_for(self, hits: int, draws: int, other_hits: int, other_draws: int) -> tuple[float, float] | None:
        """The point of the curve at which an event with these counts should be tested; None where the claim is one point."""
        if not self.points:
            return None
        rates = np.array([hits / draws]), np.array([other_hits / other_draws])
        return max(self.points, key=lambda point: float(self._part(*rates, point)[0]))

    def _part(self, rate: Floats, other_rate: Floats, point: tuple[float, float]) -> Floats:
        return self._bound(rate, other_rate, point[1]) / max(point[0], LEAST_EPSILON)

    def _bound(self, rate: Floats, other_rate: Floats, delta: float) -> Floats:
        planned = self.planned
        bound: Floats = approximate_epsilon_lower(
            hits=rate * planned,
            draws=planned,
            other_hits=other_rate * planned,
            other_draws=planned,
            delta=delta,
            alpha=self.alpha,
            design="fixed",
            leading=LEADING,
        )
        return bound


def by_cautious_ratio(more: NDArray[Any], less: NDArray[Any]) -> NDArray[np.intp]:
    """The order of cells by likelihood ratio, largest first; a cell seen 2 times against 0 says less than 900 against 300."""
    cautious = (more - np.sqrt(more)) / (less + np.sqrt(less + 1.0))
    return np.lexsort((-more, -cautious))


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """Two halves of the exploration sample, seen at one precision, and the forecast.

    `whole`, where given, is all of it: what ranks events that can hardly be fitted to the half that proposed them.
    """

    search: Pair
    rank: Pair
    forecast: Forecast
    whole: Pair | None = None
    _last: list[tuple[Scalar, Ordered]] = field(default_factory=list, compare=False, repr=False)

    def ordered(self, scalar: Scalar) -> Ordered:
        """The numbers of the proposing half in order. The last one asked for is remembered: families follow on it."""
        if not self._last or self._last[0][0] != scalar:
            first, second = (scalar.values(table) for table in self.search)
            spacing = min(spacing_of(scalar, table) for table in self.search)
            self._last[:] = [(scalar, Ordered.of(first, second, spacing=spacing))]
        return self._last[0][1]

    def best(
        self, hits: NDArray[Any], other_hits: NDArray[Any], *, keep: int = 1, rank: bool = False
    ) -> Iterator[tuple[int, Lead]]:
        """The most promising of many events, given how often each occurred on either side: their places and leads.

        In either direction the best by forecast, and the most frequent of those that never occur on the other side: what one
        input cannot give is the strongest witness of all, and too rare for a cautious forecast.
        """
        sizes = tuple(table.size for table in (self.rank if rank else self.search))
        for forward in (True, False):
            more, less = (hits, other_hits) if forward else (other_hits, hits)
            draws, other_draws = sizes if forward else sizes[::-1]
            promise = self.forecast(more, draws, less, other_draws)
            unmatched = np.where(np.asarray(less) == 0, more, 0)
            chosen = [*np.argsort(-promise, kind="stable")[:keep], int(np.argmax(unmatched))]
            for place in dict.fromkeys(map(int, chosen)):
                yield place, Lead(forward, float(promise[place]), int(unmatched[place]))
