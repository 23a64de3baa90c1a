"""Outputs in [0, L]: noise that is truncated, or moved to the bounds, and its exact pure level."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpverify.prove.kernel.calculus import derivative
from dpverify.prove.kernel.statements import Range, Relation, Statement
from dpverify.prove.kernel.terms import Rejected, Term, call, substitute
from dpverify.prove.schemas.parts import (
    HALF,
    NONNEGATIVE,
    ONE,
    POSITIVE,
    REAL,
    ZERO,
    Criterion,
    Data,
    Schema,
    forall,
    obligation,
    told,
)
from dpverify.prove.schemas.reading import ranges

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpverify.prove.kernel.certificate import Obligation

TWO = Fraction(2)
SIDE = Relation("<=", "D", "L")


def convex(e: Term, parameters: Mapping[str, Range]) -> Obligation:
    """e(a + D) - e(a) does not fall as a grows."""
    near, far = (call("-", substitute(e, {"x": call("+", a, "D")}), substitute(e, {"x": a})) for a in ("a", "y"))
    sizes = {**parameters, "a": POSITIVE, "y": POSITIVE, "D": POSITIVE}
    return obligation("the exponent is convex", forall(sizes, "<=", near, far, Relation(">=", "y", "a")))


# Out-of-range mass moved to the bounds.


def _moved(data: Data) -> tuple[Obligation, ...]:
    data.fields("noise")
    table = data.part("noise", "parameters", "exponent", "constant", "tail", "rest")
    parameters = data.parameters(table["parameters"], "x", "a", "y", "D", "L", "eps", "fa", "fd", "Sa", "Sd")
    e, constant, tail, rest = (data.reader.term(table[name]) for name in ("exponent", "constant", "tail", "rest"))
    far = {**parameters, "x": Range(ONE)}
    beyond = {**parameters, "x": POSITIVE}
    density = call("*", constant, call("exp", call("-", e)))
    values = dict.fromkeys(("fa", "fd", "Sa", "Sd"), POSITIVE)
    known = Relation("<=", call("*", "Sd", "fa"), call("*", "fd", "Sa"))
    return (
        obligation("the tail falls by the density", forall(beyond, "=", derivative(tail, "x"), call("-", density))),
        obligation("the tail is not negative", forall(far, ">=", tail, ZERO)),
        obligation("the tail vanishes", forall(far, "<=", tail, call("/", rest, "x"))),
        obligation("the density is positive", forall(parameters, ">", constant, ZERO)),
        obligation("the exponent does not fall", forall(beyond, ">=", derivative(e, "x"), ZERO)),
        convex(e, parameters),
        obligation(
            "the loss of the atom rises",
            forall(values, ">=", call("-", call("/", "fd", "Sd"), call("/", "fa", "Sa")), ZERO, known),
        ),
        obligation("the interior is no harder", forall(values, "<=", call("/", "fa", "fd"), call("/", "Sa", "Sd"), known)),
    )


def _moved_criteria(data: Data) -> dict[str, Criterion]:
    table = data.table["noise"]
    tail = data.reader.term(table["tail"])
    near, far = (substitute(tail, {"x": point}) for point in (call("-", "L", "D"), "L"))
    return {
        "level": Criterion(
            variables={**dict(ranges(table["parameters"])), "L": POSITIVE, "D": POSITIVE, "eps": REAL},
            relation=Relation("<=", call("log", call("/", near, far)), "eps"),
            says="this noise with its mass beyond [0, L] moved to the bounds is eps-DP for a number that moves by at most D",
            hypotheses=(SIDE,),
        )
    }


MOVED = Schema(
    build=_moved,
    states=lambda data: (
        f"Noise with the density c e^-e(|x|), e = {data.table['noise']['exponent']}, {_told_parameters(data)}, and the tail "
        f"S = P(noise > x) = {data.table['noise']['tail']} for x >= 0, "
        "whose output beyond [0, L] is moved to the bounds, for a number in [0, L] that moves by at most D <= L, has exactly "
        "the pure level log(S(L - D)/S(L)); with "
        f"several coordinates the levels add{data.where()}."
    ),
    argument="""\
