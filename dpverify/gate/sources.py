"""Which files of a project a mechanism imports, directly or not: read from the sources, without running anything.

Project files are those that are neither the standard library nor installed packages. Imports whose names are computed at
run time, and data files, cannot be seen this way.
"""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_LIBRARIES = tuple({Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_OWN = Path(__file__).resolve().parent.parent
_SUFFIXES = tuple(importlib.machinery.all_suffixes())


def imported_files(start: Path) -> list[Path]:
    """`start` and every project file that it imports, at whatever depth, sorted."""
    found: set[Path] = set()
    waiting = [start.resolve()]
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        if path.suffix == ".py":
            waiting += _imports(path)
    return sorted(found)


def _imports(path: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(_top(alias.name), alias.name.split("."), path)
        elif isinstance(node, ast.ImportFrom):
            name = node.module.split(".") if node.module else []
            if node.level:
                folder = path.parents[min(node.level, len(path.parents)) - 1]
                starts, walked = [folder], [*name]
                yield from _own_init(folder)
            else:
                starts, walked = _top(name[0]) if name else [], name
            for alias in node.names:
                yield from _files(starts, [*walked, alias.name], path)


def _top(name: str) -> list[Path]:
    """The folders in which the first part of a dotted name is looked for, where it belongs to a project."""
    first = name.partition(".")[0]
    if first in sys.stdlib_module_names or first == _OWN.name:
        return []
    try:
        spec = importlib.util.find_spec(first)
    except (ImportError, ValueError, AttributeError):
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations:
        return [Path(place).resolve().parent for place in spec.submodule_search_locations]
    return [Path(spec.origin).resolve().parent] if spec.origin and spec.has_location else []


def _files(starts: list[Path], parts: list[str], asking: Path) -> Iterator[Path]:
    """The files that importing the dotted name runs: its packages' __init__ and its module."""
    for folder in [*starts, asking.parent]:  # beside a script, as Python looks for what a script imports
        place = folder
        for part in parts:
            for candidate in (place / part / "__init__.py", *(place / f"{part}{suffix}" for suffix in _SUFFIXES)):
                if candidate.is_file() and not _installed(candidate):
                    yield candidate.resolve()
            place = place / part


def _own_init(folder: Path) -> Iterator[Path]:
    if (init := folder / "__init__.py").is_file():
        yield init.resolve()


def _installed(path: Path) -> bool:
    resolved = path.resolve()
    return any(library in resolved.parents for library in _LIBRARIES) or _OWN in resolved.parents
