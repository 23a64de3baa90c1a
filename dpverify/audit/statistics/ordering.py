"""Which counts speak more strongly against a claim than others: the ordering behind the joint test.

A test of p <= ratio q + delta from two binomials needs a rule that says which pairs of counts are at least as extreme as
the observed one. Any rule fixed beforehand is valid; a good one makes the test strong. Here it is the likelihood ratio of
two Poisson counts, X with mean <= shift + slope mu and Y with mean mu (slope = ratio n1/n2, shift = n1 delta), Y taken
as y + 1/2:

    G(x, y) = 2 [ x log(x/m) - (x - m) + y log(y/mu) - (y - mu) ],   m = shift + slope mu,  mu the constrained maximum,

and sqrt(G) with the sign of x - shift - slope y is compared with z sqrt(1 - y/n2). For each y the region of a test is
{x >= critical(y)}, and critical(y) rises with slope, with shift and with z, so that regions nest in each of them.
That nesting is all that the validity of the joint test needs. Rounding is answered by enlarging: the critical values
returned are at most the exact ones, so that the region holds the exact region.

No probabilities live here.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_ROUNDING = 2.0**-46
"""A part of the sizes of the terms of G that covers the rounding of their sum, logarithms a few units off included."""

_HALF = 0.5


def deviance(x: float, y: float, slope: float, shift: float) -> float:
    """G for one pair with y > 0 (already y + 1/2): 0 where x <= shift + slope y, inf where x > 0 is impossible."""
    if x <= shift + slope * y:
        return 0.0
    if slope == 0 and shift == 0:
        return math.inf
    b = (1 + slope) * shift - slope * (x + y)
    root = math.sqrt(b * b + 4 * (1 + slope) * slope * y * shift)
    mu = (root - b) / (2 * (1 + slope) * slope) if b < 0 else 2 * y * shift / (b + root)
    m = shift + slope * mu
    return 2 * (x * math.log(x / m) - (x - m) + y * math.log(y / mu) - (y - mu))


def signed_root(x: int, y: int, other_draws: int, slope: float, shift: float) -> float:
    """The z at which the pair of counts lies on the edge of the region, a little less for rounding; 0 where it has none."""
    value = deviance(x, y + _HALF, slope, shift)
    return math.sqrt(max(0.0, value - _slack(x, y, value))) / _narrowing(y, other_draws)


def slope_at(x: int, y: int, other_draws: int, shift: float, z: float) -> float | None:
    """The slope at which the pair lies on the edge of the region, a little less for rounding; None where 0 has it outside."""
    target = (z * _narrowing(y, other_draws)) ** 2

    def excess(log_slope: float) -> float:
        value = deviance(x, y + _HALF, math.exp(log_slope), shift)
        return value - _slack(x, y, value) - target

    if x <= shift:
        return None
    top = math.log((x - shift) / (y + _HALF))
    bottom = top - 1.0
    while excess(bottom) < 0:
        bottom -= 2 * (top - bottom)
        if bottom < -60:
            return None
    return math.exp(_last_positive(excess, bottom, top))


def shift_at(x: int, y: int, other_draws: int, slope: float, z: float) -> float | None:
    """The shift at which the pair lies on the edge of the region, a little less for rounding; None where 0 has it outside."""
    target = (z * _narrowing(y, other_draws)) ** 2

    def excess(shift: float) -> float:
        value = deviance(x, y + _HALF, slope, shift)
        return value - _slack(x, y, value) - target

    if excess(0.0) < 0:
        return None
    return _last_positive(excess, 0.0, x - slope * (y + _HALF))


def critical_values(
    first: int, last: int, other_draws: int, slope: float, shift: float, z: float, *, stride: int = 1
) -> Integers:
    """For y = first, first + stride, ... up to last the least x of the region, or fewer.

    They are non-decreasing, and never above the exact critical value.
    """
    y = np.arange(first, last + 1, stride, dtype=np.float64) + _HALF
    goal = z * np.sqrt(np.maximum(1 - (y - _HALF) / other_draws, _LEAST_NARROWING))
    spread = goal * goal * slope / 2
    x = shift + slope * y + spread + goal * np.sqrt(spread * slope / 2 + shift + slope * (1 + slope) * y) + 1e-9
    for _ in range(_NEWTON_STEPS):
        log_ratio, g = _deviances(x, y, slope, shift)
        root = np.sqrt(np.maximum(g, 0.0))
        step = (root - goal) * root / np.maximum(log_ratio, 1e-300)
        x = np.maximum(x - step, shift + slope * y + 0.01 * (x - shift - slope * y))
    log_ratio, g = _deviances(x, y, slope, shift)
    error = np.abs(g - goal * goal) + _ROUNDING * (x + y) * (8 + log_ratio)
    null_mean = shift + slope * y
    floor = np.maximum(x - error / np.maximum(log_ratio, 1e-300) - 1e-9 * x, null_mean * (1 + 1e-9))
    log_ratio, g = _deviances(floor, y, slope, shift)
    outside = g + _ROUNDING * (floor + y) * (8 + log_ratio) <= goal * goal
    floor = np.where(outside, floor, null_mean * (1 - 1e-9))
    enlarged = np.ceil(np.maximum(np.minimum(floor, 9e15), 0.0)).astype(np.int64)
    nested: Integers = np.minimum.accumulate(enlarged[::-1])[::-1]
    return nested


_NEWTON_STEPS = 3
_LEAST_NARROWING = 1e-3


def _deviances(x: Floats, y: Floats, slope: float, shift: float) -> tuple[Floats, Floats]:
    """(log(x/m), G) for x > shift + slope y; half the derivative of G in x is the first."""
    b = (1 + slope) * shift - slope * (x + y)
    root = np.sqrt(b * b + 4 * (1 + slope) * slope * shift * y)
    if slope > 0:
        mu = np.where(b < 0, (root - b) / (2 * (1 + slope) * slope), 2 * shift * y / np.where(b < 0, 1.0, b + root))
    else:
        mu = y
    m = shift + slope * mu
    log_ratio = np.log(x / m)
    return log_ratio, 2 * (x * log_ratio - (x - m) + y * np.log(y / mu) - (y - mu))


def _narrowing(y: int, other_draws: int) -> float:
    return math.sqrt(max(1 - y / other_draws, _LEAST_NARROWING)) if other_draws else 1.0


def _slack(x: float, y: float, value: float) -> float:
    return _ROUNDING * (x + y + 1) * (8 + value / (x + y + 1))


def _last_positive(excess: Callable[[float], float], low: float, high: float) -> float:
    """A point where the falling function `excess` is still >= 0, as near to its root as doubles allow in sixty halvings."""
    for _ in range(60):
        middle = (low + high) / 2
        if excess(middle) >= 0:
            low = middle
        else:
            high = middle
        if high - low <= 1e-13 * abs(high):
            break
    return low
