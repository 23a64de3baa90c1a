"""What schemas are written with: an author's data with its fields checked, and short forms of statements."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpverify.prove.kernel.certificate import Obligation
from dpverify.prove.kernel.statements import NEGATED, Range, Relation, Statement
from dpverify.prove.kernel.terms import Rejected, Term
from dpverify.prove.schemas.reading import ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dpverify.prove.schemas.reading import Reader

_WORD = re.compile(r"[A-Za-z]\w*")
ZERO, ONE, HALF = Fraction(0), Fraction(1), Fraction(1, 2)
REAL, POSITIVE, NONNEGATIVE = Range(), Range(ZERO, None, True), Range(ZERO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """What a theorem says of a mechanism, so that other theorems can rest on it: `relation`, under `hypotheses`, for the
    `variables` in their ranges, suffices for what `says` (and is necessary for it).
    """

    variables: Mapping[str, Range]
    relation: Relation
    says: str
    hypotheses: tuple[Relation, ...] = ()
    necessary: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """How data become obligations, and what these imply.

    `argument` is the reasoning that a reader must trust beside the kernel; `states` writes the conclusion out of the data, so
    that no author's words stand between the obligations and what is concluded. `criteria` is what other theorems may use of it.
    """

    build: Callable[[Data], tuple[Obligation, ...]]
    states: Callable[[Data], str]
    argument: str
    refutes: bool = False
    criteria: Callable[[Data], Mapping[str, Criterion]] = field(default=lambda _: {})
    box: Callable[[Data], bool] = field(default=lambda _: False)
    """Whether the obligations cover boxes only, where the question goes further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """The table of a theorem's file, a reader of its formulas, and the tables of the theorems that it names."""

    table: Mapping[str, Any]
    reader: Reader
    others: Mapping[str, Data]
    schema: Schema

    def fields(self, *needed: str, optional: tuple[str, ...] = ()) -> None:
        """Require exactly these fields beside those that every theorem has. Raises Rejected."""
        have = set(self.table) - COMMON
        if not set(needed) <= have or not have <= set(needed) | set(optional):
            raise Rejected(
                f"this schema has the fields {sorted(needed)}, and may have {sorted(optional)}; found {sorted(have)}"
            )

    def part(self, name: str, *needed: str, optional: tuple[str, ...] = ()) -> Mapping[str, Any]:
        """A table of the file with exactly these fields. Raises Rejected."""
        table = self.table[name]
        if not isinstance(table, dict) or not set(needed) <= set(table) or not set(table) <= {*needed, *optional}:
            raise Rejected(f"[{name}] has the fields {sorted(needed)}, and may have {sorted(optional)}")
        return dict(table)

    def parameters(self, table: Mapping[str, str], *used: str) -> dict[str, Range]:
        """The ranges of an author's variables, none of which may be one of those that the schema uses. Raises Rejected."""
        if set(table) & set(used):
            raise Rejected(f"{sorted(set(table) & set(used))} are variables of the schema")
        self.reader.require_free((*table, *used))
        return dict(ranges(table))

    def where(self) -> str:
        """The abbreviations that the data use, spelt out at the end of a conclusion."""
        let = self.table.get("let", {})
        pending = [value for key, value in self.table.items() if key not in COMMON]
        used: set[str] = set()
        while pending:
            value = pending.pop()
            if isinstance(value, str):
                new = set(_WORD.findall(value)) & set(let) - used
                used |= new
                pending += [let[name] for name in new]
            elif isinstance(value, dict | list):
                pending += value.values() if isinstance(value, dict) else value
        told_names = [f"{name} = {text}" for name, text in let.items() if name in used]
        return f", where {', '.join(told_names)}" if told_names else ""

    def rests_on(self, name: str) -> Obligation:
        """A theorem that a schema uses by name. Raises Rejected unless it is of the schema that concludes what is used."""
        if self.other(name).table["schema"] != USED[name]:
            raise Rejected(f"{name} is used as a theorem of the schema {USED[name]}")
        return lemma(name)

    def other(self, name: str) -> Data:
        """The data of another theorem. Raises Rejected."""
        if name not in self.others:
            raise Rejected(f"there is no theorem {name!r}")
        return self.others[name]


USED = {
    "V-L1": "half-line",
    "V-L2": "scaling",
    "V-T5": "privacy profile",
    "TGG-P2": "truncated Gaussian",
    "L-C8": "tail event",
    "L-E7": "bounded exponent",
}
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
    "proof",
    "mutant",
    "note",
    "exhibit",
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


def closed(name: str, op: str, left: Term, right: Term, *where: Relation) -> Obligation:
    """A statement without variables, as the witness that it is."""
    return obligation(name, Statement((), where, Relation(op, left, right), exists=True))


def told(variables: Mapping[str, str], where: Iterable[str]) -> str:
    """Ranges and hypotheses in words, as their author wrote them."""
    parts = [f"{name} in {text}" for name, text in variables.items()]
    given = " and ".join(where)
    return f"for all {', '.join(parts) or 'values'}" + (f" with {given}" if given else "")


def cited(number: int, text: str) -> Obligation:
    """A result that the schema takes from the literature."""
    return Obligation(name=f"the schema's citation {number}", cite=text)


def lemma(name: str) -> Obligation:
    """Another theorem."""
    return Obligation(name=f"lemma {name}", lemma=name)
