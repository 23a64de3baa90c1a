"""Which events are tried: the families of `events`, each on what outputs have to offer, the costly ones on fewer outputs.

All of it is a heuristic that costs time where it tries too much, and power where it tries too little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np

from dpverify.audit import learning
from dpverify.audit.events import (
    atoms,
    equality,
    extremes,
    joint,
    kinds,
    ladder,
    lattice,
    learned,
    membership,
    pieces,
    thresholds,
)
from dpverify.audit.exploration import Candidate, Exploration
from dpverify.audit.features import Aggregate, Combination, Coordinate, CountAbove, PlaceOfCode, PlaceOfLargest, Scalar
from dpverify.audit.table import Floats, Kind, Path, Table, is_length
from dpverify.audit.texts import is_character, is_number, is_part

MOST_COORDINATES = 24
MOST_IN_PAIRS = 16
MOST_COMBINATIONS = 10
MOST_IN_JOINT = 8
MOST_PARTS_TOGETHER, FEWEST_TO_JOIN, DIFFERENT = 5, 2_000, 1.6
SCREENED = 1000
PAIR_SAMPLE = 40_000
PIECES_SAMPLE = 40_000
FEW_COORDINATES = 8
FEWEST_TO_COUNT = 3
MOST_TEXTS = 40
FEWEST_TO_BOOST = 2_000
FINE, COARSE, BOOSTED = 16, 2, 24
"""Cuts of an axis of a score."""
COUNTED_ENOUGH = 50
"""Occurrences of each pattern, on average, from which on counting patterns beats a model of them."""

SUMMARIES = tuple(Aggregate(which) for which in ("numbers", "nonzero", "sum", "largest", "smallest"))
"""What is said of all numbers of an output two at a time: how far it goes and how large it is."""


def ordinary(exploration: Exploration) -> Iterator[Candidate]:
    """The ordinary families, on rounded outputs."""
    paths = list(dict.fromkeys(path for table in exploration.search for path in table.columns))
    parts = [path for path in paths if is_part(path)]
    numeric = _foremost(exploration, [path for path in paths if _has_numbers(exploration, path)])
    for path in paths:
        if not is_character(path):  # the length says whether it is there
            yield from kinds.propose(exploration, path)
    items = [path for path in numeric if not is_length(path) and not is_part(path)]
    scalars: list[Scalar] = [Coordinate(path) for path in numeric]
    if len(items) > 1:
        scalars += _aggregates(exploration, items)
    smaller = _thinned(exploration)
    for scalar in scalars:
        seen = smaller if len(items) > FEW_COORDINATES and not isinstance(scalar, Coordinate) else exploration
        yield from thresholds.propose(seen, scalar)
        yield from extremes.propose(seen, scalar)
        yield from ladder.propose(seen, scalar)
        if len(numeric) <= FEW_COORDINATES:
            yield from pieces.propose(_fewer_ranked(seen), scalar)
    valued = _valued(exploration, paths, numeric)
    for path in valued:
        yield from atoms.propose(exploration, path)
    if len(paths) - len(parts) > 1:
        yield from atoms.propose(exploration, None)
    for container in membership.containers([path for path in paths if not is_part(path)]):
        yield from membership.propose(smaller, container)
    numbers = [*items, *(path for path in parts if path in numeric and is_number(path) and not is_length(path))]
    pairs = list(combinations(numbers[:MOST_IN_PAIRS], 2))
    for count in _counts_above(exploration, items):
        yield from thresholds.propose(exploration, count)
        yield from ladder.propose(exploration, count)
    for combination in _combinations_that_differ(exploration, pairs):
        yield from thresholds.propose(smaller, combination)
    for one, other in pairs:
        yield from equality.propose(smaller, one, other)
    valued = _together(exploration, valued)
    jointly = valued[:MOST_IN_JOINT] if len(valued) > 1 else []
    axes = [axis for path in jointly if (axis := joint.axis_of(smaller, path)) is not None]
    for first, second in combinations(axes, 2):
        yield from joint.propose(smaller, first, second)
    if len(items) > 1:
        summaries = [axis for scalar in SUMMARIES if (axis := joint.axis_of_scalar(exploration, scalar)) is not None]
        for first, second in combinations(summaries, 2):
            yield from joint.propose(exploration, first, second)
    if len(valued) > 1 and min(table.size for table in exploration.search) >= learning.FEWEST_ROWS:
        coordinates = _score_scalars(exploration, valued)
        for group in (coordinates, _steps(items)):
            for cuts in (FINE, COARSE):
                score = learning.additive(exploration.search, learning.axes_of(exploration.search, group, cuts))
                if score is not None:
                    yield from learned.propose(exploration, score)


def _aggregates(exploration: Exploration, items: list[Path]) -> list[Scalar]:
    """What can be said of all numbers at once."""
    found: list[Scalar] = [
        Aggregate(which) for which in ("sum", "largest", "smallest", "nonzero", "numbers", "largest step", "smallest step")
    ]
    places = tuple(items)
    return [*found, PlaceOfLargest(places), PlaceOfLargest(places, False)]


def _counts_above(exploration: Exploration, items: list[Path]) -> Iterator[Scalar]:
    """Counts of numbers, and of steps, above a few quantiles of all of them: what exchangeable coordinates have to say."""
    if len(items) < FEWEST_TO_COUNT:
        return
    few = tuple(table.taken(slice(0, SCREENED)) for table in exploration.search)
    for steps in (False, True):
        scalars = _steps(items) if steps else [Coordinate(path) for path in items]
        values = np.concatenate([scalar.values(table) for scalar in scalars for table in few])
        values = np.unique(values[np.isfinite(values)]) if len(np.unique(values)) <= 3 else values[np.isfinite(values)]
        if len(values) < 2:
            continue
        pooled = np.unique(values)
        cuts = np.unique(np.quantile(values, (0.2, 0.5, 0.8), method="inverted_cdf"))
        for cut in cuts[cuts < pooled[-1]]:
            yield CountAbove(thresholds.plain_cut(float(cut), pooled), steps)


def _steps(items: list[Path]) -> list[Scalar]:
    """The first number, and what each adds to the one before."""
    between = [Combination(after, before, -1) for before, after in pairwise(items)]
    return [Coordinate(items[0]), *between] if between else []


def _score_scalars(exploration: Exploration, paths: list[Path]) -> list[Scalar]:
    """What a score may look at: numbers as they are, few texts by which of them it is."""
    scalars: list[Scalar] = []
    for path in paths:
        if _has_numbers(exploration, path):
            scalars.append(Coordinate(path))
        if _has_text(exploration, path):
            codes = np.unique(np.concatenate([table.column(path).codes for table in exploration.search]))
            if len(codes) <= MOST_TEXTS:
                scalars.append(PlaceOfCode(path, tuple(map(int, codes))))
    return scalars


def boosted(exploration: Exploration) -> Iterator[Candidate]:
    """Thresholds on a boosted score, where an output has several coordinates and its patterns are too many to be counted."""
    paths = list(dict.fromkeys(path for table in exploration.search for path in table.columns))
    numeric = _foremost(exploration, [path for path in paths if _has_numbers(exploration, path)])
    valued = _together(exploration, _valued(exploration, paths, numeric))
    size = min(table.size for table in exploration.search)
    if len(valued) < 2 or size < FEWEST_TO_BOOST:
        return
    patterns = len(np.unique(np.concatenate([table.whole() for table in exploration.search])))
    if patterns * COUNTED_ENOUGH <= size:
        return
    items = [path for path in numeric if not is_length(path) and not is_part(path)]
    scalars = _score_scalars(exploration, valued)
    if len(items) > 1:
        scalars += [*_steps(items)[1:], *_aggregates(exploration, items)]
    axes = learning.axes_of(exploration.search, scalars, BOOSTED)
    if len(axes) > 1 and (score := learning.boosted(exploration.search, axes)) is not None:
        yield from learned.propose(exploration, score)


def precise(exploration: Exploration, answers: Sequence[float]) -> Iterator[Candidate]:
    """What sees every bit: the lattice events, also of differences from the answers, and values and equalities unrounded."""
    paths = list(dict.fromkeys(path for table in exploration.search for path in table.columns))
    numeric = [
        path for path in _foremost(exploration, [p for p in paths if _has_numbers(exploration, p)]) if not is_length(path)
    ]
    for path in numeric:
        for answer in dict.fromkeys((0.0, *answers)):
            yield from lattice.propose(exploration, path, answer)
        yield from atoms.propose(exploration, path)
    for one, other in combinations(numeric[:MOST_IN_PAIRS], 2):
        yield from equality.propose(exploration, one, other)


def _thinned(exploration: Exploration) -> Exploration:
    """Fewer proposing outputs, for the families that try many pairs."""
    first, second = exploration.search
    search = first.taken(slice(0, PAIR_SAMPLE)), second.taken(slice(0, PAIR_SAMPLE))
    return Exploration(search=search, rank=exploration.rank, forecast=exploration.forecast)


def _fewer_ranked(exploration: Exploration) -> Exploration:
    """Fewer outputs that decide how many cells are joined; what comes of it is ranked on all of them."""
    first, second = exploration.rank
    rank = first.taken(slice(0, PIECES_SAMPLE)), second.taken(slice(0, PIECES_SAMPLE))
    return replace(exploration, rank=rank)


def _has_numbers(exploration: Exploration, path: Path) -> bool:
    return any(bool((table.column(path).kinds == Kind.NUMBER).any()) for table in exploration.search)


def _has_text(exploration: Exploration, path: Path) -> bool:
    return any(bool(np.isin(table.column(path).kinds, (Kind.TEXT, Kind.OTHER)).any()) for table in exploration.search)


def _valued(exploration: Exploration, paths: list[Path], numeric: list[Path]) -> list[Path]:
    """Coordinates that hold numbers, and after them those that hold text; of texts, all parts that were opened."""
    found = [*numeric, *(path for path in paths if path not in numeric and _has_text(exploration, path))]
    return [*[path for path in found if not is_part(path)][:MOST_COORDINATES], *(path for path in found if is_part(path))]


def _together(exploration: Exploration, paths: list[Path]) -> list[Path]:
    """What is looked at jointly: of texts, a few parts in each of which the two sides differ, for each takes time whenever it
    is counted; and none where outputs are so few that some pair of parts is always lucky."""
    many = min(table.size for table in exploration.search) >= FEWEST_TO_JOIN
    parts = [path for path in paths if many and is_part(path) and _differs(exploration, path)][:MOST_PARTS_TOGETHER]
    return [path for path in paths if not is_part(path) or path in parts]


def _differs(exploration: Exploration, path: Path) -> bool:
    """Whether the two sides differ on a coordinate in a way that chance hardly makes: by the distance between their
    distribution functions, of texts in some order that has nothing to do with them."""
    columns = [table.column(path) for table in exploration.search]
    sides = [np.where(np.isnan(column.values), column.codes, column.values) for column in columns]
    gap = float(_gaps(sides[0][:, None], sides[1][:, None])[0])
    size = len(sides[0]) * len(sides[1]) / (len(sides[0]) + len(sides[1]))
    return gap * float(size**0.5) > DIFFERENT


def _foremost(exploration: Exploration, paths: list[Path]) -> list[Path]:
    """All paths, or, where there are too many, those on which the two sides differ most; in their own order.

    Parts of texts are there because the two sides differ in them.
    """
    parts = [path for path in paths if is_part(path)]
    paths = [path for path in paths if not is_part(path)]
    if len(paths) > MOST_COORDINATES:
        gaps = _gaps(*(_columns(table, paths) for table in exploration.search))
        paths = [paths[place] for place in sorted(np.argsort(-gaps, kind="stable")[:MOST_COORDINATES])]
    return [*paths, *parts]


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
