"""A derivation as data: its steps, each with what it states, why it holds and how that was checked.

Nothing is proved here, and how a derivation looks is decided in `presentation.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sympy


class Check(Enum):
    """How a step was checked. Every kind is exact; none samples, rounds or takes a limit by machine."""

    IDENTITY = "identity"
    """A residual is a rational function (after named substitutions) whose numerator is the zero polynomial."""
    INEQUALITY = "inequality"
    """A difference factors into polynomials whose coefficients have one sign, in symbols that are positive."""
    DIFFERENTIATION = "differentiation"
    """The derivative of what is stated equals what it should be, by an identity."""
    DEDUCTION = "deduction"
    """A short argument from earlier steps, which it names; whatever it computes is checked by an identity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One formula of a step, and where it holds: words with formulas in back quotes, "" where that needs no saying."""

    relation: sympy.Basic
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step. Texts mark formulas by back quotes."""

    name: str
    statement: tuple[Statement, ...]
    explanation: str
    check: Check
    how: tuple[str, ...]
    """What was checked and how it came out, one sentence each."""
    also: str = ""
    """A numerical second look by Arb balls; "" where there was none. It is no part of the proof."""
    assumptions: tuple[str, ...] = ()
    """What this step takes on trust beyond the assumptions of the derivation."""

    def to_json(self) -> dict[str, Any]:
        """Name, statement (plain text), LaTeX of it, explanation, check and how it came out, as strings and lists."""
        from dpverify.derive.presentation import statement_latex, statement_text, unmarked

        return {
            "name": self.name,
            "statement": [statement_text(statement) for statement in self.statement],
            "latex": [statement_latex(statement) for statement in self.statement],
            "explanation": unmarked(self.explanation),
            "check": self.check.value,
            "how": [unmarked(sentence) for sentence in self.how],
            "also": unmarked(self.also),
            "assumptions": [unmarked(sentence) for sentence in self.assumptions],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """A checked derivation of delta(epsilon) from the density of additive noise.

    It exists only if every step was proved; otherwise `derive` raised DerivationError. Kind of exactness: *exact*.
    """

    mechanism: str
    """The command-line name of the mechanism."""
    scale_name: str
    assumptions: tuple[str, ...]
    steps: tuple[Step, ...]
    formula: sympy.Expr
    """The privacy profile in the symbols `epsilon` and `d` = sensitivity/scale, where `profile[0].where` holds."""
    profile: tuple[Statement, ...]
    """delta(epsilon) piece by piece: this formula, and the values beyond the losses that occur."""
    scale: sympy.Expr | None
    """The least scale in `epsilon`, `delta` and `sensitivity`, where it has a closed form."""

    def text(self) -> str:
        """The derivation for reading, at most 100 columns wide."""
        from dpverify.derive.presentation import text

        return text(self)

    def latex(self) -> str:
        """The derivation as a LaTeX fragment (it needs amsmath)."""
        from dpverify.derive.presentation import latex

        return latex(self)

    @property
    def summary(self) -> str:
        """The result in one or two lines of plain text."""
        from dpverify.derive.presentation import summary

        return summary(self)

    def to_json(self) -> dict[str, Any]:
        """The derivation as strings, lists and dicts."""
        from dpverify.derive.presentation import formula_text, statement_latex, statement_text, unmarked

        return {
            "mechanism": self.mechanism,
            "summary": self.summary,
            "profile": [statement_text(piece) for piece in self.profile],
            "profile_latex": [statement_latex(piece) for piece in self.profile],
            "scale": None if self.scale is None else f"{self.scale_name} = {formula_text(self.scale)}",
            "assumptions": [unmarked(sentence) for sentence in self.assumptions],
            "steps": [step.to_json() for step in self.steps],
        }

    def __str__(self) -> str:
        return self.text()

    def _repr_latex_(self) -> str:
        from dpverify.derive.presentation import statement_latex

        return rf"$\displaystyle {statement_latex(self.profile[0])}$"
