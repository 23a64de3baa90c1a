"""The exponential mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.arithmetic.exponentials import ExponentialSum
from dpverify.mechanisms._finite import FiniteLaw
from dpverify.mechanisms._parameters import scale_parameter
from dpverify.mechanisms._selection import Scores, Selection, checked_scores, twin_expression
from dpverify.mechanisms.logistic import Logistic

if TYPE_CHECKING:
    from dpverify.mechanisms._additive import AdditiveNoise
    from dpverify.samplers.sampler import Sampler


class ExponentialMechanism(Selection):
    """Report candidate i with probability proportional to e^{score_i/s}: pure DP at s = 2 sensitivity/epsilon.

    delta(eps) = (e^{eta/2} - e^{eps/2})^2/(e^eta - 1) for |eps| <= eta = 2 sensitivity/s, whatever the number of candidates;
    0 above and 1 - e^eps below: the profile of logistic noise of scale s moved by 2 sensitivity.

    Proof. P(i) = Q(i) e^{d_i}/sum_j Q(j) e^{d_j} with d_i in [-eta/2, eta/2]. For an event S with Q(S) = a, P(S) is largest
    where d is eta/2 on S and -eta/2 elsewhere: a e^eta/(1 + a (e^eta - 1)). Two candidates already give every a in (0, 1),
    and a = (e^{(eta - eps)/2} - 1)/(e^eta - 1) maximises that less e^eps a.
    Scores that all move in the same direction move each other by `sensitivity` only: halve it for those.
    [McSherry & Talwar 2007; Dong, Durfee & Rogers 2020 for the worst pair]
    """

    __slots__ = ()
    name = "exponential-mechanism"
    scale = scale_parameter(meaning="score that multiplies a candidate's weight by e")

    def _twin(self) -> type[AdditiveNoise]:
        return Logistic

    @classmethod
    def expression(cls, solved: str) -> str:
        return twin_expression(Logistic, solved)

    def _law(self, exponents: Scores) -> FiniteLaw:
        return FiniteLaw([ExponentialSum.exp(exponent) for exponent in exponents])

    def sampler(self) -> Sampler:
        from dpverify.samplers.finite import selection

        return selection(checked_scores, lambda scores: self._law(self._exponents(scores)).cumulative, law=f"{self!r}")
