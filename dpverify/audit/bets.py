"""Bets against the claim while outputs are counted: after every pair of blocks, has the bettor enough to refute it?

A block of one side and a block of the other make pairs, as many as the smaller has outputs. Which output is paired with which,
and which are left over, is chosen at random, by coins that no mechanism sees: so of x hits among n outputs and y among n others
the number of pairs that hit on both sides is hypergeometric, as the hits among n of more outputs are, and is drawn as such.
What has been won after some pairs holds at any moment, also where an audit is broken off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dpverify.audit.records import Claim, Record, Wager, bet_on
from dpverify.audit.search import Picked
from dpverify.audit.statistics.betting import PairCounts, needed_log_capital, rough_log_capital

ALMOST = 1e-3
"""How close to what it needs a capital in doubles has to be for the certified one to be asked."""


def paired(coins: np.random.Generator, sizes: tuple[int, int], hits: tuple[int, int], *, forward: bool) -> PairCounts:
    """Outputs of either side in pairs, as many as the smaller has: the hits of one event, the likelier side first."""
    size = min(sizes)
    first, second = (
        hit if size == of else int(coins.hypergeometric(hit, of - hit, size)) for hit, of in zip(hits, sizes, strict=True)
    )
    likelier, other = (first, second) if forward else (second, first)
    both = int(coins.hypergeometric(likelier, size - likelier, other)) if other else 0
    return PairCounts(both=both, first=likelier - both, second=other - both, neither=size - likelier - other + both)


@dataclass(slots=True)
class _Purse:
    """What is bet on all events that see the same bits: shares of one capital at one level."""

    precise: bool
    alpha: float
    places: list[int]
    shares: list[float]
    settled: bool = False


@dataclass(slots=True)
class Bets:
    """The bets of one stage, on the events that it picked."""

    claim: Claim
    stage: int
    picked: Sequence[Picked]
    alpha: float
    coins: np.random.Generator
    _pairs: list[list[int]] = field(init=False)
    _purses: list[_Purse] = field(init=False)

    def __post_init__(self) -> None:
        self._pairs = [[0, 0, 0, 0] for _ in self.picked]
        self._purses = []
        for precise in (False, True):
            places = [place for place, one in enumerate(self.picked) if one.precise is precise]
            total = sum(self.picked[place].share for place in places)
            if places:
                shares = [self.picked[place].share / total for place in places]
                self._purses.append(_Purse(precise, self.alpha * total, places, shares))

    def add(self, sizes: tuple[int, int], hits: Sequence[tuple[int, int]]) -> None:
        """One more block on either side, of so many outputs, and the hits of each event on them."""
        for counts, one, sides in zip(self._pairs, self.picked, hits, strict=True):
            more = paired(self.coins, sizes, sides, forward=one.forward)
            for place, number in enumerate((more.both, more.first, more.second, more.neither)):
                counts[place] += number

    def won(self) -> list[Record]:
        """Tests that reject now and did not before."""
        fresh = []
        for purse in self._purses:
            wagers = self._wagers(purse)
            rough = rough_log_capital([wager.bet for wager in wagers])
            if purse.settled or rough < needed_log_capital(purse.alpha) - ALMOST:
                continue
            record = self._record(purse, wagers)
            if record.rejects:
                purse.settled = True
                fresh.append(record)
        return fresh

    def rest(self) -> list[Record]:
        """The tests of all that has not been settled, as it stands."""
        drawn = any(map(any, self._pairs))
        return [self._record(purse, self._wagers(purse)) for purse in self._purses if drawn and not purse.settled]

    def _record(self, purse: _Purse, wagers: list[Wager]) -> Record:
        return bet_on(self.claim, stage=self.stage, wagers=wagers, precise=purse.precise, alpha=purse.alpha)

    def _wagers(self, purse: _Purse) -> list[Wager]:
        found = []
        for place, share in zip(purse.places, purse.shares, strict=True):
            both, first, second, neither = self._pairs[place]
            one = self.picked[place]
            pairs = PairCounts(both=both, first=first, second=second, neither=neither)
            found.append(Wager(event=one.event, forward=one.forward, share=share, pairs=pairs, claim=self.claim.at(one.point)))
        return found
