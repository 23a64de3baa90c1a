"""Sums of privacy losses of generalized Gaussian noise: reference rows, closed forms where there are some, and refusals."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest
from flint import arb, fmpq

import dpverify as dv
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.precision import working_precision
from dpverify.compose import _inversion, _rough, _transforms, composed
from dpverify.compose.power_law import PowerLawProduct
from dpverify.compose.scale import _Search, least_scale
from dpverify.errors import ImpossibleRequest, InputError, NotCovered, PrecisionError
from dpverify.mechanisms import by_name
from dpverify.notions import approximate, loss, probabilistic, renyi
from dpverify.notions.gaussian_pair import GaussianPair

TABLE = Path(__file__).parent.parent / "reference" / "several_coordinates.csv"
QUICK = ("scale_union-2-1.0-0.1", "scale_pairwise-3-1.0-0.001")
"""Rows by integration; all of them take minutes: benchmarks/several_coordinates.py asks for them."""


def rows() -> list[dict[str, str]]:
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def named(row: dict[str, str]) -> str:
    return "-".join((row["quantity"], json.loads(row["params"])["p"], row["epsilon"], row["delta"]))


def is_quick(row: dict[str, str]) -> bool:
    closed = json.loads(row["params"])["p"] == "2" and row["quantity"] != "scale_union"
    return closed or row["quantity"] == "delta" or named(row) in QUICK


def answer(row: dict[str, str]) -> Enclosure:
    family, params = by_name(row["mechanism"]), json.loads(row["params"])
    digits = len(row["value"].replace(".", "").lstrip("0"))
    if row["quantity"] == "delta":
        with mpmath.workdps(60):
            move = mpmath.nstr(mpmath.mpf(2) ** mpmath.mpf("-0.25"), 50)
        return approximate.profile(composed((family(**params, sensitivity=move), 2)), row["epsilon"], digits=digits)
    found: Enclosure = least_scale(
        family,
        sensitivities=row["sensitivity"].split(","),
        epsilon=row["epsilon"],
        delta=row["delta"],
        p=params["p"],
        notion=row["quantity"].removeprefix("scale_"),
        digits=digits,
    )
    return found


def meets(enclosure: Enclosure, printed: str) -> bool:
    """Whether the enclosure shares a point with the printed value plus or minus one unit of its last digit, and is not wide."""
    unit = Fraction(10) ** -len(printed.partition(".")[2])
    low, high = Fraction(printed) - unit, Fraction(printed) + unit
    width = enclosure.exact_upper - enclosure.exact_lower
    return width <= unit and enclosure.exact_lower <= high and enclosure.exact_upper >= low


@pytest.mark.parametrize("row", [row for row in rows() if is_quick(row)], ids=named)
def test_rows_are_met(row: dict[str, str]) -> None:
    found = answer(row)
    assert meets(found, row["value"])
    assert not meets(found, str(Decimal(row["value"]) * Decimal("1.001")))


def test_all_rows_are_there() -> None:
    assert len(rows()) == 94
    assert {named(row) for row in rows()} >= set(QUICK)


def test_gaussian_noise_has_a_closed_form() -> None:
    """The same integrals as for every other even p."""
    turn, eps = _inversion.turned(2), fmpq(3)
    with working_precision(64):
        transforms = [_transforms.signed(2, arb(d) / 2, turn) for d in (1, 2)]
        pair = GaussianPair(mu_squared=fmpq(5, 2))
        for weighted, known in ((True, pair.hockey_stick(eps)), (False, pair.loss_tail(eps))):
            found = _inversion.exceeding(transforms, arb(eps), turn, weighted=weighted)
            assert found.overlaps(known)
            assert found.rel_accuracy_bits() > 40
            assert abs(_rough.exceeding(transforms, float(arb(eps)), turn, weighted=weighted) / float(known) - 1) < 1e-8


def test_one_coordinate_alone() -> None:
    noise = dv.GeneralizedGaussian("3/2", 3)
    alone = composed(noise)
    assert approximate.profile(alone, -1).overlaps(noise.delta(-1))
    assert probabilistic.probability(alone, -1).overlaps(probabilistic.probability(noise, -1))
    assert probabilistic.probability(alone, 1, reading="union").overlaps(probabilistic.probability(noise, 1, reading="union"))
    assert approximate.profile(alone, 30, digits=8).overlaps(noise.delta(30, digits=8))


def test_gaussian_next_to_laplace_by_quadrature() -> None:
    """delta = E over the Laplace release of the profile of the Gaussian one at epsilon minus its loss."""
    m = mpmath.mp.clone()
    m.dps = 25
    d, mu, eps = m.mpf(1) / 2, m.mpf(1), m.mpf(1)

    def profile(e: Any) -> Any:
        return m.ncdf(mu / 2 - e / mu) - m.exp(e) * m.ncdf(-mu / 2 - e / mu)

    inside = m.quad(lambda x: m.exp((x - d) / 2) / 4 * profile(eps - x), [-d, d])
    total = profile(eps - d) / 2 + m.exp(-d) / 2 * profile(eps + d) + inside
    found = approximate.profile(composed(dv.Laplace(2), dv.Gaussian(1)), 1)
    assert abs(m.mpf(found.decimal(15)) - total) < m.mpf(10) ** -15


def test_what_adds_up() -> None:
    one, other = dv.Subbotin(2, 3), dv.Subbotin(1, 4)
    pair = composed((one, 2), other)
    assert isinstance(pair, PowerLawProduct)
    assert pair.reversed() is pair
    assert not pair.loss_limit().is_finite()
    parts = [renyi.divergence(noise, "5/2").upper for noise in (one, one, other)]
    assert abs(renyi.divergence(pair, "5/2").upper - sum(parts)) < 1e-13
    for ask in (lambda law: law.mean().upper, lambda law: law.variance().upper):
        parts = [ask(loss.of(noise.dominating_pair())) for noise in (one, one, other)]
        assert abs(ask(loss.of(pair)) - sum(parts)) < 1e-13


def test_exponents_one_and_two_are_laplace_and_gaussian_noise() -> None:
    pair = composed(dv.GeneralizedGaussian(2, 1), dv.Subbotin(3, 1))
    assert approximate.profile(pair, "1/2").overlaps(approximate.profile(composed(dv.Laplace(2), dv.Laplace(3)), "1/2"))
    pair = composed(dv.Subbotin(2, 2), dv.Subbotin(3, 2))
    same = composed(dv.Gaussian(2), dv.Gaussian(3))
    assert approximate.profile(pair, "1/2").overlaps(approximate.profile(same, "1/2"))
    assert probabilistic.probability(pair, "1/2").overlaps(probabilistic.probability(same, "1/2"))


def test_below_the_sum_of_corners() -> None:
    pair = composed((dv.GeneralizedGaussian(2, 3), 2))
    assert pair.disclosure_tail(fmpq(1, 4)) == 1
    with pytest.raises(NotCovered, match="above 1/4"):
        approximate.profile(pair, "1/4")
    with pytest.raises(NotCovered, match="near or below"):
        least_scale(dv.Subbotin, sensitivities=(1, 1), epsilon="1/10", delta="999/1000", p=3)


def test_what_is_not_covered() -> None:
    with pytest.raises(NotCovered, match="whole numbers"):
        composed(dv.Subbotin(1, "5/2"))
    with pytest.raises(NotCovered, match="more than 64"):
        composed((dv.Subbotin(1, 3), 65))
    with pytest.raises(PrecisionError):
        approximate.profile(composed((dv.Subbotin("1e-9", 4), 2)), 1)


def test_least_scales_with_closed_forms() -> None:
    assert least_scale(dv.Subbotin, sensitivities=(1, 2), epsilon=2, delta="1/100", p=1, notion="union") == Fraction(3, 2)
    one = {"epsilon": 1, "delta": "1/100", "p": 3}
    alone: Any = least_scale(dv.Subbotin, sensitivities=(2,), **one)
    assert alone.overlaps(dv.Subbotin.bound(sensitivity=2, **one))
    alone = least_scale(dv.Subbotin, sensitivities=(2,), notion="pairwise", **one)
    assert alone.overlaps(dv.Subbotin.bound_probabilistic(sensitivity=2, reading="pairwise", **one))
    several = least_scale(dv.Subbotin, sensitivities=(3, 4), epsilon=1, delta="1/100", p=2, digits=30)
    assert several.overlaps(dv.Gaussian.bound(sensitivity=5, epsilon=1, delta="1/100", digits=30))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"notion": "both"}, InputError, "choose approximate"),
        ({"sensitivities": ()}, InputError, "one for each"),
        ({"p": "5/2"}, NotCovered, "whole numbers"),
        ({"delta": 0}, ImpossibleRequest, "unbounded"),
        ({"epsilon": 0}, NotCovered, "epsilon > 0"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else None,
)
def test_least_scales_that_are_refused(change: dict[str, Any], error: type[Exception], words: str) -> None:
    request = {"sensitivities": (1, 2), "epsilon": 1, "delta": "1/100", "p": 3} | change
    with pytest.raises(error, match=words):
        least_scale(dv.Subbotin, **request)


def test_a_search_that_leaves_the_doubles_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    request: dict[str, Any] = {"sensitivities": (1, 2), "epsilon": 1, "delta": "1/100", "p": 3}
    with monkeypatch.context() as patch:
        patch.setattr(_rough, "exceeding", lambda *_, **__: float("nan"))
        with pytest.raises(PrecisionError, match="out of reach of the search"):
            least_scale(dv.Subbotin, **request)
    # Doubles that mislead cost digits, never a wrong one.
    monkeypatch.setattr(_Search, "_start", lambda _: (arb(5), arb(1000)))
    monkeypatch.setattr(_Search, "_value", lambda _, x: 1 / x)
    with pytest.raises(PrecisionError, match="could not be told"):
        least_scale(dv.Subbotin, **request)


def test_an_integral_that_does_not_close_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = composed((dv.Subbotin(2, 4), 2))
    for name, value in (("_LONGEST", 1.0), ("_SHORTEST", 1.0)):
        with monkeypatch.context() as patch:
            patch.setattr(_inversion, name, value)
            with pytest.raises(PrecisionError, match="too many pieces"):
                pair.hockey_stick(fmpq(1))
    monkeypatch.setattr(_transforms, "_FARTHEST", 1.0)
    with pytest.raises(PrecisionError, match="out of reach of the quadrature"):
        pair.hockey_stick(fmpq(1))
