"""The law of the privacy loss, and discretisations that stay on their side."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dv
from dpverify.errors import ImpossibleRequest, InputError, NotCovered
from dpverify.mechanisms import by_name
from dpverify.notions import loss, probabilistic

families = st.sampled_from(["laplace", "logistic", "gaussian"]).map(by_name)
shifts = st.fractions("1/100", 6, max_denominator=100)


@given(family=families, shift=shifts, probability=st.fractions("1/1000", "999/1000", max_denominator=1000))
def test_the_quantile_inverts_the_cdf(family: Any, shift: Fraction, probability: Fraction) -> None:
    law = loss.of(family(1, sensitivity=shift))
    quantile = law.quantile(probability, digits=30)
    assert law.cdf(quantile.exact_upper, digits=40).exact_upper >= probability
    just_below = quantile.exact_lower - Fraction(1, 10**25)
    assert law.cdf(just_below, digits=40).exact_lower <= probability


@given(family=families, shift=shifts)
@settings(max_examples=15)
def test_mean_and_variance_are_those_of_the_cdf(family: Any, shift: Fraction) -> None:
    """E L and Var L as Stieltjes sums over quantiles."""
    law = loss.of(family(1, sensitivity=shift))
    cells = 400
    values = [law.quantile(Fraction(2 * i + 1, 2 * cells)).upper for i in range(cells)]
    mean = sum(values) / cells
    assert abs(mean - law.mean().upper) < 0.02 * float(shift) + 1e-6
    variance = sum((value - mean) ** 2 for value in values) / cells
    assert abs(variance - law.variance().upper) < 0.06 * float(shift) ** 2


@given(family=families, shift=shifts, epsilon=st.fractions(-3, 8, max_denominator=40))
@settings(max_examples=12)
def test_the_profile_lies_between_the_discretisations(family: Any, shift: Fraction, epsilon: Fraction) -> None:
    noise = family(1, sensitivity=shift)
    law = loss.of(noise)
    interval = shift / 40
    under = law.discretised(interval, rounding="down").delta(epsilon)
    over = law.discretised(interval, rounding="up").delta(epsilon)
    exact = noise.delta(epsilon)
    assert under.exact_lower <= exact.exact_upper
    assert exact.exact_lower <= over.exact_upper
    assert over.upper - under.lower < 2 * float(interval) + 1e-12


@pytest.mark.parametrize("rounding", ["up", "down"])
def test_the_masses_are_a_law(family: Any, rounding: str) -> None:
    table = loss.of(family(1)).discretised("1/4", rounding=rounding).masses()
    assert [index for index, _, _ in table] == list(range(table[0][0], table[-1][0] + 1))
    assert abs(sum(upper for _, _, upper in table) - 1) < 1e-12
    assert all(0 <= lower <= upper for _, lower, upper in table)


def test_a_coarse_grid_rounded_the_wrong_way_would_be_noticed() -> None:
    law = loss.of(dv.Gaussian(1))
    assert law.discretised("1/4", rounding="down").delta(1).upper < dv.Gaussian(1).delta(1).lower
    assert law.discretised("1/4", rounding="up").delta(1).lower > dv.Gaussian(1).delta(1).upper


def test_atoms_know_their_variance(randomized: Any, bare: Any) -> None:
    law = loss.of(randomized(fmpq(1)))
    assert law.variance().decimal(10) == "0.7864477330"  # 1 - tanh(1/2)^2
    with pytest.raises(NotCovered, match="variance"):
        loss.of(bare(randomized(fmpq(1)))).variance()


def test_what_cannot_be_answered_is_explained() -> None:
    law = loss.of(dv.Gaussian(1))
    with pytest.raises(InputError, match="'up'"):
        law.discretised("1/4", rounding="nearest")
    with pytest.raises(ImpossibleRequest, match="larger one"):
        law.discretised("1e-9", rounding="up")
    with pytest.raises(InputError, match="strictly between"):
        law.quantile(1)

    class Two:
        def dominating_pairs(self) -> tuple[Any, ...]:
            return dv.Laplace(1).dominating_pair(), dv.Gaussian(1).dominating_pair()

    with pytest.raises(InputError, match="2 different"):
        loss.of(Two())


@pytest.mark.parametrize("noise", [dv.Gaussian(1), dv.GeneralizedGaussian(1, 3, sensitivity=2)])
def test_a_quantile_that_is_a_double_is_enclosed(noise: Any) -> None:
    """The median of the loss is that of the middle output: d^2/2 and d^3, which no ball shows to be exact."""
    expected = Fraction(1, 2) if isinstance(noise, dv.Gaussian) else Fraction(8)
    for found in (loss.of(noise).quantile("0.5"), probabilistic.least_epsilon(noise, "0.5")):
        assert found.exact_lower <= expected <= found.exact_upper
        assert found.upper - found.lower < 1e-14
