"""Do a theorem and a mechanism speak of the same formulas? The mechanism's code is run on terms, and the kernel compares.

A theorem names its mechanism (`mechanism = "laplace"`); a formula that is changed on either side shows as a difference.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpverify.prove.kernel.statements import Range, Relation, Statement
from dpverify.prove.kernel.steps import check
from dpverify.prove.kernel.terms import Call, Term
from dpverify.prove.schemas.additive import region
from dpverify.prove.schemas.reading import Reader

if TYPE_CHECKING:
    from dpverify.prove.library import Entry

ZERO, ONE = Fraction(0), Fraction(1)


class Written:
    """A value of the term arithmetic: `+ - * / **` build terms."""

    def __init__(self, term: Term) -> None:
        self.term = term

    def __add__(self, other: Any) -> Written:
        return Written(Call("+", (self.term, _term(other))))

    def __radd__(self, other: Any) -> Written:
        return Written(Call("+", (_term(other), self.term)))

    def __sub__(self, other: Any) -> Written:
        return Written(Call("-", (self.term, _term(other))))

    def __rsub__(self, other: Any) -> Written:
        return Written(Call("-", (_term(other), self.term)))

    def __mul__(self, other: Any) -> Written:
        return Written(Call("*", (self.term, _term(other))))

    def __rmul__(self, other: Any) -> Written:
        return Written(Call("*", (_term(other), self.term)))

    def __truediv__(self, other: Any) -> Written:
        return Written(Call("/", (self.term, _term(other))))

    def __rtruediv__(self, other: Any) -> Written:
        return Written(Call("/", (_term(other), self.term)))

    def __pow__(self, other: Any) -> Written:
        return Written(Call("^", (self.term, _term(other))))

    def __neg__(self) -> Written:
        return Written(Call("-", (self.term,)))


def _term(value: Any) -> Term:
    return value.term if isinstance(value, Written) else Fraction(value)


class TermArithmetic:
    """The arithmetic interface of the mechanisms, on terms. Variables are taken to be positive: |x| = x and sign(x) = 1."""

    name = "terms"

    def exact(self, number: Any) -> Written:
        return Written(Fraction(int(number.p), int(number.q)))

    def rational(self, above: int, below: int = 1) -> Written:
        return Written(Fraction(above, below))

    def pi(self) -> Written:
        return Written(Call("pi", ()))

    def exp(self, x: Any) -> Written:
        return Written(Call("exp", (_term(x),)))

    def expm1(self, x: Any) -> Written:
        return self.exp(x) - 1

    def log(self, x: Any) -> Written:
        return Written(Call("log", (_term(x),)))

    def log1p(self, x: Any) -> Written:
        return self.log(1 + Written(_term(x)))

    def sqrt(self, x: Any) -> Written:
        return Written(Call("sqrt", (_term(x),)))

    def abs(self, x: Any) -> Written:
        return Written(_term(x))

    def sign(self, x: Any) -> Written:
        return Written(ONE)

    def normal_cdf(self, x: Any) -> Written:
        return Written(Call("Phi", (_term(x),)))


def difference(entry: Entry) -> str:
    """The first formula in which theorem and mechanism differ, "" if they agree or no mechanism is named."""
    if "mechanism" not in entry.table:
        return ""
    from dpverify.mechanisms import by_name

    mechanism: Any = by_name(entry.table["mechanism"])
    family = mechanism(**dict.fromkeys((parameter.name for parameter in mechanism.parameters), 1))
    m, x, eps, d, delta = TermArithmetic(), *(Written(name) for name in ("x", "eps", "d", "delta"))
    noise, read = entry.table["noise"], Reader(entry.table.get("let")).term
    variables, where = region(bool(noise.get("bounded_loss")))
    beyond = {"x": Range(ZERO, None, True)}
    inside = {"eps": Range(ZERO), "delta": Range(ZERO, ONE, True, True)}
    pairs = [
        ("the density", beyond, (), Call("-", (read(noise["exponent"]),)), family.log_density(m, x)),
        ("the cdf", beyond, (), read(noise["cdf"]), family.cdf(m, x)),
        ("the threshold", variables, where, read(noise["threshold"]), family.threshold(m, eps, d)),
        ("the profile", variables, where, read(noise["profile"]), family.profile(m, eps, d)),
    ]
    if "inverse" in noise:
        pairs.append(("the least scale", inside, (), read(noise["inverse"]), family.shift_for(m, eps, delta)))
    for what, ranges, hypotheses, stated, programmed in pairs:
        goal = Statement(tuple(ranges.items()), hypotheses, Relation("=", stated, _term(programmed)))
        if not _identical(goal):
            return f"{what} is not that of the mechanism {entry.table['mechanism']}: {goal.conclusion.text()[:200]}"
    return ""


def _identical(goal: Statement) -> bool:
    from dpverify.prove.tactics.search import NotFound, find

    for hint in ({}, {"kind": "exponentiate"}):
        try:
            check(goal, find(goal, hint, Reader()))
        except NotFound:
            continue
        return True
    return False
