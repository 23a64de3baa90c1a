"""Drawing: in which order, within which budget; who draws is `crew`.

Blocks are numbered in the order in which they are planned, whichever side they serve, and their numbers seed them. What is
drawn is counted on either side and never exceeds the budget. Nothing here looks at an output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dpverify.audit.blocks import Answer, Life, Question
from dpverify.audit.calls import Request
from dpverify.audit.crew import Crew

SMALL_BLOCK = 10_000
LARGEST_BLOCK = 131_072
"""Outputs of one block, at most: memory stays flat, and a large sample has many independently seeded blocks."""

ROOM = 2_000_000
"""Cells of one block, at most: where outputs have thousands of coordinates, blocks are smaller."""

FEWEST_BLOCKS = 32
"""Blocks a side, at least (as far as there are outputs), so that dependence inside a block can show."""


class Sampler:
    """Plans blocks of outputs of either side, has them drawn, and keeps count."""

    def __init__(
        self,
        crew: Crew,
        *,
        budget: int,
        seed: int,
        first: int,
        progress: Callable[[int, int], None],
        pair: tuple[int, int] = (0, 1),
    ) -> None:
        self.crew = crew
        self.pair = pair
        """The places of the two inputs among all that the crew knows."""
        self.budget = budget
        self.drawn = [0, 0]
        self.blocks = 0
        self.width = 1
        """Columns of the widest block so far."""
        self.lives: dict[str, Life] = {}
        """The processes that have called the mechanism."""
        self.coins = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(2**32 - 1, 0))))
        """Decides which side a trial belongs to and the order of blocks; no mechanism sees it."""
        self.pairing = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(2**32 - 1, 1))))
        """Decides which output of one side is paired with which of the other."""
        self._first = first
        self._progress = progress
        self._planned = [2 * first, 0]

    @property
    def left(self) -> int:
        """Outputs that either side may still draw."""
        return self.budget - max(self._planned)

    def blocks_of(
        self, sizes: tuple[int, int], question: Question, *, apart: bool = False, fewest: int = FEWEST_BLOCKS
    ) -> Iterator[tuple[int, Answer]]:
        """Blocks of both sides, in turns, until each has had its number: pairs of a side and an answer.

        `fewest` blocks a side, at least; fewer will do where nobody asks how blocks vary.
        """
        for request, answer in self.crew.answers(self._requests(sizes, apart, fewest), question):
            if not self.lives:
                self.drawn[0] += 2 * self._first
            side = self.pair.index(request.side)
            self.drawn[side] += request.size
            self.width = max(self.width, answer.width)
            if answer.life is not None:
                self.lives.setdefault(answer.life.name, answer.life)
            self._progress(sum(self.drawn), 2 * self.budget)
            yield side, answer

    def _requests(self, sizes: tuple[int, int], apart: bool, fewest: int) -> Iterator[Request]:
        largest = max(min(largest_block(self.budget), ROOM // self.width), 1)
        counts = [_blocks(size, largest, fewest) for size in sizes]
        for place in range(max(counts)):
            turns = (0, 1) if self.coins.random() < 0.5 else (1, 0)
            for side in turns:
                if place < counts[side]:
                    size = sizes[side] // counts[side] + (place < sizes[side] % counts[side])
                    if self._planned[side] + size > self.budget:
                        raise AssertionError(f"{self._planned[side]} + {size} outputs exceed the budget of {self.budget}")
                    self._planned[side] += size
                    self.blocks += 1
                    yield Request(side=self.pair[side], block=self.blocks - 1, size=size, apart=apart)


def largest_block(budget: int) -> int:
    """Outputs of one block, at most: as many as stay in a processor's cache, and about 75 blocks a side or more."""
    return max(SMALL_BLOCK, min(budget // 75, LARGEST_BLOCK))


def _blocks(size: int, largest: int, fewest: int) -> int:
    """How many blocks, whose sizes differ by one at most."""
    return 0 if size == 0 else max(min(fewest, size), -(-size // largest))
