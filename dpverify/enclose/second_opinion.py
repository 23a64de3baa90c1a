"""The same formulas by mpmath: an independent check, without a certificate.

Each value is computed at rising precision until two successive answers agree to the digits asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from mpmath import mpf

from dpverify.arithmetic.interface import Value
from dpverify.arithmetic.multiprecision import MultiprecisionArithmetic
from dpverify.errors import PrecisionError

LARGEST_DIGITS = 20_000


def settled(evaluate: Callable[[MultiprecisionArithmetic], Value], digits: int, *, what: str) -> mpf:
    """The value of `evaluate` to about `digits` digits (kind of exactness: *heuristic*: two precisions agreed)."""
    working = digits + 15
    before = None
    while working <= LARGEST_DIGITS + digits:
        m = MultiprecisionArithmetic(working)
        value = m.context.mpf(evaluate(m))
        if before is not None and abs(value - before) <= abs(value) * m.context.mpf(10) ** -(digits + 1):
            return value
        before = value
        working *= 2
    raise PrecisionError(f"{what}: mpmath did not settle within {LARGEST_DIGITS} digits; ask for fewer digits.", reached=0)


def positive_root(m: MultiprecisionArithmetic, value: Callable[[mpf], mpf], target: mpf, *, increasing: bool) -> mpf:
    """The x > 0 with value(x) = target: a bracket by doubling, halved until mpmath's secant iteration converges in it."""

    def is_left(x: mpf) -> bool:
        return bool(value(x) < target) is increasing

    low = high = m.rational(1)
    while not is_left(low):
        low /= 2
    while is_left(high):
        high *= 2
    steps = 0
    while high - low > low * _relative(m):
        middle = (low + high) / 2
        low, high = (middle, high) if is_left(middle) else (low, middle)
        steps += 1
        if steps % _PATIENCE == 0 and (root := _secant(m, value, target, low, high, is_left)) is not None:
            return root
    return (low + high) / 2


_PATIENCE = 16


def _relative(m: MultiprecisionArithmetic) -> mpf:
    """How narrow, in relative terms, a bracket can sensibly be at this precision."""
    return m.context.mpf(10) ** (6 - m.context.dps)


def _secant(
    m: MultiprecisionArithmetic,
    value: Callable[[mpf], mpf],
    target: mpf,
    low: mpf,
    high: mpf,
    is_left: Callable[[mpf], bool],
) -> mpf | None:
    """A root of log value - log target within the bracket, if the signs on both sides of it say that it is one."""
    if not (value(low) > 0 and value(high) > 0):
        return None
    goal = m.log(target)
    try:
        root = m.context.findroot(lambda x: m.log(value(x)) - goal, (low, high), solver="secant", verify=False)
    except (ValueError, ZeroDivisionError, TypeError):  # left the bracket, where the logarithm is complex
        return None
    hair = 1 + _relative(m)
    if isinstance(root, m.context.mpf) and low <= root <= high and is_left(root / hair) and not is_left(root * hair):
        return root
    return None
