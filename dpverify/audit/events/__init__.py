"""Events: sets of outputs that can be counted, described, saved and read back. One file a family.

A family file holds its event type (`mask`, `describe`, `to_json`) and `propose`, which finds the promising members of the
family in an exploration sample. A new family is one new file and one line here. No event knows a probability.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.events.atoms import OneOf
from dpverify.audit.events.equality import Equal
from dpverify.audit.events.joint import Both
from dpverify.audit.events.kinds import IsKind
from dpverify.audit.events.lattice import OnLattice
from dpverify.audit.events.membership import Holds
from dpverify.audit.events.pieces import Pieces
from dpverify.audit.events.thresholds import Within
from dpverify.audit.table import Table
from dpverify.errors import InputError, shown


class Event(Protocol):
    """A set of outputs. Frozen, hashable."""

    def mask(self, table: Table) -> NDArray[np.bool_]:
        """Which outputs of a batch lie in the set."""
        ...

    def describe(self) -> str:
        """The set in words that a reader can check."""
        ...

    def to_json(self) -> dict[str, Any]:
        """The set as data, under its family's name."""
        ...


_FAMILIES: dict[str, Callable[[dict[str, Any]], Event]] = {
    "within": Within.from_json,
    "pieces": Pieces.from_json,
    "one of": OneOf.from_json,
    "equal": Equal.from_json,
    "holds": Holds.from_json,
    "kind": IsKind.from_json,
    "lattice": OnLattice.from_json,
}


def event_from_json(data: Any) -> Event:
    """The event that `to_json` described. Raises InputError where it describes none, or not as `to_json` does."""
    try:
        if data["family"] == "both":
            event: Event = Both(event_from_json(data["first"]), event_from_json(data["second"]))
        else:
            event = _FAMILIES[data["family"]](data)
        again = event.to_json()
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        again = None
    if again is None or _told_apart(again) != _told_apart(data):
        raise InputError(f"evidence: {shown(data)} describes no event; it was not written by dpverify, or was edited.")
    return event


def _told_apart(data: Any) -> Any:
    """Data that is equal only where truth values are: True is not 1 here."""
    if isinstance(data, dict):
        return {key: _told_apart(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_told_apart(value) for value in data]
    return isinstance(data, bool), data


__all__ = ["Both", "Equal", "Event", "Holds", "IsKind", "OnLattice", "OneOf", "Pieces", "Within", "event_from_json"]
