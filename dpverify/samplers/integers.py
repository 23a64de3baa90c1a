"""Exact noise on the integers: geometric, discrete Laplace, discrete Gaussian.

The discrete Gaussian is found by rejection from a discrete Laplace, as in C. Canonne, G. Kamath and T. Steinke, "The
Discrete Gaussian for Differential Privacy" (NeurIPS 2020); the coins and the geometric law are tossed in batches.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from dpverify.samplers.bits import WORD_BITS, Digits, Uniform, coins

Integers = NDArray[Any]
"""int64, or Python integers where those would not fit."""

_SURELY = 43
"""e^-43 < 2^-62: a coin of that probability is settled by its first word, but for one toss in 10^18."""

_WORD = 63
_LARGEST = 55
"""Up to this power of two, sums of a few terms stay within int64."""


def geometric(exponent: fmpq, rng: np.random.Generator, size: int) -> Integers:
    """P(k) = (1 - r) r^k on k = 0, 1, 2 ... with r = e^-exponent, for a rational exponent > 0.

    r^k is the product of r^(2^i) over the binary digits of k that are 1: the digits are independent, and digit i is 1
    with probability r^(2^i) / (1 + r^(2^i)). What lies above the last digit is geometric again, with r^(2^digits).
    """
    digits = _binary_digits(exponent)
    places = len(digits) - 1
    value = _zeros(size, wide=places > _LARGEST)
    for place in range(places):
        toss = coins(digits, np.full(size, place), rng)
        value += toss.astype(value.dtype) * (1 << place)
    running = np.arange(size)
    while running.size:
        running = running[coins(digits, np.full(running.size, places), rng)]
        value[running] += 1 << places
    return value


def discrete_laplace(exponent: fmpq, rng: np.random.Generator, size: int) -> Integers:
    """P(k) proportional to e^(-exponent |k|) on the integers: the difference of two geometric numbers."""
    return geometric(exponent, rng, size) - geometric(exponent, rng, size)


def discrete_gaussian(variance: fmpq, rng: np.random.Generator, size: int) -> Integers:
    """P(k) proportional to e^(-k^2 / (2 variance)) on the integers, for a rational variance parameter > 0.

    With t = floor(sigma) + 1, a discrete Laplace number y of scale t is kept with probability
    exp(-(|y| - variance/t)^2 / (2 variance)); the product of the two is e^(-y^2/(2 variance)) up to a constant factor.
    """
    above, below = int(variance.p), int(variance.q)
    t = math.isqrt(above // below) + 1
    divisor = 2 * above * below * t * t
    value = _zeros(size, wide=t.bit_length() > _LARGEST - 10)
    running = np.arange(size)
    while running.size:
        y = discrete_laplace(fmpq(1, t), rng, running.size)
        largest = int(np.abs(y).max()) * below * t + above
        narrow = largest.bit_length() < _WORD // 2 and divisor.bit_length() < _WORD
        excess = (np.abs(y) if narrow else np.abs(y).astype(object)) * (below * t) - above
        kept = exponential_coins(excess * excess, divisor, rng)
        value[running[kept]] = y[kept]
        running = running[~kept]
    return value


def exponential_coins(above: Integers, below: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Independent coins: coin i is True with probability exp(-above[i] / below), for integers above[i] >= 0, below > 0.

    The whole part of the exponent costs one coin of probability e^-n. For the rest x < 1, coins of probability x, x/2,
    x/3 ... are tossed until one fails: it fails on an odd place with probability 1 - x + x^2/2! - ... = e^-x.
    """
    whole, rest = above // below, above % below
    heads = _whole_coins(whole, rng)
    running = np.flatnonzero(heads)
    place = 0
    while running.size:
        place += 1
        running = running[_rational_coins(rest[running], below * place, rng)]
        heads[running] ^= True  # one toss further: even and odd change places
    return heads


def _whole_coins(whole: Integers, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Coins of probability e^-whole[i]."""
    table = _powers_of_e()
    near = np.minimum(whole, len(table)).astype(np.int64)
    heads = np.zeros(whole.size, dtype=np.bool_)
    usual = np.flatnonzero(near < len(table))
    heads[usual] = coins(table, near[usual], rng)
    far = np.flatnonzero(near == len(table))  # below 2^-62 each: the first word is 0, and so must that of the number be
    for place in far[table.draw(rng, far.size) == 0]:
        digits = Digits(partial(_power_of_e, int(whole[place])))
        heads[place] = Uniform(0, rng, digits.word_bits).is_below(digits, 0)
    return heads


def _rational_coins(above: Integers, below: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Coins of probability above[i] / below, for 0 <= above[i] < below."""
    if below <= 1 << WORD_BITS:
        return np.asarray(rng.integers(0, below, above.size) < above.astype(np.int64))
    uniforms = rng.integers(0, 1 << WORD_BITS, above.size).astype(object)
    low, target = uniforms * below, above.astype(object) << WORD_BITS
    heads: NDArray[np.bool_] = (low + below <= target).astype(np.bool_)
    for place in np.flatnonzero(~heads & (low < target).astype(np.bool_)):
        heads[place] = _rational_coin(int(uniforms[place]), int(above[place]), below, rng)
    return heads


def _rational_coin(uniform: int, above: int, below: int, rng: np.random.Generator) -> bool:
    """Go on with a coin that its first word left open."""
    bits = WORD_BITS
    while True:
        if (uniform + 1) * below <= above << bits:
            return True
        if uniform * below >= above << bits:
            return False
        uniform = (uniform << WORD_BITS) | int(rng.integers(0, 1 << WORD_BITS))
        bits += WORD_BITS


@lru_cache(maxsize=64)
def _binary_digits_of(above: int, below: int) -> Digits:
    exponent = fmpq(above, below)
    places = 0
    while exponent * (1 << places) < _SURELY:
        places += 1

    def evaluate() -> list[arb]:
        ones = [1 / (1 + arb(exponent * (1 << place)).exp()) for place in range(places)]
        return [*ones, arb(-exponent * (1 << places)).exp()]

    return Digits(evaluate)


def _binary_digits(exponent: fmpq) -> Digits:
    return _binary_digits_of(int(exponent.p), int(exponent.q))


def _power_of_e(exponent: int) -> list[arb]:
    return [(-arb(exponent)).exp()]


@lru_cache(maxsize=1)
def _powers_of_e() -> Digits:
    def evaluate() -> list[arb | fmpq]:
        return [fmpq(1), *(arb(-n).exp() for n in range(1, _SURELY + 1))]

    return Digits(evaluate)


def _zeros(size: int, *, wide: bool) -> Integers:
    return np.array([0] * size, dtype=object) if wide else np.zeros(size, dtype=np.int64)
