"""Drawing: who is called, in which order, within which budget.

Blocks are numbered in the order in which they are drawn, whichever side they serve, and their numbers seed them. What is drawn
is counted on either side and never exceeds the budget. Nothing here looks at an output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dpverify.audit.calls import Caller, Request
from dpverify.audit.table import Table

LARGEST_BLOCK = 10_000
"""Outputs of one block, at most: memory stays flat, and a large sample has many independently seeded blocks."""

ROOM = 2_000_000
"""Cells of one block, at most: where outputs have thousands of coordinates, blocks are smaller."""

FEWEST_BLOCKS = 32
"""Blocks a side, at least (as far as there are outputs), so that dependence inside a block can show."""


class Sampler:
    """Draws blocks of outputs of either side and keeps count."""

    def __init__(self, caller: Caller, *, budget: int, seed: int, progress: Callable[[int, int], None]) -> None:
        self.caller = caller
        self.budget = budget
        self.drawn = [0, 0]
        self.blocks = 0
        self.width = 1
        """Columns of the widest block so far."""
        self.coins = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(2**32 - 1, 0))))
        """Decides which side a trial belongs to and the order of blocks; no mechanism sees it."""
        self._progress = progress

    @property
    def left(self) -> int:
        """Outputs that either side may still draw."""
        return self.budget - max(self.drawn)

    def block(self, side: int, size: int, *, apart: bool = False) -> Table:
        """One block of one side."""
        if self.drawn[side] + size > self.budget:
            raise AssertionError(f"{self.drawn[side]} + {size} outputs exceed the budget of {self.budget}")
        request = Request(side=side, block=self.blocks, size=size, apart=apart)
        self.blocks += 1
        table = self.caller.outputs(request)
        self.drawn[side] += size
        self.width = max(self.width, len(table.columns))
        self._progress(sum(self.drawn), 2 * self.budget)
        return table

    def blocks_of(self, sizes: tuple[int, int], *, apart: bool = False) -> Iterator[tuple[int, Table]]:
        """Blocks of both sides, in turns, until each has had its number: pairs of a side and a block."""
        largest = max(min(LARGEST_BLOCK, ROOM // self.width), 1)
        plans = [_split(size, largest) for size in sizes]
        for place in range(max(map(len, plans))):
            turns = (0, 1) if self.coins.random() < 0.5 else (1, 0)
            for side in turns:
                if place < len(plans[side]):
                    yield side, self.block(side, plans[side][place], apart=apart)


def _split(size: int, largest: int) -> list[int]:
    """Block sizes that add up to `size` and differ by one at most."""
    if size == 0:
        return []
    count = max(min(FEWEST_BLOCKS, size), -(-size // largest))
    return [size // count + (place < size % count) for place in range(count)]
