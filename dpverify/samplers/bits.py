"""Exact coins: a uniform number's random bits against the binary digits of a probability, as far as it takes to differ.

A probability is any real in [0, 1] that can be enclosed as tightly as is asked. Digits come in words, and almost every
comparison is settled by the first word; the others draw more random bits and compute more digits. No floating-point
number takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from dpverify.arithmetic.precision import working_precision
from dpverify.errors import PrecisionError

Probabilities: TypeAlias = Callable[[], "Sequence[arb | fmpq]"]
"""Computes several reals in [0, 1] at the working precision in force: balls that contain them, or exact values."""

WORD_BITS = 62
LARGEST_PRECISION = 1 << 17


class Digits:
    """The binary digits of several reals in [0, 1], in words of `word_bits` bits; 1 itself has the first word 2^word_bits."""

    def __init__(self, evaluate: Probabilities, *, word_bits: int = WORD_BITS) -> None:
        self.word_bits = word_bits
        self._evaluate = evaluate
        self._prefixes: list[list[int]] = []
        self.first: NDArray[np.int64] = np.array(self._prefix(0), dtype=np.int64)
        """The first word of each."""

    def __len__(self) -> int:
        return len(self.first)

    def word(self, which: int, place: int) -> int:
        """Word number `place` (from 0) of number `which`."""
        before = 0 if place == 0 else self._prefix(place - 1)[which]
        return self._prefix(place)[which] - (before << self.word_bits)

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """The first words of `size` uniform numbers."""
        return rng.integers(0, 1 << self.word_bits, size, dtype=np.int64)

    def _prefix(self, place: int) -> list[int]:
        while len(self._prefixes) <= place:
            self._prefixes.append(floors(self._evaluate, self.word_bits * (len(self._prefixes) + 1)))
        return self._prefixes[place]


def floors(evaluate: Probabilities, bits: int) -> list[int]:
    """floor(p 2^bits) of each, certified. Raises PrecisionError where a ball never settles between two integers."""
    precision = bits + 64
    while precision <= LARGEST_PRECISION:
        with working_precision(precision):
            found = [_floor(value, bits) for value in evaluate()]
        certain = [value for value in found if value is not None]
        if len(certain) == len(found):
            return certain
        precision *= 2
    raise PrecisionError(
        f"the binary digits of a probability stay undecided at {LARGEST_PRECISION} bits of working precision; "
        "a probability that is rational must be given exactly.",
        reached=0,
    )


def _floor(value: arb | fmpq, bits: int) -> int | None:
    if isinstance(value, fmpq):
        return int((value * (1 << bits)).floor())
    whole = (value * (1 << bits)).floor().unique_fmpz()
    return None if whole is None else int(whole)


class Uniform:
    """One uniform number in [0, 1) whose first word is known and whose further words are drawn when they are needed."""

    def __init__(self, first: int, rng: np.random.Generator, word_bits: int) -> None:
        self._words = [first]
        self._rng = rng
        self._word_bits = word_bits

    def is_below(self, digits: Digits, which: int) -> bool:
        """Whether it is below the real number `which`; certain after finitely many words, with probability 1."""
        place = 0
        while True:
            if place == len(self._words):
                self._words.append(int(self._rng.integers(0, 1 << self._word_bits)))
            word = digits.word(which, place)
            if self._words[place] != word:
                return self._words[place] < word
            place += 1


def coins(digits: Digits, which: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Independent coins: coin i is True with exactly the probability number `which[i]`."""
    uniforms, words = digits.draw(rng, which.size), digits.first[which]
    heads: NDArray[np.bool_] = uniforms < words
    for place in np.flatnonzero(uniforms == words):
        heads[place] = Uniform(int(uniforms[place]), rng, digits.word_bits).is_below(digits, int(which[place]))
    return heads


def pick(cumulative: Digits, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
    """Independent indices: index i has probability c_i - c_(i-1), c_0 <= c_1 <= ... the numbers of `cumulative`.

    The index is the number of c_i that a uniform number reaches; what is left above the last c_i is one index more.
    """
    uniforms = cumulative.draw(rng, size)
    reached = np.searchsorted(cumulative.first, uniforms, side="left")
    perhaps = np.searchsorted(cumulative.first, uniforms, side="right")
    for place in np.flatnonzero(reached != perhaps):
        uniform = Uniform(int(uniforms[place]), rng, cumulative.word_bits)
        while reached[place] < perhaps[place] and not uniform.is_below(cumulative, int(reached[place])):
            reached[place] += 1
    return reached.astype(np.int64)
