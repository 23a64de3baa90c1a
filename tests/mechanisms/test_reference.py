"""Every reference row, at 35 digits."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from flint import arb

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.precision import working_precision
from dpverify.mechanisms import by_name

DIGITS = 35
WIDEST = "2e-34"
TABLE = Path(__file__).parent.parent / "reference" / "additive_noise.csv"


def rows() -> list[dict[str, str]]:
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def answer(row: dict[str, str]) -> Enclosure:
    family, shape = by_name(row["mechanism"]), json.loads(row["params"])
    if row["quantity"] == "delta":
        return family(**shape, sensitivity=row["sensitivity"]).delta(row["epsilon"], digits=DIGITS)
    if row["quantity"] == "epsilon":
        return family(**shape, sensitivity=row["sensitivity"]).epsilon(row["delta"], digits=DIGITS)
    return family.bound(epsilon=row["epsilon"], delta=row["delta"], sensitivity=row["sensitivity"], digits=DIGITS)


def meets(enclosure: Enclosure, printed: str) -> bool:
    """Whether the enclosure shares a point with the printed value plus or minus one unit of its last digit."""
    mantissa, _, exponent = printed.partition("e")
    power = int(exponent or 0) - len(mantissa.partition(".")[2])
    with working_precision(600):
        value, unit = arb(mantissa) * arb(10) ** int(exponent or 0), arb(10) ** power
        return enclosure.overlaps(Enclosure((value - unit).union(value + unit), digits=DIGITS))


def relative_width(enclosure: Enclosure) -> arb:
    low, high = enclosure.bounds(DIGITS + 10)
    with working_precision(600):
        return (arb(high) - arb(low)) / abs(arb(low))


@pytest.mark.parametrize("mechanism", ["laplace", "logistic", "gaussian"])
@pytest.mark.parametrize("quantity", ["delta", "epsilon", "scale"])
def test_every_row_is_met(mechanism: str, quantity: str) -> None:
    family = by_name(mechanism)
    wanted = family.scale_name if quantity == "scale" else quantity
    chosen = [row for row in rows() if (row["mechanism"], row["quantity"]) == (mechanism, wanted)]
    assert len(chosen) >= 20
    for row in chosen:
        enclosure = answer(row)
        if float(row["value"].partition("e")[0]) == 0:
            assert enclosure.is_exact, row
            assert enclosure.exact_lower == 0, row
            continue
        assert meets(enclosure, row["value"]), row
        if not enclosure.is_exact:
            assert relative_width(enclosure) < arb(WIDEST), row


def test_a_value_one_percent_off_is_not_met() -> None:
    row = next(row for row in rows() if row["mechanism"] == "gaussian" and row["quantity"] == "sigma")
    value = row["value"]
    digit = value[2] if value[1] == "." else value[1]
    wrong = value.replace(digit, str((int(digit) + 5) % 10), 1)
    assert not meets(answer(row), wrong)
