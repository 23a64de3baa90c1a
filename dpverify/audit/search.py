"""Exploration: propose events of every family, rank them on outputs that did not propose them, pick a few.

Which events are tried and which are picked is a heuristic. What an event sees is not: only `lattice` events and what is
marked `precise` look at floats bit by bit, everything else sees rounded outputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dpverify.audit import dissecting, families
from dpverify.audit.events import Event, atoms, kinds, pieces, thresholds
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
from dpverify.audit.scores import Score
from dpverify.audit.table import Kind, Path

MOST_PICKED = 4
"""Events that are confirmed. The first two have most of the budget of error, so that a fourth costs them nothing."""

MOST_RANKED = 64
MOST_UNMATCHED = 8
FEWEST_UNMATCHED = 4
ALIKE = 0.97
MANY = 100_000
MOST_PROPOSING = 100_000
"""Single numbers that propose events, at most: thresholds among the outermost are proposed by all of them all the same."""
SHARES = (0.6, 0.3, 0.05, 0.05)
NEGLIGIBLE = 200
"""A promise that is lower by one part in so many is given for plainer words."""


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
    whole: bool = False,
) -> list[Picked]:
    """The most promising events for fresh outputs; with `bits`, precise ones among them, but never these alone.

    With `whole`, plain events are ranked on all outputs, those that proposed them too, as they are of single numbers: what is
    promised is a little too much, and the best event is more often among what is picked. Trees are grown only where nothing
    cheaper promises more than `enough`. `answers` are what noise may have been added to.
    """
    tables = dissecting.opened(tables)
    rounded = tables[0].rounded(grid), tables[1].rounded(grid)
    single = max(len(table.columns) for table in tables) == 1
    if single and not whole:
        forecast = replace(forecast, caution=LITTLE_CAUTION, ranking_caution=LITTLE_RANKING_CAUTION)
    halves = _halves(rounded, forecast, thin=single)
    halves = replace(halves, whole=rounded) if single or whole else halves
    proposed = list(families.ordinary(halves))
    if max((one.lead.promise for one in proposed), default=0.0) <= enough:
        proposed += families.boosted(halves)
    ranked = [(candidate, False) for candidate in _ranked(halves, proposed)]
    if bits and _differ(tables, rounded):
        halves = _halves(tables, forecast, thin=single)
        ranked += [(candidate, True) for candidate in _ranked(halves, list(families.precise(halves, answers)))]
    # of events whose promises differ by less than chance moves them, the one that is said most plainly
    leader = max((candidate.lead for candidate, _ in ranked), key=lambda lead: lead.promise, default=Lead(True, 0.0, 0))
    step = max(min(leader.error / 2, leader.promise / NEGLIGIBLE), 1e-6)
    ranked.sort(key=lambda entry: (-np.rint(entry[0].lead.promise / step), *_wordiness(entry[0].event)))
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


def _wordiness(event: Event) -> tuple[bool, int]:
    """How much a reader has to take in. That a value is there, or is missing, is said before how large it is."""
    return not isinstance(event, kinds.IsKind), len(event.describe())


def _is_ragged(event: Event) -> bool:
    """Whether a set is held together by nothing but estimated likelihood ratios; such a set always seems to say something."""
    return isinstance(event, pieces.Pieces) or (isinstance(event, atoms.OneOf) and len(event.codes) > atoms.FEW_VALUES)


def _is_plain(event: Event) -> bool:
    """Whether no set of values or intervals was gathered for it one by one."""
    return not isinstance(event, pieces.Pieces) and not (isinstance(event, atoms.OneOf) and len(event.codes) > 1)


def _is_score(event: Event) -> bool:
    """Whether a learned score decides."""
    return isinstance(event, thresholds.Within) and isinstance(event.scalar, Score)


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


def _halves(tables: Pair, forecast: Forecast, *, thin: bool = False) -> Exploration:
    """Every other output proposes, or fewer where `thin` and there are very many; the rest ranks."""
    step = 2 * -(-max(table.size for table in tables) // (2 * MOST_PROPOSING)) if thin else 2
    search = tables[0].taken(slice(0, None, step)), tables[1].taken(slice(0, None, step))
    rank = tables[0].taken(slice(1, None, 2)), tables[1].taken(slice(1, None, 2))
    return Exploration(search=search, rank=rank, forecast=forecast)


def _differ(tables: Pair, rounded: Pair) -> bool:
    return any(
        not np.array_equal(table.columns[path].codes, other.columns[path].codes)
        for table, other in zip(tables, rounded, strict=True)
        for path in table.columns
    )


def _alike(mask: NDArray[np.bool_], other: NDArray[np.bool_]) -> bool:
    either, both = int(np.count_nonzero(mask | other)), int(np.count_nonzero(mask & other))
    return either == 0 or both >= ALIKE * either


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
    """The outputs that rank an event: all of them where there is little to choose, and neighbours share their luck."""
    plain = _is_plain(event) and not _is_score(event)  # a score has learned from the half that proposed it
    return exploration.whole if exploration.whole is not None and plain else exploration.rank


def _again(candidate: Candidate, hits: int, other_hits: int, promise: float, hope: float) -> Candidate:
    """The candidate with the promise that it shows on the half that did not propose it; unmatched only if on both."""
    unmatched = hits + candidate.lead.unmatched if candidate.lead.unmatched and not other_hits else 0
    error: float = (1 / max(hits, 1) + 1 / max(other_hits, 1)) ** 0.5
    # ragged sets win by luck where plain ones say as much, and a score was cut where this half likes it best
    handicap = error * (0.5 if _is_score(candidate.event) else float(not _is_plain(candidate.event)))
    foreseen = candidate.lead.foreseen
    # what is foreseen counts as far as the event's own counts bear it out
    promise = max(promise - handicap, min(foreseen, hope))
    return Candidate(candidate.event, Lead(candidate.lead.forward, promise, unmatched, error, max(hope, foreseen), foreseen))
