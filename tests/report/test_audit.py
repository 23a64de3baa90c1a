from __future__ import annotations

import dataclasses
import math

import pytest

from dpverify import Verdict
from dpverify.audit.result import AuditResult, Witness
from dpverify.report import audit as report

WITNESS = Witness(
    description="output > 11",
    event={"family": "within"},
    likelier=1,
    hits=1148,
    draws=4719,
    other_hits=86,
    other_draws=4601,
    alpha=1e-4,
    epsilon_lower=1.11699,
    precise=False,
)


@pytest.fixture
def refuted() -> AuditResult:
    return AuditResult(
        verdict=Verdict.REFUTED,
        epsilon=1.0,
        delta=0.0,
        epsilon_lower=1.11699,
        confidence=0.999,
        witness=WITNESS,
        detectable_epsilon=1.00011,
        samples=9973,
        seconds=0.5,
        verdict_on_reals=Verdict.REFUTED,
        notes=(),
        evidence={"mechanism": {"name": "noisy_count", "inputs": ["10", "11"]}, "samples": 10**6, "alpha": 1e-3},
    )


@pytest.fixture
def not_refuted(refuted: AuditResult) -> AuditResult:
    return dataclasses.replace(refuted, verdict=Verdict.NOT_REFUTED, witness=None)


def test_a_refutation_names_claim_bound_and_witness(refuted: AuditResult) -> None:
    assert report.as_text(refuted).splitlines() == [
        "refuted: noisy_count does not satisfy epsilon = 1, delta = 0.",
        "  measured  epsilon is at least 1.116 (confidence 99.9 %)",
        "  witness   output > 11",
        "              on 11  1,148 of 4,719 outputs",
        "              on 10     86 of 4,601 outputs",
        "  samples   9,973 outputs a side, of at most 1,000,000",
        "  meaning   A true claim is refuted with a probability of at most 0.001.",
    ]


def test_what_is_not_refuted_is_never_called_more_and_states_its_power(not_refuted: AuditResult) -> None:
    text = report.as_text(not_refuted)
    assert text.startswith("not refuted: no event that was tested contradicts")
    assert "an epsilon of 1.001 in a tested event would have been refuted with probability 0.9" in text
    assert "Others may exist." in text


def test_without_a_tested_event_there_is_no_power(not_refuted: AuditResult) -> None:
    assert "power     none" in report.as_text(dataclasses.replace(not_refuted, detectable_epsilon=math.inf))


def test_an_undecided_audit_says_why(not_refuted: AuditResult) -> None:
    text = report.as_text(dataclasses.replace(not_refuted, verdict=Verdict.UNDECIDED, notes=("The reason.",)))
    assert text.startswith("undecided: ")
    assert "  note      The reason.\n" in text


@pytest.mark.parametrize(
    ("value", "down", "up"),
    [
        (0.99999, "0.9999", "1.000"),
        (1.0, "1", "1"),
        (0.0, "0", "0"),
        (12345.6, "1.234e+4", "1.235e+4"),
        (1.5e-9, "1.499e-9", "1.500e-9"),
    ],
)
def test_lower_bounds_are_rounded_down_and_detectable_values_up(
    not_refuted: AuditResult, value: float, down: str, up: str
) -> None:
    text = report.as_text(dataclasses.replace(not_refuted, epsilon_lower=value, detectable_epsilon=value))
    assert f"at least {down} (" in text
    assert f"an epsilon of {up} in" in text


def test_long_inputs_are_named_by_their_place(refuted: AuditResult) -> None:
    evidence = {**refuted.evidence, "mechanism": {"name": "f", "inputs": ["[" + "1, " * 50, "[]"]}}
    text = report.as_text(dataclasses.replace(refuted, evidence=evidence))
    assert "on inputs[1]  1,148 of" in text


def test_remarks_are_wrapped(refuted: AuditResult) -> None:
    wordy = dataclasses.replace(refuted, witness=dataclasses.replace(WITNESS, remark="word " * 60))
    lines = report.as_text(wordy).splitlines()
    assert max(map(len, lines)) <= 100
    assert sum("word" in line for line in lines) > 2


def test_a_recheck_says_where_its_counts_come_from(refuted: AuditResult) -> None:
    assert "not signed" in report.as_text(refuted, rechecked=True)
    assert "not signed" not in report.as_text(refuted)


def test_the_documented_keys_in_their_order(refuted: AuditResult, not_refuted: AuditResult) -> None:
    data = report.as_data(refuted)
    assert tuple(data) == (
        "verdict",
        "epsilon",
        "delta",
        "epsilon_lower",
        "confidence",
        "samples",
        "witness",
        "detectable_epsilon",
        "seconds",
        "evidence",
    )
    assert data["verdict"] == "refuted"
    assert data["witness"]["sentence"] == str(WITNESS)
    assert data["evidence"] is refuted.evidence
    assert report.as_data(not_refuted)["witness"] is None
