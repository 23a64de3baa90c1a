from __future__ import annotations

import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from dpverify.arithmetic.multiprecision import MultiprecisionArithmetic
from dpverify.arithmetic.precision import working_precision
from dpverify.enclose import second_opinion
from dpverify.enclose.root import positive_root
from dpverify.errors import PrecisionError

exponents = st.integers(-300, 300)


def cube(x: arb) -> arb:
    return x**3


def cube_slope(x: arb) -> arb:
    return 3 * x**2


def holds(root: arb, target: fmpq, bits: int) -> bool:
    """Whether the ball contains the cube root of the target and is as narrow as promised."""
    with working_precision(4 * bits + 3000):
        truth = arb(target).root(3)
        return bool(root.contains(truth)) and bool(root.rad() <= abs(truth) * arb(2) ** -bits)


@given(exponents, st.integers(1, 999), st.integers(20, 300), st.none() | st.floats(1e-30, 1e30))
def test_an_increasing_function_from_any_start(exponent: int, digits: int, bits: int, start: float | None) -> None:
    target = fmpq(digits) * fmpq(10) ** exponent
    root = positive_root(cube, cube_slope, target, increasing=True, bits=bits, start=start)
    assert holds(root, target, bits)


@given(exponents, st.integers(20, 120))
def test_a_decreasing_function(exponent: int, bits: int) -> None:
    target = fmpq(7) * fmpq(10) ** exponent
    root = positive_root(lambda x: 1 / cube(x), lambda x: -3 / x**4, target, increasing=False, bits=bits)
    assert holds(root, 1 / target, bits)


@pytest.mark.parametrize("factor", [-1, 0, 1000, fmpq(1, 1000)])
def test_a_wrong_slope_costs_time_and_never_the_certificate(factor: int | fmpq) -> None:
    root = positive_root(cube, lambda x: factor * cube_slope(x), fmpq(5), increasing=True, bits=80, start=1.0)
    assert holds(root, fmpq(5), 80)


def test_a_wrong_direction_is_not_certified() -> None:
    with pytest.raises(PrecisionError):
        positive_root(lambda x: arb(0, 1) + x, lambda x: arb(1), fmpq(5, 2), increasing=True, bits=60, start=2.5)


def test_a_function_that_saturates_is_bisected() -> None:
    # 1 - e^-x = 1 - 10^-90: Newton's method from afar sees no slope at all.
    def value(x: arb) -> arb:
        return -(-x).expm1()

    target = 1 - fmpq(1, 10**90)
    root = positive_root(value, lambda x: (-x).exp(), target, increasing=True, bits=70, start=1e-3)
    with working_precision(900):
        assert root.contains(90 * arb(10).log())


@given(exponents)
def test_the_second_opinion_finds_the_same_root(exponent: int) -> None:
    m = MultiprecisionArithmetic(40)
    target = m.exact(fmpq(3) * fmpq(10) ** exponent)
    root = second_opinion.positive_root(m, lambda x: x**3, target, increasing=True)
    assert abs(root**3 / target - 1) < m.context.mpf(10) ** -33


def test_a_second_opinion_that_never_settles_is_a_named_error() -> None:
    calls = iter(range(1000))
    with pytest.raises(PrecisionError, match="the answer: no second opinion, because mpmath did not settle"):
        second_opinion.settled(lambda m: m.rational(next(calls)), 15, what="the answer")


def test_the_second_opinion_passes_a_plateau() -> None:
    """As of a profile that is 1, to the working precision, far to the left of the root: equal heights tell nothing there."""
    m = MultiprecisionArithmetic(30)

    def value(x: object) -> object:
        return m.context.erfc(x / 1000 - 300) / 2

    found = second_opinion.positive_root(m, value, m.rational(1, 10**74), increasing=False)
    assert abs(value(found) * m.context.mpf(10) ** 74 - 1) < m.context.mpf(10) ** -15
