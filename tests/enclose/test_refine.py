from __future__ import annotations

import math
from fractions import Fraction

import flint
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from dpverify.enclose.refine import LARGEST_DIGITS, check_digits, enclose
from dpverify.errors import InputError, PrecisionError

what = "the answer".__str__


def cancelling(bits: int) -> arb:
    """(1 + 10^-200) - 1, of which no low precision sees a digit."""
    return (arb(1) + arb(10) ** -200) - arb(1)


@given(st.integers(1, 300))
def test_the_digits_asked_for_are_reached(digits: int) -> None:
    enclosure = enclose(lambda bits: arb(2).sqrt(), digits, what=what)
    low, high = enclosure.exact_lower, enclosure.exact_upper
    assert low**2 < 2 < high**2
    assert high - low <= Fraction(2, 10**digits)


@given(st.integers(1, 60), st.integers(1, 60))
def test_enclosures_nest_as_digits_grow(fewer: int, more: int) -> None:
    fewer, more = sorted((fewer, more))
    wide, narrow = (enclose(lambda bits: arb(3).sqrt(), digits, what=what) for digits in (fewer, more))
    assert narrow.overlaps(wide)
    assert narrow.exact_upper - narrow.exact_lower <= wide.exact_upper - wide.exact_lower


def test_cancellation_raises_the_precision() -> None:
    assert enclose(cancelling, 15, what=what).contains(Fraction(1, 10**200))


def test_a_straddled_double_raises_the_precision() -> None:
    double = 0.1
    hair = fmpq(1, 10**60)
    exact = fmpq(*double.as_integer_ratio()) + hair
    enclosure = enclose(lambda bits: arb(exact) + arb(0, arb(2) ** -bits), 15, what=what)
    assert enclosure.upper == math.nextafter(double, 1)


def test_an_exact_ball_becomes_an_exact_value() -> None:
    assert enclose(lambda bits: arb(fmpq(3, 4)), 15, what=what).is_exact
    assert enclose(lambda bits: fmpq(1, 3), 15, what=what).exact_lower == Fraction(1, 3)
    assert enclose(lambda bits: arb(0), 15, what=what) == 0
    assert not enclose(lambda bits: arb(2) ** -5000, 15, what=what).is_exact


def test_what_is_known_of_the_range_is_used() -> None:
    def nearly_one(bits: int) -> arb:
        return arb(1) - (arb(10) ** -400) + arb(0, arb(2) ** -bits)

    enclosure = enclose(nearly_one, 15, what=what, within=(0, 1))
    assert enclosure.exact_upper == 1
    assert enclosure.upper == 1.0


def test_an_endless_tie_is_a_named_error_that_says_how_far_it_got() -> None:
    with pytest.raises(PrecisionError, match=r"the answer: .*fewer digits") as caught:
        enclose(lambda bits: arb(1) + arb(0, arb(2) ** -bits), 15, what=what)
    assert caught.value.reached > 1000
    assert caught.value.exit_code == 3


def test_precision_is_put_back() -> None:
    before = flint.ctx.prec
    enclose(lambda bits: arb(2).sqrt(), 500, what=what)
    assert flint.ctx.prec == before


@pytest.mark.parametrize("digits", [0, -3, 1.5, "15", True, None, LARGEST_DIGITS + 1])
def test_digits_are_checked(digits: object) -> None:
    with pytest.raises(InputError, match="whole number of digits"):
        check_digits(digits)  # type: ignore[arg-type]
