"""The catalogue of mechanisms as text and as data."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def as_data(registry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One entry a mechanism: its name, the names of its parameters and its one-line description."""
    return [
        {
            "mechanism": name,
            "parameters": [parameter.name for parameter in mechanism.parameters],
            "description": first_line(mechanism),
        }
        for name, mechanism in sorted(registry.items())
    ]


def as_text(registry: Mapping[str, Any]) -> str:
    """A table: name, parameters, description."""
    rows = [(entry["mechanism"], ", ".join(entry["parameters"]), entry["description"]) for entry in as_data(registry)]
    rows.insert(0, ("mechanism", "parameters", "what it does"))
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return "".join(f"{name:{widths[0]}}  {parameters:{widths[1]}}  {purpose}\n" for name, parameters, purpose in rows)


def first_line(mechanism: Any) -> str:
    """The first line of a mechanism's docstring."""
    return (inspect.getdoc(mechanism) or "").partition("\n")[0]
