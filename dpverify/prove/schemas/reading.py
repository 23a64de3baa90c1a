"""Formulas as authors write them, `(e^{d/2} - 1)^2` as `(exp(d/2) - 1)^2`, read into the kernel's terms.

The text is parsed by Python's grammar for expressions and walked; nothing is evaluated, and decimals are exact. `diff(f, x)` is
the derivative of f, by the rules of the kernel.
"""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpverify.prove.kernel.calculus import derivative
from dpverify.prove.kernel.statements import Range, Relation, Statement
from dpverify.prove.kernel.terms import Rejected, Term, call, variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_OPERATORS: dict[type[ast.AST], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "^"}
_COMPARISONS: dict[type[ast.AST], str] = {ast.Eq: "=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_FUNCTIONS = {"exp", "log", "sqrt", "phi", "Phi", "erfc", "gammaq", "gamma", "tail"}
_RANGE = re.compile(r"(whole )?([\[(])\s*([^\s,]+)\s*,\s*([^\s,]+)\s*([\])])")
_LONGEST = 4_000


class Reader:
    """Reads formulas in which some names stand for terms (`let`)."""

    def __init__(self, let: Mapping[str, str] | None = None) -> None:
        self._let: dict[str, Term] = {}
        for name, text in (let or {}).items():
            self._let[variable(name)] = self.term(text)

    def with_terms(self, terms: Mapping[str, Term]) -> Reader:
        """A reader that knows further abbreviations."""
        reader = Reader()
        reader._let = {**self._let, **terms}
        return reader

    def require_free(self, names: Iterable[str]) -> None:
        """Refuse variables that abbreviations would hide. Raises Rejected."""
        hidden = set(names) & set(self._let)
        if hidden:
            raise Rejected(f"{sorted(hidden)} would be both variables and abbreviations")

    def term(self, text: str) -> Term:
        """A term. Raises Rejected."""
        tree, source = _parsed(text)
        return _term(tree, source, self._let)

    def relation(self, text: str) -> Relation:
        """One comparison of two terms. Raises Rejected."""
        tree, source = _parsed(re.sub(r"(?<![<>=])=(?!=)", "==", text))
        if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or type(tree.ops[0]) not in _COMPARISONS:
            raise Rejected(f"{text[:80]!r} is not one comparison")
        sides = [_term(side, source, self._let) for side in (tree.left, tree.comparators[0])]
        return Relation(_COMPARISONS[type(tree.ops[0])], sides[0], sides[1])

    def statement(self, data: Mapping[str, Any]) -> Statement:
        """{for = {x = "(0, inf)"}, where = ["x <= 1"], show = "x >= 0"}: all values in the ranges for which `where` holds."""
        unknown = set(data) - {"name", "for", "where", "show"}
        if unknown or "show" not in data:
            raise Rejected(f"a statement has name, for, where and show, not {sorted(unknown)}")
        self.require_free(data.get("for", {}))
        return Statement(
            ranges(data.get("for", {})),
            tuple(self.relation(text) for text in data.get("where", [])),
            self.relation(data["show"]),
        )


def ranges(table: Mapping[str, str]) -> tuple[tuple[str, Range], ...]:
    """The ranges of variables, in the order in which they are written."""
    return tuple((variable(name), a_range(text)) for name, text in table.items())


def a_range(text: str) -> Range:
    """`[0, inf)`, `(0, 1)`, `whole [1, 12]`. Raises Rejected."""
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        raise Rejected(f"{text[:60]!r} is no range such as [0, inf) or whole [1, 5]")
    whole, left, low, high, right = match.groups()
    ends = [None if end in ("inf", "-inf") else exact(end) for end in (low, high)]
    return Range(ends[0], ends[1], ends[0] is not None and left == "(", ends[1] is not None and right == ")", bool(whole))


def exact(text: str) -> Fraction:
    """A decimal or a fraction, exactly. Raises Rejected."""
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        raise Rejected(f"{text[:60]!r} is not an exact number") from error


def _parsed(text: str) -> tuple[ast.expr, str]:
    if not isinstance(text, str) or len(text) > _LONGEST or not text.isascii():
        raise Rejected("a formula must be ASCII text of bounded length")
    source = " ".join(text.replace("^", "**").split())
    try:
        return ast.parse(source, mode="eval").body, source
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Rejected(f"{text[:80]!r} is not a formula") from error


def _segment(tree: ast.expr, source: str) -> str:
    """What a part of a formula, which is one line of ASCII, was written as."""
    return source[tree.col_offset : tree.end_col_offset]


def _term(tree: ast.expr, source: str, let: Mapping[str, Term]) -> Term:
    match tree:
        case ast.Call(func=ast.Name(id="diff"), args=[differentiated, ast.Name(id=name)]):
            return derivative(_term(differentiated, source, let), name)
        case ast.Constant():
            return exact(_segment(tree, source))
        case ast.Name(id="pi"):
            return call("pi")
        case ast.Name(id=name):
            return let.get(name, variable(name))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inside = _term(operand, source, let)
            return -inside if isinstance(inside, Fraction) else call("-", inside)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = _term(left, source, let), _term(right, source, let)
            if isinstance(op, ast.Div) and isinstance(a, Fraction) and isinstance(b, Fraction) and b:
                return a / b
            return call(_OPERATORS[type(op)], a, b)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return call(name, *(_term(argument, source, let) for argument in args))
        case _:
            raise Rejected(f"{_segment(tree, source)[:80]!r} cannot be read as a term")
