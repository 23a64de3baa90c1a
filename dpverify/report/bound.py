"""A certified bound as text and as data."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from dpverify.errors import UndecidedError
from dpverify.report.tables import aligned, comma_separated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpverify.errors import DpverifyError
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


# Tables: one row a request.


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A request, and its answer or the reason why there is none."""

    mechanism: str
    given: Mapping[str, str | None]
    digits: int
    unknown: str
    solved: Solved | None
    status: str
    reason: str | None


def answered(solved: Solved, given: Mapping[str, str | None]) -> Row:
    """A row that was solved."""
    return Row(
        mechanism=solved.mechanism,
        given=given,
        digits=solved.enclosure.digits,
        unknown=solved.solved,
        solved=solved,
        status="certified",
        reason=None,
    )


def refused(mechanism: str, given: Mapping[str, str | None], digits: int, unknown: str, error: DpverifyError) -> Row:
    """A row that no number can answer ("refused"), or whose number was not reached ("undecided")."""
    status = "undecided" if isinstance(error, UndecidedError) else "refused"
    return Row(mechanism=mechanism, given=given, digits=digits, unknown=unknown, solved=None, status=status, reason=str(error))


def table_as_data(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The data of each row, with `given`, what it was asked for, and `reason`, why there is no number."""
    listed = []
    for row in rows:
        data = as_data(row.solved) if row.solved else refusal_as_data(row.mechanism, {row.unknown: None}, row.digits)
        given = {name: value for name, value in row.given.items() if value is not None}
        listed.append({**data, "status": row.status, "given": given, "reason": row.reason})
    return listed


def table_as_csv(rows: Sequence[Row]) -> str:
    """One line a row: what was asked for, the two decimals, the safe double, the status and the reason."""
    names = list(rows[0].given)
    header = ["mechanism", *names, "solved", "lower", "upper", "float", "digits", "status", "reason"]
    lines = []
    for row, data in zip(rows, table_as_data(rows), strict=True):
        asked = [row.given[name] or "" for name in names]
        known = [data["solved"], data["lower"], data["upper"], None if data["float"] is None else repr(data["float"])]
        told = [*known, str(row.digits), row.status, row.reason]
        lines.append([row.mechanism, *asked, *("" if cell is None else cell for cell in told)])
    return comma_separated(header, lines)


def table_as_text(rows: Sequence[Row]) -> str:
    """The request that all rows share in one line, then a line a row."""
    first, unknown = rows[0], rows[0].unknown
    varied = [name for name in ("epsilon", "delta") if first.given[name] is not None]
    shared = ", ".join(f"{name} = {value}" for name, value in first.given.items() if value is not None and name not in varied)
    lines = [[*(str(row.given[name]) for name in varied), *_cells(row)] for row in rows]
    quantity = unknown if unknown == "delta" else f"least {unknown}"
    promise = f"is {_PROMISE[unknown]}" if unknown in _PROMISE else _PROMISE_OF_A_PARAMETER
    note = f"All digits are certified; the safe double {promise}.\n" if any(row.solved for row in rows) else ""
    return f"{first.mechanism} with {shared}\n" + aligned([*varied, quantity, "safe double"], lines) + note


def _cells(row: Row) -> tuple[str, str]:
    if row.solved is None:
        return row.status, row.reason or ""
    return row.solved.enclosure.decimal(), repr(row.solved.safe_double)
