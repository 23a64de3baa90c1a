"""A density as it is handed in: text or a SymPy expression, read into one expression in one real variable.

Text is read by a small grammar of its own (numbers, x, pi, e, + - * / ** and the functions below); nothing is evaluated.
Whatever is not exact, or not known, is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import sympy

from dpverify.errors import InputError, shown

X = sympy.Symbol("x", real=True)
"""The variable of every density, once it is read."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": sympy.exp, "log": sympy.log, "sqrt": sympy.sqrt, "abs": sympy.Abs, "Abs": sympy.Abs, "cosh": sympy.cosh,
    "sinh": sympy.sinh, "tanh": sympy.tanh, "sech": sympy.sech, "atan": sympy.atan, "erf": sympy.erf, "erfc": sympy.erfc,
    "gamma": sympy.gamma,
}  # fmt: skip
_CONSTANTS = {"x": X, "pi": sympy.pi, "e": sympy.E, "E": sympy.E}
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
    ast.BitXor: lambda a, b: a**b,
}
_KNOWN = (sympy.exp, sympy.log, sympy.Abs, sympy.cosh, sympy.sinh, sympy.tanh, sympy.sech, sympy.atan, sympy.erf, sympy.erfc)
_LONGEST = 10_000


def read(value: Any) -> sympy.Expr:
    """The expression in X that `value` stands for, a `Piecewise` where it has a bounded support. Raises InputError."""
    if isinstance(value, str):
        return _from_text(value)
    if not isinstance(value, sympy.Expr):
        raise InputError(f"density = {value!r}: give a SymPy expression in one variable, or text such as 'exp(-abs(x))/2'.")
    symbols = sorted(value.free_symbols, key=str)
    if len(symbols) != 1:
        names = ", ".join(map(str, symbols)) or "none"
        raise InputError(f"density = {shown(value, str)}: it must have exactly one free symbol, its variable (it has {names}).")
    found: sympy.Expr = value.xreplace({symbols[0]: X}).doit()
    return found


def require_known(expression: sympy.Expr) -> None:
    """Raise InputError at the first part that is not exact or not known."""
    for part in sympy.preorder_traversal(expression):
        if part.is_Float:
            raise InputError(f"density: the Float {part} is not exact; write it as a fraction, sympy.Rational or text.")
        if part.is_Rational or part == X or part in (sympy.pi, sympy.E) or part.is_Add or part.is_Mul or part.is_Pow:
            continue
        if isinstance(part, _KNOWN) or (isinstance(part, sympy.gamma) and not part.has(X)):
            continue
        what = part.func.__name__ if part.args else str(part)
        raise InputError(f"density: {what} is not known here; known are {', '.join(sorted(FUNCTIONS))}, pi, e and powers.")


def _from_text(text: str) -> sympy.Expr:
    if len(text) > _LONGEST:
        raise InputError(f"density: text of {len(text)} characters is refused; shorten it to {_LONGEST}.")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return sympy.sympify(_read(tree.body, text.strip()))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"density = {shown(text)}: this is no formula in x ({error}); write for example exp(-abs(x))/2."
        ) from None


def _read(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return sympy.Rational(ast.get_source_segment(text, node))
    if isinstance(node, ast.Name) and node.id in _CONSTANTS:
        return _CONSTANTS[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _read(node.operand, text)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _read(node.left, text), _read(node.right, text)
        if isinstance(node.op, ast.Pow | ast.BitXor) and right.is_Rational and abs(right) > _LONGEST:
            raise InputError(f"density: the exponent {right} is refused; it may be at most {_LONGEST}.")
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS and len(node.args) == 1:
        return FUNCTIONS[node.func.id](_read(node.args[0], text))
    what = ast.get_source_segment(text, node)
    known = ", ".join(sorted({*FUNCTIONS, *_CONSTANTS}))
    raise InputError(f"density = {shown(text)}: {shown(what)} is not known here; known are numbers, + - * / **, {known}.")
