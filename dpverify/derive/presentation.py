"""How a derivation looks: plain text at most 100 columns wide, and a LaTeX fragment. Nothing is computed or checked here.

Explanations mark formulas by back quotes. Text drops the quotes; LaTeX sets what is inside as mathematics.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

import sympy
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

if TYPE_CHECKING:
    from dpverify.derive.steps import Derivation, Statement, Step

_WIDTH = 100
_SECOND_LOOK = "Checks are exact. A second look evaluates the same formulas numerically, and is no part of the proof."
_LETTERS = "DFLPQSXdfstxy"
_FUNCTIONS = ("exp", "log", "sqrt")
_GREEK = ("epsilon", "delta", "sigma", "psi", "rho", "pi", "Phi")


def text(derivation: Derivation) -> str:
    """The whole derivation."""
    title = f"The privacy profile of {derivation.mechanism} noise, derived from its density"
    lines = [title, "=" * len(title), "", *_wrapped(summary(derivation), ""), "", "Assumptions"]
    for sentence in derivation.assumptions:
        lines += _wrapped(unmarked(sentence), "  - ")
    lines += _wrapped(_SECOND_LOOK, "  - ")
    for number, step in enumerate(derivation.steps, start=1):
        lines += ["", *_step_text(number, step)]
    return "\n".join(lines) + "\n"


def summary(derivation: Derivation) -> str:
    """The result, and what stands behind it."""
    first, *others = (f"{formula_text(piece.relation.rhs)} {unmarked(piece.where)}" for piece in derivation.profile)
    values = ", ".join([f"delta(epsilon) = {first}", *others])
    scale = derivation.scale_name
    least = "" if derivation.scale is None else f" The least {scale} is {formula_text(derivation.scale)}."
    return f"{values}, with d = sensitivity/{scale}.{least} All {len(derivation.steps)} steps are proved exactly."


def latex(derivation: Derivation) -> str:
    """The whole derivation as a fragment that needs amsmath."""
    lines = [
        rf"\paragraph{{The privacy profile of {_latex_words(derivation.mechanism)} noise, derived from its density.}}",
        r"\begin{itemize}",
        *(rf"\item {_latex_words(sentence)}" for sentence in (*derivation.assumptions, _SECOND_LOOK)),
        r"\end{itemize}",
        r"\begin{enumerate}",
        *(line for step in derivation.steps for line in _step_latex(step)),
        r"\end{enumerate}",
    ]
    return "\n".join(lines) + "\n"


def statement_text(statement: Statement) -> str:
    """One formula on one line."""
    where = f"    {unmarked(statement.where)}" if statement.where else ""
    return f"{formula_text(statement.relation)}{where}"


def statement_latex(statement: Statement) -> str:
    """One formula, without delimiters."""
    where = rf"\quad\text{{{_latex_words(statement.where)}}}" if statement.where else ""
    return f"{formula_latex(statement.relation)}{where}"


def formula_text(formula: sympy.Basic) -> str:
    """A SymPy expression or relation as plain text: e^x is exp(x), powers are written with ^."""
    return str(_TextPrinter().doprint(formula))


def formula_latex(formula: sympy.Basic) -> str:
    """A SymPy expression or relation as LaTeX, without delimiters."""
    return str(_LatexPrinter({"symbol_names": _symbol_names(formula)}).doprint(formula))


def unmarked(sentence: str) -> str:
    """A sentence for a reader of plain text."""
    return sentence.replace("`", "")


def _step_text(number: int, step: Step) -> list[str]:
    lines = [f"{number}. {step.name}"]
    for statement in step.statement:
        lines += _wrapped(statement_text(statement), "       ", "           ")
    lines += _wrapped(unmarked(step.explanation), "   ")
    lines.append(f"   Checked by {step.check.value}:")
    for sentence in step.how:
        lines += _wrapped(unmarked(sentence), "     - ")
    if step.also:
        lines += _wrapped(f"Second look: {unmarked(step.also)}", "   ")
    return lines


def _step_latex(step: Step) -> list[str]:
    rows = [_aligned(statement_latex(statement)) for statement in step.statement]
    how = " ".join(_latex_words(sentence) for sentence in step.how)
    also = rf" \emph{{Second look:}} {_latex_words(step.also)}" if step.also else ""
    return [
        rf"\item \textbf{{{_latex_words(step.name)}.}} {_latex_words(step.explanation)}",
        r"\begin{align*}",
        " \\\\\n".join(rows),
        r"\end{align*}",
        rf"\emph{{Checked by {step.check.value}:}} {how}{also}",
    ]


def _wrapped(words: str, first: str, following: str | None = None) -> list[str]:
    then = " " * len(first) if following is None else following
    return textwrap.wrap(
        words,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=then,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def _aligned(row: str) -> str:
    """With the alignment mark before the first sign of relation."""
    return re.sub(r" (=|\\leq|\\geq|>|<) ", r" &\1 ", row, count=1)


def _latex_words(sentence: str) -> str:
    """Words as LaTeX text, with what is between back quotes as mathematics."""
    parts = sentence.split("`")
    return "".join(f"${_latex_mathematics(part)}$" if odd % 2 else _escaped(part) for odd, part in enumerate(parts))


def _escaped(words: str) -> str:
    """Words as LaTeX text; single letters that name something, and Greek ones, as mathematics."""
    escaped = re.sub(r"([&%$#_{}])", r"\\\1", words)
    return re.sub(rf"\b([{_LETTERS}]|{'|'.join(_GREEK)})\b", lambda found: f"${_latex_name(found[1])}$", escaped)


def _latex_mathematics(formula: str) -> str:
    """The few forms that explanations use, as LaTeX: powers, roots, named functions, Greek letters, relations."""
    formula = _braced(_braced(formula, "^"), "sqrt")
    formula = re.sub(r"\^(\w+)", r"^{\1}", formula)
    formula = formula.replace("<=", r"\le").replace(">=", r"\ge").replace("*", r"\,")
    return re.sub(r"(?<![\\a-zA-Z])[a-zA-Z]{2,}", lambda found: _latex_name(found[0]) + " ", formula)


def _latex_name(name: str) -> str:
    if name == "epsilon":
        return r"\varepsilon"
    if len(name) == 1 or name in _GREEK or name in _FUNCTIONS:
        return name if len(name) == 1 else rf"\{name}"
    return rf"\mathrm{{{name}}}"


def _braced(formula: str, before: str) -> str:
    """Turn the parentheses that follow `before` into braces."""
    start = formula.find(before + "(")
    while start >= 0:
        opening = start + len(before)
        depth, end = 0, opening
        for end in range(opening, len(formula)):
            depth += {"(": 1, ")": -1}.get(formula[end], 0)
            if depth == 0:
                break
        formula = f"{formula[:opening]}{{{formula[opening + 1 : end]}}}{formula[end + 1 :]}"
        start = formula.find(before + "(")
    return formula


def _symbol_names(formula: sympy.Basic) -> dict[sympy.Symbol, str]:
    return {symbol: _latex_name(symbol.name) for symbol in formula.free_symbols}


def _positive_first(terms: list[Any]) -> list[Any]:
    """The terms of a sum, so that it does not begin with a minus sign where that can be avoided."""
    return sorted(terms, key=lambda term: bool(term.could_extract_minus_sign()))


class _TextPrinter(StrPrinter):  # type: ignore[misc]  # sympy has no types
    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        return _positive_first(super()._as_ordered_terms(expr, order))

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:  # noqa: N802 - the name that SymPy looks for
        return str(super()._print_Pow(expr, rational)).replace("**", "^")

    def _print_Relational(self, expr: Any) -> str:  # noqa: N802 - the name that SymPy looks for
        sign = {"==": "="}.get(expr.rel_op, expr.rel_op)
        return f"{self._print(expr.lhs)} {sign} {self._print(expr.rhs)}"

    def _print_Abs(self, expr: Any) -> str:  # noqa: N802 - the name that SymPy looks for
        return f"|{self._print(expr.args[0])}|"

    def _print_Derivative(self, expr: Any) -> str:  # noqa: N802 - the name that SymPy looks for
        function, (variable, _times) = expr.args
        if function.args == (variable,):
            return f"{function.func}'({self._print(variable)})"
        return f"d {self._print(function)}/d {self._print(variable)}"


class _LatexPrinter(LatexPrinter):  # type: ignore[misc]  # sympy has no types
    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        return _positive_first(super()._as_ordered_terms(expr, order))
