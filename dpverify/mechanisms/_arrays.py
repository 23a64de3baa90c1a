"""Privacy profiles on NumPy arrays: quick, in double precision, for plots and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpverify.arithmetic.arrays import ARRAYS, Array
from dpverify.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpverify.mechanisms._additive import AdditiveNoise


def profile(noise: AdditiveNoise, epsilons: ArrayLike) -> Array:
    """delta at each epsilon, an array of the same shape."""
    eps = np.asarray(epsilons, dtype=np.float64)
    if not np.isfinite(eps).all():
        raise InputError("epsilons holds NaN or infinity: give finite numbers.")
    d = ARRAYS.exact(noise.shift)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if noise.loss_slope is None:
            return np.asarray(np.clip(noise.profile(ARRAYS, eps, d), 0.0, 1.0))
        limit = d * noise.loss_slope
        between = noise.profile(ARRAYS, np.clip(eps, -limit, limit), d)
        return np.select([eps >= limit, eps <= -limit], [np.zeros_like(eps), -np.expm1(eps)], np.clip(between, 0.0, 1.0))
