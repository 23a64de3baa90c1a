"""Starting points in plain floats. Nothing rests on them but speed."""

from __future__ import annotations

from collections.abc import Callable

_STEPS = 100
_SETTLED = 1e-15


def newton(function: Callable[[float], tuple[float, float]], target: float, y: float) -> float:
    """A y near that with function(y) = target, by Newton's method; `function` returns its value and its slope.

    Where the floats over- or underflow the last y is returned as it is.
    """
    for _ in range(_STEPS):
        try:
            value, slope = function(y)
            step = (value - target) / slope
        except (OverflowError, ValueError, ZeroDivisionError):
            break
        y -= step
        if abs(step) <= _SETTLED * (1 + abs(y)):
            break
    return y
