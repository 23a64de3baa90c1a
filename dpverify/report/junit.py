"""Findings as JUnit XML, as continuous-integration servers read it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpverify.report.findings import Finding

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold."""


def as_junit(findings: Sequence[Finding]) -> str:
    """One test case a finding: refuted is a failure; what could not be checked or told is an error."""
    suites = ElementTree.Element("testsuites", name="dpverify")
    for name in dict.fromkeys(finding.suite for finding in findings):
        members = [finding for finding in findings if finding.suite == name]
        kinds = [_kind(finding) for finding in members]
        suite = ElementTree.SubElement(
            suites,
            "testsuite",
            name=name,
            tests=str(len(members)),
            failures=str(kinds.count("failure")),
            errors=str(kinds.count("error")),
            skipped="0",
            time=f"{sum(finding.seconds for finding in members):.3f}",
        )
        for finding, kind in zip(members, kinds, strict=True):
            _case(suite, finding, kind)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=False).join(
        ['<?xml version="1.0" encoding="utf-8"?>\n', "\n"]
    )


def _kind(finding: Finding) -> str | None:
    if finding.level == "none":
        return None
    return "error" if finding.verdict in ("error", "undecided") else "failure"


def _case(suite: ElementTree.Element, finding: Finding, kind: str | None) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=finding.suite, name=_printable(finding.name), time=f"{finding.seconds:.3f}"
    )
    if finding.file is not None:
        case.set("file", _printable(finding.file))
        case.set("line", str(finding.line or 1))
    properties = ElementTree.SubElement(case, "properties")
    for name, value in {
        "verdict": finding.verdict,
        **({"rule": finding.rule} if finding.rule else {}),
        **finding.properties,
    }.items():
        ElementTree.SubElement(properties, "property", name=name, value=_printable(str(value)))
    if kind is not None:
        problem = ElementTree.SubElement(case, kind, message=_printable(finding.message), type=finding.rule or finding.verdict)
        problem.text = _printable(finding.text)
    else:
        ElementTree.SubElement(case, "system-out").text = _printable(finding.text)


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", text)
