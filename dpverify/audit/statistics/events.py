"""Tests and bounds for one event S from its counts: the public face of this package.

The claim in one direction is P(S) <= e^epsilon Q(S) + delta.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.audit.statistics.binomial import lower, upper
from dpverify.audit.statistics.counts import Counts, Design

__all__ = ["Counts", "Design", "delta_lower", "detectable_epsilon", "epsilon_lower", "p_value", "rejects"]


def epsilon_lower(counts: Counts, *, delta: float, alpha: float, design: Design = "random-side") -> float:
    if delta == 0 and design == "random-side":
        theta = lower(counts.hits, counts.hits + counts.other_hits, alpha)
        return max(0.0, math.log(theta) - math.log1p(-theta)) if theta > 0 else 0.0
    p = lower(counts.hits, counts.draws, alpha / 2)
    q = upper(counts.other_hits, counts.other_draws, alpha / 2)
    return max(0.0, math.log((p - delta) / q) - 1e-12) if p > delta else 0.0


def rejects(counts: Counts, *, epsilon: float, delta: float, alpha: float, design: Design = "random-side") -> bool:
    return epsilon < epsilon_lower(counts, delta=delta, alpha=alpha, design=design)


def delta_lower(counts: Counts, *, epsilon: float, alpha: float, design: Design = "random-side") -> float:
    p = lower(counts.hits, counts.draws, alpha / 2)
    q = upper(counts.other_hits, counts.other_draws, alpha / 2)
    return max(0.0, p - math.exp(epsilon) * q - 1e-15)


def p_value(counts: Counts, *, epsilon: float, delta: float, design: Design = "random-side") -> float:
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        if rejects(counts, epsilon=epsilon, delta=delta, alpha=middle, design=design):
            high = middle
        else:
            low = middle
    return high


def detectable_epsilon(
    *,
    other_hits: int,
    other_draws: int,
    draws: int,
    epsilon: float,
    delta: float,
    alpha: float,
    power: float = 0.9,
    design: Design = "random-side",
) -> float:
    q = upper(other_hits, other_draws, alpha)
    low, high = epsilon, epsilon + 50.0
    for _ in range(40):
        middle = (low + high) / 2
        p = min(1.0, math.exp(middle) * q + delta)
        hits = int(draws * p - 1.3 * math.sqrt(draws * p * (1 - p)))
        y = int(other_draws * q)
        counts = Counts(hits=max(hits, 0), draws=draws, other_hits=y, other_draws=other_draws)
        if rejects(counts, epsilon=epsilon, delta=delta, alpha=alpha, design=design):
            high = middle
        else:
            low = middle
    return high if high < epsilon + 49 else math.inf


def approximate_epsilon_lower(
    hits: ArrayLike, draws: ArrayLike, other_hits: ArrayLike, other_draws: ArrayLike, *, delta: float, alpha: float
) -> NDArray[np.float64]:
    x, n, y, m = (np.asarray(a, dtype=float) for a in (hits, draws, other_hits, other_draws))
    z = 3.0
    p = np.maximum((x - z * np.sqrt(x)) / n - delta, 1e-300)
    q = (y + 1 + z * np.sqrt(y + 1)) / m
    return np.log(p / q)
