"""The discrete Gaussian mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from flint import arb, fmpq

from dpverify.arithmetic.exact import Number, to_exact
from dpverify.errors import ImpossibleRequest
from dpverify.mechanisms import _discrete_gaussian
from dpverify.mechanisms._discrete import IntegerNoise
from dpverify.mechanisms._discrete_gaussian import DiscreteGaussianPair
from dpverify.mechanisms._mechanism import Engine, unknown_arithmetic
from dpverify.mechanisms._parameters import scale_parameter

if TYPE_CHECKING:
    from dpverify.samplers.sampler import Sampler


class DiscreteGaussian(IntegerNoise):
    """Add discrete Gaussian noise to a whole number: P(x) proportional to e^{-x^2/(2 sigma^2)} on the integers.

    delta(eps) = F(t - D) - e^eps F(t), F(k) = P(noise >= k), t = floor(eps sigma^2/D + D/2) + 1, D a whole number; the
    privacy loss is unbounded, so delta > 0 for every real eps. sigma^2 is not quite the variance.

    delta is not monotone in sigma: at eps = 2, D = 1 it is .1076 at sigma = 1/2 and .1536 at sigma = .64. `bound` and
    `calibrate` give the least sigma that satisfies the claim; some larger ones may not.
    [Canonne, Kamath & Steinke 2020, Theorem 7]
    """

    __slots__ = ()
    name = "discrete-gaussian"
    sigma = scale_parameter("sigma", meaning="standard deviation of the Gaussian on the reals")

    def pair(self) -> DiscreteGaussianPair:
        return DiscreteGaussianPair(v=self.exact_parameters["sigma"] ** 2, shift=self.shift)

    def second_moment(self) -> arb:
        return _discrete_gaussian.second_moment(self.exact_parameters["sigma"] ** 2)

    def sampler(self) -> Sampler:
        from dpverify.samplers.integers import discrete_gaussian
        from dpverify.samplers.whole import whole_release

        v: fmpq = self.exact_parameters["sigma"] ** 2
        return whole_release(lambda rng, size: discrete_gaussian(v, rng, size), law=f"data + noise of {self!r}")

    @classmethod
    def calibrate(cls, *, epsilon: Number, delta: Number = 0, sensitivity: Number = 1, **shape: Any) -> Self:
        found = super().calibrate(epsilon=epsilon, delta=delta, sensitivity=sensitivity, **shape)
        eps, exact_delta = to_exact(epsilon, "epsilon"), to_exact(delta, "delta")
        # Where delta rises again within one double of the least sigma, the double above it is no answer: go on from there.
        while not _discrete_gaussian.satisfies(sigma := found.exact_parameters["sigma"], eps, exact_delta, found.shift):
            further = _discrete_gaussian.least_sigma(eps, exact_delta, found.shift, 15, beyond=sigma)
            found = cls(further.upper, sensitivity=sensitivity)
        return found

    @classmethod
    def _engine(cls, arithmetic: str) -> Engine:
        if arithmetic == "arb":
            return _discrete_gaussian
        if arithmetic == "mpmath":
            from dpverify.mechanisms import _discrete_gaussian_sums

            return _discrete_gaussian_sums
        raise unknown_arithmetic(arithmetic)

    def _refuse_impossible_bound(self, eps: fmpq, delta: fmpq) -> None:
        self._refuse_impossible_epsilon(delta)

    def _refuse_impossible_epsilon(self, delta: fmpq) -> None:
        if delta == 0:
            raise ImpossibleRequest(
                "delta = 0: the privacy loss of discrete Gaussian noise is unbounded, so no finite sigma or epsilon gives "
                "delta = 0; give delta > 0, or use discrete Laplace noise for pure DP."
            )

    @classmethod
    def expression(cls, solved: str) -> str:
        profile = "F(t - sensitivity) - exp(epsilon)*F(t)"
        where = (
            "t = floor(epsilon*sigma^2/sensitivity + sensitivity/2) + 1 and F(k) the sum of exp(-x^2/(2*sigma^2)) over "
            "whole x >= k, divided by that over all whole x"
        )
        if solved == "delta":
            return f"{profile} with {where}"
        return f"the least {'sigma' if solved == 'sigma' else 'epsilon >= 0'} with {profile} <= delta, {where}"
