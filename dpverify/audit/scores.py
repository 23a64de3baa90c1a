"""Scores: sums of tables over cells of a few scalars, learned from exploration outputs. Events are thresholds on them.

A score is a plain function of an output, saved as data and evaluated by look-ups: no model is needed to read a witness or to
recheck it. Whatever learned it and however badly, a threshold on it is a fixed event once fresh outputs are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.cells import places
from dpverify.audit.features import Scalar, scalar_from_json
from dpverify.audit.table import Floats, Table

MOST_CELLS = 1_000_000
MILLI = 1000
"""Tables hold whole thousandths of a nat: sums are exact, the same on every machine, and short in evidence."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A scalar cut into cells: x <= cuts[0], x <= cuts[1], ..., above all, and last no number at all."""

    scalar: Scalar
    cuts: tuple[float, ...]

    @property
    def cells(self) -> int:
        """How many there are."""
        return len(self.cuts) + 2

    def places(self, table: Table) -> NDArray[np.uint8] | NDArray[np.intp]:
        """The cell of each output."""
        return places(self.scalar.values(table), self.cuts)


@dataclass(frozen=True, slots=True)
class Term:
    """One number for each cell of one axis, or for each pair of cells of two (row by row), in thousandths."""

    axes: tuple[int, ...]
    table: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """The sum over `terms` of the number that each has for the cells in which an output lies."""

    axes: tuple[Axis, ...]
    terms: tuple[Term, ...]

    def values(self, table: Table) -> Floats:
        return table.remembered(self, lambda: self._values(table))

    def _values(self, table: Table) -> Floats:
        found = [axis.places(table) for axis in self.axes]
        total = np.zeros(table.size, dtype=np.int64)
        for term in self.terms:
            cell = found[term.axes[0]].astype(np.intp)
            for other in term.axes[1:]:
                cell *= self.axes[other].cells
                cell += found[other]
            total += np.array(term.table, dtype=np.int64)[cell]
        return total / MILLI

    def describe(self) -> str:
        subjects = [axis.scalar.describe() for axis in self.axes]
        more = len(subjects) - 4
        return f"learned score of {', '.join(subjects[:4])}{f' and {more} more' if more > 0 else ''}"

    def to_json(self) -> dict[str, Any]:
        return {
            "scalar": "score",
            "axes": [{"of": axis.scalar.to_json(), "cuts": list(axis.cuts)} for axis in self.axes],
            "terms": [{"axes": list(term.axes), "thousandths": list(term.table)} for term in self.terms],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Score:
        """The score that `to_json` described. Raises KeyError, TypeError or ValueError where it describes none."""
        axes = tuple(Axis(scalar_from_json(axis["of"]), tuple(map(float, axis["cuts"]))) for axis in data["axes"])
        if not all(one < other for axis in axes for one, other in zip(axis.cuts, axis.cuts[1:], strict=False)):
            raise ValueError("cuts of an axis rise")
        terms = []
        for term in data["terms"]:
            places = tuple(map(int, term["axes"]))
            table = tuple(map(int, term["thousandths"]))
            if not 1 <= len(places) <= 2 or not all(0 <= place < len(axes) for place in places):
                raise ValueError("a term has one axis or two")
            cells = axes[places[0]].cells * (axes[places[1]].cells if len(places) == 2 else 1)
            if len(table) != cells or cells > MOST_CELLS or max(map(abs, table), default=0) > 10**9:
                raise ValueError("a term has one number for each cell")
            terms.append(Term(places, table))
        return cls(axes, tuple(terms))
