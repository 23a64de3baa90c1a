"""Findings as annotations of GitHub Actions, and a table for the summary of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.report.findings import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpverify.report.findings import Finding

_SIGNS = {"none": "", "warning": "⚠️ ", "error": "❌ "}


def as_annotations(findings: Sequence[Finding]) -> str:
    """Workflow commands: one for each finding that is not in order, and a line for each that is."""
    lines = []
    for finding in findings:
        if finding.level == "none":
            lines.append(finding.message)
            continue
        title = f"{finding.rule} {RULES[finding.rule]}" if finding.rule else finding.verdict
        place = {} if finding.file is None else {"file": finding.file, "line": str(finding.line or 1)}
        options = ",".join(f"{name}={_option(value)}" for name, value in {**place, "title": f"{title}: {finding.name}"}.items())
        lines.append(f"::{finding.level} {options}::{_escaped(finding.text.rstrip())}")
    return "".join(f"{line}\n" for line in lines)


def as_summary(findings: Sequence[Finding]) -> str:
    """Markdown: the table, then what is not in order."""
    lines = ["## Privacy claims", "", "| verdict | claim | what was found |", "|---|---|---|"]
    for finding in findings:
        found = finding.message.partition("; ")[2] or finding.message
        lines.append(f"| {_SIGNS[finding.level]}**{finding.verdict}** | {_cell(finding.name)} | {_cell(found)} |")
    for finding in findings:
        if finding.level != "none":
            summary = f"<details><summary>{_html(finding.name)}</summary>"
            lines += ["", summary, "", "```text", finding.text.rstrip().replace("```", "'''"), "```", "", "</details>"]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _option(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def _cell(text: str) -> str:
    return _html(text).replace("|", "\\|").replace("\n", " ")


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
