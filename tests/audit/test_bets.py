"""Bets while outputs are counted: how pairs are made, when they win, and what is recorded of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpverify.audit.api import audit
from dpverify.audit.bets import Bets
from dpverify.audit.events import Within
from dpverify.audit.features import Coordinate
from dpverify.audit.records import ANY_MOMENT, Claim
from dpverify.audit.search import Picked
from dpverify.guarantees import GaussianDP, Verdict


def picked(*shares: float, forward: bool = True, precise: bool = False) -> list[Picked]:
    return [
        Picked(Within(Coordinate(()), float(place), math.inf), forward, share, precise) for place, share in enumerate(shares)
    ]


def bets_on(events: list[Picked], alpha: float = 0.01, epsilon: float = 1.0) -> Bets:
    return Bets(Claim(epsilon=epsilon, delta=0.0), 1, events, alpha, np.random.default_rng(3))


@pytest.mark.parametrize("forward", [True, False])
def test_pairs_have_the_hits_of_either_side(forward: bool) -> None:
    bets = bets_on(picked(1.0, forward=forward))
    hits = [(30, 10), (0, 7), (100, 100), (5, 0)]
    for one in hits:
        bets.add((100, 100), [one])
    (record,) = bets.rest()
    likelier, other = (sum(one[side if forward else 1 - side] for one in hits) for side in (0, 1))
    counts = record.counts
    assert (counts.hits, counts.draws, counts.other_hits, counts.other_draws) == (likelier, 400, other, 400)
    assert record.look == ANY_MOMENT
    assert sum(wager.share for wager in record.bets) == pytest.approx(1)


def test_which_outputs_are_paired_is_chance() -> None:
    """Of 40 and 30 hits among 100 about 12 meet, with a deviation of 2.26 (hypergeometric); 2,000 blocks, six deviations."""
    bets = bets_on(picked(1.0))
    for _ in range(2_000):
        bets.add((100, 100), [(40, 30)])
    (record,) = bets.rest()
    both = record.bets[0].pairs.both
    assert abs(both - 24_000) < 6 * math.sqrt(2_000 * 5.0909)


def test_of_a_larger_block_outputs_are_left_over_by_chance() -> None:
    """Of 60 hits among 150 about 40 are among the 100 that are paired, deviation 2.84; 2,000 blocks, six deviations."""
    bets = bets_on(picked(1.0))
    for _ in range(2_000):
        bets.add((150, 100), [(60, 30)])
    (record,) = bets.rest()
    counts = record.counts
    assert counts.draws == counts.other_draws == 200_000
    assert counts.other_hits == 60_000
    assert abs(counts.hits - 80_000) < 6 * math.sqrt(2_000 * 8.0537)


def test_where_coins_choose_the_sides_a_blatant_violation_is_refuted_before_the_first_look_too() -> None:
    found = audit(laplace(0.25), inputs=(0, 1), epsilon=1, samples=4_000_000, outputs="reals")
    assert found.verdict is Verdict.REFUTED
    assert [test["look"] for test in found.evidence["tests"]] == [ANY_MOMENT]
    assert found.samples < 40_000


def test_a_purse_is_settled_once() -> None:
    bets = bets_on(picked(0.8, 0.2))
    bets.add((1000, 1000), [(10, 10), (10, 10)])
    assert bets.won() == []
    bets.add((1000, 1000), [(900, 10), (10, 10)])
    (record,) = bets.won()
    assert record.rejects
    assert record.epsilon_lower > 1
    assert record.event == picked(0.8)[0].event  # the one that won, though both are recorded
    assert len(record.bets) == 2
    assert bets.won() == []
    assert bets.rest() == []


def test_precise_events_have_a_purse_of_their_own() -> None:
    bets = bets_on([*picked(0.75), *picked(0.25, precise=True)])
    bets.add((1000, 1000), [(10, 10), (900, 10)])
    (won,) = bets.won()
    (rest,) = bets.rest()
    assert won.precise
    assert not rest.precise
    assert won.alpha + rest.alpha == pytest.approx(0.01)


def test_nothing_is_recorded_before_the_first_pair() -> None:
    assert bets_on(picked(1.0)).rest() == []


def laplace(scale: float) -> Any:
    return lambda data, rng, size: data + rng.laplace(0, scale, size)


def test_a_blatant_violation_is_refuted_before_the_first_look() -> None:
    found = audit(laplace(0.25), inputs=(0, 1), epsilon=1, samples=10**6, outputs="reals")
    assert found.verdict is Verdict.REFUTED
    assert [test["look"] for test in found.evidence["tests"]] == [ANY_MOMENT]
    assert found.evidence["tests"][0]["bets"]


def test_an_audit_that_does_not_stop_early_keeps_all_of_alpha_for_its_look() -> None:
    found = audit(laplace(1), inputs=(0, 1), epsilon=1, samples=60_000, outputs="reals", stop_early=False)
    assert not any("bets" in test for test in found.evidence["tests"])


def test_bets_on_a_curve_are_held_to_their_own_points() -> None:
    def gaussian(data: float, rng: np.random.Generator, size: int) -> Any:
        return data + rng.normal(0, 0.5, size)

    found = audit(gaussian, inputs=(0, 1), claim=GaussianDP(mu=1), samples=100_000, outputs="reals", alpha="1e-6")
    assert found.verdict is Verdict.REFUTED
    won = [test for test in found.evidence["tests"] if "bets" in test and test["rejects"]]
    assert won
    assert all(wager["delta"] > 0 for test in won for wager in test["bets"])
