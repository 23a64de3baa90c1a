"""Proofs that an expression keeps its sign on a piece of a density: by exact algebra, or by balls on boxes that cover a compact
interval and by intervals that reach to infinity beyond it. What is not proved is not claimed.
"""

from __future__ import annotations

import sympy
from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.derive import proofs
from dpverify.derive.algebra import NotProved
from dpverify.mechanisms._density_forms import has_no_zero, is_long, is_positive
from dpverify.mechanisms._density_pieces import Piece, is_positive_on, places
from dpverify.mechanisms._density_text import X
from dpverify.mechanisms._density_tree import Unbounded, compiled, range_beyond


def is_never_negative(piece: Piece, expression: sympy.Expr, at_the_start: sympy.Expr | None) -> bool:
    """Whether expression >= 0 on the piece is proved. `at_the_start`: what may be shown to be positive next to the low end
    instead, where the expression itself may be 0 (its own slope, say)."""
    if is_positive(expression) or _is_proved(piece, expression):
        return True
    low, high, function = piece.low, piece.high, compiled(expression)
    reach = 64 + max((abs(end) for end in (low, high) if end is not None), default=fmpq(0))
    edge = (low if low is not None else -reach), (high if high is not None else reach)
    try:
        if high is None and not range_beyond(expression, arb(reach))[0] >= 0:
            return False
        if low is None and not range_beyond(expression.xreplace({X: -X}), arb(reach))[0] >= 0:
            return False
    except Unbounded:
        return False
    start = arb(edge[0])
    if at_the_start is not None and at_the_start is not expression:
        near = compiled(at_the_start)
        step = arb(1) / 16
        while step > arb(2) ** -20 and not near(BALLS, start.union(start + step)) > 0:
            step /= 2
        if not near(BALLS, start.union(start + step)) > 0:
            return False
        start = (start + step).lower()
    return is_positive_on(function, start, arb(edge[1]))


def is_positive_inside(piece: Piece) -> bool:
    """Whether the density is proved to be positive inside the piece: factor by factor, a power by its base."""
    bases = [factor.args[0] if factor.is_Pow else factor for factor in sympy.Mul.make_args(piece.body)]
    return all(has_no_zero(base) or _is_above_zero(piece, base) for base in bases)


def _is_above_zero(piece: Piece, expression: sympy.Expr) -> bool:
    if _is_proved(piece, expression, strictly=True):  # on the whole line, everywhere but at 0
        return not (piece.low is None and piece.high is None) or bool(compiled(expression)(BALLS, arb(0)) > 0)
    if piece.low is None or piece.high is None:
        return False
    return is_positive_on(compiled(expression), arb(piece.low), arb(piece.high))


def _is_proved(piece: Piece, expression: sympy.Expr, *, strictly: bool = False) -> bool:
    """By exact algebra, in symbols that are positive on the piece."""
    if is_long(expression):
        return False
    try:
        for place in places(piece):
            there = expression.xreplace({X: place})
            if not (has_no_zero(there) if strictly else is_positive(there)):
                value = sympy.expand(there.rewrite(sympy.exp), log=False, power_base=False)
                proofs.nonnegative(value, strictly=strictly)
    except (NotProved, NotImplementedError, sympy.PolynomialError, ValueError, TypeError):
        return False
    return True
