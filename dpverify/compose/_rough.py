"""The integral of `_inversion` once more, in doubles: where to start looking for a root.

Nothing that is returned rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dpverify.compose._transforms import Leg, Transform

_NODES = 16
_LEAST, _GROWTH = 0.03, 1.6
"""The first panel of a leg, and how much longer each one is than all before."""
_VANISHED = 36.0
"""What a logarithm must fall by to be left out."""


def exceeding(transforms: Sequence[Transform], gap: float, turn: float, *, weighted: bool) -> float:
    """P(L > limit + gap), or, `weighted`, E(1 - e^{limit + gap - L})+. NaN where doubles do not reach."""
    with np.errstate(all="ignore"):
        return _integral(transforms, gap, turn, weighted)


def _integral(transforms: Sequence[Transform], gap: float, turn: float, weighted: bool) -> float:
    legs = [[(often / float(one.normaliser), *_nodes(leg)) for often, leg in one.legs] for one in transforms]

    def integrand(s: Any) -> Any:
        found = np.exp(-s * gap) / s
        if weighted:
            found = found / (s + 1)
        for one in legs:
            found = found * sum(often * (np.exp(alpha + np.outer(s, beta)) @ weight) for often, alpha, beta, weight in one)
        return found

    starts = 0.05 / max(float(one.spread) for one in transforms) * 1.5 ** np.arange(60)
    sizes = np.abs(integrand(starts.astype(complex)))
    start = starts[np.nanargmin(sizes)] if np.isfinite(sizes).any() else starts[0]
    ray, ends = np.exp(1j * (math.pi / 2 - turn)), [0.0]
    while ends[-1] * gap * math.sin(turn) < _VANISHED:
        ends.append(ends[-1] + 2 * min(3 / gap, (start + ends[-1]) / 5))
    x, weight = _gauss()
    half, low = np.diff(ends)[:, None] / 2, np.array(ends[:-1])[:, None]
    values = integrand((start + ray * (low + half * (1 + x))).ravel())
    return float((ray * values * (half * weight).ravel()).sum().imag / math.pi)


def _nodes(leg: Leg) -> tuple[Any, Any, Any]:
    """(alpha, beta, weight) of a leg turned as on the outer contour."""
    alpha, beta = [float(one) for one in leg.alpha], [float(one) for one in leg.beta]
    turn, end = np.exp(1j * leg.outer), 1.0 if leg.end is None else float(leg.end)
    ends = [0.0, _LEAST if leg.end is None else end]
    while leg.end is None and np.polyval(alpha[::-1], turn * ends[-1]).real > -_VANISHED:
        ends.append(ends[-1] * _GROWTH)
    x, weight = _gauss()
    half, low = np.diff(ends)[:, None] / 2, np.array(ends[:-1])[:, None]
    z = turn * (low + half * (1 + x)).ravel()
    return np.polyval(alpha[::-1], z), np.polyval(beta[::-1], z), turn * (half * weight).ravel()


@lru_cache(maxsize=1)
def _gauss() -> tuple[Any, Any]:
    return np.polynomial.legendre.leggauss(_NODES)
