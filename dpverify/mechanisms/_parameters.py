"""How a mechanism declares its parameters, and how numbers that are handed in are checked."""

from __future__ import annotations

from typing import Any

from flint import fmpq

from dpverify.arithmetic.exact import Number, float_above, is_double, to_exact
from dpverify.errors import ImpossibleRequest, InputError, shown


class Parameter:
    """A positive parameter, declared as a class attribute. On an instance it reads as the double that was given, or as
    the Fraction where no double is that number."""

    __slots__ = ("default", "is_scale", "meaning", "name", "symbol", "typical")
    unit: Any = fmpq(1)
    """A value that it may always have. A member with this scale stands for the family where the scale is not known."""

    def __init__(self, symbol: str, *, meaning: str, typical: tuple[str, str], is_scale: bool) -> None:
        self.symbol = symbol
        self.meaning = meaning
        self.typical = typical
        self.is_scale = is_scale
        self.default: Any = None
        """The value where none is given; None where one must be."""
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else self.shown(instance.exact_parameters[self.name])

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError(f"{type(instance).__name__} is immutable; make a new one with {self.name}={value!r}.")

    def shown(self, value: Any) -> Any:
        """An exact value as a reader wants it."""
        return as_given(value)

    def checked(self, value: Number) -> Any:
        """`value` as an exact positive rational."""
        return positive(value, self.name, "a noise with no width protects nothing" if self.is_scale else "it must be positive")


def scale_parameter(
    symbol: str = "s", *, meaning: str = "scale of the noise", typical: tuple[str, str] = ("1/10", "10")
) -> Parameter:
    """The parameter that the noise is proportional to; `bound` and `calibrate` solve for it."""
    return Parameter(symbol, meaning=meaning, typical=typical, is_scale=True)


class WholeParameter(Parameter):
    """A shape parameter that counts something."""

    __slots__ = ("least",)

    def __init__(self, symbol: str, *, meaning: str, typical: tuple[str, str], least: int) -> None:
        super().__init__(symbol, meaning=meaning, typical=typical, is_scale=False)
        self.least = least

    def shown(self, value: fmpq) -> int:
        """An int."""
        return int(value.p)

    def checked(self, value: Number) -> fmpq:
        """`value` as a whole number that is not below the least."""
        number = to_exact(value, self.name)
        if number.q != 1 or number < self.least:
            raise InputError(f"{self.name} = {shown(value, str)}: it must be a whole number; give {self.least} or more.")
        return number


class ChoiceParameter(Parameter):
    """A shape parameter that is one of a few words."""

    __slots__ = ("choices",)

    def __init__(self, symbol: str, *, meaning: str, choices: tuple[str, ...], default: str | None = None) -> None:
        super().__init__(symbol, meaning=f"{meaning}: {', '.join(choices)}", typical=(choices[0], choices[-1]), is_scale=False)
        self.choices = choices
        self.default = default

    def checked(self, value: Number) -> str:
        """`value` if it is one of the choices."""
        if not isinstance(value, str) or value not in self.choices:
            raise InputError(f"{self.name} = {shown(value)}: choose one of {', '.join(self.choices)}.")
        return value


class VectorParameter(Parameter):
    """One number a coordinate: a number, a sequence of numbers, or text such as "10,8"."""

    __slots__ = ()

    def __init__(self, symbol: str, *, meaning: str, typical: tuple[str, str], default: str | None = None) -> None:
        super().__init__(symbol, meaning=meaning, typical=typical, is_scale=False)
        self.default = default

    def checked(self, value: Any) -> tuple[fmpq, ...]:
        """`value` as exact numbers, one a coordinate."""
        return numbers(value, self.name)


def numbers(value: Any, name: str) -> tuple[fmpq, ...]:
    """A number, a sequence of numbers, or text with commas between numbers, as exact numbers."""
    if isinstance(value, str):
        value = value.split(",")
    try:
        listed = [value] if isinstance(value, (int, float, fmpq)) else list(value)
    except TypeError:
        listed = [value]
    if not listed:
        raise InputError(f"{name} = {shown(value)}: no number at all; give one, or one a coordinate.")
    return tuple(to_exact(one, name) for one in listed)


def as_given(value: Any) -> Any:
    """A number as a double where one is exactly it, else as a Fraction; a word as it is; a sequence as a tuple of such (one of
    a single number as that number)."""
    if not isinstance(value, (fmpq, tuple)):
        return value
    if isinstance(value, tuple):
        return as_given(value[0]) if len(value) == 1 else tuple(as_given(one) for one in value)
    if is_double(value):
        return float_above(value)
    from fractions import Fraction

    return Fraction(int(value.p), int(value.q))


def positive(value: Number, name: str, why: str) -> fmpq:
    number = to_exact(value, name)
    if number <= 0:
        raise InputError(f"{name} = {shown(value, str)}: {why}; give a positive finite number.")
    return number


def checked_sensitivity(value: Number) -> fmpq:
    """The sensitivity D > 0: how far neighbouring datasets can move the true answer."""
    return positive(value, "sensitivity", "if neighbours never differ there is nothing to protect")


def checked_epsilon(value: Number) -> fmpq:
    """An epsilon that a bound is asked for: finite and >= 0 (nats)."""
    number = to_exact(value, "epsilon")
    if number < 0:
        raise InputError(
            f"epsilon = {shown(value, str)}: a guarantee needs epsilon >= 0; only delta(epsilon) accepts negative values."
        )
    return number


def checked_delta(value: Number) -> fmpq:
    """A delta that a bound is asked for: 0 <= delta < 1."""
    number = to_exact(value, "delta")
    if number < 0:
        raise InputError(f"delta = {shown(value, str)}: a probability is needed; give 0 <= delta < 1.")
    if number >= 1:
        raise ImpossibleRequest(
            f"delta = {shown(value, str)}: at delta >= 1 every mechanism is private and nothing is bounded; "
            "give 0 <= delta < 1."
        )
    return number
