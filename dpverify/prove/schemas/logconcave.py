"""Additive noise with a density e^-psi, psi even and convex: the best event is a half-line, and what follows for shift and "
"delta."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpverify.prove.kernel.statements import Relation
from dpverify.prove.kernel.terms import Rejected, Term, call
from dpverify.prove.schemas.parts import NONNEGATIVE, POSITIVE, REAL, ZERO, Data, Schema, forall, obligation
from dpverify.prove.schemas.reading import a_range

if TYPE_CHECKING:
    from dpverify.prove.kernel.certificate import Obligation
    from dpverify.prove.kernel.statements import Range

UNIT = a_range("[0, 1]")


def _weights(text: str) -> Range:
    """The weights of randomised tests: every value from 0 to 1 must be among them. Raises Rejected."""
    found = a_range(text)
    if ZERO not in found or Fraction(1) not in found or found.whole:
        raise Rejected("tests have every weight from 0 to 1")
    return found


def _tests(weights: str) -> tuple[Obligation, ...]:
    """At every output, a randomised test with a weight w gains no more than the one that takes exactly where p >= E q."""
    variables = {"p": NONNEGATIVE, "q": NONNEGATIVE, "E": POSITIVE, "w": _weights(weights)}
    gain = call("-", "p", call("*", "E", "q"))
    return (
        obligation("the best test above", forall(variables, "<=", call("*", "w", gain), gain, Relation(">=", gain, ZERO))),
        obligation("the best test below", forall(variables, "<=", call("*", "w", gain), ZERO, Relation("<=", gain, ZERO))),
    )


def _cheaper(strict: bool) -> Obligation:
    """The half-line of a shift, used as an event against a larger one."""
    word = "a larger shift gains more where F rises" if strict else "a larger shift gains no less"
    mass = dict.fromkeys(("F1", "F2", "F0", "delta2"), UNIT) | {"E": POSITIVE}
    unlikely = call("*", "E", "F0")
    where = (Relation(">" if strict else ">=", "F2", "F1"), Relation(">=", "delta2", call("-", "F2", unlikely)))
    return obligation(word, forall(mass, ">" if strict else ">=", "delta2", call("-", "F1", unlikely), *where))


def _half_line(data: Data) -> tuple[Obligation, ...]:
    data.fields("test")
    table = data.part("test", "weights", "averages")
    data.reader.require_free(("x", "h", "d", "psi0", "psi1", "psi2", "psi3"))
    outer = call("-", "x", "d"), call("+", "x", "h")
    inner: tuple[Term, Term] = "x", call("-", outer[1], "d")
    apart = {"h": POSITIVE, "d": POSITIVE}
    pairs = [[data.reader.term(text) for text in pair] for pair in table["averages"]]
    if len(pairs) != len(inner) or any(len(pair) != len(outer) for pair in pairs):
        raise Rejected("averages has two weights for each of the two inner points x and x + h - d")
    found, convex = [], []
    for number, (pair, point) in enumerate(zip(pairs, inner, strict=True), start=1):
        total = call("+", *pair)
        found += [
            obligation(f"weight {i} of point {number} is not negative", forall(apart, ">=", w, ZERO))
            for i, w in enumerate(pair, 1)
        ]
        mean = call("/", call("+", *(call("*", w, y) for w, y in zip(pair, outer, strict=True))), total)
        found.append(obligation(f"point {number} is that average", forall({"x": REAL, **apart}, "=", mean, point)))
        bound = call("/", call("+", *(call("*", w, psi) for w, psi in zip(pair, ("psi0", "psi3"), strict=True))), total)
        convex.append(Relation("<=", f"psi{number}", bound))
    values = dict.fromkeys(("psi0", "psi1", "psi2", "psi3"), REAL)
    losses = call("-", "psi3", "psi2"), call("-", "psi1", "psi0")
    found.append(obligation("the loss does not fall", forall({**apart, **values}, ">=", *losses, *convex)))
    return (*found, *_tests(table["weights"]), _cheaper(strict=False))


HALF_LINE = Schema(
    build=_half_line,
    states=lambda _: (
        "Let noise have the density e^-psi with psi even and convex (values +inf allowed) and the cdf F, let a number move "
        "by d > 0, and t be the "
        "largest x, within the union of the two supports, at which psi(x) - psi(x - d) <= eps (-inf or +inf if all or none "
        "of them exceed it). Then "
        "delta(eps) = F(d - t) - e^eps F(-t) is the largest gain P(S) - e^eps Q(S) of any event, and no shift by less gains "
        "more; so (eps, delta)-DP "
        "holds exactly if delta >= delta(eps). At flat pieces of the loss every t with loss eps gives the same."
    ),
    argument="""\
