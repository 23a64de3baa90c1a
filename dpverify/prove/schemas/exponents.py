"""Noise with a density proportional to e^-(e(|x|)/B): how far the exponent can change decides about pure and probabilistic "
"DP."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

from dpverify.prove.kernel.calculus import derivative
from dpverify.prove.kernel.statements import Range, Relation
from dpverify.prove.kernel.terms import Rejected, Term, call, substitute
from dpverify.prove.schemas.parts import NONNEGATIVE, ONE, POSITIVE, ZERO, Data, Schema, forall, lemma, obligation
from dpverify.prove.schemas.reading import exact

if TYPE_CHECKING:
    from dpverify.prove.kernel.certificate import Obligation

DISTANCE = "v"
HIGHEST_ORDER = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponent:
    """The function e of a distance, and its parameters."""

    term: Term
    parameters: dict[str, Range]

    def at(self, distance: Term) -> Term:
        return substitute(self.term, {DISTANCE: distance})


def exponent_of(data: Data) -> Exponent:
    """What [exponent] says. Raises Rejected if a parameter has a name that the schemas use."""
    table = data.part("exponent", "of", "parameters")
    parameters = data.parameters(table["parameters"], DISTANCE, "u", "D", "l", "A", "eps")
    return Exponent(term=data.reader.term(table["of"]), parameters=parameters)


def _spoken(data: Data) -> str:
    table = data.table["exponent"]
    orders = ", ".join(f"{name} in {text}" for name, text in table["parameters"].items())
    return f"e(v) = {table['of']}" + (f", {orders}" if orders else "")


# Pure DP: a bounded change of the exponent.


def _bounded(data: Data) -> tuple[Obligation, ...]:
    data.fields("exponent", "change", optional=("binomial", "against"))
    table, e = data.part("change", "bound", "confined", "factor", optional=("attained",)), exponent_of(data)
    bound, factor, confined = data.reader.term(table["bound"]), exact(table["factor"]), table["confined"] is True
    distances = dict.fromkeys(("u", DISTANCE, "D"), POSITIVE) | ({"l": POSITIVE} if confined else {})
    side = call("+", "D", "l")
    near = [Relation("<=", "u", call("+", DISTANCE, "D"))]
    if confined:
        near += [Relation("<=", "u", side), Relation("<=", DISTANCE, side)]
    change = call("-", e.at("u"), e.at(DISTANCE))
    needed = call("*", Fraction(2 if confined else 1), "A")
    granted = call("*", "eps", call("/", call("*", factor, "A"), "eps"))
    found = [
        obligation("the exponent changes by at most", forall({**e.parameters, **distances}, "<=", change, bound, *near)),
        obligation("the scale is large enough", forall({"A": NONNEGATIVE, "eps": POSITIVE}, "<=", needed, granted)),
    ]
    if "attained" in table:
        at = {name: data.reader.term(table["attained"][name]) for name in ("u", DISTANCE)}
        for number, relation in enumerate((*near, *(Relation(">", name, ZERO) for name in at)), start=1):
            moved = relation.under(at)
            sizes = {**e.parameters, **{name: domain for name, domain in distances.items() if name not in at}}
            found.append(
                obligation(f"attained at admissible distances, {number}", forall(sizes, moved.op, moved.left, moved.right))
            )
        found.append(obligation("the change there", forall(sizes, "=", call("-", e.at(at["u"]), e.at(at[DISTANCE])), bound)))
    if "binomial" in data.table:
        found += _binomial(data, bound)
    if "against" in data.table:
        other = data.other(data.table["against"])
        if other.table.get("schema") != data.table["schema"] or other.table["exponent"]["of"] != data.table["exponent"]["of"]:
            raise Rejected("the bound is compared with that of another theorem about the same exponent")
        compared = other.table["change"]
        larger = call("*", exact(compared["factor"]), other.reader.term(compared["bound"]))
        sizes = dict(e.parameters) | {"D": POSITIVE, "l": POSITIVE}
        found += [
            lemma(data.table["against"]),
            obligation("never larger than the other scale", forall(sizes, "<=", call("*", factor, bound), larger)),
        ]
    return tuple(found)


def _binomial(data: Data, bound: Term) -> list[Obligation]:
    """That the bound is, for small whole orders, sum_j C(p, j) L^(p-j) D^j with L = D + l; the binomial theorem goes on."""
    order = data.part("binomial", "order")["order"]
    parameters = exponent_of(data).parameters
    if order not in parameters or parameters[order].sign != 1:
        raise Rejected("the order is a positive parameter of the exponent")
    side = call("+", "D", "l")
    powers = call("-", call("^", call("+", side, "D"), order), call("^", side, order))
    found = [obligation("the bracket", forall({**parameters, "D": POSITIVE, "l": POSITIVE}, "=", bound, powers))]
    for p in range(1, HIGHEST_ORDER + 1):
        terms = (
            call("*", Fraction(comb(p, j)), call("^", side, Fraction(p - j)), call("^", "D", Fraction(j)))
            for j in range(1, p + 1)
        )
        bracket = substitute(bound, {order: Fraction(p)})
        found.append(
            obligation(f"the bracket, order {p}", forall({"D": POSITIVE, "l": POSITIVE}, "=", bracket, call("+", *terms)))
        )
    return found


def _states_bounded(data: Data) -> str:
    table = data.table["change"]
    where = "a box whose side k is L_k = D_k + l_k" if table["confined"] is True else "the whole space"
    text = (
        f"The density proportional to e^-(sum_k e(|x_k - theta_k|)/B) on {where}, {_spoken(data)}, is eps-DP for every B of "
        f"at least ({table['factor']}/eps) times "
        f"the sum over k of {table['bound']}, at D = D_k{' and l = l_k' if table['confined'] is True else ''}, if coordinate "
        "k of theta moves by at most D_k"
    )
    if "attained" in table:
        text += "; the exponent does change by as much, in each coordinate"
    if "binomial" in data.table:
        text += f"; for whole {data.table['binomial']['order']} that term is sum_(j=1..p) C(p, j) L_k^(p-j) D_k^j"
    if "against" in data.table:
        text += f"; this sum with its factor is never larger than that of {data.table['against']}"
    return text + data.where() + "."


BOUNDED_ARGUMENT = """\
Let u and v be the distances of an output coordinate from two true values, which differ by at most D: u <= v + D, and both
are at most the side L = D + l of a box (D = L is a limit, in which both sides are continuous). Distances 0 occur with
probability 0. The exponent changes by at most A in each coordinate, and sums add, so that the unnormalised densities differ
by a factor of at most e^(A/B). On the whole space the normalising constant does not depend on theta; on a box the
constants, integrals of those, differ by the same factor, so that twice A/B must be at most eps. A larger B only helps. By
the binomial theorem (L + D)^p - L^p = sum_(j=1..p) C(p, j) L^(p-j) D^j."""

BOUNDED = Schema(build=_bounded, states=_states_bounded, argument=BOUNDED_ARGUMENT)
EXHIBITED = Schema(
    build=_bounded,
    states=lambda data: f"It is false that no scale is eps-DP. {_states_bounded(data)}",
    argument=BOUNDED_ARGUMENT,
    refutes=True,
)


# No pure DP: an unbounded change.


def _unbounded(data: Data) -> tuple[Obligation, ...]:
    data.fields("exponent", "output")
    e, y = exponent_of(data), data.reader.term(data.part("output", "at")["at"])
    variables = {**e.parameters, "D": POSITIVE, "A": POSITIVE}
    loss = call("-", e.at(call("+", y, "D")), e.at(y))
    return (
        obligation("the output is beyond the true value", forall(variables, ">", y, ZERO)),
        obligation("the exponent there changes by more", forall(variables, ">", loss, "A")),
    )


UNBOUNDED = Schema(
    build=_unbounded,
    states=lambda data: (
        f"Noise on the whole line with a density proportional to e^-(e(|x|)/B), {_spoken(data)}, is eps-DP for no B > 0 and "
        "no finite eps, at any "
        f"sensitivity D > 0{data.where()}."
    ),
    argument="""\
