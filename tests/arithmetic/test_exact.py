from __future__ import annotations

import copy
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
import sympy
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import float_above, float_below, is_double, to_exact
from dpverify.errors import InputError

TENTH_AS_DOUBLE = fmpq(3602879701896397, 36028797018963968)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, fmpq(1)),
        (0.1, TENTH_AS_DOUBLE),
        ("0.1", fmpq(1, 10)),
        ("1e-6", fmpq(1, 10**6)),
        (" -2.5E+3 ", fmpq(-2500)),
        ("1/3", fmpq(1, 3)),
        ("1e-2/3", fmpq(1, 300)),
        (".5", fmpq(1, 2)),
        ("5.", fmpq(5)),
        ("1_000", fmpq(1000)),
        ("1" * 5000, fmpq((10**5000 - 1) // 9)),
        (Fraction(1, 3), fmpq(1, 3)),
        (Decimal("0.1"), fmpq(1, 10)),
        (sympy.Rational(1, 3), fmpq(1, 3)),
        (sympy.Integer(3), fmpq(3)),
        (np.float64(0.1), TENTH_AS_DOUBLE),
        (np.float32(0.5), fmpq(1, 2)),
        (np.int8(3), fmpq(3)),
        (mpmath.mpf(0.1), TENTH_AS_DOUBLE),
        (flint.fmpz(3), fmpq(3)),
        (fmpq(1, 7), fmpq(1, 7)),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_number_is_taken_at_its_word(value: object, expected: fmpq) -> None:
    assert to_exact(value, "x") == expected


@pytest.mark.parametrize(
    "value",
    [
        *[
            "abc",
            "",
            ".",
            "e5",
            "1/0",
            "1/3/4",
            "nan",
            "inf",
            "-Infinity",
            "1e999999999",
            "1e-999999999",
            "0x10",
            "1 000",
            "\u0661",
        ],
        *[
            float("nan"),
            float("inf"),
            np.nan,
            np.inf,
            Decimal("NaN"),
            Decimal("sNaN"),
            Decimal("Infinity"),
            mpmath.inf,
            mpmath.nan,
        ],
        *[sympy.sqrt(2), sympy.Float("0.1"), sympy.nan, sympy.oo, sympy.Symbol("x"), sympy.pi],
        *[None, True, np.bool_(True), [1], (1,), {}, 1j, {1}, np.array([1.0, 2.0]), np.array([2.0]), np.array(2.0), b"1"],
    ],
    ids=repr,
)
def test_what_is_no_finite_rational_is_refused_by_name_and_with_advice(value: object) -> None:
    with pytest.raises(InputError, match=r"^the knob.*(write|pass|less extreme)"):
        to_exact(value, "the knob")


def test_text_of_a_million_digits_is_refused() -> None:
    with pytest.raises(InputError, match="shorten"):
        to_exact("1" * 1_000_000, "x")


@given(st.fractions())
def test_float_above_and_below_are_the_neighbours(value: Fraction) -> None:
    above, below = float_above(fmpq(value.numerator, value.denominator)), float_below(fmpq(value.numerator, value.denominator))
    assert Fraction(below) <= value <= Fraction(above)
    assert Fraction(math.nextafter(above, -math.inf)) < value
    assert Fraction(math.nextafter(below, math.inf)) > value


def test_the_ends_of_the_range_of_doubles() -> None:
    huge, tiny = fmpq(10) ** 400, fmpq(1, 10**400)
    assert float_above(huge) == math.inf
    assert float_below(huge) == 1.7976931348623157e308
    assert float_above(tiny) == 5e-324
    assert math.copysign(1, float_below(tiny)) == 1.0
    assert float_above(-huge) == -1.7976931348623157e308
    assert float_below(-tiny) == -5e-324


def test_is_double() -> None:
    assert is_double(fmpq(1, 2))
    assert not is_double(fmpq(1, 10))


@pytest.mark.parametrize("value", ["x" * 5000, [10**5000], "1/" + "0" * 5000])
def test_a_message_stays_short_whatever_was_handed_in(value: object) -> None:
    with pytest.raises(InputError) as caught:
        to_exact(value, "x")
    assert len(str(caught.value)) < 500


def test_an_exact_rational_can_be_pickled_and_copied() -> None:
    value = fmpq(-1, 10**50)
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (fmpq(0), "0"),
        (fmpq(1, 10**6), "1e-6"),
        (fmpq(-3, 2), "-1.5"),
        (fmpq(1, 10**100_000), "1e-100000"),
        (TENTH_AS_DOUBLE, "0.1"),
        (fmpq(1, 3), "1/3"),
        (fmpq(10**40 + 1), str(10**40 + 1)),
    ],
)
def test_a_number_in_a_message_is_as_short_as_it_may_be(value: fmpq, text: str) -> None:
    assert brief(value) == text


def test_a_number_in_a_message_loses_its_middle() -> None:
    assert brief(fmpq(1, 10**5000 + 1)).endswith("(5,003 characters)")


def test_an_enclosure_is_not_a_number_and_says_which_it_has() -> None:
    with pytest.raises(InputError, match=r"two numbers; give its \.upper or its \.lower"):
        to_exact(Enclosure(fmpq(1, 2), digits=15), "epsilon")
