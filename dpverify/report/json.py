"""JSON as dpverify writes it: strict, readable, and the same bytes for the same result."""

from __future__ import annotations

import json
import math
from typing import Any


def to_json(value: Any) -> str:
    """`value` (dicts, lists, text, numbers, None) as indented JSON with a final newline.

    Keys keep their order. JSON knows no infinity and no NaN, so those become the text "inf", "-inf" and "nan".
    """
    return json.dumps(_strict(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _strict(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return value
