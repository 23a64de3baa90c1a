"""Probabilistic DP of generalized Gaussian noise: the event outside which no loss exceeds epsilon, and the scale that it "
"asks for."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

from dpverify.prove.kernel.calculus import derivative
from dpverify.prove.kernel.statements import Range, Relation, Statement
from dpverify.prove.kernel.terms import Rejected, Term, call
from dpverify.prove.schemas.exponents import HIGHEST_ORDER
from dpverify.prove.schemas.parts import NONNEGATIVE, ONE, POSITIVE, ZERO, Criterion, Data, Schema, forall, obligation
from dpverify.prove.schemas.reading import exact, ranges

if TYPE_CHECKING:
    from dpverify.prove.kernel.certificate import Obligation


# Probabilistic DP: an event of the noise.


def _tail(data: Data) -> tuple[Obligation, ...]:
    data.fields("order", "shift")
    p, w = data.part("order", "range"), data.reader.term(data.part("shift", "at")["at"])
    data.reader.require_free(("p", "u", "y", "w", "eps"))
    (order,) = ranges({"p": p["range"]})
    order_only = dict([order])
    sizes = order_only | {"u": POSITIVE}
    tail = gamma_tail("p", "u")
    density = call("/", call("*", "p", call("exp", call("-", call("^", "u", "p")))), call("gamma", call("/", ONE, "p")))

    def change(noise: Term, shift: Term) -> Term:
        return call("-", call("^", call("+", noise, shift), "p"), call("^", noise, "p"))

    larger = Relation(">=", "u", "y")
    calibrated = sizes | {"eps": POSITIVE}
    return (
        obligation("the tail", forall(sizes, "=", derivative(tail, "u"), call("-", density))),
        obligation(
            "the loss grows with the noise",
            forall(sizes | {"y": POSITIVE, "w": POSITIVE}, "<=", change("y", "w"), change("u", "w"), larger),
        ),
        obligation("the shift is positive", forall(calibrated, ">", w, ZERO)),
        obligation("the loss at the threshold", forall(calibrated, "=", change("u", w), "eps")),
    )


def gamma_tail(p: Term, u: Term) -> Term:
    """Q(1/p, u^p), the probability that |noise| exceeds u scales."""
    return call("gammaq", call("/", ONE, p), call("^", u, p))


def _tail_criteria(data: Data) -> dict[str, Criterion]:
    (order,) = ranges({"p": data.table["order"]["range"]})
    variables = dict([order]) | dict.fromkeys(("u", "w", "eps"), POSITIVE) | {"delta": Range(ZERO, ONE, True, True)}
    change = call("-", call("^", call("+", "u", "w"), "p"), call("^", "u", "p"))
    says = "generalized Gaussian noise of order p and scale b = D/w is (eps, delta)-pDP in the union reading"
    inside = Relation("<=", gamma_tail("p", "u"), "delta")
    relation = Relation("<=", change, "eps")
    return {"event": Criterion(variables=variables, relation=relation, says=says, hypotheses=(inside,), necessary=False)}


TAIL = Schema(
    build=_tail,
    states=lambda data: (
        f"Generalized Gaussian noise e of order p in {data.table['order']['range']} and scale b (density proportional to "
        "e^-(|x|/b)^p) on a number of sensitivity D, with b = D/w, "
        f"w = {data.table['shift']['at']}, Q(1/p, u^p) = delta: outside the event |e| > u b, of probability delta, no "
        "neighbour has a loss above eps, and at every output in it "
        f"some direction of the largest shift has one (the union reading is tight){data.where()}."
    ),
    argument="""\
In units of b, |e| has the density p e^-(v^p)/Gamma(1/p), so that with the substitution t = v^p the probability of |e| > u
is Q(1/p, u^p). A neighbour moves the answer by at most w = D/b; the power increases, so that the loss is at most (|e| +
w)^p - |e|^p, and attained by a shift of w away from the noise. This grows with |e|, and is eps at |e| = u; at |e| = 0 by
continuity.""",
    criteria=_tail_criteria,
)


# The same in several coordinates, for whole orders.


def _expansion(data: Data) -> tuple[Obligation, ...]:
    data.fields("event")
    data.reader.require_free(("e", "c", "D", "B", "T", "V", "eps", "loss"))
    threshold = data.reader.term(data.part("event", "threshold")["threshold"])
    moves = dict.fromkeys(("e", "c", "D"), NONNEGATIVE)
    found = []
    for p in range(1, HIGHEST_ORDER + 1):
        power = Fraction(p)
        terms = (
            call("*", Fraction(comb(p, j)), call("^", "e", Fraction(p - j)), call("^", "D", Fraction(j))) for j in range(1, p)
        )
        change = call("-", call("^", call("+", "e", "c"), power), call("^", "e", power))
        bound = call("+", call("^", "c", power), *terms)
        found.append(obligation(f"the change, order {p}", forall(moves, "<=", change, bound, Relation(">=", "D", "c"))))
    sizes = {"B": POSITIVE, "T": NONNEGATIVE, "V": NONNEGATIVE, "eps": POSITIVE, "loss": Range()}
    outside = Relation("<=", "T", threshold), Relation("<=", call("*", "B", "loss"), call("+", "T", "V"))
    return (*found, obligation("outside the event", forall(sizes, "<=", "loss", "eps", *outside)))


EXPANSION = Schema(
    build=_expansion,
    states=lambda data: (
        "Generalized Gaussian noise e of whole order p >= 1 and scale b, B = b^p, on numbers that move by at most D_k each, "
        "with sum |c_k|^p <= V = Delta_p^p for the move c, is (eps, delta)-pDP "
        f"if T = sum_k sum_(j=1..p-1) C(p, j) |e_k|^(p-j) D_k^j exceeds {data.table['event']['threshold']} with a "
        f"probability of at most delta{data.where()}."
    ),
    argument="""\
