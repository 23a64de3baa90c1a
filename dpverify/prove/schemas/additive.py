"""Additive noise in one dimension, symmetric and log-concave: the privacy profile, the least scale, what rests on them."""

from __future__ import annotations

from dpverify.prove.kernel.calculus import derivative
from dpverify.prove.kernel.certificate import Obligation
from dpverify.prove.kernel.statements import Range, Relation
from dpverify.prove.kernel.terms import Rejected, Term, call, substitute
from dpverify.prove.schemas.parts import HALF, NONNEGATIVE, ONE, POSITIVE, REAL, ZERO, Data, Schema, forall, obligation
from dpverify.prove.schemas.reading import ranges

PROFILE_ARGUMENT = """\
Noise s X is added to a number that moves by at most D; X has the density e^-psi with psi even, cdf F; d = D/s. psi' >= 0 and
psi'' >= 0 on x > 0 make psi convex. So the loss psi(x) - psi(x - d) does not fall with x, the event on which it exceeds eps is
a half-line from t, where the loss is eps, and delta(eps) = F(d - t) - e^eps F(-t) (theorem V-L1). It increases strictly with d
where it is positive (V-L2), so that delta(eps) <= delta exactly for d up to the solution of profile = delta. If psi' <= 1, no
loss exceeds d, and the profile is 0 from eps = d on. F is the cdf of e^-psi because F' = e^-psi on x > 0, F(0) = 1/2, and 1 - F
vanishes at infinity (it lies between 0 and K/x)."""


def _profile(data: Data) -> tuple[Obligation, ...]:
    data.fields("noise")
    data.reader.require_free(("x", "eps", "d", "delta"))
    noise = dict(data.table["noise"])
    unknown = set(noise) - {"exponent", "cdf", "tail", "threshold", "profile", "inverse", "whole_line", "bounded_loss"}
    if unknown:
        raise Rejected(f"noise has no fields {sorted(unknown)}")
    psi, cdf, tail, t, profile = (data.reader.term(noise[name]) for name in ("exponent", "cdf", "tail", "threshold", "profile"))
    whole_line, bounded = bool(noise.get("whole_line")), bool(noise.get("bounded_loss"))
    x, eps, d = "x", "eps", "d"
    variables, where = region(bounded)
    beyond, back = {x: POSITIVE}, call("-", x)
    slope = derivative(psi, x)
    far = {x: Range(ONE)}
    found = [
        *(Obligation(name=f"lemma {name}", lemma=name) for name in ("V-L1", "V-L2")),
        obligation(
            "the density is the derivative of the cdf", forall(beyond, "=", derivative(cdf, x), call("exp", call("-", psi)))
        ),
        obligation("half the mass lies on each side", forall({}, "=", substitute(cdf, {x: ZERO}), HALF)),
        obligation("the tail is non-negative", forall(far, ">=", call("-", ONE, cdf), ZERO)),
        obligation("the tail vanishes", forall(far, "<=", call("-", ONE, cdf), call("/", tail, x))),
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


def profile_of(data: Data, name: str) -> tuple[Term, bool]:
    """The profile that another theorem of this schema is about, and whether it is stated for eps < d only."""
    other = data.other(name)
    if other.table.get("schema") != "privacy profile":
        raise Rejected(f"{name} is not about a privacy profile")
    noise = other.table["noise"]
    return other.reader.term(noise["profile"]), bool(noise.get("bounded_loss"))


def _calibration(data: Data) -> tuple[Obligation, ...]:
    data.fields("calibration")
    table = data.table["calibration"]
    if set(table) != {"noise", "for", "where", "epsilon", "delta", "shift"}:
        raise Rejected("a calibration has noise, for, where, epsilon, delta and shift")
    profile, bounded = profile_of(data, table["noise"])
    eps, delta, d = (data.reader.term(table[name]) for name in ("epsilon", "delta", "shift"))
    variables = dict(ranges(table["for"]))
    data.reader.require_free(variables)
    where = [data.reader.relation(text) for text in table["where"]]
    found = [
        Obligation(name="the profile of this noise", lemma=table["noise"]),
        obligation("epsilon is admissible", forall(variables, ">=", eps, ZERO, *where)),
        obligation("the shift is admissible", forall(variables, ">", d, eps if bounded else ZERO, *where)),
        obligation(
            "the profile is at most delta", forall(variables, "<=", substitute(profile, {"eps": eps, "d": d}), delta, *where)
        ),
    ]
    return tuple(found)


PROFILE = Schema(build=_profile, argument=PROFILE_ARGUMENT)

CALIBRATION = Schema(
    build=_calibration,
    argument="""\
Noise of the named family with d = D/s is (epsilon, delta)-DP exactly if its profile at (epsilon, d) is at most delta (the named
theorem).""",
)