Let f = c e^-e. The exponent is convex: f(y + D) f(a) <= f(a + D) f(y) for y >= a; integrated over y >= a this is S(a + D)
f(a) <= f(a + D) S(a), with fa, fd, Sa, Sd for f(a), f(a + D), S(a), S(a + D). At the bound L the loss between true values
at distances a and a + D from it is log Sa/Sd, whose derivative in a is fd/Sd - fa/Sa: it is largest at a + D = L. It also
rises with D, as S falls. In the interior the loss is at most log f(a)/f(a + c) with c <= D and a + c <= L, since e does not
fall, and is no larger than the loss of an atom at these distances. So the level is attained at the atom, with true values 0
and D; the other bound is the mirror image. a = 0 and D = L are limits. Coordinates are independent, and their worst cases
occur together.""",
    criteria=_moved_criteria,
)


def _told_parameters(data: Data) -> str:
    return ", ".join(f"{name} in {text}" for name, text in data.table["noise"]["parameters"].items())


# Truncated Gaussian noise.


def _gaussian(data: Data) -> tuple[Obligation, ...]:
    data.fields("level")
    table = data.part("level", "leading", "edge", "inside", "variance")
    data.reader.require_free(("x", "y", "a", "c", "s", "S", "L", "D", "eps", "u", "v"))
    leading, edge, inside, variance = (data.reader.term(table[name]) for name in ("leading", "edge", "inside", "variance"))
    square = call("*", TWO, call("^", "s", TWO))
    line = {"x": REAL, "a": REAL, "c": REAL, "s": POSITIVE}

    def exponent(true: Term, output: Term = "x") -> Term:
        return call("/", call("^", call("-", output, true), TWO), square)

    def mass(true: Term) -> Term:
        return call("-", call("Phi", call("/", call("-", "L", true), "s")), call("Phi", call("/", call("-", true), "s")))

    loss = call("-", exponent("c"), exponent("a"))
    tilted = call("-", call("/", call("*", "x", "a"), call("^", "s", TWO)), call("/", call("^", "x", TWO), square))
    normaliser = call("*", "s", call("sqrt", call("*", TWO, call("pi"))), call("Phi", call("/", call("-", "x", "a"), "s")))
    inner = call("-", "L", "D")
    at_edge = call("-", exponent("L", ZERO), exponent(inner, ZERO))
    pairs = call("/", call("+", call("^", "x", TWO), call("^", "y", TWO), call("-", call("*", TWO, "x", "y"))), TWO)
    sizes = {"L": POSITIVE, "D": POSITIVE, "s": POSITIVE}
    helped = call("-", call("Phi", call("+", "u", "v")), HALF), call("-", call("+", call("Phi", "u"), call("Phi", "v")), ONE)
    simple = call("/", call("*", "D", call("-", call("*", TWO, "L"), "D")), call("*", TWO, "S"))
    return (
        obligation("the loss is affine in the output", forall(line, "=", derivative(derivative(loss, "x"), "x"), ZERO)),
        obligation(
            "completing the square",
            forall({"x": REAL, "a": REAL, "s": POSITIVE}, "=", call("-", exponent("a", ZERO), exponent("a")), tilted),
        ),
        obligation("the square", forall({"x": REAL, "y": REAL}, ">=", pairs, ZERO)),
        obligation(
            "the normaliser",
            forall(
                {"x": REAL, "a": REAL, "s": POSITIVE}, "=", derivative(normaliser, "x"), call("exp", call("-", exponent("a")))
            ),
        ),
        obligation("the leading term", forall(sizes, "=", at_edge, leading)),
        obligation("the mass at the edge", forall(sizes, "=", mass("L"), edge)),
        obligation("the mass inside", forall(sizes, "=", mass(inner), inside)),
        obligation(
            "the masses in other words, edge",
            forall({"u": NONNEGATIVE, "v": NONNEGATIVE, "s": POSITIVE}, "=", _scaled(edge), helped[0]),
        ),
        obligation(
            "the masses in other words, inside",
            forall({"u": NONNEGATIVE, "v": NONNEGATIVE, "s": POSITIVE}, "=", _scaled(inside), helped[1]),
        ),
        obligation("the normaliser helps", forall({"u": NONNEGATIVE, "v": NONNEGATIVE}, "<=", *helped)),
        obligation(
            "the leading term at variance S",
            forall({"L": POSITIVE, "D": POSITIVE, "S": POSITIVE}, "=", substitute(leading, {"s": call("sqrt", "S")}), simple),
        ),
        obligation(
            "the simple bound",
            forall(
                {"L": POSITIVE, "D": POSITIVE, "eps": POSITIVE, "S": POSITIVE},
                "<=",
                simple,
                "eps",
                SIDE,
                Relation(">=", "S", variance),
            ),
        ),
    )


def _scaled(mass: Term) -> Term:
    """A mass in L, D, s with D = u s and L = (u + v) s."""
    return substitute(mass, {"D": call("*", "u", "s"), "L": call("*", call("+", "u", "v"), "s")})


def _gaussian_criteria(data: Data) -> dict[str, Criterion]:
    leading, edge, inside, variance = (
        data.reader.term(data.table["level"][name]) for name in ("leading", "edge", "inside", "variance")
    )
    sizes = {"L": POSITIVE, "D": POSITIVE}
    says = "a Gaussian of standard deviation {} truncated to [0, L], for a number that moves by at most D, is eps-DP"
    return {
        "level": Criterion(
            variables={**sizes, "s": POSITIVE, "eps": REAL},
            relation=Relation("<=", call("+", leading, call("log", call("/", edge, inside))), "eps"),
            says=says.format("s"),
            hypotheses=(SIDE,),
        ),
        "variance": Criterion(
            variables={**sizes, "S": POSITIVE, "eps": POSITIVE},
            relation=Relation(">=", "S", variance),
            says=says.format("sqrt(S)"),
            hypotheses=(SIDE,),
            necessary=False,
        ),
    }


GAUSSIAN = Schema(
    build=_gaussian,
    states=lambda data: (
        "A Gaussian of standard deviation s truncated to [0, L], for a number in [0, L] that moves by at most D <= L, has "
        "exactly the pure level "
        "{leading} + log[({edge})/({inside})]; so s^2 >= {variance} suffices for eps-DP".format_map(data.table["level"])
        + data.where()
        + "."
    ),
    argument="""\
