"""Report noisy max."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flint import fmpq

from dpverify.arithmetic.exponentials import ExponentialSum
from dpverify.errors import NotCovered
from dpverify.mechanisms._finite import FiniteLaw
from dpverify.mechanisms._laplace_difference import LaplaceDifference
from dpverify.mechanisms._laplace_max import laplace_noise_law
from dpverify.mechanisms._mechanism import Engine
from dpverify.mechanisms._parameters import ChoiceParameter, WholeParameter, scale_parameter
from dpverify.mechanisms._selection import Scores, Selection, checked_scores
from dpverify.mechanisms.laplace import Laplace
from dpverify.mechanisms.logistic import Logistic
from dpverify.mechanisms.permute_and_flip import exponential_noise_law

if TYPE_CHECKING:
    from dpverify.mechanisms._additive import AdditiveNoise
    from dpverify.notions.pair import DominatingPair
    from dpverify.samplers.sampler import Sampler


class ReportNoisyMax(Selection):
    """Add independent noise of scale s to every score and report the candidate with the largest sum, and no more than that.

    Pure DP at s = 2 sensitivity/epsilon with each kind of noise. The profile, with eta = 2 sensitivity/s:
    - gumbel: that of the exponential mechanism, whose law it has, whatever the number of candidates;
    - exponential (one-sided): that of permute-and-flip, whose law it has, whatever the number of candidates;
    - laplace: for two candidates that of additive noise with density (1 + |x|) e^{-|x|}/4, the law of the difference of two
      Laplace numbers, at shift eta. For three and more the largest delta over all scores is not known here; it is 0 from
      eta on and not before, so that pure DP is answered. It lies between that of two candidates and that of exponential
      noise: a Laplace number is an exponential one less another, and the latter may as well be part of the scores.
    `between` answers for two given score vectors, with each kind of noise.
    [Dwork & Roth 2014, section 3.3]
    """

    __slots__ = ()
    name = "report-noisy-max"
    scale = scale_parameter()
    noise = ChoiceParameter("noise", meaning="law of the noise", choices=("laplace", "exponential", "gumbel"))
    candidates = WholeParameter("k", meaning="how many candidates there are", typical=("2", "10"), least=2)

    def _twin(self) -> type[AdditiveNoise]:
        families: dict[str, type[AdditiveNoise]] = {
            "laplace": LaplaceDifference,
            "exponential": Laplace,
            "gumbel": Logistic,
        }
        return families[self.exact_parameters["noise"]]

    @property
    def _is_open(self) -> bool:
        return bool(self.exact_parameters["noise"] == "laplace" and self.exact_parameters["candidates"] > 2)

    def _law(self, exponents: Scores) -> FiniteLaw:
        noise = self.exact_parameters["noise"]
        if noise == "gumbel":
            return FiniteLaw([ExponentialSum.exp(exponent) for exponent in exponents])
        return exponential_noise_law(exponents) if noise == "exponential" else laplace_noise_law(exponents)

    def dominating_pairs(self) -> tuple[DominatingPair, ...]:
        if self._is_open:
            raise _open_question(self)
        return super().dominating_pairs()

    def neighbours(self) -> tuple[Any, Any]:
        rest = (-8 * self.sensitivity,) * (int(self.exact_parameters["candidates"].p) - 2)
        return (0, self.sensitivity, *rest), (self.sensitivity, 0, *rest)

    def sampler(self) -> Sampler:
        from dpverify.samplers.finite import permute_and_flip, selection

        if self.exact_parameters["noise"] == "exponential":
            return permute_and_flip(checked_scores, self._exponents, law=f"{self!r}")
        return selection(checked_scores, lambda scores: self._law(self._exponents(scores)).cumulative, law=f"{self!r}")

    @classmethod
    def _engine(cls, arithmetic: str) -> Engine:
        return _WhereKnown(super()._engine(arithmetic), arithmetic)

    @classmethod
    def expression(cls, solved: str) -> str:
        texts = {
            "delta": "the delta",
            "epsilon": "the least epsilon >= 0",
            "scale": "the least scale",
        }
        return (
            f"{texts[solved]} of noise with shift 2*sensitivity/scale: logistic for gumbel, Laplace for exponential, density "
            "(1 + |x|)*exp(-|x|)/4 for laplace and two candidates"
        )


class _WhereKnown:
    """The twin's answers, and for Laplace noise on more than two candidates what is known without a twin."""

    def __init__(self, twins: Engine, arithmetic: str) -> None:
        self._twins = twins
        self._arithmetic = arithmetic

    def delta(self, mechanism: ReportNoisyMax, eps: fmpq, digits: int) -> Any:
        """delta(eps); 0 from 2 sensitivity/scale on."""
        if mechanism._is_open:
            limit = mechanism.twin.shift
            if abs(eps) < limit:
                raise _open_question(mechanism)
        return self._twins.delta(mechanism, eps, digits)

    def epsilon(self, mechanism: ReportNoisyMax, delta: fmpq, digits: int) -> Any:
        """The least epsilon >= 0; 2 sensitivity/scale at delta = 0."""
        if mechanism._is_open and delta > 0:
            raise _open_question(mechanism)
        return self._twins.epsilon(mechanism, delta, digits)

    def scale(self, mechanism: ReportNoisyMax, eps: fmpq, delta: fmpq, sensitivity: fmpq, digits: int) -> Any:
        """The least scale; 2 sensitivity/epsilon at delta = 0."""
        if mechanism._is_open and delta > 0:
            raise _open_question(mechanism)
        return self._twins.scale(mechanism, eps, delta, sensitivity, digits)


def _open_question(mechanism: ReportNoisyMax) -> NotCovered:
    return NotCovered(
        f"{mechanism!r}: the largest delta over all scores of {mechanism.candidates} candidates with Laplace noise is not "
        "known here, except that pure DP holds from 2*sensitivity/scale on; ask for delta = 0, use noise='exponential' (which "
        "has the larger delta) or 'gumbel', or ask .between(scores, neighbour) about two given score vectors."
    )
