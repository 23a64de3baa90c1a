"""The worst of many pairs: every pair is explored on a few outputs, the promising ones on more, one is left to be audited.

The pair is chosen on outputs that are never counted, and confirmed on fresh ones, so that however many pairs are tried an
audit errs no more often. All scores here are forecasts of a lower bound on epsilon: *heuristic*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from dpverify.audit.callables import Form
from dpverify.audit.calls import Calls, Request
from dpverify.audit.exploration import CAUTION, Forecast
from dpverify.audit.grid import grid_of
from dpverify.audit.search import Picked, pick
from dpverify.audit.table import Path, Table, joined
from dpverify.audit.unchanged import digest_of_input

SEARCH_SHARE = 0.2
"""The part of the budget that is spent on choosing the pair."""

MOST = 100_000
"""Outputs a side and pair of one round, at most."""

FEWEST_TO_PART = 2_000
"""Outputs of a pair below which the same ones propose events and speak for them."""

COUNTING_CAUTION = 1.0
"""Deviations by which counts of events that other outputs proposed are moved against them."""

FIRST_BLOCK = 2**31
"""Blocks from here on belong to the search; no audit numbers so many."""


MOST_ROUNDS = 64
"""Blocks of one pair, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The pair, how many were tried, the outputs a side that this cost, and the bound that is forecast for the pair."""

    pair: tuple[Any, Any]
    tried: int
    spent: int
    promise: float


class Scorer:
    """Draws outputs of a pair and forecasts the bound that an audit of it would show. The same pair, the same outputs.

    Half of the fresh outputs, and all earlier ones, propose events, and the other half counts them: of many events the luckiest
    comes out on top, and its luck must not be taken for promise. Too few outputs are not parted; their forecast is cautious.
    """

    def __init__(
        self, mechanism: Callable[..., Any], form: Form, *, seed: int, delta: float, alpha: float, planned: int, bits: bool
    ) -> None:
        self._mechanism = mechanism
        self._form = form
        self._seed = seed
        self._bits = bits
        self._forecast = Forecast(delta=delta, alpha=alpha / 4, planned=max(planned, 1), ranking_caution=CAUTION)
        self._known: dict[str, tuple[int, list[Table], list[Table]]] = {}
        self.spent = 0
        """Outputs a side that were drawn."""

    def __call__(self, pair: tuple[Any, Any], size: int) -> float:
        """The forecast, on `size` outputs a side in addition to those of earlier calls; never NaN or infinite."""
        key = digest_of_input(pair)
        number, *earlier = self._known.get(key, (0, [], []))
        fresh = self._drawn(pair, key, number, size)
        proposing, counting = _parted(fresh, size // 2 if size >= FEWEST_TO_PART else size)
        seen = joined([*earlier[0], proposing[0]]), joined([*earlier[1], proposing[1]])
        grid = grid_of(seen, {})
        picked = pick(seen, grid=grid, bits=self._bits, forecast=self._forecast)
        self._known[key] = (number + 1) % (MOST_ROUNDS // 2), [*earlier[0], fresh[0]], [*earlier[1], fresh[1]]
        if counting[0].size:
            best = max((self._counted(one, counting, grid) for one in picked), default=0.0)
        else:
            best = max((one.promise for one in picked), default=0.0)
        return min(max(best, -1.0), 1e6) if not math.isnan(best) else -1.0

    def _drawn(self, pair: tuple[Any, Any], key: str, number: int, size: int) -> tuple[Table, Table]:
        calls = Calls(self._mechanism, self._form, pair, self._seed)
        place = FIRST_BLOCK + MOST_ROUNDS * int(key[:6], 16) + 2 * number
        self.spent += size
        first = calls.outputs(Request(side=0, block=place, size=size)).kept()
        return first, calls.outputs(Request(side=1, block=place + 1, size=size)).kept()

    def _counted(self, one: Picked, tables: tuple[Table, Table], grid: dict[Path, float]) -> float:
        """The forecast for an event that other outputs proposed."""
        seen = tables if one.precise else (tables[0].rounded(grid), tables[1].rounded(grid))
        likelier, other = (int(np.count_nonzero(one.event.mask(table))) for table in (seen if one.forward else seen[::-1]))
        forecast = replace(self._forecast, caution=COUNTING_CAUTION)
        return float(forecast(np.array([likelier]), tables[0].size, np.array([other]), tables[1].size)[0])


def _parted(tables: tuple[Table, Table], size: int) -> tuple[tuple[Table, Table], tuple[Table, Table]]:
    first, second = tables
    head, tail = slice(0, size), slice(size, None)
    return (first.taken(head), second.taken(head)), (first.taken(tail), second.taken(tail))


def choose(pairs: Iterable[tuple[Any, Any]], scorer: Scorer, budget: int) -> Chosen:
    """Half of the pairs are dropped in each round, the worse half by forecast; `budget` outputs a side in all, about."""
    left = list(pairs)
    tried = len(left)
    rounds = max(1, math.ceil(math.log2(max(tried, 2))))
    promise = 0.0
    for number in count():
        size = min(max(budget // rounds // len(left), 1), MOST)
        if number and (len(left) == 1 or scorer.spent + size * len(left) > budget):
            break
        scores = [scorer(pair, size) for pair in left]
        order = sorted(range(len(left)), key=lambda place: -scores[place])
        promise = scores[order[0]]
        left = [left[place] for place in order[: max(1, (len(left) + 1) // 2)]]
        if len(left) == 1:
            break
    return Chosen(pair=left[0], tried=tried, spent=scorer.spent, promise=promise)
