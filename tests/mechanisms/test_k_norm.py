"""The K-norm mechanism: the level is the p-norm sensitivity over the scale, whatever the dimension."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dv
from dpverify.errors import ImpossibleRequest, InputError, NotCovered

KNorm: Any = dv.KNorm

exponents = st.sampled_from(["1", "3/2", "2", "3", "7"])


@given(p=exponents, shifts=st.lists(st.fractions("1/10", 10, max_denominator=10), min_size=1, max_size=4))
@settings(max_examples=16)
def test_the_level_is_the_norm_over_the_scale(p: str, shifts: list[Fraction]) -> None:
    mechanism = KNorm("3/2", p, len(shifts), sensitivity=tuple(shifts), adjacency="box")
    norm = sum(float(d) ** float(Fraction(p)) for d in shifts) ** (1 / float(Fraction(p)))
    assert math.isclose(mechanism.epsilon(0).upper, norm / 1.5, rel_tol=1e-12)
    scale = KNorm.bound(epsilon="1/3", p=p, dimension=len(shifts), sensitivity=tuple(shifts), adjacency="box")
    assert math.isclose(scale.upper, 3 * norm, rel_tol=1e-12)


@given(p=exponents, count=st.integers(1, 5), seed=st.integers(0, 2**32))
@settings(max_examples=16)
def test_no_shift_on_a_euclidean_ball_is_longer(p: str, count: int, seed: int) -> None:
    level = KNorm(1, p, count, sensitivity=2, adjacency="l2").epsilon(0)
    exponent, rng = float(Fraction(p)), random.Random(seed)
    for _ in range(50):
        shift = [rng.gauss(0, 1) for _ in range(count)]
        length = math.hypot(*shift)
        norm = sum(abs(2 * x / length) ** exponent for x in shift) ** (1 / exponent)
        assert norm <= level.upper * (1 + 1e-12)
    low, high = KNorm(1, p, count, sensitivity=2, adjacency="l2").neighbours()
    far = [abs(b - a) for a, b in zip(np.atleast_1d(low), np.atleast_1d(high), strict=True)]
    assert math.isclose(sum(x**exponent for x in far) ** (1 / exponent), level.upper, rel_tol=1e-9)


def test_exact_levels() -> None:
    assert KNorm.bound(epsilon="1/2", p=2, dimension=3) == 2
    assert KNorm.bound(epsilon=1, p=2, dimension=2, sensitivity="3,4", adjacency="box") == 5
    assert KNorm.bound(epsilon=1, p=1, dimension=4, sensitivity="sqrt(9)", adjacency="l2") == 6
    assert KNorm.bound(epsilon=1, p=1, dimension=3, adjacency="box") == 3
    assert KNorm.bound(epsilon=1, p=5, dimension=4, sensitivity=3, adjacency="l2") == 3
    assert KNorm.bound(epsilon=1, p=2, dimension=3, condition="exponential") == 2
    assert KNorm(1, 3, 2, sensitivity=5).delta(5) == 0
    assert KNorm(2, 3, 2, sensitivity=5).epsilon(0) == Fraction(5, 2)
    irrational = KNorm(1, 1, 3, sensitivity=1, adjacency="l2")
    assert irrational.delta(2) == 0
    assert math.isclose(irrational.delta(-2).upper, -math.expm1(-2), rel_tol=1e-14)
    assert math.isclose(irrational.epsilon(0).upper, math.sqrt(3), rel_tol=1e-15)


def test_one_dimension_is_laplace_noise() -> None:
    one, laplace = KNorm("1/2", 3, sensitivity=2), dv.Laplace("1/2", sensitivity=2)
    assert one.delta("7/5").overlaps(laplace.delta("7/5"))
    assert one.epsilon("1e-3").overlaps(laplace.epsilon("1e-3"))
    asked = {"epsilon": 1, "delta": "1e-6", "sensitivity": 2}
    assert KNorm.bound(p=3, **asked).overlaps(dv.Laplace.bound(**asked))
    assert one.mean_squared_error() == laplace.variance().exact_lower
    assert one.dominating_pairs() == laplace.dominating_pairs()


def test_the_second_opinion_agrees() -> None:
    for asked in (
        {"p": 3, "dimension": 3, "sensitivity": "1,2,3", "adjacency": "box"},
        {"p": "3/2", "dimension": 2, "adjacency": "l2"},
    ):
        first, second = (KNorm.bound(epsilon="2/3", digits=25, arithmetic=name, **asked) for name in ("arb", "mpmath"))
        assert abs(float(second) - first.upper) < 1e-15 * first.upper
        mechanism = KNorm(**{"scale": "7/3", **asked})
        assert abs(float(mechanism.epsilon(0, arithmetic="mpmath")) - mechanism.epsilon(0).upper) < 1e-15 * 3
        assert mechanism.delta(100, arithmetic="mpmath") == 0
        with pytest.raises(NotCovered):
            mechanism.delta("1/10", arithmetic="mpmath")
    assert abs(float(KNorm(1, 2).delta("1/2", arithmetic="mpmath")) - KNorm(1, 2).delta("1/2").upper) < 1e-15
    assert abs(float(KNorm(1, 2).epsilon("1/9", arithmetic="mpmath")) - KNorm(1, 2).epsilon("1/9").upper) < 1e-15
    small = KNorm.bound(epsilon=1, delta="1e-3", p=2, arithmetic="mpmath")
    assert abs(float(small) - KNorm.bound(epsilon=1, delta="1e-3", p=2).upper) < 1e-15


def test_mean_squared_errors() -> None:
    """p = 1: independent Laplace numbers. p = 2 in the plane: int r^3 e^-r over int r e^-r. All p: by integrals."""
    assert KNorm(3, 1, 4).mean_squared_error() == 4 * 2 * 9
    assert KNorm(3, 1, 4).variance(coordinate=2) == 18
    assert KNorm(1, 2, 2).mean_squared_error() == 6
    # E (|x|^2 + |y|^2) on the plane, p = 3: polar coordinates about the cone measure.
    angles = (np.arange(200_000) + 0.5) * (math.pi / 2) / 200_000
    norms = (np.cos(angles) ** 3 + np.sin(angles) ** 3) ** (1 / 3)
    # In direction a the density is exp(-r |a|): int r^3 e^{-r n} = 6/n^4, int r e^{-r n} = 1/n^2.
    expected = (6 / norms**4).sum() / (1 / norms**2).sum()
    assert math.isclose(KNorm(1, 3, 2).mean_squared_error().upper, expected, rel_tol=1e-9)


@pytest.mark.parametrize("p", ["1", "3/2", "2", "4"])
def test_the_sampler_follows_the_law(p: str) -> None:
    """|x|_p is a gamma number, and coordinates have equal laws: both by the Dvoretzky-Kiefer-Wolfowitz bound at 1e-8."""
    trials, count = 20_000, 3
    draw = KNorm(2, p, count).sampler()
    assert draw.exactness == "ideal-model double"
    outputs = draw((1, 2, 3), np.random.default_rng(5), trials) - [1, 2, 3]
    norms = np.sort((np.abs(outputs) ** float(Fraction(p))).sum(1) ** (1 / float(Fraction(p))))
    places = np.linspace(0.5, 20, 40)
    expected = [float(arb(x / 2).gamma_lower(arb(count), 1)) for x in places]
    alarm = math.sqrt(math.log(2 / 1e-8) / (2 * trials))
    assert np.abs(np.searchsorted(norms, places) / trials - expected).max() < alarm
    first, last = np.sort(outputs[:, 0]), np.sort(-outputs[:, 2])
    grid = np.linspace(-10, 10, 41)
    assert np.abs(np.searchsorted(first, grid) - np.searchsorted(last, grid)).max() / trials < 2 * alarm
    assert draw((1, 2, 3), np.random.default_rng(5), 0).shape == (0, count)
    assert KNorm(2, p).sampler()(1, np.random.default_rng(5), 7).shape == (7,)


@pytest.mark.slow
def test_the_auditor_refutes_too_small_a_claim_and_not_the_right_one() -> None:
    mechanism = KNorm(1, 2, 2, sensitivity=1)
    asked = {"inputs": mechanism.neighbours(), "delta": 0, "samples": 20_000, "seed": 3, "outputs": "reals", "alpha": 1e-6}
    assert dv.audit(mechanism.sampler(), epsilon=1, **asked).verdict is dv.Verdict.NOT_REFUTED
    assert dv.audit(mechanism.sampler(), epsilon=0.2, **asked).verdict is dv.Verdict.REFUTED


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"epsilon": 1, "p": "1/2"}, InputError, "triangle inequality fails.*give p >= 1"),
        ({"epsilon": 0, "p": 2}, ImpossibleRequest, "give epsilon > 0"),
        ({"epsilon": 1, "p": 2, "dimension": 2, "delta": "1e-6"}, NotCovered, "pure DP only; ask for delta = 0"),
        ({"epsilon": 1, "p": 2, "dimension": 2, "sensitivity": "1,2"}, InputError, "adjacency = 'box' takes one a coordinate"),
        ({"epsilon": 1, "p": 2, "dimension": 0}, InputError, "give 1 or more"),
        ({"epsilon": 1, "p": 2, "adjacency": "l2", "sensitivity": "sqrt(2)", "delta": "1e-3"}, NotCovered, "rational number"),
    ],
)
def test_refusals_say_what_to_do(asked: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        KNorm.bound(**asked)


def test_other_refusals() -> None:
    with pytest.raises(NotCovered, match="which direction is worst depends on epsilon"):
        KNorm(1, 2, 2).dominating_pairs()
    with pytest.raises(InputError, match="coordinate = 2"):
        KNorm(1, 2, 2).mean_squared_error(coordinate=2)
    with pytest.raises(InputError, match="give one number a coordinate"):
        KNorm(1, 2, 2).sampler()(1, np.random.default_rng(1), 3)


def test_what_is_given_can_be_read_back() -> None:
    mechanism = KNorm(1, 2, 2, sensitivity="sqrt(3)", adjacency="l2")
    assert mechanism.sensitivity == "sqrt(3)"
    assert mechanism == KNorm(1, 2, 2, sensitivity="sqrt(3)", adjacency="l2")
    assert hash(mechanism) == hash(KNorm(1, 2, 2, sensitivity="sqrt(3)", adjacency="l2"))
    assert KNorm.solve(epsilon=1, delta=0, p=2).expression.startswith("Delta_p/epsilon")
