"""Objects of other libraries among claims: what a claim leaves out is read off the object."""

from __future__ import annotations

from typing import Any

from dpverify.adapters import adapt, library_of
from dpverify.errors import InputError, shown


def completed(mechanism: Any, *, inputs: Any, epsilon: Any, delta: Any, distance: Any) -> dict[str, Any]:
    """`mechanism`, `inputs`, `epsilon` and `delta` of a claim, None standing for what is left out.

    Of an object that an adapter reads, epsilon and delta are its own claim where no epsilon is stated; of all else epsilon
    has to be stated, and delta is 0 unless it is. Raises InputError for what is missing.
    """
    if library_of(mechanism) is not None:
        adapted = adapt(mechanism, distance=distance, delta=delta)
        inputs = adapted.inputs if inputs is None else inputs
        if epsilon is None:
            epsilon, delta = adapted.epsilon, adapted.delta
        mechanism = adapted.mechanism
    elif distance != 1:
        raise InputError(
            f"distance = {shown(distance)}: objects of other libraries are asked about it, and this mechanism is none of these;"
            " leave it out."
        )
    if epsilon is None:
        raise InputError("epsilon is missing: a claim states it, unless the mechanism is an object that states it itself.")
    if inputs is None:
        raise InputError("inputs are missing: two neighbouring datasets are needed.")
    return {"mechanism": mechanism, "inputs": inputs, "epsilon": epsilon, "delta": 0 if delta is None else delta}
