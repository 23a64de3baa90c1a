"""The worst of many pairs: every pair is looked at on a few outputs, the promising half on more, until one is left.

The pair is chosen on outputs that its audit does not count, so that however many pairs are tried an audit errs no more often.
All scores here are forecasts of a lower bound on epsilon: *heuristic*. What is bet on the way (`wagers`) is no heuristic.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpverify.audit.exploration import Forecast, Pair
from dpverify.audit.grid import grid_of
from dpverify.audit.records import Record, leader
from dpverify.audit.search import Picked, pick
from dpverify.audit.stock import Stock
from dpverify.audit.table import Path, Table
from dpverify.audit.unchanged import digest_of_input, same
from dpverify.audit.wagers import Wagers, rounds_for

SEARCH_SHARE = 0.3
"""The part of the budget that is spent on choosing the pair, at most."""

COUNTING_CAUTION = 1.0
"""Deviations by which counts are moved against an event where few events are tried, or other outputs proposed it: with more,
frequent events of little worth win over rare ones of more."""

SCREENED, FEW_VALUES = 1_000, 200
"""Where so many outputs have no more values on a coordinate, few events are tried."""

Numbers = tuple[int, int]
"""A pair of datasets, by their numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The pair, how many were tried, and the outputs a side that this cost.

    `explored`: outputs of the pair, which its audit may look for events in. `records`: tests of all pairs together, and
    `suspected` the event that has already refuted the claim where one of them rejects.
    """

    pair: Numbers
    tried: int
    spent: int
    explored: Pair | None = None
    records: tuple[Record, ...] = ()
    suspected: Picked | None = None

    def told(self) -> str | None:
        """A sentence on what was done; None where there was nothing to choose."""
        if not self.spent:
            return None
        which = "that promised most" if self.suspected is None else "on which bets against the claim won most"
        return (
            f"{self.tried} {'pair of datasets was' if self.tried == 1 else 'pairs of datasets were'} tried on {self.spent:,} "
            f"outputs a side; the one {which} was audited on fresh outputs."
        )

    def to_json(self, datasets: list[str]) -> dict[str, Any] | None:
        """The same for evidence, with the datasets that its bets speak of."""
        if not self.spent:
            return None
        named = sorted({number for record in self.records for bet in record.bets for number in bet.pair or ()})
        return {
            "tried": self.tried,
            "outputs": self.spent,
            "datasets": {str(number): datasets[number] for number in named},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The events that some outputs of a pair propose, the grid to which outputs are rounded for those that do not look at
    bits, and the best forecast."""

    picked: tuple[Picked, ...]
    grid: dict[Path, float]
    promise: float

    def hits(self, table: Table) -> list[int]:
        """How often each event occurs."""
        rounded = table.rounded(self.grid)
        return [int(np.count_nonzero(one.event.mask(table if one.precise else rounded))) for one in self.picked]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Says what an audit of a pair would show, by the outputs that propose events and by fresh ones.

    The first forecast is the more cautious one, since of many events the luckiest comes out on top. Of equally many outputs it
    tells pairs apart twice as well as if half of them proposed and half counted, as the best event is seen by more of them.
    Where numbers are all different, so many events are tried that luck would decide without more caution.
    """

    forecast: Forecast
    bits: bool

    def proposed(self, tables: Pair) -> Proposal:
        """What these outputs propose."""
        grid = grid_of(tables, {})
        forecast = self.forecast if _varied(tables) else replace(self.forecast, ranking_caution=COUNTING_CAUTION)
        picked = pick(tables, grid=grid, bits=self.bits, forecast=forecast, whole=True)
        return Proposal(picked=tuple(picked), grid=grid, promise=_best([one.promise for one in picked]))

    def promise(self, picked: Sequence[Picked], hits: Sequence[tuple[int, int]], sizes: tuple[int, int]) -> float:
        """The best forecast of these events by outputs that did not propose them."""
        forecast = replace(self.forecast, caution=COUNTING_CAUTION)
        found = []
        for one, both in zip(picked, hits, strict=True):
            (hit, size), (other, other_size) = list(zip(both, sizes, strict=True))[:: 1 if one.forward else -1]
            found.append(float(forecast(np.array([hit]), size, np.array([other]), other_size)[0]))
        return _best(found)


def _varied(tables: Pair) -> bool:
    """Whether some coordinate takes many values."""
    return any(len(np.unique(column.codes[:SCREENED])) > FEW_VALUES for table in tables for column in table.columns.values())


def _best(promises: Sequence[float]) -> float:
    """The largest, between -1 and 10^6."""
    return min(max([-1.0, *(promise for promise in promises if not math.isnan(promise))]), 1e6)


@dataclass(slots=True)
class Tournament:
    """Half of the pairs are dropped in each round, the worse half by forecast. `hands`: pairs that are looked at together."""

    stock: Stock
    judge: Judge
    pairs: Sequence[Numbers]
    wagers: Wagers | None = None
    hands: int = 1

    def chosen(self, budget: int) -> Chosen:
        """The worst pair, on `budget` outputs a side at most, counting all outputs of all datasets and halving the sum."""
        left = list(self.pairs)
        rounds = rounds_for(len(left)) if len(left) > 1 else 0
        proposed: dict[Numbers, Proposal] = {}
        promise = dict.fromkeys(left, 0.0)
        for number in range(rounds):
            counted = self._draw(self._wanted(left, 2 * budget // rounds), proposed)
            if number + 1 < rounds:
                proposed = dict(zip(left, self._proposals(left), strict=True))
                promise = {pair: one.promise for pair, one in proposed.items()}
            else:
                promise = {pair: (promise[pair] + counted[pair]) / 2 for pair in left}
            left = sorted(left, key=lambda pair: -promise[pair])[: max((len(left) + 1) // 2, min(rounds - number, 2))]
            if self.wagers is not None and (won := self.wagers.won()) is not None:
                return self._refuted(won)
            proposed = {pair: one for pair, one in proposed.items() if pair in left}
            self.stock.forget({dataset for pair in self.pairs for dataset in pair} - {end for pair in left for end in pair})
        return Chosen(
            pair=left[0],
            tried=len(self.pairs),
            spent=-(-self.stock.drawn // 2),
            explored=self._explored(left[0]) if rounds else None,
            records=() if self.wagers is None else tuple(self.wagers.records()),
        )

    def _proposals(self, pairs: Sequence[Numbers]) -> list[Proposal]:
        """What the outputs so far propose of each pair, in threads. No two of these share a table, and none grows trees, for
        which a setting of the whole process is changed."""
        explored = [self._explored(pair) for pair in pairs]

        def proposed(both: Pair) -> Proposal:
            return self.judge.proposed((both[0].apart(), both[1].apart()))

        threads = min(self.hands, os.cpu_count() or 1, len(pairs))
        if threads == 1:
            return [proposed(both) for both in explored]
        pool = ThreadPoolExecutor(threads)
        try:
            return list(pool.map(proposed, explored))
        finally:
            pool.shutdown(cancel_futures=True)

    def _wanted(self, left: Sequence[Numbers], outputs: int) -> dict[int, int]:
        """So many outputs over all datasets: of one that belongs to m pairs, m^(1/2) times as many as of one that has one."""
        weights = _weights(left)
        total = sum(weights.values())
        return {number: max(int(outputs * weight / total), 1) for number, weight in weights.items()}

    def _draw(self, wanted: dict[int, int], proposed: dict[Numbers, Proposal]) -> dict[Numbers, float]:
        """Fresh outputs: what they promise of the events that earlier ones proposed, on which bets are laid as well."""
        hits = {pair: [[0, 0] for _ in one.picked] for pair, one in proposed.items()}
        sizes = dict.fromkeys(wanted, 0)
        for number, table in self.stock.fresh(wanted):
            sizes[number] += table.size
            for pair, one in proposed.items():
                for side in (side for side, of in enumerate(pair) if of == number):
                    for count, found in zip(hits[pair], one.hits(table), strict=True):
                        count[side] += found
        promise = {}
        for pair, one in proposed.items():
            both = sizes[pair[0]], sizes[pair[1]]
            counts = [(first, second) for first, second in hits[pair]]
            promise[pair] = self.judge.promise(one.picked, counts, both)
            if self.wagers is not None:
                self.wagers.lay(pair, len(proposed), one.picked, both, counts)
        return promise

    def _explored(self, pair: Numbers) -> Pair:
        return self.stock.kept(pair[0]), self.stock.kept(pair[1])

    def _refuted(self, record: Record) -> Chosen:
        """The bets have refuted the claim: the pair and the event that won most of it are what is left to be audited."""
        foremost = leader(record.bets)
        assert foremost.pair is not None
        assert self.wagers is not None
        return Chosen(
            pair=foremost.pair,
            tried=len(self.pairs),
            spent=-(-self.stock.drawn // 2),
            explored=self._explored(foremost.pair) if all(map(self.stock.has, foremost.pair)) else None,
            records=tuple(self.wagers.records()),
            suspected=Picked(foremost.event, foremost.forward, 1.0, record.precise),
        )


def fewest(pairs: Sequence[Numbers]) -> int:
    """The fewest outputs a side on which a tournament keeps to its budget: two of each dataset in each round."""
    if len(pairs) < 2:
        return 0
    return math.ceil(rounds_for(len(pairs)) * (2 * sum(_weights(pairs).values()) + 1) / 2)


def _weights(pairs: Sequence[Numbers]) -> dict[int, float]:
    return {number: math.sqrt(count) for number, count in Counter(end for pair in pairs for end in pair).items()}


def distinct(pairs: Sequence[tuple[Any, Any]]) -> tuple[list[Any], list[Numbers]]:
    """Every dataset once, and the pairs by their numbers. One that is paired with itself is drawn twice, and has two."""
    datasets: list[Any] = []
    known: dict[str, list[int]] = {}

    def number_of(data: Any) -> int:
        alike = known.setdefault(digest_of_input(data), [])
        for number in alike:
            if same(datasets[number], data):  # a digest may rest on a text that leaves something out
                return number
        alike.append(len(datasets))
        datasets.append(data)
        return alike[-1]

    def numbers_of(first: Any, second: Any) -> Numbers:
        one, other = number_of(first), number_of(second)
        if one == other:
            other = len(datasets)
            datasets.append(second)
        return one, other

    return datasets, [numbers_of(first, second) for first, second in pairs]
