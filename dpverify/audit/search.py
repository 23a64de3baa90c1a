"""Exploration: propose events of every family, rank them on outputs that did not propose them, pick a few.

Which events are tried and which are picked is a heuristic. What an event sees is not: only `lattice` events and what is
marked `precise` look at floats bit by bit, everything else sees rounded outputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from dpverify.audit import learning
from dpverify.audit.events import Event, atoms, equality, joint, kinds, lattice, learned, pieces, thresholds
from dpverify.audit.exploration import (
    BOLDNESS,
    LITTLE_CAUTION,
    LITTLE_RANKING_CAUTION,
    Candidate,
    Exploration,
    Forecast,
    Lead,
    Pair,
)
from dpverify.audit.features import Aggregate, Combination, Coordinate, CountAbove, PlaceOfCode, PlaceOfLargest, Scalar
from dpverify.audit.table import Floats, Kind, Path, Table, is_length

MOST_PICKED = 4
"""Events that are confirmed. The first two have most of the budget of error, so that a fourth costs them nothing."""

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
SHARES = (0.6, 0.3, 0.05, 0.05)
FEW_COORDINATES = 8
NEGLIGIBLE = 200
"""A promise that is lower by one part in so many is given for plainer words."""
FEWEST_TO_COUNT = 3
FINE, COARSE, BOOSTED = 16, 2, 24
"""Cuts of an axis of a score."""
MOST_TEXTS = 40
FEWEST_TO_BOOST = 2_000
COUNTED_ENOUGH = 50
"""Occurrences of each pattern, on average, from which on counting patterns beats a model of them."""


SUMMARIES = tuple(Aggregate(which) for which in ("numbers", "nonzero", "sum", "largest", "smallest"))
"""What is said of all numbers of an output two at a time: how far it goes and how large it is."""


@dataclass(frozen=True, slots=True)
class Picked:
    """An event to confirm, the side on which it should be likelier (`forward`: the first), its share of the error budget,
    whether it sees the bits of floats (`precise`) or rounded numbers, the bound that is forecast, and the point of a claimed
    curve at which it is to be tested."""

    event: Event
    forward: bool
    share: float
    precise: bool
    promise: float = 0.0
    point: tuple[float, float] | None = None


def pick(
    tables: Pair,
    *,
    grid: Mapping[Path, float],
    bits: bool,
    forecast: Forecast,
    enough: float = -math.inf,
    answers: Sequence[float] = (),
) -> list[Picked]:
    """The most promising events for fresh outputs; with `bits`, precise ones among them, but never these alone.

    Trees are grown only where nothing cheaper promises more than `enough`. `answers` are what noise may have been added to.
    """
    rounded = tables[0].rounded(grid), tables[1].rounded(grid)
    single = max(len(table.columns) for table in tables) == 1
    if single:
        forecast = replace(forecast, caution=LITTLE_CAUTION, ranking_caution=LITTLE_RANKING_CAUTION)
    halves = _halves(rounded, forecast)
    halves = replace(halves, whole=rounded) if single else halves
    proposed = list(_candidates(halves))
    if max((one.lead.promise for one in proposed), default=0.0) <= enough:
        proposed += _boosted(halves)
    ranked = [(candidate, False) for candidate in _ranked(halves, proposed)]
    if bits and _differ(tables, rounded):
        halves = _halves(tables, forecast)
        ranked += [(candidate, True) for candidate in _ranked(halves, list(_precise_candidates(halves, answers)))]
    # of events whose promises differ by less than chance moves them, the one that is said in fewer words
    leader = max((candidate.lead for candidate, _ in ranked), key=lambda lead: lead.promise, default=Lead(True, 0.0, 0))
    step = max(min(leader.error / 2, leader.promise / NEGLIGIBLE), 1e-6)
    ranked.sort(key=lambda entry: (-np.rint(entry[0].lead.promise / step), len(entry[0].event.describe())))
    chosen: list[tuple[Candidate, bool]] = []
    masks: list[tuple[bool, NDArray[np.bool_]]] = []
    for candidate, precise in _in_turns(ranked, sorted(ranked, key=lambda entry: -entry[0].lead.hope)):
        if chosen and candidate.lead.promise <= 0 and tables[0].size >= MANY:
            continue  # so many outputs have not shown anything, and each further one would cost a look
        if chosen and _is_ragged(candidate.event):
            continue  # whatever leads says more in fewer words
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
    shares = _shares(len(chosen))
    return [
        Picked(
            candidate.event,
            candidate.lead.forward,
            share,
            precise,
            candidate.lead.promise,
            _point(candidate, tables if precise else rounded, forecast),
        )
        for (candidate, precise), share in zip(chosen, shares, strict=True)
    ]


def _in_turns(one: list[tuple[Candidate, bool]], other: list[tuple[Candidate, bool]]) -> Iterator[tuple[Candidate, bool]]:
    """The first of either list, the second of either, and so on, each entry once."""
    known = set()
    for entry in chain.from_iterable(zip(one, other, strict=True)):
        if id(entry[0]) not in known:
            known.add(id(entry[0]))
            yield entry


def _is_ragged(event: Event) -> bool:
    """Whether a set is held together by nothing but estimated likelihood ratios; such a set always seems to say something."""
    return isinstance(event, pieces.Pieces) or (isinstance(event, atoms.OneOf) and len(event.codes) > atoms.FEW_VALUES)


def _shares(count: int) -> list[float]:
    """Of the error: most for the leader, and a good part for the second, which was chosen with less caution; 1 in all."""
    return [share / sum(SHARES[:count]) for share in SHARES[:count]]


def _point(candidate: Candidate, tables: Pair, forecast: Forecast) -> tuple[float, float] | None:
    if not forecast.points:
        return None
    table, other = tables if candidate.lead.forward else tables[::-1]
    hits, other_hits = int(candidate.event.mask(table).sum()), int(candidate.event.mask(other).sum())
    return forecast.point_for(hits, table.size, other_hits, other.size)


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


def _ranked(exploration: Exploration, proposed: list[Candidate]) -> list[Candidate]:
    """Candidates with the promise that they show on the half that did not propose them, best first."""
    by_promise = sorted(proposed, key=lambda candidate: -candidate.lead.promise)[:MOST_RANKED]
    by_absence = sorted(proposed, key=lambda candidate: -candidate.lead.unmatched)[:MOST_UNMATCHED]
    found = {id(candidate): candidate for candidate in [*by_promise, *by_absence]}.values()
    again: list[Candidate] = []
    forecast = replace(exploration.forecast, caution=exploration.forecast.ranking_caution)
    boldly = replace(exploration.forecast, caution=BOLDNESS)
    for forward in (True, False):
        there = [candidate for candidate in found if candidate.lead.forward == forward]
        sides = [_ranking(exploration, one.event)[:: 1 if forward else -1] for one in there]
        counts = [
            [[np.count_nonzero(one.event.mask(table)), table.size] for table in pair]
            for one, pair in zip(there, sides, strict=True)
        ]
        if there:
            (hits, draws), (other_hits, other_draws) = np.array(counts).transpose(1, 2, 0)
            cautious, bold = (one(hits, draws, other_hits, other_draws) for one in (forecast, boldly))
            again += map(_again, there, hits.tolist(), other_hits.tolist(), cautious.tolist(), bold.tolist())
    again.sort(key=lambda candidate: -candidate.lead.promise)
    return again


def _ranking(exploration: Exploration, event: Event) -> Pair:
    """The outputs that rank an event: all of them where there are one or two cuts to choose, which share their luck."""
    return exploration.whole if exploration.whole is not None and isinstance(event, thresholds.Within) else exploration.rank


def _again(candidate: Candidate, hits: int, other_hits: int, promise: float, hope: float) -> Candidate:
    """The candidate with the promise that it shows on the half that did not propose it; unmatched only if on both."""
    unmatched = hits + candidate.lead.unmatched if candidate.lead.unmatched and not other_hits else 0
    error: float = (1 / max(hits, 1) + 1 / max(other_hits, 1)) ** 0.5
    # ragged sets win by luck where plain ones say as much
    handicap = error if isinstance(candidate.event, pieces.Pieces) else 0.0
    return Candidate(candidate.event, Lead(candidate.lead.forward, promise - handicap, unmatched, error, hope))


def _candidates(exploration: Exploration) -> Iterator[Candidate]:
    """The ordinary families, on rounded outputs."""
    paths = list(dict.fromkeys(path for table in exploration.search for path in table.columns))
    numeric = _foremost(exploration, [path for path in paths if _has_numbers(exploration, path)])
    for path in paths:
        yield from kinds.propose(exploration, path)
    items = [path for path in numeric if not is_length(path)]
    scalars: list[Scalar] = [Coordinate(path) for path in numeric]
    if len(items) > 1:
        scalars += _aggregates(exploration, items)
    smaller = _thinned(exploration)
    for scalar in scalars:
        seen = smaller if len(items) > FEW_COORDINATES and not isinstance(scalar, Coordinate) else exploration
        yield from thresholds.propose(seen, scalar)
        if len(numeric) <= FEW_COORDINATES:
            yield from pieces.propose(seen, scalar)
    valued = [*numeric, *(path for path in paths if path not in numeric and _has_text(exploration, path))][:MOST_COORDINATES]
    for path in valued:
        yield from atoms.propose(exploration, path)
    if len(paths) > 1:
        yield from atoms.propose(exploration, None)
    pairs = list(combinations(items[:MOST_IN_PAIRS], 2))
    for count in _counts_above(exploration, items):
        yield from thresholds.propose(exploration, count)
    for combination in _combinations_that_differ(exploration, pairs):
        yield from thresholds.propose(smaller, combination)
    for one, other in pairs:
        yield from equality.propose(smaller, one, other)
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


def _boosted(exploration: Exploration) -> Iterator[Candidate]:
    """Thresholds on a boosted score, where an output has several coordinates and its patterns are too many to be counted."""
    paths = list(dict.fromkeys(path for table in exploration.search for path in table.columns))
    numeric = _foremost(exploration, [path for path in paths if _has_numbers(exploration, path)])
    valued = [*numeric, *(path for path in paths if path not in numeric and _has_text(exploration, path))][:MOST_COORDINATES]
    size = min(table.size for table in exploration.search)
    if len(valued) < 2 or size < FEWEST_TO_BOOST:
        return
    patterns = len(np.unique(np.concatenate([table.whole() for table in exploration.search])))
    if patterns * COUNTED_ENOUGH <= size:
        return
    items = [path for path in numeric if not is_length(path)]
    scalars = _score_scalars(exploration, valued)
    if len(items) > 1:
        scalars += [*_steps(items)[1:], *_aggregates(exploration, items)]
    axes = learning.axes_of(exploration.search, scalars, BOOSTED)
    if len(axes) > 1 and (score := learning.boosted(exploration.search, axes)) is not None:
        yield from learned.propose(exploration, score)


def _precise_candidates(exploration: Exploration, answers: Sequence[float]) -> Iterator[Candidate]:
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
