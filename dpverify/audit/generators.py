"""Python's and NumPy's global generators, lent to a mechanism that may draw from them, and put back.

They are seeded for every block, so that such a mechanism is reproducible. To put them back takes much longer than to seed
them, so they may be kept over many blocks.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import Any

import numpy as np
from numpy.random import MT19937
from numpy.typing import NDArray

_numpy_random: Any = np.random
"""Two of its functions are missing from its type stubs."""

_kept = Lock()
"""Held while somebody keeps the generators over many blocks. Whoever comes meanwhile, an audit inside a mechanism say, keeps
them for a block at a time, and finds them as they were after it."""


class GlobalGenerators:
    """What one caller of a mechanism does with the generators."""

    def __init__(self) -> None:
        self._scratch = MT19937()
        self._kept: ExitStack | None = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """While it lasts, the generators are not put back after a block, if nobody else keeps them."""
        if self._kept is not None or not _kept.acquire(blocking=False):
            yield
            return
        self._kept = ExitStack()
        self._kept.callback(_kept.release)
        self._kept.enter_context(self._exchanged())
        try:
            yield
        finally:
            self.put_back()

    def put_back(self) -> None:
        """Put them back now, if they are kept: whoever keeps them may have been left in the middle, by an interrupt say."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()

    @contextmanager
    def seeded(self, words: NDArray[Any]) -> Iterator[None]:
        """For one block: seeded with these five words."""
        if self._kept is not None:
            if _numpy_random.get_bit_generator() is not self._scratch:  # the mechanism has put another in its place
                _numpy_random.set_bit_generator(self._scratch)
            _seed(words)
            yield
            return
        with self._exchanged():
            _seed(words)
            yield

    @contextmanager
    def _exchanged(self) -> Iterator[None]:
        """Put back what was there. NumPy's is exchanged, which is quicker than a copy."""
        state, theirs = random.getstate(), _numpy_random.get_bit_generator()
        also: Any = np.random.get_state(legacy=False)  # set_bit_generator forgets the second half of a pair of normal numbers
        _numpy_random.set_bit_generator(self._scratch)
        try:
            yield
        finally:
            random.setstate(state)
            _numpy_random.set_bit_generator(theirs)
            if also["has_gauss"]:
                np.random.set_state(also)


def _seed(words: NDArray[Any]) -> None:
    random.seed(int(words[4]))
    np.random.seed(words[:4])
