"""Mechanisms that report a candidate: exponential mechanism, permute-and-flip, report noisy max."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpverify.arithmetic.precision import working_precision
from dpverify.errors import ImpossibleRequest, InputError, NotCovered, UndecidedComparison
from dpverify.mechanisms import by_name, names
from dpverify.mechanisms._laplace_difference import LaplaceDifference
from dpverify.mechanisms._selection import Selection
from dpverify.notions import probabilistic

FAMILIES: list[Any] = [family for family in map(by_name, names()) if issubclass(family, Selection)]
KINDS: list[tuple[Any, dict[str, Any]]] = [
    (by_name("exponential-mechanism"), {}),
    (by_name("permute-and-flip"), {}),
    *((by_name("report-noisy-max"), {"noise": noise, "candidates": 2}) for noise in ("laplace", "exponential", "gumbel")),
]
each_kind = pytest.mark.parametrize(("family", "shape"), KINDS, ids=["exponential", "flip", "max-l", "max-e", "max-g"])


def decimals(low: str, high: str) -> st.SearchStrategy[str]:
    powers = st.floats(math.log10(float(low)), math.log10(float(high)))
    return powers.map(lambda power: f"{10**power:.6e}")


def test_every_family_is_among_the_kinds() -> None:
    assert {family for family, _ in KINDS} == set(FAMILIES)


@each_kind
@given(epsilon=decimals("1e-12", "500"), delta=decimals("1e-300", "0.999") | st.just("0"), sensitivity=decimals("1e-9", "1e9"))
@settings(max_examples=12)
def test_the_calibrated_double_is_the_least(family: Any, shape: Any, epsilon: str, delta: str, sensitivity: str) -> None:
    scale = family.calibrate(epsilon=epsilon, delta=delta, sensitivity=sensitivity, **shape).scale

    def at_most(value: float) -> bool:
        for digits in (20, 60, 200):
            with suppress(UndecidedComparison):  # exact ends would not do: delta may be far below 10^-10000 and not 0
                return bool(family(value, **shape, sensitivity=sensitivity).delta(epsilon, digits=digits) <= Fraction(delta))
        raise AssertionError("not told apart at 200 digits")

    assert at_most(scale)
    assert not at_most(math.nextafter(scale, 0))


@each_kind
def test_pure_dp_costs_twice_the_sensitivity(family: Any, shape: Any) -> None:
    assert family.bound(epsilon="1/3", sensitivity="1/2", **shape) == 3
    assert family(3, **shape, sensitivity="1/2").epsilon(0) == Fraction(1, 3)
    assert family(3, **shape, sensitivity="1/2").delta("1/3") == 0
    with pytest.raises(ImpossibleRequest, match="hides everything"):
        family.bound(epsilon=0, **shape)
    for solved in ("delta", "epsilon", "scale"):
        assert "2*sensitivity" in family.expression(solved)


@each_kind
@given(epsilon=decimals("1e-2", "6"), delta=decimals("1e-9", "0.8"))
@settings(max_examples=8)
def test_the_second_opinion_agrees(family: Any, shape: Any, epsilon: str, delta: str) -> None:
    first = family.bound(epsilon=epsilon, delta=delta, **shape, digits=20)
    second = family.bound(epsilon=epsilon, delta=delta, **shape, digits=20, arithmetic="mpmath")
    assert abs(second / mpmath.mpf(first.decimal(20)) - 1) < 1e-14


# Laws for given scores.


def with_mass(law: Any) -> list[float]:
    return [float(arb(p)) for p in law.probabilities()]


@pytest.mark.parametrize("scores", [[0, 1], [0, 0, 0], [1, "3/2", -2, 1], [5, 4, 3, 2, 1, 0]])
def test_laws_are_the_integrals_over_the_noise(scores: list[Any]) -> None:
    """P(i) as the integral of f(x - a_i) prod F(x - a_j), in floating point on a fine grid."""
    exact = [float(Fraction(score)) for score in scores]
    x = np.linspace(-40, 60, 400_001)
    densities = {"laplace": stats.laplace, "exponential": stats.expon, "gumbel": stats.gumbel_r}
    for noise, known in densities.items():
        found = with_mass(by_name("report-noisy-max")(2, noise, len(scores)).law(scores))
        assert abs(sum(found) - 1) < 1e-14
        with np.errstate(over="ignore", under="ignore"):
            for i, mine in enumerate(exact):
                product = known.pdf(x - mine / 2)
                for j, other in enumerate(exact):
                    if j != i:
                        product = product * known.cdf(x - other / 2)
                assert abs(np.trapezoid(product, x) - found[i]) < 2e-4, (noise, i)


@given(scores=st.lists(st.fractions(-3, 3, max_denominator=2), min_size=2, max_size=5))
@settings(max_examples=12)
def test_permute_and_flip_is_what_its_name_says(scores: list[Fraction]) -> None:
    """The law by going through all subsets that fail before: the mean over random orders, by inclusion and exclusion."""
    family = by_name("permute-and-flip")
    weights = [math.exp(float(score - max(scores))) for score in scores]
    found = with_mass(family(1).law(scores))

    def chance(mine: int, others: list[float], before: float) -> float:
        """P(mine is accepted first), by the integral over its place in a uniform order, as a polynomial in that place."""
        polynomial = [1.0]
        for weight in others:
            polynomial = [a - weight * b for a, b in zip([*polynomial, 0.0], [0.0, *polynomial], strict=True)]
        return before * sum(c / (power + 1) for power, c in enumerate(polynomial))

    for i, weight in enumerate(weights):
        assert abs(chance(i, weights[:i] + weights[i + 1 :], weight) - found[i]) < 1e-9
    assert by_name("report-noisy-max")(1, "exponential", len(scores)).law(scores).weights == family(1).law(scores).weights


def test_probabilities_are_enclosures_and_rational_ones_exact() -> None:
    family = by_name("permute-and-flip")
    third = family(1).probabilities([4, 4, 4])
    assert [one == Fraction(1, 3) for one in third] == [True] * 3
    assert third[0].is_exact
    first, second = family(1).probabilities([0, -1], digits=30)
    with mpmath.workdps(40):
        assert abs(mpmath.mpf(second.decimal(30)) - mpmath.exp(-1) / 2) < mpmath.mpf(10) ** -30
    assert first.overlaps(by_name("report-noisy-max")(1, "exponential", 2).probabilities([7, 6])[0])


# No pair of neighbours exceeds the profile, and the stated worst pair attains it.

ROUND = st.fractions(-3, 3, max_denominator=2)
SIGNS = st.lists(st.sampled_from([-1, 0, 1]), min_size=4, max_size=4)


@each_kind
@given(scores=st.lists(ROUND, min_size=2, max_size=4), signs=SIGNS, epsilon=st.fractions(0, 1, max_denominator=8))
@settings(max_examples=15)
def test_no_neighbours_exceed_the_profile(
    family: Any, shape: Any, scores: list[Fraction], signs: list[int], epsilon: Fraction
) -> None:
    if shape.get("noise") == "laplace":
        scores = scores[:2]
    mechanism = family(2, **{**shape, **({"candidates": len(scores)} if "candidates" in shape else {})})
    neighbour = [score + Fraction(sign) for score, sign in zip(scores, signs, strict=False)]
    pair = mechanism.between(scores, neighbour)
    eps = fmpq(epsilon.numerator, epsilon.denominator)
    with working_precision(100):
        (dominating,) = mechanism.dominating_pairs()
        assert not arb(pair.hockey_stick(eps)) > arb(dominating.hockey_stick(eps))
        assert not arb(pair.loss_tail(eps)) > arb(dominating.neighbour_tail(eps))
        assert not arb(pair.power_moment(fmpq(3))) > arb(dominating.power_moment(fmpq(3))) * (1 + arb(10) ** -20)


@each_kind
def test_two_candidates_attain_the_profile(family: Any, shape: Any) -> None:
    """The twin's threshold t gives the worst score gap: the outputs are {better, worse}, their odds F(t + eta) and F(t)."""
    mechanism = family(2, **shape)
    for epsilon in ("0.1", "0.5", "0.7"):
        stated = mechanism.delta(epsilon)
        best = 0.0
        for step in range(-125, 126):
            gap = Fraction(2 * step, 25)
            with working_precision(64):
                pair = mechanism.between([0, -gap], [1, -gap - 1])
                eps = fmpq(*map(int, Fraction(epsilon).as_integer_ratio()))
                best = max(best, float(arb(pair.reversed().hockey_stick(eps))), float(arb(pair.hockey_stick(eps))))
        assert best <= stated.upper
        assert best > stated.lower * 0.9995


