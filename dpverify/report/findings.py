"""Results as findings: the one form from which the outputs for other tools are made (JUnit XML, SARIF, GitHub).

A finding is one claim, audit or theorem; `level` says whether it is in order. Pure values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from dpverify.gate.outcome import RULES as FOUND
from dpverify.guarantees import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpverify.audit.result import AuditResult
    from dpverify.gate.config import ConfigurationError
    from dpverify.gate.outcome import Diagnosis, Outcome
    from dpverify.prove.engine import Line

UNCHECKED = "DP000"
CERTIFICATE = "DP007"
RULES = {
    UNCHECKED: "claim that could not be checked or told",
    **FOUND,
    CERTIFICATE: "theorem without a certificate that checks",
}
"""Every rule that a finding may name, by its id."""

Level = Literal["none", "warning", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`verdict` is its word (or "error"), `rule` what is broken if it is out of order, `message` one line, `text` all."""

    name: str
    suite: str
    verdict: str
    level: Level
    rule: str | None
    message: str
    text: str
    seconds: float = 0.0
    file: str | None = None
    line: int | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)


def of_gate(outcomes: Sequence[Outcome]) -> list[Finding]:
    """The claims of a gate."""
    from dpverify.report.gate import claim_as_data, explanation, line, word

    findings = []
    for outcome in outcomes:
        data = claim_as_data(outcome)
        code, place = outcome.exit_code, outcome.claim.place
        findings.append(
            Finding(
                name=outcome.claim.name,
                suite="dpverify.gate",
                verdict=word(outcome),
                level=_level(code),
                rule=_rule(code, outcome.diagnosis),
                message=" ".join(line(outcome).split()),
                text=explanation(outcome),
                seconds=outcome.seconds,
                file=None if place is None else place.file,
                line=None if place is None else place.line,
                properties={
                    key: data[key]
                    for key in ("epsilon", "delta", "epsilon_lower", "samples", "alpha", "seed", "evidence_file")
                    if data[key] is not None
                },
            )
        )
    return findings


def of_audit(result: AuditResult, *, file: str | None, diagnosis: Diagnosis | None = None) -> list[Finding]:
    """A single audit. `file` is where the mechanism stands, if that is known."""
    from dpverify.report.audit import as_text

    text = as_text(result)
    code = {Verdict.REFUTED: 1, Verdict.UNDECIDED: 3}.get(result.verdict, 0)
    evidence = result.evidence
    return [
        Finding(
            name=evidence["mechanism"]["name"],
            suite="dpverify.audit",
            verdict=result.verdict.value,
            level=_level(code),
            rule=_rule(code, diagnosis) if code != 1 or diagnosis is not None else _rule_of_witness(result),
            message=text.splitlines()[0],
            text=text,
            seconds=result.seconds,
            file=file,
            properties={
                "epsilon": result.epsilon,
                "delta": result.delta,
                "epsilon_lower": result.epsilon_lower,
                "samples": result.samples,
                "alpha": evidence["alpha"],
                "seed": evidence["seed"],
            },
        )
    ]


def of_proofs(lines: Sequence[Line], different: Sequence[str]) -> list[Finding]:
    """Theorems; out of order are those whose certificate does not check, and the `different`, whose verdict has changed."""
    from dpverify.report.proofs import obligations, trust

    findings = []
    for line in lines:
        name = line.entry.name
        fault = line.fault or ("the verdict is not the committed one" if name in different else "")
        text = "\n".join([line.entry.theorem.claim, f"verdict: {line.verdict}", *obligations(line)]) + "\n"
        findings.append(
            Finding(
                name=name,
                suite="dpverify.prove",
                verdict=line.verdict,
                level="error" if fault else "none",
                rule=CERTIFICATE if fault else None,
                message=f"{name}: {fault or line.verdict}",
                text=text,
                seconds=line.seconds,
                file=str(line.entry.certificate_path),
                line=1,
                properties={"trust": trust(line)},
            )
        )
    return findings


def of_configuration(error: ConfigurationError) -> list[Finding]:
    """What is wrong with a configuration, one finding a fault."""
    return [
        Finding(
            name=str(problem.place),
            suite="dpverify.configuration",
            verdict="error",
            level="error",
            rule=UNCHECKED,
            message=problem.message.splitlines()[0],
            text=f"{problem}\n",
            file=problem.place.file,
            line=problem.place.line,
        )
        for problem in error.problems
    ]


def _level(code: int) -> Level:
    return "none" if code == 0 else "warning" if code == 3 else "error"


def _rule(code: int, diagnosis: Diagnosis | None) -> str | None:
    if code == 0:
        return None
    return UNCHECKED if diagnosis is None else diagnosis.rule


def _rule_of_witness(result: AuditResult) -> str:
    """What the witness alone says, where nothing more was drawn to find the cause."""
    witness = result.witness
    if witness is not None and witness.precise:
        return "DP003"
    return "DP004" if witness is not None and witness.other_hits == 0 else "DP001"
