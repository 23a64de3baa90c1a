"""Mean squared errors: of truncated Gaussian noise, against a projected Gaussian, and of orders above 2 against the "
"Gaussian."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpverify.prove.kernel.calculus import derivative
from dpverify.prove.kernel.statements import Relation, Statement
from dpverify.prove.kernel.terms import Rejected, Term, call, substitute
from dpverify.prove.schemas.events import survival
from dpverify.prove.schemas.parts import (
    HALF,
    ONE,
    POSITIVE,
    ZERO,
    Data,
    Schema,
    cited,
    closed,
    forall,
    negated,
    obligation,
    told,
)
from dpverify.prove.schemas.reading import exact, ranges

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpverify.prove.kernel.certificate import Obligation
    from dpverify.prove.kernel.statements import Range

TWO = Fraction(2)
STANDARD = "x^2/2 + log(2*pi)/2"
PRODUCTS = "Zhu, Dong & Wang 2022: if each pair dominates, so does the product of the pairs"


def error(scale: Term, reach: Term) -> Term:
    """s^2 - s h phi(h/s)/(Phi(h/s) - 1/2), the mean squared error when the bounds are h away from the true value."""
    part = call("-", call("Phi", call("/", reach, scale)), HALF)
    return call("-", call("^", scale, TWO), call("/", call("*", scale, reach, call("phi", call("/", reach, scale))), part))


def _moments() -> tuple[Obligation, ...]:
    """The antiderivatives from which `error` is read."""
    inside = {"x": POSITIVE, "s": POSITIVE}
    density = call("/", call("phi", call("/", "x", "s")), "s")
    mass = call("Phi", call("/", "x", "s"))
    square = call("^", "s", TWO)
    second = call("-", call("*", square, mass), call("*", "s", "x", call("phi", call("/", "x", "s"))))
    return (
        obligation("the mass", forall(inside, "=", derivative(mass, "x"), density)),
        obligation("the second moment", forall(inside, "=", derivative(second, "x"), call("*", call("^", "x", TWO), density))),
        obligation(
            "the second moment at 0", forall({"s": POSITIVE}, "=", substitute(second, {"x": ZERO}), call("*", square, HALF))
        ),
    )


MOMENTS = """\
With the distance x from the true value and h the distance of the bounds from it (the side of the domain if the true value
lies on its edge, half of it in the middle), the mean squared error of the truncated Gaussian is int_0^h x^2 phi(x/s)/s dx
over int_0^h phi(x/s)/s dx, which is s^2 - s h phi(h/s)/(Phi(h/s) - 1/2)."""


def _reach(place: str, side: Term) -> Term:
    if place not in ("edge", "middle"):
        raise Rejected("the true value lies on the edge or in the middle")
    return side if place == "edge" else call("/", side, TWO)


def _errors(data: Data) -> tuple[Obligation, ...]:
    data.fields("errors", "refuted")
    data.reader.require_free(("x", "s", *data.table["errors"]))
    named, sizes = {}, []
    for name in data.table["errors"]:
        table = data.table["errors"][name]
        if set(table) != {"scale", "side", "at"}:
            raise Rejected(f"{name} has scale, side and at")
        scale, side = data.reader.term(table["scale"]), data.reader.term(table["side"])
        named[name] = error(scale, _reach(table["at"], side))
        sizes += [Relation(">", size, ZERO) for size in (scale, side)]
    refuted = negated(data.reader.with_terms(named).statement(data.table["refuted"])).assuming(*sizes)
    return (*_moments(), obligation(data.table["refuted"]["name"], refuted))


def _states_errors(data: Data) -> str:
    named = (
        f"{name} for the mean squared error of a Gaussian of standard deviation {table['scale']} truncated to [0, "
        f"{table['side']}], "
        f"around a true value at its {table['at']}"
        for name, table in data.table["errors"].items()
    )
    entry = data.table["refuted"]
    claim = f"{told(entry['for'], entry.get('where', []))}: {entry['show']}"
    return f"With {', '.join(named)}, it is false that {claim}{data.where()}."


ERRORS = Schema(
    build=_errors,
    states=_states_errors,
    argument=f"{MOMENTS}\nThe claim is the statement, for all values.",
    refutes=True,
)


# A bounded Gaussian against a projected one.


def _profile(data: Data, name: str, eps: Term, shift: Term) -> Term:
    other = data.other(name)
    if other.table["noise"]["exponent"] != STANDARD:
        raise Rejected(f"{name} is used as a theorem about Gaussian noise")
    return substitute(other.reader.term(other.table["noise"]["profile"]), {"eps": eps, "d": shift})


def _projection(data: Data) -> tuple[Obligation, ...]:
    data.fields("projection")
    table = data.part("projection", "D", "L", "epsilon", "delta", "sigma", "scale")
    move, side, eps, delta, sigma, scale = (exact(table[name]) for name in ("D", "L", "epsilon", "delta", "sigma", "scale"))
    if not 0 < move <= side or min(eps, delta, sigma, scale) <= 0:
        raise Rejected("0 < D <= L and positive numbers are needed")
    pair = {"u": POSITIVE, "v": POSITIVE}
    inside = call("-", call("+", call("Phi", "u"), call("Phi", "v")), ONE)
    edge = call("*", TWO, call("-", call("Phi", call("+", "u", "v")), HALF))
    leading = call("-", move * (2 * side - move) / (2 * scale * scale), call("log", TWO))
    tilt = call("-", call("/", call("^", "x", TWO), call("*", TWO, call("^", "s", TWO))))
    longer = substitute(tilt, {"s": call("+", "s", "t")})
    ratio = derivative(call("-", longer, tilt), "x")
    return (
        data.rests_on("TGG-P2"),
        data.rests_on("V-T5"),
        *_moments(),
        obligation("the normaliser at most halves", forall(pair, "<=", inside, edge)),
        obligation(
            "a wider density is larger further out", forall(dict.fromkeys(("x", "s", "t"), POSITIVE), ">=", ratio, ZERO)
        ),
        closed("the unbounded Gaussian is private", "<=", _profile(data, "V-T5", eps, move / sigma), delta),
        closed("a bounded Gaussian must be wider", ">=", leading, eps),
        closed("the bounded Gaussian has the larger error", ">", error(scale, _reach("middle", side)), sigma * sigma),
    )


PROJECTION = Schema(
    build=_projection,
    states=lambda data: (
        "It is false that projecting the output of an unbounded Gaussian mechanism to [0, L] always costs accuracy: at D = "
        "{D}, L = {L}, "
        "eps = {epsilon}, delta = {delta} the projected Gaussian of standard deviation {sigma} is (eps, delta)-DP with a "
        "mean squared error "
        "of at most its square everywhere, and every eps-DP truncated Gaussian has a larger one around L/2.".format_map(
            data.table["projection"]
        )
    ),
    argument=f"""\
{MOMENTS}
Projection to an interval that holds the true value does not raise the squared error, so that of the projected Gaussian is
at most its variance; it is private by V-T5, as projection is post-processing. In TGG-P2 the mass inside is at most twice
that on the edge, so that the level is at least the leading term less log 2; this falls with the scale and is at least eps
at the scale stated, so that no smaller one is private. The error around L/2 rises with the scale, since the ratio of the
densities at two scales, both truncated, rises with the distance.""",
    refutes=True,
)


def _bounded_better(data: Data) -> tuple[Obligation, ...]:
    data.fields("projection")
    table = data.part("projection", "L", "epsilon", "delta", "sigma", "variance")
    side, eps, delta, sigma, variance = (exact(table[name]) for name in ("L", "epsilon", "delta", "sigma", "variance"))
    if min(side, eps, delta, sigma, variance) <= 0:
        raise Rejected("positive numbers are needed")
    other = data.other("TGG-P2")
    enough = other.schema.criteria(other)["variance"].relation.under({"S": variance, "L": side, "D": side, "eps": eps})
    projected = call("*", side * side, call("Phi", -side / sigma))
    return (
        data.rests_on("TGG-P2"),
        data.rests_on("V-T5"),
        data.rests_on("V-L2"),
        *_moments(),
        closed("the unbounded Gaussian must be wider", ">", _profile(data, "V-T5", eps, side / sigma), delta),
        closed("the bounded Gaussian is private", enough.op, enough.left, enough.right),
        closed("the bounded Gaussian has the smaller error", "<", error(call("sqrt", variance), side), projected),
    )


BOUNDED_BETTER = Schema(
    build=_bounded_better,
    states=lambda data: (
        "At D = L = {L}, eps = {epsilon}, delta = {delta}: around a true value on the edge of [0, L] the truncated Gaussian "
        "of variance "
        "{variance}, which is eps-DP, has a smaller mean squared error than the projection of any unbounded Gaussian that is "
        "(eps, delta)-DP.".format_map(data.table["projection"])
    ),
    argument=f"""\
{MOMENTS}
No unbounded Gaussian of the standard deviation stated or a smaller one is private (V-T5, V-L2). The projection of a wider
one around the true value 0 is L with the probability Phi(-L/sigma) at least, so that its error is at least L^2 times that.""",
)


# Orders above 2 against the Gaussian, in many numbers.


def _order(data: Data) -> tuple[Obligation, ...]:
    data.fields("count")
    table = data.part("count", "p", "coordinates", "scale", "epsilon", "delta", "threshold", "least", "sigma", "factor")
    p, m, scale, eps, delta = (exact(table[name]) for name in ("p", "coordinates", "scale", "epsilon", "delta"))
    threshold, least, sigma, factor = (exact(table[name]) for name in ("threshold", "least", "sigma", "factor"))
    if min(m, scale, eps, delta, sigma, factor) <= 0 or p < 1:
        raise Rejected("an order of at least 1 and positive numbers are needed")
    noise = {"family": "subbotin", "p": table["p"]}
    power = call("^", p, 2 / p)
    variance = call("*", power, call("/", call("gamma", 3 / p), call("gamma", 1 / p)))
    inside = {"x": POSITIVE}
    exponent = call("/", call("^", "x", p), p)
    density = call("/", call("*", call("exp", call("-", exponent)), call("^", p, 1 - 1 / p)), call("gamma", 1 / p))
    tail, second = (call("gammaq", order, exponent) for order in (1 / p, 3 / p))
    moment = call("*", variance, derivative(call("-", ONE, second), "x"))
    likely, unlikely = (call("tail", m, least, survival(noise, threshold - move)) for move in (1 / scale, ZERO))
    gain = call("-", likely, call("*", call("exp", eps), unlikely))
    return (
        data.rests_on("V-L2"),
        data.rests_on("V-T5"),
        cited(1, PRODUCTS),
        obligation("the law of the distance", forall(inside, "=", derivative(tail, "x"), call("-", density))),
        obligation("its second moment", forall(inside, "=", moment, call("*", call("^", "x", TWO), density))),
        closed("the Gaussian is private", "<=", _profile(data, "V-T5", eps, call("/", call("sqrt", m), sigma)), delta),
        closed("the scale has the error stated", ">=", call("*", variance, scale * scale), factor * sigma * sigma),
        closed("the event exceeds delta", ">", gain, delta),
    )


ORDER = Schema(
    build=_order,
    states=lambda data: (
        "It is false that Subbotin noise of order {p} on {coordinates} numbers that move by 1 each can be ({epsilon}, "
        "{delta})-DP with a mean "
        "squared error of at most {factor} of that of a Gaussian that is so too (standard deviation {sigma}).".format_map(
            data.table["count"]
        )
    ),
    argument="""\
