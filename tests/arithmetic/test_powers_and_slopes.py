"""Rational powers, rational formulas, and formulas with their slopes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from flint import acb, arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.complex_balls import ANALYTIC, PLAIN
from dpverify.arithmetic.derivatives import DerivativeArithmetic, Dual
from dpverify.arithmetic.powers import exact_power
from dpverify.arithmetic.precision import working_precision
from dpverify.arithmetic.rationals import rational_value

small = st.fractions("1/50", 50, max_denominator=50)


def q(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


@given(base=small, above=st.integers(1, 6), below=st.integers(1, 6))
def test_a_power_taken_back_is_itself(base: Fraction, above: int, below: int) -> None:
    raised = exact_power(q(base), fmpq(above))
    assert raised == q(base) ** above
    assert exact_power(raised, fmpq(1, above)) == q(base)
    found = exact_power(q(base), fmpq(above, below))
    if found is not None:
        assert found**below == q(base) ** above


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [("4", "1/2", "2"), ("2", "1/2", None), ("8/27", "-2/3", "9/4"), ("0", "3", "0"), ("0", "-1", None), ("1", "1/7", "1")],
)
def test_known_powers(base: str, exponent: str, expected: str | None) -> None:
    found = exact_power(q(Fraction(base)), q(Fraction(exponent)))
    assert found == (None if expected is None else q(Fraction(expected)))


def test_a_monstrous_power_is_left_to_balls() -> None:
    assert exact_power(fmpq(3), fmpq(10**6)) is None


def test_rational_formulas_are_exact_and_others_are_not_rational() -> None:
    assert rational_value(lambda m: m.exact(fmpq(1, 3)) * m.rational(3, 4) + 1) == fmpq(5, 4)
    assert rational_value(lambda m: m.exp(m.rational(0))) is None
    assert rational_value(lambda m: None) is None


FORMULAS: dict[str, Any] = {
    "exp": lambda m, x: m.exp(-x * x) / (1 + x),
    "expm1": lambda m, x: m.expm1(x) ** 2,
    "log": lambda m, x: m.log(x) * x - m.log1p(2 * x),
    "sqrt": lambda m, x: m.sqrt(1 + x) - 3 / x,
    "abs": lambda m, x: m.abs(x - 1) * m.sign(x) + m.exact(fmpq(1, 3)),
    "normal": lambda m, x: m.normal_cdf(x) - m.rational(1, 2) * m.pi(),
    "atan": lambda m, x: m.atan(x),
    "power": lambda m, x: m.power(x, m.exact(fmpq(5, 2))) * m.gamma(m.rational(3, 2)),
}


@pytest.mark.parametrize("name", FORMULAS)
@given(x=st.fractions("11/10", 8, max_denominator=20))
def test_the_slope_is_the_quotient_of_differences(name: str, x: Fraction) -> None:
    formula = FORMULAS[name]
    with working_precision(200):
        step = arb(2) ** -60
        m: Any = DerivativeArithmetic(BALLS)
        dual = formula(m, Dual(arb(q(x)), arb(1)))
        right, left = formula(BALLS, arb(q(x)) + step), formula(BALLS, arb(q(x)) - step)
        assert dual.value.overlaps(formula(BALLS, arb(q(x))))
        assert abs((right - left) / (2 * step) - dual.slope) < arb(2) ** -50


def test_a_slope_over_a_box_encloses_every_slope_in_it() -> None:
    with working_precision(100):
        m: Any = DerivativeArithmetic(BALLS)
        box = arb(2).union(arb(3))
        over = FORMULAS["exp"](m, Dual(box, arb(1))).slope
        for step in range(11):
            assert over.overlaps(FORMULAS["exp"](m, Dual(2 + arb(step) / 10, arb(1))).slope)


def test_what_must_be_constant_may_not_move() -> None:
    m: Any = DerivativeArithmetic(BALLS)
    with pytest.raises(NotImplementedError):
        m.gamma(Dual(arb(2), arb(1)))
    with pytest.raises(NotImplementedError):
        Dual(arb(2), arb(1)) ** Dual(arb(2), arb(1))


def test_a_branch_cut_or_a_kink_is_no_place_to_be_analytic() -> None:
    across = acb(arb(-1).union(arb(1)), arb(-1).union(arb(1)))
    left = acb(arb(-3).union(arb(-2)), arb(-1).union(arb(1)))
    for value in (ANALYTIC.abs(across), ANALYTIC.log(left), ANALYTIC.sqrt(left), ANALYTIC.log1p(left), ANALYTIC.sign(across)):
        assert not value.is_finite()
    assert ANALYTIC.abs(left).overlaps(-left)
    assert PLAIN.abs(across).is_finite()
