"""Refutations by an event: a set of outputs that is too likely under one dataset, for independent noise on several numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dpverify.prove.kernel.terms import Rejected, Term, call
from dpverify.prove.schemas.parts import HALF, ONE, ZERO, Data, Schema, closed, forall, obligation
from dpverify.prove.schemas.reading import exact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpverify.prove.kernel.certificate import Obligation


def survival(noise: Mapping[str, str], x: Fraction) -> Term:
    """P(X > x) for the standard member of a family, at a rational x.

    laplace: density e^-|x|/2; logistic: e^-x/(1 + e^-x)^2; gaussian: the standard normal law; subbotin: proportional to
    e^(-|x|^p/p); generalized gaussian: proportional to e^(-|x|^p).
    """
    family = noise["family"]
    if family == "logistic":
        return call("/", ONE, call("+", ONE, call("exp", x)))
    if family == "gaussian":
        return call("Phi", -x)
    if x < 0:
        return call("-", ONE, survival(noise, -x))
    if x == 0:
        return HALF
    if family == "laplace":
        return call("/", call("exp", -x), Fraction(2))
    if family not in ("subbotin", "generalized gaussian"):
        raise Rejected(f"there is no family {family!r}")
    p = exact(noise["p"])
    power = call("^", x, p)
    return call("*", HALF, call("gammaq", 1 / p, call("/", power, p) if family == "subbotin" else power))


def exponent(noise: Mapping[str, str], x: Fraction) -> Term:
    """psi(x), up to a constant, of the Subbotin family at a rational x: |x|^p/p."""
    if noise["family"] != "subbotin":
        raise Rejected("the one-dimensional rule is stated for the Subbotin family")
    p = exact(noise["p"])
    if p < 1:
        raise Rejected("the one-dimensional rule is stated for log-concave noise")
    return call("/", call("^", abs(x), p), p) if x else ZERO


def _interval(noise: Mapping[str, str], low: Fraction | None, high: Fraction | None, shift: Fraction) -> Term:
    """P(low < X + shift < high)."""
    above = ONE if low is None else survival(noise, low - shift)
    return above if high is None else call("-", above, survival(noise, high - shift))


def _side(low: str, high: str) -> tuple[Fraction | None, Fraction | None]:
    """The ends of an interval that is not empty, None where it has none. Raises Rejected."""
    ends = None if low == "-inf" else exact(low), None if high == "inf" else exact(high)
    if ends[0] is not None and ends[1] is not None and ends[0] >= ends[1]:
        raise Rejected(f"from {low} to {high} there is nothing")
    return ends


def _rule(data: Mapping[str, Any], noise: Mapping[str, str], eps: Fraction) -> tuple[list[Obligation], Term]:
    """The profile of one-dimensional noise with shift d at eps is at most P(X > t1 - d) - e^eps P(X > t2), if the loss passes
    eps in [t1, t2].

    For the profile is F(d - t) - e^eps F(-t) with t between them, and F does not fall.
    """
    d, below, above = (exact(data[name]) for name in ("d", "below", "above"))
    found = []
    for name, t, op in (
        ("the loss has not passed eps at the lower end", below, "<="),
        ("and has at the upper end", above, ">="),
    ):
        loss = call("-", exponent(noise, t), exponent(noise, t - d))
        found.append(obligation(name, forall({}, op, loss, eps)))
    bound = call("-", survival(noise, below - d), call("*", call("exp", eps), survival(noise, above)))
    return found, bound


def _event(data: Data) -> tuple[Obligation, ...]:
    data.fields("noise", "event", "rule")
    noise, event = data.table["noise"], data.table["event"]
    if set(event) != {"shift", "norm", "epsilon", "boxes", "excess"}:
        raise Rejected("an event has shift, norm, epsilon, boxes and excess")
    eps, excess, norm = exact(event["epsilon"]), exact(event["excess"]), exact(event["norm"])
    shift = [exact(text) for text in event["shift"]]
    boxes = [[_side(low, high) for low, high in box] for box in event["boxes"]]
    if any(len(box) != len(shift) for box in boxes):
        raise Rejected("a box has one side for each coordinate")
    for one, two in pairwise(box[0] for box in boxes):
        if one[1] is None or two[0] is None or one[1] > two[0]:
            raise Rejected("the first sides of the boxes must follow one another, so that the boxes do not overlap")
    likely, unlikely = (
        call("+", *(call("*", *(_interval(noise, *side, v) for side, v in zip(box, move, strict=True))) for box in boxes))
        for move in (shift, [ZERO] * len(shift))
    )
    p = exact(noise["p"])
    total = call("+", *(call("^", abs(v), p) for v in shift))
    found, bound = _rule(data.table["rule"], noise, eps)
    gained = call("-", likely, call("*", call("exp", eps), unlikely))
    if exact(data.table["rule"]["d"]) != norm:
        raise Rejected("the rule is applied at the norm that the shift is allowed to have")
    return (
        obligation("the shift is allowed", forall({}, "<=", total, call("^", norm, p))),
        *found,
        closed("the event exceeds what the rule allows", ">", gained, call("+", bound, excess)),
    )


def _count(data: Data) -> tuple[Obligation, ...]:
    data.fields("noise", "count", "rule")
    noise, count = data.table["noise"], data.table["count"]
    if set(count) != {"coordinates", "scale", "epsilon", "delta", "threshold", "least", "gained"}:
        raise Rejected("a count has coordinates, scale, epsilon, delta, threshold, least and gained")
    m, k = (exact(count[name]) for name in ("coordinates", "least"))
    scale, eps, delta, threshold, gained = (exact(count[name]) for name in ("scale", "epsilon", "delta", "threshold", "gained"))
    if gained < delta or min(scale, delta) <= 0 or eps < 0:
        raise Rejected("the event must gain the claimed delta or more, and scale, epsilon and delta be those of a claim")
    p, d = exact(noise["p"]), exact(data.table["rule"]["d"])
    found, bound = _rule(data.table["rule"], noise, eps)
    likely, unlikely = (call("tail", m, k, survival(noise, threshold - move)) for move in (1 / scale, ZERO))
    return (
        obligation("the rule is applied at this norm or a larger one", forall({}, ">=", call("^", call("*", d, scale), p), m)),
        *found,
        obligation("so the rule accepts this scale", forall({}, "<=", bound, delta)),
        closed("the event exceeds the claimed delta", ">", call("-", likely, call("*", call("exp", eps), unlikely)), gained),
    )


EVENT = Schema(
    build=_event,
    states=lambda data: (
        "It is false that {} noise of order {} and scale 1 on several numbers is as private as on one number that moves by "
        "the {}-norm of the shift: at eps = {} the shift ({}) "
        "of norm at most {} has a larger delta than one number, by more than {}.".format(
            data.table["noise"]["family"],
            data.table["noise"]["p"],
            data.table["noise"]["p"],
            data.table["event"]["epsilon"],
            ", ".join(data.table["event"]["shift"]),
            data.table["event"]["norm"],
            data.table["event"]["excess"],
        )
    ),
    argument="""\
Independent noise of one family (scale 1) is added to several numbers that move by the shift, whose p-norm is at most the
norm. The rule says that the mechanism is (epsilon, delta)-DP with the delta of the one-dimensional mechanism at that norm
(theorem V-L1), which is bounded from above. The event is a union of boxes that do not overlap; P(S) - e^eps Q(S), a sum of
products, exceeds that delta.""",
    refutes=True,
)

COUNT = Schema(
    build=_count,
    states=lambda data: (
        "It is false that {family} noise of order {p} and scale {scale} on {coordinates} numbers that move by 1 each is "
        "({epsilon}, {delta})-DP, as the one-dimensional rule "
        "has it; its delta is above {gained}.".format(**data.table["noise"], **data.table["count"])
    ),
    argument="""\
Independent Subbotin noise of the given scale is added to m numbers, each of which moves by 1, a shift of p-norm m^(1/p).
The rule takes the delta of the one-dimensional mechanism at that norm (theorem V-L1), and accepts the scale. The event is
that at least k outputs exceed the threshold (in units of the scale): under each dataset their number is binomial, and P(S)
- e^eps Q(S) exceeds the claimed delta.""",
    refutes=True,
)