The density with true value a is e^(-(x - a)^2/(2 s^2))/Z(a) on [0, L]. The loss between a and c is affine in the output, so
that it is largest at x = 0 or x = L; by reflection, look at x = 0. There it is psi(c) - psi(a) with psi(a) = a^2/(2 s^2) +
log Z(a) = log M(a), M(a) = int_0^L e^(x a/s^2 - x^2/(2 s^2)) dx, which increases, since x >= 0. M M'' - M'^2 is the
integral of (x - y)^2/(2 s^4) against a positive density in (x, y): log M is convex. So psi(c) - psi(a) is largest at c = L,
a = L - D, and Z(a) is proportional to Phi((L - a)/s) - Phi(-a/s). With D = u s and L - D = v s the normalisers are in the
order stated, so that their logarithm is at most 0, and the leading term alone is at least the level; D = L is a limit.""",
    criteria=_gaussian_criteria,
)


# Truncated Gaussian noise in a box, for a move that is bounded in the 2-norm.


def _ball(data: Data) -> tuple[Obligation, ...]:
    data.fields("condition")
    table = data.part("condition", "for", "where")
    variables = data.parameters(table["for"], "c", "l", "t", "r")
    if any(name not in variables or variables[name].sign != 1 for name in ("S", "M", "D", "eps")):
        raise Rejected("the condition speaks of positive S, M, D and eps")
    level = call("/", call("-", call("*", TWO, "D", "M"), call("^", "D", TWO)), call("*", TWO, "S"))
    shift = call("/", "M", "r")
    sides = call("+", call("*", shift, call("^", "r", TWO)), call("/", call("^", "M", TWO), shift))

    def gain(move: Term) -> Term:
        return call("-", call("*", TWO, move, "M"), call("^", move, TWO))

    positive = dict.fromkeys(("r", "D", "M"), POSITIVE)
    return (
        data.rests_on("TGG-P2"),
        obligation(
            "one coordinate",
            forall(
                {"c": NONNEGATIVE, "l": NONNEGATIVE, "t": POSITIVE},
                "<=",
                call("*", TWO, "c", "l"),
                call("+", call("*", "t", call("^", "c", TWO)), call("/", call("^", "l", TWO), "t")),
            ),
        ),
        obligation("the sum", forall({"r": POSITIVE, "M": POSITIVE}, "=", sides, call("*", TWO, "r", "M"))),
        obligation(
            "a longer move is worse",
            forall(positive, "<=", gain("r"), gain("D"), Relation(">=", "D", "r"), Relation(">=", "M", "D")),
        ),
        obligation("the move is no longer than the box", forall(variables, ">=", "M", "D", *_where(data))),
        obligation("the condition", forall(variables, "<=", level, "eps", *_where(data))),
    )


def _where(data: Data) -> tuple[Relation, ...]:
    return tuple(data.reader.relation(text) for text in data.table["condition"]["where"])


BALL = Schema(
    build=_ball,
    states=lambda data: (
        f"{told(data.table['condition']['for'], data.table['condition']['where'])} a Gaussian of standard deviation sqrt(S) "
        "in each coordinate, truncated to a box whose sides have the 2-norm M, is "
        f"eps-DP for a vector in the box that moves by at most D in the 2-norm{data.where()}."
    ),
    argument="""\
