"""diffprivlib mechanisms: the claim stands in `epsilon` and `delta`, outputs come from `randomise`.

A mechanism that was built with a `random_state` draws the same outputs in every run; the others draw from the operating
system's generator.
"""

from __future__ import annotations

from typing import Any

from dpverify.adapters._adapted import Adapted, one_by_one
from dpverify.errors import InputError, shown


def adapt(mechanism: Any, *, distance: Any, delta: Any, accountant: Any) -> Adapted:
    """A mechanism with `epsilon`, `delta` and `randomise`. `distance` and `delta` are its own business."""
    if not callable(getattr(mechanism, "randomise", None)):
        raise InputError(f"{shown(mechanism)}: a diffprivlib mechanism is needed, not a {type(mechanism).__name__}.")
    return Adapted(
        name=f"diffprivlib {type(mechanism).__name__}",
        epsilon=mechanism.epsilon,
        delta=mechanism.delta,
        mechanism=one_by_one(mechanism.randomise),
        source="epsilon and delta of the mechanism",
    )
