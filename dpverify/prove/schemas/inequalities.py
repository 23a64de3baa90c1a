"""Claims that are inequalities or identities between formulas, and their refutation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpverify.prove.kernel.terms import Rejected
from dpverify.prove.schemas.parts import Data, Schema, negated, obligation, told
from dpverify.prove.schemas.reading import exact

if TYPE_CHECKING:
    from dpverify.prove.kernel.certificate import Obligation


def _inequality(data: Data) -> tuple[Obligation, ...]:
    data.fields("statement")
    return tuple(obligation(entry["name"], data.reader.statement(entry)) for entry in data.table["statement"])


def _counterexample(data: Data) -> tuple[Obligation, ...]:
    """The statement is false at some values, or at the values `fixed` whatever the other variables are."""
    data.fields("statement", optional=("fixed",))
    if len(data.table["statement"]) != 1:
        raise Rejected("a claim that is refuted is one statement: a conjunction falls with one of its parts")
    entry = data.table["statement"][0]
    found = negated(data.reader.statement(entry))
    if "fixed" in data.table:
        found = replace(found, exists=False)
        for name, text in data.table["fixed"].items():
            value = exact(text)
            if name not in found.ranges() or value not in found.ranges()[name]:
                raise Rejected(f"{name} = {text} is not admissible")
            found = found.at(name, value)
    return (obligation(entry["name"], found),)


def _states(data: Data) -> str:
    parts = (f"{told(entry.get('for', {}), entry.get('where', []))}: {entry['show']}" for entry in data.table["statement"])
    return "; ".join(parts)


INEQUALITY = Schema(
    build=_inequality,
    states=lambda data: f"{_states(data)}{data.where()}.",
    argument="The claim is the conjunction of the statements, as they stand.",
)

COUNTEREXAMPLE = Schema(
    build=_counterexample,
    states=lambda data: f"It is false that {_states(data)}{data.where()}.",
    argument="""\
The claim, as it stands, speaks of all values of its variables, or of some value of a variable for all values of others:
values for which it fails, whatever the variables that are left are, refute it.""",
    refutes=True,
)
