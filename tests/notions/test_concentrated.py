"""The rho of zCDP and the (epsilon, tau) of mean-concentrated DP."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dv
from dpverify.errors import NotCovered
from dpverify.mechanisms import by_name
from dpverify.notions import concentrated, loss, probabilistic, renyi

families = st.sampled_from(["laplace", "logistic", "gaussian"]).map(by_name)
shifts = st.fractions("1/1000", 30, max_denominator=1000)


@given(family=families, shift=shifts, order=st.fractions("101/100", 200, max_denominator=100))
def test_rho_bounds_every_order(family: Any, shift: Fraction, order: Fraction) -> None:
    noise = family(1, sensitivity=shift)
    assert renyi.divergence(noise, order, digits=25).exact_lower <= concentrated.rho(noise, digits=25).exact_upper * order


@given(family=families, shift=shifts)
def test_rho_is_approached_at_order_one(family: Any, shift: Fraction) -> None:
    noise, near = family(1, sensitivity=shift), 1 + Fraction(1, 10**12)
    attained = renyi.divergence(noise, near, digits=25).exact_lower / near
    assert attained >= concentrated.rho(noise, digits=25).exact_lower * (1 - Fraction(1, 10**10))


@pytest.mark.parametrize("name", ["laplace", "logistic"])
@pytest.mark.parametrize("shift", ["1", "5", "30"])
def test_the_search_finds_what_the_proof_says(name: str, shift: str, bare: Any) -> None:
    noise = by_name(name)(1, sensitivity=shift)
    assert concentrated.rho(bare(noise.dominating_pair())).overlaps(concentrated.rho(noise))


def test_the_search_finds_a_maximum_inside(bare: Any) -> None:
    """A large loss of small probability: the quotient rises from the mean loss before it falls."""

    class Rare:
        is_symmetric = True
        p, q = fmpq(1, 1000), fmpq(1, 10**8)

        def loss_limit(self) -> Any:
            from flint import arb

            return (arb(self.p) / arb(self.q)).log()

        def power_moment(self, order: fmpq) -> Any:
            from flint import arb

            a = arb(order)
            rest = arb(1 - self.p) ** a * arb(1 - self.q) ** (1 - a)
            return arb(self.p) ** a * arb(self.q) ** (1 - a) + rest

        def mean_loss(self) -> Any:
            from flint import arb

            rest = (arb(1 - self.p) / arb(1 - self.q)).log() * arb(1 - self.p)
            return arb(self.p) * self.loss_limit() + rest

        hockey_stick = loss_tail = None

    pair = Rare()
    found = concentrated.rho(pair)
    grid = [1 + Fraction(i, 20) for i in range(1, 200)]
    best = max(float(renyi.divergence(pair, order).upper) / float(order) for order in grid)
    assert found.lower > 2 * renyi.divergence(pair, 1).upper
    assert best <= found.upper <= best * 1.001


def test_gaussian_noise_is_exact() -> None:
    noise = dv.Gaussian(2, sensitivity=3)
    assert concentrated.rho(noise) == Fraction(9, 8)
    found = concentrated.mean_concentrated(noise)
    assert (found.epsilon, found.tau) == (Fraction(9, 8), Fraction(3, 2))


@given(family=families, shift=shifts, share=st.fractions("1/100", "99/100", max_denominator=100))
@settings(max_examples=16)
def test_tau_bounds_the_tail_and_no_smaller_tau_does(family: Any, shift: Fraction, share: Fraction) -> None:
    noise = family(1, sensitivity=shift)
    found = concentrated.mean_concentrated(noise)
    width = float(shift) - found.epsilon.lower if noise.loss_slope is not None else 8 * float(shift)

    def exponent(a: float) -> float:
        tail = probabilistic.probability(noise, Fraction(found.epsilon.upper) + Fraction(a)).upper
        return a * a / (-2 * math.log(tail)) if tail > 0 else 0.0

    assert exponent(width * float(share)) <= found.tau.upper**2 * (1 + 1e-9)
    best = max(exponent(width * i / 400) for i in range(1, 401)) if noise.loss_slope is not None else found.tau.lower**2
    assert best >= found.tau.lower**2 * 0.98


@pytest.mark.parametrize("shift", ["1e-12", "1e-3", "1", "50"])
def test_tau_is_found_at_extreme_shifts(shift: str) -> None:
    for family in (dv.Laplace, dv.Logistic):
        assert concentrated.mean_concentrated(family(1, sensitivity=shift)).tau.lower > 0


def test_what_is_not_covered_is_said(bare: Any) -> None:
    pair = bare(dv.Gaussian(1).dominating_pair())
    with pytest.raises(NotCovered, match="unbounded"):
        concentrated.rho(pair)
    with pytest.raises(NotCovered, match="unbounded"):
        concentrated.mean_concentrated(pair)


@pytest.mark.parametrize(("nu", "shift"), [("3", "1"), ("1/2", "1"), ("10", "10/3"), ("1", "1/5"), ("1", "30")])
def test_student_noise_has_its_supremum_at_order_one(nu: str, shift: str) -> None:
    """Proved for nu = 1, where the power moment is a Legendre function; searched for elsewhere."""
    noise = dv.StudentT(1, nu, sensitivity=shift)
    found = concentrated.rho(noise)
    assert found.overlaps(loss.of(noise.dominating_pair()).mean())
    for order in ("11/10", 2, 7):
        assert renyi.divergence(noise, order).exact_lower <= found.exact_upper * Fraction(order)


def test_the_series_of_student_noise_are_the_integrals() -> None:
    """At d^2/(4 nu) = 7/8 the series end and the integrals begin; both are continuous there, and meet within the gap."""
    below, above = (dv.StudentT(1, "7/2", sensitivity=d) for d in (Fraction("3.4999999"), Fraction("3.5000001")))
    for ask in (lambda noise: renyi.divergence(noise, "5/2"), lambda noise: loss.of(noise.dominating_pair()).mean()):
        assert 0 < ask(above).upper - ask(below).upper < 1e-6


@pytest.mark.parametrize(
    ("values", "flip", "at_one"), [(2, "0.481907", True), (3, "0.65", True), (50, "0.2", True), (50, "0.97", False)]
)
def test_randomized_response_is_worst_next_to_order_one_where_ties_are_rare(values: int, flip: str, at_one: bool) -> None:
    """Against D_order/order over many orders, by mpmath."""
    m = mpmath.mp.clone()
    m.dps = 30
    truth, other = 1 - m.mpf(flip), m.mpf(flip) / (values - 1)

    def quotient(order: mpmath.mpf) -> mpmath.mpf:
        moment = truth**order * other ** (1 - order) + other**order * truth ** (1 - order) + (values - 2) * other
        return m.log(moment) / (order * (order - 1))

    seen = max(quotient(1 + m.mpf(10) ** (m.mpf(k) / 50)) for k in range(-500, 151))
    mechanism = dv.KaryRandomizedResponse(flip, values)
    found, mean = concentrated.rho(mechanism), renyi.divergence(mechanism, 1)
    assert seen * (1 - m.mpf(10) ** -14) <= m.mpf(found.upper)
    assert m.mpf(found.lower) <= seen * (1 + m.mpf(10) ** -3)
    assert at_one is (found.lower <= mean.upper)
