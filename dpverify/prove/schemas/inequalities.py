"""Claims that are inequalities or identities between formulas, and their refutation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.prove.kernel.terms import Rejected
from dpverify.prove.schemas.parts import Data, Schema, negated, obligation

if TYPE_CHECKING:
    from dpverify.prove.kernel.certificate import Obligation


def _inequality(data: Data) -> tuple[Obligation, ...]:
    data.fields("statement")
    return tuple(obligation(entry["name"], data.reader.statement(entry)) for entry in data.table["statement"])


def _counterexample(data: Data) -> tuple[Obligation, ...]:
    data.fields("statement")
    found = tuple(obligation(entry["name"], negated(data.reader.statement(entry))) for entry in data.table["statement"])
    if len(found) != 1:
        raise Rejected("a claim that is refuted is one statement: a conjunction falls with one of its parts")
    return found


INEQUALITY = Schema(build=_inequality, argument="The claim is the conjunction of the statements, as they stand.")

COUNTEREXAMPLE = Schema(
    build=_counterexample,
    argument="The claim, as it stands, speaks of all values of its variables; one value for which it fails refutes it.",
    refutes=True,
)
