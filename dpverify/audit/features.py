"""Scalars read off an output: a coordinate, a sum or difference of two, an aggregate of all. Events are cut from these.

A scalar is a frozen description with a `values` method. NaN means that an output does not have it. What it says of an
output never depends on the other outputs of the batch. Scores, which are learned, are scalars too; they live in `scores`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpverify.audit.table import Codes, Floats, Path, Table, name, path_from_json
from dpverify.audit.texts import is_character
from dpverify.errors import InputError, shown

if TYPE_CHECKING:
    from dpverify.audit.scores import Score


@dataclass(frozen=True, slots=True)
class Coordinate:
    """The number that an output has on a path."""

    path: Path

    def values(self, table: Table) -> Floats:
        return table.column(self.path).values

    def describe(self) -> str:
        return f"code point of {name(self.path)}" if is_character(self.path) else name(self.path)

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
    "sum": "sum of all numbers in output",
    "largest": "largest number in output",
    "smallest": "smallest number in output",
    "nonzero": "count of non-zero numbers in output",
    "numbers": "count of numbers in output",
    "largest step": "largest step from one number of the output to the next",
    "smallest step": "smallest step from one number of the output to the next",
}


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One number out of all numbers of an output: their sum, the largest, the smallest, how many are not zero, how
    many there are, the largest or the smallest step from one to the next (the first step starts at 0)."""

    which: str

    def values(self, table: Table) -> Floats:
        return table.remembered(self, lambda: self._values(table))

    def _values(self, table: Table) -> Floats:
        columns = _steps(table) if self.which.endswith("step") else table.numbers()
        if self.which.startswith(("largest", "smallest")):
            outermost = np.fmax if self.which.startswith("largest") else np.fmin
            found = np.full(table.size, np.nan)
            for values in columns:
                outermost(found, values, out=found)
            return found
        found, anything = np.zeros(table.size), np.full(table.size, self.which == "numbers")
        with np.errstate(invalid="ignore", over="ignore"):
            for values in columns:
                there = ~np.isnan(values)
                anything |= there
                if self.which == "sum":
                    found += np.where(there, values, 0.0)
                else:
                    found += there if self.which == "numbers" else there & (values != 0)
        return np.where(anything, found, np.nan)

    def describe(self) -> str:
        return _AGGREGATES[self.which]

    def to_json(self) -> dict[str, Any]:
        return {"scalar": "aggregate", "which": self.which}


@dataclass(frozen=True, slots=True)
class CountAbove:
    """How many numbers of an output, or how many `steps` from one to the next, exceed a cut."""

    cut: float
    steps: bool = False

    def values(self, table: Table) -> Floats:
        return table.remembered(self, lambda: self._values(table))

    def _values(self, table: Table) -> Floats:
        found, anything = np.zeros(table.size), np.zeros(table.size, dtype=np.bool_)
        for values in _steps(table) if self.steps else table.numbers():
            anything |= ~np.isnan(values)
            found += values > self.cut
        return np.where(anything, found, np.nan)

    def describe(self) -> str:
        return f"count of {'steps between numbers' if self.steps else 'numbers'} above {self.cut!r} in output"

    def to_json(self) -> dict[str, Any]:
        return {"scalar": "count above", "cut": self.cut, "steps": self.steps}


@dataclass(frozen=True, slots=True)
class PlaceOfLargest:
    """Which of some coordinates has the largest number (`largest` False: the smallest): its place in the list, from 0."""

    paths: tuple[Path, ...]
    largest: bool = True

    def values(self, table: Table) -> Floats:
        return table.remembered(self, lambda: self._values(table))

    def _values(self, table: Table) -> Floats:
        found, anything = np.zeros(table.size), np.zeros(table.size, dtype=np.bool_)
        best = np.full(table.size, -np.inf if self.largest else np.inf)
        for place, path in enumerate(self.paths):
            values = table.column(path).values
            anything |= ~np.isnan(values)
            better = values > best if self.largest else values < best
            np.copyto(best, values, where=better)
            np.copyto(found, place, where=better)
        return np.where(anything, found, np.nan)

    def describe(self) -> str:
        which = "largest" if self.largest else "smallest"
        return f"place of the {which} among {name(self.paths[0])}, ..., {name(self.paths[-1])}"

    def to_json(self) -> dict[str, Any]:
        return {"scalar": "place", "paths": [list(path) for path in self.paths], "largest": self.largest}


@dataclass(frozen=True, slots=True)
class PlaceOfCode:
    """Which of a list of values a coordinate has: its place in the list, from 0; no number where it has none of them."""

    path: Path
    codes: tuple[int, ...]

    def values(self, table: Table) -> Floats:
        wanted = np.array(self.codes, dtype=np.uint64)
        codes: Codes = table.column(self.path).codes
        place = np.minimum(np.searchsorted(wanted, codes), len(wanted) - 1)
        return np.where(wanted[place] == codes, place.astype(np.float64), np.nan)

    def describe(self) -> str:
        return f"place of {name(self.path)} among {len(self.codes)} values"

    def to_json(self) -> dict[str, Any]:
        return {"scalar": "code", "path": list(self.path), "codes": [f"{code:016x}" for code in self.codes]}


Scalar: TypeAlias = "Coordinate | Combination | Aggregate | CountAbove | PlaceOfLargest | PlaceOfCode | Score"


def _steps(table: Table) -> tuple[Floats, ...]:
    """The differences between each number of an output and the one before, the first one as it is; NaN where there is none."""
    return table.remembered("steps", lambda: tuple(_new_steps(table)))


def _new_steps(table: Table) -> Iterator[Floats]:
    before = np.zeros(table.size)
    for path in sorted(table.coordinates, key=lambda path: [(isinstance(step, str), step) for step in path]):
        values = table.columns[path].values
        with np.errstate(invalid="ignore", over="ignore"):
            yield values - before
        before = np.where(np.isnan(values), before, values)


def spacing_of(scalar: Scalar, table: Table) -> float:
    """A power of two of which all values of the scalar are multiples; 0 where none is known."""
    return table.column(scalar.path).spacing if isinstance(scalar, Coordinate) else 0.0


def scalar_from_json(data: dict[str, Any]) -> Scalar:
    """The scalar that `to_json` described. Raises InputError where it describes none."""
    from dpverify.audit.scores import Score

    try:
        kind = data["scalar"]
        if kind == "coordinate":
            return Coordinate(path_from_json(data["path"]))
        if kind == "combination":
            return Combination(path_from_json(data["first"]), path_from_json(data["second"]), int(data["sign"]))
        if kind == "aggregate" and data["which"] in _AGGREGATES:
            return Aggregate(data["which"])
        if kind == "count above":
            return CountAbove(float(data["cut"]), bool(data["steps"]))
        if kind == "place" and data["paths"]:
            return PlaceOfLargest(tuple(map(path_from_json, data["paths"])), bool(data["largest"]))
        if kind == "code" and data["codes"]:
            return PlaceOfCode(path_from_json(data["path"]), tuple(int(code, 16) for code in data["codes"]))
        if kind == "score":
            return Score.from_json(data)
    except (KeyError, TypeError, ValueError):
        pass
    raise InputError(f"evidence: {shown(data)} describes no scalar; it was not written by dpverify, or was edited.")
