"""What is asked of a block of outputs, and the answer: counts of events, or the outputs themselves while events are sought.

The same few lines count in this process and in a worker far away, so that where a block was drawn cannot matter. An answer
without outputs is a few numbers however large the block was.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice

import numpy as np

from dpverify.audit.calls import Caller, Request
from dpverify.audit.counting import counts_of
from dpverify.audit.events import Event
from dpverify.audit.table import Path, Table

FIRST_CALLS = 16
"""Outputs that every process draws twice with the same seed before it serves an audit."""

FIRST_BLOCK = 2**32 - 2
"""The number of the block that these outputs come from; no other block has it."""

FAINT, NEVER = -10.0, -60.0
"""Logarithms of the probabilities that two processes, and two of very many blocks, begin alike by chance."""

FEW_MARKED_ROWS, MARKED_ROWS = 48, 256
MARKED_COLUMNS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which events to count in a block: each with whether it sees every bit (`precise`) or outputs rounded to `grid`.

    `keep`: the outputs are wanted as well, to look for events in them.
    """

    events: tuple[Event, ...] = ()
    precise: tuple[bool, ...] = ()
    grid: Mapping[Path, float] = field(default_factory=dict)
    keep: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """One process that calls the mechanism, from its first call on. `first` and `again` identify the outputs of two calls on
    the same input with the same seed, before any other call; both are 0 where outputs vary too little to say."""

    name: str
    first: int
    again: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Counts of one block: hits of each event, and how hits follow each other (`dependence.neighbours`).

    `mark` identifies the first outputs, where these vary enough that no two blocks should ever begin alike; None else.
    """

    size: int
    width: int
    hits: tuple[int, ...]
    neighbours: tuple[tuple[float, float], ...]
    mark: int | None
    life: Life | None = None
    table: Table | None = None


def answer_of(table: Table, question: Question, life: Life | None = None) -> Answer:
    """Count the events of a question in a block."""
    counts = counts_of(table, question.events, question.precise, question.grid)
    return Answer(
        size=table.size,
        width=table.width,
        hits=tuple(hits for hits, _, _ in counts),
        neighbours=tuple((excess, variance) for _, excess, variance in counts),
        mark=mark_of(table),
        life=life,
        table=table.kept() if question.keep else None,
    )


def mark_of(table: Table) -> int | None:
    """The first outputs as one number, None where it would say little.

    Of two blocks of independent outputs the first n are equal with probability (sum p_i^2)^n. None unless that is below
    e^NEVER by the estimate of sum p_i^2 that these outputs give.
    """
    columns = dict(islice(table.columns.items(), MARKED_COLUMNS))
    whole = columns.get(()) if len(columns) == 1 else None
    for rows in (FEW_MARKED_ROWS, MARKED_ROWS):  # blocks that begin alike are identified by equally many rows
        size = min(table.size, rows)
        if whole is not None:
            codes = whole.taken(slice(0, size)).codes
        else:
            codes = Table(size, {path: column.taken(slice(0, size)) for path, column in columns.items()}).whole()
        if _chance_of_the_same(codes.tolist()) <= NEVER:
            return _identified(codes)
    return None


def _chance_of_the_same(codes: list[int]) -> float:
    """The logarithm of the probability, estimated from these, that as many other outputs would be the same one by one."""
    size, pairs = len(codes), 0
    if len(set(codes)) < size:
        pairs = sum(count * (count - 1) for count in Counter(codes).values())
    return size * math.log(max(pairs / max(size * (size - 1), 1), 1 / max(size, 2)))


def begin(caller: Caller, size: int, name: str | None = None) -> Life:
    """The first two calls of a process: the same input, the same seed."""
    request = Request(side=0, block=FIRST_BLOCK, size=size)
    codes = [caller.outputs(request).whole() for _ in range(2)]
    varied = _chance_of_the_same([code for one in codes for code in one.tolist()]) < FAINT
    first, again = map(_identified, codes) if varied else (0, 0)
    return Life(name=name or f"{os.getpid()}-{os.urandom(8).hex()}", first=first, again=again)


def _identified(codes: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> int:
    return int.from_bytes(blake2b(np.ascontiguousarray(codes).tobytes(), digest_size=7).digest(), "little")
