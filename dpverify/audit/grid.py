"""The grid to which numbers are rounded where only the reals are at issue: low-order bits are gone, the noise is not.

Rounding is one function, the same for both inputs, applied to outputs, so it is post-processing and cannot make a private
mechanism look otherwise. The spacing of each coordinate is chosen from exploration outputs of both sides together and is
fixed before any output is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpverify.audit.events.atoms import NEGATIVE_ZERO, OneOf
from dpverify.audit.events.pieces import Pieces
from dpverify.audit.events.thresholds import Within
from dpverify.audit.features import Coordinate
from dpverify.audit.table import Column, Floats, Kind, Path, Table, is_length

if TYPE_CHECKING:
    from dpverify.audit.events import Event

BITS_OF_SPREAD = 20
"""Grid points in the middle half of a coordinate's values, as a power of two: far finer than any noise, far coarser than
the last bits of a double, and still coarser than those of a float32."""


def grid_of(tables: tuple[Table, Table], known: Mapping[Path, float]) -> dict[Path, float]:
    """A spacing for every coordinate that holds numbers; what is already known stays."""
    grid = dict(known)
    for path in dict.fromkeys(path for table in tables for path in table.columns):
        if path in grid or is_length(path):
            continue
        columns = [table.column(path) for table in tables]
        numbers = np.concatenate([column.values[column.kinds == Kind.NUMBER] for column in columns])
        numbers = numbers[np.isfinite(numbers)]
        if len(numbers):
            grid[path] = _spacing(numbers)
    return grid


def before_rounding(event: Event, grid: Mapping[Path, float], table: Table) -> Event | None:
    """The event that holds of the outputs of a table just where `event` holds of rounded ones, if it is a threshold, some
    intervals or, where all outputs are numbers, one number; else None.

    Rounding never turns two numbers around, so what it takes to at most c is all that is at most some double: comparing
    with that one saves rounding every output.
    """
    if isinstance(event, OneOf) and event.path is not None and len(event.codes) == 1:
        plain = table.column(event.path).plain
        return _around(event.path, event.codes[0], grid.get(event.path, 0.0)) if plain else None
    if not isinstance(event, Within | Pieces) or not isinstance(event.scalar, Coordinate):
        return None
    spacing = grid.get(event.scalar.path)
    return event if spacing is None or is_length(event.scalar.path) else _moved(event, spacing)


@lru_cache(maxsize=256)
def _around(path: Path, code: int, spacing: float) -> Within | Pieces | None:
    """All numbers that are rounded to the one with this code; None where no number is."""
    value = float(np.uint64(code).view(np.float64))
    if code == NEGATIVE_ZERO or not spacing or is_length(path) or not abs(value) < MOST_STEPS * spacing or value % spacing:
        return None
    return _moved(Within(Coordinate(path), value - spacing, value), spacing)


MOST_STEPS = 2.0**50
"""Multiples of the spacing beyond which neighbours are hardly told apart."""


@lru_cache(maxsize=256)
def _moved(event: Within | Pieces, spacing: float) -> Within | Pieces | None:
    if isinstance(event, Pieces):
        moved = [tuple(_largest_rounded_to(end, spacing) for end in interval) for interval in event.intervals]
        ends = [(low, high) for low, high in moved if low is not None and high is not None]
        return replace(event, intervals=tuple(ends)) if len(ends) == len(moved) else None
    low, high = (_largest_rounded_to(cut, spacing) for cut in (event.low, event.high))
    return None if low is None or high is None else replace(event, low=low, high=high)


def _largest_rounded_to(cut: float, spacing: float) -> float | None:
    """The largest double whose rounded value is at most `cut`; None where it is not found half a spacing above."""
    if math.isinf(cut):
        return cut
    edge = (math.floor(cut / spacing) + 0.5) * spacing
    around = np.array([np.nextafter(edge, -math.inf), edge, np.nextafter(edge, math.inf)])
    moved = Column(around, np.full(3, Kind.NUMBER, dtype=np.uint8)).rounded(spacing).values
    fits = int(np.count_nonzero(moved <= cut))
    return float(around[fits - 1]) if fits in (1, 2) else None


def _spacing(numbers: Floats) -> float:
    """A power of two; at most 1 where all numbers are whole, so that whole numbers stay what they are."""
    low, high = map(float, np.quantile(numbers, [0.25, 0.75]))
    spread = high - low or float(numbers.std()) or float(np.abs(numbers).max()) or 1.0
    exponent = math.frexp(spread)[1] - 1 - BITS_OF_SPREAD if math.isfinite(spread) else 0
    if bool((numbers == np.rint(numbers)).all()):
        exponent = min(exponent, 0)
    return math.ldexp(1.0, max(exponent, -1000))
