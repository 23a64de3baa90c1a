"""Claims whose reasoning is told in words: each sentence of it that computes is an obligation, and is named where it is used.

The words are the author's, and nothing checks them: they count as a cited step, and the verdict says so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dpverify.prove.kernel.certificate import Obligation
from dpverify.prove.kernel.terms import Rejected
from dpverify.prove.schemas.parts import Data, Schema, negated, obligation

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMED = re.compile(r"\{([^{}]+)\}")
WORDS = "the argument in words that stands with the claim"


def _argument(data: Data) -> tuple[Obligation, ...]:
    data.fields("statement", "argument")
    return _with_words(data, [obligation(entry["name"], data.reader.statement(entry)) for entry in data.table["statement"]])


def _refutation(data: Data) -> tuple[Obligation, ...]:
    """`statement`: what the argument uses; `refuted`: a statement about all values that the claim implies, and that fails."""
    data.fields("refuted", "argument", optional=("statement",))
    found = [obligation(entry["name"], data.reader.statement(entry)) for entry in data.table.get("statement", [])]
    entry = data.table["refuted"]
    found.append(obligation(entry["name"], negated(data.reader.statement(entry))))
    return _with_words(data, found)


def _with_words(data: Data, found: Sequence[Obligation]) -> tuple[Obligation, ...]:
    used, names = {" ".join(name.split()) for name in _NAMED.findall(data.table["argument"])}, {o.name for o in found}
    if used != names:
        raise Rejected(f"the argument names {sorted(used)}, the statements are {sorted(names)}")
    return (*found, Obligation(name="the argument", cite=f"{data.table['id']}: {WORDS}"))


def _states(data: Data) -> str:
    return f"The claim, {WORDS} being right."


ARGUMENT = Schema(build=_argument, states=_states, argument="")
REFUTATION = Schema(build=_refutation, states=_states, argument="", refutes=True)
