"""Renyi divergences: closed forms against rigorous integration, their shape in the order, and what follows from them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dv
from dpverify.arithmetic.precision import working_precision
from dpverify.errors import InputError, NotCovered
from dpverify.mechanisms import _integrals, by_name
from dpverify.notions import approximate, renyi

families = st.sampled_from(["laplace", "logistic", "gaussian"]).map(by_name)
shifts = st.fractions("1/100", 8, max_denominator=100)
orders = st.fractions("1/10", 30, max_denominator=20)


class IntegratedGaussian(dv.Gaussian):
    """Gaussian noise that states no closed form, only how fast its tails fall."""

    __slots__ = ()
    name = "integrated-gaussian"

    @property
    def tail_degree(self) -> fmpq:
        return fmpq(2)


@given(name=st.sampled_from(["laplace", "logistic", "gaussian"]), shift=shifts, order=orders)
@settings(max_examples=12)
def test_the_closed_forms_are_the_integrals(name: str, shift: Fraction, order: Fraction) -> None:
    family = IntegratedGaussian if name == "gaussian" else by_name(name)
    noise, exact = family(1, sensitivity=shift), fmpq(order.numerator, order.denominator)
    pair = noise.dominating_pair()
    with working_precision(100):
        for closed, integral in (
            (pair.power_moment(exact), _integrals.power_moment(noise, exact)),
            (pair.mean_loss(), _integrals.mean_loss(noise)),
            (pair.loss_variance(), _integrals.loss_variance(noise)),
        ):
            assert arb(closed).overlaps(integral)
            assert integral.rad() < abs(integral) * arb(2) ** -40


def test_the_fisher_information_is_the_integral() -> None:
    for noise in (dv.Laplace("1/2"), dv.Logistic("1/2"), IntegratedGaussian("1/2")):
        with working_precision(100):
            integral = _integrals.score_variance(noise) * 4
            stated = noise.fisher_information(digits=20)
            assert integral.overlaps(arb(stated.bounds()[0]).union(arb(stated.bounds()[1])))
            assert integral.rad() < arb(2) ** -60


@given(family=families, shift=shifts, some=st.lists(orders, min_size=2, max_size=2, unique=True))
def test_the_divergence_does_not_fall_with_the_order(family: Any, shift: Fraction, some: list[Fraction]) -> None:
    low, high = sorted(some)
    noise = family(1, sensitivity=shift)
    assert renyi.divergence(noise, low, digits=25).exact_lower <= renyi.divergence(noise, high, digits=25).exact_upper


@given(family=families, shift=shifts)
def test_order_one_is_the_limit_and_order_a_half_fits_in(family: Any, shift: Fraction) -> None:
    noise = family(1, sensitivity=shift)
    below, one, above = (renyi.divergence(noise, 1 + step, digits=25) for step in (Fraction(-1, 10**6), 0, Fraction(1, 10**6)))
    assert below.exact_lower <= one.exact_upper
    assert one.exact_lower <= above.exact_upper
    near, half = (renyi.divergence(noise, Fraction(1, 2) + step, digits=25) for step in (Fraction(1, 10**9), 0))
    assert abs(near.exact_upper - half.exact_upper) < Fraction(1, 10**6) * (1 + half.exact_upper)


def test_gaussian_values_are_exact() -> None:
    noise = dv.Gaussian(2, sensitivity=3)
    assert renyi.divergence(noise, "4/3") == Fraction(3, 2)
    assert renyi.divergence(noise, "1/2") == Fraction(9, 16)
    assert renyi.divergence(noise, "inf").is_infinite
    assert renyi.divergence(dv.Laplace(2, sensitivity=3), "inf") == Fraction(3, 2)


def test_a_curve_is_its_points() -> None:
    noise = dv.Laplace(1)
    for order, value in renyi.curve(noise, (2, "5/2", 9)):
        assert value.overlaps(renyi.divergence(noise, order))


@given(family=families, shift=shifts, power=st.floats(-40, -1))
@settings(max_examples=12)
def test_what_an_order_gives_is_sound_and_not_far_off(family: Any, shift: Fraction, power: float) -> None:
    noise, delta = family(1, sensitivity=shift), f"{10**power:.6e}"
    given_by_order = renyi.approximate_epsilon(noise, delta)
    least = approximate.least_epsilon(noise, delta)
    assert given_by_order.value.exact_upper >= least.exact_lower
    assert given_by_order.value.upper <= 2 * least.upper + 2
    back = renyi.approximate_delta(noise, given_by_order.value.exact_upper)
    assert back.value.exact_upper >= approximate.profile(noise, given_by_order.value.exact_upper).exact_lower
    assert back.value.upper <= float(delta) * 1.02


def test_what_cannot_be_answered_is_explained() -> None:
    with pytest.raises(InputError, match="order = 0"):
        renyi.divergence(dv.Laplace(1), 0)

    class Silent(dv.Gaussian):
        __slots__ = ()
        name = "silent"

        def log_power_moment(self, m: Any, order: Any, d: Any) -> None:
            return None

    with pytest.raises(NotCovered, match="tail_degree"):
        renyi.divergence(Silent(1), 2)


@pytest.mark.parametrize("shift", ["1e-3", "1e-6", "1e-9"])
def test_the_mean_loss_of_hardly_moved_noise_is_half_its_information(shift: str) -> None:
    """Tails that are small beside the terms that cancel, but not beside what is left, only cost precision."""
    noise = dv.StudentT(1, nu=3, sensitivity=shift)
    ratio = 2 * renyi.divergence(noise, 1).lower / float(shift) ** 2 / noise.fisher_information().lower
    assert abs(ratio - 1) <= float(shift)


def test_a_heavy_tail_at_a_high_order() -> None:
    found = renyi.divergence(dv.StudentT("67.37163", nu=1, sensitivity="1555.901"), "887.4784", digits=25)
    reference = Fraction("6.278437507083364848321994575087405925859")  # mpmath, 40 digits, split at the peak
    assert abs(found.exact_lower - reference) < Fraction(1, 10**36)
    assert abs(found.exact_upper - reference) < Fraction(1, 10**25)