In units of the scale the distance |X| has the density stated, by the substitution t = x^p/p, and so is the variance p^(2/p)
Gamma(3/p)/Gamma(1/p) found. The pair of each number at a smaller scale dominates that at a larger one (V-L2), and so do the
products (the cited result): if a scale is not private, no smaller one is. The event is that at least k outputs exceed the
threshold (in units of the scale): under each dataset their number is binomial, and P(S) - e^eps Q(S) exceeds delta at a
scale whose error is the one stated. The Gaussian is private: rotated, the m numbers move by sqrt(m) in one direction.""",
    refutes=True,
)


# A bound that is not the least.


def _loose(data: Data) -> tuple[Obligation, ...]:
    data.fields("classic", "region")
    table = data.part("classic", "variance", "delta")
    classic, delta = data.reader.term(table["variance"]), exact(table["delta"])
    data.reader.require_free(("eps",))
    found = [data.rests_on("V-T5"), data.rests_on("V-L2")]
    for number, entry in enumerate(data.table["region"], start=1):
        if set(entry) != {"epsilon", "sigma", "factor"}:
            raise Rejected("a region has epsilon, sigma and factor")
        sigma, factor = exact(entry["sigma"]), data.reader.term(entry["factor"])
        domain = dict(ranges({"eps": entry["epsilon"]}))
        if sigma <= 0 or domain["eps"].sign is None:
            raise Rejected("sigma is positive, and epsilon not negative")
        exceeds = call("*", factor, sigma * sigma)
        found.append(_over(domain, f"region {number}: enough", "<=", _profile(data, "V-T5", "eps", 1 / sigma), delta))
        found.append(_over(domain, f"region {number}: the factor", ">=", classic, exceeds))
    return tuple(found)


def _over(domain: Mapping[str, Range], name: str, op: str, left: Term, right: Term) -> Obligation:
    return obligation(name, Statement(tuple(domain.items()), (), Relation(op, left, right)))


def _states_loose(data: Data) -> str:
    regions: list[Any] = data.table["region"]
    told_regions = "; ".join(f"{region['factor']} for eps in {region['epsilon']}" for region in regions)
    classic = data.table["classic"]
    return (
        f"At delta = {classic['delta']} the variance {classic['variance']} (for D = 1) exceeds the least variance of (eps, "
        "delta)-DP "
        f"Gaussian noise by a factor of at least {told_regions}{data.where()}."
    )


LOOSE = Schema(
    build=_loose,
    states=_states_loose,
    argument="""\
If the profile at D/sigma is at most delta, Gaussian noise of that sigma is private (V-T5), and the least sigma is no larger
(V-L2); so the ratio of the variance to the least one is at least its ratio to sigma^2.""",
)
