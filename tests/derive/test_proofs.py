"""The exact checks: what they prove is true, and what is false or unclear they refuse."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy
from hypothesis import assume, given
from hypothesis import strategies as st

from dpverify.derive import proofs
from dpverify.derive.algebra import NotProved

a, b = sympy.symbols("a b", positive=True)
n = sympy.Symbol("n", nonnegative=True)
x = sympy.Symbol("x", real=True)
A, B = sympy.exp(a), sympy.exp(b)
half = sympy.Rational(1, 2)


@pytest.mark.parametrize(
    "residual",
    [
        sympy.Integer(0),
        sympy.cosh(a).rewrite(sympy.exp) ** 2 - sympy.sinh(a).rewrite(sympy.exp) ** 2 - 1,
        sympy.exp(a / 2) * sympy.exp(a / 3) - sympy.exp(5 * a / 6),
        sympy.exp(2 * sympy.log(1 + A) - sympy.log(B)) - (1 + A) ** 2 / B,
        sympy.log(A + A * B) - a - sympy.log(1 + B),
        sympy.log(1 + A) / 2 - sympy.log(4 + 8 * A + 4 * A**2) / 4 + sympy.log(2) / 2,
        sympy.sqrt(A**2 - 2 * A + 1) - (A - 1),
        sympy.sqrt(1 + a) * sympy.sqrt(1 + b) - sympy.sqrt((1 + a) * (1 + b)),
        sympy.sqrt(2 * sympy.pi) - 2 * sympy.sqrt(sympy.pi) / sympy.sqrt(2),
        1 / (sympy.sqrt(1 + a) - 1) - (sympy.sqrt(1 + a) + 1) / a,
        sympy.erfc(x - 1) + sympy.erfc(1 - x) - 2,
        sympy.erfc((a - b) * (a + b)) - sympy.erfc(a**2 - b**2),
        sympy.exp(sympy.Integer(1)) * sympy.exp(-half) - sympy.exp(half),
        2**x * sympy.Integer(8) ** (-x) * 4**x - 1,
        sympy.sqrt(sympy.sqrt(1 + a) ** 2 / 4) - sympy.sqrt(1 + a) / 2,
        sympy.log(A) - a,
        abs(a + b) - a - b,
        abs(-a) + sympy.sign(-b) * a,
        sympy.atan(A) + sympy.atan(1 / A) - sympy.pi / 2,
        sympy.atan(sympy.exp(x)) + sympy.atan(sympy.exp(-x)) - sympy.pi / 2,
        sympy.atan(a / b) + sympy.atan(b / a) - sympy.pi / 2,
        sympy.atan(sympy.exp(sympy.log(1 + a) / 2)) - sympy.atan((1 + a) / sympy.sqrt(1 + a)),
        sympy.atan(a / (2 * a) * 2, evaluate=False) - sympy.pi / 4,
    ],
    ids=str,
)
def test_identities_are_proved(residual: sympy.Expr) -> None:
    assert proofs.zero(residual).told({})


@pytest.mark.parametrize(
    "residual",
    [
        sympy.Rational(1, 10**40),
        A - 1 - a,  # true to first order
        sympy.exp(a + b) - A - B,
        sympy.log(1 + A) - a,
        sympy.sqrt(x**2) - x,  # true for half of all x
        sympy.sqrt((a - b) ** 2) - (a - b),
        sympy.sqrt(A**2 - 2 * A + 1) + (A - 1),  # the other branch
        sympy.log((a - b) ** 2) - 2 * sympy.log(a - b),  # true as analysis only where a > b
        sympy.log(-a) - sympy.log(a),
        sympy.erfc(a) - sympy.erfc(b),
        sympy.sign(n) - 1,  # false at 0
        sympy.atan(a - b) + sympy.atan(1 / (a - b)) - sympy.pi / 2,  # true where a > b
        sympy.atan(a) - sympy.atan(b),
    ],
    ids=str,
)
def test_what_is_false_somewhere_is_refused(residual: sympy.Expr) -> None:
    with pytest.raises(NotProved):
        proofs.zero(residual)


def test_an_arctangent_is_bounded_up_to_one_only() -> None:
    _, used = proofs.majorised(1 - sympy.atan(sympy.exp(-a)))
    assert len(used) == 1
    for beyond in (sympy.exp(a), 1 + a, -a):
        with pytest.raises(NotProved):
            proofs.majorised(1 - sympy.atan(beyond))


def test_even_polynomials_are_multiplied_by_even_ones() -> None:
    """u^4 - u^2 + 1 is positive, and no low power of 1 + u shows it."""
    proofs.nonnegative(a**4 - a**2 + 1, strictly=True)
    with pytest.raises(NotProved):
        proofs.nonnegative(a**4 - 3 * a**2 + 1)


def test_a_denominator_that_vanishes_identically_is_refused() -> None:
    nothing = (sympy.sqrt(1 + A) + 1) * (sympy.sqrt(1 + A) - 1) - A
    proofs.zero(nothing)
    with pytest.raises(NotProved, match="vanishes"):
        proofs.zero(a / nothing)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        (0.5 * a - b, "float"),
        (sympy.gamma(a), "no exact rule"),
        (sympy.Max(a, b) - a, "no exact rule"),
        (sympy.oo, "no exact rule"),
        (sympy.nan, "no exact rule"),
    ],
    ids=str,
)
def test_what_cannot_be_treated_exactly_is_refused(expression: sympy.Expr, why: str) -> None:
    with pytest.raises(NotProved, match=why):
        proofs.zero(expression)


@pytest.mark.parametrize(
    "expression",
    [
        *(A - 1, A * B - A, 1 - 1 / A, A + 1 / A - 2, (A - 1) / (A + B) + x**2, n * A, a / (1 + a) * sympy.exp(x)),
        *(sympy.log(A + 1) - sympy.log(2), sympy.log(1 + n), sympy.erfc(x), sympy.sqrt(1 + n)),
        *(A**3 + B**3, A**2 - A * sympy.exp(x) + sympy.exp(2 * x), a**2 - a + 1),
    ],
    ids=str,
)
def test_inequalities_are_proved(expression: sympy.Expr) -> None:
    assert proofs.nonnegative(expression).told({})


@pytest.mark.parametrize(
    "expression",
    [a - 1, A - B, A - 2, x, x**3, -A, sympy.log(A) - sympy.log(B), 1 / (a - 1), sympy.log(a), 1 - sympy.erfc(x)],
    ids=str,
)
def test_what_is_negative_somewhere_is_refused(expression: sympy.Expr) -> None:
    with pytest.raises(NotProved):
        proofs.nonnegative(expression)


@pytest.mark.parametrize("expression", [n, sympy.exp(n) - 1, x**2, a - a, sympy.log(1 + n), (A - B) ** 2], ids=str)
def test_zero_is_not_taken_for_positive(expression: sympy.Expr) -> None:
    proofs.nonnegative(expression)
    with pytest.raises(NotProved):
        proofs.nonnegative(expression, strictly=True)


@pytest.mark.parametrize(
    "expression",
    [sympy.log(A - 1), 1 / (A - 1), sympy.sqrt(n), 1 / sympy.sqrt(1 + n), sympy.log(1 + sympy.sqrt(n)), 1 / (-1 - x**2)],
    ids=str,
)
def test_real_numbers_are_recognised(expression: sympy.Expr) -> None:
    proofs.defined(expression)


@pytest.mark.parametrize(
    "expression",
    [sympy.log(A - B), sympy.log(n), 1 / n, 1 / (a - b), sympy.sqrt(a - 1), 1 / sympy.sqrt(n), sympy.zoo, sympy.log(1 - A)],
    ids=str,
)
def test_what_may_be_no_real_number_is_refused(expression: sympy.Expr) -> None:
    with pytest.raises(NotProved):
        proofs.defined(expression)


def test_a_special_function_is_bounded_only_where_its_bound_holds() -> None:
    lower, used = proofs.majorised(1 - sympy.erfc(a))
    assert lower == 1 - sympy.exp(-(a**2))
    assert used == [(sympy.erfc(a), sympy.exp(-(a**2)))]
    with pytest.raises(NotProved):
        proofs.majorised(1 + sympy.erfc(a))  # the bound points the wrong way
    with pytest.raises(NotProved):
        proofs.majorised(1 - sympy.erfc(x))  # the bound holds for arguments >= 0
    with pytest.raises(NotProved):
        proofs.majorised(1 - sympy.erfc(a) ** 2)


def test_a_long_residual_is_cut_in_messages() -> None:
    long = sum(sympy.Symbol(f"symbol{k}", real=True) for k in range(200))
    with pytest.raises(NotProved) as refusal:
        proofs.zero(long)
    assert len(str(refusal.value)) < 500


# Random expressions: whatever is claimed must be true at every point that is tried.

atoms = st.sampled_from(
    [a, b, n, x, A, 1 / A, sympy.exp(a / 2), sympy.exp(b - a), sympy.exp(x), sympy.sqrt(1 + a), sympy.sqrt(a * (1 + n))]
)
numbers = st.integers(-3, 3).map(sympy.Integer)
expressions = st.recursive(
    atoms | numbers,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] - pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
        inner.map(lambda base: base**2),
        inner.map(lambda base: sympy.sqrt(1 + base**2)),
        inner.map(abs),
    ),
    max_leaves=6,
)
fractions = st.fractions(Fraction(1, 50), 4, max_denominator=50)


@given(expression=expressions, values=st.tuples(fractions, fractions, fractions, fractions), negative=st.booleans())
def test_a_claimed_sign_is_the_sign(expression: sympy.Expr, values: tuple[Fraction, ...], negative: bool) -> None:
    try:
        proofs.nonnegative(expression)
    except NotProved:
        assume(False)
    place = dict(zip((a, b, n, x), map(sympy.Rational, values), strict=True))
    place[x] *= -1 if negative else 1
    assert sympy.N(expression.subs(place), 40) >= -(10**-30)


@given(left=expressions, right=expressions, values=st.tuples(fractions, fractions, fractions, fractions))
def test_a_claimed_identity_holds(left: sympy.Expr, right: sympy.Expr, values: tuple[Fraction, ...]) -> None:
    """Squares of sums against their expansions, and unrelated expressions against one another."""
    place = dict(zip((a, b, n, x), map(sympy.Rational, values), strict=True))
    for residual in ((left + right) ** 2 - left**2 - 2 * left * right - right**2, left - right):
        value = sympy.N(residual.subs(place), 40)
        try:
            proofs.zero(residual)
        except NotProved:
            assert residual is not sympy.Integer(0)
        else:
            assert abs(value) < 10**-25
