"""The catalogue of mechanisms as text and as data."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def as_data(mechanisms: Sequence[Any]) -> list[dict[str, Any]]:
    """One entry a mechanism: its name, the names of its parameters and its one-line description."""
    return [
        {
            "mechanism": mechanism.name,
            "parameters": [parameter.name for parameter in mechanism.parameters],
            "description": first_line(mechanism),
        }
        for mechanism in mechanisms
    ]


def as_text(mechanisms: Sequence[Any]) -> str:
    """A table: name, parameters, what the mechanism does."""
    rows = [("mechanism", "parameters", "what it does")]
    for entry in as_data(mechanisms):
        sentence, stop, _formula = entry["description"].partition(".  ")
        rows.append((entry["mechanism"], ", ".join(entry["parameters"]), sentence + stop.strip()))
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return "".join(f"{name:{widths[0]}}  {parameters:{widths[1]}}  {purpose}\n" for name, parameters, purpose in rows)


def first_line(mechanism: Any) -> str:
    """The first line of a mechanism's docstring."""
    return (inspect.getdoc(mechanism) or "").partition("\n")[0]
