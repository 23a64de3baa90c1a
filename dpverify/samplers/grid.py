"""Real-valued noise, exact on a grid: the ideal release rounded to a multiple of the granularity, to the last bit.

Rounding is post-processing, so the release keeps the guarantee of the noise on the reals, whatever the granularity. No
double is ever added to another: a uniform number's random bits are compared with certified values of the cdf at the edges
of the grid's cells until they say which cell it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from dpverify.arithmetic.exact import to_exact
from dpverify.arithmetic.precision import working_precision
from dpverify.errors import PrecisionError
from dpverify.samplers.bits import LARGEST_PRECISION, WORD_BITS
from dpverify.samplers.sampler import EXACT, Sampler

Cdf = Callable[[fmpq], "arb | fmpq"]
"""P(release <= y) for an exact y, at the working precision in force; continuous and increasing in y."""

_FARTHEST = 1 << 61
"""A cell index beyond this would not fit into 64 bits."""


def grid_release(noise_cdf: Cdf, granularity: fmpq, *, law: str) -> Sampler:
    """The sampler of data + noise, rounded to the nearest multiple of the granularity. `noise_cdf` is that of the noise.

    The outputs are the doubles nearest to the multiples: one for each cell, whatever the data.
    """
    step = int(granularity.p) / int(granularity.q)
    cells = lru_cache(maxsize=16)(
        lambda answer: Cells(lambda y: noise_cdf(y - answer), granularity, int((answer / granularity).floor()))
    )

    def release(data: Any, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        found: NDArray[np.float64] = (cells(to_exact(data, "data")).draw(rng, size) * step).astype(np.float64)
        return found

    return Sampler(exactness=EXACT, law=law, release=release)


class Cells:
    """The law of the release as cells: cell k holds what is nearest to k times the granularity."""

    def __init__(self, cdf: Cdf, granularity: fmpq, centre: int) -> None:
        self._cdf = cdf
        self._granularity = granularity
        self._centre = centre
        self._words: dict[int, int] = {}

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """`size` independent cells."""
        uniforms = rng.integers(0, 1 << WORD_BITS, size, dtype=np.int64)
        low, high = self._brackets(uniforms)
        while True:
            wide = np.flatnonzero(high - low > 1)
            if not wide.size:
                break
            middle = (low[wide] + high[wide]) // 2
            above = uniforms[wide] > self._words_at(middle)
            low[wide[above]] = middle[above]
            high[wide[~above]] = middle[~above]
        # Cell `high` lies between its lower edge, which is the upper edge of cell `low`, and its upper edge. Where the first
        # word does not put the number strictly between the two, more words decide.
        doubtful = (uniforms <= self._words_at(low)) | (uniforms >= self._words_at(high))
        for place in np.flatnonzero(doubtful):
            high[place] = self._exactly(int(uniforms[place]), rng)
        return high

    def _brackets(self, uniforms: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Cells low < high such that, as far as first words go, the number lies between their upper edges."""
        largest = (1 << WORD_BITS) - 1
        least, most = (int(uniforms.min()), int(uniforms.max())) if uniforms.size else (0, 0)
        ends = [self._centre]
        for direction in (-1, 1):
            reach = 1
            while True:
                end = self._centre + direction * reach
                ends.append(end)
                word = self._word(end)
                if (word == 0 or word < least) if direction < 0 else (word >= largest or word > most):
                    break
                reach *= 2
                if reach > _FARTHEST:
                    break
        ladder = np.array(sorted(ends), dtype=np.int64)
        place = np.searchsorted(self._words_at(ladder), uniforms, side="left")
        return ladder[np.maximum(place - 1, 0)], ladder[np.clip(place, 1, len(ladder) - 1)]

    def _exactly(self, uniform: int, rng: np.random.Generator) -> int:
        """The cell of a number whose first word does not settle it: search with as many words as it takes."""
        bits = WORD_BITS
        low, high = self._centre - 1, self._centre + 1

        def is_above(cell: int) -> bool:
            nonlocal uniform, bits
            while True:
                edge = self._floor(cell, bits)
                if uniform != edge:
                    return uniform > edge
                uniform = (uniform << WORD_BITS) | int(rng.integers(0, 1 << WORD_BITS))
                bits += WORD_BITS

        while not is_above(low):
            low = self._centre - 2 * (self._centre - low)
        while is_above(high):
            high = self._centre + 2 * (high - self._centre)
        while high - low > 1:
            middle = (low + high) // 2
            if is_above(middle):
                low = middle
            else:
                high = middle
        return high

    def _words_at(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        distinct, place = np.unique(cells, return_inverse=True)
        return np.array([self._word(int(cell)) for cell in distinct], dtype=np.int64)[place]

    def _word(self, cell: int) -> int:
        """The first word of the probability of all cells up to this one."""
        found = self._words.get(cell)
        if found is None:
            found = self._words[cell] = self._floor(cell, WORD_BITS)
        return found

    def _floor(self, cell: int, bits: int) -> int:
        edge = self._granularity * (2 * cell + 1) / 2
        precision = bits + 64
        while precision <= LARGEST_PRECISION:
            with working_precision(precision):
                value = self._cdf(edge)
                if isinstance(value, fmpq):
                    return int((value * (1 << bits)).floor())
                scaled = value * (1 << bits)
                whole = scaled.floor().unique_fmpz()
                if whole is not None:
                    return int(whole)
                # So near 0 or 1 that only a number with the very same word needs to be told from it, by further words.
                if scaled < 1:
                    return 0
                if scaled >= (1 << bits) - 1:
                    return (1 << bits) - 1
            precision *= 2
        raise PrecisionError(f"the cdf at {edge} stays undecided at {LARGEST_PRECISION} bits; shift the grid.", reached=0)
