"""A changed input is noticed, an unchanged one is never accused."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from dpverify.audit.unchanged import same, snapshot


@dataclass
class Record:
    values: list[int] = field(default_factory=lambda: [1, 2])


class Plain:
    def __init__(self) -> None:
        self.values = np.arange(3.0)


class Frame:
    """Compares like a data frame: `equals` for all of it."""

    def __init__(self, values: list[float]) -> None:
        self.values = values

    def equals(self, other: Any) -> bool:
        return self.values == other.values


class Elementwise:
    """Compares like an array: element by element."""

    def __init__(self, values: list[float]) -> None:
        self.values = values

    def __eq__(self, other: object) -> Any:
        assert isinstance(other, Elementwise)
        return np.array(self.values) == np.array(other.values)

    __hash__ = None  # type: ignore[assignment]


class Incomparable:
    def __eq__(self, other: object) -> bool:
        raise TypeError

    __hash__ = None  # type: ignore[assignment]


class Undecided:
    def __eq__(self, other: object) -> bool:
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]


class Vague:
    def __eq__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise ValueError

    __hash__ = None  # type: ignore[assignment]


UNCHANGED = [
    1, 1.5, math.nan, 1j, "a", b"a", None, True, {1, 2}, frozenset({1}),
    [1, [2, math.nan]], (1, 2), {"a": [1]}, np.array([1.0, math.nan]), np.array([1, None], dtype=object),
    Record(), Plain(), Frame([1.0]), Elementwise([1.0, 2.0]), Incomparable(), Undecided(), Vague(), object(), len,
]  # fmt: skip


@pytest.mark.parametrize("value", UNCHANGED, ids=lambda value: type(value).__name__)
def test_what_did_not_change_is_the_same(value: Any) -> None:
    assert same(snapshot(value), value)


def change_item(value: Any) -> None:
    value[0] = 9


CHANGES = [
    ([1, 2], change_item),
    ([[1], 2], lambda value: value[0].append(3)),
    (np.arange(3), change_item),
    (np.array([0.0]), lambda value: np.negative(value, out=value)),
    (np.array([[1], None], dtype=object), lambda value: value[0].append(3)),
    ({"a": [1]}, lambda value: value["a"].append(2)),
    ({"a": 1}, lambda value: value.update(b=2)),
    ({1, 2}, lambda value: value.add(3)),
    (bytearray(b"ab"), change_item),
    (Record(), lambda value: value.values.append(3)),
    (Plain(), lambda value: change_item(value.values)),
    (Frame([1.0]), lambda value: change_item(value.values)),
    (Elementwise([1.0, 2.0]), lambda value: change_item(value.values)),
]


@pytest.mark.parametrize(("value", "change"), CHANGES, ids=lambda value: type(value).__name__)
def test_what_changed_is_not(value: Any, change: Any) -> None:
    before = snapshot(value)
    change(value)
    assert not same(before, value)


def test_another_type_is_another_value() -> None:
    assert not same(1, 1.0)
    assert not same(np.zeros(2), np.zeros(3))


def test_what_cannot_be_copied_is_not_accused() -> None:
    generator = (x for x in range(3))
    assert snapshot(generator) is generator
    assert same(snapshot(generator), generator)
