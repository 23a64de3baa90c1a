from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction

import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from dpverify.arithmetic.enclosure import Enclosure, arb_above, arb_below
from dpverify.arithmetic.precision import working_precision
from dpverify.errors import InputError, UndecidedComparison

TENTHS = Fraction(1, 10)


def ball(value: Fraction, radius: Fraction, bits: int = 200) -> Enclosure:
    with working_precision(bits):
        number = arb(fmpq(value.numerator, value.denominator), 0)
        return Enclosure(number + arb(0, fmpq(radius.numerator, radius.denominator)), digits=15)


def exactly(value: Fraction | int) -> Enclosure:
    value = Fraction(value)
    return Enclosure(fmpq(value.numerator, value.denominator), digits=15)


values = st.fractions(min_value=-1000, max_value=1000, max_denominator=10**6)
radii = st.fractions(min_value=Fraction(1, 10**12), max_value=1)


@given(values, radii, st.integers(1, 30))
def test_everything_that_is_read_off_contains_the_value(value: Fraction, radius: Fraction, digits: int) -> None:
    enclosure = ball(value, radius)
    low, high = enclosure.bounds(digits)
    assert Fraction(low) <= value - radius
    assert value + radius <= Fraction(high)
    assert Fraction(enclosure.lower) <= enclosure.exact_lower <= value - radius
    assert value + radius <= enclosure.exact_upper <= Fraction(enclosure.upper)


@given(values, st.integers(1, 30))
def test_an_exact_value_is_given_exactly(value: Fraction, digits: int) -> None:
    enclosure = exactly(value)
    low, high = map(Fraction, enclosure.bounds(digits))
    assert enclosure.exact_lower == value == enclosure.exact_upper
    assert low <= value <= high
    assert abs(Fraction(enclosure.decimal(digits)) - value) <= abs(value) * Fraction(10) ** (1 - digits) / 2
    assert enclosure == value


@given(values, radii, values, radii)
def test_a_comparison_is_certain_or_refused(x: Fraction, x_radius: Fraction, y: Fraction, y_radius: Fraction) -> None:
    left, right = ball(x, x_radius), ball(y, y_radius)
    if left.exact_upper < right.exact_lower:
        assert left < right
        assert left <= right
        assert left != right
        assert not left > right
    elif left.exact_lower > right.exact_upper:
        assert left > right
        assert left >= right
        assert not left == right  # noqa: SIM201 - both operators are looked at
    else:
        for compare in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
            with pytest.raises(UndecidedComparison, match="digits"):
                getattr(left, compare)(right)
    assert left.overlaps(right) == (left.exact_lower <= right.exact_upper and right.exact_lower <= left.exact_upper)


def test_decimal_prints_only_what_is_guaranteed() -> None:
    third = ball(Fraction(1, 3), Fraction(1, 10**7))
    assert third.decimal(40) in {"0.333333", "0.33333"}
    with working_precision(100):
        root = Enclosure(arb(2).sqrt(), digits=15)
    assert root.decimal(5) == "1.4142"
    assert root.bounds(5) == ("1.4142", "1.4143")
    assert str(root) == "1.41421356237310"
    assert repr(root) == "Enclosure[1.41421356237309504, 1.41421356237309505]"


def test_far_below_the_doubles() -> None:
    with working_precision(300):
        tiny = Enclosure((-(arb(10) ** 40)).exp(), digits=15)
    assert (tiny.lower, tiny.upper) == (0.0, 5e-324)
    assert tiny.exact_lower == 0
    assert tiny.exact_upper == Fraction(1, 10**10000)
    # 10^40 / log(10) = 4342944819032518276511289189166050822943.97005803..., and 10^0.02994196 = 1.07137...
    assert tiny.decimal(5) == "1.0714e-4342944819032518276511289189166050822944"
    low, high = tiny.bounds(4)
    assert low == "1.071e-4342944819032518276511289189166050822944"
    assert high == "1.072e-4342944819032518276511289189166050822944"
    assert tiny > 0
    assert tiny < "1e-99999"
    assert not tiny.contains("1e-99999")
    assert tiny.overlaps(tiny)
    negative = Enclosure(-(arb(2) ** -40000), digits=15)
    assert negative.exact_lower == -Fraction(1, 10**10000)
    assert negative.exact_upper == 0
    assert (negative.lower, negative.upper) == (-5e-324, 0.0)


