"""Which variances the published condition for truncated Gaussian noise accepts."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpverify.prove.kernel.statements import Relation
from dpverify.prove.kernel.terms import Rejected, Term, call
from dpverify.prove.schemas.parts import NONNEGATIVE, POSITIVE, ZERO, Data, Schema, forall, obligation

if TYPE_CHECKING:
    from dpverify.prove.kernel.certificate import Obligation

TWO = Fraction(2)


def _accepted(data: Data) -> tuple[Obligation, ...]:
    data.fields("accepted")
    variance = data.reader.term(data.part("accepted", "variance")["variance"])
    data.reader.require_free(("L", "D", "eps", "k", "c"))
    if data.other("CH-T1").table["schema"] != "sufficient condition":
        raise Rejected("CH-T1 is used as a sufficient condition")
    sizes = {"L": POSITIVE, "D": POSITIVE, "eps": POSITIVE}
    inside = Relation("<=", "D", "L")

    def gain(move: str) -> Term:
        return call("*", move, call("-", call("*", TWO, "L"), move))

    shorter = {"L": POSITIVE, "D": POSITIVE, "c": POSITIVE}
    known = Relation("<=", "k", call("/", gain("D"), call("*", TWO, variance)))
    asked = call("/", call("*", call("+", "L", call("/", "D", TWO)), "D"), call("-", "eps", "k"))
    return (
        data.rests_on("TGG-P2"),
        obligation("the variance is positive", forall(sizes, ">", variance, ZERO)),
        obligation(
            "a shorter move has the smaller leading term",
            forall(shorter, "<=", gain("c"), gain("D"), Relation("<=", "c", "D"), inside),
        ),
        obligation("the divisor is positive", forall({**sizes, "k": NONNEGATIVE}, ">", "eps", "k", inside, known)),
        obligation(
            "the condition accepts it",
            forall({**sizes, "k": NONNEGATIVE}, ">=", variance, asked, inside, known, Relation(">", "eps", "k")),
        ),
    )


ACCEPTED = Schema(
    build=_accepted,
    states=lambda data: (
        "For a number that moves by at most D <= L the condition S >= (L + D/2) D/(eps - log DeltaC(sqrt(S))) of Theorem 1 "
        "accepts the variance "
        f"S = {data.table['accepted']['variance']}, so that the least variance that it accepts is no larger{data.where()}."
    ),
    argument="""\
DeltaC(s) is the largest ratio of the masses Phi((L - c)/s) - Phi(-c/s) and Phi(L/s) - 1/2 for 0 <= c <= D. By TGG-P2, for
moves of c, the level is c (2 L - c)/(2 s^2) less the logarithm of that ratio; a level is never negative, so that the
logarithm, and hence k = log DeltaC >= 0, is at most the leading term, which does not fall with c.""",
)
