"""The grid to which numbers are rounded where only the reals are at issue: low-order bits are gone, the noise is not.

Rounding is one function, the same for both inputs, applied to outputs, so it is post-processing and cannot make a private
mechanism look otherwise. The spacing of each coordinate is chosen from exploration outputs of both sides together and is
fixed before any output is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dpverify.audit.table import Floats, Kind, Path, Table, is_length

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


def _spacing(numbers: Floats) -> float:
    """A power of two; at most 1 where all numbers are whole, so that whole numbers stay what they are."""
    low, high = np.quantile(numbers, [0.25, 0.75])
    spread = float(high - low) or float(numbers.std()) or float(np.abs(numbers).max()) or 1.0
    exponent = math.frexp(spread)[1] - 1 - BITS_OF_SPREAD if math.isfinite(spread) else 0
    if bool((numbers == np.rint(numbers)).all()):
        exponent = min(exponent, 0)
    return math.ldexp(1.0, max(exponent, -1000))