@each_kind
def test_probabilistic_dp_speaks_of_the_neighbours(family: Any, shape: Any) -> None:
    mechanism = family(2, **shape)
    tail = probabilistic.probability(mechanism, "0.4")
    assert tail > mechanism.delta("0.4")
    assert abs(probabilistic.least_epsilon(mechanism, tail.exact_upper).upper - 0.4) < 1e-12
    assert probabilistic.probability(mechanism, 0) == 1
    assert probabilistic.probability(mechanism, 1) == 0
    best = 0.0
    for step in range(-400, 401):
        gap = Fraction(step, 100)
        with working_precision(64):
            pair = mechanism.between([1, -gap - 1], [0, -gap])
            best = max(best, float(arb(pair.loss_tail(fmpq(2, 5)))), float(arb(pair.reversed().loss_tail(fmpq(2, 5)))))
    assert tail.lower * 0.99 < best <= tail.upper
    with pytest.raises(NotCovered, match="union"):
        probabilistic.probability(mechanism, "0.4", reading="union")


def test_what_is_open_is_said_to_be_open() -> None:
    family = by_name("report-noisy-max")
    three = family(2, "laplace", 3)
    assert three.epsilon(0) == 1
    assert three.delta(1) == 0
    assert three.delta(-2).overlaps(family(2, "laplace", 2).delta(-2))
    assert family.bound(epsilon=1, noise="laplace", candidates=3) == 2
    with pytest.raises(NotCovered, match=r"3 candidates.*between"):
        three.delta("0.5")
    with pytest.raises(NotCovered, match="not known here"):
        three.epsilon("0.1")
    with pytest.raises(NotCovered, match="not known here"):
        family.bound(epsilon=1, delta="0.1", noise="laplace", candidates=3)
    with pytest.raises(NotCovered, match="not known here"):
        three.dominating_pairs()
    # What is said of it: between two candidates with Laplace noise and exponential noise.
    with working_precision(80):
        found = three.between([0, "1/2", 0], [1, "-1/2", -1]).hockey_stick(fmpq(1, 2))
        assert not found > arb(by_name("permute-and-flip")(2).delta("0.5").upper)


