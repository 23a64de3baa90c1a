"""Outward rounding: every interval holds the value that mpmath finds with many more digits, and is tight."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest

from dpverify.prove.kernel.evaluation import evaluate, refined
from dpverify.prove.kernel.intervals import Arithmetic, Interval
from dpverify.prove.kernel.terms import Rejected, parse

DIGITS = 30
REFERENCE_DIGITS = 400  # the tails lose hundreds of digits to cancellation in mpmath


def value(fraction: Fraction) -> mpmath.mpf:
    return mpmath.mpf(fraction.numerator) / fraction.denominator


def assert_encloses(text: str, expected: mpmath.mpf, looseness: int = 4) -> None:
    interval = evaluate(parse(text), {}, Arithmetic(DIGITS))
    low, high = mpmath.mpf(str(interval.low)), mpmath.mpf(str(interval.high))
    assert low <= expected <= high, (text, interval, expected)
    assert high - low <= abs(expected) * mpmath.mpf(10) ** (looseness - DIGITS), (text, interval)


@pytest.fixture(autouse=True)
def precise():
    with mpmath.workdps(REFERENCE_DIGITS):
        yield


def test_elementary_functions() -> None:
    draw = random.Random(11)
    for _ in range(60):
        x = Fraction(draw.randint(1, 4000), draw.randint(1, 300))
        y = Fraction(draw.randint(-400, 400), 37)
        assert_encloses(f"(exp {y})", mpmath.exp(value(y)))
        assert_encloses(f"(sqrt {x})", mpmath.sqrt(value(x)))
        assert_encloses(f"(^ {x} {y})", value(x) ** value(y), looseness=6)
        assert_encloses(f"(/ {x} 7)", value(x) / 7)
        if x != 1:
            assert_encloses(f"(log {x})", mpmath.log(value(x)), looseness=8)
    assert_encloses("(pi)", mpmath.pi)


def test_normal_law() -> None:
    draw = random.Random(12)
    for _ in range(40):
        x = Fraction(draw.randint(-1500, 1500), 100)
        assert_encloses(f"(Phi {x})", mpmath.erfc(-value(x) / mpmath.sqrt(2)) / 2)
        assert_encloses(f"(phi {x})", mpmath.npdf(value(x)))
        assert_encloses(f"(erfc {x / 4})", mpmath.erfc(value(x) / 4), looseness=8)


def test_gamma_functions_on_both_sides_of_the_switch_to_tail_bounds() -> None:
    draw = random.Random(13)
    for _ in range(30):
        a, x = Fraction(draw.randint(1, 700), 100), Fraction(draw.randint(1, 50_000), 100)
        gamma = mpmath.gamma(value(a))
        assert_encloses(f"(gamma {a})", gamma)
        assert_encloses(f"(gammaq {a} {x})", mpmath.gammainc(value(a), value(x)) / gamma)
    for a in (Fraction(1, 4), Fraction(5)):  # here the bounds differ by a factor of about 1 + 1/x
        interval = evaluate(parse(f"(gammaq {a} 900)"), {}, Arithmetic(DIGITS))
        expected = mpmath.gammainc(value(a), 900) / mpmath.gamma(value(a))
        assert mpmath.mpf(str(interval.low)) <= expected <= mpmath.mpf(str(interval.high))
        assert interval.high < interval.low * Decimal("1.01")
    assert evaluate(parse("(gammaq 1/2 0)"), {}, Arithmetic(DIGITS)).low == 1


def test_binomial_tails() -> None:
    for m, k, a in ((5, 2, Fraction(1, 3)), (100, 16, Fraction(1, 10)), (3, 0, Fraction(1, 7))):
        exact = sum(mpmath.binomial(m, j) * value(a) ** j * (1 - value(a)) ** (m - j) for j in range(k, m + 1))
        assert_encloses(f"(tail {m} {k} {a})", exact, looseness=8)
    for a, k, expected in ((0, 1, 0), (0, 0, 1), (1, 3, 1), (1, 4, 0)):
        assert evaluate(parse(f"(tail 3 {k} {a})"), {}, Arithmetic(DIGITS)).high == expected


@pytest.mark.parametrize(
    "text",
    [
        "(/ 1 (- 1 1))",
        "(log 0)",
        "(sqrt -1)",
        "(^ -2 1/2)",
        "(exp 100001)",
        "(gamma 0)",
        "(gamma 1001)",
        "(gammaq 1/2 -1)",
        "(gammaq 0 1)",
        "(gammaq 1000000000000000000000 1000000000000000000000)",
        "(tail 3 1 2)",
        "(tail 3 1/2 1/2)",
        "(tail 100000 1 1/2)",
        "(tail 3 -1 1/2)",
        "(tail x 1 1/2)",
        "(^ 2 5001)",
        "(^ (exp 99999) 5000)",
        "x",
    ],
)
def test_what_is_not_defined_or_out_of_proportion_is_refused(text: str) -> None:
    with pytest.raises(Rejected):
        evaluate(parse(text), {}, Arithmetic(20))


def test_intervals_hold_every_point_of_a_box() -> None:
    draw = random.Random(14)
    forms = [
        "(- (* x y) (/ x (+ 3 y)))",
        "(^ (- x y) 2)",
        "(^ (- x 1) 3)",
        "(^ (+ 2 x) -2)",
        "(Phi (- x y))",
        "(* (- x 1) (- y 2))",
    ]
    m = Arithmetic(20)
    for text in forms:
        term = parse(text)
        for _ in range(20):
            ends = {name: sorted(Decimal(draw.randint(0, 300)) / 100 for _ in range(2)) for name in "xy"}
            box = {name: Interval(low, high) for name, (low, high) in ends.items()}
            inside = {name: low + (high - low) * Decimal(draw.randint(0, 10)) / 10 for name, (low, high) in ends.items()}
            point = evaluate(term, {name: Interval(at, at) for name, at in inside.items()}, m)
            for form in (evaluate, refined):
                whole = form(term, box, m)
                assert whole.low <= point.low
                assert whole.high >= point.high


def test_the_refined_form_is_sharper_on_small_boxes() -> None:
    term, m = parse("(- (* x x) x)"), Arithmetic(20)
    box = {"x": Interval(Decimal("0.45"), Decimal("0.56"))}
    assert refined(term, box, m).low > evaluate(term, box, m).low
    rising = {"x": Interval(Decimal("0.7"), Decimal("0.8"))}
    assert refined(term, rising, m).low >= Decimal("-0.2100001")
    falling = {"x": Interval(Decimal("0.1"), Decimal("0.2"))}
    assert refined(term, falling, m).low >= Decimal("-0.1600001")


def test_precision_does_not_come_from_the_callers_context() -> None:
    import decimal

    with decimal.localcontext() as context:
        context.prec = 3
        assert_encloses("(Phi -22/7)", mpmath.erfc(mpmath.mpf(22) / 7 / mpmath.sqrt(2)) / 2)
