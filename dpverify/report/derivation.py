"""A derivation as text, as LaTeX and as data. How its formulas look is decided where they are made, in `derive`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpverify.derive.steps import Derivation


def as_data(derivation: Derivation) -> dict[str, Any]:
    """The derivation with all its steps, formulas as plain text and as LaTeX."""
    return derivation.to_json()


def as_text(derivation: Derivation, *, latex: bool, steps: bool) -> str:
    """The result alone or, with `steps`, every step and how it was checked; `latex` gives a fragment for amsmath."""
    if latex:
        written = derivation.latex()
    elif steps:
        written = derivation.text()
    else:
        written = f"{derivation.summary}\n{len(derivation.steps)} steps, each checked; --steps shows them."
    return written.rstrip("\n") + "\n"