Let p(x) = e^-psi(x - d) and q(x) = e^-psi(x), E = e^eps, L = log p/q on the union of the supports. Let x < y = x + h there.
If L(x) = -inf or L(y) = +inf, then L(x) <= L(y). Otherwise psi is finite at x - d and y, and by convexity at the points x
and y - d between them, which are averages of the two; convexity bounds psi there, and the loss does not fall. So the set
where L > eps is a half-line from t. At every output a test with weight w, 0 <= w <= 1, gains at most max(0, p - E q):
integrated, no event gains more than the half-line, and points where L = eps contribute p - E q = 0. The half-line has the
P-mass F(d - t) and the Q-mass F(-t), by symmetry. Under a larger shift d2 it has the P-mass F(d2 - t) = F2 >= F1 = F(d - t)
and the same Q-mass F0, and the profile delta2 of d2 is at least its gain. A shift by -d is the mirror image.""",
)


def _scaling(data: Data) -> tuple[Obligation, ...]:
    data.fields("scaling")
    shift = data.reader.term(data.part("scaling", "shift")["shift"])
    data.reader.require_free(("x", "D", "s"))
    moved, ratio = call("/", call("-", "x", "D"), "s"), call("-", call("/", "x", "s"), shift)
    return (
        data.rests_on("V-L1"),
        obligation("only the ratio counts", forall({"x": REAL, "D": POSITIVE, "s": POSITIVE}, "=", moved, ratio)),
        _cheaper(strict=False),
        _cheaper(strict=True),
    )


SCALING = Schema(
    build=_scaling,
    states=lambda data: (
        f"The profile of that noise depends on sensitivity D and scale s only through d = {data.table['scaling']['shift']}, "
        "does not fall as d grows, and, for "
        "eps >= 0, rises strictly where 0 < delta < 1; so the least scale is linear in D."
    ),
    argument="""\
In units of s, outputs are noise of scale 1 around x/s. The half-line from the threshold t of the shift d has the mass F1 =
F(d - t) under d, F2 = F(d2 - t) under d2 > d, and F0 = F(-t) without shift (theorem V-L1). The profile at d2 is the largest
gain of any event, hence at least that of this one. For eps >= 0 the loss at d/2, which is 0, does not exceed eps, so that d
- t <= d/2 is below the upper end of the support unless delta = 1, and above the lower end if delta > 0: there F rises. So
(eps, delta)-DP holds exactly for d up to some largest d*, that is for s >= D/d*.""",
)


def _vanishing(data: Data) -> tuple[Obligation, ...]:
    data.fields("gain")
    table = data.part("gain", "factor", "scale")
    data.reader.require_free(("p", "q", "eps", "eps2", "D", "K"))
    factor, scale = (data.reader.term(table[name]) for name in ("factor", "scale"))
    eps = {"eps": NONNEGATIVE, "eps2": NONNEGATIVE}
    above = Relation(">", "eps2", "eps")
    event = Relation(">=", "p", call("*", call("exp", "eps2"), "q"))
    gain = call("-", "p", call("*", call("exp", "eps"), "q"))
    outputs = {"p": NONNEGATIVE, "q": NONNEGATIVE, **eps}
    bounded = {"eps": POSITIVE, "D": POSITIVE, "K": POSITIVE}
    return (
        *(data.rests_on(name) for name in ("V-L1", "V-L2")),
        obligation("what the event gains", forall(outputs, ">=", gain, call("*", factor, "p"), above, event)),
        obligation("the factor is positive", forall(eps, ">", factor, ZERO, above)),
        obligation("the scale is positive", forall(bounded, ">", scale, ZERO)),
        obligation("a bounded loss", forall(bounded, "<=", call("/", call("*", "K", "D"), scale), "eps")),
    )


VANISHING = Schema(
    build=_vanishing,
    states=lambda data: (
        "If the privacy loss of that noise is unbounded, then at every eps >= 0 the least scale tends to infinity as delta "
        "tends to 0, whatever the support. "
        f"If psi' <= K, then delta = 0 holds for every eps > 0 from the scale {data.table['gain']['scale']} on."
    ),
    argument="""\
Fix a scale s0 and eps2 > eps. As the loss is unbounded and does not fall (theorem V-L1), it is at least eps2 on a half-line
of P-mass m > 0, on which p >= e^eps2 q. There p - e^eps q is at least the factor times p; integrated, the profile at eps is
at least the factor times m, which is positive. At scales below s0 it is no smaller (V-L2). So a delta below this number
needs a scale above s0, for every s0. Conversely the loss at a shift D/s is at most K D/s.""",
)


def _pointwise(data: Data) -> tuple[Obligation, ...]:
    data.fields("test")
    weights = _weights(data.part("test", "weights")["weights"])
    outputs = {"p": NONNEGATIVE, "q": NONNEGATIVE}
    likely = call("*", call("exp", "eps"), "q")
    tested = {**outputs, "E": POSITIVE, "w": weights}
    mass = call("*", "w", "p"), call("*", "E", call("*", "w", "q"))
    return (
        obligation("no loss, no gain", forall(tested, "<=", *mass, Relation(">=", call("-", call("*", "E", "q"), "p"), ZERO))),
        obligation(
            "the event gains",
            forall({**outputs, "eps": NONNEGATIVE}, ">", call("-", "p", likely), ZERO, Relation(">", "p", likely)),
        ),
    )


POINTWISE = Schema(
    build=_pointwise,
    states=lambda _: (
        "For every eps >= 0, (eps, 0)-approximate DP, (eps, 0)-probabilistic DP and pure eps-DP are one and the same."
    ),
    argument="""\
Approximate DP with delta = 0 is the definition of pure DP: P(S) <= e^eps Q(S) for every event and test. If the loss exceeds
eps with P-probability 0, then E q >= p almost everywhere, E = e^eps, and integrated with the weights w of a test P(S) <= E
Q(S). Conversely, if the event that the loss exceeds eps had positive P-probability, p - e^eps q is positive at each of its
points, and so is its integral: P(S) > e^eps Q(S).""",
)
