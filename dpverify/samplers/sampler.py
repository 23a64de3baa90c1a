"""`Sampler`: a mechanism as code that can be run, with a label that says how faithful the code is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

EXACT = "exact"
"""The outputs follow the law to the last bit, provided that the generator's bits are uniform and independent."""

IDEAL_MODEL_DOUBLE = "ideal-model double"
"""The outputs are doubles that follow the law on the reals up to rounding. Their low-order bits are not private, so an
audit of such a sampler speaks of the ideal model: hand it to `audit` with outputs="reals"."""

Release = Callable[[Any, np.random.Generator, int], NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """`size` independent releases of the true answer `data`: sampler(data, rng, size).

    `exactness` is "exact" or "ideal-model double"; `law` says in words what is drawn.
    """

    exactness: str
    law: str
    release: Release

    def __call__(self, data: Any, rng: np.random.Generator, size: int) -> NDArray[Any]:
        return self.release(data, rng, size)
