"""What schemas are written with: an author's data with its fields checked, and short forms of statements."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpverify.prove.kernel.certificate import Obligation
from dpverify.prove.kernel.statements import NEGATED, Range, Relation, Statement
from dpverify.prove.kernel.terms import Rejected, Term

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpverify.prove.schemas.reading import Reader

ZERO, ONE, HALF = Fraction(0), Fraction(1), Fraction(1, 2)
REAL, POSITIVE, NONNEGATIVE = Range(), Range(ZERO, None, True), Range(ZERO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """How data become obligations. `argument` is the reasoning that a reader must trust beside the kernel."""

    build: Callable[[Data], tuple[Obligation, ...]]
    argument: str
    refutes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """The table of a theorem's file, a reader of its formulas, and the tables of the theorems that it names."""

    table: Mapping[str, Any]
    reader: Reader
    others: Mapping[str, Data]

    def fields(self, *needed: str, optional: tuple[str, ...] = ()) -> None:
        """Require exactly these fields beside those that every theorem has. Raises Rejected."""
        have = set(self.table) - COMMON
        if not set(needed) <= have or not have <= set(needed) | set(optional):
            raise Rejected(
                f"this schema has the fields {sorted(needed)}, and may have {sorted(optional)}; found {sorted(have)}"
            )

    def other(self, name: str) -> Data:
        """The data of another theorem. Raises Rejected."""
        if name not in self.others:
            raise Rejected(f"there is no theorem {name!r}")
        return self.others[name]


COMMON = {
    "id",
    "claim",
    "source",
    "schema",
    "let",
    "retracted",
    "mechanism",
    "lemmas",
    "cites",
    "box",
    "proof",
    "mutant",
    "note",
}


def obligation(name: str, statement: Statement) -> Obligation:
    """One statement to be shown."""
    return Obligation(name=name, statement=statement)


def forall(variables: Mapping[str, Range], op: str, left: Term, right: Term, *where: Relation) -> Statement:
    """For all values of the variables that satisfy `where`: left op right."""
    return Statement(tuple(variables.items()), where, Relation(op, left, right))


def negated(statement: Statement) -> Statement:
    """What refutes a statement about all values: some values for which it fails. Raises Rejected for equations."""
    if statement.conclusion.op == "=":
        raise Rejected("state an equation that is to be refuted as two inequalities")
    conclusion = Relation(NEGATED[statement.conclusion.op], statement.conclusion.left, statement.conclusion.right)
    return Statement(statement.variables, statement.hypotheses, conclusion, exists=True)
