"""Exact draws from laws on finitely many outcomes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from dpverify.errors import InputError
from dpverify.samplers.bits import Digits, Probabilities, coins, pick
from dpverify.samplers.sampler import EXACT, Sampler
from dpverify.samplers.whole import whole_answer

Scores: TypeAlias = tuple[fmpq, ...]
Check: TypeAlias = Callable[[Any], Scores]

_AT_ONCE = 1 << 22
"""Table entries that are held at the same time."""


def response(flip: fmpq, values: int, *, law: str) -> Sampler:
    """The true value 0 ... values - 1, or with probability `flip` another one, all others alike."""
    digits = Digits(lambda: [flip])

    def release(data: Any, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        answer = whole_answer(int(data) if isinstance(data, bool | np.bool_) else data)
        if not 0 <= answer < values:
            raise InputError(f"data = {data!r}: the value must be one of 0 ... {values - 1}.")
        lies = coins(digits, np.zeros(size, dtype=np.int64), rng)
        steps = rng.integers(1, values, size, dtype=np.int64)
        return np.where(lies, (answer + steps) % values, answer)

    return Sampler(exactness=EXACT, law=law, release=release)


def selection(checked: Check, cumulative: Callable[[Scores], Probabilities], *, law: str) -> Sampler:
    """The index of a candidate. `checked` turns data into exact scores, `cumulative` those into the probabilities of all
    candidates up to each but the last."""
    table = lru_cache(maxsize=16)(lambda scores: Digits(cumulative(scores)))

    def release(data: Any, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        return pick(table(checked(data)), rng, size)

    return Sampler(exactness=EXACT, law=law, release=release)


def permute_and_flip(checked: Check, exponents: Callable[[Scores], Scores], *, law: str) -> Sampler:
    """The index of the first candidate, in random order, whose coin of probability e^exponent shows heads. The largest
    exponent is 0, so there is one."""
    table = lru_cache(maxsize=16)(lambda scores: Digits(partial(_exponentials, exponents(scores))))

    def release(data: Any, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        digits = table(checked(data))
        found = np.empty(size, dtype=np.int64)
        for start in range(0, size, max(1, _AT_ONCE // len(digits))):
            part = found[start : start + max(1, _AT_ONCE // len(digits))]
            order = rng.permuted(np.tile(np.arange(len(digits)), (part.size, 1)), axis=1)
            running = np.arange(part.size)
            place = 0
            while running.size:
                candidates = order[running, place]
                heads = coins(digits, candidates, rng)
                part[running[heads]] = candidates[heads]
                running = running[~heads]
                place += 1
        return found

    return Sampler(exactness=EXACT, law=law, release=release)


def _exponentials(exponents: Scores) -> list[arb | fmpq]:
    return [fmpq(1) if exponent == 0 else arb(exponent).exp() for exponent in exponents]
