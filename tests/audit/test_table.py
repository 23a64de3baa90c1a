"""Outputs as columns: what becomes a number, a kind or a code, whatever form a batch has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.audit.reading import from_array, from_objects
from dpverify.audit.table import LENGTH, Column, Kind, Table, constant, joined, name

LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=True), st.text(max_size=3), st.binary(max_size=3)
)
OUTPUTS = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


def same_output(one: Any, other: Any) -> bool:
    """Equality as a reader of the output sees it: by value, NaN equal to NaN, -0.0 not 0.0."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_output, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_output(one[key], other[key]) for key in one)
    if isinstance(one, str | bytes | list | dict | None) or isinstance(other, str | bytes | list | dict | None):
        return type(one) is type(other) and one == other
    if one != one or other != other:
        return one != one and other != other
    if one == 0 == other:
        return math.copysign(1, one) == math.copysign(1, other)
    return bool(one == other)


@given(st.lists(OUTPUTS, min_size=2, max_size=6))
def test_codes_are_equal_exactly_for_equal_outputs(outputs: list[Any]) -> None:
    codes = from_objects(outputs).whole()
    for i, one in enumerate(outputs):
        for j, other in enumerate(outputs):
            assert (codes[i] == codes[j]) == same_output(one, other)


@given(st.lists(OUTPUTS, min_size=2, max_size=6), st.integers(0, 5))
def test_the_code_of_an_output_does_not_depend_on_the_batch(outputs: list[Any], cut: int) -> None:
    together = from_objects(outputs).whole()
    head, tail = outputs[: cut + 1], outputs[cut + 1 :]
    apart = [from_objects(part).whole() for part in (head, tail) if part]
    assert (together == np.concatenate(apart)).all()
    assert (joined([from_objects(part) for part in (head, tail) if part]).whole() == together).all()


@pytest.mark.parametrize(
    ("array", "path", "expected"),
    [
        (np.array([1.5, 2.5]), (), [1.5, 2.5]),
        (np.array([1, 2], dtype=np.int8), (), [1, 2]),
        (np.array([True, False]), (), [1, 0]),
        (np.array([[1, 2], [3, 4]]), (1,), [2, 4]),
        (np.arange(8.0).reshape(2, 2, 2), (1, 0), [2, 6]),
        (np.array([1 + 2j, 3 - 1j]), ("imag",), [2, -1]),
        (np.array([(1, 2.5), (3, 4.5)], dtype=[("count", int), ("mean", float)]), ("mean",), [2.5, 4.5]),
        (np.array(["a", "bcd"]), (LENGTH,), [1, 3]),
        (np.array([[1, None], [2, "x"]], dtype=object), (0,), [1, 2]),
        (np.array([2**60 + 1, 2**60]), (), [2.0**60, 2.0**60]),
        (np.float32([0.1, 0.2]), (), np.float32([0.1, 0.2]).tolist()),
    ],
)
def test_arrays_of_every_type_become_columns(array: Any, path: Any, expected: list[float]) -> None:
    table = from_array(array)
    assert table.size == 2
    assert table.column(path).values.tolist() == expected


def test_large_integers_keep_their_identity() -> None:
    codes = from_array(np.array([2**60 + 1, 2**60, 2**60])).whole()
    assert codes[0] != codes[1] == codes[2]
    assert from_objects([10**400, -(10**400)]).column(()).values.tolist() == [math.inf, -math.inf]


@dataclass
class Released:
    count: int
    label: str


class Colour(IntEnum):
    RED = 1


class Opaque:
    pass


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("output", "path", "kind", "value"),
    [
        (None, (), Kind.NONE, None),
        (math.nan, (), Kind.NAN, None),
        ("yes", (), Kind.TEXT, None),
        (b"yes", (LENGTH,), Kind.NUMBER, 3),
        (Fraction(1, 2), (), Kind.NUMBER, 0.5),
        (Decimal("0.1"), (), Kind.NUMBER, 0.1),
        (Decimal("sNaN"), (), Kind.OTHER, None),
        (np.int16(3), (), Kind.NUMBER, 3),
        (np.float32(0.5), (), Kind.NUMBER, 0.5),
        (Colour.RED, (), Kind.NUMBER, 1),
        ([1, "a"], (1,), Kind.TEXT, None),
        ([1, "a"], (LENGTH,), Kind.NUMBER, 2),
        ((), (), Kind.LIST, None),
        ({"a": {"b": 2}}, ("a", "b"), Kind.NUMBER, 2),
        ({"a": 1}, (), Kind.MAPPING, None),
        ({3, 1}, (0,), Kind.NUMBER, 1),
        ({"b", "a", 1}, (1,), Kind.TEXT, None),
        ({1 + 2j, 1}, (0,), Kind.MAPPING, None),
        (1 + 2j, ("real",), Kind.NUMBER, 1),
        (Released(count=4, label="x"), ("count",), Kind.NUMBER, 4),
        (np.array([1.0, 2.0]), (1,), Kind.NUMBER, 2),
        (np.array(7.0), (), Kind.NUMBER, 7),
        (np.array([(1, 2.5)], dtype=[("count", int), ("mean", float)])[0], ("mean",), Kind.NUMBER, 2.5),
        (Opaque(), (), Kind.OTHER, None),
        (Silent(), (), Kind.OTHER, None),
        (1, (9,), Kind.ABSENT, None),
    ],
)
def test_objects_of_every_type_become_columns(output: Any, path: Any, kind: Kind, value: float | None) -> None:
    column = from_objects([output, None]).column(path)
    assert column.kinds[0] == kind
    if value is None:
        assert math.isnan(column.values[0])
    else:
        assert column.values[0] == value


