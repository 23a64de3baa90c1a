"""A derivation as text, as LaTeX and as data. How its formulas look is decided where they are made, in `derive`."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpverify.derive.steps import Derivation


_WIDTH = 100


def as_data(derivation: Derivation) -> dict[str, Any]:
    """The derivation with all its steps, formulas as plain text and as LaTeX."""
    return derivation.to_json()


def as_text(derivation: Derivation, *, latex: bool, steps: bool) -> str:
    """What each step states or, with `steps`, also why and how it was checked; `latex` gives a fragment for amsmath."""
    if latex:
        written = derivation.latex()
    elif steps:
        written = derivation.text()
    else:
        written = _outline(derivation)
    return written.rstrip("\n") + "\n"


def _outline(derivation: Derivation) -> str:
    lines = textwrap.wrap(derivation.summary, _WIDTH, break_long_words=False, break_on_hyphens=False)
    for number, step in enumerate(derivation.steps, start=1):
        lines += ["", f"{number}. {step.name}"]
        lines += [f"     {statement}" for statement in step.to_json()["statement"]]
    return "\n".join([*lines, "", "--steps shows why each step holds and how it was checked."])
