"""Randomized response on one bit and on k values."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.errors import ImpossibleRequest, InputError
from dpverify.mechanisms import by_name

FAMILIES = [by_name("randomized-response"), by_name("kary-randomized-response")]
each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


def shape_of(family: Any, k: int) -> dict[str, int]:
    return {"k": k} if len(family.parameters) == 2 else {}


def decimals(low: str, high: str) -> st.SearchStrategy[str]:
    powers = st.floats(math.log10(float(low)), math.log10(float(high)))
    return powers.map(lambda power: f"{10**power:.6e}")


def near(second: Any, first: Enclosure) -> bool:
    with mpmath.workdps(60):
        return bool(abs(second - mpmath.mpf(first.decimal(30))) < mpmath.mpf(10) ** -24)


FLIPS = st.fractions("1/1000", "1/2", max_denominator=1000)


@each_family
@given(flip=FLIPS, k=st.integers(2, 9), epsilon=st.fractions(-5, 9, max_denominator=9))
@settings(max_examples=24)
def test_the_profile_is_the_sum_over_reports(family: Any, flip: Fraction, k: int, epsilon: Fraction) -> None:
    noise = family(flip=flip, **shape_of(family, k))
    values = noise.values
    found = noise.delta(epsilon, digits=30)
    truth, other = 1 - flip, flip / (values - 1)
    if epsilon == 0:
        assert found == max(Fraction(0), truth - other)
        return
    with mpmath.workdps(50):
        growth = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        p, q = [truth, other, *[other] * (values - 2)], [other, truth, *[other] * (values - 2)]
        direct = mpmath.fsum(
            max(mpmath.mpf(0), mpmath.mpf(a.numerator) / a.denominator - growth * b.numerator / b.denominator)
            for a, b in zip(p, q, strict=True)
        )
        assert abs(mpmath.mpf(found.decimal(30)) - direct) < mpmath.mpf(10) ** -29
        second = noise.delta(epsilon, digits=30, arithmetic="mpmath")
        assert abs(second - direct) < mpmath.mpf(10) ** -29


@each_family
@given(epsilon=decimals("1e-12", "500"), delta=decimals("1e-300", "0.999") | st.just("0"), k=st.integers(2, 30))
@settings(max_examples=24)
def test_the_calibrated_double_is_the_least_that_satisfies(family: Any, epsilon: str, delta: str, k: int) -> None:
    shape = shape_of(family, k)
    flip = family.calibrate(epsilon=epsilon, delta=delta, **shape).flip

    def at_most(value: float) -> bool:
        for digits in (20, 60, 200, 900):
            found = family(flip=value, **shape).delta(epsilon, digits=digits)
            if found.exact_upper <= Fraction(delta):
                return True
            if found.exact_lower > Fraction(delta):
                return False
        raise AssertionError("not told apart at 900 digits")

    assert at_most(flip)
    assert not at_most(math.nextafter(flip, 0))


@each_family
@given(flip=decimals("1e-9", "0.5"), delta=decimals("1e-12", "0.9") | st.just("0"), k=st.integers(2, 9))
@settings(max_examples=16)
def test_the_three_questions_agree(family: Any, flip: str, delta: str, k: int) -> None:
    shape = shape_of(family, k)
    noise = family(flip=flip, **shape)
    epsilon = noise.epsilon(delta, digits=30)
    assert near(noise.epsilon(delta, digits=30, arithmetic="mpmath"), epsilon)
    if epsilon.is_exact:
        assert epsilon == 0
        assert noise.delta(0) <= Fraction(delta)
        return
    back = family.bound(epsilon=epsilon.exact_upper, delta=delta, **shape, digits=40)
    assert abs(Fraction(back.decimal(40)) / Fraction(flip) - 1) < Fraction(1, 10**25)
    second = family.bound(epsilon=epsilon.exact_upper, delta=delta, **shape, digits=25, arithmetic="mpmath")
    assert near(second, back)


def test_rational_answers_are_exact() -> None:
    bit, values = FAMILIES
    assert bit.bound(epsilon=0, delta="1/3") == Fraction(1, 3)
    assert bit("1/4").delta(0) == Fraction(1, 2)
    assert bit("1/4").delta(2) == 0
    assert bit("1/4").delta(2).is_exact
    assert bit("1/2").epsilon(0) == 0
    assert values(flip="2/3", k=3).epsilon(0) == 0
    assert values.bound(epsilon=0, k=5) == Fraction(4, 5)
    assert bit("1/4").dominating_pairs()[0].hockey_stick(bit("1/4").exact_flip * 0) == bit("1/2").exact_flip


def test_a_least_flip_that_no_double_reaches_is_refused() -> None:
    bit, values = FAMILIES
    assert bit.calibrate(epsilon=0).flip == 0.5
    with pytest.raises(ImpossibleRequest, match=r"more than 99/100.*as a fraction"):
        values.calibrate(epsilon=0, k=100)
    assert values.calibrate(epsilon="1e-3", k=100).flip < 0.99


def test_what_cannot_be_asked() -> None:
    bit, values = FAMILIES
    with pytest.raises(InputError, match=r"above 1/2.*at most 1/2"):
        bit("0.6")
    with pytest.raises(InputError, match="at most 2/3"):
        values("0.7", 3)
    with pytest.raises(InputError, match=r"flip = 0"):
        bit(0)
    with pytest.raises(InputError, match="leave sensitivity out"):
        bit("0.1", sensitivity=2)
    with pytest.raises(InputError, match="leave sensitivity out"):
        bit.bound(epsilon=1, sensitivity="1/2")
    with pytest.raises(InputError, match="whole number"):
        values("0.1", "2.5")
    with pytest.raises(InputError, match="choose 'arb'"):
        bit("0.1").delta(1, arithmetic="floats")


@each_family
def test_expressions_name_the_flip_probability(family: Any) -> None:
    for solved in ("epsilon", "flip"):
        assert "delta" in family.expression(solved)
    assert "flip" in family.expression("delta")
    assert family.solve(epsilon=1, delta=0, **shape_of(family, 4)).solved == "flip"
