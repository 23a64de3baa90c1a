"""The global generators: seeded for every block, and put back, whoever else uses them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from dpverify.audit.api import audit
from dpverify.audit.callables import form_of
from dpverify.audit.calls import Calls, Request
from dpverify.audit.generators import GlobalGenerators

WORDS = np.arange(5, dtype=np.uint32)


def state() -> tuple[Any, Any]:
    numbers: Any = np.random.get_state()
    return random.getstate(), (numbers[1].tolist(), *numbers[2:])


def drawn() -> tuple[float, float, float]:
    return random.random(), random.gauss(), float(np.random.standard_normal())


def test_kept_or_not_a_block_is_seeded_alike_and_all_is_put_back() -> None:
    np.random.standard_normal()  # one of a pair of normal numbers: the other one waits
    before = state()
    one, other = GlobalGenerators(), GlobalGenerators()
    found = []
    for _ in range(2):
        with one.seeded(WORDS):
            found.append(drawn())
    with one.kept():
        for _ in range(3):
            with one.seeded(WORDS):
                found.append(drawn())
        with one.kept(), one.seeded(WORDS + 1):
            assert drawn() != found[0]
        with one.seeded(WORDS):
            drawn()
            inside = state()
            with other.kept(), other.seeded(WORDS):  # an audit inside a mechanism
                found.append(drawn())
            assert state() == inside
        assert state() != before
    assert len(set(found)) == 1
    assert state() == before


def test_they_are_put_back_after_an_error_too() -> None:
    before, generators = state(), GlobalGenerators()
    with pytest.raises(ZeroDivisionError), generators.kept(), generators.seeded(WORDS):
        raise ZeroDivisionError
    assert state() == before
    with generators.kept():  # nobody keeps them any more
        assert generators._kept is not None


def test_a_mechanism_that_exchanges_the_generator_is_seeded_all_the_same() -> None:
    def exchanging(data: int) -> float:
        found = float(np.random.random())
        np.random.set_bit_generator(np.random.MT19937(1))  # type: ignore[attr-defined]
        return found

    before = state()
    calls = Calls(exchanging, form_of(exchanging), (0, 1), 3)
    request = Request(side=0, block=4, size=1)
    alone = calls.outputs(request).column(()).values.tolist()
    with calls.many():
        assert [calls.outputs(request).column(()).values.tolist() for _ in range(2)] == [alone, alone]
    assert state() == before


def test_they_are_put_back_where_an_audit_is_broken_off() -> None:
    def stop(done: int, _: int) -> None:
        if done > 200:
            raise KeyboardInterrupt

    def mechanism(data: int) -> float:
        return data + random.random() + float(np.random.standard_normal())

    before = state()
    with pytest.raises(KeyboardInterrupt):
        audit(mechanism, inputs=(0, 1), epsilon=1, samples=1000, progress=stop)
    assert state() == before


def test_an_interrupt_between_two_blocks_leaves_them_as_they_were() -> None:
    """The exception holds on to whatever was on its way, and so to those who keep the generators."""

    def interrupt(drawn: int, budget: int) -> None:
        if drawn > 5_000:
            raise KeyboardInterrupt

    before = state()
    with pytest.raises(KeyboardInterrupt) as held:
        audit(
            lambda data, rng, size: data + rng.laplace(size=size), inputs=(0, 1), epsilon=1, samples=20_000, progress=interrupt
        )
    assert held.value.partial.samples > 0  # type: ignore[attr-defined]
    assert state() == before


def test_another_global_generator_is_put_back_too() -> None:
    before = np.random.get_bit_generator()
    mine = np.random.PCG64(4)
    np.random.set_bit_generator(mine)
    try:
        state = str(mine.state)
        result = audit(lambda data: round(data + np.random.laplace()), inputs=(0, 1), epsilon=1, samples=300)
        assert result.samples > 0
        assert np.random.get_bit_generator() is mine
        assert str(mine.state) == state
    finally:
        np.random.set_bit_generator(before)
