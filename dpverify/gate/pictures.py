"""What a report draws of an audit: the laws of the outputs, and the capital of one who bets against the claim.

A picture is made of outputs drawn for it alone, with seeds of their own. It illustrates: no verdict rests on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpverify.audit.callables import form_of
from dpverify.audit.calls import Calls, Request
from dpverify.audit.events import Event, event_from_json
from dpverify.audit.statistics.betting import PairCounts, log_capital
from dpverify.audit.table import Column, Kind, Table, joined, name, text_of_cell
from dpverify.audit.texts import is_character
from dpverify.errors import DpverifyError

if TYPE_CHECKING:
    from dpverify.audit.result import AuditResult
    from dpverify.gate.claims import SampledClaim

OUTPUTS = 20_000
"""Outputs a side that a picture is made of, at most; an audit that drew fewer is pictured with as many as it drew."""

BLOCK = 1000
FIRST_BLOCK = 2**32
"""Blocks from here on are seeded apart from those of any audit."""

BINS = 48
MOST_VALUES = 40
MOST_CATEGORIES = 16
LOOKS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """Counts of outputs on either input in cells; `edges` bound the cells of numbers, `names` are those of categories.

    `inside` is the part of a cell's outputs that lies in the event; `coordinate` says which part of an output is shown.
    """

    edges: tuple[float, ...]
    names: tuple[str, ...]
    counts: tuple[tuple[int, ...], tuple[int, ...]]
    inside: tuple[float, ...]
    coordinate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """`drawn` outputs a side; the event that they were searched for, in words; (pairs, log of capital) in order; (false-alarm
    rate, miss rate) of the best tests, measured on the second half of the outputs and chosen on the first."""

    drawn: int
    event: str
    law: Law
    capital: tuple[tuple[int, float], ...]
    trade_off: tuple[tuple[float, float], ...]


def pictured(claim: SampledClaim, result: AuditResult, seed: int) -> Pictures | None:
    """Outputs drawn for a picture, cut into cells; None where none can be drawn or no event was tested."""
    found = _event(result)
    if found is None:
        return None
    event, description, forward, precise = found
    size = min(OUTPUTS, result.samples)
    try:
        raw = _drawn(claim, seed, size)
    except DpverifyError:
        return None
    grid = {tuple(one["path"]): one["spacing"] for one in result.evidence["grid"]}
    seen = raw if precise else (raw[0].rounded(grid), raw[1].rounded(grid))
    masks = event.mask(seen[0]), event.mask(seen[1])
    law, cells = _law(seen, masks, event)
    return Pictures(
        drawn=size,
        event=description,
        law=law,
        capital=_capital(masks if forward else (masks[1], masks[0]), result),
        trade_off=_trade_off(cells, masks, forward),
    )


def _event(result: AuditResult) -> tuple[Event, str, bool, bool] | None:
    """The witness, or of the tests that count the one with the largest bound."""
    witness = result.witness
    if witness is not None:
        return event_from_json(witness.event), witness.description, witness.likelier == 0, witness.precise
    tests = [test for test in result.evidence["tests"] if test["set_aside"] is None]
    if not tests:
        return None
    best = max(tests, key=lambda test: test["epsilon_lower"])
    return event_from_json(best["event"]), best["description"], best["likelier"] == 0, best["precise"]


def _drawn(claim: SampledClaim, seed: int, size: int) -> tuple[Table, Table]:
    calls = Calls(claim.mechanism, form_of(claim.mechanism), (claim.inputs[0], claim.inputs[1]), seed)
    sides = []
    for side in (0, 1):
        starts = range(0, size, BLOCK)
        blocks = [
            calls.outputs(Request(side=side, block=FIRST_BLOCK + 2 * place + side, size=min(BLOCK, size - start)))
            for place, start in enumerate(starts)
        ]
        sides.append(joined(blocks))
    return sides[0], sides[1]


def _law(tables: tuple[Table, Table], masks: Any, event: Event) -> tuple[Law, Any]:
    """The counts, and for either side the cell of each output."""
    path = _path(tables, event)
    columns = tables[0].column(path), tables[1].column(path)
    numbers = all((column.kinds == Kind.NUMBER).all() for column in columns)
    values = tuple(column.values if numbers else column.codes for column in columns)
    pooled = np.concatenate(values)
    different = np.unique(pooled)
    if numbers and len(different) > MOST_VALUES:
        low, high = np.quantile(pooled, [0.002, 0.998])
        edges = np.linspace(low, high, BINS + 1) if high > low else np.array([low - 0.5, low + 0.5])
        cells = tuple(np.clip(np.searchsorted(edges, side, side="right") - 1, 0, len(edges) - 2) for side in values)
        names: tuple[str, ...] = ()
    else:
        if not numbers:
            order = np.argsort(-np.array([(pooled == code).sum() for code in different[: 20 * MOST_CATEGORIES]]), kind="stable")
            different = np.sort(different[: 20 * MOST_CATEGORIES][order][: MOST_CATEGORIES - 1])
        plain = numbers and not is_character(path)
        names = tuple(f"{one:g}" if plain else _said(columns, values, one) for one in different)
        cells = tuple(_places(side, different) for side in values)
        if any((side == len(different)).any() for side in cells):
            names = (*names, "all else")
        edges = np.arange(len(names) + 1, dtype=float)
    count = len(names) or len(edges) - 1
    counts = tuple(tuple(int(one) for one in np.bincount(side, minlength=count)) for side in cells)
    hits = sum(np.bincount(side[mask], minlength=count) for side, mask in zip(cells, masks, strict=True))
    total = np.maximum(np.add(counts[0], counts[1]), 1)
    law = Law(
        edges=tuple(float(edge) for edge in edges),
        names=names,
        counts=(counts[0], counts[1]),
        inside=tuple(float(part) for part in hits / total),
        coordinate=name(path),
    )
    return law, cells


def _said(columns: tuple[Column, Column], values: tuple[Any, ...], value: Any) -> str:
    """What a reader would see of a value that is somewhere in the columns."""
    rows = [np.flatnonzero(side == value) for side in values]
    side = 0 if len(rows[0]) else 1
    return text_of_cell(columns[side], int(rows[side][0]))


def _trade_off(cells: Any, masks: Any, forward: bool) -> tuple[tuple[float, float], ...]:
    """The errors of tests that reject on ever more cells, the likeliest first. A cell is split by whether the event occurred.

    The order comes from the first half of the outputs and the rates from the second, so that each rate is that of a fixed test.
    """
    kinds = [2 * cell + mask for cell, mask in zip(cells, masks, strict=True)]
    likely, rare = kinds if forward else (kinds[1], kinds[0])
    number = 1 + max(int(kind.max()) for kind in kinds)
    halves = [[np.bincount(part, minlength=number) for part in np.array_split(kind, 2)] for kind in (likely, rare)]
    order = np.argsort(-np.log((halves[0][0] + 0.5) / (halves[1][0] + 0.5)), kind="stable")
    hits, alarms = (np.cumsum(half[1][order]) / max(1, half[1].sum()) for half in halves)
    kept = (halves[0][1][order] > 0) | (halves[1][1][order] > 0)
    return ((0.0, 1.0), *((float(alarm), float(1 - hit)) for hit, alarm in zip(hits[kept], alarms[kept], strict=True)))


def _places(values: Any, known: Any) -> Any:
    """Where each value stands among the known ones; their number for all others."""
    places = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[places] == values, places, len(known))


def _path(tables: tuple[Table, Table], event: Event) -> tuple[int | str, ...]:
    """The coordinate that the event speaks of, else the first that holds numbers, else the whole output; one that varies."""
    data = event.to_json()
    found = data.get("path", data.get("of", {}).get("path") if isinstance(data.get("of"), dict) else None)
    tried = [tuple(found)] if found is not None else []
    tried += tables[0].coordinates[:1]
    return next((path for path in tried if len(np.unique(tables[0].column(path).codes)) > 1), ())


def _capital(masks: Any, result: AuditResult) -> tuple[tuple[int, float], ...]:
    """After so many pairs, the logarithm of what 1 has become: `betting` says how."""
    likely, rare = (mask[: min(map(len, masks))] for mask in masks)
    both, first, second = (np.cumsum(one) for one in (likely & rare, likely & ~rare, ~likely & rare))
    points = [(0, 0.0)]
    for pairs in np.unique(np.linspace(1, len(likely), LOOKS).astype(int)):
        counted = [int(one[pairs - 1]) for one in (both, first, second)]
        counts = PairCounts(both=counted[0], first=counted[1], second=counted[2], neither=int(pairs) - sum(counted))
        points.append((int(pairs), log_capital(counts, epsilon=result.epsilon, delta=result.delta)))
    return tuple(points)
