"""Exact sums of exponentials."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from dpverify.arithmetic import exponentials
from dpverify.arithmetic.exponentials import ExponentialSum, total
from dpverify.errors import PrecisionError

small = st.fractions(-4, 4, max_denominator=6).map(lambda q: fmpq(q.numerator, q.denominator))
sums = st.lists(st.tuples(small, small), max_size=4).map(ExponentialSum)


def value(one: ExponentialSum) -> mpmath.mpf:
    with mpmath.workdps(60):
        return mpmath.fsum(
            mpmath.mpf(int(c.p)) / int(c.q) * mpmath.exp(mpmath.mpf(int(a.p)) / int(a.q)) for a, c in one.terms.items()
        )


@given(a=sums, b=sums, factor=small)
def test_arithmetic_is_that_of_the_numbers(a: ExponentialSum, b: ExponentialSum, factor: fmpq) -> None:
    with mpmath.workdps(60):
        close = mpmath.mpf(10) ** -45
        assert abs(value(a + b) - (value(a) + value(b))) < close
        assert abs(value(a - b) - (value(a) - value(b))) < close
        assert abs(value(a * b) - value(a) * value(b)) < close
        assert abs(value(a * factor) - value(a) * int(factor.p) / int(factor.q)) < close
        assert abs(value(total([a, b, a])) - (2 * value(a) + value(b))) < close
    assert a * b == b * a
    assert hash(a + b) == hash(b + a)


@given(a=sums, b=sums)
def test_the_sign_is_certain(a: ExponentialSum, b: ExponentialSum) -> None:
    assert (a - a).sign() == 0
    assert (a * b - b * a).sign() == 0
    assert a.sign() == -(-a).sign() == mpmath.sign(value(a))


def test_a_sign_that_cancels_nearly_is_found() -> None:
    """e^(1/3) + e^(-1/3) against its Taylor polynomial of degree 60: a difference of about 1e-110."""
    polynomial, term = fmpq(0), fmpq(2)
    for k in range(31):
        polynomial += term
        term = term * fmpq(1, 9) / ((2 * k + 1) * (2 * k + 2))
    gap = ExponentialSum({fmpq(1, 3): fmpq(1), fmpq(-1, 3): fmpq(1), fmpq(0): -polynomial})
    assert gap.sign() == 1
    assert (-gap).sign() == -1


def test_a_sign_beyond_the_largest_precision_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exponentials, "LARGEST_PRECISION", 64)
    near = fmpq(*map(int, Fraction("2.71828182845904523536028747135266249775724709369995").as_integer_ratio()))
    with pytest.raises(PrecisionError, match="64 bits"):
        ExponentialSum({fmpq(1): fmpq(1), fmpq(0): -near}).sign()


def test_quotients_are_rational_exactly_where_coefficients_are_proportional() -> None:
    one = ExponentialSum({fmpq(1): fmpq(2), fmpq(0): fmpq(-4)})
    assert one.over(ExponentialSum({fmpq(1): fmpq(3), fmpq(0): fmpq(-6)})) == fmpq(2, 3)
    assert ExponentialSum().over(one) == 0
    assert isinstance(one.over(ExponentialSum({fmpq(1): fmpq(3), fmpq(0): fmpq(-5)})), arb)
    assert isinstance(one.over(ExponentialSum.exp(fmpq(1))), arb)
    assert repr(ExponentialSum()) == "0"
    assert repr(one) == "-4*exp(0) + 2*exp(1)"
    assert one != 3
