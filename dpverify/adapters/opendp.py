"""OpenDP measurements: the claim is `map(d_in)`, in the measure that the measurement names; outputs are drawn by calling it.

OpenDP draws from the operating system's generator, so the same audit does not give the same counts twice.
"""

from __future__ import annotations

from typing import Any

from dpverify.adapters._adapted import Adapted, needed_delta, of_zcdp, one_by_one
from dpverify.errors import InputError, shown


def adapt(measurement: Any, *, distance: Any, delta: Any, accountant: Any) -> Adapted:
    """A measurement with MaxDivergence, zero-concentrated, approximate or smoothed max divergence (a privacy profile)."""
    measure = str(getattr(measurement, "output_measure", ""))
    if not measure or not callable(measurement):
        raise InputError(f"{shown(measurement)}: an OpenDP measurement is needed, not a {type(measurement).__name__}.")
    try:
        loss = measurement.map(distance)
    except TypeError as error:
        reason = str(error).split(". See")[0]
        raise InputError(
            f"distance = {shown(distance)}: this measurement does not take it ({reason}); give a d_in of its type."
        ) from error
    epsilon, at = _read(measure, loss, delta)
    return Adapted(
        name=f"opendp measurement ({measure})",
        epsilon=epsilon,
        delta=at,
        mechanism=one_by_one(measurement),
        source=f"map({distance}) of the measurement, {measure}",
    )


def _read(measure: str, loss: Any, delta: Any) -> tuple[Any, Any]:
    if measure == "MaxDivergence":
        return loss, 0
    if measure == "ZeroConcentratedDivergence":
        return of_zcdp(loss, delta, "zero-concentrated divergence")
    if measure == "Approximate(MaxDivergence)":
        return loss[0], loss[1]
    if measure == "Approximate(ZeroConcentratedDivergence)":
        (rho, extra), at = loss, needed_delta(delta, measure)
        if float(at) <= float(extra):
            raise InputError(f"delta = {at}: the measurement itself fails with probability {extra}; give a larger delta.")
        from fractions import Fraction

        epsilon, _ = of_zcdp(rho, Fraction(str(at)) - Fraction(extra), measure)
        return epsilon, at
    if measure == "SmoothedMaxDivergence":
        at = needed_delta(delta, "a privacy profile")
        return loss.epsilon(float(at)), float(at)
    raise InputError(f"{measure}: no (epsilon, delta) is known that a measurement in this measure claims.")
