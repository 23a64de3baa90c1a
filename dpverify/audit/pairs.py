"""The worst of many pairs: every pair is explored on a few outputs, the promising ones on more, one is left to be audited.

The pair is chosen on outputs that are never counted, and confirmed on fresh ones, so that however many pairs are tried an
audit errs no more often. All scores here are forecasts of a lower bound on epsilon: *heuristic*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from dpverify.audit.callables import Form
from dpverify.audit.calls import Calls, Request
from dpverify.audit.exploration import CAUTION, RANKING_CAUTION, Forecast
from dpverify.audit.grid import grid_of
from dpverify.audit.search import Picked, pick
from dpverify.audit.table import Path, Table
from dpverify.audit.unchanged import digest_of_input

SEARCH_SHARE = 0.2
"""The part of the budget that is spent on choosing the pair."""

MOST = 100_000
"""Outputs a side and pair of one round, at most."""

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


@dataclass(slots=True)
class _Seen:
    """What is known of a pair: the events that its first outputs proposed, and how often they occurred on later ones."""

    picked: list[Picked]
    grid: dict[Path, float]
    number: int = 1
    size: int = 0
    hits: list[list[int]] = field(default_factory=list)


class Scorer:
    """Draws outputs of a pair and forecasts the bound that an audit of it would show. The same pair, the same outputs.

    The first outputs of a pair propose events, and the forecast is cautious: of many events and pairs the luckiest comes out
    on top. Later outputs only count those events, so that luck is not taken for promise twice.
    """

    def __init__(
        self, mechanism: Callable[..., Any], form: Form, *, seed: int, delta: float, alpha: float, planned: int, bits: bool
    ) -> None:
        self._mechanism = mechanism
        self._form = form
        self._seed = seed
        self._bits = bits
        self._forecast = Forecast(delta=delta, alpha=alpha / 4, planned=max(planned, 1), ranking_caution=CAUTION)
        self._known: dict[str, _Seen] = {}
        self.spent = 0
        """Outputs a side that were drawn."""

    def __call__(self, pair: tuple[Any, Any], size: int) -> float:
        """The forecast, on `size` outputs a side in addition to those of earlier calls; never NaN or infinite."""
        key = digest_of_input(pair)
        seen = self._known.get(key)
        tables = self._drawn(pair, key, 0 if seen is None else seen.number, size)
        if seen is None:
            grid = grid_of(tables, {})
            picked = pick(tables, grid=grid, bits=self._bits, forecast=self._forecast)
            self._known[key] = _Seen(picked, grid, hits=[[0, 0] for _ in picked])
            best = max((one.promise for one in picked), default=0.0)
        else:
            best = self._counted(seen, tables)
        return min(max(best, -1.0), 1e6) if not math.isnan(best) else -1.0

    def _drawn(self, pair: tuple[Any, Any], key: str, number: int, size: int) -> tuple[Table, Table]:
        calls = Calls(self._mechanism, self._form, pair, self._seed)
        place = FIRST_BLOCK + MOST_ROUNDS * int(key[:6], 16) + 2 * number
        self.spent += size
        first = calls.outputs(Request(side=0, block=place, size=size)).kept()
        return first, calls.outputs(Request(side=1, block=place + 1, size=size)).kept()

    def _counted(self, seen: _Seen, tables: tuple[Table, Table]) -> float:
        seen.number = (seen.number + 1) % (MOST_ROUNDS // 2)
        seen.size += tables[0].size
        rounded = tables[0].rounded(seen.grid), tables[1].rounded(seen.grid)
        best = 0.0
        for one, hits in zip(seen.picked, seen.hits, strict=True):
            for side, table in enumerate(tables if one.precise else rounded):
                hits[side] += int(np.count_nonzero(one.event.mask(table)))
            likelier, other = hits if one.forward else hits[::-1]
            forecast = replace(self._forecast, caution=RANKING_CAUTION)
            promise = forecast(np.array([likelier]), seen.size, np.array([other]), seen.size)
            best = max(best, float(promise[0]))
        return best


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
