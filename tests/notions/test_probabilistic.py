"""Probabilistic DP: tails of the loss, their inverse, both readings, and least scales."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from flint import fmpq
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dpverify as dv
from dpverify.errors import ImpossibleRequest, InputError, NotCovered
from dpverify.mechanisms import by_name, names
from dpverify.mechanisms._additive import AdditiveNoise
from dpverify.notions import approximate, probabilistic

families = st.sampled_from(["laplace", "logistic", "gaussian"]).map(by_name)
shifts = st.fractions("1/1000", 30, max_denominator=1000)
readings = st.sampled_from(probabilistic.READINGS)
deltas = st.floats(-200, -0.05).map(lambda power: f"{10**power:.6e}")


@given(family=families, shift=shifts, delta=deltas, reading=readings)
@settings(max_examples=32)
def test_the_least_epsilon_is_where_the_tail_meets_delta(family: Any, shift: Any, delta: str, reading: str) -> None:
    noise = family(1, sensitivity=shift)
    least = probabilistic.least_epsilon(noise, delta, reading=reading, digits=30)
    above = probabilistic.probability(noise, least.exact_upper, reading=reading, digits=40)
    assert above.exact_lower <= Fraction(delta)
    assume(least.exact_lower > 0)
    below = probabilistic.probability(noise, least.exact_lower * (1 - Fraction(1, 10**25)), reading=reading, digits=40)
    assert below.exact_upper >= Fraction(delta)


@given(family=families, shift=shifts, epsilon=st.fractions(0, 40, max_denominator=100), reading=readings)
def test_probabilistic_dp_is_never_below_approximate_dp(family: Any, shift: Any, epsilon: Any, reading: str) -> None:
    noise = family(1, sensitivity=shift)
    tail = probabilistic.probability(noise, epsilon, reading=reading, digits=30)
    assert tail.exact_upper >= approximate.profile(noise, epsilon, digits=30).exact_lower


@given(family=families, delta=deltas, epsilon=st.fractions("1/100", 30, max_denominator=100), reading=readings)
@settings(max_examples=32)
def test_the_least_scale_has_that_epsilon(family: Any, delta: str, epsilon: Any, reading: str) -> None:
    least = family.bound_probabilistic(epsilon=epsilon, delta=delta, sensitivity=3, reading=reading, digits=30)
    enough = family(least.exact_upper, sensitivity=3)
    short = family(least.exact_lower * (1 - Fraction(1, 10**20)), sensitivity=3)
    assert probabilistic.least_epsilon(enough, delta, reading=reading, digits=40).exact_lower <= epsilon
    assert probabilistic.least_epsilon(short, delta, reading=reading, digits=40).exact_upper >= epsilon


def test_the_two_readings_of_gaussian_noise_differ_by_two_tails() -> None:
    noise = dv.Gaussian(2)
    one, both = (probabilistic.probability(noise, 1, reading=reading, digits=30) for reading in probabilistic.READINGS)
    assert one.exact_lower * 2 <= both.exact_upper
    assert both.exact_lower <= one.exact_upper * 2


def test_the_union_reading_by_brute_force() -> None:
    """Noise y is disclosing if a neighbour at some shift within [-d, d] has a loss above epsilon there."""
    noise, d, epsilon = dv.Logistic(1, sensitivity=2), 2.0, 0.9

    def psi(x: float) -> float:
        import math

        return x + 2 * math.log1p(math.exp(-x))

    points = [i / 100 for i in range(-2000, 2001)]
    worst = {y: max(psi(y + c / 20 * d) - psi(y) for c in range(-20, 21)) for y in points}
    edge = min(y for y in points if y > 0 and worst[y] > epsilon)
    exact = probabilistic.probability(noise, str(epsilon), reading="union").upper
    import math

    assert abs(2 / (1 + math.exp(edge)) - exact) < 0.01


def test_the_tail_of_laplace_noise_stays_at_a_half_up_to_its_limit() -> None:
    noise = dv.Laplace(1, sensitivity=2)
    for delta in ("1e-300", "0.3", "0.5"):
        assert probabilistic.least_epsilon(noise, delta) == 2
    assert probabilistic.least_epsilon(noise, "0.51") < 2
    assert dv.Laplace.bound_probabilistic(epsilon="1/3", delta="0.4", reading="pairwise") == 3
    assert dv.Laplace.bound_probabilistic(epsilon="1/3", delta="0.9", reading="union") == 3


@pytest.mark.parametrize("delta", ["1e-9", "0.2", "0.49"])
def test_without_help_the_pair_is_searched(family: Any, bare: Any, delta: str) -> None:
    noise = family(1)
    found = probabilistic.least_epsilon(bare(noise.dominating_pair()), delta)
    assert found.overlaps(probabilistic.least_epsilon(noise, delta))


def test_atoms_are_read_off(randomized: Any) -> None:
    pair = randomized(fmpq(1))
    assert probabilistic.least_epsilon(pair, "0.7").overlaps(probabilistic.least_epsilon(pair, "0.1"))
    assert probabilistic.least_epsilon(pair, "0.7") == 1
    assert probabilistic.least_epsilon(pair, "0.74") == 0


def test_randomized_response_tells_the_two_notions_apart(randomized: Any) -> None:
    """Hardly any approximate delta and a probabilistic delta of .73, at the same epsilon."""
    pair = randomized(fmpq(1000001, 1000000))
    assert approximate.profile(pair, 1).upper < 7.4e-7
    assert probabilistic.probability(pair, 1).lower > 0.731


def test_what_cannot_be_answered_is_explained(randomized: Any) -> None:
    with pytest.raises(InputError, match="'pairwise'"):
        probabilistic.probability(dv.Laplace(1), 1, reading="both")
    with pytest.raises(NotCovered, match="all neighbours at once"):
        probabilistic.probability(randomized(fmpq(1)), 1, reading="union")
    with pytest.raises(ImpossibleRequest, match="larger delta"):
        probabilistic.least_epsilon(dv.Gaussian(1), 0)
    with pytest.raises(ImpossibleRequest, match="epsilon = 0"):
        dv.Gaussian.bound_probabilistic(epsilon=0, delta="0.1")
    with pytest.raises(ImpossibleRequest, match="unbounded"):
        dv.Gaussian.bound_probabilistic(epsilon=1, delta=0)
    with pytest.raises(InputError, match="'union'"):
        dv.Gaussian.bound_probabilistic(epsilon=1, delta="0.1", reading="two-sided")
    assert dv.Logistic.bound_probabilistic(epsilon=1, delta=0) == 1


RISING = {"laplace", "logistic", "gaussian", "hyperbolic-secant", "generalized-gaussian", "subbotin"}


@pytest.mark.parametrize("name", [name for name in names() if issubclass(by_name(name), AdditiveNoise)])
def test_the_least_scale_is_told_where_the_loss_rises_and_refused_elsewhere(name: str) -> None:
    family = by_name(name)
    shape = {**family.typical_shapes()[0], **({"p": "3"} if "p" in family.typical_shapes()[0] else {})}
    if name in RISING or family.loss_rises:
        least = family.bound_probabilistic(epsilon="1/2", delta="1/10", reading="pairwise", **shape)
        at_least = family(**{family.scale_name: least.upper}, **shape)
        assert probabilistic.probability(at_least, "1/2").lower <= 0.1
    else:
        with pytest.raises(NotCovered, match="whose loss rises"):
            family.bound_probabilistic(epsilon="1/2", delta="1/10", reading="pairwise", **shape)


def test_student_noise_was_once_told_a_scale_that_is_not_the_least() -> None:
    """P(loss > eps) is below 1/2 well under the scale that solves the equation of rising losses."""
    asked = {"nu": 1, "sensitivity": 1358396}
    assert probabilistic.probability(dv.StudentT(23_000_000, **asked), "2.922048e-3").upper < 0.5
