"""A certified bound as text and as data."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpverify.mechanisms._mechanism import Solved

_PROMISE = {
    "epsilon": "the least double that is no smaller than epsilon",
    "delta": "the least double that is no smaller than delta",
}
_PROMISE_OF_A_PARAMETER = "satisfies the claim; the double below it does not"
_NONE_SO_LARGE = "no finite double is large enough"


def as_data(solved: Solved) -> dict[str, Any]:
    """The documented JSON of `bound`. `lower` and `upper` are decimals, rounded outward; `float` is the safe double."""
    lower, upper = solved.enclosure.bounds()
    return {
        "mechanism": solved.mechanism,
        "solved": solved.solved,
        "lower": lower,
        "upper": upper,
        "float": solved.safe_double,
        "digits": solved.enclosure.digits,
        "expression": solved.expression,
        "status": "certified",
    }


def refusal_as_data(mechanism: str, given: Mapping[str, str | None], digits: int) -> dict[str, Any]:
    """The same keys for a request that no number can answer. `given` holds None for the quantity asked for."""
    return {
        "mechanism": mechanism,
        "solved": next(name for name, value in given.items() if value is None),
        "lower": None,
        "upper": None,
        "float": None,
        "digits": digits,
        "expression": None,
        "status": "refused",
    }


def as_text(solved: Solved, given: Mapping[str, str | None]) -> str:
    """The request in one line, then the number from both sides, its safe double and the formula."""
    request = ", ".join(f"{name} = {value}" for name, value in given.items() if value is not None)
    lower, upper = solved.enclosure.bounds()
    quantity = solved.solved if solved.solved == "delta" else f"least {solved.solved}"
    promise = _PROMISE.get(solved.solved, _PROMISE_OF_A_PARAMETER)
    rows = [
        (quantity, solved.enclosure.decimal()),
        ("certified", f"exactly {lower}" if lower == upper else f"between {lower} and {upper}"),
        ("safe double", f"{solved.safe_double!r} ({promise if isfinite(solved.safe_double) else _NONE_SO_LARGE})"),
        ("formula", solved.expression),
    ]
    width = max(len(label) for label, _ in rows)
    return f"{solved.mechanism} with {request}\n" + "".join(f"  {label:{width}}  {value}\n" for label, value in rows)
