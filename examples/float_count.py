"""A noisy count with the right noise and the wrong numbers: textbook Laplace noise in double precision.

On paper this is epsilon-differentially private for epsilon = 1. In a computer, 1 + noise loses the low-order bits of
noise, 0 + noise keeps them, and the bits are published with the result. An audit of the bits refutes it, an audit of
the real numbers does not:

    dpverify audit examples/float_count.py:noisy_count --epsilon 1 --inputs 0 1
    dpverify audit examples/float_count.py:noisy_count --epsilon 1 --inputs 0 1 --outputs reals
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

EPSILON = 1.0
COUNT = 0
NEIGHBOUR = 1
"""Two neighbouring inputs: the same table with one person more."""


def noisy_count(data: int, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """`size` independent releases of the count `data`."""
    return data + rng.laplace(0.0, 1 / EPSILON, size)
