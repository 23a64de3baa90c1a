"""`Selection`: mechanisms that report which of several candidates has (about) the largest score.

Neighbouring datasets move every score by at most `sensitivity`, up or down. With scale s and eta = 2 sensitivity/s, adding
independent noise of scale s to the scores and reporting the largest is the form that all of them share, and only score
differences matter. For an event S, a set of candidates, P(report in S) grows with the scores in S and falls with the
others, so the worst neighbours move S up and the rest down: relative to each other by 2 sensitivity. Hence
    delta(epsilon) = sup of F(eta) - e^epsilon F(0)
over the laws F of (best noisy score outside S) - (best noisy score in S), divided by s. What that supremum is, each
mechanism's own file proves: it is the profile of an additive noise, the `twin`, moved by 2 sensitivity. The twin's dominating
pair then dominates the mechanism, and every notion that survives post-processing follows from it: exactly, as far as it is
a matter of the profile; as a bound that need not be attained for Renyi divergences and what rests on them. Probabilistic DP
does not follow, and is answered for the neighbours themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from flint import arb, ctx, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number, to_exact
from dpverify.arithmetic.exponentials import ExponentialSum
from dpverify.enclose.refine import check_digits, enclose
from dpverify.enclose.root import positive_root
from dpverify.errors import InputError
from dpverify.mechanisms import _quantile
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
        return (SelectionPair(twin=self.twin),)

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


@dataclass(frozen=True, kw_only=True)
class SelectionPair:
    """The twin's pair, and what it does not say about probabilistic DP.

    For an event S of two neighbours, P(S) <= F(F^{-1}(Q(S)) + eta), F the twin's cdf, with equality for two candidates. The
    outputs whose loss exceeds eps have P(S) > e^eps Q(S), so the largest P(L > eps) is F(t + eta) at F(t + eta) = e^eps F(t)
    for 0 <= eps < eta (approached, not attained), 0 above, and 1 for negative eps.
    """

    is_symmetric: ClassVar[bool] = True
    twin: AdditiveNoise

    @property
    def pair(self) -> Any:
        """The twin's own pair."""
        return self.twin.dominating_pair()

    def hockey_stick(self, eps: fmpq) -> arb | fmpq:
        found: arb | fmpq = self.pair.hockey_stick(eps)
        return found

    def loss_tail(self, eps: fmpq) -> arb | fmpq:
        found: arb | fmpq = self.pair.loss_tail(eps)
        return found

    def loss_limit(self) -> arb | fmpq:
        return self.twin.shift

    def power_moment(self, order: fmpq) -> arb | fmpq:
        found: arb | fmpq = self.pair.power_moment(order)
        return found

    def mean_loss(self) -> arb | fmpq:
        found: arb | fmpq = self.pair.mean_loss()
        return found

    def reversed(self) -> Self:
        return self

    def __getattr__(self, name: str) -> Any:
        """Whatever else the twin's pair knows, but for the disclosure that all neighbours of a number share."""
        if name.startswith(("_", "disclosure")):
            raise AttributeError(name)
        return getattr(self.pair, name)

    def neighbour_tail(self, eps: fmpq) -> arb | fmpq:
        """The largest P(L > eps) over all neighbours."""
        eta = arb(self.twin.shift)
        if eps >= self.twin.shift:
            return fmpq(0)
        if eps <= 0:
            return fmpq(1)

        def quotient(x: arb) -> arb:
            t = x.log()
            return self.twin.cdf(BALLS, t + eta) / self.twin.cdf(BALLS, t) * (-arb(eps)).exp()

        def slope(x: arb) -> arb:
            t = x.log()
            rates = [self.twin.log_density(BALLS, y).exp() / self.twin.cdf(BALLS, y) for y in (t + eta, t)]
            return quotient(x) * (rates[0] - rates[1]) / x

        root = positive_root(quotient, slope, fmpq(1), increasing=False, bits=int(ctx.prec))
        return self.twin.cdf(BALLS, root.log() + eta)

    def neighbour_quantile(self, tail: fmpq) -> arb | fmpq:
        """The least x >= 0 with `neighbour_tail(x)` <= tail: log tail - log F(F^{-1}(tail) - eta)."""
        if self.twin.attains_loss_limit and tail <= fmpq(1, 2):
            return self.twin.shift
        point = _quantile.upper(self.twin, 1 - tail)  # F^{-1}(tail)
        return arb(tail).log() - self.twin.cdf(BALLS, point - arb(self.twin.shift)).log()


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
