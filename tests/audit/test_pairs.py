"""The worst of many pairs: outputs are shared, pairs are told apart, bets on all of them are averaged, and errors are named."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from dpverify.adjacency import Relation
from dpverify.audit import learning, search, strategies, wagers
from dpverify.audit.api import audit
from dpverify.audit.calls import Request
from dpverify.audit.events import Within
from dpverify.audit.evidence import recheck
from dpverify.audit.exploration import Forecast
from dpverify.audit.features import Coordinate
from dpverify.audit.neighbours import Pairs, add_or_remove, replace_one
from dpverify.audit.pairs import Judge, Tournament, distinct
from dpverify.audit.reading import from_array
from dpverify.audit.records import EARLIER, Claim
from dpverify.audit.search import Picked
from dpverify.audit.stock import ROOM, Stock
from dpverify.audit.strategies import PairStrategy
from dpverify.audit.table import Table
from dpverify.audit.wagers import Wagers
from dpverify.errors import InputError, MechanismError
from dpverify.guarantees import GaussianDP, Verdict

STAR = Pairs(pairs=tuple((0, other) for other in (1, 2, 3, 4, 5)), relation=None)


def shifted(data: int, rng: np.random.Generator, size: int) -> Any:
    """Laplace noise at a distance of one fifth, but twice that where the data is 4."""
    return data / 5 + (data == 4) * 0.8 + rng.laplace(size=size)


class Drawn:
    """Counts how many outputs of each dataset were asked for."""

    def __init__(self) -> None:
        self.sizes: dict[int, int] = {}

    def __call__(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Table]]:
        for request in requests:
            self.sizes[request.side] = self.sizes.get(request.side, 0) + request.size
            rng = np.random.Generator(np.random.PCG64(request.block))
            yield request, from_array(shifted(request.side, rng, request.size))


def tournament(drawn: Drawn, pairs: Any = STAR) -> Tournament:
    judge = Judge(forecast=Forecast(delta=0.0, alpha=0.01, planned=10**6, ranking_caution=1.0), bits=False)
    return Tournament(Stock(drawn), judge, list(pairs))


def test_a_dataset_of_many_pairs_is_drawn_once() -> None:
    drawn = Drawn()
    chosen = tournament(drawn).chosen(30_000)
    assert chosen.pair == (0, 4)
    assert chosen.tried == 5
    assert chosen.spent == math.ceil(sum(drawn.sizes.values()) / 2) <= 30_000
    assert max(drawn.sizes, key=lambda number: drawn.sizes[number]) in (0, 4)
    assert min(drawn.sizes.values()) < 5_000
    assert chosen.explored is not None
    assert [table.size for table in chosen.explored] == [drawn.sizes[0], drawn.sizes[4]]


def test_one_pair_costs_nothing() -> None:
    drawn = Drawn()
    chosen = tournament(drawn, [(0, 1)]).chosen(30_000)
    assert (chosen.pair, chosen.spent, chosen.explored, drawn.sizes) == ((0, 1), 0, None, {})
    assert chosen.told() is None
    assert chosen.to_json(["0", "1"]) is None


def test_no_more_is_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverify.audit.stock.ROOM", 700)
    stock = Stock(Drawn())
    for _ in range(2):
        assert sum(table.size for _, table in stock.fresh({0: 500, 1: 10})) == 510
    assert (stock.kept(0).size, stock.kept(1).size, stock.drawn) == (700, 20, 1020)
    stock.forget([0])
    assert not stock.has(0)
    assert ROOM > 700


def test_datasets_are_told_apart_by_all_that_is_in_them() -> None:
    class Shortened(list):  # type: ignore[type-arg]
        def __repr__(self) -> str:
            return "[...]"

    long, other = np.arange(5000.0), np.arange(5000.0)
    other[2500] = -1
    datasets, pairs = distinct([(long, other), (other, [1]), ([1], long.copy()), (Shortened([1]), Shortened([2]))])
    assert len(datasets) == 5
    assert pairs == [(0, 1), (1, 2), (2, 0), (3, 4)]


# --- the audit around it --------------------------------------------------------------------------------------------


def test_the_evidence_is_the_same_for_any_number_of_workers() -> None:
    found = [audit(shifted, inputs=STAR, epsilon="0.9", samples=20_000, workers=workers) for workers in (None, 1, 2)]
    assert len({json.dumps(one.evidence) for one in found}) == 1
    assert found[0].evidence["search"]["tried"] == 5
    assert found[0].samples <= 20_000


def test_a_search_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    """Interrupted while pairs are compared, and run again: nothing is drawn twice, and the evidence is that of one run."""
    calls = [0]
    limit = [9]

    def stopping(data: int, rng: np.random.Generator, size: int) -> Any:
        if calls[0] >= limit[0]:
            raise KeyboardInterrupt
        calls[0] += 1
        return shifted(data, rng, size)

    asked: dict[str, Any] = {"inputs": STAR, "epsilon": "0.9", "samples": 20_000, "checkpoint": tmp_path / "checkpoint"}
    with pytest.raises(KeyboardInterrupt):
        audit(stopping, **asked)
    limit[0] = 10**9
    found = audit(stopping, **asked)
    whole = audit(stopping, **{**asked, "checkpoint": None})
    assert found.evidence == whole.evidence


@pytest.mark.parametrize("workers", [None, 2])
def test_a_fault_while_pairs_are_compared_names_the_dataset(workers: int | None) -> None:
    def fails(data: int, rng: np.random.Generator, size: int) -> Any:
        return shifted(data // (data != 3), rng, size)

    with pytest.raises(MechanismError, match=r"on inputs.pairs\[2\]\[1\]"):
        audit(fails, inputs=STAR, epsilon=1, samples=20_000, workers=workers)


def test_a_mechanism_that_hangs_on_one_dataset_is_ended() -> None:
    def hangs(data: Any, rng: np.random.Generator, size: int) -> Any:
        while data == 3 or data == [3]:
            pass
        return shifted(data if isinstance(data, int) else len(data), rng, size)

    with pytest.raises(MechanismError, match=r"inputs.pairs\[2\]\[1\].*did not return within timeout"):
        audit(hangs, inputs=STAR, epsilon=1, samples=20_000, timeout=0.5)
    climbing = strategies.PairStrategy(strategy=st.just(([], [3])), relation=None)
    with pytest.raises(MechanismError, match=r"on \[3\].*did not return within timeout"):
        audit(hangs, inputs=climbing, epsilon=1, samples=20_000, timeout=0.5)


def test_an_input_that_is_changed_while_pairs_are_compared_is_noticed() -> None:
    def changes(data: list[int], rng: np.random.Generator, size: int) -> Any:
        data.append(1)
        return rng.random(size)

    with pytest.raises(MechanismError, match=r"inputs.pairs\[0\]\[0\] is no longer what it was"):
        audit(changes, inputs=add_or_remove([1, 2]), epsilon=1, samples=20_000)


def test_all_pairs_are_checked_against_a_relation_that_is_stated() -> None:
    pairs = Pairs(pairs=(([1], [1, 2]), ([1], [1, 2, 3])), relation=None)
    with pytest.raises(InputError, match="could refute a true claim"):
        audit(shifted, inputs=pairs, epsilon=1, relation="add or remove one record")


# --- bets on all pairs ----------------------------------------------------------------------------------------------


def test_a_blatant_violation_is_refuted_before_the_search_is_over() -> None:
    found = audit(shifted, inputs=STAR, epsilon="0.9", samples=10**6, outputs="reals")
    assert found.verdict is Verdict.REFUTED
    earlier = [test for test in found.evidence["tests"] if test["stage"] == EARLIER]
    assert [test["rejects"] for test in earlier] == [True]
    assert found.evidence["mechanism"]["inputs"] == ["0", "4"]
    named = found.evidence["search"]["datasets"]
    assert {named[str(number)] for bet in earlier[0]["bets"] for number in bet["datasets"]} <= set("012345")
    assert "on which bets against the claim won most" in found.notes[0]
    assert found.samples < 0.25 * 10**6
    spent = sum(test["alpha"] for test in found.evidence["tests"])
    assert spent <= 1e-3
    again = recheck(found.evidence)
    assert (again.verdict, again.epsilon_lower, again.samples) == (found.verdict, found.epsilon_lower, found.samples)


def test_what_outputs_of_one_batch_share_refutes_nothing_here_either() -> None:
    """Every batch has one noise: its outputs are equal, so that bets on them win or lose as one. The claim holds."""

    def shared(data: int, rng: np.random.Generator, size: int) -> Any:
        return data / 5 + np.full(size, rng.laplace())

    found = audit(shared, inputs=STAR, epsilon=1, samples=40_000, outputs="reals")
    assert found.verdict is not Verdict.REFUTED
    assert all(test["set_aside"] for test in found.evidence["tests"] if test["stage"] == EARLIER)


def test_bets_of_a_curve_hold_its_points() -> None:
    def gaussian(data: int, rng: np.random.Generator, size: int) -> Any:
        return data / 5 + (data == 4) * 0.8 + rng.normal(size=size)

    found = audit(gaussian, inputs=STAR, claim=GaussianDP(mu="0.5"), samples=200_000, outputs="reals")
    assert found.verdict is Verdict.REFUTED
    assert any(test["stage"] == EARLIER and test["bets"] for test in found.evidence["tests"])
    assert recheck(found.evidence).verdict is Verdict.REFUTED


def laid(rng: np.random.Generator, alpha: float, bits: bool = False) -> Wagers:
    """Three pairs at their exact claim (epsilon = 1) in two rounds; the second pair is dropped after the first."""
    event = Picked(Within(Coordinate(()), -math.inf, 0.0), True, 1.0, False)
    found = Wagers(claim=Claim(epsilon=1.0, delta=0.0), alpha=alpha, rounds=2, bits=bits, coins=rng)
    for pairs in ([(0, 1), (0, 2), (3, 4)], [(0, 1), (3, 4)]):
        for pair in pairs:
            hits = int(rng.binomial(400, 0.5)), int(rng.binomial(500, 0.5 * math.exp(-1)))
            found.lay(pair, len(pairs), [event], (400, 500), [hits])
    return found


def test_the_capital_of_all_pairs_together_is_fair() -> None:
    """At alpha = .2 bets on claims that hold win in at most a fifth of all runs: of 100 runs more than 42 do with probability
    2e-7. It is fair for the pairs together; each wager has a sixth or a quarter of the capital."""
    rng = np.random.Generator(np.random.PCG64(11))
    runs = [laid(rng, 0.2) for _ in range(100)]
    assert sum(run.won() is not None for run in runs) <= 42
    (record,) = runs[0].records()
    assert sorted(wager.share for wager in record.bets) == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 4, 1 / 4])
    assert record.stage == EARLIER


def test_a_record_holds_the_best_bets_and_its_capital_is_theirs() -> None:
    event = Picked(Within(Coordinate(()), -math.inf, 0.0), True, 1.0, False)
    found = Wagers(claim=Claim(epsilon=1.0, delta=0.0), alpha=0.01, rounds=1, bits=True, coins=np.random.default_rng(0))
    for number in range(20):
        found.lay((0, number + 1), 20, [event], (1000, 1000), [(30 * number, 100)])
    record = found.won()
    assert record is not None
    assert len(record.bets) == wagers.MOST_WRITTEN
    assert record.bets[0].pair == (0, 20)
    assert record.counts.hits == 570
    assert record.alpha == 0.005


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda e: e["search"].pop("outputs"), "search.outputs is missing"),
        (lambda e: e["search"].update(outputs=10**9), "search.outputs = 1000000000 exceeds samples"),
        (lambda e: e["search"].update(datasets=[1]), r"search.datasets = \[1\]: texts are needed"),
        (lambda e: e.pop("search"), "only 0 outputs were drawn|has more pairs than the 0"),
        (lambda e: earlier_bet(e).update(datasets=[1]), r"bets\[0\].datasets = \[1\]: the numbers of two datasets"),
        (lambda e: earlier_bet(e).update(datasets=[-1, 0]), "bets on dataset -1, which search.datasets does not name"),
        (lambda e: e.update(drawn=[e["samples"], 0]), "exceeds samples"),
    ],
)
def test_evidence_of_a_search_that_was_changed_is_refused(change: Callable[[Any], Any], said: str) -> None:
    evidence = copy.deepcopy(EVIDENCE)
    change(evidence)
    with pytest.raises(InputError, match=said):
        recheck(evidence)


def earlier_bet(evidence: dict[str, Any]) -> dict[str, Any]:
    found = next(test for test in evidence["tests"] if test["stage"] == EARLIER)["bets"][0]
    assert isinstance(found, dict)
    return found


EVIDENCE = audit(shifted, inputs=STAR, epsilon="0.9", samples=200_000, outputs="reals").evidence


def noisy_sum(data: Any, rng: np.random.Generator, size: int) -> Any:
    return np.rint(float(np.sum(data)) + rng.laplace(size=size))


@pytest.mark.parametrize("samples", [200, 1000])
def test_more_datasets_than_outputs_are_refused_before_any_is_drawn(samples: int) -> None:
    many = Pairs(pairs=tuple(([2.0 * place], [2.0 * place + 1]) for place in range(200)), relation=None)
    drawn = []

    def counted(data: Any, rng: np.random.Generator, size: int) -> Any:
        drawn.append(size)
        return noisy_sum(data, rng, size)

    with pytest.raises(InputError, match="200 pairs of datasets cannot be compared on so few outputs; give at least 10"):
        audit(counted, inputs=many, epsilon=1, samples=samples)
    assert not drawn


@pytest.mark.parametrize("count", [2, 3, 7])
def test_the_fewest_outputs_are_enough(count: int) -> None:
    many = Pairs(pairs=tuple(([2.0 * place], [2.0 * place + 1]) for place in range(count)), relation=None)
    drawn: list[int] = []

    def counted(data: Any, rng: np.random.Generator, size: int) -> Any:
        drawn.append(size)
        return noisy_sum(data, rng, size)

    result = audit(counted, inputs=many, epsilon=1, samples=200)
    assert sum(drawn) <= 2 * 200
    assert result.samples <= 200
    assert result.evidence["search"]["outputs"] <= 60


def test_equal_datasets_are_a_pair_that_shows_nothing() -> None:
    assert distinct([([1], [1]), ([1], [2])]) == ([[1], [1], [2]], [(0, 1), (0, 2)])
    pairs = Pairs(pairs=(([1.0], [1.0]), ([2.0], [2.0])), relation=None)
    for inputs in (pairs, Pairs(pairs=pairs.pairs[:1], relation=None)):
        assert audit(noisy_sum, inputs=inputs, epsilon=0, samples=1000).verdict is Verdict.NOT_REFUTED


@pytest.mark.parametrize("pairs", [5, ((1, 2, 3),), (1, 2), ((1, iter([2])),), ("ab",)])
def test_what_is_no_list_of_pairs_is_refused(pairs: Any) -> None:
    with pytest.raises(InputError, match=r"^pairs"):
        Pairs(pairs=pairs, relation=None)


def test_what_is_no_collection_of_records_is_refused() -> None:
    with pytest.raises(InputError, match="dataset = 5"):
        add_or_remove(5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="records = 3"):
        replace_one([1], records=3)  # type: ignore[arg-type]


def test_a_relation_stated_to_the_audit_binds_a_strategy() -> None:
    apart = st.just(([1], [1, 5, 6]))
    for relation in ("replace one record", Relation.ADD_OR_REMOVE):
        with pytest.raises(InputError, match="gave no pair of neighbouring datasets"):
            audit(noisy_sum, inputs=PairStrategy(strategy=apart, relation=None), epsilon=1, samples=200, relation=relation)
    with pytest.raises(InputError, match="state one"):
        audit(
            noisy_sum,
            inputs=strategies.datasets_with_one_more(st.integers(0, 1)),
            epsilon=1,
            samples=200,
            relation="replace one record",
        )
    with pytest.raises(InputError, match="relation = 'foo'"):
        PairStrategy(strategy=apart, relation="foo")  # type: ignore[arg-type]


@pytest.mark.parametrize("strategy", [5, st.lists(st.integers(), min_size=3, max_size=2)])
def test_a_strategy_that_hypothesis_refuses_is_an_input_error(strategy: Any) -> None:
    with pytest.raises(InputError, match="Hypothesis cannot use this strategy"):
        audit(noisy_sum, inputs=PairStrategy(strategy=strategy, relation=None), epsilon=1, samples=200)


def test_only_pairs_that_were_drawn_count_as_tried() -> None:
    result = audit(noisy_sum, inputs=strategies.datasets_with_one_more(st.integers(0, 1)), epsilon=1, samples=200)
    search = result.evidence["search"]
    assert search["tried"] == search["outputs"] // 20 == 3
    only = audit(noisy_sum, inputs=PairStrategy(strategy=st.just(([1], [2])), relation=None), epsilon=1, samples=1000)
    assert only.notes[0].startswith("1 pair of datasets was tried")
    assert recheck(only.evidence).samples == only.samples


def test_an_interrupt_before_outputs_were_doubted_leaves_no_refutation() -> None:
    """Bets have won, and the audit that would doubt them is broken off: what was won is written down, and set aside."""
    whole = audit(shifted, inputs=STAR, epsilon="0.9", samples=10**6, outputs="reals")
    spent = whole.evidence["search"]["outputs"]

    def interrupt(drawn: int, budget: int) -> None:
        if drawn > 2 * spent:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as held:
        audit(shifted, inputs=STAR, epsilon="0.9", samples=10**6, outputs="reals", progress=interrupt)
    partial = held.value.partial  # type: ignore[attr-defined]
    (record,) = (test for test in partial.evidence["tests"] if test["stage"] == EARLIER)
    assert record["rejects"]
    assert "ended before" in record["set_aside"]
    assert partial.verdict is Verdict.UNDECIDED


def test_wariness_is_for_rare_events() -> None:
    plain = Forecast(delta=0.0, alpha=0.01, planned=10**7, caution=1.0)
    wary = replace(plain, wariness=2.0)
    asked = np.array([8, 20_000]), 10**5, np.array([0, 10_000]), 10**5
    assert plain(*asked)[0] > 1
    assert wary(*asked)[0] <= 0
    assert wary(*asked)[1] == pytest.approx(plain(*asked)[1], abs=1e-3)


def test_scores_are_ranked_on_what_they_did_not_learn_from() -> None:
    rng = np.random.Generator(np.random.PCG64(2))
    tables = from_array(rng.random((8_000, 2))), from_array(rng.random((8_000, 2)) ** 0.5)
    exploration = replace(search._halves(tables, Forecast(delta=0.0, alpha=0.01, planned=1000)), whole=tables)
    score = learning.additive(tables, learning.axes_of(tables, [Coordinate((0,)), Coordinate((1,))], 4))
    assert score is not None
    assert search._ranking(exploration, Within(score, 0.0, math.inf)) is exploration.rank
    assert search._ranking(exploration, Within(Coordinate((0,)), 0.5, math.inf)) is exploration.whole
