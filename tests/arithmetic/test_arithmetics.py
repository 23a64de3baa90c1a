"""One formula, five arithmetics: they must agree."""

from __future__ import annotations

import flint
import mpmath
import numpy as np
import pytest
import sympy
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from dpverify.arithmetic.arrays import ARRAYS
from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.arithmetic.multiprecision import MultiprecisionArithmetic
from dpverify.arithmetic.precision import working_precision
from dpverify.arithmetic.symbols import SYMBOLS
from dpverify.arithmetic.text import TEXT, Text
from dpverify.errors import PrecisionError

FUNCTIONS = {
    "exp": (-30, 30),
    "expm1": (-30, 30),
    "log": (0, 1000),
    "log1p": (-1, 1000),
    "sqrt": (0, 1000),
    "abs": (-10, 10),
    "sign": (-10, 10),
    "normal_cdf": (-20, 20),
    "zeta": (1, 30),
    "atan": (-20, 20),
    "gamma": (0, 20),
    "floor": (-20, 20),
}
WITH_PARAMETER = {
    "power": ((0, 100), (-10, 10)),
    "gamma_upper": ((0, 50), (0, 60)),
    "gamma_lower": ((0, 50), (0, 60)),
    "student_cdf": ((0, 40), (-30, 30)),
    "hurwitz_zeta": ((1, 20), (0, 20)),
}
"""Functions of two arguments."""


def applied(m: Arithmetic, name: str, x: fmpq) -> Value:
    return getattr(m, name)(m.exact(x))


