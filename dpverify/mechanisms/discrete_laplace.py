"""The discrete Laplace mechanism, also called the geometric mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import arb, fmpq

from dpverify.mechanisms import _discrete_laplace
from dpverify.mechanisms._discrete import IntegerNoise, refuse_no_privacy
from dpverify.mechanisms._discrete_laplace import DiscreteLaplacePair
from dpverify.mechanisms._mechanism import Engine, unknown_arithmetic
from dpverify.mechanisms._parameters import scale_parameter

if TYPE_CHECKING:
    from dpverify.samplers.sampler import Sampler


class DiscreteLaplace(IntegerNoise):
    """Add discrete Laplace noise to a whole number: P(x) = (1 - r)/(1 + r) r^|x| on the integers, r = e^{-1/s}.

    Pure DP, D a whole number: delta(eps) = 1 - (r^{D + 1 - t} + e^eps r^t)/(1 + r) with t = floor((eps s + D)/2) + 1 for
    |eps| < D/s; 0 above and 1 - e^eps below. The least scale for delta = 0 is D/eps.
    [Ghosh, Roughgarden & Sundararajan 2009, for delta = 0; the profile follows from the definition in `_discrete_laplace`]
    """

    __slots__ = ()
    name = "discrete-laplace"
    scale = scale_parameter()

    def pair(self) -> DiscreteLaplacePair:
        return DiscreteLaplacePair(scale=self.exact_parameters["scale"], shift=self.shift)

    def second_moment(self) -> arb:
        """2 r / (1 - r)^2."""
        a = arb(1 / self.exact_parameters["scale"])
        return 2 * (-a).exp() / (-a).expm1() ** 2

    def sampler(self) -> Sampler:
        from dpverify.samplers.integers import discrete_laplace
        from dpverify.samplers.whole import whole_release

        exponent: fmpq = 1 / self.exact_parameters["scale"]
        return whole_release(lambda rng, size: discrete_laplace(exponent, rng, size), law=f"data + noise of {self!r}")

    @classmethod
    def _engine(cls, arithmetic: str) -> Engine:
        if arithmetic == "arb":
            return _discrete_laplace
        if arithmetic == "mpmath":
            return _discrete_laplace.SecondOpinion
        raise unknown_arithmetic(arithmetic)

    def _refuse_impossible_bound(self, eps: fmpq, delta: fmpq) -> None:
        refuse_no_privacy(eps, delta)

    @classmethod
    def expression(cls, solved: str) -> str:
        profile = "1 - (r^(sensitivity + 1 - t) + exp(epsilon)*r^t)/(1 + r)"
        where = "r = exp(-1/scale), t = floor((epsilon*scale + sensitivity)/2) + 1"
        if solved == "delta":
            return (
                f"0 if epsilon >= sensitivity/scale; 1 - exp(epsilon) if epsilon <= -sensitivity/scale; else {profile}; "
                f"with {where}"
            )
        return f"the least {'scale' if solved == 'scale' else 'epsilon >= 0'} with {profile} <= delta, {where}"
