"""Outputs of many datasets, drawn while a pair of them is chosen: once each, whichever pairs a dataset belongs to.

They are never counted by the audit of the pair that is chosen, but serve it to look for events. Memory is bounded: of large
samples a part is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from dpverify.audit.calls import Request
from dpverify.audit.sampling import LARGEST_BLOCK
from dpverify.audit.table import Table, joined

FIRST_BLOCK = 2**31
"""Blocks from here on belong to the search for a pair; no audit numbers so many."""

ROOM = 5_000_000
"""Cells of the outputs of one dataset that are kept, at most: an audit keeps more, to look for events in others."""

ROOM_OF_ALL = 36_000_000
"""The same of all datasets together."""

BLOCK = 1_000_000
"""Cells of one block, at most."""

MOST = 1_000_000
"""Outputs of one dataset that are drawn in one go, at most: pairs are told apart by then."""

FIRST_LOOK = 100
"""Outputs of the first block, which shows how wide an output is."""

Draw = Callable[[Iterable[Request]], Iterator[tuple[Request, Table]]]
"""Answers requests, whose `side` is the number of a dataset, in their order."""


class Stock:
    """What has been drawn of each dataset. `drawn` counts all outputs, of whatever dataset."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._kept: dict[int, list[Table]] = {}
        self._blocks = 0
        self._width = 0
        self.drawn = 0

    def fresh(self, wanted: Mapping[int, int]) -> Iterator[tuple[int, Table]]:
        """So many new outputs of each dataset, block by block; they are kept as far as there is room."""
        left = {number: min(size, MOST) for number, size in wanted.items()}
        if not self._width:  # how large blocks are must not depend on how many are on their way
            number = next(iter(left))
            first = min(left[number], FIRST_LOOK)
            left[number] -= first
            self._width = 1
            yield from self._blocks_of({number: first}, len(wanted))
        yield from self._blocks_of(left, len(wanted))

    def _blocks_of(self, wanted: Mapping[int, int], among: int) -> Iterator[tuple[int, Table]]:
        for request, table in self._draw(list(self._requests(wanted))):
            self._width = max(self._width, table.width)
            self.drawn += table.size
            self._keep(request.side, table, among)
            yield request.side, table

    def _keep(self, number: int, table: Table, among: int) -> None:
        kept = self._kept.setdefault(number, [])
        room = min(ROOM, ROOM_OF_ALL // among) // self._width - sum(one.size for one in kept)
        if room > 0:
            kept.append(table if table.size <= room else table.taken(slice(0, room)).kept())

    def forget(self, numbers: Iterable[int]) -> None:
        """These datasets are out of the running."""
        for number in numbers:
            self._kept.pop(number, None)

    def has(self, number: int) -> bool:
        """Whether any outputs of a dataset are kept."""
        return bool(self._kept.get(number))

    def kept(self, number: int) -> Table:
        """What is kept of a dataset; KeyError where there is nothing."""
        self._kept[number] = [joined(self._kept[number])]
        return self._kept[number][0]

    def _requests(self, wanted: Mapping[int, int]) -> Iterator[Request]:
        for number, size in wanted.items():
            while size > 0:
                block = max(min(size, LARGEST_BLOCK, BLOCK // self._width), 1)
                yield Request(side=number, block=FIRST_BLOCK + self._blocks, size=block)
                self._blocks += 1
                size -= block
