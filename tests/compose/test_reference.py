"""Every reference row about several releases, probabilistic DP and post-processing, at 35 digits."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from flint import arb

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.precision import working_precision
from dpverify.compose import composed
from dpverify.compose.postprocessing import Rejection, largest_clamped_atom
from dpverify.mechanisms import by_name
from dpverify.notions import approximate

DIGITS = 35
ROWS = 13 + 16 + 16 + 5 + 3 + 6
TABLE = Path(__file__).parent.parent / "reference" / "composed_and_processed.csv"


def rows() -> list[dict[str, str]]:
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def answer(row: dict[str, str], digits: int = DIGITS) -> Enclosure:
    family, params = by_name(row["mechanism"]), json.loads(row["params"])
    if row["quantity"] == "sigma_probabilistic_union":
        return family.bound_probabilistic(
            epsilon=row["epsilon"], delta=row["delta"], sensitivity=row["sensitivity"], reading="union", digits=digits
        )
    if row["quantity"] == "largest_clamped_atom":
        scale = family.bound_probabilistic(epsilon=row["epsilon"], delta=row["delta"], digits=digits + 10)
        return largest_clamped_atom(family(scale.exact_upper), row["epsilon"], digits=digits)
    if row["quantity"] == "epsilon_after_rejection":
        noise = family(Fraction(row["sensitivity"]) / Fraction(row["epsilon"]), sensitivity=row["sensitivity"])
        return Rejection(low=0, high=params["width"]).realised_epsilon(noise, digits=digits)
    return approximate.profile(releases(family, params, row), row["epsilon"], digits=digits)


def releases(family: Any, params: dict[str, Any], row: dict[str, str]) -> Any:
    if "shifts" in params:
        return composed(*(family(params["scale"], sensitivity=shift) for shift in params["shifts"]))
    return composed((family(**params, sensitivity=row["sensitivity"]), int(row["k"])))


def meets(enclosure: Enclosure, printed: str) -> bool:
    """Whether the enclosure shares a point with the printed value plus or minus one unit of its last digit."""
    mantissa, _, exponent = printed.partition("e")
    power = int(exponent or 0) - len(mantissa.partition(".")[2])
    with working_precision(600):
        value, unit = arb(mantissa) * arb(10) ** int(exponent or 0), arb(10) ** power
        return enclosure.overlaps(Enclosure((value - unit).union(value + unit), digits=DIGITS))


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['mechanism']}-{row['quantity']}-{row['k']}-{row['epsilon']}")
def test_every_row_is_met(row: dict[str, str]) -> None:
    enclosure = answer(row)
    if float(row["value"].partition("e")[0]) == 0:
        assert enclosure.is_exact
        assert enclosure == 0
    else:
        assert meets(enclosure, row["value"])


def test_all_rows_are_there() -> None:
    assert len(rows()) == ROWS


def test_a_value_one_percent_off_is_not_met() -> None:
    for row in rows()[::9]:
        if float(row["value"].partition("e")[0]) > 0:
            mantissa, mark, exponent = row["value"].partition("e")
            assert not meets(answer(row), f"{Decimal(mantissa) * Decimal('1.01'):.30f}{mark}{exponent}")
