"""How numbers that are handed to the notions are checked. All of them are exact afterwards."""

from __future__ import annotations

from flint import fmpq

from dpverify.arithmetic.exact import Number, to_exact
from dpverify.errors import ImpossibleRequest, InputError, shown

ATTEMPTS = 4
"""How often a value with the digits asked for is evaluated anew for its least double: it may be a double exactly, which no ball
shows."""


def checked_delta(value: Number) -> fmpq:
    """0 <= delta < 1."""
    number = to_exact(value, "delta")
    if number < 0:
        raise InputError(f"delta = {shown(value, str)}: a probability is needed; give 0 <= delta < 1.")
    if number >= 1:
        raise ImpossibleRequest(f"delta = {shown(value, str)}: at delta >= 1 nothing is claimed; give 0 <= delta < 1.")
    return number


def checked_epsilon(value: Number) -> fmpq:
    """epsilon >= 0, in nats."""
    return not_negative(value, "epsilon")


def not_negative(value: Number, name: str) -> fmpq:
    """A number >= 0."""
    number = to_exact(value, name)
    if number < 0:
        raise InputError(f"{name} = {shown(value, str)}: give a number >= 0.")
    return number


def positive(value: Number, name: str) -> fmpq:
    """A number > 0."""
    number = to_exact(value, name)
    if number <= 0:
        raise InputError(f"{name} = {shown(value, str)}: give a number > 0.")
    return number


def between_zero_and_one(value: Number, name: str) -> fmpq:
    """A number strictly between 0 and 1."""
    number = to_exact(value, name)
    if not 0 < number < 1:
        raise InputError(f"{name} = {shown(value, str)}: give a number strictly between 0 and 1.")
    return number


def above_one(value: Number, name: str) -> fmpq:
    """A number > 1."""
    number = to_exact(value, name)
    if number <= 1:
        raise InputError(f"{name} = {shown(value, str)}: give a number > 1.")
    return number
