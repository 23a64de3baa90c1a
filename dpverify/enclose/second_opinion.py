"""The same formulas by mpmath: an independent check, without a certificate.

Each value is computed at rising precision until two successive answers agree to the digits asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from mpmath import mpf

from dpverify.arithmetic.interface import Value
from dpverify.arithmetic.multiprecision import MultiprecisionArithmetic
from dpverify.errors import PrecisionError

LARGEST_DIGITS = 60_000


def settled(evaluate: Callable[[MultiprecisionArithmetic], Value], digits: int, *, what: str) -> mpf:
    """The value of `evaluate` to about `digits` digits (kind of exactness: *heuristic*: two precisions agreed)."""
    working = digits + 15
    before = None
    while working <= LARGEST_DIGITS:
        m = MultiprecisionArithmetic(working)
        value = m.context.mpf(evaluate(m))
        if before is not None and abs(value - before) <= abs(value) * m.context.mpf(10) ** -(digits + 1):
            return value
        before = value
        working *= 2
    raise PrecisionError(f"{what}: mpmath did not settle within {LARGEST_DIGITS} digits; ask for fewer digits.", reached=0)


def positive_root(
    m: MultiprecisionArithmetic, value: Callable[[mpf], mpf], target: mpf, *, increasing: bool
) -> mpf:
    """The x > 0 with value(x) = target, by bracketing with powers of two and mpmath's own Anderson-Bjorck iteration."""
    goal = m.log(target)

    def residual(exponent: mpf) -> mpf:
        here = value(m.exp(exponent))
        gap = m.log(here) - goal if here > 0 else -m.context.inf
        return gap if increasing else -gap

    low, high = m.context.mpf(-1), m.context.mpf(1)
    while residual(low) >= 0:
        low *= 2
    while residual(high) <= 0:
        high *= 2
    # -inf at the lower end would stop the iteration, so bisect until the function is seen there.
    while not m.context.isfinite(residual(low)):
        middle = (low + high) / 2
        if residual(middle) < 0:
            low = middle
        else:
            high = middle
    tolerance = m.context.mpf(10) ** -(2 * m.context.dps)
    return m.exp(m.context.findroot(residual, (low, high), solver="anderson", tol=tolerance, verify=False, maxsteps=400))