def test_an_array_and_a_list_of_the_same_numbers_are_the_same_outputs() -> None:
    rows = [[1.0, 0.0], [2.5, -3.0]]
    assert (from_array(np.array(rows)).whole() == from_objects([tuple(row) for row in rows]).whole()).all()


def test_objects_without_a_stable_text_are_named_by_their_type() -> None:
    codes = from_objects([Opaque(), Opaque(), Silent()]).whole()
    assert codes[0] == codes[1] != codes[2]


def test_objects_that_show_nothing_are_counted_as_opaque() -> None:
    assert {kind.rpartition(".")[2] for kind in from_objects([(1, Opaque()), (2, "a")]).opaque} == {"Opaque"}
    assert from_objects([(1, Fraction(1, 2)), (2, "a")]).opaque == set()


class Incomparable:
    def __float__(self) -> float:
        return 1.0

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


def test_numbers_that_no_double_holds_keep_their_identity() -> None:
    for one, other in ((10**5000, 10**5000 + 1), (2**53 + 1, 2.0**53), (np.int64(2**53 + 1), 2.0**53), (Incomparable(), 1.0)):
        codes = from_objects([one, other, one, 0.5]).whole()
        assert codes[0] == codes[2] != codes[1]
    assert from_objects([2**53 + 1, 0.5]).example(0) == "9007199254740993"


def test_items_beyond_those_with_columns_still_enter_the_code() -> None:
    long, longer = list(range(200)), [*range(199), 0]
    codes = from_objects([long, longer, list(long)]).whole()
    assert codes[0] == codes[2] != codes[1]


def test_rounding_moves_numbers_and_nothing_else() -> None:
    table = from_objects([0.3, None, math.nan, -0.01, 1e300, math.inf, 2**60 + 1])
    moved = table.rounded({(): 0.25}).column(())
    assert moved.values[[0, 3, 4, 5]].tolist() == [0.25, 0.0, 1e300, math.inf]
    assert math.copysign(1, moved.values[3]) == 1
    assert (moved.kinds == table.column(()).kinds).all()
    assert moved.codes[6] == table.column(()).codes[6]
    assert table.rounded({}) is table
    assert from_objects([0.3]).rounded({(): 0.25}).whole() == from_objects([0.25]).whole()


def test_rows_can_be_taken_by_slice_and_by_mask() -> None:
    table = from_objects(["a", "b", "a", None])
    assert table.taken(slice(0, None, 2)).size == 2
    assert table.taken(np.array([True, False, True, True])).size == 3
    assert (table.taken(slice(0, None, 2)).whole() == table.whole()[[0, 2]]).all()


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (3.0, "3"),
        (0.5, "0.5"),
        ("yes", "'yes'"),
        (None, "None"),
        (math.nan, "NaN"),
        ((1, 0, 1), "(1, 0, 1)"),
        ({"a": 1, "b": "x"}, "{['a']=1, ['b']='x'}"),
        ([[1, 2], 3], "{[0][0]=1, [0][1]=2, [1]=3}"),
    ],
)
def test_examples_are_readable(output: Any, text: str) -> None:
    assert from_objects([output]).example(0) == text


def test_paths_have_names() -> None:
    assert name(()) == "output"
    assert name(("age", 0)) == "output['age'][0]"
    assert name((2, LENGTH)) == "length of output[2]"


def test_where_no_output_holds_a_number_there_is_none_and_constant_columns_have_kinds() -> None:
    assert np.isnan(from_objects(["a", "b"]).taken(slice(0, 1)).columns[()].values).all()
    assert not Table(2, {(): constant(Kind.NONE, 2)}).numbers()
    assert isinstance(constant(Kind.LIST, 3), Column)


@given(st.lists(st.binary(max_size=5), min_size=1, max_size=6))
def test_bytes_have_the_columns_of_lists_of_their_numbers(outputs: list[bytes]) -> None:
    quick, plain = from_objects(outputs), from_objects([*outputs, []])  # a list among them: item by item
    for path in {path for table in (quick, plain) for path in table.columns if path and path[-1] != LENGTH}:
        one, other = quick.column(path), plain.column(path).taken(slice(0, len(outputs)))
        assert one.kinds.tolist() == other.kinds.tolist()
        np.testing.assert_array_equal(one.values, other.values)
        assert one.codes.tolist() == other.codes.tolist()
    assert [len(output) for output in outputs] == quick.column((LENGTH,)).values.tolist()
