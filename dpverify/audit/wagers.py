"""Bets on all pairs of datasets at once, while one of them is being chosen: their capital is averaged, not corrected for.

Before each round every pair that is left gets an equal share of the round's capital, laid on events that earlier outputs
proposed; the outputs of the round decide. Under the claim each share is a supermartingale with respect to all outputs of all
rounds, be they common to several pairs or not, so their sum is one, and it ever reaches 1/alpha with probability at most
alpha (Ville 1939). Pairs that are dropped keep what they have won.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dpverify.audit.bets import ALMOST, paired
from dpverify.audit.records import EARLIER, Claim, Record, Wager, bet_on
from dpverify.audit.search import Picked
from dpverify.audit.statistics.betting import needed_log_capital, rough_log_capital

MOST_WRITTEN = 8
"""Bets that a record holds, at most. What is left out only lowers the capital."""


@dataclass(slots=True)
class Wagers:
    """Bets at level `alpha` in all, in at most so many `rounds`; with `bits`, half of it on events that read low-order bits."""

    claim: Claim
    alpha: float
    rounds: int
    bits: bool
    coins: np.random.Generator
    _laid: dict[bool, list[Wager]] = field(default_factory=lambda: {False: [], True: []})

    def lay(
        self,
        pair: tuple[int, int],
        among: int,
        picked: Sequence[Picked],
        sizes: tuple[int, int],
        hits: Sequence[tuple[int, int]],
    ) -> None:
        """One round of one pair `among` so many: how many fresh outputs had each of the events that were picked before."""
        for precise in (False, True):
            total = sum(one.share for one in picked if one.precise is precise)
            for one, sides in zip(picked, hits, strict=True):
                if one.precise is precise:
                    share = one.share / total / among / self.rounds
                    counts = paired(self.coins, sizes, sides, forward=one.forward)
                    claim = self.claim.at(one.point)
                    self._laid[precise].append(
                        Wager(event=one.event, forward=one.forward, share=share, pairs=counts, claim=claim, pair=pair)
                    )

    def won(self) -> Record | None:
        """The test that rejects by now, if any does: on the reals, if both do."""
        for precise, laid in self._laid.items():
            if laid and rough_log_capital([wager.bet for wager in laid]) >= needed_log_capital(self._level(precise)) - ALMOST:
                record = self._record(precise)
                if record.rejects:
                    return record
        return None

    def records(self) -> list[Record]:
        """The tests as they stand."""
        return [self._record(precise) for precise, laid in self._laid.items() if laid]

    def _level(self, precise: bool) -> float:
        return self.alpha * (0.5 if self.bits else 1.0 - precise)

    def _record(self, precise: bool) -> Record:
        laid = sorted(self._laid[precise], key=lambda wager: -rough_log_capital([wager.bet]))[:MOST_WRITTEN]
        return bet_on(self.claim, stage=EARLIER, wagers=laid, precise=precise, alpha=self._level(precise))


def rounds_for(pairs: int) -> int:
    """How many rounds it takes to halve so many pairs to one; two at least, as the last round counts what others propose."""
    return max(2, math.ceil(math.log2(max(pairs, 2))))
