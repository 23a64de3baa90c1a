"""Exploration: propose events of every family, rank them on outputs that did not propose them, pick a few.

Which events are tried and which are picked is a heuristic. What an event sees is not: only `lattice` events and what is
marked `precise` look at floats bit by bit, everything else sees rounded outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.events import Event, atoms, equality, joint, kinds, lattice, thresholds
from dpverify.audit.exploration import Candidate, Exploration, Forecast, Lead, Pair
from dpverify.audit.features import Aggregate, Combination, Coordinate, Scalar
from dpverify.audit.table import Floats, Kind, Path, Table, is_length

MOST_PICKED = 4
"""Events that are confirmed. The budget of error is halved from one to the next, so a fourth costs the first nothing."""

MOST_COORDINATES = 24
MOST_IN_PAIRS = 16
MOST_COMBINATIONS = 10
MOST_IN_JOINT = 8
MOST_RANKED = 64
MOST_UNMATCHED = 8
FEWEST_UNMATCHED = 4
SCREENED = 1000
PAIR_SAMPLE = 40_000
ALIKE = 0.97
MANY = 100_000


@dataclass(frozen=True, slots=True)
class Picked:
    """An event to confirm, the side on which it should be likelier (`forward`: the first), its share of the error budget,
    whether it sees the bits of floats (`precise`) or rounded numbers, and the bound that is forecast."""

    event: Event
    forward: bool
    share: float
    precise: bool
    promise: float = 0.0


def pick(tables: Pair, *, grid: Mapping[Path, float], bits: bool, forecast: Forecast) -> list[Picked]:
    """The most promising events for fresh outputs; with `bits`, precise ones among them, but never these alone."""
    rounded = tables[0].rounded(grid), tables[1].rounded(grid)
    ranked = [(candidate, False) for candidate in _ranked(_halves(rounded, forecast), precise=False)]
    if bits and _differ(tables, rounded):
        ranked += [(candidate, True) for candidate in _ranked(_halves(tables, forecast), precise=True)]
    # of events whose promises differ by less than chance moves them, the one that is said in fewer words
    leader = max((candidate.lead for candidate, _ in ranked), key=lambda lead: lead.promise, default=Lead(True, 0.0, 0))
    step = max(leader.error / 2, 1e-3)
    ranked.sort(key=lambda entry: (-np.rint(entry[0].lead.promise / step), len(entry[0].event.describe())))
    chosen: list[tuple[Candidate, bool]] = []
    masks: list[tuple[bool, NDArray[np.bool_]]] = []
    for candidate, precise in ranked:
        if chosen and candidate.lead.promise <= 0 and tables[0].size >= MANY:
            continue  # so many outputs have not shown anything, and each further one would cost a look
        seen = tables if precise else rounded
        mask = np.concatenate([candidate.event.mask(table) for table in seen])
        if not any(candidate.lead.forward == forward and _alike(mask, other) for forward, other in masks):
            chosen.append((candidate, precise))
            masks.append((candidate.lead.forward, mask))
        if len(chosen) == MOST_PICKED:
            break
    absent = max(ranked, key=lambda entry: entry[0].lead.unmatched, default=None)
    if absent is not None and absent[0].lead.unmatched >= FEWEST_UNMATCHED and absent not in chosen:
        chosen = [*chosen[: MOST_PICKED - 1], absent]
    if all(precise for _, precise in chosen):
        anything = Candidate(_anything(rounded), Lead(True, 0.0, 0)), False
        chosen = [*chosen[: MOST_PICKED - 1], next((entry for entry in ranked if not entry[1]), anything)]
    shares = [0.5 ** min(place + 1, max(len(chosen) - 1, 0)) for place in range(len(chosen))]
    return [
        Picked(candidate.event, candidate.lead.forward, share, precise, candidate.lead.promise)
        for (candidate, precise), share in zip(chosen, shares, strict=True)
    ]


def _anything(tables: Pair) -> Event:
    """An event to count where nothing else suggests itself: outputs that are all different and otherwise alike."""
    path, column = next(iter(tables[0].columns.items()))
    return kinds.IsKind(path, Kind(column.kinds[0]))


def _halves(tables: Pair, forecast: Forecast) -> Exploration:
    """Every other output proposes, the rest ranks."""
    search = tables[0].taken(slice(0, None, 2)), tables[1].taken(slice(0, None, 2))
    rank = tables[0].taken(slice(1, None, 2)), tables[1].taken(slice(1, None, 2))
    return Exploration(search=search, rank=rank, forecast=forecast)


def _differ(tables: Pair, rounded: Pair) -> bool:
    return any(
        not np.array_equal(table.columns[path].codes, other.columns[path].codes)
        for table, other in zip(tables, rounded, strict=True)
        for path in table.columns
    )


def _alike(mask: NDArray[np.bool_], other: NDArray[np.bool_]) -> bool:
    either = int((mask | other).sum())
    return either == 0 or int((mask & other).sum()) >= ALIKE * either


def _ranked(exploration: Exploration, *, precise: bool) -> list[Candidate]:
    """Candidates with the promise that they show on the half that did not propose them, best first."""
    proposed = list(_precise_candidates(exploration) if precise else _candidates(exploration))
    by_promise = sorted(proposed, key=lambda candidate: -candidate.lead.promise)[:MOST_RANKED]
    by_absence = sorted(proposed, key=lambda candidate: -candidate.lead.unmatched)[:MOST_UNMATCHED]
    found = {id(candidate): candidate for candidate in [*by_promise, *by_absence]}.values()
    again = [_again(exploration, candidate) for candidate in found]
    again.sort(key=lambda candidate: -candidate.lead.promise)
    return again


def _again(exploration: Exploration, candidate: Candidate) -> Candidate:
    """The candidate with the promise that it shows on the half that did not propose it; unmatched only if on both."""
    side = 0 if candidate.lead.forward else 1
    table, other = exploration.rank[side], exploration.rank[1 - side]
    hits, other_hits = int(candidate.event.mask(table).sum()), int(candidate.event.mask(other).sum())
    promise = exploration.forecast(np.array([hits]), table.size, np.array([other_hits]), other.size)
    unmatched = hits + candidate.lead.unmatched if candidate.lead.unmatched and not other_hits else 0
    error = (1 / max(hits, 1) + 1 / max(other_hits, 1)) ** 0.5
    return Candidate(candidate.event, Lead(candidate.lead.forward, float(promise[0]), unmatched, error))


def _candidates(exploration: Exploration) -> Iterator[Candidate]:
    """The ordinary families, on rounded outputs."""
    paths = list(dict.fromkeys(path for table in exploration.search for path in table.columns))
    numeric = _foremost(exploration, [path for path in paths if _has_numbers(exploration, path)])
    for path in paths:
        yield from kinds.propose(exploration, path)
    scalars: list[Scalar] = [Coordinate(path) for path in numeric]
    items = [path for path in numeric if not is_length(path)]
    if len(items) > 1:
        scalars += [Aggregate(which) for which in ("sum", "largest", "smallest", "nonzero")]
    for scalar in scalars:
        yield from thresholds.propose(exploration, scalar)
    valued = [*numeric, *(path for path in paths if path not in numeric and _has_text(exploration, path))][:MOST_COORDINATES]
    for path in valued:
        yield from atoms.propose(exploration, path)
    if len(paths) > 1:
        yield from atoms.propose(exploration, None)
    pairs = list(combinations(items[:MOST_IN_PAIRS], 2))
    smaller = _thinned(exploration)
    for combination in _combinations_that_differ(exploration, pairs):
        yield from thresholds.propose(smaller, combination)
    for one, other in pairs:
        yield from equality.propose(smaller, one, other)
    axes = [axis for path in valued[:MOST_IN_JOINT] if (axis := joint.axis_of(smaller, path)) is not None]
    for first, second in combinations(axes, 2):
        yield from joint.propose(smaller, first, second)


def _precise_candidates(exploration: Exploration) -> Iterator[Candidate]:
    """What sees every bit: the lattice events, and values and equalities before rounding."""
    paths = list(dict.fromkeys(path for table in exploration.search for path in table.columns))
    numeric = [
        path for path in _foremost(exploration, [p for p in paths if _has_numbers(exploration, p)]) if not is_length(path)
    ]
    for path in numeric:
        yield from lattice.propose(exploration, path)
        yield from atoms.propose(exploration, path)
    for one, other in combinations(numeric[:MOST_IN_PAIRS], 2):
        yield from equality.propose(exploration, one, other)


def _thinned(exploration: Exploration) -> Exploration:
    """Fewer proposing outputs, for the families that try many pairs."""
    first, second = exploration.search
    search = first.taken(slice(0, PAIR_SAMPLE)), second.taken(slice(0, PAIR_SAMPLE))
    return Exploration(search=search, rank=exploration.rank, forecast=exploration.forecast)


def _has_numbers(exploration: Exploration, path: Path) -> bool:
    return any(bool((table.column(path).kinds == Kind.NUMBER).any()) for table in exploration.search)


def _has_text(exploration: Exploration, path: Path) -> bool:
    return any(bool(np.isin(table.column(path).kinds, (Kind.TEXT, Kind.OTHER)).any()) for table in exploration.search)


def _foremost(exploration: Exploration, paths: list[Path]) -> list[Path]:
    """All paths, or, where there are too many, those on which the two sides differ most; in their own order."""
    if len(paths) <= MOST_COORDINATES:
        return paths
    gaps = _gaps(*(_columns(table, paths) for table in exploration.search))
    return [paths[place] for place in sorted(np.argsort(-gaps, kind="stable")[:MOST_COORDINATES])]


def _columns(table: Table, paths: list[Path]) -> Floats:
    return np.stack([table.column(path).values[:SCREENED] for path in paths], axis=1)


def _combinations_that_differ(exploration: Exploration, pairs: list[tuple[Path, Path]]) -> list[Combination]:
    """Of all sums and differences of two coordinates, those on which the two sides differ most."""
    found = [Combination(one, other, sign) for one, other in pairs for sign in (-1, 1)]
    if len(found) <= MOST_COMBINATIONS:
        return found
    small = [table.taken(slice(0, SCREENED)) for table in exploration.search]
    values = [np.stack([combination.values(table) for combination in found], axis=1) for table in small]
    gaps = _gaps(values[0], values[1])
    return [found[place] for place in np.argsort(-gaps, kind="stable")[:MOST_COMBINATIONS]]


def _gaps(first: Floats, second: Floats) -> Floats:
    """The largest distance between the two empirical distribution functions (Kolmogorov and Smirnov), column by column."""
    gaps = np.zeros(first.shape[1])
    for place in range(first.shape[1]):
        one, other = np.sort(first[:, place]), np.sort(second[:, place])
        both = np.concatenate([one, other])
        there = np.searchsorted(one, both, side="right") / len(one)
        gaps[place] = np.abs(there - np.searchsorted(other, both, side="right") / len(other)).max()
    return gaps