def test_a_straddled_zero() -> None:
    with working_precision(100):
        around = Enclosure(arb(0, arb(2) ** -40000), digits=15)
    assert around.exact_lower == -Fraction(1, 10**10000)
    assert around.exact_upper == Fraction(1, 10**10000)
    assert around.contains(0)


def test_contains() -> None:
    enclosure = ball(TENTHS, Fraction(1, 1000))
    assert enclosure.contains("0.1")
    assert not enclosure.contains("0.2")
    assert exactly(TENTHS).contains("0.1")
    assert not exactly(TENTHS).contains(0.1)


def test_exact_values_print_short() -> None:
    assert str(exactly(10)) == "10"
    assert repr(exactly(0)) == "Enclosure(0, exact)"
    assert repr(exactly(Fraction(1, 3))) == "Enclosure(1/3)"
    assert exactly(Fraction(1, 3)).decimal(4) == "0.3333"
    assert exactly(Fraction(-2, 3)).bounds(3) == ("-0.667", "-0.666")
    assert str(exactly(10**30)) == "1e30"
    assert exactly(Fraction(1, 10**9)).decimal() == "1e-9"


def test_an_enclosure_is_no_dictionary_key() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(exactly(1))


@pytest.mark.parametrize("digits", [0, -1, 1.5, True, "3"])
def test_digits_must_be_a_positive_whole_number(digits: object) -> None:
    with pytest.raises(InputError, match="whole number"):
        exactly(1).decimal(digits)  # type: ignore[arg-type]


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-3, 3))
def test_arb_above_is_the_least_double_above(value: float, step: int) -> None:
    with working_precision(1200):
        end = (arb(value) + arb(step) * abs(arb(value)) * arb(2) ** -80 + arb(step) * arb(2) ** -1100).mid()
    above = arb_above(end)
    with working_precision(2400):
        assert arb(above) >= end if math.isfinite(above) else end > arb(1.7976931348623157e308)
        if above > -math.inf:
            assert arb(math.nextafter(above, -math.inf)) < end


def test_arb_above_beyond_the_doubles() -> None:
    assert arb_above(arb(10) ** 400) == math.inf
    assert arb_above(-(arb(10) ** 400)) == -1.7976931348623157e308


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-3, 3))
def test_arb_below_is_the_largest_double_below(value: float, step: int) -> None:
    with working_precision(1200):
        end = (arb(value) + arb(step) * abs(arb(value)) * arb(2) ** -80 + arb(step) * arb(2) ** -1100).mid()
        mirrored = -arb_above((-end).mid())
    assert arb_below(end) == mirrored


@given(values, radii)
def test_an_enclosure_can_be_pickled_and_copied(value: Fraction, radius: Fraction) -> None:
    for enclosure in (ball(value, radius), exactly(value)):
        again = pickle.loads(pickle.dumps(enclosure))
        assert (again.bounds(30), again.decimal(), again.digits) == (enclosure.bounds(30), enclosure.decimal(), 15)
        assert copy.deepcopy(enclosure) is copy.copy(enclosure) is enclosure
    assert pickle.loads(pickle.dumps(Enclosure.infinity(digits=3))).is_infinite


def test_an_enclosure_equals_itself_and_nothing_that_is_no_number() -> None:
    enclosure = ball(Fraction(1, 3), TENTHS)
    assert enclosure == enclosure
    assert enclosure <= enclosure
    assert enclosure != None  # noqa: E711
    assert enclosure != object()
    with pytest.raises(UndecidedComparison):
        _ = enclosure == ball(Fraction(1, 3), TENTHS)


def test_more_digits_than_python_writes() -> None:
    third = exactly(Fraction(1, 3))
    assert third.decimal(6000) == "0." + "3" * 6000
    assert third.bounds(6000) == ("0." + "3" * 6000, "0." + "3" * 5999 + "4")


class TestInfinity:
    def test_it_reads_as_infinity_everywhere(self) -> None:
        found = Enclosure.infinity(digits=15)
        assert found.is_infinite
        assert (found.lower, found.upper, found.bounds(), found.decimal()) == (math.inf, math.inf, ("inf", "inf"), "inf")
        assert found > 10**300
        assert not found.contains(5)
        assert found.decides_upper

    def test_it_has_no_fraction(self) -> None:
        with pytest.raises(InputError, match="is_infinite"):
            _ = Enclosure.infinity(digits=15).exact_upper

    def test_a_finite_value_is_not_infinite(self) -> None:
        assert not Enclosure(arb(3), digits=15).is_infinite
        assert not Enclosure(fmpq(3), digits=15).is_infinite
