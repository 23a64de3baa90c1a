"""Releases of a whole number: integer noise added to the true answer, exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.arithmetic.exact import to_exact
from dpverify.errors import InputError
from dpverify.samplers.integers import Integers
from dpverify.samplers.sampler import EXACT, Sampler

_NARROW = 1 << 62


def whole_release(noise: Callable[[np.random.Generator, int], Integers], *, law: str) -> Sampler:
    """The sampler of data + noise; the sum is exact, in Python integers where 64 bits are too few."""

    def release(data: Any, rng: np.random.Generator, size: int) -> Integers:
        answer = whole_answer(data)
        drawn = noise(rng, size)
        if abs(answer) >= _NARROW or (drawn.dtype != object and size and int(np.abs(drawn).max()) >= _NARROW):
            drawn = drawn.astype(object)
        return drawn + answer

    return Sampler(exactness=EXACT, law=law, release=release)


def clamped(inner: Sampler, largest: int, *, law: str) -> Sampler:
    """The sampler whose releases outside 0 ... largest are moved to the nearer end; the true answer must lie inside."""

    def release(data: Any, rng: np.random.Generator, size: int) -> Integers:
        answer = whole_answer(data)
        if not 0 <= answer <= largest:
            raise InputError(f"data = {data!r}: the count must lie between 0 and {largest}.")
        outputs: Integers = np.clip(inner(answer, rng, size), 0, largest)
        return outputs

    return Sampler(exactness=inner.exactness, law=law, release=release)


def whole_answer(data: Any) -> int:
    """The true answer as an integer, or an InputError."""
    exact = to_exact(data, "data")
    if exact.q != 1:
        raise InputError(f"data = {data!r}: noise from the integers is added to a whole number; round the answer first.")
    return int(exact.p)
