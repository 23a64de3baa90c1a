"""A noisy count that is epsilon-differentially private to the last bit: discrete Laplace noise from integers alone.

No logarithm, no floating-point number: a coin of probability exp(-a/b) is tossed by comparing uniform integers
(a/b is the probability of the first of a chain of events whose alternating sum is the exponential series), a geometric
number is a run of such coins, and the difference of two of them has P(noise = k) proportional to exp(-epsilon |k|).

    dpverify audit examples/sound_count.py:noisy_count --epsilon 1 --inputs 10 11
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

EPSILON = Fraction(1)
COUNT = 10
NEIGHBOUR = 11
"""Two neighbouring inputs: the same table with one person more."""


def exponential_coins(exponent: Fraction, rng: np.random.Generator, size: int) -> NDArray[np.bool_]:
    """Coins that are True with probability exp(-exponent) exactly, for 0 <= exponent <= 1.

    Toss coins of probability exponent/1, exponent/2, exponent/3 ... until one fails. The failure falls on an odd place
    with probability 1 - x + x^2/2! - x^3/3! + ... = exp(-x), x the exponent.
    """
    failed_on = np.zeros(size, dtype=np.int64)
    running = np.arange(size)
    place = 0
    while running.size:
        place += 1
        lasts = rng.integers(0, exponent.denominator * place, running.size) < exponent.numerator
        failed_on[running[~lasts]] = place
        running = running[lasts]
    odd: NDArray[np.bool_] = failed_on % 2 == 1
    return odd


def geometric(exponent: Fraction, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
    """P(k) = (1 - r) r^k for k = 0, 1, 2 ... with r = exp(-exponent): successes before the first failure."""
    successes = np.zeros(size, dtype=np.int64)
    running = np.arange(size)
    while running.size:
        running = running[exponential_coins(exponent, rng, running.size)]
        successes[running] += 1
    return successes


def noisy_count(data: int, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
    """`size` independent releases of the count `data`."""
    return data + geometric(EPSILON, rng, size) - geometric(EPSILON, rng, size)
