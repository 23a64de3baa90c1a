"""Findings in the formats of other tools, wherever a verb may be asked for them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dpverify.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpverify.report.findings import Finding

FORMATS = ("text", "json", "junit", "sarif", "github")
FOREIGN = FORMATS[2:]
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


def foreign(form: str, findings: Sequence[Finding], *, exit_code: int) -> str | dict[str, Any]:
    """The findings in one of the FOREIGN formats; text is written as it is, the rest as JSON."""
    if form == "junit":
        from dpverify.report.junit import as_junit

        return as_junit(findings)
    if form == "sarif":
        from dpverify.report.sarif import as_sarif

        return as_sarif(findings, exit_code=exit_code)
    from dpverify.report.github import as_annotations, as_summary

    if summary := os.environ.get(STEP_SUMMARY):
        try:
            with open(summary, "a", encoding="utf-8", newline="\n") as stream:
                stream.write(as_summary(findings))
        except OSError as error:
            raise InputError(f"{STEP_SUMMARY} = {summary}: this file cannot be written ({error.strerror}).") from error
    return as_annotations(findings)
