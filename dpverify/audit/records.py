"""One test of one event at one look, and what a set of tests says together. The one place where counts become a verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

from dpverify.audit.curve import Curve
from dpverify.audit.events import Event
from dpverify.audit.result import Witness
from dpverify.audit.statistics import events as statistics
from dpverify.audit.statistics.betting import (
    Bet,
    PairCounts,
    average_delta_lower,
    average_epsilon_lower,
    average_log_capital,
    needed_log_capital,
    rough_log_capital,
)
from dpverify.audit.statistics.binomial import upper
from dpverify.audit.statistics.counts import Counts, Design
from dpverify.guarantees import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The claim as it is tested: doubles that are no smaller than what was claimed, and the design of the draws.

    Where the claim is a `curve`, epsilon and delta are one of its points, and each test has a point of its own.
    """

    epsilon: float
    delta: float
    design: Design = "fixed"
    curve: Curve | None = None

    def at(self, point: tuple[float, float] | None) -> Claim:
        """The claim that one point of the curve makes; the claim itself where it is no curve."""
        return self if point is None else replace(self, epsilon=point[0], delta=point[1])


def design_for(delta: float, samples: int) -> Design:
    """Fixed and equal numbers of draws, for the joint test. Where delta = 0 and the budget is large, a coin decides the side of
    each trial, which makes an exact test with one binomial."""
    return "random-side" if delta == 0 and samples > MOST_JOINT else "fixed"


MOST_JOINT = 3_000_000
"""Outputs a side up to which the joint test answers at delta = 0: it is stronger there. Where there are more it wins nothing
that shows, and the conditional test costs less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wager:
    """One event of a bettor: its share of the capital, the pairs of outputs seen, and the point of the claim that is tested.

    `pair`: where several pairs of datasets are bet on, the numbers of the two that these outputs are of.
    """

    event: Event
    forward: bool
    share: float
    pairs: PairCounts
    claim: Claim
    pair: tuple[int, int] | None = None

    @property
    def bet(self) -> Bet:
        """What the statistics need of it."""
        return Bet(share=self.share, pairs=self.pairs, epsilon=self.claim.epsilon, delta=self.claim.delta)

    @property
    def counts(self) -> Counts:
        """Its hits on either side."""
        pairs = self.pairs
        draws = pairs.both + pairs.first + pairs.second + pairs.neither
        return Counts(hits=pairs.both + pairs.first, draws=draws, other_hits=pairs.both + pairs.second, other_draws=draws)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Counts of one event in one direction, tested at level alpha. `set_aside` says why they do not count, if so.

    With `bets` it is the test of all of them together, at whatever moment; event and counts are those of the most successful.
    """

    stage: int
    look: int
    event: Event
    forward: bool
    precise: bool
    counts: Counts
    alpha: float
    rejects: bool
    epsilon_lower: float
    claim: Claim
    set_aside: str | None = None
    bets: tuple[Wager, ...] = ()

    @property
    def part(self) -> float:
        """The bound beside the epsilon that is claimed at this delta, by which tests of several points are compared."""
        return self.epsilon_lower / max(self.claim.epsilon, 1e-9)


def tested(
    claim: Claim, *, stage: int, look: int, event: Event, forward: bool, precise: bool, counts: Counts, alpha: float
) -> Record:
    """The test of one event: does it reject, and what is the least epsilon that it allows?"""
    rejects, bound = judged(claim, counts, alpha)
    return Record(
        stage=stage,
        look=look,
        event=event,
        forward=forward,
        precise=precise,
        counts=counts,
        alpha=alpha,
        rejects=rejects,
        epsilon_lower=bound,
        claim=claim,
    )


def judged(claim: Claim, counts: Counts, alpha: float) -> tuple[bool, float]:
    """Whether counts reject the claim at level alpha, which is whether their lower bound on epsilon exceeds it; and the bound.

    An audit that is broken off may leave sides as unequal as no coin makes them; such counts show nothing.
    """
    if claim.design == "random-side" and (counts.draws - counts.other_draws) ** 2 > 81 * (counts.draws + counts.other_draws):
        return False, 0.0
    bound = statistics.epsilon_lower(counts, delta=claim.delta, alpha=alpha, design=claim.design)
    return bound > claim.epsilon, bound


