"""The law of the largest of several scores with Laplace noise, exact for given scores."""

from __future__ import annotations

from itertools import pairwise

from flint import fmpq

from dpverify.arithmetic.exponentials import ExponentialSum, total
from dpverify.mechanisms._finite import FiniteLaw
from dpverify.mechanisms._selection import Polynomial, Scores, times_linear

_HALF = fmpq(1, 2)


def laplace_noise_law(exponents: Scores) -> FiniteLaw:
    """The law of the argmax of exponent_i + standard Laplace noise.

    P(i) is the integral of f(x - a_i) prod_{j != i} F(x - a_j). Between neighbouring scores every factor is either
    e^{x - a_j}/2 (score above x) or 1 - e^{a_j - x}/2 (below), so the product is a sum of exponentials of x.
    """
    known = {score: _probability(exponents, score) for score in set(exponents)}
    return FiniteLaw([known[score] for score in exponents])


def _probability(scores: Scores, mine: fmpq) -> ExponentialSum:
    """The probability that one candidate with the score `mine` wins."""
    others = list(scores)
    others.remove(mine)
    ends: list[fmpq | None] = [None, *sorted(set(scores)), None]
    return total(_piece(others, mine, low, high) for low, high in pairwise(ends))


def _piece(others: list[fmpq], mine: fmpq, low: fmpq | None, high: fmpq | None) -> ExponentialSum:
    """The integral over low < x < high, which no score is inside of; None is infinity."""
    above = [score for score in others if low is None or score > low]
    product: Polynomial = [ExponentialSum.rational(1)]  # in e^{-x}
    for score in others:
        if low is not None and score <= low:
            product = times_linear(product, ExponentialSum({score: _HALF}))
    rising = low is None or mine > low
    # f = e^{x - mine}/2 before the score `mine`, e^{mine - x}/2 after it.
    power = len(above) + (1 if rising else -1)
    factor = ExponentialSum({sum((-score for score in above), -mine if rising else mine): _HALF ** (len(above) + 1)})
    return factor * total(one * _integral(power - n, low, high) for n, one in enumerate(product))


def _integral(n: int, low: fmpq | None, high: fmpq | None) -> ExponentialSum:
    """The integral of e^{n x}. Towards minus infinity n is positive, towards infinity negative."""
    if n == 0 and low is not None and high is not None:
        return ExponentialSum.rational(high - low)
    upper = ExponentialSum() if high is None else ExponentialSum({n * high: fmpq(1, n)})
    lower = ExponentialSum() if low is None else ExponentialSum({n * low: fmpq(1, n)})
    return upper - lower
