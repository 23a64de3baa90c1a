"""The permute-and-flip mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import fmpq

from dpverify.arithmetic.exponentials import ExponentialSum, total
from dpverify.mechanisms._finite import FiniteLaw
from dpverify.mechanisms._parameters import scale_parameter
from dpverify.mechanisms._selection import Scores, Selection, checked_scores, over_linear, times_linear, twin_expression
from dpverify.mechanisms.laplace import Laplace

if TYPE_CHECKING:
    from dpverify.mechanisms._additive import AdditiveNoise
    from dpverify.samplers.sampler import Sampler


class PermuteAndFlip(Selection):
    """Go through the candidates in random order; report one with probability e^{(score - best)/s}: pure DP at s = 2 D/eps.

    delta(eps) = 1 - e^{(eps - eta)/2} for |eps| <= eta = 2 sensitivity/s, whatever the number of candidates; 0 above and
    1 - e^eps below: the profile of Laplace noise of scale s moved by 2 sensitivity. The law is that of report-noisy-max with
    exponential noise of scale s: P(i) = x_i times the integral of prod_{j != i} (1 - x_j y) over 0 < y < 1, x = e^{(score -
    best)/s}.

    Proof of the profile, in units of s. Let A be the best noisy score in S, B the best outside, S moved up by eta. With
    y = e^{-x}, the cdf of either is a polynomial prod (1 - x_j y) whose zeros are real and at least 1 on its support. So is its
    derivative's: hence the density is log-concave, and the hazard rate at most 1. For a given B with cdf G and density g,
    P(S) - e^eps Q(S) is the mean of psi(A), psi(a) = G(a + eta) - e^eps G(a). Since g(a + eta)/g(a) falls, psi first rises and
    then falls. Among all laws with hazard rate at most 1 the mean of such a psi is largest for c + Exp(1) with some c (let
    c maximise it, V be its value; V >= psi before c, and after c the mean of what is left is at most psi: no other way of
    stopping at rate at most 1 gains). The same argument replaces B. What is left are two candidates, A - B is Laplace, and
    the supremum over c is the profile of Laplace noise. For eps < 0 use reflection, both orders being neighbours.
    [McKenna & Sheldon 2020; Ding et al. 2021 for the equivalence with exponential noise]
    """

    __slots__ = ()
    name = "permute-and-flip"
    scale = scale_parameter(meaning="score below the best that makes acceptance e times less likely")

    def _twin(self) -> type[AdditiveNoise]:
        return Laplace

    @classmethod
    def expression(cls, solved: str) -> str:
        return twin_expression(Laplace, solved)

    def _law(self, exponents: Scores) -> FiniteLaw:
        return exponential_noise_law(exponents)

    def sampler(self) -> Sampler:
        from dpverify.samplers.finite import permute_and_flip

        return permute_and_flip(checked_scores, self._exponents, law=f"{self!r}")


def exponential_noise_law(exponents: Scores) -> FiniteLaw:
    """The law of the argmax of exponent_i + standard exponential noise; the largest exponent is 0."""
    factors = [ExponentialSum.exp(exponent) for exponent in exponents]
    product = [ExponentialSum.rational(1)]
    for factor in factors:
        product = times_linear(product, factor)
    known: dict[fmpq, ExponentialSum] = {}
    for exponent, factor in zip(exponents, factors, strict=True):
        if exponent not in known:
            others = over_linear(product, factor)
            known[exponent] = factor * total(one * fmpq(1, power + 1) for power, one in enumerate(others))
    return FiniteLaw([known[exponent] for exponent in exponents])
