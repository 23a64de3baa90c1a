"""Any number of Gaussian releases: one Gaussian pair, with mu^2 the sum of (sensitivity/sigma)^2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import fmpq

from dpverify.notions.gaussian_pair import GaussianPair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpverify.mechanisms.gaussian import Gaussian


def product(counted: Sequence[tuple[Gaussian, int]]) -> GaussianPair:
    """By rotation invariance the loss depends on the length of the shift only."""
    return GaussianPair(mu_squared=sum((count * noise.shift**2 for noise, count in counted), fmpq(0)))
