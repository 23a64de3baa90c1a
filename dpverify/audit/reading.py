"""What a mechanism returned, as columns: arrays, lists, objects of any kind, and whatever is nested in them.

Plain numbers stay fast: an array becomes columns without a look at each cell, and cells of one kind are read together.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.table import (
    OPAQUE,
    SEED_OF_KIND,
    Column,
    Floats,
    Kind,
    Kinds,
    Path,
    Table,
    Texts,
    code_of_text,
    constant,
    one_kind,
)
from dpverify.audit.texts import ABSENT, LENGTH, is_character, step_of_key
from dpverify.errors import shown

MOST_ITEMS = 64
"""Items of one list or dict that get columns of their own, where outputs are Python objects; all of them enter the code."""

MOST_COORDINATES = 4096
"""Coordinates of an array output that get columns of their own."""


def from_array(outputs: NDArray[Any]) -> Table:
    """A batch that came as an array: the first axis runs over the outputs."""
    columns: dict[Path, Column] = {}
    if outputs.dtype.hasobject:
        _add_objects(columns, (), outputs.tolist() if outputs.ndim == 1 else [tuple_of(row) for row in outputs])
    else:
        _add_array(columns, (), outputs)
    return Table(len(outputs), columns)


def from_objects(outputs: Sequence[Any]) -> Table:
    """A batch that came as a list, or one output at a time."""
    columns: dict[Path, Column] = {}
    _add_objects(columns, (), outputs)
    return Table(len(outputs), columns)


def tuple_of(row: Any) -> Any:
    """A row of an object array as nested lists."""
    return row.tolist() if isinstance(row, np.ndarray) else row


def _add_array(columns: dict[Path, Column], path: Path, array: NDArray[Any]) -> None:
    size = len(array)
    if array.ndim > 1:
        columns[path] = constant(Kind.LIST, size)
        columns[(*path, LENGTH)] = Column(np.full(size, float(array.shape[1])))
        shape = array.shape[1:]
        flat = array.reshape(size, -1)[:, :MOST_COORDINATES]
        if flat.dtype.kind in "biuf" and flat.dtype.itemsize <= 8:
            flat = flat if _has_large_integers(flat) else np.asfortranarray(flat, dtype=np.float64)
        for place in range(flat.shape[1]):
            steps = tuple(int(step) for step in np.unravel_index(place, shape))
            _add_array(columns, (*path, *steps), flat[:, place])
        return
    if array.dtype.names is not None:
        columns[path] = constant(Kind.MAPPING, size)
        for field in array.dtype.names:
            _add_array(columns, (*path, step_of_key(field)), array[field])
        return
    kind = array.dtype.kind
    if kind in "biuf" and not _has_large_integers(array):
        columns[path] = Column(np.ascontiguousarray(array, dtype=np.float64))
    elif kind == "c":
        _add_array(columns, (*path, "real"), array.real)
        _add_array(columns, (*path, "imag"), array.imag)
    else:  # text, bytes, dates, integers beyond 2^53
        _add_objects(columns, path, array.tolist())


def _has_large_integers(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size > 0 and bool((np.abs(array) > 2**53).any())


def _add_objects(columns: dict[Path, Column], path: Path, cells: Sequence[Any]) -> None:
    """The columns of one path and of everything below it. Column by column, so that plain numbers stay fast."""
    if (numbers := _all_numbers(cells)) is not None:
        columns[path] = Column(numbers)
        return
    if set(map(type, cells)) == {str}:
        _add_texts(columns, path, cells)
        return
    values, kinds, codes = np.full(len(cells), np.nan), np.zeros(len(cells), dtype=np.uint8), np.zeros(len(cells), np.uint64)
    labels: dict[int, str] = {}
    known: dict[Any, tuple[Kind, float, int]] = {}
    containers: dict[int, Mapping[Any, Any] | Sequence[Any]] = {}
    for row, cell in enumerate(cells):
        if cell is ABSENT:
            continue
        if type(cell) in (str, int, float) and (seen := known.get(cell)) is not None and cell != 0:
            kinds[row], values[row], codes[row] = seen
            continue
        items = _items(cell)
        if items is not None:
            containers[row] = items
            kinds[row] = Kind.MAPPING if isinstance(items, Mapping) else Kind.LIST
            codes[row] = SEED_OF_KIND[kinds[row]]
            continue
        kind, value, code, label = _leaf(cell)
        kinds[row], values[row], codes[row] = kind, value, code
        if label is not None and len(labels) < 4096:
            labels[code] = label
        if type(cell) in (str, int, float) and len(known) < 65536:
            known[cell] = kind, value, code
    texts = kinds == Kind.TEXT
    columns[path] = Column(values, kinds, codes, labels, _texts(cells) if texts.any() else None)
    strings = {row: cell for row, cell in enumerate(cells) if isinstance(cell, bytes)}
    if strings and not containers and max(map(len, strings.values())) <= MOST_ITEMS:
        _add_bytes(columns, path, len(cells), strings)
    elif containers or strings:
        _add_items(columns, path, len(cells), {**containers, **{row: list(cell) for row, cell in strings.items()}})
    if texts.any() or containers:
        counts = np.full(len(cells), np.nan)
        for row, items in containers.items():
            counts[row] = len(items)
        for place in np.flatnonzero(texts).tolist():
            counts[place] = len(cells[place])
        columns[(*path, LENGTH)] = Column(counts, _present(counts))


def _add_texts(columns: dict[Path, Column], path: Path, cells: Sequence[str]) -> None:
    """The columns of cells that are all text: what `_add_objects` makes of them, but quicker."""
    size = len(cells)
    code_of = {text: code_of_text(repr(text)) for text in set(cells)}
    codes = np.fromiter(map(code_of.__getitem__, cells), dtype=np.uint64, count=size)
    columns[path] = Column(np.full(size, np.nan), one_kind(Kind.TEXT, size), codes, {}, _texts(cells))
    columns[(*path, LENGTH)] = Column(np.fromiter(map(len, cells), dtype=np.float64, count=size))


def _texts(cells: Sequence[Any]) -> Texts | None:
    """The cells that are texts, None in the place of all others; nothing at all where all are bytes."""
    texts = np.full(len(cells), None)
    texts[:] = [cell if type(cell) is str else str.__str__(cell) if isinstance(cell, str) else None for cell in cells]
    return None if all(text is None for text in texts) else texts


def column_of_part(cells: Sequence[Any], path: Path) -> Column:
    """What a part of some texts is, as a column. A character is a number, its code point."""
    if is_character(path):
        point_of = {cell: math.nan if cell is ABSENT else float(ord(cell)) for cell in set(cells)}
        points = np.fromiter(map(point_of.__getitem__, cells), dtype=np.float64, count=len(cells))
        labels = {int(np.float64(point).view(np.uint64)): repr(cell) for cell, point in point_of.items() if cell is not ABSENT}
        return Column(points, _present(points), None, labels)
    if set(map(type, cells)) <= {float, object}:
        column = Column(np.array([math.nan if cell is ABSENT else cell for cell in cells], dtype=np.float64))
        absent = np.fromiter((cell is ABSENT for cell in cells), dtype=np.bool_, count=len(cells))
        return Column(column.values, np.where(absent, np.uint8(Kind.ABSENT), column.kinds)) if absent.any() else column
    columns: dict[Path, Column] = {}
    _add_objects(columns, (), cells)
    return columns[()]


def _present(values: Floats) -> Kinds:
    """The kinds of a column of numbers that are absent here and there."""
    return np.where(np.isnan(values), np.uint8(Kind.ABSENT), np.uint8(Kind.NUMBER))


def _all_numbers(cells: Sequence[Any]) -> Floats | None:
    """The cells as doubles where each of them is a number that a double holds exactly."""
    if not set(map(type, cells)) <= {float, np.float64, bool, np.bool_, int, np.int64}:
        return None
    array = np.array(cells)
    if array.dtype.kind not in "biuf" or _has_large_integers(array):
        return None
    if array.dtype.kind == "f":
        large = np.flatnonzero(np.abs(array) >= 2**53)
        if not all(_is_exactly(cells[row], float(array[row])) for row in large.tolist()):
            return None  # whole numbers among the doubles, of which NumPy made doubles
    return array.astype(np.float64)


def _add_items(
    columns: dict[Path, Column], path: Path, size: int, containers: Mapping[int, Mapping[Any, Any] | Sequence[Any]]
) -> None:
    keys: dict[Any, None] = {}
    for items in containers.values():
        keys.update(dict.fromkeys(items if isinstance(items, Mapping) else range(len(items))))
    ordered = sorted(keys, key=lambda key: (not isinstance(key, int), key if isinstance(key, int) else 0, str(key)))
    below: dict[Any, list[Any]] = {key: [ABSENT] * size for key in ordered[:MOST_ITEMS]}
    rest: list[Any] = [ABSENT] * size
    for row, items in containers.items():
        pairs = items.items() if isinstance(items, Mapping) else enumerate(items)
        beyond = []
        for key, item in pairs:
            if key in below:
                below[key][row] = item
            else:
                beyond.append((key, item))
        if beyond:
            rest[row] = safe_repr(beyond)
    for key, cells in below.items():
        _add_objects(columns, (*path, step_of_key(key)), cells)
    if len(ordered) > MOST_ITEMS:
        _add_objects(columns, (*path, "further items"), rest)


def _add_bytes(columns: dict[Path, Column], path: Path, size: int, strings: Mapping[int, bytes]) -> None:
    """One column for each place: the byte there, as a number. What `_add_items` does with lists of them, but quicker."""
    rows = np.array(list(strings))
    lengths = np.array([len(cell) for cell in strings.values()])
    width = int(lengths.max())
    padded = b"".join(cell.ljust(width, b"\0") for cell in strings.values())
    characters = np.frombuffer(padded, dtype=np.uint8).reshape(len(rows), width)
    for place in range(width):
        values, kinds = np.full(size, np.nan), np.zeros(size, dtype=np.uint8)
        there = rows[lengths > place]
        values[there], kinds[there] = characters[lengths > place, place], Kind.NUMBER
        columns[(*path, place)] = Column(values, kinds)


def _items(cell: Any) -> Mapping[Any, Any] | Sequence[Any] | None:
    """The parts of a composite output, or None for one that has no parts."""
    if isinstance(cell, str | bytes | int | float):
        return None
    if isinstance(cell, Mapping | list | tuple):
        return cell
    if isinstance(cell, np.ndarray):
        return cell.tolist() if cell.ndim else None
    if isinstance(cell, Set):
        return _sorted(cell)
    if isinstance(cell, complex | np.complexfloating):
        return {"real": cell.real, "imag": cell.imag}
    if isinstance(cell, np.generic):
        return {field: cell[field] for field in cell.dtype.names or ()} if isinstance(cell, np.void) else None
    if dataclasses.is_dataclass(cell) and not isinstance(cell, type):
        return {field.name: getattr(cell, field.name) for field in dataclasses.fields(cell)}
    if hasattr(cell, "__array__"):
        array = np.asarray(cell)
        return array.tolist() if array.ndim else None
    return None


def _sorted(items: Set[Any]) -> list[Any]:
    """The items of a set in an order that is the same in every run: numbers by size, all else by how it is written."""
    numbers = all(isinstance(item, int | float | np.number) and item == item for item in items)
    try:
        return sorted(items) if numbers else sorted(items, key=safe_repr)
    except Exception:  # numbers that do not compare
        return sorted(items, key=safe_repr)


def _leaf(cell: Any) -> tuple[Kind, float, int, str | None]:
    """Kind, value, code and label of a cell without parts."""
    if cell is None:
        return Kind.NONE, math.nan, int(SEED_OF_KIND[Kind.NONE]), None
    if isinstance(cell, str):
        return Kind.TEXT, math.nan, code_of_text(repr(cell)), None  # the text itself is at hand
    if isinstance(cell, bytes):
        label = repr(bytes(cell))
        return Kind.TEXT, math.nan, code_of_text(label), label
    number = _as_number(cell)
    if number is None:
        label = safe_repr(cell)
        return Kind.OTHER, math.nan, code_of_text(label), label
    if math.isnan(number):
        return Kind.NAN, math.nan, int(SEED_OF_KIND[Kind.NAN]), None
    if _is_exactly(cell, number):
        return Kind.NUMBER, number, int(np.float64(number).view(np.uint64)), None
    label = shown(cell, str)
    return Kind.NUMBER, number, code_of_text(hex(cell) if isinstance(cell, int | np.integer) else safe_repr(cell)), label


def _is_exactly(cell: Any, number: float) -> bool:
    """Whether a double is all that the cell is. An object that cannot be compared says more than its double."""
    try:
        # Python compares an integer with a double exactly; NumPy makes a double of it first
        return bool((int(cell) if isinstance(cell, np.integer) else cell) == number)
    except Exception:
        return False


def _as_number(cell: Any) -> float | None:
    if not hasattr(cell, "__float__"):
        return None
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf
    except Exception:
        return None


def safe_repr(cell: Any) -> str:
    """A text for an object that names no address, so that it is the same in every run."""
    try:
        text = repr(cell)
    except Exception:
        text = ""
    return text if text and " at 0x" not in text else f"{OPAQUE}{type(cell).__module__}.{type(cell).__qualname__}>"
