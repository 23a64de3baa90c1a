"""The root of a monotone function between two ends, from few evaluations. Nothing here is certified."""

from __future__ import annotations

import math
from collections.abc import Callable

MOST_SECANTS = 40


def narrowed(
    function: Callable[[float], float], low: float, high: float, ends: tuple[float, float], width: float
) -> tuple[float, float]:
    """Two points no farther apart than `width`, between which `function` changes its sign; `ends` are its values at both.

    The Illinois method (Dowell and Jarratt 1971): secants, where an end that stays twice counts for half; each goes a little
    beyond the root, so that it ends up between the two. Halves where that takes long or a value is infinite. 0 is positive.
    """
    at_low, at_high = ends
    rises, stayed = at_high >= 0, 0
    for turn in range(200):
        if high - low <= width:
            break
        finite = math.isfinite(at_low) and math.isfinite(at_high) and at_low != at_high
        share = at_low / (at_low - at_high) if finite and turn < MOST_SECANTS else 0.5
        share += math.copysign(width / (3 * (high - low)), 0.5 - share)
        middle = low + (high - low) * min(max(share, 1e-3), 1 - 1e-3)
        value = function(middle)
        if (value >= 0) == rises:
            high, at_high = middle, value
            at_low, stayed = (at_low / 2 if stayed < 0 else at_low), -1
        else:
            low, at_low = middle, value
            at_high, stayed = (at_high / 2 if stayed > 0 else at_high), 1
    return low, high
