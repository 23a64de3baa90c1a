"""Which parts of texts to look at: those on which exploration outputs of the two inputs differ most.

Texts with few values are counted value by value, and need none of this. Of texts that are mostly all different, the structure
that they share (JSON, lines, fields) is read off a sample, every part that it suggests is compared between the sides on some
outputs, and the most promising parts become columns. All of it is a heuristic: it costs power where it misses something.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dpverify.audit.exploration import Pair
from dpverify.audit.reading import column_of_part, from_objects
from dpverify.audit.table import MOST_PARTS, Floats, Kind, Path, Table, is_length, joined
from dpverify.audit.texts import ABSENT, CLASSES, LENGTH, Part, followed, part_of

FEW_VALUES = 40
"""Texts with no more values than this are left whole."""

SAMPLE = 1_000
"""Texts of either side that structure is read off."""

SCREENED = 10_000
"""Outputs of either side on which parts are compared."""

MOST_CHARACTERS = 1_000_000
"""Characters of either side that are searched for short strings, at most."""

MOSTLY = 0.9
PLACES = 64
"""Characters from the beginning, and from the end, that are looked at one by one; of a field a quarter of them."""

ENDS = (2, 3, 4, 8)
MOST_FIELDS, MOST_NUMBERS, MOST_SPLIT, MOST_KEYS, MOST_STRINGS = 12, 6, 6, 24, 8
SEPARATORS = ("\n", "\t", ";", "|", "&", ",", " ", "=", ":", "/", "_", "-")
"""What fields may stand between, the outermost first."""

LAST_DIGITS = 3
"""What is looked at of numbers one by one."""

DEEPEST = 3
CELLS = 24
NOTHING, FEWEST_PARTS = 0.5, 8
"""A difference that chance makes; so many parts are looked at though they show nothing more."""

ROWS = 16_384
"""Rows that are dissected together, so that what is only needed on the way takes little memory."""


def opened(tables: Pair) -> Pair:
    """The outputs with a column for each part of their texts that is worth a look; as they were where none is."""
    halves = tables[0].taken(slice(0, None, 2)), tables[1].taken(slice(0, None, 2))
    sources = [path for path in dict.fromkeys(path for table in halves for path in table.columns) if _is_worth_it(halves, path)]
    scored = [scored for path in sources for scored in _scored(halves, path)]
    scored.sort(key=lambda entry: -entry[0])
    chosen = _chosen(halves, scored)
    return (_with_parts(tables[0], chosen), _with_parts(tables[1], chosen)) if chosen else tables


def _chosen(halves: Pair, scored: list[tuple[float, Path]]) -> list[Path]:
    """The foremost parts, without those that tell texts apart just as one before them does: a letter is last, or is there."""
    few = joined([table.taken(slice(0, SCREENED)) for table in halves])
    read = _Reader(few)
    known: set[bytes] = set()
    chosen: list[Path] = []
    for gap, path in scored:
        if len(chosen) == MOST_PARTS or (gap <= NOTHING and len(chosen) >= FEWEST_PARTS):
            break
        codes = column_of_part(read.cells(path), path).codes
        _, first, which = np.unique(codes, return_index=True, return_inverse=True)
        told_apart = np.argsort(np.argsort(first))[which].tobytes()
        if told_apart not in known:
            known.add(told_apart)
            chosen.append(path)
    return chosen


def _is_worth_it(halves: Pair, path: Path) -> bool:
    """Whether there are texts here, and many different ones."""
    columns = [table.column(path) for table in halves]
    if all(column.texts is None for column in columns):
        return False
    return len(np.unique(np.concatenate([column.codes[column.kinds == Kind.TEXT] for column in columns]))) > FEW_VALUES


def _with_parts(table: Table, paths: list[Path]) -> Table:
    chunks = [_parts(table.taken(slice(start, start + ROWS)), paths) for start in range(0, table.size, ROWS)]
    return Table(table.size, {**table.columns, **joined(chunks).columns})


def _parts(table: Table, paths: list[Path]) -> Table:
    """The columns of some parts. What several of them begin with is read once."""
    read = _Reader(table)
    return Table(table.size, {path: column_of_part(read.cells(path), path) for path in paths})


class _Reader:
    """Follows paths into texts, and remembers on the way what more than one path goes through."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._known: dict[Path, list[Any]] = {}

    def cells(self, path: Path) -> list[Any]:
        """What stands on a path; ABSENT where nothing does."""
        if path not in self._known:
            source = self._table.columns.get(path)
            if source is not None and source.texts is not None:
                found = [ABSENT if text is None else text for text in source.texts.tolist()]
            elif source is not None or not path:
                found = [ABSENT] * self._table.size
            else:
                found = followed(self.cells(path[:-1]), path[-1:])
            self._known[path] = found
        return self._known[path]


