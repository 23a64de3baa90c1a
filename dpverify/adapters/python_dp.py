"""python-dp: algorithms (their claim stands in `epsilon` and `delta`, outputs come from `quick_result`) and the numerical
mechanisms (`add_noise`). Noise comes from the library's own generator, which cannot be seeded.
"""

from __future__ import annotations

from typing import Any

from dpverify.adapters._adapted import Adapted, one_by_one
from dpverify.errors import InputError, shown


def adapt(thing: Any, *, distance: Any, delta: Any, accountant: Any) -> Adapted:
    """An algorithm on lists of records, or a mechanism on numbers."""
    release = getattr(thing, "quick_result", None) or getattr(thing, "add_noise", None)
    if release is None or not hasattr(thing, "epsilon"):
        raise InputError(f"{shown(thing)}: an algorithm or a numerical mechanism is needed, not a {type(thing).__name__}.")
    return Adapted(
        name=f"python-dp {type(thing).__name__}",
        epsilon=thing.epsilon,
        delta=getattr(thing, "delta", None) or 0,
        mechanism=one_by_one(release),
        source="epsilon and delta of the object",
    )
