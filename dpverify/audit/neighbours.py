"""Pairs of neighbouring datasets: whether two datasets are one, and the pairs that are worth a try.

A claim speaks of all neighbours, an audit of two datasets. A pair that is not neighbouring would refute a true claim, so every
pair is checked against the relation, by content and not by who made it. Which pairs are tried is a heuristic.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from dpverify.adjacency import Relation
from dpverify.audit.reading import safe_repr
from dpverify.audit.unchanged import digest_of_input
from dpverify.errors import InputError, shown

MOST_PAIRS = 64
"""Pairs of one list, at most: each of them costs outputs."""

ROUNDING = Fraction(1, 2**40)
"""Relative excess of a distance that is put down to the rounding of doubles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedDifference:
    """Vectors of one length that differ by at most `largest` in a norm: the answers of neighbouring datasets.

    `largest` > 0; `norm` is 1, 2 or None, the maximum norm; `most_changed` coordinates differ at most (None: all may);
    every coordinate lies in [low, high].
    """

    largest: float = 1.0
    norm: int | None = None
    most_changed: int | None = None
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        for name in ("largest", "most_changed", "low", "high"):
            value = getattr(self, name)
            if isinstance(value, bool) or not (isinstance(value, Real) or (value is None and name == "most_changed")):
                raise InputError(f"{name} = {shown(value)}: a number is needed.")
        if not 0 < self.largest < math.inf:
            raise InputError(f"largest = {shown(self.largest)}: how far neighbours may be apart is needed, more than 0.")
        if self.norm not in (1, 2, None):
            raise InputError(f"norm = {shown(self.norm)}: 1, 2 or None (the maximum norm) is needed.")
        if self.most_changed is not None and self.most_changed < 1:
            raise InputError(f"most_changed = {shown(self.most_changed)}: at least one coordinate must be free to differ.")
        if not self.low < self.high:
            raise InputError(f"low = {shown(self.low)}, high = {shown(self.high)}: low must be below high.")

    def __str__(self) -> str:
        name = "maximum norm" if self.norm is None else f"{self.norm}-norm"
        places = "" if self.most_changed is None else f", in at most {self.most_changed} coordinates"
        domain = "" if math.isinf(self.low) and math.isinf(self.high) else f", all in [{self.low:g}, {self.high:g}]"
        return f"vectors that differ by at most {self.largest:g} in the {name}{places}{domain}"


