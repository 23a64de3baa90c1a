"""Ideal-model doubles: releases of real-valued noise in double precision, and numbers drawn by inverting a cdf.

Everything here is as good as double precision makes it, and is labelled so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.arithmetic.exact import to_exact
from dpverify.samplers.sampler import IDEAL_MODEL_DOUBLE, Sampler

Array: TypeAlias = NDArray[np.float64]
Function: TypeAlias = Callable[[Array], Array]

_NODES = 4096
_NEWTON_STEPS = 30
_SETTLED = 2.0**-50
_HALVES = 1100
"""Enough to halve a bracket of any two doubles down to neighbours, where they have the same sign."""


def double_release(draw: Callable[[np.random.Generator, int], Array], scale: float, *, law: str) -> Sampler:
    """The sampler of data + scale * draw in double precision."""

    def release(data: Any, rng: np.random.Generator, size: int) -> Array:
        exact = to_exact(data, "data")
        return int(exact.p) / int(exact.q) + scale * draw(rng, size)

    return Sampler(exactness=IDEAL_MODEL_DOUBLE, law=law, release=release)


class Inversion:
    """Draws from a continuous law by inverting its cdf: a table of quantiles, then Newton steps that stay in their bracket."""

    def __init__(self, cdf: Function, density: Function) -> None:
        self._cdf = cdf
        self._density = density
        with np.errstate(all="ignore"):
            levels = (np.arange(_NODES) + 0.5) / _NODES
            self._nodes = self._halved(levels, *self._reach(levels))

    def __call__(self, rng: np.random.Generator, size: int) -> Array:
        """`size` independent numbers."""
        levels = rng.random(size)
        levels[levels == 0] = 2.0**-54
        place = np.floor(levels * _NODES - 0.5).astype(np.int64)
        inside = (place >= 0) & (place < _NODES - 1)
        found = np.empty(size)
        with np.errstate(all="ignore"):
            found[inside] = self._newton(levels[inside], self._nodes[place[inside]], self._nodes[place[inside] + 1])
            outside = levels[~inside]
            if outside.size:
                found[~inside] = self._halved(outside, *self._reach(outside))
        return found

    def _newton(self, levels: Array, low: Array, high: Array) -> Array:
        x = (low + high) / 2
        for _ in range(_NEWTON_STEPS):
            gap = self._cdf(x) - levels
            low, high = np.where(gap < 0, x, low), np.where(gap < 0, high, x)
            step = x - gap / self._density(x)
            following = np.where((step >= low) & (step <= high), step, (low + high) / 2)
            settled = (np.abs(following - x) <= _SETTLED * np.abs(x)).all()
            x = following
            if settled:
                break
        return x

    def _reach(self, levels: Array) -> tuple[float, float]:
        """Two numbers between which all the quantiles lie."""
        low, high = -1.0, 1.0
        while self._cdf(np.array([low]))[0] > levels.min():
            low *= 2
        while self._cdf(np.array([high]))[0] < levels.max():
            high *= 2
        return low, high

    def _halved(self, levels: Array, low: float, high: float) -> Array:
        """The quantiles by halving, until no double is left between."""
        lows, highs = np.full(levels.shape, low), np.full(levels.shape, high)
        for _ in range(_HALVES):
            middles = lows + (highs - lows) / 2
            if not ((middles > lows) & (middles < highs)).any():
                break
            below = self._cdf(middles) < levels
            lows, highs = np.where(below, middles, lows), np.where(below, highs, middles)
        return highs
