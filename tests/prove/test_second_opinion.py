"""Every statement of every theorem, looked at by mpmath: an arithmetic that shares no code with the kernel."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

from dpverify.prove.kernel.statements import Range, Relation
from dpverify.prove.kernel.terms import Term
from dpverify.prove.library import read
from dpverify.prove.schemas.reading import Reader
from dpverify.prove.tactics.search import sample

ENTRIES = read(Path(__file__).resolve().parents[2] / "proofs")
DIGITS = 40
SLACK = mpmath.mpf(10) ** -25  # equality may be attained
SAMPLES = 12


def value(term: Term, point: dict[str, Fraction]) -> mpmath.mpf:
    """The term at a rational point."""
    if isinstance(term, Fraction):
        return mpmath.mpf(term.numerator) / term.denominator
    if isinstance(term, str):
        return value(point[term], point)
    arguments = [value(argument, point) for argument in term.args]
    match term.head, arguments:
        case "+", _:
            return mpmath.fsum(arguments)
        case "*", _:
            return mpmath.fprod(arguments)
        case "-", [a]:
            return -a
        case "-", [a, b]:
            return a - b
        case "/", [a, b]:
            return a / b
        case "^", [a, b]:
            return a**b
        case "gammaq", [a, b]:
            return mpmath.gammainc(a, b, regularized=True)
        case "tail", [m, k, a]:
            return mpmath.betainc(k, m - k + 1, 0, a, regularized=True)  # another formula than the kernel's
        case "pi", _:
            return +mpmath.pi
        case head, [a]:
            functions = {
                "exp": mpmath.exp,
                "log": mpmath.log,
                "sqrt": mpmath.sqrt,
                "Phi": mpmath.ncdf,
                "phi": mpmath.npdf,
                "erfc": mpmath.erfc,
                "gamma": mpmath.gamma,
            }
            return functions[head](a)
    raise AssertionError(term)


def fulfilled(relation: Relation, point: dict[str, Fraction], slack: mpmath.mpf = SLACK) -> bool:
    difference = value(relation.difference, point)
    scale = 1 + abs(value(relation.left, point))
    return abs(difference) <= slack * scale if relation.op == "=" else difference >= -slack * scale


def drawn(domain: Range, near: Fraction, draw: random.Random) -> Fraction:
    """A value of the range around a known one."""
    for _ in range(20):
        found = near * Fraction(draw.randint(50, 200), 100) + Fraction(draw.choice([0, 0, -1, 1]), 7)
        found = Fraction(round(found)) if domain.whole else found
        if found in domain:
            return found
    return near


@pytest.mark.parametrize("name", ENTRIES)
def test_mpmath_finds_the_same(name: str) -> None:
    certificate = json.loads(ENTRIES[name].certificate_path.read_text())
    draw = random.Random(name)
    with mpmath.workdps(DIGITS):
        for obligation in ENTRIES[name].theorem.obligations:
            statement = obligation.statement
            if statement is None:
                continue
            entry = certificate["obligations"].get(obligation.name)
            if entry is None:  # open: looked at all the same
                entry = {"point": sample(statement, {}, Reader())}
            written = entry["step"]["point"] if statement.exists else entry["point"]
            known = {variable: Fraction(text) for variable, text in written.items()}
            points = [known]
            if not statement.exists:
                points += [{v: drawn(r, known[v], draw) for v, r in statement.variables} for _ in range(SAMPLES)]
            for point in points:
                if all(fulfilled(hypothesis, point, mpmath.mpf(0)) for hypothesis in statement.hypotheses):
                    assert fulfilled(statement.conclusion, point), (obligation.name, point)


@pytest.mark.parametrize("name", ENTRIES)
def test_mpmath_refutes_the_mutants(name: str) -> None:
    certificate = json.loads(ENTRIES[name].certificate_path.read_text())
    with mpmath.workdps(DIGITS):
        for mutant, entry in zip(ENTRIES[name].theorem.mutants, certificate["mutants"], strict=True):
            (statement,) = [o.statement for o in mutant if o.name == entry["obligation"]]
            assert statement is not None
            point = {variable: Fraction(text) for variable, text in entry["point"].items()}
            assert not fulfilled(statement.conclusion, point, -SLACK if statement.conclusion.strict else SLACK)
