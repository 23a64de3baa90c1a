"""Ideal-model doubles: releases of real-valued noise in double precision, and numbers drawn by inverting a cdf.

Everything here is as good as double precision makes it, and is labelled so.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline

from dpverify.arithmetic.exact import to_exact
from dpverify.samplers.sampler import IDEAL_MODEL_DOUBLE, Sampler

Array: TypeAlias = NDArray[np.float64]
Function: TypeAlias = Callable[[Array], Array]

_NODES = 4096
_NEWTON_STEPS = 30
_SETTLED = 2.0**-50
_TAIL = 2.0**-54
_FARTHEST = 2.0**60
_FIRST_POINTS = 65
_MISS = 1e-11
_SHORTEST = 2.0**-44
_GAUSS = np.polynomial.legendre.leggauss(8)

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


class Table:
    """A cdf and its density as piecewise cubics, dense enough where they bend.

    The cdf is asked for at few points; where Gauss's rule for the density agrees with it, the rule takes over. An interval is
    halved until its cubic meets the cdf in the middle to _MISS, or until it is as short as a jump of the density needs.
    """

    def __init__(self, cdf: Callable[[float], float], density: Callable[[float], float]) -> None:
        low, high = -1.0, 1.0
        while cdf(low) > _TAIL and low > -_FARTHEST:
            low *= 2
        while cdf(high) < 1 - _TAIL and high < _FARTHEST:
            high *= 2
        spread = np.sinh(np.linspace(np.arcsinh(low), np.arcsinh(high), _FIRST_POINTS))
        known = {float(x): (cdf(float(x)), density(float(x))) for x in spread}
        waiting = [(left, right, False) for left, right in itertools.pairwise(sorted(known))]
        while waiting:
            left, right, resolved = waiting.pop()
            middle = (left + right) / 2
            halves = _gauss(density, left, middle), _gauss(density, middle, right)
            (at_left, _), (at_right, _) = known[left], known[right]
            resolved = resolved or abs(sum(halves) - (at_right - at_left)) <= _MISS
            at_middle = at_left + halves[0] if resolved else cdf(middle)
            known[middle] = (at_middle, density(middle))
            is_straight = abs(_cubic_at_middle(left, right, *known[left], *known[right]) - at_middle) <= _MISS
            if not (resolved and is_straight) and right - left > _SHORTEST * max(abs(left), abs(right), _SHORTEST):
                waiting += [(left, middle, resolved), (middle, right, resolved)]
        points = sorted(known)
        values, slopes = zip(*(known[x] for x in points), strict=True)
        self._spline = CubicHermiteSpline(points, np.maximum.accumulate(values), slopes, extrapolate=False)
        self._derivative = self._spline.derivative()
        self._low, self._high = points[0], points[-1]

    def cdf(self, x: Array) -> Array:
        """P(X <= x)."""
        inner = self._spline(np.clip(x, self._low, self._high))
        return np.select([x <= self._low, x >= self._high], [0.0, 1.0], inner)

    def density(self, x: Array) -> Array:
        """The derivative of `cdf`."""
        return np.asarray(self._derivative(np.clip(x, self._low, self._high)))


def _gauss(density: Callable[[float], float], low: float, high: float) -> float:
    half = (high - low) / 2
    return half * float(sum(w * density(low + half * (1 + x)) for x, w in zip(*_GAUSS, strict=True)))


def _cubic_at_middle(left: float, right: float, f0: float, d0: float, f1: float, d1: float) -> float:
    """The cubic with these values and slopes at its ends, in the middle."""
    return (f0 + f1) / 2 + (right - left) * (d0 - d1) / 8
