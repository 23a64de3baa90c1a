"""Claims that are curves: their points are implied by the claim, audits test one of them, and evidence leads back to it.

The audits below have level 1e-6 and fixed seeds: a sound auditor refutes a true claim with at most that probability.
"""

from __future__ import annotations

import copy
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from dpverify.audit.api import audit
from dpverify.audit.curve import Curve, curve_from_json, curve_of, gaussian_delta, renyi_delta, zcdp_delta
from dpverify.audit.evidence import recheck
from dpverify.audit.exploration import Forecast
from dpverify.errors import InputError
from dpverify.guarantees import ZCDP, ApproxDP, GaussianDP, ProbabilisticDP, PureDP, RenyiDP, Verdict
from dpverify.notions.conversion import convert

CLAIMS = [
    GaussianDP(mu="1/4"),
    GaussianDP(mu=2),
    ZCDP(rho="1/50"),
    ZCDP(rho=3),
    RenyiDP(order="3/2", epsilon="1/10"),
    RenyiDP(order=32, epsilon=2),
]


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_every_point_is_implied(claim: Any) -> None:
    """The conversions of `notions`, which are derived apart from these, allow a delta that is no larger."""
    curve = curve_of(claim)
    assert len(curve.points) > 5
    for epsilon, delta in curve.points[1:]:
        implied = convert(claim, to=ApproxDP, epsilon=Fraction(epsilon)).guarantee
        assert float(implied.delta) <= delta * (1 + 1e-9)
        if not isinstance(claim, RenyiDP):  # of one order alone less delta follows than the formula says
            assert delta == pytest.approx(float(implied.delta), rel=0.02)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_points_fall_and_lead_back_to_the_parameter(claim: Any) -> None:
    curve = curve_of(claim)
    epsilons, deltas = zip(*curve.points, strict=True)
    assert list(epsilons) == sorted(epsilons)
    assert list(deltas) == sorted(deltas, reverse=True)
    assert curve.parameter is not None
    stated = float(getattr(claim, curve.parameter))
    for epsilon, delta in curve.points[1:]:
        found = curve.parameter_lower(epsilon, delta)
        assert found is not None
        assert stated * (1 - 1e-6) <= found <= stated * (1 + 1e-12)
        assert curve.parameter_lower(0.0, delta) == 0.0
        assert curve.allows(epsilon, delta)
        assert not curve.allows(epsilon, delta * 0.99) or delta == deltas[-1]
    assert curve_from_json(json.loads(json.dumps(curve.to_json()))) == curve


def test_known_values() -> None:
    assert gaussian_delta(fmpq(0), 0.5) == 0.0
    assert gaussian_delta(fmpq(1), 0.0) == pytest.approx(math.erf(1 / math.sqrt(8)), rel=1e-14)
    assert renyi_delta(fmpq(2), fmpq(1), 1.0) == pytest.approx(0.25, rel=1e-14)
    assert zcdp_delta(fmpq(1, 2), 5.0) <= min(renyi_delta(fmpq(a, 4), fmpq(a, 8), 5.0) for a in range(5, 80))


