"""Anytime-valid tests by betting."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCounts:
    """Paired draws y ~ M(D), y' ~ M(D'): in how many pairs S held `both`, the `first` only, the `second` only, `neither`."""

    both: int
    first: int
    second: int
    neither: int


def log_capital(pairs: PairCounts, *, epsilon: float, delta: float) -> float:
    s = math.exp(epsilon)
    best = [
        pairs.first * math.log1p(u / (s + delta) * (1 - delta))
        + pairs.second * math.log1p(-u)
        + pairs.both * math.log1p(u / (s + delta) * (1 - s - delta))
        + pairs.neither * math.log1p(-u / (s + delta) * delta)
        for u in (0.98, 0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
    ]
    top = max(best)
    return top + math.log(sum(math.exp(b - top) for b in best) / len(best)) - 1e-9
