"""How a mechanism declares its parameters, and how numbers that are handed in are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flint import fmpq

from dpverify.arithmetic.exact import Number, float_above, is_double, to_exact
from dpverify.errors import ImpossibleRequest, InputError

if TYPE_CHECKING:
    from fractions import Fraction


class Parameter:
    """A positive parameter, declared as a class attribute. On an instance it reads as the double that was given, or as
    the Fraction where no double is that number."""

    __slots__ = ("is_scale", "meaning", "name", "symbol", "typical")

    def __init__(self, symbol: str, *, meaning: str, typical: tuple[str, str], is_scale: bool) -> None:
        self.symbol = symbol
        self.meaning = meaning
        self.typical = typical
        self.is_scale = is_scale
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else as_given(instance.exact_parameters[self.name])

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError(f"{type(instance).__name__} is immutable; make a new one with {self.name}={value!r}.")

    def checked(self, value: Number) -> fmpq:
        """`value` as an exact positive rational."""
        return positive(value, self.name, "a noise with no width protects nothing" if self.is_scale else "it must be positive")


def scale_parameter(
    symbol: str = "s", *, meaning: str = "scale of the noise", typical: tuple[str, str] = ("1/10", "10")
) -> Parameter:
    """The parameter that the noise is proportional to; `bound` and `calibrate` solve for it."""
    return Parameter(symbol, meaning=meaning, typical=typical, is_scale=True)


def as_given(value: fmpq) -> float | Fraction:
    """A double where one is exactly this number, else a Fraction."""
    if is_double(value):
        return float_above(value)
    from fractions import Fraction

    return Fraction(int(value.p), int(value.q))


def positive(value: Number, name: str, why: str) -> fmpq:
    number = to_exact(value, name)
    if number <= 0:
        raise InputError(f"{name} = {value}: {why}; give a positive finite number.")
    return number


def checked_sensitivity(value: Number) -> fmpq:
    """The sensitivity D > 0: how far neighbouring datasets can move the true answer."""
    return positive(value, "sensitivity", "if neighbours never differ there is nothing to protect")


def checked_epsilon(value: Number) -> fmpq:
    """An epsilon that a bound is asked for: finite and >= 0 (nats)."""
    number = to_exact(value, "epsilon")
    if number < 0:
        raise InputError(f"epsilon = {value}: a guarantee needs epsilon >= 0; only delta(epsilon) accepts negative values.")
    return number


def checked_delta(value: Number) -> fmpq:
    """A delta that a bound is asked for: 0 <= delta < 1."""
    number = to_exact(value, "delta")
    if number < 0:
        raise InputError(f"delta = {value}: a probability is needed; give 0 <= delta < 1.")
    if number >= 1:
        raise ImpossibleRequest(
            f"delta = {value}: at delta >= 1 every mechanism is private and nothing is bounded; give 0 <= delta < 1."
        )
    return number