@pytest.mark.parametrize("name", FUNCTIONS)
@given(data=st.data())
def test_balls_contain_what_mpmath_and_sympy_say_and_arrays_are_near(name: str, data: st.DataObject) -> None:
    low, high = FUNCTIONS[name]
    x = data.draw(st.fractions(low, high, max_denominator=1000).filter(lambda value: value not in (low, high)))
    exact = fmpq(x.numerator, x.denominator)
    with working_precision(100):
        ball = applied(BALLS, name, exact)
        widened = ball + arb(0, abs(ball) * arb(2) ** -90)
        second = applied(MultiprecisionArithmetic(60), name, exact)
        third = sympy.N(applied(SYMBOLS, name, exact), 60)
        assert widened.contains(arb(mpmath.nstr(second, 60)))
        assert widened.contains(arb(str(third)))
    array = applied(ARRAYS, name, exact)
    assert np.allclose(array, float(ball), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("name", WITH_PARAMETER)
@given(data=st.data())
def test_the_same_for_functions_of_two_arguments(name: str, data: st.DataObject) -> None:
    drawn = [
        data.draw(st.fractions(low, high, max_denominator=50).filter(lambda value, ends=(low, high): value not in ends))
        for low, high in WITH_PARAMETER[name]
    ]
    exact = [fmpq(x.numerator, x.denominator) for x in drawn]

    def value(m: Arithmetic) -> Value:
        return getattr(m, name)(*(m.exact(x) for x in exact))

    with working_precision(160):
        ball = value(BALLS)
        assert ball.rel_accuracy_bits() > 20
        widened = ball + arb(0, abs(ball) * arb(2) ** -90)
        second = value(MultiprecisionArithmetic(60))
        assert widened.contains(arb(mpmath.nstr(second, 50))), (drawn, ball, second)
        if name != "student_cdf" or exact[1] * exact[1] < exact[0]:  # elsewhere SymPy's hypergeometric series is slow
            assert widened.contains(arb(str(sympy.N(value(SYMBOLS), 50))))
        # An argument with a radius: the ball still holds the value, and is not much wider than it must be.
        blurred = [BALLS.exact(x) for x in exact]
        blurred[1] += arb(0, abs(blurred[1]) * arb(2) ** -100)
        assert getattr(BALLS, name)(*blurred).contains(ball.mid())
    assert np.allclose(value(ARRAYS), float(ball), rtol=1e-8, atol=1e-300)


def test_inexact_arguments_keep_their_accuracy_far_in_the_tails() -> None:
    with working_precision(200):
        third, far = arb(1) / 3, arb(10) ** 6 / 7
        assert BALLS.gamma_upper(third, far).rel_accuracy_bits() > 150
        assert BALLS.gamma_lower(third, far**-9).rel_accuracy_bits() > 150
        assert BALLS.student_cdf(third, -far).rel_accuracy_bits() > 150


@pytest.mark.parametrize("m", [BALLS, SYMBOLS, MultiprecisionArithmetic(30), ARRAYS, TEXT], ids=lambda m: m.name)
def test_every_arithmetic_offers_the_whole_interface(m: Arithmetic) -> None:
    for name in ["exact", "rational", "pi", *FUNCTIONS, *WITH_PARAMETER]:
        assert callable(getattr(m, name))
    assert str(m.pi()).startswith(("3.14", "[3.14", "pi"))
    if m is not TEXT:
        assert float(m.rational(1, 4)) == 0.25 == float(m.exact(fmpq(1, 4)))


def test_far_in_the_normal_tail_an_inexact_argument_keeps_its_accuracy() -> None:
    with working_precision(300):
        x = -(arb(10) ** 9) / 3
        value = BALLS.normal_cdf(x)
        assert value.rel_accuracy_bits() > 200
        # log Phi(-x) = -x^2/2 - log(x sqrt(2 pi)) + O(x^-2)
        expected = -x * x / 2 - (-x * (2 * arb.pi()).sqrt()).log()
        assert abs(value.log() - expected) < arb(10) ** -16


def test_precision_is_put_back_also_after_an_error() -> None:
    before = flint.ctx.prec
    with working_precision(333):
        assert flint.ctx.prec == 333
        with working_precision(99):
            assert flint.ctx.prec == 99
        assert flint.ctx.prec == 333
        with pytest.raises(ZeroDivisionError), working_precision(77):
            raise ZeroDivisionError
        assert flint.ctx.prec == 333
    assert flint.ctx.prec == before


def test_a_second_opinion_leaves_the_callers_mpmath_alone() -> None:
    before = mpmath.mp.dps
    assert MultiprecisionArithmetic(70).context.dps == 70
    assert mpmath.mp.dps == before


def test_text_has_the_brackets_it_needs_and_no_more() -> None:
    a, b, c = Text("a"), Text("b"), Text("c")
    assert str((a + b) * c) == "(a + b)*c"
    assert str(a + b * c) == "a + b*c"
    assert str(a - (b - c)) == "a - (b - c)"
    assert str(a / (b * c)) == "a/(b*c)"
    assert str(a / b / c) == "a/b/c"
    assert str((a + 1) ** 2) == "(a + 1)^2"
    assert str(-(a + b)) == "-(a + b)"
    assert str(-Text.__neg__(a)) == "a"
    assert str(-a / 2) == "-a/2"
    assert str(b - (-a / 2)) == "b - (-a/2)"
    assert str(b + (-a)) == "b + (-a)"
    assert str((-a) ** 2) == "(-a)^2"
    assert str(1 * a) == "a"
    assert str(2 - a) == "2 - a"
    assert str(1 / a) == "1/a"
    assert str(3 + a) == "3 + a"
    assert str(2 * TEXT.rational(1, 3) ** 2) == "2*(1/3)^2"
    assert str(a * -1) == "a*(-1)"
    assert str(TEXT.abs(TEXT.exp(-a))) == "|exp(-a)|"


def test_exponents_that_would_end_the_process_in_gmp() -> None:
    m = MultiprecisionArithmetic(30)
    huge = m.exp(m.exact(fmpq(10**6)))  # e^e^(10^6) has no end of digits before the point
    assert m.exp(-huge) == 0
    assert m.expm1(-huge) == -1
    for function in (m.exp, m.expm1):
        with pytest.raises(PrecisionError, match="the second opinion ends here"):
            function(huge)
    assert m.exp(m.context.inf) == m.context.inf
    assert m.exp(-m.context.inf) == 0
