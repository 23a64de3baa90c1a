"""`Selection`: mechanisms that report which of several candidates has (about) the largest score.

Neighbouring datasets move every score by at most `sensitivity`, up or down. With scale s and eta = 2 sensitivity/s, adding
independent noise of scale s to the scores and reporting the largest is the form that all of them share, and only score
differences matter. For an event S, a set of candidates, P(report in S) grows with the scores in S and falls with the
others, so the worst neighbours move S up and the rest down: relative to each other by 2 sensitivity. Hence
    delta(epsilon) = sup of F(eta) - e^epsilon F(0)
over the laws F of (best noisy score outside S) - (best noisy score in S), divided by s. What that supremum is, each
mechanism's own file proves: it is the profile of an additive noise, the `twin`, moved by 2 sensitivity. The twin's dominating
pair is then the mechanism's, and everything is computed from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flint import fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number, to_exact
from dpverify.arithmetic.exponentials import ExponentialSum
from dpverify.enclose.refine import check_digits, enclose
from dpverify.errors import InputError
from dpverify.mechanisms._finite import FiniteLaw, FinitePair
from dpverify.mechanisms._mechanism import Engine, Mechanism
from dpverify.mechanisms._parameters import as_given

if TYPE_CHECKING:
    from dpverify.mechanisms._additive import AdditiveNoise
    from dpverify.notions.pair import DominatingPair

Scores = tuple[fmpq, ...]


class Selection(Mechanism):
    """Report a candidate with a large score. `sensitivity`: how far one score moves between neighbouring datasets."""

    __slots__ = ()

    # What a mechanism states.

    def _twin(self) -> type[AdditiveNoise]:
        """The additive noise of scale s whose profile at shift 2 sensitivity is the mechanism's."""
        raise NotImplementedError

    def _law(self, exponents: Scores) -> FiniteLaw:
        """The law of the reported candidate; `exponents` are the scores divided by the scale, the largest of them 0."""
        raise NotImplementedError

    # What follows.

    @property
    def twin(self) -> AdditiveNoise:
        """The additive noise with the same profile, at shift 2 sensitivity."""
        return self._twin()(self.exact_parameters["scale"], sensitivity=2 * self.exact_sensitivity)

    def law(self, scores: Sequence[Number]) -> FiniteLaw:
        """The law of the reported candidate for given scores, exact."""
        return self._law(self._exponents(checked_scores(scores)))

    def probabilities(self, scores: Sequence[Number], *, digits: int = 15) -> list[Enclosure]:
        """P(candidate i is reported) for given scores, exact where it is rational."""
        law, wanted = self.law(scores), check_digits(digits)
        return [
            enclose(lambda bits, i=i: law.probability([i]), wanted, what=lambda: f"a probability of {self!r}", within=(0, 1))  # type: ignore[misc]
            for i in range(len(law))
        ]

    def between(self, scores: Sequence[Number], neighbour: Sequence[Number]) -> FinitePair:
        """The laws for two given score vectors: what this one pair of neighbours loses, which is no supremum.

        Raises InputError where a score moves by more than the sensitivity.
        """
        first, second = checked_scores(scores), checked_scores(neighbour)
        if len(first) != len(second):
            raise InputError(f"{len(first)} scores and {len(second)} scores: neighbours score the same candidates.")
        for place, (a, b) in enumerate(zip(first, second, strict=True)):
            if abs(a - b) > self.exact_sensitivity:
                raise InputError(
                    f"candidate {place}: its score moves by {as_given(abs(a - b))}, which is more than the sensitivity "
                    f"{self.sensitivity}; these are no neighbours."
                )
        return FinitePair(p=self._law(self._exponents(first)), q=self._law(self._exponents(second)))

    def dominating_pairs(self) -> tuple[DominatingPair, ...]:
        return self.twin.dominating_pairs()

    def neighbours(self) -> tuple[Any, Any]:
        return (0, self.sensitivity), (self.sensitivity, 0)

    def _exponents(self, scores: Scores) -> Scores:
        scale, best = self.exact_parameters["scale"], max(scores)
        return tuple((score - best) / scale for score in scores)

    def _refuse_impossible_bound(self, eps: fmpq, delta: fmpq) -> None:
        self.twin._refuse_impossible_bound(eps, delta)

    @classmethod
    def _engine(cls, arithmetic: str) -> Engine:
        return _OfTwin(arithmetic)


def twin_expression(twin: type[AdditiveNoise], solved: str) -> str:
    """The formula of the twin, in terms of the mechanism's sensitivity."""
    return twin.expression(solved).replace("sensitivity", "2*sensitivity")


class _OfTwin:
    """Answers with the twin's answers, in either arithmetic."""

    def __init__(self, arithmetic: str) -> None:
        self._arithmetic = arithmetic

    def delta(self, mechanism: Selection, eps: fmpq, digits: int) -> Any:
        """delta(eps)."""
        twin = mechanism.twin
        return twin._engine(self._arithmetic).delta(twin, eps, digits)

    def epsilon(self, mechanism: Selection, delta: fmpq, digits: int) -> Any:
        """The least epsilon >= 0."""
        twin = mechanism.twin
        return twin._engine(self._arithmetic).epsilon(twin, delta, digits)

    def scale(self, mechanism: Selection, eps: fmpq, delta: fmpq, sensitivity: fmpq, digits: int) -> Any:
        """The least scale."""
        twin = mechanism.twin
        return twin._engine(self._arithmetic).scale(twin, eps, delta, 2 * sensitivity, digits)


def checked_scores(scores: Any) -> Scores:
    """At least two scores as exact rationals, or an InputError."""
    try:
        found = tuple(to_exact(score, f"score {place}") for place, score in enumerate(scores))
    except TypeError as error:
        raise InputError(f"scores = {scores!r}: a sequence of numbers is needed, one score a candidate.") from error
    if len(found) < 2:
        raise InputError(f"scores = {scores!r}: give the scores of two candidates or more.")
    return found


# Polynomials whose coefficients are exact exponential sums, lowest power first.

Polynomial = list[ExponentialSum]

MOST_TERMS = 40_000


def times_linear(polynomial: Polynomial, root: ExponentialSum) -> Polynomial:
    """polynomial * (1 - root y)."""
    found = [*polynomial, ExponentialSum()]
    for power, coefficient in enumerate(polynomial):
        found[power + 1] = found[power + 1] - coefficient * root
    if sum(len(one.terms) for one in found) > MOST_TERMS:
        raise InputError(
            "the exact law of so many candidates with unrelated scores has too many terms; round the scores to a grid, "
            "or give at most 14 candidates."
        )
    return found


def over_linear(polynomial: Polynomial, root: ExponentialSum) -> Polynomial:
    """polynomial / (1 - root y), where that leaves no rest."""
    found: Polynomial = []
    carry = ExponentialSum()
    for coefficient in polynomial[:-1]:
        carry = coefficient + carry * root
        found.append(carry)
    return found