def _scored(halves: Pair, path: Path) -> Iterator[tuple[float, Path]]:
    """The parts of the texts on a path, each with how far the two sides differ there, in deviations beyond the luckiest."""
    few = [table.taken(slice(0, SCREENED)) for table in halves]
    readers = [_Reader(table) for table in few]
    samples = [[text for text in reader.cells(path)[:SAMPLE] if text is not ABSENT] for reader in readers]
    found = list(_candidates(samples[0] + samples[1], path, 0))
    sides = [[text for text in reader.cells(path) if text is not ABSENT] for reader in readers]
    strings, tried = _strings(sides[0], sides[1])
    counted = [(*path, Part("count", None, of).step) for of in strings]
    for one in dict.fromkeys([*found, *counted]):
        cells = [reader.cells(one) for reader in readers]
        yield _gap(cells[0], cells[1]) - (_luck(tried) if one in counted else 0.0), one
    for source in dict.fromkeys([path, *(one for one in found if _is_text(readers, one))]):
        is_number = _part_of_numbers([cell for reader in readers for cell in reader.cells(source)[:SAMPLE]]) >= MOSTLY
        for place, gap in _gaps_by_place(halves, source, PLACES if source == path else PLACES // 4):
            if not is_number or -LAST_DIGITS <= place < 0:
                yield gap, (*source, Part("character", place).step)


def _is_text(readers: list[_Reader], path: Path) -> bool:
    """Whether a part is a field, or stands under a key, and is text of many values."""
    part = part_of(path[-1]) if isinstance(path[-1], str) else None
    if is_length(path) or (part is not None and part.kind != "field"):
        return False
    texts = {cell for reader in readers for cell in reader.cells(path)[:SAMPLE] if type(cell) is str}
    return len(texts) > FEW_VALUES


# --- structure ----------------------------------------------------------------------------------------------------------


def _candidates(sample: list[str], path: Path, depth: int) -> Iterator[Path]:
    """The parts that the structure of a sample of texts suggests."""
    if not sample or len(set(sample)) <= FEW_VALUES:
        return
    if depth:
        yield (*path, LENGTH)
    numeric = _part_of_numbers(sample)
    if numeric > 0.5:
        yield (*path, Part("number").step)
    if numeric < MOSTLY:
        yield from _inside(sample, path, depth)
    for size in ENDS[: 4 if depth == 0 else 2] if max(map(len, sample)) > 1 else ():
        yield (*path, Part("first", size).step)
        yield (*path, Part("last", size).step)
    for which in CLASSES:
        yield (*path, Part("class", None, which).step)


def _part_of_numbers(sample: list[Any]) -> float:
    return sum(cell is not ABSENT for cell in followed(sample, [Part("number").step])) / len(sample)


def _inside(sample: list[str], path: Path, depth: int) -> Iterator[Path]:
    """What is under the keys of JSON, or in the fields of text, and the numbers among other characters."""
    if depth == 0:
        keys = list(_keys(sample))
        yield from ((*path, *key) for key in keys)
        if keys:
            return
    separator, fields = _split(sample)
    for place in fields if depth < DEEPEST else ():
        step = Part("field", place, separator).step
        yield (*path, step)
        parts = [cell for cell in followed(sample, [step]) if cell is not ABSENT]
        yield from _candidates(parts, (*path, step), depth + 1)
    for place in range(MOST_NUMBERS if depth == 0 else 1):
        step = Part("number", place).step
        if sum(cell is not ABSENT for cell in followed(sample, [step])) > len(sample) / 2:
            yield (*path, step)


def _keys(sample: list[str]) -> Iterator[Path]:
    """The paths in JSON texts; none where most texts are no JSON objects or lists."""
    step = Part("json").step
    objects = [cell for cell in followed(sample, [step]) if isinstance(cell, dict | list)]
    if len(objects) < MOSTLY * len(sample):
        return
    table = from_objects(objects)
    for path in [path for path in table.columns if path][:MOST_KEYS]:
        yield (step, *path)
        texts = table.column(path).texts
        yield from _candidates([] if texts is None else [text for text in texts.tolist() if text is not None], (step, *path), 1)


def _split(sample: list[str]) -> tuple[str, list[int]]:
    """What most texts can be split at, and which fields to look at: places, also from the end where numbers of fields vary."""
    for separator in SEPARATORS:
        counts = Counter(text.count(separator) for text in sample)
        most, times = counts.most_common(1)[0]
        if most and times >= MOSTLY * len(sample):
            return separator, list(range(min(most + 1, MOST_FIELDS)))
        if 1 - counts[0] / len(sample) >= MOSTLY and separator not in "_-/":
            return separator, [*range(MOST_FIELDS // 3), -1, -2]
    return "", []


def _strings(first: list[str], second: list[str]) -> tuple[list[str], int]:
    """Characters, pairs and triples of them that are in the texts of one side more often than in those of the other; and of
    how many they are the foremost."""
    found: list[tuple[float, str]] = []
    for length in (1, 2, 3):
        counts = [_documents(side, length) for side in (first, second)]
        sizes = [max(size, 1) for _, size in counts]
        for text in counts[0][0].keys() | counts[1][0].keys():
            hits = counts[0][0][text], counts[1][0][text]
            found.append((_deviations(np.array([hits[0]]), np.array([hits[1]]), sizes[0], sizes[1])[0], text))
    found.sort(key=lambda entry: (-entry[0], len(entry[1]), entry[1]))
    return [text for _, text in found[:MOST_STRINGS]], len(found)


def _documents(texts: list[str], length: int) -> tuple[Counter[str], int]:
    """In how many texts each string of a length is, and of how many."""
    counts: Counter[str] = Counter()
    left, size = MOST_CHARACTERS // length, 0
    for text in texts:
        left -= len(text)
        if left < 0:
            break
        counts.update({text[place : place + length] for place in range(len(text) - length + 1)} if length > 1 else set(text))
        size += 1
    return counts, size


# --- comparing ----------------------------------------------------------------------------------------------------------


def _gap(first: Sequence[Any], second: Sequence[Any]) -> float:
    """How far the cells of the two sides differ: the largest difference of counts in deviations, less what chance makes of
    so many; over values where these are few, over thresholds where they are numbers."""
    gaps = [0.0]
    numbers = [_numbers(side) for side in (first, second)]
    texts = [Counter(cell for cell in side if type(cell) is str) for side in (first, second)]
    if all(len(side) for side in numbers):
        pooled = np.sort(np.concatenate(numbers))
        cuts = np.unique(pooled[np.linspace(0, len(pooled) - 1, CELLS).astype(np.int64)])
        below = [np.searchsorted(np.sort(side), cuts, side="right") for side in numbers]
        for hits, other in ((below[0], below[1]), (len(numbers[0]) - below[0], len(numbers[1]) - below[1])):
            gaps.append(float(_deviations(hits, other, len(first), len(second)).max()) - _luck(len(cuts)))
    values = [value for value, count in (texts[0] + texts[1]).items() if count > 1]
    if values:
        hits, other = (np.array([side[value] for value in values]) for side in texts)
        gaps.append(float(_deviations(hits, other, len(first), len(second)).max()) - _luck(len(values)))
    for present in ([len(side) for side in numbers], [side.total() for side in texts]):
        gaps.append(float(_deviations(np.array(present[:1]), np.array(present[1:]), len(first), len(second))[0]))
    return max(gaps)


def _numbers(cells: Sequence[Any]) -> Floats:
    kinds = set(map(type, cells))
    if kinds <= {str, object}:
        return np.zeros(0)
    if kinds == {float}:  # NaN is not read from texts
        return np.array(cells)
    return np.array([float(cell) for cell in cells if isinstance(cell, float | int) and abs(cell) < 2**1000])


def _deviations(hits: Any, other_hits: Any, draws: int, other_draws: int) -> Floats:
    """The difference of two relative frequencies in standard deviations, each count half a hit larger than it is."""
    rate, other_rate = (hits + 0.5) / (draws + 1), (other_hits + 0.5) / (other_draws + 1)
    variances = rate * (1 - rate) / (draws + 1), other_rate * (1 - other_rate) / (other_draws + 1)
    gaps: Floats = np.abs(rate - other_rate) / np.sqrt(variances[0] + variances[1])
    return gaps


def _luck(tried: int) -> float:
    """The largest of so many standard normal numbers, more or less."""
    return math.sqrt(2 * math.log(max(tried, 1)))


def _gaps_by_place(halves: Pair, path: Path, places: int) -> Iterator[tuple[int, float]]:
    """How far the sides differ in the character at each place, from the beginning and from the end; of two places that say
    the same, because texts are equally long, only in the first."""
    counts = [_characters(table, path, places) for table in halves]
    sizes = [table.size for table in halves]
    known = set()
    rows = {place: place if place >= 0 else places - 1 - place for place in (-1, *range(places), *range(-2, -places - 1, -1))}
    for place, row in rows.items():
        hits, other = counts[0][row], counts[1][row]
        seen = hits + other > 1
        if seen[:-1].any() and (alike := hits.tobytes() + other.tobytes()) not in known:
            known.add(alike)
            tried = np.flatnonzero(seen)
            gaps = _deviations(hits[tried], other[tried], sizes[0], sizes[1])
            yield place, float(gaps.max()) - _luck(len(tried))


def _characters(table: Table, path: Path, places: int) -> Any:
    """How often each character is at each place, from the beginning and then from the end; in the last column, none at all."""
    counts = np.zeros((2 * places, KINDS + 1), dtype=np.int64)
    for start in range(0, table.size, ROWS):
        chunk = table.taken(slice(start, start + ROWS))
        cells = [cell if type(cell) is str else "" for cell in _Reader(chunk).cells(path)]
        for half, texts in enumerate((cells, [cell[: -places - 1 : -1] for cell in cells])):
            wide = np.array(texts, dtype=f"U{places}")
            points = wide.view(np.uint32).reshape(len(texts), places)
            points = np.where(points == 0, KINDS, points % KINDS)
            for place in range(places):
                counts[half * places + place] += np.bincount(points[:, place], minlength=KINDS + 1)
    return counts


KINDS = 256
"""Code points are told apart modulo this where places are compared."""