Neighbourhood: TypeAlias = Relation | BoundedDifference


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Pairs of datasets to try. Each is checked against the relation when the object is made; None: nobody says what it is."""

    pairs: tuple[tuple[Any, Any], ...]
    relation: Neighbourhood | None

    def __post_init__(self) -> None:
        if not isinstance(self.pairs, tuple | list):
            raise InputError(f"pairs = {shown(self.pairs, safe_repr)}: a list of pairs of neighbouring datasets is needed.")
        if not self.pairs:
            raise InputError("pairs: there is none; give at least one pair of neighbouring datasets.")
        for place, pair in enumerate(self.pairs):
            if not isinstance(pair, tuple | list) or len(pair) != 2 or any(isinstance(data, Iterator) for data in pair):
                raise InputError(
                    f"pairs[{place}] = {shown(pair, safe_repr)}: two datasets are needed, such as a call does not use up."
                )
        for first, second in self.pairs if self.relation is not None else ():
            check_neighbours(first, second, self.relation)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)


def check_neighbours(first: Any, second: Any, relation: Neighbourhood | str | None) -> None:
    """Raise InputError that says why two datasets are not neighbours under the relation; return None where they are.

    relation  "add or remove one record" or "replace one record" (`adjacency.Relation`), for lists, tuples, sets, dicts (their
              items) and arrays (their rows), compared as collections without an order; or a `BoundedDifference` for vectors
    """
    kind = known_relation(relation)
    if isinstance(kind, BoundedDifference):
        _check_difference(first, second, kind)
        return
    sides = _records(first), _records(second)
    sizes = sides[0].total(), sides[1].total()
    only = (sides[0] - sides[1]).total(), (sides[1] - sides[0]).total()
    wanted = ((0, 1), (1, 0)) if kind is Relation.ADD_OR_REMOVE else ((1, 1),)
    if only in wanted:
        return
    if only == (0, 0):
        raise InputError(f"inputs: the two datasets hold the same {sizes[0]} records, and neighbours {kind.value}.")
    raise InputError(
        f"inputs: neighbours {kind.value}, and {only[0]} of the {sizes[0]} records of the first dataset are not in the "
        f"second, {only[1]} of the {sizes[1]} of the second not in the first; an audit of this pair could refute a true claim."
    )


def known_relation(relation: Neighbourhood | str | None) -> Neighbourhood:
    """The relation that is meant; InputError where it is none."""
    if isinstance(relation, BoundedDifference):
        return relation
    try:
        return Relation(relation)  # type: ignore[arg-type]
    except ValueError:
        known = ", ".join(repr(one.value) for one in Relation)
        raise InputError(f"relation = {shown(relation)}: it is one of {known}, or a BoundedDifference.") from None


def add_or_remove(dataset: Sequence[Any], *, records: Iterable[Any] = ()) -> Pairs:
    """The dataset without one of its records, each in turn, and with each of `records` added at the end.

    Returns Pairs for the `inputs` of `audit`, checked to be neighbours.
    """
    base = _listed(dataset, "dataset")
    shorter = [base[:place] + base[place + 1 :] for place in _distinct(base)]
    longer = [[*base, record] for record in _listed(records, "records")]
    return Pairs(pairs=_few([(base, other) for other in [*longer, *shorter]]), relation=Relation.ADD_OR_REMOVE)


def replace_one(dataset: Sequence[Any], *, records: Iterable[Any]) -> Pairs:
    """The dataset with one of its records, each in turn, replaced by each of `records` that differs from it.

    Returns Pairs for the `inputs` of `audit`, checked to be neighbours. Raises InputError where there are none.
    """
    base, found = _listed(dataset, "dataset"), []
    values = _listed(records, "records")
    for place in _distinct(base):
        for record in values:
            if digest_of_input(record) != digest_of_input(base[place]):
                found.append((base, [*base[:place], record, *base[place + 1 :]]))
    return Pairs(pairs=_few(found), relation=Relation.REPLACE)


def bounded_difference(length: int, *, within: BoundedDifference | None = None, base: float = 1.0) -> Pairs:
    """Vectors around the constant vector `base`: the patterns on which auditors are usually compared.

    One coordinate down or up; and where all may move by the bound: one up and the others down, one down and the others up,
    half up and half down, all up, all down, and the first half up by the bound from 0 against the second half. Moves are
    scaled to the norm, clipped to the domain, and what remains is checked.
    """
    relation = BoundedDifference() if within is None else within
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        raise InputError(f"length = {shown(length)}: a whole number of coordinates is needed, at least 1.")
    middle = np.full(length, float(np.clip(base, relation.low, relation.high)))
    one, half = np.arange(length) == 0, np.arange(length) < length / 2
    moves = [-1.0 * one, 1.0 * one]
    if relation.most_changed is None or relation.most_changed >= length:
        moves += [np.where(one, 1, -1), np.where(one, -1, 1), np.where(half, 1, -1), np.ones(length), -np.ones(length)]
        crossed = (np.where(half, relation.largest, 0.0), np.where(half, 0.0, relation.largest))
    pairs = [(middle, middle + _scaled(move, relation)) for move in moves]
    if len(moves) > 2:
        pairs.append((crossed[0], crossed[0] + _scaled(crossed[1] - crossed[0], relation)))
    found, seen = [], set()
    for pair in pairs:
        first, second = (np.clip(side, relation.low, relation.high) for side in pair)
        key = digest_of_input((first, second))
        if key not in seen and not np.array_equal(first, second):
            seen.add(key)
            found.append((first, second))
    return Pairs(pairs=tuple(found), relation=relation)


def _scaled(move: Any, relation: BoundedDifference) -> Any:
    """The move at its full length."""
    size = np.abs(move).max() if relation.norm is None else (np.abs(move) ** relation.norm).sum() ** (1 / relation.norm)
    return move / size * relation.largest


def _listed(records: Iterable[Any], name: str) -> list[Any]:
    if not isinstance(records, Iterable):
        raise InputError(f"{name} = {shown(records, safe_repr)}: a collection of records is needed, a list say.")
    return list(records)


def _distinct(records: Sequence[Any]) -> list[int]:
    """The place of the first of each group of equal records."""
    places: dict[str, int] = {}
    for place, record in enumerate(records):
        places.setdefault(digest_of_input(record), place)
    return list(places.values())


def _few(pairs: list[tuple[Any, Any]]) -> tuple[tuple[Any, Any], ...]:
    """No more than can be tried, evenly spread."""
    if len(pairs) <= MOST_PAIRS:
        return tuple(pairs)
    return tuple(pairs[place * len(pairs) // MOST_PAIRS] for place in range(MOST_PAIRS))


def _records(data: Any) -> Counter[str]:
    """How often each record occurs."""
    if isinstance(data, Mapping):
        items: Iterable[Any] = data.items()
    elif isinstance(data, np.ndarray) and data.ndim:
        items = list(data)
    elif isinstance(data, Sequence | Set) and not isinstance(data, str | bytes):
        items = data
    elif callable(getattr(data, "itertuples", None)):
        items = data.itertuples(index=False)
    else:
        raise InputError(
            f"inputs: {shown(data, safe_repr)} is no collection of records, so records can be neither added nor replaced; "
            f"state a BoundedDifference for numbers."
        )
    return Counter(digest_of_input(item) for item in items)


def _check_difference(first: Any, second: Any, relation: BoundedDifference) -> None:
    try:
        sides = [np.atleast_1d(np.asarray(side, dtype=np.float64)) for side in (first, second)]
    except (TypeError, ValueError):
        raise InputError("inputs: vectors of numbers are needed where neighbours are bounded by a difference.") from None
    if sides[0].shape != sides[1].shape:
        raise InputError(f"inputs: neighbours have one length, and the shapes are {sides[0].shape} and {sides[1].shape}.")
    for place, side in enumerate(sides):
        if not bool(((side >= relation.low) & (side <= relation.high) & np.isfinite(side)).all()):
            raise InputError(f"inputs[{place}] has a coordinate outside of [{relation.low:g}, {relation.high:g}].")
    gaps = [abs(Fraction(float(a)) - Fraction(float(b))) for a, b in zip(sides[0].ravel(), sides[1].ravel(), strict=True)]
    changed = sum(gap > 0 for gap in gaps)
    if changed == 0:
        raise InputError("inputs: the two vectors are equal, and an audit of them can show nothing.")
    if relation.most_changed is not None and changed > relation.most_changed:
        raise InputError(f"inputs: {changed} coordinates differ, and neighbours differ in at most {relation.most_changed}.")
    power = relation.norm or 1
    size = max(gaps) if relation.norm is None else sum((gap**power for gap in gaps), Fraction(0))
    if size > Fraction(relation.largest) ** power * (1 + ROUNDING):
        distance = float(size) ** (1 / power)
        raise InputError(
            f"inputs: these vectors are {distance:.6g} apart, and neighbours are {relation}; an audit of this pair could "
            f"refute a true claim."
        )
