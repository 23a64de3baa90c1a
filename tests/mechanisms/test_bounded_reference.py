"""Every reference row of the bounded mechanisms, at 35 digits."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpverify.mechanisms import by_name

TABLE = Path(__file__).parent.parent / "reference" / "bounded_outputs.csv"
DIGITS = 35
WIDEST = Fraction(1, 10**33)

Bounds = tuple[Fraction, Fraction]


def rows() -> list[dict[str, str]]:
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def ends(enclosure: Any) -> Bounds:
    return enclosure.exact_lower, enclosure.exact_upper


def scale(row: dict[str, str], mechanism: str | None = None, **shape: str) -> Bounds:
    family = by_name(mechanism or row["mechanism"])
    asked = {**json.loads(row["params"]), **shape}
    return ends(family.bound(epsilon=row["epsilon"], sensitivity=row["sensitivity"], digits=DIGITS + 6, **asked))


def epsilon(row: dict[str, str], at: Bounds) -> Bounds:
    """The level at a scale that is only enclosed: it falls as the scale grows."""
    family, shape = by_name(row["mechanism"]), json.loads(row["params"])
    least, most = (
        family(**{family.scale_name: one}, sensitivity=row["sensitivity"], **shape).epsilon(0, digits=DIGITS + 3)
        for one in reversed(at)
    )
    return ends(least)[0], ends(most)[1]


def answer(row: dict[str, str]) -> Bounds:
    quantity = row["quantity"]
    if quantity == "scale":
        return scale(row)
    if quantity == "scale squared":
        low, high = scale(row)
        return low**2, high**2
    if quantity == "epsilon at the scale of unbounded Laplace noise":
        laplace = Fraction(row["sensitivity"]) / Fraction(row["epsilon"])
        return epsilon(row, (laplace, laplace))
    if quantity == "epsilon at the scale of condition utility":
        return epsilon(row, scale(row, condition="utility"))
    if quantity == "epsilon at the scale of the truncated law under condition liu":
        return epsilon(row, scale(row, "truncated-generalized-gaussian", condition="liu"))
    assert quantity == "mean squared error of coordinate 0 at the lower end, at the exact scale"
    family, shape = by_name(row["mechanism"]), json.loads(row["params"])
    least, most = (
        family(one, sensitivity=row["sensitivity"], **shape).mean_squared_error(at="0,0", coordinate=0, digits=DIGITS + 3)
        for one in scale(row)
    )
    return ends(least)[0], ends(most)[1]


def meets(found: Bounds, printed: str) -> bool:
    """Whether the enclosure is narrow and shares a point with the printed value plus or minus a unit of its last digit."""
    value, unit = Fraction(printed), Fraction(1, 10 ** len(printed.partition(".")[2]))
    low, high = found
    return high - low <= abs(low) * WIDEST and low <= value + unit and value - unit <= high


@pytest.mark.parametrize("quantity", sorted({row["quantity"] for row in rows()}))
def test_every_row_is_met(quantity: str) -> None:
    chosen = [row for row in rows() if row["quantity"] == quantity]
    assert chosen
    for row in chosen:
        assert meets(answer(row), row["value"]), row


def test_all_conditions_and_adjacencies_have_rows() -> None:
    shapes = [json.loads(row["params"]) for row in rows()]
    assert {shape.get("condition") for shape in shapes} == {None, "chen-hale", "liu", "exponential"}
    assert {shape.get("adjacency") for shape in shapes} == {None, "l2"}
    assert len(shapes) == 219


def test_a_value_one_unit_in_the_last_place_but_two_off_is_not_met() -> None:
    row = next(row for row in rows() if row["quantity"] == "scale" and len(row["value"]) > 30)
    wrong = str(int(row["value"].replace(".", "")) + 200)
    assert not meets(answer(row), f"{row['value'].partition('.')[0]}.{wrong[-len(row['value'].partition('.')[2]) :]}")
