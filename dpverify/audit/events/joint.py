"""Two conditions at once: a category and a threshold, two thresholds, two categories."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.cells import places
from dpverify.audit.events.atoms import one_value
from dpverify.audit.events.thresholds import Within, cut_points, plain_cut
from dpverify.audit.exploration import Candidate, Exploration
from dpverify.audit.features import Coordinate, Scalar
from dpverify.audit.table import Codes, Kind, Path, Table

if TYPE_CHECKING:
    from dpverify.audit.events import Event

FEW_VALUES = 12
CUTS = 24


@dataclass(frozen=True, slots=True)
class Both:
    """Outputs that lie in two sets."""

    first: Event
    second: Event

    def mask(self, table: Table) -> NDArray[np.bool_]:
        return self.first.mask(table) & self.second.mask(table)

    def describe(self) -> str:
        return f"{self.first.describe()} and {self.second.describe()}"

    def to_json(self) -> dict[str, Any]:
        return {"family": "both", "first": self.first.to_json(), "second": self.second.to_json()}


@dataclass(frozen=True, slots=True)
class Axis:
    """One coordinate cut into cells. `cells` says for either side in which cell each output lies, and `options` are
    events that are unions of cells: one row each in `members`."""

    cells: tuple[NDArray[np.int64], NDArray[np.int64]]
    options: tuple[Event, ...]
    members: NDArray[np.float64]


def axis_of(exploration: Exploration, path: Path) -> Axis | None:
    """The axis of a coordinate: its values where they are few, thresholds where there are many; None where it is constant."""
    codes = tuple(table.column(path).codes for table in exploration.search)
    few = np.unique(np.concatenate([side[:500] for side in codes]))
    few = np.unique(np.concatenate(codes)) if 1 <= len(few) <= FEW_VALUES else few
    if 2 <= len(few) <= FEW_VALUES:
        return _axis_of_values(exploration, path, few, codes)
    return axis_of_scalar(exploration, Coordinate(path))


def axis_of_scalar(exploration: Exploration, scalar: Scalar) -> Axis | None:
    """The axis of what is read off an output: thresholds alone; None where it is constant."""
    ordered = exploration.ordered(scalar)
    if len(ordered.pooled) < 2:
        return None
    values = tuple(scalar.values(table) for table in exploration.search)
    cuts = np.unique([plain_cut(cut, ordered.pooled) for cut in cut_points(ordered, CUTS)])
    cells = tuple(places(side, cuts).astype(np.intp) for side in values)
    below = np.tri(len(cuts), len(cuts) + 2)
    above = np.concatenate([1 - below[:, :-1], np.zeros((len(cuts), 1))], axis=1)
    events: tuple[Event, ...] = (
        *(Within(scalar, -math.inf, float(cut)) for cut in cuts),
        *(Within(scalar, float(cut), math.inf) for cut in cuts),
    )
    return Axis((cells[0], cells[1]), events, np.concatenate([below, above]))


def _axis_of_values(exploration: Exploration, path: Path, few: Codes, codes: tuple[Codes, ...]) -> Axis:
    """One cell a value. Where the values are numbers, thresholds between them are options too."""
    cells = tuple(places(side, few).astype(np.intp) for side in codes)
    events: list[Event] = [one_value(exploration, path, int(code)) for code in few]
    members = np.eye(len(few))
    columns = [table.column(path) for table in exploration.search]
    rows = [next((side, int(np.argmax(codes[side] == code))) for side in (0, 1) if (codes[side] == code).any()) for code in few]
    if all(columns[side].kinds[row] == Kind.NUMBER for side, row in rows):
        values = np.array([columns[side].values[row] for side, row in rows])
        for cut in np.sort(values)[:-1]:
            below = (values <= cut).astype(np.float64)
            events += [Within(Coordinate(path), -math.inf, float(cut)), Within(Coordinate(path), float(cut), math.inf)]
            members = np.vstack([members, below, 1 - below])
    return Axis((cells[0], cells[1]), tuple(events), members)


def propose(exploration: Exploration, first: Axis, second: Axis) -> Iterator[Candidate]:
    """The most promising conjunction of an option of either axis, in either direction."""
    shape = first.members.shape[1], second.members.shape[1]
    hits = []
    for side in (0, 1):
        counts = np.bincount(first.cells[side] * shape[1] + second.cells[side], minlength=shape[0] * shape[1])
        hits.append(np.rint(first.members @ counts.reshape(shape) @ second.members.T).ravel())
    for index, lead in exploration.best(hits[0], hits[1]):
        one, other = divmod(index, len(second.options))
        yield Candidate(Both(first.options[one], second.options[other]), lead)
