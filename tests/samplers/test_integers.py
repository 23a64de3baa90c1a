"""Exact noise on the integers against its law.

All counts at once against Bernstein's bound: a true law fails with probability at most 1e-9 a check; fixed seeds.
"""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import fmpq

from dpverify.samplers import integers
from dpverify.samplers.integers import discrete_gaussian, discrete_laplace, exponential_coins, geometric

FALSE_ALARM = 1e-9
SIZE = 100_000


def slack(size: int, probability: float, counts: int) -> float:
    level = math.log(2 * counts / FALSE_ALARM)
    return level / 3 + math.sqrt(level * level / 9 + 2 * size * probability * (1 - probability) * level)


def fits(values: np.ndarray, law: dict[int, float]) -> bool:
    """Whether all counts, and that of everything not in `law`, are where the law puts them."""
    size = len(values)
    found = dict(zip(*np.unique(values.astype(np.int64), return_counts=True), strict=True))
    rest = 1 - math.fsum(law.values())
    missed = size - sum(found.get(x, 0) for x in law)
    checks = [(found.get(x, 0), p) for x, p in law.items()] + [(missed, max(rest, 0.0))]
    return all(abs(count - size * p) <= slack(size, p, len(checks)) for count, p in checks)


def exact(text: str) -> fmpq:
    value = Fraction(text)
    return fmpq(value.numerator, value.denominator)


EXPONENTS = ["1", "3", "1/3", "1/40", "50", str(Fraction(0.1)), "1/1000"]


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_geometric(exponent: str) -> None:
    a = float(Fraction(exponent))
    law = {k: -math.expm1(-a) * math.exp(-a * k) for k in range(200)}
    values = geometric(exact(exponent), np.random.default_rng(3), SIZE)
    assert fits(values, law)
    assert values.min() >= 0


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_discrete_laplace(exponent: str) -> None:
    a = float(Fraction(exponent))
    law = {k: math.tanh(a / 2) * math.exp(-a * abs(k)) for k in range(-100, 101)}
    assert fits(discrete_laplace(exact(exponent), np.random.default_rng(4), SIZE), law)


def gaussian_law(variance: Fraction, reach: int = 100) -> dict[int, float]:
    with mpmath.workdps(40):
        v = mpmath.mpf(variance.numerator) / variance.denominator
        wide = int(20 * mpmath.sqrt(v)) + 10
        whole = mpmath.fsum(mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * v)) for x in range(-wide, wide + 1))
        return {x: float(mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * v)) / whole) for x in range(-reach, reach + 1)}


VARIANCES = ["1", "1/10", "1/4", "9", "400", str(Fraction(4.224678889326843) ** 2), "10000", "1/1000"]


@pytest.mark.parametrize("variance", VARIANCES)
def test_discrete_gaussian(variance: str) -> None:
    values = discrete_gaussian(exact(variance), np.random.default_rng(5), SIZE)
    assert fits(values, gaussian_law(Fraction(variance)))


def test_a_law_that_is_a_little_off_does_not_fit() -> None:
    values = discrete_laplace(fmpq(1, 3), np.random.default_rng(4), SIZE)
    a = 1.1 / 3
    assert not fits(values, {k: math.tanh(a / 2) * math.exp(-a * abs(k)) for k in range(-100, 101)})
    gauss = discrete_gaussian(fmpq(9), np.random.default_rng(5), SIZE)
    assert not fits(gauss, gaussian_law(Fraction(11)))


@pytest.mark.parametrize("below", [7, 1 << 70])
def test_exponential_coins(below: int) -> None:
    """Narrow integers, and wide ones that need Python integers."""
    rng = np.random.default_rng(6)
    for numerator in (0, below // 2, below, 3 * below + 1, 60 * below):
        above = np.full(SIZE, numerator, dtype=object if below > 1 << 60 else np.int64)
        heads = int(exponential_coins(above, below, rng).sum())
        p = math.exp(-numerator / below)
        assert abs(heads - SIZE * p) <= slack(SIZE, p, 2)


def test_a_coin_that_one_word_leaves_open_goes_on() -> None:
    """Words of 62 bits never do in a test; words of 2 bits do."""
    below = 5
    rng = np.random.default_rng(7)
    before = integers.WORD_BITS
    try:
        integers.WORD_BITS = 2
        heads = int(integers._rational_coins(np.full(20_000, 2, dtype=object), below, rng).sum())
    finally:
        integers.WORD_BITS = before
    assert abs(heads - 8_000) <= slack(20_000, 0.4, 2)


def test_scales_beyond_64_bits_give_python_integers() -> None:
    wide = discrete_laplace(fmpq(1, 10**25), np.random.default_rng(8), 2_000)
    assert wide.dtype == object
    mean_size = sum(abs(int(x)) for x in wide) / len(wide) / 10**25
    assert abs(mean_size - 1) < 0.2  # the mean of 2,000 standard exponentials; a true one is that far off below once in 1e12
    gauss = discrete_gaussian(fmpq(10**50), np.random.default_rng(9), 500)
    assert gauss.dtype == object
    assert max(abs(int(x)) for x in gauss) > 10**25


def test_the_same_seed_gives_the_same_noise() -> None:
    first, second = (discrete_gaussian(fmpq(7, 2), np.random.default_rng(1), 50) for _ in range(2))
    assert (first == second).all()
    assert discrete_laplace(fmpq(1), np.random.default_rng(1), 0).shape == (0,)
