"""Claims whose reasoning is told in words: each sentence of it that computes is an obligation, and is named where it is used.

The words are the author's and belong to what must be trusted; the report prints them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dpverify.prove.kernel.terms import Rejected
from dpverify.prove.schemas.parts import Data, Schema, negated, obligation

if TYPE_CHECKING:
    from dpverify.prove.kernel.certificate import Obligation

_NAMED = re.compile(r"\{([^{}]+)\}")


def _argument(data: Data) -> tuple[Obligation, ...]:
    data.fields("statement", "argument")
    found = tuple(obligation(entry["name"], data.reader.statement(entry)) for entry in data.table["statement"])
    _require_named(data, {o.name for o in found})
    return found


def _refutation(data: Data) -> tuple[Obligation, ...]:
    """`statement`: what the argument uses; `refuted`: a statement about all values that the claim implies, and that fails."""
    data.fields("refuted", "argument", optional=("statement",))
    found = [obligation(entry["name"], data.reader.statement(entry)) for entry in data.table.get("statement", [])]
    entry = data.table["refuted"]
    found.append(obligation(entry["name"], negated(data.reader.statement(entry))))
    _require_named(data, {o.name for o in found})
    return tuple(found)


def _exhibit(data: Data) -> tuple[Obligation, ...]:
    """As an argument; `exhibit` says what is exhibited."""
    data.fields("statement", "argument", "exhibit")
    found = tuple(obligation(entry["name"], data.reader.statement(entry)) for entry in data.table["statement"])
    _require_named(data, {o.name for o in found})
    return found


def _require_named(data: Data, names: set[str]) -> None:
    used = {" ".join(name.split()) for name in _NAMED.findall(data.table["argument"])}
    if used != names:
        raise Rejected(f"the argument names {sorted(used)}, the statements are {sorted(names)}")


ARGUMENT = Schema(build=_argument, argument="")
EXHIBIT = Schema(build=_exhibit, argument="", refutes=True)
REFUTATION = Schema(build=_refutation, argument="", refutes=True)
