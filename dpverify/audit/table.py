"""Outputs of a mechanism as columns: whatever a batch holds becomes numbers, kinds and codes, one column a coordinate.

A *path* says where in an output a coordinate sits: `()` is the output itself, `(2,)` its third item, `("age", 0)` the first
item under the key "age". Every output has a *kind* on every path (number, NaN, None, text, list ..., or absent), a
float64 value where it is a number, and a 64-bit code that is equal for equal values and, collisions aside, for no others.
Values are compared as a reader of the output would: 1, 1.0 and True are one number, tuples and arrays are lists.

Nothing statistical lives here. A function of an output is a function of that output whatever it computes, so nothing in
this file can make an audit unsound; it can only make it blind.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from enum import IntEnum
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.errors import shown

Path: TypeAlias = "tuple[int | str, ...]"
Floats: TypeAlias = "NDArray[np.float64]"
Kinds: TypeAlias = "NDArray[np.uint8]"
Codes: TypeAlias = "NDArray[np.uint64]"

LENGTH = "length"
"""The last step of the path under which the number of items of a list, a dict or a text is found."""

MOST_ITEMS = 64
"""Items of one list or dict that get columns of their own, where outputs are Python objects; all of them enter the code."""

MOST_COORDINATES = 4096
"""Coordinates of an array output that get columns of their own."""


MOST_REMEMBERED = 16
"""Columns of things read off all outputs that a table remembers."""


class Kind(IntEnum):
    """What an output has on a path."""

    ABSENT = 0
    NUMBER = 1
    NAN = 2
    NONE = 3
    TEXT = 4
    LIST = 5
    MAPPING = 6
    OTHER = 7

    @property
    def words(self) -> str:
        """How a witness names it."""
        return _WORDS[self]


_WORDS = {
    Kind.ABSENT: "is absent",
    Kind.NUMBER: "is a number",
    Kind.NAN: "is NaN",
    Kind.NONE: "is None",
    Kind.TEXT: "is text",
    Kind.LIST: "is a list",
    Kind.MAPPING: "is a mapping",
    Kind.OTHER: "is some other object",
}

_ABSENT: Any = object()
_OPAQUE = "<an object of "
"""How the text for an object begins that shows nothing of its content."""
_SEED_OF_KIND = np.array([0, *(0x9E3779B97F4A7C15 * (k + 1) % 2**64 for k in range(1, 8))], dtype=np.uint64)


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """One coordinate of every output of a batch. `codes` is absent where the bits of `values` say it all."""

    values: Floats
    kinds: Kinds
    exact: Codes | None = None
    labels: Mapping[int, str] = dataclasses.field(default_factory=dict)

    @property
    def codes(self) -> Codes:
        """Equal for equal cells."""
        if self.exact is not None:
            return self.exact
        bits = np.ascontiguousarray(self.values).view(np.uint64)
        if self.kinds.strides == (0,) and len(self.kinds) and self.kinds[0] == Kind.NUMBER:
            return bits
        numbers = self.kinds == Kind.NUMBER
        if numbers.all():
            return bits
        return np.where(numbers, bits, _SEED_OF_KIND[self.kinds])

    def rounded(self, spacing: float) -> Column:
        """The same column with every number moved to the nearest multiple of `spacing`, a power of two; no negative zero."""
        with np.errstate(over="ignore", invalid="ignore"):
            steps = self.values / spacing
            values = np.rint(steps)
            values *= spacing
            values += 0.0
            large = max(steps.max(initial=0.0), -steps.min(initial=0.0))
        if not large < 2.0**52:  # multiples already, or not to be told from NaN here
            values = np.where(np.abs(steps) < 2.0**52, values, self.values)
        return Column(values, self.kinds, None if self.exact is None else self._recoded(values), self.labels)

    def _recoded(self, values: Floats) -> Codes:
        assert self.exact is not None
        moved = (self.kinds == Kind.NUMBER) & (values != self.values)
        return np.where(moved, values.view(np.uint64), self.exact)

    def taken(self, rows: Any) -> Column:
        """The cells of some rows."""
        return Column(self.values[rows], self.kinds[rows], None if self.exact is None else self.exact[rows], self.labels)

    def kept(self) -> Column:
        """The same cells in memory of their own."""
        return Column(self.values.copy(), self.kinds, self.exact, self.labels)


def constant(kind: Kind, size: int) -> Column:
    """A column on which every output has the same kind and no number."""
    return Column(np.full(size, np.nan), one_kind(kind, size))


def one_kind(kind: Kind, size: int) -> Kinds:
    """The same kind throughout, in the memory of one."""
    return np.broadcast_to(np.uint8(kind), (size,))


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """A batch of outputs as columns. A path that no output has is a column of absences."""

    size: int
    columns: Mapping[Path, Column]
    _known: dict[Hashable, Any] = dataclasses.field(default_factory=dict, compare=False, repr=False)

    def remembered(self, key: Hashable, compute: Callable[[], Floats]) -> Floats:
        """What `compute` returns, without computing it again for the same key, as long as not much else was asked for since."""
        if key not in self._known:
            if len(self._known) >= MOST_REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[key] = compute()
        found: Floats = self._known[key]
        return found

    def column(self, path: Path) -> Column:
        """The column of a path."""
        found = self.columns.get(path)
        return constant(Kind.ABSENT, self.size) if found is None else found

    @property
    def coordinates(self) -> list[Path]:
        """The paths that hold at least one number."""
        return [path for path, column in self.columns.items() if not is_length(path) and (column.kinds == Kind.NUMBER).any()]

    @property
    def opaque(self) -> set[str]:
        """The kinds of objects among the outputs of which nothing but the type can be read."""
        labels = (label for column in self.columns.values() for label in column.labels.values())
        return {label.removeprefix(_OPAQUE).removesuffix(">") for label in labels if label.startswith(_OPAQUE)}

    def matrix(self) -> Floats:
        """All numbers of all outputs: one row an output, NaN where there is none."""
        return self.remembered("matrix", self._matrix)

    def _matrix(self) -> Floats:
        paths = self.coordinates
        if not paths:
            return np.full((self.size, 1), np.nan)
        return np.stack([self.columns[path].values for path in paths], axis=1)

    def whole(self) -> Codes:
        """One code for each whole output. Absent cells add nothing, so it does not depend on the rest of the batch."""
        code = np.zeros(self.size, dtype=np.uint64)
        for path, column in self.columns.items():
            mixed = _mixed(column.codes + np.uint64(_code_of_text(repr(path))))
            code += np.where(column.kinds == Kind.ABSENT, np.uint64(0), mixed)
        return code

    def rounded(self, grid: Mapping[Path, float]) -> Table:
        """The outputs after rounding: a column moves to multiples of its spacing in `grid`, others stay."""
        if not grid:
            return self
        return Table(self.size, _Rounded(self.columns, grid))

    def taken(self, rows: Any) -> Table:
        """Some rows: a slice, or an array of row numbers or of truth values."""
        columns = {path: column.taken(rows) for path, column in self.columns.items()}
        size = len(range(*rows.indices(self.size))) if isinstance(rows, slice) else int(np.arange(self.size)[rows].size)
        return Table(size, columns)

    def kept(self) -> Table:
        """The same outputs in memory of their own: a mechanism may well write into what it returned again."""
        return Table(self.size, {path: column.kept() for path, column in self.columns.items()})

    def example(self, row: int) -> str:
        """One output, readable."""
        if all(path == () for path in self.columns if not is_length(path)):
            return _cell_text(self.columns[()], row)
        cells = [
            f"{_name_of_path(path)}={_cell_text(column, row)}"
            for path, column in self.columns.items()
            if not is_length(path) and column.kinds[row] not in (Kind.ABSENT, Kind.LIST, Kind.MAPPING)
        ]
        if all(len(path) <= 1 and all(isinstance(step, int) for step in path) for path in self.columns if not is_length(path)):
            return "(" + ", ".join(cell.partition("=")[2] for cell in cells) + ")"
        return "{" + ", ".join(cells) + "}"


class _Rounded(Mapping[Path, Column]):
    """Columns that are rounded when somebody looks at them: an event looks at one or two, and an output may have thousands."""

    def __init__(self, exact: Mapping[Path, Column], grid: Mapping[Path, float]) -> None:
        self._exact = exact
        self._grid = grid
        self._known: dict[Path, Column] = {}

    def __getitem__(self, path: Path) -> Column:
        if path not in self._known:
            column = self._exact[path]
            self._known[path] = column.rounded(self._grid[path]) if path in self._grid and not is_length(path) else column
        return self._known[path]

    def __iter__(self) -> Iterator[Path]:
        return iter(self._exact)

    def __len__(self) -> int:
        return len(self._exact)


def is_length(path: Path) -> bool:
    """Whether the path names a number of items rather than an item."""
    return bool(path) and path[-1] == LENGTH


def path_from_json(steps: Any) -> Path:
    """The path whose steps were saved. Raises ValueError where these are no steps of a path."""
    if not isinstance(steps, list) or not all(type(step) in (int, str) for step in steps):
        raise ValueError(f"{shown(steps)} is no path")
    return tuple(steps)


def name(path: Path) -> str:
    """How a witness names the coordinate: output, output[0], output['age'][0], length of output."""
    if is_length(path):
        return f"length of {name(path[:-1])}"
    return "output" + _name_of_path(path)


def _name_of_path(path: Path) -> str:
    return "".join(f"[{step!r}]" for step in path)


def _cell_text(column: Column, row: int) -> str:
    kind = Kind(column.kinds[row])
    if kind is Kind.NUMBER:
        if column.exact is not None and (label := column.labels.get(int(column.exact[row]))) is not None:
            return label  # a number that no double holds
        value = float(column.values[row])
        return repr(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if kind is Kind.NAN:
        return "NaN"
    if kind is Kind.NONE:
        return "None"
    return column.labels.get(int(column.codes[row]), kind.words.removeprefix("is "))


def joined(tables: Sequence[Table]) -> Table:
    """Several batches, one below the other."""
    if len(tables) == 1:
        return tables[0]
    paths = dict.fromkeys(path for table in tables for path in table.columns)
    columns = {}
    for path in paths:
        parts = [table.column(path) for table in tables]
        exact = None if all(part.exact is None for part in parts) else np.concatenate([part.codes for part in parts])
        labels = {code: label for part in parts for code, label in part.labels.items()}
        values = np.concatenate([part.values for part in parts])
        columns[path] = Column(values, np.concatenate([part.kinds for part in parts]), exact, labels)
    return Table(sum(table.size for table in tables), columns)


# --- from what a mechanism returned ---------------------------------------------------------------------------------


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
        columns[(*path, LENGTH)] = _numbers(np.full(size, float(array.shape[1])))
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
            _add_array(columns, (*path, field), array[field])
        return
    kind = array.dtype.kind
    if kind in "biuf" and not _has_large_integers(array):
        columns[path] = _numbers(np.ascontiguousarray(array, dtype=np.float64))
    elif kind == "c":
        _add_array(columns, (*path, "real"), array.real)
        _add_array(columns, (*path, "imag"), array.imag)
    else:  # text, bytes, dates, integers beyond 2^53
        _add_objects(columns, path, array.tolist())


def _has_large_integers(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size > 0 and bool((np.abs(array) > 2**53).any())


def _numbers(values: Floats) -> Column:
    if len(values) and math.isnan(values.min()):  # which any NaN makes NaN, and which is quicker than to ask each
        missing = np.isnan(values)
        return Column(values, np.where(missing, np.uint8(Kind.NAN), np.uint8(Kind.NUMBER)))
    return Column(values, one_kind(Kind.NUMBER, len(values)))


def _add_objects(columns: dict[Path, Column], path: Path, cells: Sequence[Any]) -> None:
    """The columns of one path and of everything below it. Column by column, so that plain numbers stay fast."""
    if (numbers := _all_numbers(cells)) is not None:
        columns[path] = _numbers(numbers)
        return
    values, kinds, codes = np.full(len(cells), np.nan), np.zeros(len(cells), dtype=np.uint8), np.zeros(len(cells), np.uint64)
    labels: dict[int, str] = {}
    known: dict[Any, tuple[Kind, float, int]] = {}
    containers: dict[int, Mapping[Any, Any] | Sequence[Any]] = {}
    for row, cell in enumerate(cells):
        if cell is _ABSENT:
            continue
        if type(cell) in (str, int, float) and (seen := known.get(cell)) is not None and cell != 0:
            kinds[row], values[row], codes[row] = seen
            continue
        items = _items(cell)
        if items is not None:
            containers[row] = items
            kinds[row] = Kind.MAPPING if isinstance(items, Mapping) else Kind.LIST
            codes[row] = _SEED_OF_KIND[kinds[row]]
            continue
        kind, value, code, label = _leaf(cell)
        kinds[row], values[row], codes[row] = kind, value, code
        if label is not None and len(labels) < 4096:
            labels[code] = label
        if type(cell) in (str, int, float) and len(known) < 65536:
            known[cell] = kind, value, code
    columns[path] = Column(values, kinds, codes, labels)
    strings = {row: cell for row, cell in enumerate(cells) if isinstance(cell, bytes)}
    if strings and not containers and max(map(len, strings.values())) <= MOST_ITEMS:
        _add_bytes(columns, path, len(cells), strings)
    elif containers or strings:
        _add_items(columns, path, len(cells), {**containers, **{row: list(cell) for row, cell in strings.items()}})
    texts = kinds == Kind.TEXT
    if texts.any() or containers:
        counts = np.full(len(cells), np.nan)
        for row, items in containers.items():
            counts[row] = len(items)
        for place in np.flatnonzero(texts).tolist():
            counts[place] = len(cells[place])
        present = np.where(np.isnan(counts), np.uint8(Kind.ABSENT), np.uint8(Kind.NUMBER))
        columns[(*path, LENGTH)] = Column(counts, present)


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
    below: dict[Any, list[Any]] = {key: [_ABSENT] * size for key in ordered[:MOST_ITEMS]}
    rest: list[Any] = [_ABSENT] * size
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
        _add_objects(columns, (*path, key if isinstance(key, int) else str(key)), cells)
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
        return sorted(map(safe_repr, cell))
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


def _leaf(cell: Any) -> tuple[Kind, float, int, str | None]:
    """Kind, value, code and label of a cell without parts."""
    if cell is None:
        return Kind.NONE, math.nan, int(_SEED_OF_KIND[Kind.NONE]), None
    if isinstance(cell, str | bytes):
        label = repr(cell if isinstance(cell, str) else bytes(cell))
        return Kind.TEXT, math.nan, _code_of_text(label), label
    number = _as_number(cell)
    if number is None:
        label = safe_repr(cell)
        return Kind.OTHER, math.nan, _code_of_text(label), label
    if math.isnan(number):
        return Kind.NAN, math.nan, int(_SEED_OF_KIND[Kind.NAN]), None
    if _is_exactly(cell, number):
        return Kind.NUMBER, number, int(np.float64(number).view(np.uint64)), None
    label = shown(cell, str)
    return Kind.NUMBER, number, _code_of_text(hex(cell) if isinstance(cell, int | np.integer) else safe_repr(cell)), label


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
    return text if text and " at 0x" not in text else f"{_OPAQUE}{type(cell).__module__}.{type(cell).__qualname__}>"


def _code_of_text(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _mixed(codes: Codes) -> Codes:
    """A fixed scrambling of 64 bits (the finaliser of the splitmix64 generator), so that sums of codes do not cancel."""
    codes = (codes ^ (codes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes ^ (codes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return codes ^ (codes >> np.uint64(31))
