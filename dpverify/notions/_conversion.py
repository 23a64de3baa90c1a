"""What the steps from one guarantee to another share: the result, what may be asked of it, and safe parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number, to_exact
from dpverify.errors import ImpossibleRequest, InputError
from dpverify.guarantees import ApproxDP, Guarantee
from dpverify.notions._checks import above_one


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """What follows from a guarantee. `values` are the certified numbers behind the parameters of `guarantee`."""

    given: Guarantee
    guarantee: Guarantee
    values: dict[str, Enclosure]
    tight: bool
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Which point of the target is asked for."""

    epsilon: Number | None
    delta: Number | None
    order: Number | None
    digits: int

    def one_of_epsilon_and_delta(self, target: str) -> str:
        """Which of the two is solved for."""
        if (self.epsilon is None) == (self.delta is None):
            raise InputError(f"{target} is a curve: give epsilon to get delta, or delta to get epsilon (one of them).")
        return "epsilon" if self.epsilon is None else "delta"

    def chosen_order(self) -> fmpq:
        if self.order is None:
            raise InputError("RenyiDP is a curve: give the order.")
        return above_one(self.order, "order")


def safe(value: Enclosure) -> Fraction:
    """The least double that is no smaller, or the exact value."""
    return value.exact_upper if value.is_exact else Fraction(value.upper)


def exactly(value: fmpq, wish: Wish) -> Enclosure:
    return Enclosure(value, digits=wish.digits)


def to_fmpq(value: Fraction) -> fmpq:
    return to_exact(value, "parameter")


def arb_of(value: Fraction) -> Callable[[], arb]:
    """A number as a ball at the working precision in force when it is called."""
    exact = to_fmpq(value)
    return lambda: arb(exact)


def to_fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def same(given: Guarantee, found: Guarantee, because: str, wish: Wish, *, tight: bool = True) -> Conversion:
    """A step whose parameters are exact."""
    names = [name for name in ("epsilon", "delta", "rho", "order", "mu", "tau") if hasattr(found, name)]
    values = {name: exactly(to_fmpq(getattr(found, name)), wish) for name in names}
    return Conversion(given=given, guarantee=found, values=values, tight=tight, because=because)


def curve_point(
    given: Guarantee, found: Enclosure, other: fmpq, solved: str, *, tight: bool, because: str, to: type[Any] = ApproxDP
) -> Conversion:
    """A point (epsilon, delta) of a curve, of which `solved` was found."""
    fixed = "delta" if solved == "epsilon" else "epsilon"
    least = safe(found)
    if solved == "delta" and least >= 1:
        raise ImpossibleRequest(f"epsilon = {other}: no delta below 1 follows from {given}; give a larger epsilon.")
    values = {solved: found, fixed: Enclosure(other, digits=found.digits)}
    guarantee = to(**{solved: least, fixed: to_fraction(other)})
    return Conversion(given=given, guarantee=guarantee, values=values, tight=tight, because=because)
