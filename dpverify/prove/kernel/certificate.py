"""Theorems as the kernel sees them, certificates for them, and the verdict that they earn.

A theorem is a claim in words, the obligations that its schema generated and mutants of them. A certificate is a JSON object
that names the hash of all that, and holds one step for each obligation. The verdict is the weakest that any obligation earns;
nothing else sets it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dpverify.prove.kernel.statements import NEGATED, Relation, Statement, fingerprint
from dpverify.prove.kernel.steps import check, holds, point_of
from dpverify.prove.kernel.terms import Rejected

FORMAT = 1
FIELDS = {"format", "theorem", "claim", "obligations", "mutants", "seal"}
LARGEST_FILE = 4_000_000


class Verdict(StrEnum):
    """What a theorem earned. What rests on cited results is said to be so "modulo N cited"."""

    PROVED = "proved"
    CERTIFIED = "certified on box"
    REFUTED = "refuted with witness"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Obligation:
    """One thing to be shown: a statement, another theorem (`lemma`), or a result that is cited and not checked (`cite`)."""

    name: str
    statement: Statement | None = None
    lemma: str = ""
    cite: str = ""

    def __post_init__(self) -> None:
        if not self.name or (self.statement is not None) + bool(self.lemma) + bool(self.cite) != 1:
            raise Rejected(f"{self.name!r}: an obligation is a statement, a lemma or a citation")

    def text(self) -> str:
        """What a certificate is bound to."""
        shown = self.statement.text() if self.statement else f"lemma {self.lemma}" if self.lemma else f"cite {self.cite}"
        return f"{self.name}: {shown}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem:
    """What a schema made of an author's data."""

    name: str
    claim: str
    """What its author says that it is."""
    conclusion: str
    """What the schema concludes from the obligations; the claim says no more."""
    argument: str
    """Why the obligations imply the conclusion; the reader's part of the proof."""
    obligations: tuple[Obligation, ...]
    refutes: bool = False
    """The obligations are the negation of the claim."""
    box: bool = False
    """The obligations cover a box only, where the claim goes further."""
    mutants: tuple[tuple[Obligation, ...], ...] = ()

    def fingerprint(self) -> str:
        """The hash of the claim, its obligations and its mutants."""
        parts = [self.name, self.claim, self.conclusion, self.argument, str(self.refutes), str(self.box)]
        for obligations in (self.obligations, *self.mutants):
            parts += ["--", *(obligation.text() for obligation in obligations)]
        return fingerprint(json.dumps(parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A checked theorem. `missing` names obligations without a step, `cited` what was taken from the literature."""

    verdict: str
    missing: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()


def load(text: str) -> dict[str, Any]:
    """A certificate from its file. Raises Rejected unless it is a JSON object of the known form with its seal intact."""
    if len(text) > LARGEST_FILE:
        raise Rejected("the certificate is too large")
    try:
        certificate = json.loads(text, parse_float=_refuse_number, parse_constant=_refuse_number)
    except (ValueError, RecursionError) as error:
        raise Rejected(f"the certificate is no JSON: {str(error)[:100]}") from error
    if not isinstance(certificate, dict) or set(certificate) != FIELDS or certificate["format"] != FORMAT:
        raise Rejected(f"a certificate has the fields {sorted(FIELDS)} and format {FORMAT}")
    if certificate["seal"] != seal(certificate):
        raise Rejected("the seal is broken: the file was changed after it was written")
    return certificate


def seal(certificate: dict[str, Any]) -> str:
    """The hash of everything in a certificate but its seal. It shows damage; it proves nothing."""
    content = {key: value for key, value in certificate.items() if key != "seal"}
    return fingerprint(json.dumps(content, sort_keys=True))


def _refuse_number(text: str) -> None:
    raise Rejected(f"{text[:40]}: numbers are written as exact rationals, in quotes")


def verify(theorem: Theorem, certificate: dict[str, Any], established: dict[str, Outcome]) -> Outcome:
    """The verdict that the certificate earns the theorem. Raises Rejected if any part of it is wrong.

    `established` holds the outcomes of the theorems that were checked before; a lemma must be among them, so that no circle can
    arise.
    """
    if certificate["theorem"] != theorem.name or certificate["claim"] != theorem.fingerprint():
        raise Rejected(f"{theorem.name}: the certificate is stale or belongs to another claim")
    entries = certificate["obligations"]
    stated = {obligation.name: obligation.statement for obligation in theorem.obligations if obligation.statement}
    if not isinstance(entries, dict) or not set(entries) <= set(stated):
        raise Rejected(f"{theorem.name}: the certificate speaks of obligations that the claim does not have")
    if len(theorem.obligations) != len({obligation.name for obligation in theorem.obligations}) or not theorem.obligations:
        raise Rejected(f"{theorem.name}: obligations must exist and have names of their own")
    missing = [name for name in stated if name not in entries]
    for name, entry in entries.items():
        statement = stated[name]
        assert statement is not None
        try:
            _discharge(statement, entry)
        except (Rejected, RecursionError) as error:
            raise Rejected(f"{theorem.name}, obligation {name}: {error}") from error
    _refute_mutants(theorem, certificate["mutants"], complete=not missing)
    cited = [obligation.cite for obligation in theorem.obligations if obligation.cite]
    for obligation in theorem.obligations:
        if obligation.lemma:
            outcome = established.get(obligation.lemma)
            if outcome is None or not outcome.verdict.startswith(Verdict.PROVED):
                missing.append(f"lemma {obligation.lemma}")
            else:
                cited += [cite for cite in outcome.cited if cite not in cited]
    return Outcome(verdict=_weakest(theorem, missing, cited), missing=tuple(missing), cited=tuple(cited))


def _weakest(theorem: Theorem, missing: list[str], cited: list[str]) -> str:
    if missing:
        return Verdict.OPEN.value
    verdict = Verdict.REFUTED if theorem.refutes else Verdict.CERTIFIED if theorem.box else Verdict.PROVED
    return f"{verdict.value} modulo {len(cited)} cited" if cited else verdict.value


def _discharge(statement: Statement, entry: object) -> None:
    """A point that satisfies the hypotheses (nothing is proved of the empty set), and a step."""
    if not isinstance(entry, dict) or set(entry) != {"point", "step"}:
        raise Rejected("an obligation is met by a point and a step")
    if not statement.exists:
        point_of(statement, entry["point"])
    elif entry["point"] is not None:
        raise Rejected("a statement of existence names its point in its step")
    check(statement, entry["step"])


def _refute_mutants(theorem: Theorem, points: object, *, complete: bool) -> None:
    """Every mutant fails at a point that satisfies its hypotheses; a theorem without mutants is not accepted as shown."""
    if not isinstance(points, list) or len(points) != len(theorem.mutants) or (complete and not points):
        raise Rejected(f"{theorem.name}: every theorem needs mutants, and every mutant a point that refutes it")
    for number, (mutant, entry) in enumerate(zip(theorem.mutants, points, strict=True), start=1):
        if not isinstance(entry, dict) or set(entry) != {"obligation", "point"}:
            raise Rejected(f"{theorem.name}, mutant {number}: an obligation and a point are needed")
        named = [o.statement for o in mutant if o.statement and o.name == entry["obligation"]]
        if not named:
            raise Rejected(f"{theorem.name}, mutant {number}: it has no such obligation")
        conclusion = named[0].conclusion.under(point_of(named[0], entry["point"]))
        opposites = ("<", ">") if conclusion.op == "=" else (NEGATED[conclusion.op],)
        if not any(holds(Relation(op, conclusion.left, conclusion.right)) for op in opposites):
            raise Rejected(f"{theorem.name}, mutant {number}: the point does not refute it")
