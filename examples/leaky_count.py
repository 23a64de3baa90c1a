"""A noisy count that promises epsilon = 1 and delivers 1.41.

The author looked up that Laplace noise for a count needs "scale 1/epsilon", remembered it as a standard deviation, and
divided by sqrt(2) to get from one to the other. The noise is too small by that factor. The count is rounded to a whole
number before it is released, so nothing but the scale is wrong.

    dpverify audit examples/leaky_count.py:noisy_count --epsilon 1 --inputs 10 11
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

EPSILON = 1.0
COUNT = 10
NEIGHBOUR = 11
"""Two neighbouring inputs: the same table with one person more."""


def noisy_count(data: int, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
    """`size` independent releases of the count `data`."""
    standard_deviation = 1 / EPSILON  # the mistake: 1/epsilon is the scale
    noise = rng.laplace(0.0, standard_deviation / math.sqrt(2), size)
    return np.rint(data + noise).astype(np.int64)
