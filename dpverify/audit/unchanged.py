"""Whether a mechanism left its input as it was: a copy taken before, compared after.

An unknown type that cannot be copied or compared is taken to be unchanged: an accusation needs evidence.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Set
from hashlib import blake2b
from typing import Any

import numpy as np

from dpverify.audit.reading import safe_repr


def snapshot(value: Any) -> Any:
    """A deep copy, or the value itself where it has none."""
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def same(before: Any, after: Any) -> bool:
    """Whether two values are equal all the way down; NaN equals NaN."""
    if before is after:
        return True
    if type(before) is not type(after):
        return False
    if isinstance(before, np.ndarray):
        return _same_arrays(before, after)
    if isinstance(before, Mapping):
        return len(before) == len(after) and all(key in after and same(item, after[key]) for key, item in before.items())
    if isinstance(before, list | tuple):
        return len(before) == len(after) and all(map(same, before, after))
    if isinstance(before, str | bytes | bytearray | bool | int | Set):
        return bool(before == after)
    if isinstance(before, float | complex):
        return before == after or (before != before and after != after)
    equals = getattr(before, "equals", None)  # pandas and polars
    if callable(equals):
        return _verdict_of(equals, after)
    if "__eq__" in {name for kind in type(before).__mro__[:-1] for name in vars(kind)}:
        return _verdict_of(before.__eq__, after)
    if hasattr(before, "__dict__"):
        return same(vars(before), vars(after))
    return True


def _same_arrays(before: Any, after: Any) -> bool:
    if before.shape != after.shape or before.dtype != after.dtype:
        return False
    if before.dtype.hasobject:
        return same(before.tolist(), after.tolist())
    return bool(before.tobytes() == after.tobytes())


def _verdict_of(compare: Any, other: Any) -> bool:
    try:
        equal = compare(other)
    except Exception:
        return True
    if equal is NotImplemented:
        return True
    try:
        return bool(equal.all()) if hasattr(equal, "all") and not isinstance(equal, bool | np.bool_) else bool(equal)
    except Exception:
        return True


def digest_of_input(data: Any) -> str:
    """A text that tells inputs of different content apart, the same in every process."""
    return blake2b(_content(data), digest_size=12).hexdigest()


def _content(data: Any) -> bytes:
    if isinstance(data, np.ndarray) and not data.dtype.hasobject:
        return repr((data.dtype.str, data.shape)).encode() + data.tobytes()
    if isinstance(data, list | tuple):
        return type(data).__name__.encode() + b"".join(blake2b(_content(item), digest_size=16).digest() for item in data)
    if isinstance(data, set | frozenset):
        return type(data).__name__.encode() + b"".join(
            sorted(blake2b(_content(item), digest_size=16).digest() for item in data)
        )
    return safe_repr(data).encode("utf-8", "surrogatepass")
