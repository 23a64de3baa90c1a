"""Additive noise in one dimension, symmetric and log-concave: the law, the privacy profile and the least scale of a family."""

from __future__ import annotations

from dpverify.prove.kernel.calculus import derivative
from dpverify.prove.kernel.certificate import Obligation
from dpverify.prove.kernel.statements import Range, Relation
from dpverify.prove.kernel.terms import Term, call, substitute
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
)

PROFILE_ARGUMENT = """\
Noise s X is added to a number that moves by at most D; X has the density e^-psi with psi even, cdf F; d = D/s. psi' >= 0 and
psi'' >= 0 on x > 0 make psi convex. So the loss psi(x) - psi(x - d) does not fall with x, the event on which it exceeds eps is
a half-line from t, where the loss is eps, and delta(eps) = F(d - t) - e^eps F(-t) (theorem V-L1). It increases strictly with d
where it is positive (V-L2), so that delta(eps) <= delta exactly for d up to the solution of profile = delta. If psi' <= 1, no
loss exceeds d, and the profile is 0 from eps = d on. F is the cdf of e^-psi because F' = e^-psi on x > 0, F(0) = 1/2, and 1 - F
vanishes at infinity (it lies between 0 and K/x)."""


def law(psi: Term, cdf: Term, tail: Term) -> tuple[Obligation, ...]:
    """That the cdf of e^-psi is the one stated for x >= 0: 1 - cdf vanishes at infinity, as it lies between 0 and tail/x."""
    beyond, far = {"x": POSITIVE}, {"x": Range(ONE)}
    rest = call("-", ONE, cdf)
    return (
        obligation(
            "the density is the derivative of the cdf", forall(beyond, "=", derivative(cdf, "x"), call("exp", call("-", psi)))
        ),
        obligation("half the mass lies on each side", forall({}, "=", substitute(cdf, {"x": ZERO}), HALF)),
        obligation("the tail is non-negative", forall(far, ">=", rest, ZERO)),
        obligation("the tail vanishes", forall(far, "<=", rest, call("/", tail, "x"))),
    )


def _profile(data: Data) -> tuple[Obligation, ...]:
    data.fields("noise")
    data.reader.require_free(("x", "eps", "d", "delta"))
    noise = data.part(
        "noise", "exponent", "cdf", "tail", "threshold", "profile", optional=("inverse", "whole_line", "bounded_loss")
    )
    psi, cdf, tail, t, profile = (data.reader.term(noise[name]) for name in ("exponent", "cdf", "tail", "threshold", "profile"))
    whole_line, bounded = bool(noise.get("whole_line")), bool(noise.get("bounded_loss"))
    x, eps, d = "x", "eps", "d"
    variables, where = region(bounded)
    beyond, back = {x: POSITIVE}, call("-", x)
    slope = derivative(psi, x)
    found = [
        *(data.rests_on(name) for name in ("V-L1", "V-L2")),
        *law(psi, cdf, tail),
        obligation("the exponent does not fall", forall(beyond, ">=", slope, ZERO)),
        obligation("the exponent is convex", forall(beyond, ">=", derivative(slope, x), ZERO)),
    ]
    if whole_line:
        mirrored = substitute(cdf, {x: back})
        found += [
            obligation("the exponent is even", forall({x: REAL}, "=", substitute(psi, {x: back}), psi)),
            obligation("the cdf is symmetric", forall({x: REAL}, "=", mirrored, call("-", ONE, cdf))),
        ]
        behind: Term = call("-", t, d)
        left = substitute(cdf, {x: call("-", t)})
    else:  # the formulas hold for x >= 0; psi(t - d) = psi(d - t) and F(-t) = 1 - F(t)
        behind = call("-", d, t)
        left = call("-", ONE, substitute(cdf, {x: t}))
        found += [
            obligation("the threshold is not negative", forall(variables, ">=", t, ZERO, *where)),
            obligation("the threshold is at most d", forall(variables, ">=", behind, ZERO, *where)),
        ]
    loss = call("-", substitute(psi, {x: t}), substitute(psi, {x: behind}))
    mass = call("-", substitute(cdf, {x: call("-", d, t)}), call("*", call("exp", eps), left))
    found += [
        obligation("the loss at the threshold is eps", forall(variables, "=", loss, eps, *where)),
        obligation("the profile", forall(variables, "=", mass, profile, *where)),
    ]
    if bounded:
        found.append(obligation("no loss exceeds d", forall(beyond, "<=", slope, ONE)))
    if "inverse" in noise:
        inverse = data.reader.term(noise["inverse"])
        inside = {eps: NONNEGATIVE, "delta": Range(ZERO, ONE, True, True)}
        found += [
            obligation(
                "the least scale solves profile = delta", forall(inside, "=", substitute(profile, {d: inverse}), "delta")
            ),
            obligation("and lies where the profile holds", forall(inside, ">", inverse, eps if bounded else ZERO)),
        ]
    return tuple(found)


def region(bounded: bool) -> tuple[dict[str, Range], tuple[Relation, ...]]:
    """Where the closed form is stated: eps >= 0 and d > 0, and eps < d if no loss exceeds d."""
    return {"eps": NONNEGATIVE, "d": POSITIVE}, ((Relation("<", "eps", "d"),) if bounded else ())


def _criteria(data: Data) -> dict[str, Criterion]:
    noise = data.table["noise"]
    variables, where = region(bool(noise.get("bounded_loss")))
    relation = Relation("<=", data.reader.term(noise["profile"]), "delta")
    says = f"this noise ({data.table['id']}) with D/s = d is (eps, delta)-DP"
    return {"profile": Criterion(variables={**variables, "delta": REAL}, relation=relation, says=says, hypotheses=where)}


def _states(data: Data) -> str:
    noise = data.table["noise"]
    bounded = bool(noise.get("bounded_loss"))
    text = f"Noise with the density e^-psi, psi(x) = {noise['exponent']} for x >= 0 and even, has for eps >= 0 and d = D/s > "
    text += f"{'eps' if bounded else '0'} the profile {noise['profile']}"
    text += ", and 0 for d <= eps" if bounded else ""
    if "inverse" in noise:
        text += f"; for 0 < delta < 1 it is (eps, delta)-DP exactly if s >= D/({noise['inverse']})"
    return text + data.where() + "."


PROFILE = Schema(build=_profile, states=_states, argument=PROFILE_ARGUMENT, criteria=_criteria)
