"""Inequalities of analysis that the kernel takes for granted, each with its proof.

A fact is a relation between terms in its parameters, valid under its conditions. Adding one is adding to what must be trusted.

- exp_above_tangent: e^a >= 1 + a, since e^a - 1 - a is convex with its minimum 0 at a = 0.
- mills: Phi(-a) <= phi(a)/a for a > 0, since int_a^inf phi <= int_a^inf (x/a) phi = phi(a)/a.
- half_tail: Phi(-a) <= e^(-a^2/2)/2 for a >= 0: the difference has derivative e^(-a^2/2) (1/sqrt(2 pi) - a/2), first positive,
  then negative, and vanishes at 0 and at infinity.
- normal_cdf_below_one: Phi(a) < 1.
- normal_cdf_increasing: Phi(a) <= Phi(b) for a <= b.
- gamma_markov: Q(a, x) <= a/x for a > 0 and x > 0, by Markov's inequality: the law with the tail Q(a, .) has the mean a.
- gamma_head: 1 - Q(a, x) >= x^(a-1) (1 - e^-x)/Gamma(a) for 0 < a <= 1 and x > 0, since t^(a-1) >= x^(a-1) for t <= x in
  Gamma(a) (1 - Q(a, x)) = int_0^x t^(a-1) e^-t dt.
- power_increasing: a^p <= b^p for 0 < a <= b and p >= 0.
- square_nonnegative: a^2 >= 0.
- product_of_nonnegative: a b >= 0 for a >= 0 and b >= 0; with this, hypotheses can be multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpverify.prove.kernel.statements import Relation
from dpverify.prove.kernel.terms import Rejected, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpverify.prove.kernel.terms import Term


@dataclass(frozen=True, slots=True)
class Fact:
    """Parameters, conditions and conclusion, the latter as (op, left, right)."""

    parameters: tuple[str, ...]
    conditions: tuple[tuple[str, str, str], ...]
    conclusion: tuple[str, str, str]


_POSITIVE_A = ((">", "a", "0"),)
_ORDERED = (("<=", "a", "b"),)

FACTS: dict[str, Fact] = {
    "exp_above_tangent": Fact(("a",), (), (">=", "(exp a)", "(+ 1 a)")),
    "mills": Fact(("a",), _POSITIVE_A, ("<=", "(Phi (- a))", "(/ (phi a) a)")),
    "half_tail": Fact(("a",), ((">=", "a", "0"),), ("<=", "(Phi (- a))", "(/ (exp (- (/ (* a a) 2))) 2)")),
    "normal_cdf_below_one": Fact(("a",), (), ("<", "(Phi a)", "1")),
    "normal_cdf_increasing": Fact(("a", "b"), _ORDERED, ("<=", "(Phi a)", "(Phi b)")),
    "gamma_markov": Fact(("a", "x"), ((">", "a", "0"), (">", "x", "0")), ("<=", "(gammaq a x)", "(/ a x)")),
    "gamma_head": Fact(
        ("a", "x"),
        ((">", "a", "0"), ("<=", "a", "1"), (">", "x", "0")),
        (">=", "(- 1 (gammaq a x))", "(/ (* (^ x (- a 1)) (- 1 (exp (- x)))) (gamma a))"),
    ),
    "power_increasing": Fact(("a", "b", "p"), (*_POSITIVE_A, *_ORDERED, (">=", "p", "0")), ("<=", "(^ a p)", "(^ b p)")),
    "square_nonnegative": Fact(("a",), (), (">=", "(* a a)", "0")),
    "product_of_nonnegative": Fact(("a", "b"), ((">=", "a", "0"), (">=", "b", "0")), (">=", "(* a b)", "0")),
}


def instance(name: str, arguments: Sequence[Term]) -> tuple[tuple[Relation, ...], Relation]:
    """The conditions and the conclusion of a fact at given terms. Raises Rejected for an unknown fact."""
    if not isinstance(name, str) or name not in FACTS or len(arguments) != len(FACTS[name].parameters):
        raise Rejected(f"there is no fact {name!r} with {len(arguments)} parameters")
    fact = FACTS[name]
    values = dict(zip(fact.parameters, arguments, strict=True))
    conditions, conclusion = (
        [Relation(op, parse(left), parse(right)).under(values) for op, left, right in relations]
        for relations in (fact.conditions, (fact.conclusion,))
    )
    return tuple(conditions), conclusion[0]
