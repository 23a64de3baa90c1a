"""What can be stated: a relation between two terms for all admissible values of the variables, or for some.

A statement includes that both sides are defined. Its canonical text is what certificates are bound to by hash.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING

from dpverify.prove.kernel.terms import Call, Rejected, Term, free, show, substitute

if TYPE_CHECKING:
    from collections.abc import Mapping

NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True, slots=True)
class Relation:
    """`left` op `right`, with op one of = < <= > >=."""

    op: str
    left: Term
    right: Term

    def __post_init__(self) -> None:
        if self.op != "=" and self.op not in NEGATED:
            raise Rejected(f"{self.op!r} is not a relation")

    def text(self) -> str:
        return f"({self.op} {show(self.left)} {show(self.right)})"

    def under(self, values: Mapping[str, Term]) -> Relation:
        return Relation(self.op, substitute(self.left, values), substitute(self.right, values))

    @property
    def difference(self) -> Term:
        """What is >= 0 (> 0, = 0) if the relation holds."""
        return Call("-", (self.right, self.left) if self.op in ("<", "<=") else (self.left, self.right))

    @property
    def strict(self) -> bool:
        return self.op in ("<", ">")


@dataclass(frozen=True, slots=True)
class Range:
    """The admissible values of a variable: between rational ends (None: no end), each included unless open."""

    low: Fraction | None = None
    high: Fraction | None = None
    low_open: bool = False
    high_open: bool = False
    whole: bool = False

    def text(self) -> str:
        left = "(" if self.low_open or self.low is None else "["
        right = ")" if self.high_open or self.high is None else "]"
        ends = f"{left}{'-inf' if self.low is None else self.low} {'inf' if self.high is None else self.high}{right}"
        return f"whole {ends}" if self.whole else ends

    def __contains__(self, value: Fraction) -> bool:
        if self.whole and value.denominator != 1:
            return False
        if self.low is not None and (value < self.low or (self.low_open and value == self.low)):
            return False
        return self.high is None or not (value > self.high or (self.high_open and value == self.high))

    def relations(self, value: Term) -> tuple[Relation, ...]:
        """That a value lies between the ends."""
        found = []
        if self.low is not None:
            found.append(Relation(">" if self.low_open else ">=", value, self.low))
        if self.high is not None:
            found.append(Relation("<" if self.high_open else "<=", value, self.high))
        return tuple(found)

    @property
    def sign(self) -> int | None:
        """1 if every value is positive, 0 if non-negative, None if neither is known."""
        if self.low is None or self.low < 0:
            return None
        return 1 if self.low > 0 or self.low_open else 0


@dataclass(frozen=True, slots=True)
class Statement:
    """For all (or for some) values in the ranges that satisfy the hypotheses, the conclusion holds."""

    variables: tuple[tuple[str, Range], ...]
    hypotheses: tuple[Relation, ...]
    conclusion: Relation
    exists: bool = False

    def __post_init__(self) -> None:
        names = [name for name, _ in self.variables]
        used: frozenset[str] = frozenset()
        for relation in (*self.hypotheses, self.conclusion):
            used |= free(relation.left) | free(relation.right)
        if len(set(names)) != len(names) or not used <= set(names):
            raise Rejected(f"undeclared or repeated variables: {sorted(used - set(names)) or names}")

    def text(self) -> str:
        """The canonical text: equal texts state the same."""
        variables = " ".join(f"({name} {domain.text()})" for name, domain in self.variables)
        hypotheses = " ".join(relation.text() for relation in self.hypotheses)
        quantifier = "exists" if self.exists else "forall"
        return f"({quantifier} ({variables}) ({hypotheses}) {self.conclusion.text()})"

    def ranges(self) -> dict[str, Range]:
        return dict(self.variables)

    def concluding(self, conclusion: Relation) -> Statement:
        return replace(self, conclusion=conclusion)

    def assuming(self, *hypotheses: Relation) -> Statement:
        return replace(self, hypotheses=(*self.hypotheses, *hypotheses))

    def with_range(self, name: str, domain: Range) -> Statement:
        return replace(self, variables=tuple((key, domain if key == name else old) for key, old in self.variables))

    def at(self, name: str, value: Term) -> Statement:
        """One variable replaced by a term without it; its range must be taken care of by the caller."""
        return Statement(
            tuple((key, domain) for key, domain in self.variables if key != name),
            tuple(hypothesis.under({name: value}) for hypothesis in self.hypotheses),
            self.conclusion.under({name: value}),
            self.exists,
        )


def fingerprint(text: str) -> str:
    """The hash that binds a certificate to a claim."""
    return sha256(text.encode()).hexdigest()