def test_a_profile_is_taken_as_it_is() -> None:
    curve = curve_of([("1", "1e-5"), ("1/2", "1e-3"), (1, "1e-4")])
    assert curve.points == ((0.5, 1e-3), (1.0, 1e-5))
    assert curve.parameter_lower(1.0, 1e-5) is None
    assert curve_of(PureDP(epsilon=1)).points == ((1.0, 0.0),)
    assert curve_of(ApproxDP(epsilon=1, delta="1e-3")).points == ((1.0, 1e-3),)
    assert curve_from_json(curve.to_json()) == curve


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("0.5", "PureDP, ApproxDP, GaussianDP, ZCDP, RenyiDP or a list"),
        (ProbabilisticDP(epsilon=1, delta="1e-3"), "convert other notions first"),
        ([], "a profile of 0 points"),
        ([1.0], r"claim\[0\] = 1.0: a pair"),
        ([(1, 0), (-1, 0)], r"claim\[1\]"),
        ([(1, 1)], r"0 <= delta < 1"),
        ([(1, "0.99999999999999999999")], "too weak|cannot be tested"),
        (RenyiDP(order=2, epsilon=10**10), "too weak"),
    ],
)
def test_a_claim_that_cannot_be_tested_is_refused(claim: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        curve_of(claim)


def gaussian(data: float, rng: np.random.Generator, size: int) -> Any:
    return data + rng.normal(size=size)


def audited(claim: Any, samples: int = 20_000, **options: Any) -> Any:
    options = {"inputs": (0.0, 1.0), "outputs": "reals", "alpha": 1e-6, "seed": 3, "progress": False} | options
    return audit(gaussian, claim=claim, samples=samples, **options)


@pytest.mark.parametrize(
    "claim", [GaussianDP(mu=1), ZCDP(rho="1/2"), curve_of(GaussianDP(mu=1)).points], ids=["gdp", "zcdp", "points"]
)
def test_a_true_curve_is_not_refuted(claim: Any) -> None:
    result = audited(claim)
    assert result.verdict is Verdict.NOT_REFUTED
    assert result.epsilon_lower <= result.epsilon
    assert result.detectable_epsilon > result.epsilon
    assert recheck(json.loads(json.dumps(result.evidence))).bounds == pytest.approx(result.bounds)


@pytest.mark.parametrize(("claim", "name"), [(GaussianDP(mu="0.8"), "mu"), (ZCDP(rho="0.2"), "rho")], ids=["mu", "rho"])
def test_a_false_curve_is_refuted_with_a_bound_on_its_parameter(claim: Any, name: str) -> None:
    result = audited(claim, samples=60_000)
    assert result.verdict is Verdict.REFUTED
    assert float(getattr(claim, name)) < result.bounds[name] <= {"mu": 1.0, "rho": 0.5}[name]
    assert 0 < result.bounds["delta"] <= gaussian_delta(fmpq(1), result.epsilon)
    assert curve_of(claim).allows(result.epsilon, result.delta)
    assert recheck(json.loads(json.dumps(result.evidence))).verdict is Verdict.REFUTED


def test_one_of_epsilon_and_claim_is_stated() -> None:
    for options in ({}, {"epsilon": 1, "claim": PureDP(epsilon=1)}, {"claim": PureDP(epsilon=1), "delta": "1e-5"}):
        with pytest.raises(InputError, match="claim"):
            audit(gaussian, inputs=(0.0, 1.0), **options)


def test_evidence_of_a_curve_that_was_edited_is_refused() -> None:
    evidence = json.loads(json.dumps(audited(GaussianDP(mu="1.5"), samples=2_000).evidence))

    def with_(change: Any) -> Any:
        edited = copy.deepcopy(evidence)
        change(edited)
        return edited

    recheck(evidence)
    edits: list[tuple[Any, str]] = [
        (lambda e: e["claim"].update(mu="2"), "no point that the claim implies"),
        (lambda e: e["claim"].update(notion="PrivateDP"), "describes no claim"),
        (lambda e: e["claim"].update(notion="profile"), "describes no claim"),
        (lambda e: e["tests"][0].update(delta=1e-9), r"tests\[0\] tests"),
        (lambda e: e["tests"][0].pop("epsilon"), r"tests\[0\].epsilon is missing"),
        (lambda e: e.update(design="random-side"), "design"),
        (lambda e: e["bounds"].update(mu=7.0), "bounds.mu"),
    ]
    for change, said in edits:
        with pytest.raises(InputError, match=said):
            recheck(with_(change))


def test_a_forecast_chooses_the_point_where_the_claim_is_weakest() -> None:
    """An event of the tail is tested at a small delta, an event of half the mass at a large one."""
    curve: Curve = curve_of(GaussianDP(mu="1/4"))
    forecast = Forecast(delta=0.0, alpha=0.05, planned=10**6, points=curve.points)
    half, tail = forecast.point_for(549_738, 10**6, 450_262, 10**6), forecast.point_for(2_980, 10**6, 1_350, 10**6)
    assert half is not None
    assert tail is not None
    assert half[1] > tail[1]
    assert Forecast(delta=0.0, alpha=0.05, planned=10**6).point_for(1, 2, 1, 2) is None