def bet_on(claim: Claim, *, stage: int, wagers: Sequence[Wager], precise: bool, alpha: float) -> Record:
    """The test of all bets of a stage together. It may be made at any moment, which is why no look has its number."""
    rejects, bound = judged_bets(claim, wagers, alpha)
    foremost = leader(wagers)
    return Record(
        stage=stage,
        look=ANY_MOMENT,
        event=foremost.event,
        forward=foremost.forward,
        precise=precise,
        counts=foremost.counts,
        alpha=alpha,
        rejects=rejects,
        epsilon_lower=bound,
        claim=foremost.claim,
        bets=tuple(wagers),
    )


EARLIER = 0
"""The stage of a test that was made before the pair of inputs was chosen."""

ANY_MOMENT = 0
"""The look of a test that was not planned for one."""


def leader(wagers: Sequence[Wager]) -> Wager:
    """The bet that has won most."""
    return max(wagers, key=lambda wager: rough_log_capital([wager.bet]))


def judged_bets(claim: Claim, wagers: Sequence[Wager], alpha: float) -> tuple[bool, float]:
    """Whether the capital of all bets together reaches 1/alpha, and the lower bound on epsilon that it gives.

    Bets on several points of a curve have no epsilon in common: the bound is then that of the most successful alone, at its
    share of alpha.
    """
    if claim.curve is None:
        bound = average_epsilon_lower([wager.bet for wager in wagers], alpha)
        return bound > claim.epsilon, bound
    rejects = average_log_capital([wager.bet for wager in wagers]) >= needed_log_capital(alpha)
    return rejects, average_epsilon_lower([leader(wagers).bet], alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What all tests say together."""

    verdict: Verdict
    verdict_on_reals: Verdict
    epsilon: float
    delta: float
    epsilon_lower: float
    detectable_epsilon: float
    witness: Witness | None
    bounds: dict[str, float]


def findings(claim: Claim, records: Sequence[Record], undecided: str | None) -> Findings:
    """Join the tests: each has its own part of alpha, so whatever one of them rejects is rejected."""
    valid = [record for record in records if record.set_aside is None]
    carrier = max((r for r in valid if r.rejects), key=lambda r: (not r.precise, r.part), default=None)
    best = max(valid, key=lambda r: r.part, default=None)
    point = claim if best is None else best.claim
    otherwise = Verdict.NOT_REFUTED if undecided is None and valid else Verdict.UNDECIDED
    on_reals = Verdict.REFUTED if any(r.rejects and not r.precise for r in valid) else otherwise
    if otherwise is Verdict.UNDECIDED and not any(r.rejects for r in valid):
        on_reals = Verdict.UNDECIDED
    return Findings(
        verdict=otherwise if carrier is None else Verdict.REFUTED,
        verdict_on_reals=on_reals,
        epsilon=point.epsilon,
        delta=point.delta,
        epsilon_lower=0.0 if best is None else best.epsilon_lower,
        detectable_epsilon=_detectable(_at_point(valid, point)),
        witness=None if carrier is None else _witness(carrier, valid, on_reals),
        bounds={} if best is None else _bounds(claim.curve, best, valid),
    )


def _at_point(valid: Sequence[Record], point: Claim) -> list[Record]:
    """Of several points of a curve, the tests of the one that is reported."""
    return [record for record in valid if record.claim == point]


def _bounds(curve: Curve | None, best: Record, valid: Sequence[Record]) -> dict[str, float]:
    """Lower bounds on other numbers: on delta at the epsilon of the best test, and on the one parameter of the notion.

    Each test has its own part of the error, so whatever parameter one of them excludes is excluded. The bound on delta is
    the same test, inverted in delta: of an event the joint test, of bets their capital, whatever the moment. It holds at the
    same level by itself, not together with epsilon_lower.
    """
    if best.bets:
        found = average_delta_lower([wager.bet for wager in best.bets if wager.claim == best.claim], best.alpha)
    else:
        found = statistics.delta_lower(best.counts, epsilon=best.claim.epsilon, alpha=best.alpha, design="fixed")
    bounds = {"delta": found}
    if curve is not None and curve.parameter is not None:
        parameters = [curve.parameter_lower(record.epsilon_lower, record.claim.delta) or 0.0 for record in valid]
        bounds[curve.parameter] = max(parameters)
    return bounds


def _detectable(records: Sequence[Record]) -> float:
    """What the most sensitive test of the last look, which rests on the most outputs, would have detected.

    Where bets refuted before the first look, it is what a look at that moment would have detected.
    """
    planned = [r for r in records if not r.bets] or records
    last = [r for r in planned if (r.stage, r.look) == (planned[-1].stage, planned[-1].look)]
    if not last:
        return math.inf
    record = min(last, key=lambda r: _roughly_detectable(r) / max(r.claim.epsilon, 1e-9))
    claim = record.claim
    if claim.delta > 0 and math.isinf(_roughly_detectable(record)):
        return math.inf  # what the joint test needs minutes to say of very large epsilon, the rough number says at once
    return statistics.detectable_epsilon(
        other_hits=record.counts.other_hits,
        other_draws=record.counts.other_draws,
        draws=record.counts.draws,
        epsilon=claim.epsilon,
        delta=claim.delta,
        alpha=record.alpha,
        design=claim.design,
    )


def _roughly_detectable(record: Record) -> float:
    """Heuristic, to choose a test: the claim plus the deviations that level and power ask of the log ratio of two counts."""
    counts, claim = record.counts, record.claim
    rare = max(upper(counts.other_hits, max(counts.other_draws, 1), record.alpha), 1e-300)
    likely = min(math.exp(min(claim.epsilon, 700.0)) * rare + claim.delta, 1.0)
    deviations = -NormalDist().inv_cdf(min(record.alpha, 0.4)) - NormalDist().inv_cdf(0.1)
    spread = math.sqrt(1 / (max(counts.draws, 1) * likely) + 1 / (max(counts.other_draws, 1) * rare))
    found = claim.epsilon + deviations * spread
    return found if math.exp(min(found, 700.0)) * rare + claim.delta <= 1 else math.inf


def _witness(record: Record, valid: list[Record], on_reals: Verdict) -> Witness:
    remark = ""
    if record.precise:
        ordinary = [r for r in valid if not r.precise]
        detectable = _detectable(ordinary)
        remark = "This event reads low-order bits of floating-point numbers."
        if on_reals is Verdict.NOT_REFUTED:
            remark += (
                f" With these bits hidden the claim is not refuted (an epsilon of {detectable:.4g} would have been): "
                f"the scale of the noise may well be right, its floats leak."
            )
    return Witness(
        description=record.event.describe(),
        event=record.event.to_json(),
        likelier=0 if record.forward else 1,
        hits=record.counts.hits,
        draws=record.counts.draws,
        other_hits=record.counts.other_hits,
        other_draws=record.counts.other_draws,
        alpha=record.alpha,
        epsilon_lower=record.epsilon_lower,
        precise=record.precise,
        remark=remark,
    )


def record_to_json(record: Record) -> dict[str, Any]:
    """A test as data; the point that it tests where the claim has several."""
    counts = record.counts
    point = {} if record.claim.curve is None else {"epsilon": record.claim.epsilon, "delta": record.claim.delta}
    bets = {} if not record.bets else {"bets": [_wager_to_json(wager) for wager in record.bets]}
    return {
        **point,
        **bets,
        "stage": record.stage,
        "look": record.look,
        "event": record.event.to_json(),
        "description": record.event.describe(),
        "likelier": 0 if record.forward else 1,
        "precise": record.precise,
        "hits": counts.hits,
        "draws": counts.draws,
        "other_hits": counts.other_hits,
        "other_draws": counts.other_draws,
        "alpha": record.alpha,
        "rejects": record.rejects,
        "epsilon_lower": record.epsilon_lower,
        "set_aside": record.set_aside,
    }


def _wager_to_json(wager: Wager) -> dict[str, Any]:
    pairs = wager.pairs
    datasets = {} if wager.pair is None else {"datasets": list(wager.pair)}
    return {
        **datasets,
        "event": wager.event.to_json(),
        "description": wager.event.describe(),
        "likelier": 0 if wager.forward else 1,
        "share": wager.share,
        "epsilon": wager.claim.epsilon,
        "delta": wager.claim.delta,
        "pairs": {"both": pairs.both, "first": pairs.first, "second": pairs.second, "neither": pairs.neither},
    }
