"""The words of the project: what is claimed, who implies whom, and what can be said of a claim.

Small frozen types without behaviour beyond their own consistency and the implications that need no arithmetic but
comparison. Conversions with a loss live in `notions.conversion`, numbers in `enclose`, statistics in `audit`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

from dpverify.errors import InputError, shown


class Verdict(StrEnum):
    """What can be said of a claim. The value is the word that is printed."""

    PROVED = "proved"
    """The claim follows from certified arithmetic."""
    REFUTED = "refuted"
    """A witness contradicts the claim, with certainty or at the stated confidence."""
    NOT_REFUTED = "not refuted"
    """The events that were tested do not contradict the claim. Others may."""
    UNDECIDED = "undecided"
    """Precision, samples or time ran out before either could be said."""


Quantity: TypeAlias = Any
"""Given as int, float (exactly that double), Fraction, Decimal or text (an exact decimal or fraction); kept as a Fraction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Guarantee:
    """What all notions share: parameters that are exact non-negative fractions."""

    below_one: ClassVar[frozenset[str]] = frozenset()
    """The parameters that are probabilities, and must be below 1."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.type == "Quantity":
                value = _exact(getattr(self, field.name), field.name)
                if field.name in self.below_one and value >= 1:
                    raise InputError(
                        f"{field.name} = {shown(value, str)}: what may always fail is no guarantee; give less than 1."
                    )
                object.__setattr__(self, field.name, value)

    def __str__(self) -> str:
        values = (f"{field.name}={shown(getattr(self, field.name), str)}" for field in fields(self))
        return f"{type(self).__name__}({', '.join(values)})"

    def implies(self, other: Guarantee) -> bool:
        """Whether every mechanism with this guarantee has `other`, by comparison of the parameters alone.

        False does not say that it never does: `notions.convert` knows the implications that cost something.
        """
        return any(_gives(reached, other) for reached in (self, *self._without_loss()))

    def _without_loss(self) -> tuple[Guarantee, ...]:
        """Other notions that this guarantee gives outright."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PureDP(_Guarantee):
    """epsilon-DP: the privacy loss is at most epsilon (nats) between any two neighbouring datasets."""

    epsilon: Quantity

    def _without_loss(self) -> tuple[Guarantee, ...]:
        return (
            ApproxDP(epsilon=self.epsilon, delta=Fraction(0)),
            ProbabilisticDP(epsilon=self.epsilon, delta=Fraction(0)),
            ZCDP(rho=self.epsilon**2 / 2),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproxDP(_Guarantee):
    """(epsilon, delta)-DP: P(S) <= e^epsilon Q(S) + delta for every event S and all neighbours."""

    below_one = frozenset({"delta"})
    epsilon: Quantity
    delta: Quantity

    def _without_loss(self) -> tuple[Guarantee, ...]:
        if self.delta > 0:
            return ()
        return (PureDP(epsilon=self.epsilon), *PureDP(epsilon=self.epsilon)._without_loss())


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbabilisticDP(_Guarantee):
    """Probabilistic (epsilon, delta)-DP: P(privacy loss > epsilon) <= delta. Not closed under post-processing.

    Pairwise reading: for each pair of neighbours. With `union`, for the outputs at which the loss against *some* neighbour
    exceeds epsilon, which asks for more.
    """

    below_one = frozenset({"delta"})
    epsilon: Quantity
    delta: Quantity
    union: bool = False

    def _without_loss(self) -> tuple[Guarantee, ...]:
        weaker = (
            ApproxDP(epsilon=self.epsilon, delta=self.delta),
            ProbabilisticDP(epsilon=self.epsilon, delta=self.delta, union=False),
        )
        # A loss that never exceeds epsilon does so in either reading.
        exact = (PureDP(epsilon=self.epsilon), *PureDP(epsilon=self.epsilon)._without_loss()) if self.delta == 0 else ()
        return (*weaker, *exact)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcentratedDP(_Guarantee):
    """Mean-concentrated DP: the privacy loss L has E L <= epsilon and P(L - epsilon > a) <= e^{-a^2/(2 tau^2)}, all a > 0."""

    epsilon: Quantity
    tau: Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiDP(_Guarantee):
    """(order, epsilon)-RDP: the Renyi divergence of the stated order > 1 is at most epsilon (nats)."""

    order: Quantity
    epsilon: Quantity

    def __post_init__(self) -> None:
        _Guarantee.__post_init__(self)
        if self.order <= 1:
            raise InputError(f"order = {self.order}: Renyi DP is stated for orders above 1; order 1 is the mean loss.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZCDP(_Guarantee):
    """rho-zCDP: the Renyi divergence of every order alpha > 1 is at most rho alpha."""

    rho: Quantity

    def at(self, order: Quantity) -> RenyiDP:
        """The Renyi guarantee of one order."""
        exact = _exact(order, "order")
        return RenyiDP(order=exact, epsilon=self.rho * exact)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianDP(_Guarantee):
    """mu-GDP: telling neighbours apart is never easier than telling N(0, 1) from N(mu, 1)."""

    mu: Quantity

    def _without_loss(self) -> tuple[Guarantee, ...]:
        return (ZCDP(rho=self.mu**2 / 2),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomDP(_Guarantee):
    """A guarantee that holds for neighbours drawn from a data law, except with probability `failure` over the *data*.

    It says nothing about the data that were not drawn so: it is a statement about `law`, and no other guarantee follows.
    """

    below_one = frozenset({"failure"})
    guarantee: Guarantee
    failure: Quantity
    law: str
    """In words: how the dataset and its neighbour are drawn."""

    def __post_init__(self) -> None:
        _Guarantee.__post_init__(self)
        if not isinstance(self.guarantee, _Guarantee) or isinstance(self.guarantee, RandomDP):
            raise InputError(f"guarantee = {self.guarantee!r}: give the guarantee that is meant, such as ApproxDP(...).")
        if not isinstance(self.law, str) or not self.law.strip():
            raise InputError(f"law = {self.law!r}: say in words how datasets are drawn; without a law nothing is claimed.")

    def implies(self, other: Guarantee) -> bool:
        """Only another statement about the same law."""
        return (
            isinstance(other, RandomDP)
            and other.law == self.law
            and other.failure >= self.failure
            and self.guarantee.implies(other.guarantee)
        )


Guarantee: TypeAlias = PureDP | ApproxDP | ProbabilisticDP | ConcentratedDP | RenyiDP | ZCDP | GaussianDP | RandomDP


def _gives(stronger: Any, weaker: Any) -> bool:
    """Whether the parameters of one guarantee are enough for the other."""
    if isinstance(stronger, ZCDP) and isinstance(weaker, RenyiDP):
        stronger = stronger.at(weaker.order)
    if isinstance(stronger, ZCDP) and isinstance(weaker, ConcentratedDP):  # P(L > rho + a) <= e^{-a^2/(4 rho)}
        return bool(weaker.epsilon >= stronger.rho and weaker.tau**2 >= 2 * stronger.rho)
    if type(stronger) is not type(weaker):
        return False
    if isinstance(stronger, RenyiDP):  # the divergence does not fall as the order grows
        return bool(stronger.order >= weaker.order and stronger.epsilon <= weaker.epsilon)
    if isinstance(stronger, ProbabilisticDP) and weaker.union > stronger.union:
        return bool(stronger.delta == 0 and stronger.epsilon <= weaker.epsilon)
    names = [field.name for field in fields(stronger) if field.type == "Quantity"]
    return all(getattr(stronger, name) <= getattr(weaker, name) for name in names)


def _exact(value: Quantity, name: str) -> Fraction:
    """A finite number >= 0 as a fraction."""
    from dpverify.arithmetic.exact import to_exact

    number = to_exact(value, name)
    if number < 0:
        raise InputError(f"{name} = {shown(value, str)}: no guarantee has a negative {name}; give a number >= 0.")
    return Fraction(int(number.p), int(number.q))