Coordinate k moves by c_k <= L_k, the 2-norm of c is r <= D, that of the sides is M. The leading term of theorem TGG-P2
bounds the level of coordinate k by (2 c_k L_k - c_k^2)/(2 S), and levels of independent coordinates add. With t = M/r, one
coordinate summed over k gives sum 2 c_k L_k <= t r^2 + M^2/t = 2 r M; so the level is at most (2 r M - r^2)/(2 S), and a
longer move is worse.""",
)


# Truncated noise, looked at on its edge.


def _edge(data: Data) -> tuple[Obligation, ...]:
    data.fields("noise", "refuted")
    table, claim = data.part("noise", "parameters", "exponent", "mass"), data.part("refuted", "for", "where", "scale")
    parameters = data.parameters(table["parameters"], "x", *claim["for"])
    variables = {**parameters, **data.parameters(claim["for"], "x")}
    e, mass, scale = data.reader.term(table["exponent"]), data.reader.term(table["mass"]), data.reader.term(claim["scale"])
    beyond = {**parameters, "x": POSITIVE}
    at = {name: call("/", size, scale) for name, size in (("D", "D"), ("L", "L"), ("rest", call("-", "L", "D")))}

    def side(name: str) -> Term:
        return substitute(mass, {"x": at[name]})

    ratio = call("/", call("+", side("D"), side("rest")), side("L"))
    loss = call("+", call("-", substitute(e, {"x": at["D"]}), substitute(e, {"x": ZERO})), call("log", ratio))
    sizes = (Relation(">", name, ZERO) for name in ("D", "L"))
    where = (SIDE, *sizes, *(data.reader.relation(text) for text in claim["where"]))
    return (
        obligation("the mass rises by the density", forall(beyond, "=", derivative(mass, "x"), call("exp", call("-", e)))),
        obligation("the mass starts at 0", forall(parameters, "=", substitute(mass, {"x": ZERO}), ZERO)),
        obligation(
            "the scale is positive and the loss at the edge exceeds eps",
            Statement(tuple(variables.items()), (*where, Relation(">", scale, ZERO)), Relation(">", loss, "eps"), exists=True),
        ),
    )


EDGE = Schema(
    build=_edge,
    states=lambda data: (
        f"It is false that {told(data.table['refuted']['for'], ['D <= L', *data.table['refuted']['where']])} noise with the "
        f"density proportional to e^-e(|x|/b), e(x) = {data.table['noise']['exponent']}, "
        f"b = {data.table['refuted']['scale']}, truncated to [0, L] (outputs beyond are drawn again), is eps-DP for a number "
        f"in [0, L] that moves by at most D{data.where()}."
    ),
    argument="""\
