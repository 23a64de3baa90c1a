"""Findings as SARIF 2.1.0, as code-scanning services read it. Only what is not in order becomes a result."""

from __future__ import annotations

import hashlib
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dpverify.report.findings import CERTIFICATE, RULES, UNCHECKED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpverify.report.findings import Finding

_HELP = {
    UNCHECKED: "The claim could not be checked, or neither refuted nor spoken for. The message says why and what to do.",
    "DP001": "An event occurs on one of two neighbouring inputs more often than the claim allows. The message gives the event,"
    " the counts and the level of the test. Add noise, correct the sensitivity, or claim less.",
    "DP002": "Certified arithmetic shows that the parameters do not give the claimed epsilon and delta. Use the least safe"
    " parameter that the message names.",
    "DP003": "Low-order bits of floating-point outputs tell the inputs apart. Round to a grid that does not depend on the data,"
    " or draw noise in exact integer arithmetic.",
    "DP004": "What can come out depends on the input. Look for clamping, rounding, errors or missing outputs that depend on"
    " the data.",
    "DP005": "The two inputs of a claim are no neighbours, so its verdict would say nothing. Give two that differ in one"
    " record.",
    "DP006": "Outputs depend on each other, on a fixed seed or on a state. Draw fresh noise for each output and keep nothing.",
    CERTIFICATE: "The certificate of a theorem does not check, or its verdict is not the committed one.",
}


def as_sarif(findings: Sequence[Finding], *, exit_code: int) -> dict[str, Any]:
    """The log of one run."""
    from dpverify import __version__

    order = list(RULES)
    driver = {
        "name": "dpverify",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [
            {
                "id": rule,
                "name": "".join(word.capitalize() for word in RULES[rule].replace("-", " ").split()),
                "shortDescription": {"text": f"{RULES[rule][0].upper()}{RULES[rule][1:]}."},
                "fullDescription": {"text": _HELP[rule]},
                "help": {"text": _HELP[rule]},
                "defaultConfiguration": {"level": "error"},
            }
            for rule in order
        ],
    }
    results = [_result(finding, order.index(finding.rule)) for finding in findings if finding.rule is not None]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": exit_code in (0, 1, 3), "exitCode": exit_code}],
        "results": results,
    }
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _result(finding: Finding, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "kind": "fail",
        "level": finding.level,
        "message": {"text": finding.text},
        "partialFingerprints": {"claim/v1": hashlib.sha256(f"{finding.rule}:{finding.name}".encode()).hexdigest()},
        "properties": {"verdict": finding.verdict, "claim": finding.name, **finding.properties},
    }
    if finding.file is not None:
        result["locations"] = [
            {
                "physicalLocation": {
                    "artifactLocation": _artifact(finding.file),
                    "region": {"startLine": finding.line or 1},
                }
            }
        ]
    return result


def _artifact(file: str) -> dict[str, str]:
    path = PurePath(file)
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": quote(path.as_posix()), "uriBaseId": "%SRCROOT%"}
