"""The cells into which cuts divide a line, and the cell that each of very many values lies in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

COMPARED = 128
"""Cuts up to which comparing all values with each of them is several times as quick as searching for each value."""


def places(values: NDArray[Any], cuts: ArrayLike) -> NDArray[np.uint8] | NDArray[np.intp]:
    """How many of the rising cuts are less than each value: x <= cuts[0] is in cell 0. What is no number has one of its own,
    behind the last."""
    cuts = np.asarray(cuts)
    if len(cuts) > COMPARED:
        found: NDArray[Any] = np.searchsorted(cuts, values, side="left")
    else:
        found = np.zeros(len(values), dtype=np.uint8)
        for cut in cuts:
            found += (values > cut).view(np.uint8)
    if values.dtype.kind == "f" and (missing := np.isnan(values)).any():
        found[missing] = len(cuts) + 1
    return found