def test_what_cannot_be_asked() -> None:
    family = by_name("exponential-mechanism")
    with pytest.raises(InputError, match="no neighbours"):
        family(1).between([0, 0], [2, 0])
    with pytest.raises(InputError, match="same candidates"):
        family(1).between([0, 0], [0, 0, 0])
    with pytest.raises(InputError, match="two candidates or more"):
        family(1).law([1])
    with pytest.raises(InputError, match="sequence of numbers"):
        family(1).law(3)
    with pytest.raises(InputError, match="score 1"):
        family(1).law([0, "x"])
    with pytest.raises(InputError, match="choose one of laplace, exponential, gumbel"):
        by_name("report-noisy-max")(1, "gauss", 2)
    with pytest.raises(InputError, match="at most 14 candidates"):
        by_name("permute-and-flip")(1).law([Fraction(1, 2**k) for k in range(17)])
    with pytest.raises(InputError, match="'arb'"):
        family(1).delta(1, arithmetic="floats")
    assert repr(by_name("report-noisy-max")(1, "gumbel", 3)) == (
        "ReportNoisyMax(scale=1.0, noise='gumbel', candidates=3, sensitivity=1.0)"
    )


# The difference of two Laplace numbers.


@given(d=decimals("1e-6", "60"), share=st.floats(0, 0.999))
@settings(max_examples=16)
def test_the_profile_of_the_laplace_difference_is_its_largest_excess(d: str, share: float) -> None:
    noise = LaplaceDifference(1, sensitivity=d)
    epsilon = Fraction(share) * Fraction(d)
    stated = noise.delta(epsilon, digits=25)
    with mpmath.workdps(60):
        size, growth = mpmath.mpf(d), mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)

        def cdf(x: Any) -> Any:
            tail = (2 + abs(x)) * mpmath.exp(-abs(x)) / 4
            return 1 - tail if x > 0 else tail

        def loss(x: Any) -> Any:
            return mpmath.log1p(abs(x - size)) - abs(x - size) - mpmath.log1p(abs(x)) + abs(x)

        level = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        low, high = size / 2, size + 1
        while loss(high) < level:
            high *= 2
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if loss(middle) < level else (low, middle)
        direct = cdf(size - low) - growth * cdf(-low)
        assert abs(mpmath.mpf(stated.decimal(25)) / direct - 1) < mpmath.mpf(10) ** -20


def test_moments_of_the_laplace_difference() -> None:
    assert LaplaceDifference(3).variance() == 36
    assert LaplaceDifference(1).mean_absolute_moment(1) == Fraction(3, 2)