The loss times B is sum_k |e_k + c_k|^p - |e_k|^p, at most sum_k (|e_k| + |c_k|)^p - |e_k|^p, which the binomial theorem
expands with coefficients that are not negative (shown here for small orders): replacing |c_k|^j by D_k^j for j < p does not
lower it. So B times the loss is at most T + V, and outside the event the loss is at most eps, whatever the neighbour.""",
)


# How the scale of a tail event depends on epsilon, delta and the order.


def _shift_of(p: Term, u: Term) -> Term:
    """The shift w = D/b of the tail event (the inverse of the scale, at D = 1)."""
    return call("-", call("^", call("+", "eps", call("^", u, p)), call("/", ONE, p)), u)


def _dependence(data: Data) -> tuple[Obligation, ...]:
    data.fields("shift", "order")
    p = dict(ranges({"p": data.part("order", "range")["range"]}))
    data.reader.require_free(("p", "u", "eps", "A"))
    stated = data.reader.term(data.part("shift", "of")["of"])
    sizes = p | {"u": POSITIVE, "eps": POSITIVE}
    change = call("-", call("^", call("+", "u", stated), "p"), call("^", "u", "p"))
    scale = call("/", call("*", Fraction(2), "A"), "eps")
    return (
        data.rests_on("L-C8"),
        data.rests_on("L-E7"),
        obligation("it is the shift of the event", forall(sizes, "=", change, "eps")),
        obligation("the shift grows with eps", forall(sizes, ">", derivative(stated, "eps"), ZERO)),
        obligation("delta falls with u", forall(p | {"u": POSITIVE}, "<", derivative(gamma_tail("p", "u"), "u"), ZERO)),
        obligation("the shift falls with u", forall(sizes, "<", derivative(stated, "u"), ZERO)),
        obligation("Eqn (7)", forall({"A": POSITIVE, "eps": POSITIVE}, "<", derivative(scale, "eps"), ZERO)),
    )


DEPENDENCE = Schema(
    build=_dependence,
    states=lambda data: (
        f"For every order p in {data.table['order']['range']} the scale b = D/w of a tail event (L-C8), w = "
        f"{data.table['shift']['of']}, Q(1/p, u^p) = delta, increases strictly as eps decreases and as "
        f"delta decreases; b^p = 2 A/eps (L-E7) increases strictly as eps decreases{data.where()}."
    ),
    argument="""\
b falls as w grows, and w grows with eps. delta = Q(1/p, u^p) falls with u, so that u is determined by delta and falls as it
grows; and w falls with u, so that b falls as delta grows.""",
)


def _orders(data: Data) -> tuple[Obligation, ...]:
    data.fields("orders")
    low, high, factor = (
        exact(text) for text in (data.part("orders", "low", "high", "factor")[n] for n in ("low", "high", "factor"))
    )
    if not 1 <= low < high:
        raise Rejected("two orders of at least 1, the lower one first")
    found = []
    for p in (low, high):
        fall = derivative(_shift_of(p, "u"), "u")
        found.append(
            obligation(f"the shift falls with u, order {p}", forall({"u": POSITIVE, "eps": POSITIVE}, "<=", fall, ZERO))
        )
    variables = dict.fromkeys(("u1", "u2", "eps"), POSITIVE) | {"delta": Range(ZERO, ONE, True, True)}
    tails = Relation(">=", gamma_tail(low, "u1"), "delta"), Relation("<=", gamma_tail(high, "u2"), "delta")
    scales = call("/", ONE, _shift_of(low, "u1")), call("/", factor, _shift_of(high, "u2"))
    inside = Relation(">", _shift_of(low, "u1"), ZERO), Relation(">", _shift_of(high, "u2"), ZERO)
    statement = Statement(tuple(variables.items()), (*tails, *inside), Relation(">", *scales), exists=True)
    return (data.rests_on("L-C8"), *found, obligation("the scale of the lower order is the larger", statement))


ORDERS = Schema(
    build=_orders,
    states=lambda data: (
        "It is false that at equal eps, delta and sensitivity the scale of a tail event (L-C8) increases with the order: it "
        "is larger at order {low} than at order {high}, where the latter is "
        "multiplied by {factor}.".format(**data.table["orders"])
    ),
    argument="""\
At sensitivity 1, b = 1/w with w = (eps + u^p)^(1/p) - u and Q(1/p, u^p) = delta. Q falls with u: u1 is at most the u of the
lower order, and u2 at least that of the higher one. w falls with u, so that 1/w at u1 is at most the scale of the lower
order, and 1/w at u2 at least that of the higher.""",
    refutes=True,
)
