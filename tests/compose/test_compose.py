"""Exact compositions of Gaussian and Laplace releases, against integration and against each other."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dv
from dpverify.compose import composed
from dpverify.errors import InputError, NotCovered
from dpverify.notions import approximate, concentrated, gaussian_dp, loss, probabilistic, renyi, trade_off

shifts = st.fractions("1/20", 4, max_denominator=20)


@given(shift=shifts, epsilon=st.fractions(-6, 6, max_denominator=20))
def test_one_release_is_itself(shift: Fraction, epsilon: Fraction) -> None:
    for family in (dv.Laplace, dv.Gaussian):
        noise = family(1, sensitivity=shift)
        alone = composed(noise)
        assert approximate.profile(alone, epsilon, digits=25).overlaps(noise.delta(epsilon, digits=25))
        assert probabilistic.probability(alone, epsilon, digits=25).overlaps(
            probabilistic.probability(noise, epsilon, digits=25)
        )
        assert renyi.divergence(alone, "5/2").overlaps(renyi.divergence(noise, "5/2"))


@given(shift=shifts, count=st.integers(1, 30), epsilon=st.fractions(-6, 20, max_denominator=20))
def test_gaussian_releases_add_their_squares(shift: Fraction, count: int, epsilon: Fraction) -> None:
    many = composed((dv.Gaussian(1, sensitivity=shift), count**2))
    assert approximate.profile(many, epsilon, digits=25).overlaps(
        dv.Gaussian(1, sensitivity=shift * count).delta(epsilon, digits=25)
    )
    assert gaussian_dp.mu(many) == shift * count


def test_a_gaussian_pair_with_an_irrational_mean_answers_everything() -> None:
    pair, rounded = composed((dv.Gaussian(1), 2)), dv.Gaussian(1, sensitivity=Fraction(14142135623730951, 10**16))
    for one, other in (
        (probabilistic.least_epsilon(pair, "1e-3"), probabilistic.least_epsilon(rounded, "1e-3")),
        (approximate.least_epsilon(pair, "1e-3"), rounded.epsilon("1e-3")),
        (trade_off.trade_off(pair, "0.1"), trade_off.trade_off(rounded, "0.1")),
        (loss.of(pair).quantile("0.2"), loss.of(rounded).quantile("0.2")),
        (concentrated.mean_concentrated(pair).tau, concentrated.mean_concentrated(rounded).tau),
    ):
        assert abs(one.upper - other.upper) < 1e-13 * (1 + abs(one.upper))
    assert concentrated.rho(pair) == 1
    assert renyi.divergence(pair, 3) == 3
    assert loss.of(pair).variance() == 2
    assert loss.of(pair).quantile("1/2") == 1


@given(first=shifts, second=shifts, epsilon=st.fractions("-1/2", 4, max_denominator=20))
@settings(max_examples=12)
def test_two_laplace_releases_by_quadrature(first: Fraction, second: Fraction, epsilon: Fraction) -> None:
    """delta = E over the second release of the profile of the first at epsilon minus its loss."""
    m = mpmath.mp.clone()
    m.dps = 20
    a, b, eps = (m.mpf(x.numerator) / x.denominator for x in (first, second, epsilon))

    def profile(e: Any) -> Any:
        return 0 if e >= a else 1 - m.exp(e) if e <= -a else -m.expm1((e - a) / 2)

    def density(loss: Any) -> Any:
        return m.exp((loss - b) / 2) / 4

    breaks = sorted({-b, b, *(x for x in (eps - a, eps + a) if -b < x < b)})
    inside = m.quad(lambda x: density(x) * profile(eps - x), breaks)
    total = profile(eps - b) / 2 + m.exp(-b) / 2 * profile(eps + b) + inside
    found = approximate.profile(composed(dv.Laplace(1, sensitivity=first), dv.Laplace(1, sensitivity=second)), epsilon)
    assert abs(m.mpf(found.decimal(15)) - total) < m.mpf(10) ** -12


@given(some=st.lists(shifts, min_size=1, max_size=3), count=st.integers(1, 4), epsilon=st.fractions(-3, 8, max_denominator=20))
@settings(max_examples=16)
def test_order_and_grouping_do_not_matter(some: list[Fraction], count: int, epsilon: Fraction) -> None:
    noises = [dv.Laplace(1, sensitivity=shift) for shift in some]
    grouped = composed(*((noise, count) for noise in noises))
    spread = composed(*(noise for noise in reversed(noises) for _ in range(count)))
    assert grouped == spread
    tail, stick = grouped.loss_tail, approximate.profile(grouped, epsilon, digits=20)
    assert stick.exact_lower <= probabilistic.probability(grouped, epsilon, digits=20).exact_upper
    assert tail(grouped.loss_limit()) == 0
    assert tail(-grouped.loss_limit() - 1) == 1
    assert approximate.profile(grouped, Fraction(str(grouped.loss_limit()))) == 0


def test_the_reflection_identity_of_a_product() -> None:
    pair = composed((dv.Laplace(1), 3), dv.Laplace(2, sensitivity=3))
    here, mirrored = (approximate.profile(pair, epsilon, digits=30) for epsilon in ("0.7", "-0.7"))
    m = mpmath.mp.clone()
    m.dps = 40
    factor = m.exp(m.mpf("-0.7"))
    assert abs(m.mpf(mirrored.decimal(30)) - (1 - factor + factor * m.mpf(here.decimal(30)))) < m.mpf(10) ** -28


def test_rho_and_moments_add_up() -> None:
    pair = composed((dv.Laplace(2), 5), dv.Laplace(3))
    alone = [concentrated.rho(dv.Laplace(scale), digits=25) for scale in (2, 3)]
    assert concentrated.rho(pair).exact_lower <= 5 * alone[0].exact_upper + alone[1].exact_upper
    assert concentrated.rho(pair).exact_upper >= 5 * alone[0].exact_lower + alone[1].exact_lower
    assert loss.of(pair).variance() > 0
    assert renyi.divergence(pair, 2).upper < 2 * concentrated.rho(pair).upper * 1.0000001


def test_what_is_not_covered_is_said() -> None:
    with pytest.raises(NotCovered, match=r"Laplace, Logistic.*add up"):
        composed(dv.Laplace(1), dv.Logistic(1))
    with pytest.raises(NotCovered, match="coefficients"):
        composed((dv.Laplace(1), 5000))
    with pytest.raises(InputError, match="at least one"):
        composed()
    with pytest.raises(InputError, match="count = 0"):
        composed((dv.Laplace(1), 0))
    assert composed((dv.Laplace(7), 3)).loss_limit() == fmpq(3, 7)
