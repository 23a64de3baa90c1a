"""What became of claims, as text and as data: one line a claim, and an explanation of whatever is not in order."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING, Any

from dpverify.arithmetic.rounded import down, up
from dpverify.errors import shown
from dpverify.gate.claims import SampledClaim
from dpverify.gate.outcome import RULES, worst
from dpverify.guarantees import Verdict
from dpverify.report.audit import MEANING, measured, power, witness_rows
from dpverify.report.layout import command_row, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpverify.audit.result import AuditResult
    from dpverify.gate.claims import AnalyticClaim, Claim
    from dpverify.gate.outcome import Analysis, Outcome

SCHEMA = 1
ERROR = "error"
_ORDER = (Verdict.PROVED, Verdict.NOT_REFUTED, Verdict.UNDECIDED, Verdict.REFUTED)


def word(outcome: Outcome) -> str:
    """The verdict, or "error" where there is none."""
    return ERROR if outcome.verdict is None else outcome.verdict.value


def line(outcome: Outcome) -> str:
    """The outcome in one line: verdict, name, claim, and the number that matters."""
    remembered = " (remembered)" if outcome.remembered else ""
    return f"{word(outcome):12} {outcome.claim.name}: {outcome.claim.words}; {_number(outcome)}{remembered}"


def _number(outcome: Outcome) -> str:
    if outcome.verdict is None:
        return str(outcome.error).splitlines()[0]
    if outcome.analysis is not None:
        low, high = outcome.analysis.delta.bounds(4)
        return f"delta is at most {high}" if outcome.verdict is Verdict.PROVED else f"delta is at least {low}"
    if outcome.result is None:
        return str(outcome.error).splitlines()[0]
    found = f"epsilon is at least {down(outcome.result.epsilon_lower)}"
    if outcome.verdict is Verdict.REFUTED and outcome.result.witness is not None:
        return f"{found}, by {shown(outcome.result.witness.description, str)}"
    detectable = outcome.result.detectable_epsilon
    return f"{found}; {up(detectable) if detectable < math.inf else 'no epsilon'} would have been found"


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many claims came out how: the worst last."""
    words = [word(outcome) for outcome in outcomes]
    counted = [f"{words.count(one)} {one}" for one in (*map(str, _ORDER), ERROR) if one in words]
    return f"{len(words)} claim{'s' * (len(words) != 1)}: {', '.join(counted)}" if words else "0 claims"


def explanation(outcome: Outcome) -> str:
    """Everything a reader needs who has to repair the mechanism or the claim."""
    claim, diagnosis = outcome.claim, outcome.diagnosis
    lines = [_headline(outcome)]
    lines += row("claimed", claim.words + (f" ({claim.place})" if claim.place is not None else ""))
    if isinstance(claim, SampledClaim):
        if outcome.result is not None:
            lines += _audited(outcome.result, outcome.verdict)
    elif outcome.analysis is not None:
        lines += _analysed(outcome, claim)
    if outcome.error is not None:
        lines += row("error", str(outcome.error))
    if diagnosis is not None:
        lines += row("cause", f"probably: {diagnosis.cause}" if outcome.analysis is None else diagnosis.cause)
        lines += row("fix", diagnosis.fix)
        lines += row("rule", f"{diagnosis.rule} {RULES[diagnosis.rule]}")
    if outcome.evidence is not None:
        lines += command_row("recheck", f"dpverify recheck {shlex.quote(outcome.evidence)}")
    if (again := repeat_command(outcome)) is not None and outcome.result is not None:
        lines += command_row("repeat", again)
    return "\n".join(lines) + "\n"


def _headline(outcome: Outcome) -> str:
    name, words = outcome.claim.name, outcome.claim.words
    if outcome.verdict is None:
        return f"{ERROR}: the claim {words} of {name} could not be checked."
    sentence = {
        Verdict.REFUTED: f"{name} does not satisfy {words}.",
        Verdict.NOT_REFUTED: f"no event that was tested contradicts {words} of {name}.",
        Verdict.UNDECIDED: f"it cannot be told whether {name} satisfies {words}.",
        Verdict.PROVED: f"{name} satisfies {words}.",
    }[outcome.verdict]
    return f"{outcome.verdict.value}: {sentence}"


def _audited(result: AuditResult, verdict: Verdict | None) -> list[str]:
    lines = row("measured", measured(result))
    if result.witness is not None:
        lines += witness_rows(result.witness, result.evidence["mechanism"]["inputs"])
    if result.verdict is not Verdict.REFUTED:
        lines += row("power", power(result.detectable_epsilon))
    lines += row("samples", f"{result.samples:,} outputs a side, of at most {result.evidence['samples']:,}")
    for note in result.remarks:
        lines += row("note", note)
    if verdict is not None:
        lines += row("meaning", MEANING[verdict].format(alpha=result.evidence["alpha"]))
    return lines


