"""Samplers of finite laws, of doubles and on grids."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq
from scipy import stats

from dpverify.arithmetic.balls import BALLS
from dpverify.errors import InputError, PrecisionError
from dpverify.samplers import grid
from dpverify.samplers.doubles import Inversion, Table, double_release
from dpverify.samplers.grid import Cells, grid_release
from dpverify.samplers.sampler import EXACT, IDEAL_MODEL_DOUBLE, Sampler
from dpverify.samplers.whole import clamped, whole_release

FALSE_ALARM = 1e-9


def slack(size: int, probability: float, counts: int) -> float:
    level = math.log(2 * counts / FALSE_ALARM)
    return level / 3 + math.sqrt(level * level / 9 + 2 * size * probability * (1 - probability) * level)


def normal_cdf(y: fmpq) -> arb | fmpq:
    return BALLS.normal_cdf(arb(y))


def test_whole_releases_are_exact_sums() -> None:
    def noise(rng: np.random.Generator, size: int) -> np.ndarray:
        return np.arange(size)

    sampler = whole_release(noise, law="steps")
    assert (sampler.exactness, sampler.law) == (EXACT, "steps")
    assert list(sampler(5, np.random.default_rng(0), 3)) == [5, 6, 7]
    assert list(sampler(10**30, np.random.default_rng(0), 2)) == [10**30, 10**30 + 1]
    assert list(sampler("7", np.random.default_rng(0), 1)) == [7]
    with pytest.raises(InputError, match="round the answer first"):
        sampler(0.5, np.random.default_rng(0), 1)


def test_clamping_moves_to_the_nearer_end() -> None:
    sampler = clamped(whole_release(lambda rng, size: np.arange(size) - 2, law=""), 3, law="")
    assert list(sampler(1, np.random.default_rng(0), 6)) == [0, 0, 1, 2, 3, 3]
    with pytest.raises(InputError, match="between 0 and 3"):
        sampler(4, np.random.default_rng(0), 1)


@pytest.mark.parametrize("granularity", ["1/4", "3", "1/1000", "5000"])
@pytest.mark.parametrize("centre", ["0", "1/8", "0.3", "-1000000.25"])
def test_grid_cells_have_the_probabilities_of_rounded_noise(granularity: str, centre: str) -> None:
    """Bernstein's bound on all cells at once: a true law fails with probability at most 1e-9."""
    width, middle = Fraction(granularity), Fraction(centre)
    sampler = grid_release(normal_cdf, fmpq(width.numerator, width.denominator), law="rounded")
    assert sampler.exactness == EXACT
    size = 40_000
    found = sampler(centre, np.random.default_rng(5), size)
    cells = np.rint(found / float(width)).astype(int)
    assert np.array_equal(cells * float(width), found)
    near = round(middle / width)
    tested = range(near - 40, near + 41)
    for cell in tested:
        low, high = ((cell + half) * width - middle for half in (Fraction(-1, 2), Fraction(1, 2)))
        p = stats.norm.cdf(float(high)) - stats.norm.cdf(float(low))
        assert abs((cells == cell).sum() - size * p) <= slack(size, p, len(tested)) + 1e-6


def test_short_words_give_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of four bits leave most cells open, so that the rare path is walked: more words decide."""
    monkeypatch.setattr(grid, "WORD_BITS", 4)
    size = 4_000
    found = Cells(normal_cdf, fmpq(1), 0).draw(np.random.default_rng(2), size)
    for cell in range(-5, 6):
        p = stats.norm.cdf(cell + 0.5) - stats.norm.cdf(cell - 0.5)
        assert abs((found == cell).sum() - size * p) <= slack(size, p, 11)


def test_an_edge_that_cannot_be_decided_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "LARGEST_PRECISION", 1000)
    with pytest.raises(PrecisionError, match="shift the grid"):
        Cells(lambda y: arb(2).sqrt() ** 2 / 4, fmpq(1), 0).draw(np.random.default_rng(2), 10)


@pytest.mark.parametrize(
    "law",
    [stats.norm, stats.cauchy, stats.uniform(-1, 2), stats.gumbel_r, stats.laplace],
    ids=["normal", "cauchy", "uniform", "gumbel", "laplace"],
)
def test_inversion_follows_the_cdf(law: Any) -> None:
    draw = Inversion(law.cdf, law.pdf)
    found = draw(np.random.default_rng(3), 50_000)
    # Two-sided Kolmogorov-Smirnov: P(D > t) <= 2 exp(-2 n t^2) by Dvoretzky, Kiefer, Wolfowitz and Massart.
    limit = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * len(found)))
    assert stats.kstest(found, law.cdf).statistic < limit
    # Not only in the mean: each number is the quantile of its uniform.
    levels = np.random.default_rng(3).random(50_000)
    assert np.allclose(law.cdf(found), levels, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("law", [stats.norm, stats.cauchy, stats.uniform(0.123, 0.03), stats.laplace, stats.norm(50, 0.01)])
def test_a_table_is_a_cdf_to_eleven_digits(law: Any) -> None:
    """Smooth, kinked, with jumps, heavy tails, and far from where the search begins."""
    table = Table(lambda x: float(law.cdf(x)), lambda x: float(law.pdf(x)))
    points = np.concatenate([np.linspace(-6, 60, 5_001), law.ppf(np.linspace(0.0005, 0.9995, 2_001))])
    assert np.abs(table.cdf(points) - law.cdf(points)).max() < 2e-11
    assert np.median(np.abs(table.density(points) - law.pdf(points))) < 1e-6
    draw = Inversion(table.cdf, table.density)
    limit = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * 20_000))
    assert stats.kstest(draw(np.random.default_rng(3), 20_000), law.cdf).statistic < limit


def test_a_double_release_adds_and_says_what_it_is() -> None:
    sampler = double_release(lambda rng, size: np.arange(size) / 2, 3.0, law="steps")
    assert sampler.exactness == IDEAL_MODEL_DOUBLE
    assert list(sampler("1/4", np.random.default_rng(0), 3)) == [0.25, 1.75, 3.25]


def test_a_sampler_is_a_value() -> None:
    sampler = Sampler(exactness=EXACT, law="x", release=lambda data, rng, size: np.zeros(size))
    with pytest.raises(AttributeError):
        sampler.law = "y"  # type: ignore[misc]
