"""Trade-off functions and Gaussian DP: duality with the profile, and the nearest Gaussian below."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dv
from dpverify.arithmetic.precision import working_precision
from dpverify.errors import InputError, NotCovered
from dpverify.guarantees import ApproxDP
from dpverify.mechanisms import by_name
from dpverify.notions import approximate, gaussian_dp, trade_off

families = st.sampled_from(["laplace", "logistic", "gaussian"]).map(by_name)
shifts = st.fractions("1/100", 12, max_denominator=100)
levels = st.fractions("1/1000", "999/1000", max_denominator=1000)


def ball(enclosure: Any) -> arb:
    low, high = enclosure.bounds(40)
    return arb(low).union(arb(high))


@given(family=families, shift=shifts, level=levels, epsilon=st.fractions(-10, 15, max_denominator=50))
def test_no_level_beats_the_profile(family: Any, shift: Fraction, level: Fraction, epsilon: Fraction) -> None:
    """1 - T(level) - e^epsilon level <= delta(epsilon), for every level and every epsilon."""
    noise = family(1, sensitivity=shift)
    with working_precision(120):
        growth = arb(fmpq(epsilon.numerator, epsilon.denominator)).exp()
        level_ball = arb(fmpq(level.numerator, level.denominator))
        power = 1 - ball(trade_off.trade_off(noise, level, digits=30)) - growth * level_ball
        assert not power > ball(approximate.profile(noise, epsilon, digits=30))


@given(family=families, shift=shifts, epsilon=st.fractions(0, 10, max_denominator=50))
def test_the_dual_of_the_dual_is_the_profile(family: Any, shift: Fraction, epsilon: Fraction) -> None:
    """At the level of the best event the bound is met: level = Q(L > epsilon) = (P(L > epsilon) - delta) e^-epsilon."""
    noise = family(1, sensitivity=shift)
    exact = fmpq(epsilon.numerator, epsilon.denominator)
    pair = noise.dominating_pair()
    with working_precision(150):
        delta = arb(pair.hockey_stick(exact))
        level = (arb(pair.loss_tail(exact)) - delta) * (-arb(exact)).exp()
        if not 0 < level < 1:
            return
        at = level.mid().fmpq()
        met = 1 - arb(pair.trade_off(at)) - arb(exact).exp() * arb(at)
        assert abs(met - delta) < arb(10) ** -30


@given(family=families, shift=shifts, level=levels)
@settings(max_examples=20)
def test_the_dual_of_the_profile_is_the_closed_form(family: Any, shift: Fraction, level: Fraction) -> None:
    pair = family(1, sensitivity=shift).dominating_pair()
    with working_precision(220):
        found = trade_off.dual((pair,), fmpq(level.numerator, level.denominator), 60)
        assert found.overlaps(arb(pair.trade_off(fmpq(level.numerator, level.denominator))))


@given(family=families, shift=shifts, some=st.lists(levels, min_size=3, max_size=3, unique=True))
def test_it_falls_is_convex_and_lies_under_blind_guessing(family: Any, shift: Fraction, some: list[Fraction]) -> None:
    a, b, c = sorted(some)
    noise = family(1, sensitivity=shift)
    first, second, third = (trade_off.trade_off(noise, level, digits=30) for level in (a, b, c))
    assert first.exact_upper >= second.exact_lower
    assert second.exact_upper >= third.exact_lower
    assert second.exact_lower <= (first.exact_upper * (c - b) + third.exact_upper * (b - a)) / (c - a)
    assert second.exact_lower <= 1 - b


def test_a_searched_trade_off_function_is_the_stated_one(family: Any, bare: Any) -> None:
    noise = family(1, sensitivity=2)
    for level in ("1e-12", "0.05", "0.5", "0.999"):
        assert trade_off.trade_off(bare(noise.dominating_pair()), level).overlaps(trade_off.trade_off(noise, level))
    assert trade_off.trade_off(noise, 0) == 1
    assert trade_off.trade_off(noise, 1) == 0


def test_the_polygon_of_randomized_response(randomized: Any) -> None:
    pair = randomized(fmpq(1))
    guaranteed = ApproxDP(epsilon=1, delta=0)
    for level in ("0.01", "0.2", "0.5", "0.9"):
        assert trade_off.trade_off(pair, level).overlaps(trade_off.guaranteed(guaranteed, level, digits=20))


@given(family=families, shift=shifts, level=levels, epsilon=st.fractions(0, 10, max_denominator=20))
def test_the_guarantee_lies_under_the_mechanism(family: Any, shift: Fraction, level: Fraction, epsilon: Fraction) -> None:
    noise = family(1, sensitivity=shift)
    delta = approximate.profile(noise, epsilon).exact_upper
    if delta < 1:
        claimed = trade_off.guaranteed(ApproxDP(epsilon=epsilon, delta=delta), level, digits=25)
        assert claimed.exact_lower <= trade_off.trade_off(noise, level, digits=25).exact_upper


@given(family=families, shift=shifts, level=levels)
def test_no_level_is_below_the_gaussian_of_mu(family: Any, shift: Fraction, level: Fraction) -> None:
    noise = family(1, sensitivity=shift)
    mu = gaussian_dp.mu(noise, digits=30)
    with working_precision(150):
        gaussian = gaussian_dp.gaussian_trade_off(arb(fmpq(level.numerator, level.denominator)), ball(mu))
        assert not gaussian > ball(trade_off.trade_off(noise, level, digits=30))


@given(family=families, shift=shifts)
def test_mu_is_attained_in_the_middle(family: Any, shift: Fraction) -> None:
    """No smaller mu will do: the profiles meet at epsilon = 0."""
    noise = family(1, sensitivity=shift)
    mu = gaussian_dp.mu(noise, digits=30)
    with working_precision(150):
        at_zero = gaussian_dp.gaussian_profile(by_ball(), arb(0), ball(mu))
        assert at_zero.overlaps(ball(approximate.total_variation(noise, digits=30)))


def by_ball() -> Any:
    from dpverify.arithmetic.balls import BALLS

    return BALLS


def test_the_families_that_claim_to_be_heavier_are() -> None:
    """Phi^{-1}(F(x)) is concave on x > 0: its slope, a ratio of densities, falls on a fine grid and in between by balls."""
    for noise in (dv.Laplace(1), dv.Logistic(1)):
        with working_precision(120):
            slopes = []
            for step in range(1, 400):
                x = arb(step) / 20
                u = arb(2).sqrt() * (2 * noise.cdf(by_ball(), -x)).erfcinv()
                slopes.append(noise.log_density(by_ball(), x).exp() * (u * u / 2).exp())
            assert all(after < before for before, after in itertools.pairwise(slopes))


def test_mu_of_the_gaussian_is_its_shift_and_of_a_polygon_its_corner(randomized: Any) -> None:
    assert gaussian_dp.mu(dv.Gaussian(3, sensitivity=2)) == Fraction(2, 3)
    assert gaussian_dp.mu(randomized(fmpq(1))).decimal(12) == "1.23203538534"


def test_what_cannot_be_answered_is_explained(bare: Any) -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        trade_off.trade_off(dv.Laplace(1), 2)
    with pytest.raises(NotCovered, match="no least mu"):
        gaussian_dp.mu(bare(dv.Laplace(1).dominating_pair()))
    with pytest.raises(NotCovered, match="above 0"):
        trade_off.trade_off(bare(dv.Gaussian(1).dominating_pair()), 0)


@pytest.mark.parametrize("level", ["5/6", "7/8", "0.999"])
def test_a_test_that_never_errs_has_a_trade_off_of_zero(level: str) -> None:
    """Noise of finite support: from level 1 - d/(2 scale) on, all that P produces can be rejected."""
    found = trade_off.trade_off(dv.Uniform(3), level)
    assert found.is_exact
    assert found.upper == 0
    assert trade_off.trade_off(dv.Uniform(3), "4/5").lower > 0.03


def test_what_is_not_told_from_zero_is_bounded() -> None:
    found = trade_off.trade_off(dv.TruncatedLaplace(1, cutoff=3), "0.999")
    assert found.lower == 0
    assert found.upper <= 1e-300