def _analysed(outcome: Outcome, claim: AnalyticClaim) -> list[str]:
    analysis: Analysis | None = outcome.analysis
    assert analysis is not None  # asked for where there is one
    low, high = analysis.delta.bounds(9)
    between = f"exactly {low}" if low == high else f"between {low} and {high}"
    lines = row("certified", f"delta({shown(claim.epsilon, str)}) of {analysis.mechanism} is {between}")
    if analysis.least is not None:
        lines += row("least", f"{analysis.scale_name} = {analysis.least!r}")
    meaning = {
        Verdict.REFUTED: "This is certified arithmetic: no sample and no chance is involved.",
        Verdict.PROVED: "The claim follows from certified arithmetic, for the catalogue's mechanism with these parameters.",
    }.get(outcome.verdict or Verdict.UNDECIDED, "The precision that was reached does not decide.")
    return [*lines, *row("meaning", meaning)]


def repeat_command(outcome: Outcome) -> str | None:
    """The command that makes the same audit again, where the claim can be written on a command line."""
    claim = outcome.claim
    if not isinstance(claim, SampledClaim):
        return None
    inputs = [_literal(one) for one in claim.inputs] if isinstance(claim.inputs, tuple | list) else [None]
    if claim.target is None or outcome.result is None or None in inputs:
        return None
    evidence = outcome.result.evidence
    words = ["dpverify", "audit", claim.target, "--epsilon", evidence["claim"]["epsilon"]]
    words += ["--delta", evidence["claim"]["delta"]] if evidence["claim"]["delta"] != "0" else []
    words += [
        "--inputs",
        *[str(one) for one in inputs],
        "--samples",
        str(evidence["samples"]),
        "--alpha",
        repr(evidence["alpha"]),
    ]
    words += ["--seed", str(evidence["seed"])] + (["--outputs", claim.outputs] if claim.outputs != "bits" else [])
    return shlex.join(words)


def _literal(value: Any) -> str | None:
    import ast

    written = repr(value)
    try:
        same = len(written) <= 60 and ast.literal_eval(written) == value
    except (ValueError, SyntaxError, TypeError):
        return None
    return written if same is True else None


def as_text(outcomes: Sequence[Outcome], *, seed: int, alpha: float, verbose: bool = False) -> str:
    """An explanation of each claim that is not in order (of all, if `verbose`), then one line a claim, then the counts."""
    wrong = [one for one in outcomes if verbose or one.exit_code != 0]
    parts = [explanation(one) for one in wrong]
    table = "".join(f"{line(one)}\n" for one in outcomes)
    parts.append(
        f"{table}{summary(outcomes)}; seed {seed}, a true claim is refuted with a probability of at most {alpha:.3g}\n"
    )
    return "\n".join(parts)


def as_data(outcomes: Sequence[Outcome], *, seed: int, alpha: float) -> dict[str, Any]:
    """The documented JSON of `gate`; its schema is gate.schema.json beside this file."""
    from dpverify import __version__

    return {
        "schema": SCHEMA,
        "dpverify": __version__,
        "exit_code": worst([one.exit_code for one in outcomes]),
        "seed": seed,
        "alpha": alpha,
        "claims": [claim_as_data(one) for one in outcomes],
    }


def claim_as_data(outcome: Outcome) -> dict[str, Any]:
    """One claim as data."""
    claim, analysis, result, diagnosis = outcome.claim, outcome.analysis, outcome.result, outcome.diagnosis
    return {
        "name": claim.name,
        "kind": "sampled" if isinstance(claim, SampledClaim) else "analytic",
        "mechanism": _mechanism(claim, outcome),
        "epsilon": shown(claim.epsilon, str),
        "delta": shown(claim.delta, str),
        "file": None if claim.place is None else claim.place.file,
        "line": None if claim.place is None else claim.place.line,
        "verdict": None if outcome.verdict is None else outcome.verdict.value,
        "error": None if outcome.error is None else str(outcome.error),
        "rule": None if diagnosis is None else diagnosis.rule,
        "cause": None if diagnosis is None else diagnosis.cause,
        "fix": None if diagnosis is None else diagnosis.fix,
        "summary": line(outcome),
        "alpha": outcome.alpha,
        "seed": outcome.seed,
        "seconds": round(outcome.seconds, 3),
        "remembered": outcome.remembered,
        "evidence_file": outcome.evidence,
        "certified_delta": None if analysis is None else list(analysis.delta.bounds(15)),
        "least": None if analysis is None or analysis.least is None else {analysis.scale_name: analysis.least},
        "epsilon_lower": None if result is None else result.epsilon_lower,
        "detectable_epsilon": None if result is None else result.detectable_epsilon,
        "samples": None if result is None else result.samples,
        "witness": None if result is None or result.witness is None else result.witness.to_json(),
        "evidence": None if result is None else result.evidence,
    }


def _mechanism(claim: Claim, outcome: Outcome) -> str:
    if isinstance(claim, SampledClaim):
        return claim.target or claim.name
    return outcome.analysis.mechanism if outcome.analysis is not None else claim.mechanism
