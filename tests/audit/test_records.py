"""What tests say together, and what could have been detected."""

from __future__ import annotations

import math

import pytest

from dpverify.audit.events import Within
from dpverify.audit.features import Coordinate
from dpverify.audit.records import Claim, Record, design_for, findings, judged
from dpverify.audit.statistics.counts import Counts
from dpverify.audit.statistics.events import detectable_epsilon
from dpverify.guarantees import Verdict

EVENT = Within(Coordinate(()), -math.inf, 0.0)


def record(counts: Counts, claim: Claim, *, alpha: float = 1e-3, precise: bool = False, look: int = 1) -> Record:
    rejects, bound = judged(claim, counts, alpha)
    return Record(
        stage=1,
        look=look,
        event=EVENT,
        forward=True,
        precise=precise,
        counts=counts,
        alpha=alpha,
        rejects=rejects,
        epsilon_lower=bound,
        claim=claim,
    )


def counts(hits: int, other_hits: int, draws: int = 1_000) -> Counts:
    return Counts(hits=hits, draws=draws, other_hits=other_hits, other_draws=draws)


ONE = Claim(epsilon=1, delta=0, design="random-side")


def test_one_rejection_refutes_and_the_best_bound_counts() -> None:
    found = findings(ONE, [record(counts(500, 100), ONE), record(counts(300, 200), ONE)], None)
    assert found.verdict is found.verdict_on_reals is Verdict.REFUTED
    assert found.epsilon_lower > 1
    assert found.witness is not None
    assert found.witness.hits == 500


def test_a_precise_event_refutes_the_bits_alone() -> None:
    found = findings(ONE, [record(counts(500, 0), ONE, precise=True), record(counts(300, 200), ONE)], None)
    assert (found.verdict, found.verdict_on_reals) == (Verdict.REFUTED, Verdict.NOT_REFUTED)
    assert found.witness is not None
    assert "its floats leak" in found.witness.remark


def test_where_both_refute_the_ordinary_event_is_the_witness() -> None:
    found = findings(ONE, [record(counts(900, 0), ONE, precise=True), record(counts(500, 100), ONE)], None)
    assert found.verdict_on_reals is Verdict.REFUTED
    assert found.witness is not None
    assert not found.witness.precise


def test_a_reason_or_no_test_leaves_it_undecided() -> None:
    assert findings(ONE, [], None).verdict is Verdict.UNDECIDED
    found = findings(ONE, [record(counts(300, 200), ONE)], "stopped")
    assert found.verdict is found.verdict_on_reals is Verdict.UNDECIDED


def test_a_rejection_stands_whatever_else_is_undecided() -> None:
    found = findings(ONE, [record(counts(500, 0), ONE, precise=True)], "stopped")
    assert (found.verdict, found.verdict_on_reals) == (Verdict.REFUTED, Verdict.UNDECIDED)
    assert found.witness is not None
    assert "may well be right" not in found.witness.remark


def test_sides_that_no_coin_makes_show_nothing() -> None:
    assert judged(ONE, Counts(hits=900, draws=10_000, other_hits=0, other_draws=1_000), 1e-3) == (False, 0.0)


@pytest.mark.parametrize("samples", [2_000, 10**9])
@pytest.mark.parametrize("delta", [0, 1e-2])
@pytest.mark.parametrize("epsilon", [1.0, 5.0])
@pytest.mark.parametrize("other_hits", [0, 20, 700])
def test_the_quick_answer_never_promises_more_than_the_exact_one(
    epsilon: float, delta: float, other_hits: int, samples: int
) -> None:
    claim = Claim(epsilon=epsilon, delta=delta, design=design_for(delta, samples))
    tested = record(counts(0, other_hits, 2_000), claim, alpha=0.01)
    exact = detectable_epsilon(
        other_hits=other_hits,
        other_draws=2_000,
        draws=2_000,
        epsilon=epsilon,
        delta=delta,
        alpha=0.01,
        design=claim.design,
    )
    found = findings(claim, [tested], None).detectable_epsilon
    assert found == pytest.approx(exact) or (delta > 0 and math.isinf(found))


def test_the_most_sensitive_event_of_the_last_look_speaks() -> None:
    rare, frequent = record(counts(30, 10), ONE, look=2), record(counts(240, 100), ONE, look=2)
    earlier = record(counts(24_000, 10_000, 100_000), ONE, look=1)
    together = findings(ONE, [earlier, rare, frequent], None).detectable_epsilon
    assert together == findings(ONE, [frequent], None).detectable_epsilon < findings(ONE, [rare], None).detectable_epsilon


def test_without_draws_nothing_is_detectable() -> None:
    nothing = record(Counts(hits=0, draws=0, other_hits=0, other_draws=0), ONE)
    assert math.isinf(findings(ONE, [nothing], None).detectable_epsilon)