With G(x) = int_0^x e^-e the density at the output x with true value a is e^-e(|x - a|/b)/(b Z(a)), Z(a) = G(a/b) + G((L -
a)/b). At the output 0 the densities with true values 0 and D have the log-ratio e(D/b) - e(0) + log Z(D)/Z(0); it is
continuous there, and exceeds eps on an interval, which has positive probability.""",
    refutes=True,
)


# Truncated generalized Gaussian noise of order at least 2, in units of its scale.


def _order(data: Data) -> tuple[Obligation, ...]:
    data.fields("orders", "bound")
    data.reader.require_free(("p", "a", "m", "t", "y", "D", "L", "d"))
    orders = dict(ranges({"p": data.part("orders", "range")["range"]}))
    bound = data.reader.term(data.part("bound", "exponent")["exponent"])

    def e(distance: Term) -> Term:
        return call("^", distance, "p")

    def part(distance: Term) -> Term:
        return call("-", ONE, call("gammaq", call("/", ONE, "p"), e(distance)))

    # a and c = a + D are true values, l = L - c; with m = L - a, D = m t/(1 + t) and l = m/(1 + t)
    rest = call("+", ONE, "t")
    moved = call("/", call("*", "m", "t"), rest)
    c, behind, side = call("+", "a", moved), call("/", "m", rest), call("+", "a", "m")
    sizes = {**orders, "a": POSITIVE, "m": POSITIVE, "t": POSITIVE}
    limit = substitute(bound, {"D": moved, "L": side})
    change = call("-", call("-", e(c), e("a")), limit)
    mass_a, mass_c = call("+", part("a"), part("m")), call("+", part(c), part(behind))
    pair = {**orders, "a": POSITIVE, "D": POSITIVE}
    larger = {**orders, "d": POSITIVE, "D": POSITIVE, "L": POSITIVE}
    return (
        convex(e("x"), orders),
        obligation("and superadditive", forall(pair, "<=", call("+", e("D"), e("a")), e(call("+", "a", "D")))),
        obligation("the loss at the edge", forall(sizes, "<=", call("*", mass_c, call("exp", change)), mass_a)),
        obligation(
            "a smaller shift is no worse",
            forall(larger, "<=", substitute(bound, {"D": "d"}), bound, Relation("<=", "d", "D")),
        ),
    )


ORDER = Schema(
    build=_order,
    states=lambda data: (
        f"A generalized Gaussian of order p in {data.table['orders']['range']} and scale b truncated to [0, L], for a number "
        "in [0, L] that moves by at most D <= L, has a level of at most "
        f"({data.table['bound']['exponent']})/b^p{data.where()}; with several coordinates the levels add."
    ),
    argument="""\
In units of b. Between true values a and c = a + D the loss at the output x is e(|x - c|) - e(|x - a|) + log Z(c)/Z(a),
where Z(a) = P(1/p, a^p) + P(1/p, (L - a)^p), P = 1 - Q, is proportional to the normalising constant. For x < a convexity
makes the difference of exponents largest at x = 0, where it is e(c) - e(a); for x between a and c it is at most e(D) <=
e(c) - e(a), and beyond c it is at most 0. So the loss at the edge 0 is the largest, and Z(c) e^(e(c) - e(a) - bound) <=
Z(a) makes it at most the bound; a = 0 and c = L are limits. c < a is the mirror image. The bound does not fall with the
shift.""",
)
