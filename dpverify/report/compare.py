"""A ranking of mechanisms as text, as data and as comma-separated values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpverify.mechanisms._comparison import ranks
from dpverify.report.tables import aligned, comma_separated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpverify.mechanisms._comparison import Contender


def as_data(contenders: Sequence[Contender]) -> list[dict[str, Any]]:
    """One entry a row, the best first. `lower` and `upper` bound the mean squared error, rounded outward; `scale` is the least
    double that satisfies the claim. Rows whose errors are equal, or not told apart at these digits, share a rank."""
    answered = [one for one in contenders if one.error is not None]
    places = [*ranks(answered), *[None] * (len(contenders) - len(answered))]
    return [
        {
            "rank": rank,
            "mechanism": one.mechanism,
            "shape": one.shape,
            "parameter": one.scale_name,
            "scale": None if one.scale is None else float(one.scale),
            "lower": None if one.error is None else one.error.bounds()[0],
            "upper": None if one.error is None else one.error.bounds()[1],
            "float": None if one.error is None else one.error.upper,
            "ratio": _ratio(one, contenders[0]),
            "status": one.status,
            "reason": one.reason,
        }
        for rank, one in zip(places, contenders, strict=True)
    ]


def as_csv(contenders: Sequence[Contender]) -> str:
    """The same, one line a row."""
    data = as_data(contenders)
    lines = [
        ["" if cell is None else repr(cell) if isinstance(cell, float) else str(cell) for cell in row.values()] for row in data
    ]
    return comma_separated(list(data[0]), lines)


def as_text(contenders: Sequence[Contender], request: Mapping[str, str]) -> str:
    """The request in one line, the ranking, then what was refused and why."""
    asked = ", ".join(f"{name} = {value}" for name, value in request.items())
    answered = [one for one in contenders if one.error is not None]
    lines = [
        [
            str(rank),
            one.mechanism,
            one.shape,
            f"{one.scale_name} = {float(one.scale)!r}",
            str(one.error),
            f"{_ratio(one, contenders[0]):.6g}",
        ]
        for rank, one in zip(ranks(answered), answered, strict=True)
    ]
    header = ["rank", "mechanism", "shape", "least double", "mean squared error", "times the best"]
    told = f"Mean squared error of the noise at the least double that satisfies {asked}; all its digits are certified.\n"
    shown = aligned(header, lines) if answered else ""
    others = [[one.mechanism, one.shape, one.status, one.reason or ""] for one in contenders if one.error is None]
    return told + shown + (aligned(["not ranked", "shape", "", "why"], others) if others else "")


def _ratio(one: Contender, best: Contender) -> float | None:
    if one.error is None or best.error is None:
        return None
    (above, _), (best_above, _) = one.ends, best.ends
    try:
        return float(above / best_above)
    except OverflowError:
        return float("inf")