Between true values D and 0 the loss at the output y + D is (e(y + D) - e(y))/B. With A = eps B it exceeds eps at the stated
y, and by continuity on an interval around it, which has positive probability.""",
)


# Norms.


def _norm(data: Data) -> tuple[Obligation, ...]:
    data.fields("norm")
    table = data.part("norm", "scale")
    data.reader.require_free(("N1", "N2", "moved", "Delta", "eps", "r", "N", "lam"))
    scale, radius = data.reader.term(table["scale"]), call("gammaq", "r", call("/", "N", "lam"))
    distances = dict.fromkeys(("N1", "N2", "moved"), NONNEGATIVE) | dict.fromkeys(("Delta", "eps"), POSITIVE)
    near = Relation("<=", "N1", call("+", "N2", "moved")), Relation("<=", "moved", "Delta")
    loss = call("-", call("/", "N1", scale), call("/", "N2", scale))
    sizes = dict.fromkeys(("r", "N", "lam"), POSITIVE)
    power = call("*", call("^", call("/", "N", "lam"), call("-", "r", ONE)), call("exp", call("-", call("/", "N", "lam"))))
    density = call("/", power, call("*", "lam", call("gamma", "r")))
    return (
        obligation("the scale is positive", forall(dict.fromkeys(("Delta", "eps"), POSITIVE), ">", scale, ZERO)),
        obligation("the loss", forall(distances, "<=", loss, "eps", *near)),
        obligation("the law of the radius", forall(sizes, "=", derivative(radius, "N"), call("-", density))),
    )


NORM = Schema(
    build=_norm,
    states=lambda data: (
        "It is false that the exponential mechanism with utility -||s* - s|| has no known law: on all of R^r the density "
        "proportional to e^-(||x - theta||/lam), "
        f"lam = {data.table['norm']['scale']}, is eps-DP if theta moves by at most Delta in the norm, and is the law of "
        "theta + N g/||g||_p (for a p-norm), with N > n of "
        f"probability Q(r, n/lam) at N = n (a Gamma(r, lam) law) and g of r independent generalized "
        f"Gaussians of order p{data.where()}."
    ),
    argument="""\
The normalising constant does not depend on theta, and the triangle inequality bounds the loss. The density depends on the
norm N alone, as does that of r independent generalized Gaussians (proportional to e^-(N^p)): so both have the same law of
the direction, independent of N, by polar coordinates of the norm. The volume of the ball of radius N is proportional to
N^r, so N has a density proportional to N^(r-1) e^(-N/lam), which is that of Gamma(r, lam).""",
    refutes=True,
)
