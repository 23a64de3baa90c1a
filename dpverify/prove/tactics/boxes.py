"""Bisection trees for sign_box, found by branch and bound with the intervals by which the kernel will check them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from dpverify.prove.kernel.evaluation import Box, evaluate, refined
from dpverify.prove.kernel.intervals import Arithmetic, Interval
from dpverify.prove.kernel.steps import MOST_BOXES, certain, fails
from dpverify.prove.kernel.terms import Rejected

if TYPE_CHECKING:
    from dpverify.prove.kernel.statements import Statement

DEEPEST = 40


def bisect(goal: Statement, digits: int) -> list[str]:
    """The tree of a sign_box step in preorder. Raises Rejected when the goal is false, or needs too many boxes."""
    arithmetic = Arithmetic(digits)
    box: Box = {}
    for name, domain in goal.variables:
        if domain.low is None or domain.high is None:
            raise Rejected(f"{name} has no finite range")
        box[name] = Interval(arithmetic.exact(domain.low).low, arithmetic.exact(domain.high).high)
    tree: list[str] = []
    pending = [(box, 0)]
    while pending:
        box, depth = pending.pop()
        leaf = _leaf(goal, box, digits)
        if leaf:
            tree.append(leaf)
            continue
        if depth >= DEEPEST or not box or len(tree) >= MOST_BOXES:
            raise Rejected(f"branch and bound does not show {goal.conclusion.text()[:200]}")
        name = max(box, key=lambda key: _width(box[key]))
        side = box[name]
        middle = arithmetic.down.divide(arithmetic.down.add(side.low, side.high), Decimal(2))
        tree.append(name)
        pending += [
            (box | {name: Interval(middle, side.high)}, depth + 1),
            (box | {name: Interval(side.low, middle)}, depth + 1),
        ]
    return tree


def _leaf(goal: Statement, box: Box, digits: int) -> str:
    if any(fails(hypothesis, box, digits) for hypothesis in goal.hypotheses):
        return "!"
    for leaf, form in ((".", evaluate), ("~", refined)):
        try:
            if certain(goal.conclusion, box, digits, form):
                return leaf
        except Rejected:
            continue
    return ""


def _width(side: Interval) -> Decimal:
    """Relative where the interval is away from zero, so that boxes near a small end are not neglected."""
    return (side.high - side.low) / max(abs(side.low), Decimal("0.01"))
