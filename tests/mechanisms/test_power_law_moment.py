"""Extreme power moments: the bounds hold the integral where both are known, and give it where no integral closes."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dv
from dpverify.arithmetic.precision import working_precision
from dpverify.mechanisms import _integrals, _power_law_moment
from dpverify.mechanisms._power_law import _log_normaliser_ball
from dpverify.notions import renyi


def bounds(p: fmpq, d: fmpq, order: fmpq) -> arb:
    found = _power_law_moment.log_moment(p, fmpq(1), d, order, _log_normaliser_ball(p, fmpq(1)))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("p", "shift", "order", "divergence"),
    [  # by Gauss-Legendre integration at 60 digits
        ("3", "300", "2", "314735061.15421949303"),
        ("3/2", "1000", "3", "42427.350714063545749"),
        ("3/2", "1000", "2/5", "17537.867457526344524"),
        ("5/2", "1000", "1/2", "11180343.625750301060"),
        ("5/2", "1", "1/2", "0.63015307458562481877"),
        ("11/10", "3", "7", "3.4938444434132724608"),
        ("4", "30", "1/10", "27723.976295820215949"),
        ("7", "2", "6/5", "432327.37958688475368"),
    ],
)
def test_the_bounds_and_the_integral_hold_the_value(
    p: str, shift: str, order: str, divergence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_power_law_moment, "_SPARED", 10**9)
    exact = [fmpq(part.numerator, part.denominator) for part in map(Fraction, (p, shift, order))]
    with working_precision(100):
        value = arb(divergence) * arb(exact[2] - 1)
        assert bounds(*exact).overlaps(value + value * arb(0, 1e-19))
        noise = dv.GeneralizedGaussian(1, p=p, sensitivity=shift)
        integrated = _integrals.power_moment(noise, exact[2]).log()
        assert integrated.overlaps(value + value * arb(0, 1e-19))
        assert integrated.rad() < abs(value) * arb(2) ** -50


@settings(max_examples=12, deadline=None)
@given(
    st.fractions("9/8", 12, max_denominator=8),
    st.fractions("1/20", 8, max_denominator=20),
    st.fractions("1/10", 6, max_denominator=10),
)
def test_no_point_of_the_integrand_is_above_its_summit(p: Fraction, shift: Fraction, order: Fraction) -> None:
    """A grid never finds more; next to the place that the module names it finds nearly as much."""
    if order == 1:
        return
    with mpmath.workdps(40):
        power, d, a = (mpmath.mpf(x.numerator) / x.denominator for x in (p, shift, order))
        b = a - 1
        r = mpmath.sign(b) * (abs(b) / a) ** (1 / (power - 1))
        top = b * d**power * (1 - r) ** (1 - power)

        def exponent(y: mpmath.mpf) -> mpmath.mpf:
            return -a * abs(y) ** power + b * abs(y + d) ** power

        grid = [exponent(d * mpmath.mpf(k) / 16) for k in range(-64, 65)]
        assert max(grid) <= top + abs(top) * mpmath.mpf(10) ** -30
        assert mpmath.almosteq(exponent(r * d / (1 - r)), top, 1e-25, 1e-25)


@pytest.mark.parametrize(("p", "shift", "order"), [("40", "1.3", "1.7"), ("37.5", "0.01", "200"), ("40", "388", "1/2")])
def test_divergences_beyond_every_integral_are_answered(p: str, shift: str, order: str) -> None:
    found = renyi.divergence(dv.Subbotin(1, p=p, sensitivity=shift), order)
    with mpmath.workdps(40):
        power, d, a = (mpmath.mpf(str(float(Fraction(x)))) for x in (p, shift, order))
        b = a - 1
        r = mpmath.sign(b) * (abs(b) / a) ** (1 / (power - 1))
        top = b * d**power * (1 - r) ** (1 - power) / power / b
        assert mpmath.almosteq(mpmath.mpf(found.decimal(15)), top, 1e-13)
    assert found.exact_upper - found.exact_lower <= found.exact_upper / 10**15


def test_small_moments_are_left_to_integrals() -> None:
    with working_precision(100):
        assert _power_law_moment.log_moment(fmpq(3), fmpq(1), fmpq(1), fmpq(2), arb(0)) is None
    assert dv.GeneralizedGaussian(1, p="1/2").log_moment(fmpq(2)) is None
