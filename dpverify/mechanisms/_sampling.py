"""How additive noise is sampled: in double precision, or exactly on a grid."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from flint import arb, fmpq

from dpverify.arithmetic.arrays import ARRAYS, Array
from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.exact import Number
from dpverify.arithmetic.precision import working_precision
from dpverify.errors import NotCovered
from dpverify.mechanisms._parameters import as_given, positive
from dpverify.samplers.doubles import Inversion, Table, double_release
from dpverify.samplers.grid import grid_release
from dpverify.samplers.sampler import Sampler

if TYPE_CHECKING:
    from dpverify.mechanisms._additive import AdditiveNoise

_TABLE_BITS = 64


def by_inversion(noise: AdditiveNoise, rng: np.random.Generator, size: int) -> Array:
    """`size` draws of X by inverting its cdf."""
    return _inversion(noise)(rng, size)


@lru_cache(maxsize=32)
def _inversion(noise: AdditiveNoise) -> Inversion:
    try:
        noise.cdf(ARRAYS, np.zeros(1))
    except NotCovered:  # there is no cdf on arrays
        return _tabulated(noise)
    return Inversion(lambda x: noise.cdf(ARRAYS, x), lambda x: np.exp(noise.log_density(ARRAYS, x)))


def _tabulated(noise: AdditiveNoise) -> Inversion:
    """From certified values of the cdf and the density, by cubics that are right to about 1e-11."""

    def cdf(x: float) -> float:
        with working_precision(_TABLE_BITS):
            return float(noise.cdf(BALLS, arb(x)))

    def density(x: float) -> float:
        with working_precision(_TABLE_BITS):
            value = noise.log_density(BALLS, arb(x)).exp()
            return float(value) if value.is_finite() else 0.0

    table = Table(cdf, density)
    return Inversion(table.cdf, table.density)


def in_doubles(noise: AdditiveNoise) -> Sampler:
    """data + scale * X as doubles."""
    return double_release(noise.draw, ARRAYS.exact(noise.exact_scale), law=f"data + noise of {noise!r}")


def on_grid(noise: AdditiveNoise, granularity: Number) -> Sampler:
    """data + scale * X, exactly rounded to a multiple of the granularity."""
    step = positive(granularity, "granularity", "a grid needs a width")

    def cdf(y: fmpq) -> arb | fmpq:
        found: arb | fmpq = noise.cdf(BALLS, arb(y / noise.exact_scale))
        return found

    law = f"data + noise of {noise!r}, rounded to the nearest multiple of {as_given(step)}"
    return grid_release(cdf, step, law=law)
