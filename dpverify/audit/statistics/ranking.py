"""A quick guess at the bound that counts would give, for many events at once: *heuristic*, for ranking candidates only.

No verdict and no reported number rests on anything here.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.audit.statistics.counts import Design


def approximate_epsilon_lower(
    hits: ArrayLike,
    draws: ArrayLike,
    other_hits: ArrayLike,
    other_draws: ArrayLike,
    *,
    delta: float,
    alpha: float,
    design: Design = "random-side",
    leading: int | None = None,
) -> NDArray[np.float64]:
    """About what `epsilon_lower` would return, elementwise on arrays that broadcast together, without the floor at 0.

    The epsilon at which the signed root of the likelihood ratio of two Poisson counts, hits - c against other_hits + 1/2,
    is the normal quantile of alpha; c = 1/2 where the conditional test answers, which for other_hits = 0 has the closed form
    -log(alpha^(-1/hits) - 1). Negative values still rank; -inf where even other_hits = 0 would show nothing. Heuristic: seen
    within .06 of the certified bound, 0, 1 and 2 hits included, for 1e-5 <= alpha <= .05, and much nearer for large counts.
    With `leading`, of one-dimensional arrays only so many of the largest are as near; the others stay at a first, low guess.
    """
    x, n, y, m = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (hits, draws, other_hits, other_draws)))
    none = y == 0
    conditional = delta == 0 and design == "random-side"
    n, m = np.maximum(n, 1.0), np.maximum(m, 1.0)
    shift = delta * n
    goal = np.full(x.shape, max(0.05, -NormalDist().inv_cdf(alpha)))
    y = y + 0.5
    if conditional:
        x = x - 0.5
    else:
        other = np.maximum(x - shift, 0.0) ** 2 / y  # slope^2 y, the variance of slope Y where the slope fits
        binomial = x * (1 - x / n) + other * (1 - np.minimum(y / m, 1))
        goal = goal * np.sqrt(np.maximum(binomial / np.maximum(x + other, 1e-300), 1e-3))
    shown = x > shift
    if delta > 0:
        shown &= _root(np.where(shown, x, 2 * shift + 1), y, np.full(x.shape, 1e-12), shift)[0] > goal
    excess = np.where(shown, x - shift, 1.0)
    log_slope = np.log(excess / y) - np.minimum(goal * np.sqrt(np.where(shown, x, 1.0)) / excess + goal / np.sqrt(y), 3.0)
    if leading is not None and log_slope.size > 2 * leading:
        places = np.argpartition(-np.where(shown, log_slope, -np.inf), leading)[:leading]
        log_slope[places] = _refined(
            log_slope[places], x[places], y[places], goal[places], shown[places], excess[places], shift[places]
        )
    else:
        log_slope = _refined(log_slope, x, y, goal, shown, excess, shift)
    if conditional:  # the numbers of draws do not enter it
        log_slope = np.where(none, -np.log(np.expm1(-math.log(alpha) / (np.maximum(x, 0.5) + 0.5))), log_slope)
    else:
        log_slope = log_slope + np.log(m / n)
    result: NDArray[np.float64] = np.where(shown, log_slope, -np.inf)
    return result


def _refined(
    log_slope: NDArray[np.float64],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    goal: NDArray[np.float64],
    shown: NDArray[np.bool_],
    excess: NDArray[np.float64],
    shift: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Newton's method from a guess."""
    for _ in range(12):
        root, steepness = _root(np.where(shown, x, 1.0 + shift), y, np.exp(log_slope), shift)
        step = np.where(shown, (root - goal) / np.maximum(steepness, 1e-12), 0.0)
        log_slope = np.minimum(log_slope + np.clip(step, -3.0, 3.0), np.log(excess / y) - 1e-9)
        if not np.any(np.abs(step) > 1e-3):  # what the next one would change is a part of its square
            break
    return log_slope


def _root(
    x: NDArray[np.float64], y: NDArray[np.float64], slope: NDArray[np.float64], shift: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """sqrt(G) of `ordering` and minus its derivative in log slope, for x > shift + slope y."""
    b = (1 + slope) * shift - slope * (x + y)
    root = np.sqrt(b * b + 4 * (1 + slope) * slope * shift * y)
    mu = np.where(b < 0, (root - b) / (2 * (1 + slope) * slope), 2 * shift * y / np.where(b < 0, 1.0, b + root))
    mean = shift + slope * mu
    value = 2 * (x * np.log(x / mean) - (x - mean) + y * np.log(y / mu) - (y - mu))
    signed = np.sqrt(np.maximum(value, 1e-300))
    return signed, slope * mu * (x / mean - 1) / signed
