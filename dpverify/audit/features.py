"""Scalars read off an output: a coordinate, a sum or difference of two, or an aggregate of all. Events are cut from these.

A scalar is a frozen description with a `values` method. NaN means that an output does not have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dpverify.audit.table import Floats, Path, Table, name, path_from_json
from dpverify.errors import InputError, shown


@dataclass(frozen=True, slots=True)
class Coordinate:
    """The number that an output has on a path."""

    path: Path

    def values(self, table: Table) -> Floats:
        return table.column(self.path).values

    def describe(self) -> str:
        return name(self.path)

    def to_json(self) -> dict[str, Any]:
        return {"scalar": "coordinate", "path": list(self.path)}


@dataclass(frozen=True, slots=True)
class Combination:
    """The sum (sign 1) or the difference (sign -1) of two coordinates."""

    first: Path
    second: Path
    sign: int

    def values(self, table: Table) -> Floats:
        with np.errstate(invalid="ignore", over="ignore"):
            return table.column(self.first).values + self.sign * table.column(self.second).values

    def describe(self) -> str:
        return f"{name(self.first)} {'+' if self.sign > 0 else '-'} {name(self.second)}"

    def to_json(self) -> dict[str, Any]:
        return {"scalar": "combination", "first": list(self.first), "second": list(self.second), "sign": self.sign}


_AGGREGATES = {
    "sum": "sum of all numbers",
    "largest": "largest number",
    "smallest": "smallest number",
    "nonzero": "count of non-zero numbers",
}


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One number out of all numbers of an output: their sum, the largest, the smallest, how many are not zero."""

    which: str

    def values(self, table: Table) -> Floats:
        matrix = table.matrix()
        empty = np.isnan(matrix).all(axis=1)
        with np.errstate(invalid="ignore", over="ignore"):
            if self.which == "sum":
                found = np.nansum(matrix, axis=1)
            elif self.which == "nonzero":
                found = ((matrix != 0) & ~np.isnan(matrix)).sum(axis=1).astype(np.float64)
            elif self.which == "largest":
                found = np.where(np.isnan(matrix), -np.inf, matrix).max(axis=1)
            else:
                found = np.where(np.isnan(matrix), np.inf, matrix).min(axis=1)
        return np.where(empty, np.nan, found)

    def describe(self) -> str:
        return f"{_AGGREGATES[self.which]} in output"

    def to_json(self) -> dict[str, Any]:
        return {"scalar": "aggregate", "which": self.which}


Scalar: TypeAlias = "Coordinate | Combination | Aggregate"


def scalar_from_json(data: dict[str, Any]) -> Scalar:
    """The scalar that `to_json` described. Raises InputError where it describes none."""
    try:
        if data["scalar"] == "coordinate":
            return Coordinate(path_from_json(data["path"]))
        if data["scalar"] == "combination":
            return Combination(path_from_json(data["first"]), path_from_json(data["second"]), int(data["sign"]))
        if data["scalar"] == "aggregate" and data["which"] in _AGGREGATES:
            return Aggregate(data["which"])
    except (KeyError, TypeError, ValueError):
        pass
    raise InputError(f"evidence: {shown(data)} describes no scalar; it was not written by dpverify, or was edited.")
