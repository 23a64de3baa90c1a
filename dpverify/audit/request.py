"""What is asked of an audit, checked before the first output is drawn. Numbers come out exact, or safe doubles."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

from flint import fmpq

from dpverify.arithmetic.exact import Number, float_above, float_below, to_exact
from dpverify.audit.reading import safe_repr
from dpverify.errors import InputError, shown

FEWEST_SAMPLES = 100
MOST_SAMPLES = 10**12
MOST_WORKERS = 1024


def checked_pair(inputs: Any) -> tuple[Any, Any]:
    """Two inputs that survive a call."""
    if not isinstance(inputs, tuple | list) or len(inputs) != 2:
        found = f"{len(inputs)} of them" if isinstance(inputs, tuple | list) else f"{type(inputs).__name__}"
        raise InputError(f"inputs: a pair (d1, d2) of neighbouring datasets is needed, not {found}.")
    for place, data in enumerate(inputs):
        if isinstance(data, Iterator):
            raise InputError(
                f"inputs[{place}] is a {type(data).__name__}, which the first call would use up; pass a list or an array."
            )
    return inputs[0], inputs[1]


def checked_epsilon(epsilon: Number) -> fmpq:
    """An epsilon (nats), exactly."""
    exact = to_exact(epsilon, "epsilon")
    if exact < 0:
        raise InputError(f"epsilon = {shown(epsilon, str)}: a claim needs epsilon >= 0 (in nats).")
    if exact > 10**300:
        raise InputError(
            f"epsilon = {shown(epsilon, str)}: a claim this weak cannot be refuted by any sample; state epsilon <= 10^300."
        )
    return exact


def checked_delta(delta: Number) -> fmpq:
    """A delta, exactly."""
    exact = to_exact(delta, "delta")
    if not 0 <= exact < 1:
        raise InputError(f"delta = {shown(delta, str)}: a claim needs 0 <= delta < 1; with delta = 1 everything is private.")
    if float_above(exact) >= 1:
        raise InputError(f"delta = {shown(delta, str)}: no double lies between it and 1; a claim this weak cannot be tested.")
    return exact


def checked_alpha(alpha: Number) -> float:
    """A level, as a double that is no larger."""
    exact = to_exact(alpha, "alpha")
    if not fmpq(1, 10**100) <= exact < 1:
        raise InputError(
            f"alpha = {shown(alpha, str)}: the probability of refuting a true claim lies in (0, 1), from 1e-100 on; "
            f"0.001 is usual."
        )
    return float_below(exact)


def checked_whole(value: Any, name: str, *, least: int, most: int | None) -> int:
    """A whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{name} = {shown(value)}: a whole number is needed, {least} or more.")
    number = int(value)
    if number < least or (most is not None and number > most):
        raise InputError(f"{name} = {shown(number)}: {least} or more is needed" + (f", and at most {most:,}." if most else "."))
    return number


def checked_timeout(timeout: Any) -> float | None:
    """Seconds, or None."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < 10**7:
        raise InputError(
            f"timeout = {shown(timeout)}: seconds that one call may take are needed, more than 0; None for no limit."
        )
    return float(timeout)


def shortened(data: Any) -> str:
    """An input as text for readers."""
    text = safe_repr(data)
    return text if len(text) <= 200 else f"{text[:197]}..."
