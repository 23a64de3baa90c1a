"""Findings and the formats made of them: what is in order, what is not, and text that formats must not trip over."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

import dpverify as dv
from dpverify.report.findings import Finding, of_audit
from dpverify.report.github import as_annotations, as_summary
from dpverify.report.junit import as_junit
from dpverify.report.sarif import as_sarif


def finding(**changes: Any) -> Finding:
    given = {"name": "it", "suite": "s", "verdict": "refuted", "level": "error", "rule": "DP001", "message": "m", "text": "t\n"}
    return Finding(**{**given, **changes})


def artifact(one: Finding) -> Any:
    (result,) = as_sarif([one], exit_code=1)["runs"][0]["results"]
    return result["locations"][0]["physicalLocation"]["artifactLocation"] if "locations" in result else None


def test_places_in_sarif() -> None:
    assert artifact(finding()) is None
    assert artifact(finding(file="a b/c.py")) == {"uri": "a%20b/c.py", "uriBaseId": "%SRCROOT%"}
    assert artifact(finding(file="/a b/c.py")) == {"uri": "file:///a%20b/c.py"}


def test_fingerprints_tell_claims_apart_and_stay() -> None:
    results = as_sarif([finding(), finding(name="other"), finding(text="x")], exit_code=1)["runs"][0]["results"]
    prints = [result["partialFingerprints"]["claim/v1"] for result in results]
    assert prints[0] == prints[2] != prints[1]


def test_what_xml_cannot_hold_is_replaced() -> None:
    text = as_junit([finding(name="a\x00b", text="<\x1b&>", message='"\ud800')])
    (case,) = ElementTree.fromstring(text.encode()).iter("testcase")
    assert case.get("name") == "a\ufffdb"
    assert case.find("failure").text == "<\ufffd&>"  # type: ignore[union-attr]


def test_an_undecided_claim_is_an_error_of_junit_and_a_warning_elsewhere() -> None:
    open_one = finding(verdict="undecided", level="warning", rule="DP000")
    assert "<error " in as_junit([open_one])
    assert as_annotations([open_one]).startswith("::warning title=DP000")
    assert as_sarif([open_one], exit_code=3)["runs"][0]["results"][0]["level"] == "warning"


def test_github_text_is_escaped() -> None:
    one = finding(name="a,b:c|d<e", text="100 %\nline\r", file="x.py", line=3)
    (line,) = as_annotations([one]).splitlines()
    assert line == "::error file=x.py,line=3,title=DP001 statistical violation%3A a%2Cb%3Ac|d<e::100 %25%0Aline"
    assert "a,b:c\\|d&lt;e" in as_summary([one])


@pytest.mark.parametrize(
    ("rule", "mechanism"),
    [
        ("DP001", lambda data, rng, size: rng.random(size) < (0.75 if data else 0.25)),
        ("DP003", lambda data, rng, size: data + rng.laplace(0, 1, size)),
        ("DP004", lambda data, rng, size: (rng.random(size) < 0.5) * data),
    ],
    ids=["scale", "floats", "support"],
)
def test_the_rule_of_a_single_audit_is_read_off_its_witness(rule: str, mechanism: Any) -> None:
    result = dv.audit(mechanism, inputs=(0, 1), epsilon=0.9 if rule == "DP003" else 0.3, samples=20000, alpha=1e-6)
    (found,) = of_audit(result, file=None)
    assert (found.rule, found.level) == (rule, "error")
