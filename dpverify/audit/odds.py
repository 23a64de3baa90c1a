"""The odds of the side along an order of outputs, as a smooth curve: what the counts of a rare event alone cannot tell.

Among the outermost outputs, or those with the largest scores, few are seen, and none of the other side perhaps. But the log
odds change smoothly on the way there, so that a parabola through all counts on the way says more about the end of it than the
counts at the end. *Heuristic*: what it foresees decides which event is confirmed on fresh outputs, and nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.exploration import Forecast
from dpverify.audit.table import Floats

PRECISION = np.array([0.0, 0.05, 0.5])
"""Of the prior about 0 of level, slope and bend in units of the spread: a curve that has no reason to bend is flat."""

FEWEST_HITS = 6
"""Outputs of either side, and bins, below which no curve is drawn."""

CLEAR = 25.0
"""Twice the log likelihood that slope and bend have to win: a rise that chance would not show in a million curves."""

ROUNDS = 12
FAR = 30.0


@dataclass(frozen=True, slots=True)
class Curve:
    """Log odds of the first side, a parabola in (place - middle) / spread, and the covariance of its coefficients."""

    middle: float
    spread: float
    coefficients: Floats
    covariance: Floats

    def log_odds(self, places: Floats) -> tuple[Floats, Floats]:
        """The log odds at some places, and their standard errors."""
        design = _design((places - self.middle) / self.spread)
        return design @ self.coefficients, np.sqrt(np.einsum("ij,jk,ik->i", design, self.covariance, design))


def fitted(places: Floats, hits: NDArray[np.int64], other_hits: NDArray[np.int64]) -> Curve | None:
    """The curve through the outputs of either side in bins at `places`: logistic regression with a normal prior, by Newton's
    method. None where there is too little to fit, or no clear slope: the luckiest of many events would be foreseen."""
    total = hits + other_hits
    used = total > 0
    if used.sum() < FEWEST_HITS or min(hits.sum(), other_hits.sum()) < FEWEST_HITS:
        return None
    middle = float(np.average(places, weights=total))
    spread = math.sqrt(float(np.average((places - middle) ** 2, weights=total)))
    if not 0 < spread < math.inf:
        return None
    design = _design((places[used] - middle) / spread)
    ones, all_of_them = hits[used].astype(np.float64), total[used].astype(np.float64)
    coefficients = np.array([math.log((hits.sum() + 0.5) / (other_hits.sum() + 0.5)), 0.0, 0.0])
    precision = np.diag(PRECISION)
    for _ in range(ROUNDS):
        chance = _chance(design @ coefficients)
        hessian = precision + (design * (all_of_them * chance * (1 - chance))[:, None]).T @ design
        step = np.linalg.solve(hessian, design.T @ (ones - all_of_them * chance) - precision @ coefficients)
        coefficients = coefficients + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-6:
            break
    if 2 * (_log_likelihood(design @ coefficients, ones, all_of_them) - _flat(ones.sum(), all_of_them.sum())) < CLEAR:
        return None
    covariance = np.asarray(np.linalg.inv(hessian), dtype=np.float64)
    return Curve(middle, spread, coefficients, covariance)


def foreseen(
    forecast: Forecast,
    curve: Curve,
    places: Floats,
    hits: NDArray[np.int64],
    other_hits: NDArray[np.int64],
    sizes: tuple[int, int],
    *,
    forward: bool,
    caution: float = 0.0,
) -> Floats:
    """What is forecast for the event "in the first k bins", for each k, where the curve splits each bin between the sides.

    `sizes`: outputs of the first side and of the second in all. The curve is moved against the event by `caution` deviations.
    """
    total = (hits + other_hits).astype(np.float64)
    odds, error = curve.log_odds(places)
    likelier = np.cumsum(total * _chance((odds if forward else -odds) - caution * error))
    size, other_size = sizes if forward else sizes[::-1]
    return forecast.of_rates(likelier / size, (np.cumsum(total) - likelier) / other_size)


def best(
    forecast: Forecast,
    curve: Curve,
    places: Floats,
    hits: NDArray[np.int64],
    other_hits: NDArray[np.int64],
    sizes: tuple[int, int],
    *,
    forward: bool,
) -> tuple[int, float]:
    """The number of bins, less one, for which most is foreseen, all of them left out, and what that is.

    Which event is best is asked of the curve as it is: of events along one curve none errs by itself. What it is worth is told
    with the caution with which the forecast ranks.
    """
    asked = (places, hits, other_hits, sizes)
    chosen = int(np.argmax(foreseen(forecast, curve, *asked, forward=forward)[:-1]))
    promises = foreseen(forecast, curve, *asked, forward=forward, caution=forecast.ranking_caution)
    return chosen, float(promises[chosen])


def _log_likelihood(log_odds: Floats, ones: Floats, total: Floats) -> float:
    chance = _chance(log_odds)
    return float(ones @ np.log(chance) + (total - ones) @ np.log1p(-chance))


def _flat(ones: float, total: float) -> float:
    """The log likelihood of one chance everywhere, at its best."""
    return float(ones * math.log(ones / total) + (total - ones) * math.log(1 - ones / total))


def _design(x: Floats) -> Floats:
    return np.stack([np.ones_like(x), x, x * x], axis=1)


def _chance(log_odds: Floats) -> Floats:
    chance: Floats = 1 / (1 + np.exp(-np.clip(log_odds, -FAR, FAR)))
    return chance
