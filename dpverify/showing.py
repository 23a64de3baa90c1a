"""How a value comes to be shown by a room above it: by name, and not before it is asked.

Imports run one way, so a mechanism or a result cannot import `report`, which knows how both look. A notebook and a user ask
the value all the same. Values hand the question on here; this is the one place that names a room above, besides the
public face, and a look-up never pays for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def notebook(value: object, form: str) -> str:
    """The value as a piece of HTML: `form` names a function of `report.notebook`."""
    found: str = getattr(import_module("dpverify.report.notebook"), form)(value)
    return found


def plotted(value: object, form: str, kind: str, options: dict[str, Any]) -> Any:
    """Axes on which the value is drawn: `form` names a function of `report.plots`."""
    return getattr(import_module("dpverify.report.plots"), form)(value, kind, **options)
