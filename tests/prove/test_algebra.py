"""Normal forms and signs: what vanishes, what is positive, what must not be taken for either."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from dpverify.prove.kernel import polynomials as poly
from dpverify.prove.kernel.algebra import Algebra
from dpverify.prove.kernel.calculus import derivative
from dpverify.prove.kernel.evaluation import evaluate
from dpverify.prove.kernel.intervals import Arithmetic, Interval
from dpverify.prove.kernel.terms import ARITY, Call, Rejected, Term, parse

SIGNS = {"x": 1, "y": 1, "z": 0, "w": None, "p": 1}


def vanishes(text: str) -> bool:
    return not Algebra(SIGNS).normal(parse(text))[0]


def is_positive(text: str, *, strictly: bool = True) -> bool:
    algebra = Algebra(SIGNS)
    return algebra.has_sign(algebra.normal(parse(text))[0], strictly=strictly)


@pytest.mark.parametrize(
    "text",
    [
        "(- (+ x) x)",
        "(- (- x) (* -1 x))",
        "(- (* (exp (/ x 2)) (exp (/ x 2))) (exp x))",
        "(- (sqrt 8) (* 2 (sqrt 2)))",
        "(- (sqrt 12) (* 2 (sqrt 3)))",
        "(- (* (sqrt 2) (sqrt 2)) 2)",
        "(- (^ (sqrt (+ 1 x)) 3) (* (+ 1 x) (sqrt (+ x 1))))",
        "(- (* (^ (+ 1 x) -1/2) (sqrt (+ 1 x))) 1)",
        "(- (sqrt (* x (^ (+ 1 x) 1/2))) (* (sqrt x) (^ (+ 1 x) 1/4)))",
        "(- (sqrt (/ x y)) (/ (sqrt x) (sqrt y)))",
        "(- (exp (* 3 (log x))) (^ x 3))",
        "(- (log (* x y y)) (+ (log x) (* 2 (log y))))",
        "(- (log (exp (/ x 3))) (/ x 3))",
        "(- (log (sqrt (+ 1 x))) (/ (log (+ 1 x)) 2))",
        "(- (log 12) (+ (* 2 (log 2)) (log 3)))",
        "(- (log 1/2) (- (log 2)))",
        "(- (log (/ (+ x y) x)) (- (log (+ x y)) (log x)))",
        "(- (log (+ 1 (exp (- x)))) (- (log (+ 1 (exp x))) x))",
        "(- (^ (* x y) p) (* (^ x p) (^ y p)))",
        "(- (^ x (- p 1)) (/ (^ x p) x))",
        "(- (Phi (- x y)) (- 1 (Phi (- y x))))",
        "(- (Phi (- x x)) 1/2)",
        "(- (erfc x) (* 2 (Phi (- (* (sqrt 2) x)))))",
        "(- (phi x) (phi (- x)))",
        "(- (phi (- x (/ y x))) (* (phi (+ x (/ y x))) (exp (* 2 y))))",
        "(- (gamma 5) 24)",
        "(- (gamma (+ x y)) (gamma (+ y x)))",
        "(- (gammaq x (+ y z)) (gammaq x (+ z y)))",
        "(sqrt (- x x))",
        "(- (^ (* w w) 1/2) (^ (^ w 2) 1/2))",
        "(- (/ x (+ 1 x)) (- 1 (/ 1 (+ 1 x))))",
        "(- (* (/ x (+ 1 x)) (/ (+ 1 x) y)) (/ x y))",
        "(- (/ 1 (- -1 x)) (/ -1 (+ 1 x)))",
        "(- (log (* 1009 1013)) (log (* 1013 1009)))",
        "(- (exp 2) (* (exp 1) (exp 1)))",
        "(- (^ x 0) 1)",
    ],
)
def test_identities(text: str) -> None:
    assert vanishes(text)


@pytest.mark.parametrize(
    "text",
    ["(- (exp (/ x 2)) (exp x))", "(- (sqrt 2) (sqrt 3))", "(- (log (+ 1 x)) x)", "(- (Phi x) (Phi y))", "(- (gamma 5) 25)"],
)
def test_what_is_no_identity(text: str) -> None:
    assert not vanishes(text)


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "(- (exp (+ x z)) 1)",
        "(- (exp (/ x y)) (exp (/ (- x) y)))",
        "(- (^ (+ 1 x) p) 1)",
        "(- (sqrt (+ 1 x)) 1)",
        "(log (+ 1 x))",
        "(- (* (sqrt 2) x) (* 7/5 x))",
        "(- (pi) 3)",
        "(- (exp 1) 5/2)",
        "(- (* x (Phi 1)) (* x 4/5))",
        "(- (* x (log 2)) (* x 1/2))",
        "(gamma x)",
        "(- (* x (gammaq 1/2 1)) (* x 1/10))",
        "(+ x (* w w))",
        "(- (log (+ 1 (pi))) 1)",
        "(- (sqrt (+ 1 (sqrt 2))) 3/2)",
        "(- (* x (phi 0)) (* x 1/3))",
    ],
)
def test_what_is_positive(text: str) -> None:
    assert is_positive(text)


@pytest.mark.parametrize(
    "text",
    [
        "w",
        "z",
        "(- x y)",
        "(- 1 (exp x))",
        "(- (exp x) 2)",
        "(- (exp w) 1)",
        "(log x)",
        "(- 3 (pi))",
        "(- (Phi x) 1)",
        "(- x x)",
        "(* w w)",
        "(* z x)",
        "(- (exp (* 50 x)) (exp (* -50 x)))",  # true, but beyond the powers that are expanded
    ],
)
def test_what_is_not_shown_to_be_positive(text: str) -> None:
    assert not is_positive(text)


@pytest.mark.parametrize("text", ["z", "(- (^ (+ 1 z) p) 1)", "(* w w)", "(- x x)", "(- (exp z) 1)"])
def test_what_is_not_negative(text: str) -> None:
    assert is_positive(text, strictly=False)


@pytest.mark.parametrize(
    "text",
    [
        "(/ 1 w)",
        "(/ 1 z)",
        "(/ 1 (- x y))",
        "(log z)",
        "(log (- x y))",
        "(sqrt w)",
        "(^ z -1/2)",
        "(^ x 41)",
        "(^ x 83/2)",
        "(^ w p)",
        "(gamma z)",
        "(gammaq z x)",
        "(gammaq x w)",
        "(tail 3 1 1/2)",
        "unknown",
        "(^ (+ x y z w 1) 40)",
    ],
)
def test_what_is_not_shown_to_be_defined_is_refused(text: str) -> None:
    with pytest.raises(Rejected):
        Algebra(SIGNS).normal(parse(text))


def test_a_product_out_of_proportion_is_refused() -> None:
    wide = {((f"x{i}", Fraction(1)),): Fraction(1) for i in range(700)}
    with pytest.raises(Rejected):
        poly.multiply(wide, wide)
    narrow = {((f"y{i}", Fraction(1)),): Fraction(1) for i in range(100)}
    medium = {((f"x{i}", Fraction(1)),): Fraction(1) for i in range(100)}
    with pytest.raises(Rejected):
        poly.multiply(medium, narrow)


def random_term(draw: random.Random, depth: int) -> Term:
    if depth == 0 or draw.random() < 0.15:
        number = Fraction(draw.choice([-3, -2, -1, 1, 2, 3, 5, 7, 12]), draw.choice([1, 1, 2, 3]))
        return draw.choice(["x", "y", "z", "w", "p"]) if draw.random() < 0.65 else number
    head = draw.choice(
        ["+", "+", "-", "*", "*", "/", "^", "power", "exp", "exp", "log", "sqrt", "Phi", "phi", "erfc", "gammaq", "gamma"]
    )
    inner = [random_term(draw, depth - 1) for _ in range(2)]
    if head == "^":
        return Call("^", (inner[0], Fraction(draw.choice([-3, -2, -1, 1, 2, 3, 5]), draw.choice([1, 1, 2, 3, 4]))))
    head = "^" if head == "power" else head
    return Call(head, tuple(inner[: ARITY[head][1]]))


def test_no_random_term_is_given_a_wrong_sign() -> None:
    """Whatever the algebra says to vanish, to be positive or not to be negative is so at random points, by intervals."""
    draw, m, decided = random.Random(8), Arithmetic(30), 0
    for _ in range(1500):
        term = random_term(draw, draw.randint(1, 3))
        if draw.random() < 0.5:
            term = Call("-", (term, random_term(draw, draw.randint(0, 2))))
        algebra = Algebra(SIGNS)
        try:
            above, _ = algebra.normal(term)
            positive, natural = (algebra.has_sign(above, strictly=strictly) for strictly in (True, False))
        except Rejected:
            continue
        decided += positive or natural
        for _ in range(3):
            point = {name: Fraction(draw.choice([1, 2, 3, 7, 30]), draw.choice([1, 2, 3, 10])) for name in ("x", "y", "p")}
            point |= {"z": draw.choice([Fraction(0), Fraction(1, 3), Fraction(4)]), "w": Fraction(draw.randint(-40, 40), 9)}
            try:
                value = evaluate(term, {name: m.exact(at) for name, at in point.items()}, m)
            except Rejected:  # out of proportion, or 0 to a power, which intervals refuse
                continue
            assert value.high > 0 or not positive, (term, point)
            assert value.high >= 0 or not natural, (term, point)
            assert above or value.low <= 0 <= value.high, (term, point)
    assert decided > 300


def test_normal_forms_have_the_value_of_the_term() -> None:
    """Every rule of the normal form, against doubles at random points."""
    draw = random.Random(5)
    for text in (
        "(/ (- (exp (/ x 2)) (exp (/ y 2))) (+ 1 (exp (- x))))",
        "(* (^ (+ 1 x) -3/2) (log (+ x (* 2 y))))",
        "(+ (phi (- x y)) (* 3 (exp (- (log (+ 1 x)) y))))",
        "(^ (/ x (+ x y)) (- p 2))",
        "(sqrt (/ (* 12 x) (+ 5 (* 7 y))))",
    ):
        algebra = Algebra(SIGNS)
        above, below = algebra.normal(parse(text))
        for _ in range(5):
            point = {name: Fraction(draw.randint(1, 300), 100) for name in ("x", "y", "z", "w", "p")}
            expected = float(evaluate(parse(text), {k: Arithmetic(30).exact(v) for k, v in point.items()}, Arithmetic(30)).low)
            assert _numeric(above, algebra, point) / _numeric(below, algebra, point) == pytest.approx(expected, rel=1e-9)


def _numeric(p: poly.Polynomial, algebra: Algebra, point: dict[str, Fraction]) -> float:
    return sum(float(c) * math.prod(_generator(name, algebra, point) ** float(e) for name, e in m) for m, c in p.items())


def _generator(name: str, algebra: Algebra, point: dict[str, Fraction]) -> float:
    known = algebra._generators[name]
    if name in point:
        return float(point[name])
    if known.base is not None:
        return _numeric(known.base, algebra, point)
    if known.logarithm is not None:
        return math.exp(_numeric(known.logarithm[0], algebra, point) / _numeric(known.logarithm[1], algebra, point))
    if known.inside is not None:
        return math.log(_numeric(known.inside[0], algebra, point) / _numeric(known.inside[1], algebra, point))
    if known.value is not None:  # pi
        return float(evaluate(known.value, {}, Arithmetic(30)).low)
    raise AssertionError(name)


@pytest.mark.parametrize(
    "text",
    [
        "(+ x (* 3 x y))",
        "(- (* 2 x) (/ y x))",
        "(- x)",
        "(^ x 3/2)",
        "(^ x y)",
        "(exp (* x y))",
        "(log (+ x y))",
        "(sqrt (+ 1 x))",
        "(phi (* 2 x))",
        "(Phi (- x y))",
        "(erfc (* 2 x))",
        "(gammaq 3/4 (* x y))",
        "(/ 5 7)",
    ],
)
def test_derivatives_agree_with_difference_quotients(text: str) -> None:
    term, m, step = parse(text), Arithmetic(60), Fraction(1, 10**12)
    point = {"x": Fraction(7, 5), "y": Fraction(3, 4)}
    boxes = [{**{k: m.exact(v) for k, v in point.items()}, "x": m.exact(point["x"] + h)} for h in (step, -step)]
    ahead, behind = (evaluate(term, box, m) for box in boxes)
    slope = evaluate(derivative(term, "x"), {k: m.exact(v) for k, v in point.items()}, m)
    assert isinstance(slope, Interval)
    assert float(ahead.low - behind.low) / float(2 * step) == pytest.approx(float(slope.low), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("text", ["(gamma x)", "(gammaq x 1)", "(tail 3 1 x)"])
def test_what_has_no_rule_is_not_differentiated(text: str) -> None:
    with pytest.raises(Rejected):
        derivative(parse(text), "x")
