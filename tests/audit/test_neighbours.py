"""Neighbouring pairs: what is one, the pairs that are tried, the worst of them, and the smallest that is as bad."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from dpverify.adjacency import Relation
from dpverify.audit import strategies
from dpverify.audit.api import audit
from dpverify.audit.evidence import recheck
from dpverify.audit.neighbours import (
    MOST_PAIRS,
    BoundedDifference,
    Pairs,
    add_or_remove,
    bounded_difference,
    check_neighbours,
    replace_one,
)
from dpverify.errors import InputError, MissingDependency
from dpverify.guarantees import Verdict

ADD, REPLACE = Relation.ADD_OR_REMOVE, Relation.REPLACE
VECTORS = BoundedDifference(largest=1, low=-5, high=5)


class Frame:
    """What a table of records offers."""

    def __init__(self, *rows: Any) -> None:
        self.rows = rows

    def itertuples(self, index: bool = True) -> Any:
        return iter(self.rows)


@pytest.mark.parametrize(
    ("first", "second", "relation"),
    [
        ([1, 2], [1, 2, 3], ADD),
        ([3, 1, 2], [2, 1], "add or remove one record"),
        ([1, 1], [1], ADD),
        ((), ("a",), ADD),
        ({1, 2}, {1}, ADD),
        ({"a": 1, "b": 2}, {"a": 1}, ADD),
        (np.eye(3), np.eye(3)[:2], ADD),
        (Frame((1, 2)), Frame((1, 2), (3, 4)), ADD),
        ([1, 2], [2, 7], REPLACE),
        ({"a": 1}, {"a": 2}, REPLACE),
        (["x"], ["y"], "replace one record"),
        ([0.0, 1.0], [1.0, 0.0], VECTORS),
        (3, 4, VECTORS),
        (0.1, 1.1, BoundedDifference(largest=1)),
        ([0.0, 0.0], [1.0, 0.0], BoundedDifference(norm=1, most_changed=1)),
        ([0.0, 0.0], [0.6, 0.8], BoundedDifference(norm=2)),
    ],
)
def test_neighbours_are_told_by_content(first: Any, second: Any, relation: Any) -> None:
    check_neighbours(first, second, relation)
    check_neighbours(second, first, relation)


@pytest.mark.parametrize(
    ("first", "second", "relation", "said"),
    [
        ([1, 2], [1, 2], ADD, "the two datasets hold the same 2 records"),
        ([1, 2], [2, 1], REPLACE, "the two datasets hold the same 2 records"),
        ([1, 2], [1, 2, 3, 4], ADD, "0 of the 2 records of the first dataset are not in the second, 2 of the 4"),
        ([1, 2], [1, 3], ADD, "1 of the 2 records"),
        ([1, 2], [1], REPLACE, "1 of the 2 records"),
        ([1, 2], [3, 4], REPLACE, "could refute a true claim"),
        (3, 4, ADD, "3 is no collection of records"),
        ("abc", "abd", REPLACE, "is no collection of records"),
        ([1], [2], "one step", "relation = 'one step': it is one of 'add or remove one record'"),
        ([0.0, 0.0], [1.5, 0.0], VECTORS, "1.5 apart"),
        (
            [0.0, 0.0],
            [1.0, 1.0],
            BoundedDifference(norm=1),
            "2 apart, and neighbours are vectors that differ by at most 1 in the 1-norm",
        ),
        ([0.0, 0.0], [1.0, 1.0], BoundedDifference(norm=2), "1.41421 apart"),
        ([0.0, 0.0], [1.0, 1.0], BoundedDifference(most_changed=1), "2 coordinates differ"),
        ([0.0], [0.0], VECTORS, "the two vectors are equal"),
        ([0.0], [0.0, 1.0], VECTORS, "the shapes are"),
        ([0.0], [6.0], VECTORS, r"inputs\[1\] has a coordinate outside of \[-5, 5\]"),
        (["a"], ["b"], VECTORS, "vectors of numbers are needed"),
    ],
)
def test_what_is_no_neighbour_is_refused_with_the_reason(first: Any, second: Any, relation: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_neighbours(first, second, relation)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"largest": 0}, "largest = 0"),
        ({"largest": "x"}, "largest = 'x': a number is needed"),
        ({"low": None}, "low = None"),
        ({"norm": 3}, "norm = 3"),
        ({"most_changed": 0}, "most_changed = 0"),
        ({"low": 1, "high": 1}, "low must be below high"),
    ],
)
def test_a_bound_that_makes_no_sense_is_refused(options: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        BoundedDifference(**options)


def test_the_patterns_of_the_benchmark_are_there() -> None:
    found = {(tuple(first), tuple(second)) for first, second in bounded_difference(4)}
    one = (1.0, 1.0, 1.0, 1.0)
    expected = [(0, 1, 1, 1), (2, 1, 1, 1), (2, 0, 0, 0), (0, 2, 2, 2), (2, 2, 0, 0), (2, 2, 2, 2), (0, 0, 0, 0)]
    assert {(one, tuple(map(float, other))) for other in expected} <= found
    assert ((1.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.0)) in found
    assert len(found) == 8


def test_patterns_are_clipped_scaled_and_never_equal() -> None:
    clipped = bounded_difference(3, within=BoundedDifference(low=0, high=1))
    assert all(((side >= 0) & (side <= 1)).all() for pair in clipped for side in pair)
    assert len(bounded_difference(3, within=BoundedDifference(most_changed=1))) == 2
    for norm in (1, 2):
        for first, second in bounded_difference(5, within=BoundedDifference(largest=2, norm=norm)):
            assert math.isclose((np.abs(first - second) ** norm).sum() ** (1 / norm), 2)
    assert len(bounded_difference(1)) >= 2
    with pytest.raises(InputError, match="length = 0"):
        bounded_difference(0)


def test_records_are_added_removed_and_replaced_one_at_a_time() -> None:
    pairs = add_or_remove([1, 1, 2], records=[9])
    assert [second for _, second in pairs] == [[1, 1, 2, 9], [1, 2], [1, 1]]
    replaced = replace_one([1, 2], records=[2, 3])
    assert [second for _, second in replaced] == [[2, 2], [3, 2], [1, 3]]
    assert len(add_or_remove(list(range(1000)))) == MOST_PAIRS
    with pytest.raises(InputError, match="there is none"):
        replace_one([1], records=[1])
    with pytest.raises(InputError, match="could refute a true claim"):
        Pairs(pairs=(([1], [1, 2, 3]),), relation=ADD)


def lumpy(data: Any, rng: np.random.Generator, size: int) -> Any:
    """A sum in which records over 7 count twice: private for the others, at epsilon = 1."""
    values = np.asarray(data, dtype=float)
    noise = rng.geometric(1 - math.exp(-1), size) - rng.geometric(1 - math.exp(-1), size)
    return len(values) + 2 * int((values > 7).sum()) + noise


def test_the_worst_of_several_pairs_is_audited_on_fresh_outputs() -> None:
    result = audit(lumpy, inputs=add_or_remove([1, 2, 3], records=[0, 5, 9]), epsilon="1.2", samples=20_000)
    assert result.verdict is Verdict.REFUTED
    assert result.evidence["mechanism"]["inputs"] == ["[1, 2, 3]", "[1, 2, 3, 9]"]
    assert "6 pairs of datasets were tried on" in result.notes[0]
    assert result.notes[0] == result.evidence["notes"][0]
    assert result.samples <= 20_000
    assert recheck(result.evidence).verdict is Verdict.REFUTED


@pytest.mark.slow
def test_however_many_pairs_are_tried_a_true_claim_is_not_refuted_more_often() -> None:
    """Eight pairs that all attain the claim, at alpha = .2: of 12 audits more than 10 refute with probability 2e-7 at most."""

    def sound(data: Any, rng: np.random.Generator, size: int) -> Any:
        noise = rng.geometric(1 - math.exp(-1), size) - rng.geometric(1 - math.exp(-1), size)
        return sum(data) + noise

    pairs = Pairs(pairs=tuple(([place], [place + 1]) for place in range(8)), relation=REPLACE)
    verdicts = [audit(sound, inputs=pairs, epsilon=1, samples=1_000, alpha="0.2", seed=seed).verdict for seed in range(12)]
    assert verdicts.count(Verdict.REFUTED) <= 10


def test_hypothesis_climbs_to_the_worst_pair_and_shrinks_it() -> None:
    pairs = strategies.datasets_with_one_more(st.integers(0, 10))
    result = audit(lumpy, inputs=pairs, epsilon="1.2", samples=50_000)
    assert result.verdict is Verdict.REFUTED
    assert result.evidence["mechanism"]["inputs"] == ["[]", "[8]"]
    again = audit(lumpy, inputs=pairs, epsilon="1.2", samples=50_000)
    assert again.evidence == result.evidence


def test_strategies_give_neighbours() -> None:
    for pairs in (
        strategies.datasets_with_one_replaced(st.integers(0, 3)),
        strategies.vectors_apart(3),
        strategies.vectors_apart(3, within=BoundedDifference(norm=2, most_changed=2, low=0, high=1)),
    ):
        seen = []

        def scored(pair: Any, pairs: Any = pairs, seen: list[Any] = seen) -> float:
            check_neighbours(*pair, pairs.relation)
            seen.append(pair)
            return float(len(seen) % 7)

        pair, score, tried = strategies.climb(pairs, scored, seed=1)
        check_neighbours(*pair, pairs.relation)
        assert tried == len(seen) > 5
        assert score > 0


def test_pairs_without_promise_leave_the_best_of_them() -> None:
    pair, score, _ = strategies.climb(strategies.vectors_apart(2), lambda pair: -1.0, seed=0)
    assert score == -1.0
    check_neighbours(*pair, BoundedDifference())


def test_a_strategy_of_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="pairs of datasets are needed"):
        strategies.climb(strategies.PairStrategy(strategy=st.integers(), relation=None), lambda pair: 0.0, seed=0)
    equal = strategies.PairStrategy(strategy=st.just(([1], [1])), relation=REPLACE)
    with pytest.raises(InputError, match="gave no pair of neighbouring datasets"):
        strategies.climb(equal, lambda pair: 0.0, seed=0)


def test_without_hypothesis_the_install_line_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(MissingDependency, match=r"pip install 'dpverify\[pairs\]'"):
        strategies.vectors_apart(2)


def test_an_explicit_pair_is_checked_before_anything_is_drawn() -> None:
    def never(data: Any, rng: np.random.Generator, size: int) -> Any:
        raise AssertionError("drawn")

    with pytest.raises(InputError, match="could refute a true claim"):
        audit(never, inputs=([1], [1, 2, 3]), epsilon=1, relation="add or remove one record")
