"""The shapes of the generalized Gaussian family, and sums over coordinates."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpverify.prove.kernel.calculus import derivative
from dpverify.prove.kernel.statements import Relation
from dpverify.prove.kernel.terms import Rejected, Term, call, substitute
from dpverify.prove.schemas.parts import ONE, POSITIVE, Data, Schema, forall, obligation, told
from dpverify.prove.schemas.reading import exact, ranges
from dpverify.prove.schemas.tails import gamma_tail

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpverify.prove.kernel.certificate import Obligation


# The shapes of the family.


def _shapes(data: Data) -> tuple[Obligation, ...]:
    data.fields("shapes")
    table = data.part("shapes", "orders", "beyond")
    orders = dict(ranges({"p": table["orders"]}))
    if not orders["p"].whole:
        raise Rejected("the orders are whole numbers")
    beyond, three, two = exact(table["beyond"]), Fraction(3), Fraction(2)
    inside = {"p": POSITIVE, "x": POSITIVE}
    density = call("/", call("*", "p", call("exp", call("-", call("^", "x", "p")))), call("gamma", call("/", ONE, "p")))
    second = call("-", ONE, call("gammaq", call("/", three, "p"), call("^", "x", "p")))
    ratio = call("/", call("gamma", call("/", three, "p")), call("gamma", call("/", ONE, "p")))
    moment = call("*", ratio, derivative(second, "x"))

    def variance(p: Term) -> Term:
        return call("/", call("gamma", call("/", three, p)), call("gamma", call("/", ONE, p)))

    def peak(p: Term) -> Term:  # p sqrt(v)/(2 Gamma(1/p)) at unit variance
        return call("/", call("*", p, call("sqrt", variance(p))), call("*", two, call("gamma", call("/", ONE, p))))

    def tail(p: Term) -> Term:
        return call("gammaq", call("/", ONE, p), call("^", call("*", beyond, call("sqrt", variance(p))), p))

    following = call("+", "p", ONE)
    found = [
        obligation("the law of the distance", forall(inside, "=", derivative(gamma_tail("p", "x"), "x"), call("-", density))),
        obligation("its second moment", forall(inside, "=", moment, call("*", call("^", "x", two), density))),
    ]
    for name, f in (("the variance falls", variance), ("the peak falls", peak), ("the tail falls", tail)):
        found.append(obligation(name, forall(orders, "<", f(following), f("p"))))
    return tuple(found)


SHAPES = Schema(
    build=_shapes,
    states=lambda data: (
        "From each order p in {orders} of the generalized Gaussian to p + 1: at equal scale the variance falls; at equal "
        "variance the density at the mean falls, and so does the probability of "
        "lying more than {beyond} standard deviations away.".format(**data.table["shapes"])
    ),
    argument="""\
At scale 1 the distance from the mean has the density p e^-(x^p)/Gamma(1/p), by the substitution t = x^p, and so is the
variance v = Gamma(3/p)/Gamma(1/p) found. At unit variance the scale is 1/sqrt(v): the density at the mean is p sqrt(v)/(2
Gamma(1/p)), and the probability beyond k standard deviations is Q(1/p, (k sqrt(v))^p).""",
)


# Sums over coordinates.


def _sums(data: Data) -> tuple[Obligation, ...]:
    data.fields("each", optional=("root", "pairs"))
    found = [obligation(entry["name"], data.reader.statement(entry)) for entry in data.table["each"]]
    if "pairs" in data.table:
        table = data.part("pairs", "of", "parameters")
        parameters = data.parameters(table["parameters"], "x", "y")
        f = data.reader.term(table["of"])
        both = call("+", f, substitute(f, {"x": "y"}))
        pair = {**parameters, "x": POSITIVE, "y": POSITIVE}
        found.append(obligation("two coordinates", forall(pair, "<=", both, substitute(f, {"x": call("+", "x", "y")}))))
    if "root" in data.table:
        table = data.part("root", "of", "range")
        order = data.parameters({table["of"]: table["range"]}, "S", "T")
        inverse = call("/", ONE, table["of"])
        ordered = order | {"S": POSITIVE, "T": POSITIVE}
        roots = call("^", "S", inverse), call("^", "T", inverse)
        found += [
            obligation("the root keeps the order", forall(ordered, "<=", *roots, Relation("<=", "S", "T"))),
            obligation(
                "the root of the power",
                forall(order | {"T": POSITIVE}, "=", call("^", call("^", "T", table["of"]), inverse), "T"),
            ),
        ]
    return tuple(found)


def _states_sums(data: Data) -> str:
    parts = [f"{told(entry.get('for', {}), entry.get('where', []))}, {entry['show']}" for entry in data.table["each"]]
    text = "For any number of coordinates, summed over all of them: " + "; ".join(parts) if parts else ""
    if "pairs" in data.table:
        table = data.table["pairs"]
        orders = _ranges({"for": table["parameters"]})
        text += f"For any number of coordinates x_k >= 0 and f(x) = {table['of']} ({orders}): "
        text += "the sum of f(x_k) is at most f of the sum"
    if "root" in data.table:
        text += (
            f"; and so for the {data.table['root']['of']}-th roots, {data.table['root']['of']} in {data.table['root']['range']}"
        )
    return text + data.where() + "."


def _ranges(entry: Mapping[str, object]) -> str:
    listed = entry.get("for", {})
    assert isinstance(listed, dict)
    return ", ".join(f"{name} in {text}" for name, text in listed.items())


SUMS = Schema(
    build=_sums,
    states=_states_sums,
    argument="""\
A relation that holds in each coordinate holds for the sums; coordinates that do not move add 0 on both sides, or nothing on
the smaller one. What holds for two coordinates holds for any number of them, by induction. Roots keep the order, and undo
powers. The supremum over neighbours keeps it too.""",
)
