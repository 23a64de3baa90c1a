"""Neighbours, norms and sensitivities."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.adjacency import Relation, norm_bound, range_bound, sensitivity
from dpverify.errors import ImpossibleRequest, InputError

sizes = st.lists(st.fractions(0, 10, max_denominator=12), min_size=1, max_size=6).filter(any)
norms = st.fractions(1, 40, max_denominator=6)


@given(coordinates=sizes, some=st.lists(norms, min_size=2, max_size=2))
def test_the_bound_falls_from_the_sum_to_the_maximum(coordinates: list[Fraction], some: list[Fraction]) -> None:
    low, high = sorted(some)
    first, second = (norm_bound(coordinates, p, digits=25) for p in (low, high))
    assert second.exact_lower <= first.exact_upper
    assert norm_bound(coordinates, 1) == sum(coordinates)
    assert norm_bound(coordinates, None) == max(coordinates)
    assert max(coordinates) <= second.exact_upper
    assert first.exact_lower <= sum(coordinates)


@given(coordinates=sizes, norm=st.integers(1, 12))
def test_the_bound_to_the_power_is_the_sum_of_powers(coordinates: list[Fraction], norm: int) -> None:
    bound = norm_bound(coordinates, norm, digits=40)
    total = sum(size**norm for size in coordinates)
    assert bound.exact_lower**norm <= total <= bound.exact_upper**norm


@pytest.mark.parametrize(
    ("coordinates", "norm", "exact"),
    [(["3", "4"], 2, "5"), (["2"] * 8, "3/2", "8"), (["0.1", "0.1"], 1, "1/5"), (["1", "0", "0"], 7, "1")],
)
def test_rational_bounds_are_exact(coordinates: list[str], norm: Any, exact: str) -> None:
    found = norm_bound(coordinates, norm)
    assert found.is_exact
    assert found == Fraction(exact)


def test_ranges_bound_the_coordinates() -> None:
    assert range_bound([(0, 3), ("-1", 3)], 2) == 5
    with pytest.raises(InputError, match="swap"):
        range_bound([(1, 0)], 2)


@given(size=st.fractions("1/10", 10, max_denominator=10), p=norms, q=norms, dimensions=st.integers(1, 30))
def test_from_one_norm_to_another(size: Fraction, p: Fraction, q: Fraction, dimensions: int) -> None:
    """The factor is attained: by one coordinate for q >= p, by equal coordinates below."""
    found = sensitivity(size, norm=p, dimensions=dimensions).in_norm(q, digits=25)
    if q >= p:
        assert found == size
    else:
        equal = norm_bound([1] * dimensions, q, digits=30), norm_bound([1] * dimensions, p, digits=30)
        assert found.exact_lower <= size * equal[0].exact_upper / equal[1].exact_lower
        assert found.exact_upper >= size * equal[0].exact_lower / equal[1].exact_upper


def test_no_norm_exceeds_the_sum_norm() -> None:
    one = sensitivity(3, norm=1, dimensions=5)
    assert all(one.in_norm(q) == 3 for q in (1, "3/2", 2, 17, None))
    assert sensitivity(3, norm=None, dimensions=4).in_norm(1) == 12
    assert sensitivity(3, norm="inf", dimensions=4).in_norm(2) == 6


def test_relations_and_groups() -> None:
    one = sensitivity("1/3")
    assert one.under(Relation.REPLACE).size == Fraction(2, 3)
    assert one.under(Relation.ADD_OR_REMOVE) == one
    assert one.for_groups(4).size == Fraction(4, 3)
    replaced = sensitivity(1, relation=Relation.REPLACE)
    with pytest.raises(ImpossibleRequest, match="differ in size"):
        replaced.under(Relation.ADD_OR_REMOVE)


def test_the_meaning_is_a_sentence_with_the_numbers() -> None:
    assert sensitivity("1/3", norm=2, dimensions=3).meaning() == (
        "Between datasets that add or remove one record, the true answer moves by at most 1/3 in the 2-norm."
    )
    assert "absolute value" in sensitivity(1).meaning()
    assert "maximum norm" in sensitivity(1, norm=None, dimensions=2).meaning()


def test_lemma_two_on_every_small_histogram() -> None:
    """Counts in three cells, records of three kinds: adding a record moves one cell by 1, replacing one moves two."""
    cells = 3
    tables = list(itertools.product(range(3), repeat=cells))
    moves: dict[Relation, list[tuple[int, ...]]] = {Relation.ADD_OR_REMOVE: [], Relation.REPLACE: []}
    for a, b in itertools.product(tables, repeat=2):
        move = tuple(x - y for x, y in zip(a, b, strict=True))
        if sum(map(abs, move)) == 1:
            moves[Relation.ADD_OR_REMOVE].append(move)
        if sum(move) == 0 and sum(map(abs, move)) == 2:
            moves[Relation.REPLACE].append(move)
    for relation, seen in moves.items():
        by_coordinate = [max(abs(move[k]) for move in seen) for k in range(cells)]
        for p in (1, 2, 3):
            true = max(sum(abs(x) ** p for x in move) for move in seen)
            assert true <= norm_bound(by_coordinate, p, digits=30).exact_upper ** p
        one_norm = max(sum(map(abs, move)) for move in seen)
        assert one_norm <= sensitivity(1).under(relation).size


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: norm_bound([], 2), "at least one"),
        (lambda: norm_bound([0, 0], 2), "above 0"),
        (lambda: norm_bound([-1], 2), ">= 0"),
        (lambda: norm_bound([1], "1/2"), "triangle"),
        (lambda: sensitivity(0), "nothing to protect"),
        (lambda: sensitivity(1, dimensions=0), "whole number"),
        (lambda: sensitivity(1).for_groups(0), "whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make()
