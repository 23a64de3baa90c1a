"""Tumult Core measurements: the claim is `privacy_function(d_in)` in the measurement's output measure, outputs come from
calling it. The library draws from a generator of its own, which cannot be seeded.
"""

from __future__ import annotations

from typing import Any

from dpverify.adapters._adapted import Adapted, of_zcdp, one_by_one
from dpverify.errors import InputError, shown


def adapt(measurement: Any, *, distance: Any, delta: Any, accountant: Any) -> Adapted:
    """A measurement with PureDP, ApproxDP or RhoZCDP as its output measure."""
    if not callable(getattr(measurement, "privacy_function", None)):
        raise InputError(f"{shown(measurement)}: a Tumult Core measurement is needed, not a {type(measurement).__name__}.")
    measure = type(measurement.output_measure).__name__
    loss = measurement.privacy_function(distance)
    if measure == "PureDP":
        epsilon, at = _fraction(loss), "0"
    elif measure == "ApproxDP":
        epsilon, at = (_fraction(part) for part in loss)
    elif measure == "RhoZCDP":
        epsilon, at = of_zcdp(_fraction(loss), delta, "zero-concentrated differential privacy")
    else:
        raise InputError(f"{measure}: no (epsilon, delta) is known that a measurement with this output measure claims.")
    return Adapted(
        name=f"tmlt.core {type(measurement).__name__}",
        epsilon=epsilon,
        delta=at,
        mechanism=one_by_one(measurement),
        source=f"privacy_function({distance}) of the measurement, {measure}",
    )


def _fraction(number: Any) -> str:
    """The exact rational in one of the library's exact numbers, as text."""
    expression = getattr(number, "expr", number)
    if getattr(expression, "is_Rational", isinstance(expression, int)) is not True:
        raise InputError(f"{shown(number)}: the loss is no rational number; choose d_in so that it is one.")
    return str(expression)
