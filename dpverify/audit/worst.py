"""From what a caller gives as inputs to the one pair that is audited: a pair as it is, or the worst of many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpverify.audit import plan, strategies
from dpverify.audit.blocks import Question
from dpverify.audit.calls import Request
from dpverify.audit.crew import Crew, Job
from dpverify.audit.exploration import CAUTION, Forecast
from dpverify.audit.neighbours import Neighbourhood, Pairs, check_neighbours, known_relation
from dpverify.audit.pairs import SEARCH_SHARE, Chosen, Judge, Tournament, distinct, fewest
from dpverify.audit.records import Claim
from dpverify.audit.request import FEWEST_SAMPLES, checked_pair
from dpverify.audit.stock import Stock
from dpverify.audit.strategies import PairStrategy
from dpverify.audit.table import Table
from dpverify.audit.wagers import Wagers, rounds_for
from dpverify.errors import InputError, shown

WARINESS = 2.0
"""Deviations by which counts of very rare events are moved further, so that no pair wins by one of them. A climb sees so few
outputs of a pair that it would see nothing."""

Report = Callable[[int, int], None]
"""Called with the outputs drawn and those in the budget."""


def checked_inputs(inputs: Any, relation: Neighbourhood | str | None) -> tuple[tuple[Any, Any] | Pairs | PairStrategy, int]:
    """The inputs, checked to be neighbours as far as they are known, and the fewest samples that they need."""
    if isinstance(inputs, PairStrategy):
        if relation is not None:
            stated = known_relation(relation)
            if inputs.relation is not None and known_relation(inputs.relation) != stated:
                raise InputError(
                    f"relation = {shown(relation, str)}: the strategy is said to give {shown(inputs.relation, str)}; state one."
                )
            inputs = replace(inputs, relation=stated)
        return inputs, 2 * FEWEST_SAMPLES
    if isinstance(inputs, Pairs):
        for first, second in inputs if relation is not None else ():
            check_neighbours(first, second, relation)
        return inputs, 2 * FEWEST_SAMPLES
    pair = checked_pair(inputs)
    if relation is not None:
        check_neighbours(*pair, relation)
    return pair, FEWEST_SAMPLES


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is needed to find the worst pair: the claim, the level and the budget of outputs a side of the whole audit."""

    claim: Claim
    level: float
    samples: int
    bits: bool
    stop_early: bool

    @property
    def betting_share(self) -> float:
        """The part of the level that is bet on all pairs together."""
        return plan.BETTING_SHARE if self.stop_early else 0.0

    def begun(self, inputs: tuple[Any, Any] | Pairs | PairStrategy, job: Job) -> tuple[Job, Callable[[Crew, Report], Chosen]]:
        """The job with all datasets that it may be asked for, and what chooses two of them once there is a crew."""
        if isinstance(inputs, Pairs):
            datasets, pairs = distinct(inputs.pairs)
            self._check_budget(pairs)
            names: dict[int, str] = {}
            for place, pair in enumerate(pairs):
                for side, number in enumerate(pair):
                    names.setdefault(number, f"inputs.pairs[{place}][{side}]")
            known = replace(job, inputs=tuple(datasets), names=tuple(names[number] for number in range(len(datasets))))
            return known, lambda crew, report: self._tournament(pairs, job.seed, crew, report)
        if isinstance(inputs, PairStrategy):
            pair, chosen = strategies.chosen(inputs, job, self._judge(0.0), int(self.samples * SEARCH_SHARE))
            if inputs.relation is not None:
                check_neighbours(*pair, inputs.relation)
            return replace(job, inputs=pair), lambda crew, report: chosen
        return replace(job, inputs=inputs), lambda crew, report: Chosen(pair=(0, 1), tried=1, spent=0)

    def _judge(self, wariness: float) -> Judge:
        curve = self.claim.curve
        forecast = Forecast(
            delta=self.claim.delta,
            alpha=self.level / 4,
            planned=self.samples,
            points=() if curve is None else curve.points,
            ranking_caution=CAUTION,
            wariness=wariness,
        )
        return Judge(forecast=forecast, bits=self.bits)

    def _tournament(self, pairs: list[tuple[int, int]], seed: int, crew: Crew, report: Report) -> Chosen:
        stock: Stock

        def drawn(requests: Iterable[Request]) -> Iterator[tuple[Request, Table]]:
            for request, answer in crew.answers(requests, Question(keep=True)):
                assert answer.table is not None
                yield request, answer.table
                report(stock.drawn, 2 * self.samples)

        stock = Stock(drawn)
        wagers = None
        if self.betting_share and len(pairs) > 1:
            wagers = Wagers(
                claim=self.claim,
                alpha=self.level * self.betting_share,
                rounds=rounds_for(len(pairs)),
                bits=self.bits,
                coins=np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(2**32 - 1, 2)))),
            )
        judge = self._judge(WARINESS)
        return Tournament(stock, judge, pairs, wagers, hands=crew.hands).chosen(int(self.samples * SEARCH_SHARE))

    def _check_budget(self, pairs: list[tuple[int, int]]) -> None:
        """An InputError where there are more datasets than outputs to look at them."""
        least = math.ceil((fewest(pairs) + 1) / SEARCH_SHARE)
        if len(pairs) > 1 and self.samples < least:
            raise InputError(
                f"samples = {self.samples}: {len(pairs)} pairs of datasets cannot be compared on so few outputs; "
                f"give at least {least}, or fewer pairs."
            )
