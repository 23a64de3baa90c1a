"""Two ways to publish how many visits a clinic had in a week, and two weeks that differ in one person.

A record says how often one person came, three times at most. Both mechanisms are meant to satisfy epsilon = 1.
"""

import math

EPSILON = 1
MOST_VISITS = 3

WEEK = [1, 3, 2, 1]
WEEK_WITHOUT_ONE = [1, 2, 1]


def leaky(visits, rng, size):
    """One person is one record, so the noise is made for a sensitivity of 1. But one record moves the total by up to 3."""
    return sum(visits) + discrete_laplace(1 / EPSILON, rng, size)


def sound(visits, rng, size):
    """The noise is made for what one person can change: 3 visits."""
    return sum(min(count, MOST_VISITS) for count in visits) + discrete_laplace(MOST_VISITS / EPSILON, rng, size)


def discrete_laplace(scale, rng, size):
    """Whole numbers with P(k) proportional to exp(-|k| / scale): the difference of two geometric ones."""
    success = -math.expm1(-1 / scale)
    return rng.geometric(success, size) - rng.geometric(success, size)
