"""Call forms are read off the signature, and a batch is what has the right length."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from dpverify.audit.callables import batch_of, form_of, name_of
from dpverify.errors import InputError, MechanismError

RNG = np.random.default_rng(0)


def batched(data, rng, size):
    return data, rng, size


def one(data, rng):
    return data, rng


def plain(data):
    return (data,)


def swapped(rng, size, data):
    return data, rng, size


def by_keyword(data, *, size, rng):
    return data, rng, size


def with_defaults(data, scale=2.0, rng=None, size=1):
    assert scale == 2.0
    return data, rng, size


def positional(data, rng, size, /):
    return data, rng, size


def without_generator(data, size):
    return data, None, size


def anything(*arguments):
    return arguments


def more(data, rng, **options):
    assert not options
    return data, rng


class Callable:
    def __call__(self, data, rng, size):
        return data, rng, size

    def method(self, values, rng):
        return values, rng

    @staticmethod
    def static(data):
        return (data,)


def bound(scale, data, rng, size):
    assert scale == 3
    return data, rng, size


@pytest.mark.parametrize(
    ("mechanism", "form"),
    [
        (batched, "f(data, rng, size)"),
        (one, "f(data, rng)"),
        (plain, "f(data)"),
        (swapped, "f(data, rng, size)"),
        (by_keyword, "f(data, rng, size)"),
        (with_defaults, "f(data, rng, size)"),
        (positional, "f(data, rng, size)"),
        (without_generator, "f(data, size)"),
        (anything, "f(data)"),
        (more, "f(data, rng)"),
        (Callable(), "f(data, rng, size)"),
        (Callable().method, "f(data, rng)"),
        (Callable.static, "f(data)"),
        (functools.partial(bound, 3), "f(data, rng, size)"),
        (functools.partial(bound, scale=3), "f(data, rng, size)"),
        (lambda data: (data,), "f(data)"),
    ],
)
def test_forms_are_read_off_names_and_called_right(mechanism: Any, form: str) -> None:
    found = form_of(mechanism)
    assert str(found) == form
    returned = found.call(mechanism, "D", RNG, 7)
    assert returned == ("D", RNG, 7)[: len(returned)] or returned == ("D", None, 7)
    assert len(returned) == 1 + ("rng" in form) + ("size" in form) or not found.seeded


def test_a_builtin_with_a_signature_is_a_mechanism() -> None:
    assert str(form_of(abs)) == "f(data)"
    assert form_of(abs).call(abs, -3, None, 1) == 3


async def later(data):
    return data


class Later:
    async def __call__(self, data):
        return data


def nothing():
    return 1


def only_rng(rng, size):
    return rng, size


def two(data, epsilon, rng):
    return data, epsilon, rng


@pytest.mark.parametrize(
    ("mechanism", "said"),
    [
        (3, "mechanism = 3: a callable is needed"),
        (dict, "dict has no signature"),
        (min, "min has no signature"),
        (type("x", (), {"__signature__": 3, "__call__": nothing})(), "has no signature"),
        (later, "is a coroutine function"),
        (Later(), "is a coroutine function"),
        (nothing, r"nothing\(\) has no parameter for the data"),
        (only_rng, r"only_rng\(rng, size\) has no parameter for the data"),
        (two, r"two\(data, epsilon, rng\) needs epsilon, which an audit does not know"),
    ],
)
def test_what_fits_no_form_is_said(mechanism: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        form_of(mechanism)


def test_names_are_stable() -> None:
    assert name_of(functools.partial(bound, 3)) == "bound"
    assert name_of(Callable()) == "Callable"
    assert " at 0x" not in name_of(lambda data: data)


@pytest.mark.parametrize(
    "returned",
    [
        np.zeros(3),
        np.zeros((3, 2)),
        [1, "a", None],
        (1, 2, 3),
        range(3),
        (x for x in "abc"),
        np.array(["a", "b", "c"]),
        np.ma.MaskedArray([1.0, 2.0, 3.0], mask=[0, 1, 0]),
        [[1], [1, 2], []],
        {1, 2, 3},
    ],
)
def test_batches(returned: Any) -> None:
    assert batch_of(returned, 3, "f").size == 3


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (1.0, "f returned one float, and 3 outputs were asked for"),
        (None, "f returned None"),
        ("abc", "f returned one str"),
        ({"a": 1, "b": 2, "c": 3}, "f returned one dict"),
        (np.float64(3), "f returned an array without axes|f returned one float64"),
        (np.array(3.0), "f returned an array without axes"),
        (np.zeros(4), "f returned 4 outputs, and size = 3"),
        ([1, 2], "f returned 2 outputs"),
        ((x for x in range(2)), "f returned 2 outputs"),
        ((x for x in range(10**9)), "f returned more outputs"),
    ],
)
def test_what_is_no_batch_is_said(returned: Any, said: str) -> None:
    with pytest.raises(MechanismError, match=said):
        batch_of(returned, 3, "f")


def test_masked_values_are_missing() -> None:
    table = batch_of(np.ma.MaskedArray([1.0, 2.0, 3.0], mask=[0, 1, 0]), 3, "f")
    assert table.example(1) == "None"


def test_a_batch_does_not_change_when_its_memory_is_used_again() -> None:
    for memory in (np.zeros(3), np.zeros((3, 1)), np.zeros((3, 2), order="F"), np.zeros(3, dtype=object)):
        memory[:] = 1.0
        table = batch_of(memory, 3, "f").kept()
        memory[:] = 2.0
        assert all((values == 1.0).all() for values in table.numbers())
