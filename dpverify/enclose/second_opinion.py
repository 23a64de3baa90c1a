"""The same formulas by mpmath: an independent check, without a certificate.

Each value is computed at rising precision until two successive answers agree to the digits asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from mpmath import mpf
from mpmath.libmp import NoConvergence

from dpverify.arithmetic.interface import Value
from dpverify.arithmetic.multiprecision import MultiprecisionArithmetic
from dpverify.enclose.effort import limited_effort, spend
from dpverify.errors import DpverifyError, PrecisionError, shown

LARGEST_DIGITS = 20_000
_GIVEN_UP = (NoConvergence, ValueError, OverflowError)
"""What mpmath raises where one of its series does not converge."""


def settled(evaluate: Callable[[MultiprecisionArithmetic], Value], digits: int, *, what: str) -> mpf:
    """The value of `evaluate` to about `digits` digits (kind of exactness: *heuristic*: two precisions agreed).

    Raises PrecisionError, naming `what`, where precision runs out or the effort is spent (`enclose.effort`).
    """
    with limited_effort(digits=digits):
        try:
            return _settled(evaluate, digits, what)
        except PrecisionError as error:
            raise PrecisionError(f"{what}: no second opinion, because {error}", reached=0) from error
        except DpverifyError:
            raise
        except _GIVEN_UP as error:
            raise PrecisionError(
                f"{what}: no second opinion, because mpmath gives up ({shown(str(error), str)}); move the request away from "
                "the extreme, or rely on the certified answer.",
                reached=0,
            ) from error


def counted(digits: int) -> MultiprecisionArithmetic:
    """mpmath at so many digits, with every function that it evaluates counted as effort."""
    return MultiprecisionArithmetic(digits, lambda evaluations, bits: spend(evaluations, bits=bits))


def _settled(evaluate: Callable[[MultiprecisionArithmetic], Value], digits: int, what: str) -> mpf:
    working = digits + 15
    before = None
    while working <= LARGEST_DIGITS + digits:
        m = counted(working)
        value = m.context.mpf(evaluate(m))
        if before is not None and abs(value - before) <= abs(value) * m.context.mpf(10) ** -(digits + 1):
            return value
        before = value
        working *= 2
    raise PrecisionError(f"mpmath did not settle within {LARGEST_DIGITS} digits; ask for fewer digits.", reached=0)


def positive_root(m: MultiprecisionArithmetic, value: Callable[[mpf], mpf], target: mpf, *, increasing: bool) -> mpf:
    """The x > 0 with value(x) = target: a bracket by galloping, then regula falsi within it (the Illinois variant, with a
    plain halving where that stalls), on log value - log target."""
    goal, nothing = m.log(target), m.context.ninf

    def height(x: mpf) -> mpf:
        """Negative left of the root, positive right of it."""
        m.count()
        here = value(x)
        above = m.log(here) - goal if here > 0 else nothing
        return above if increasing else -above

    low, high = _bracket(m, height)
    left, right = height(low), height(high)
    lowest, highest = left, right
    placed_left: bool | None = None
    steps, width = 0, high - low
    while high - low > low * _relative(m):
        steps += 1
        stalls = steps % _PATIENCE == 0 and high - low > width / 2
        x = (low + high) / 2
        if not stalls and left > nothing and right < -nothing:
            chord = (low * right - high * left) / (right - left)
            x = chord if low < chord < high else x
        here = height(x)
        if here == 0 or (abs(here) < _NEAR and not lowest < here < highest):
            return x  # found, or rounding has taken over and nothing more is to be had
        # Twice on the same side: halve the height at the other end, so that the next chord crosses over.
        if here < 0:
            low, left, right = x, here, right / 2 if placed_left is True else right
            lowest = here
        else:
            high, right, left = x, here, left / 2 if placed_left is False else left
            highest = here
        placed_left = bool(here < 0)
        if steps % _PATIENCE == 0:
            width = high - low
    return (low + high) / 2


_NEAR = 1
"""A height from which on rounding may have taken over. Far from the root heights that are out of order mean a plateau."""

_PATIENCE = 4
"""Steps in which the bracket must halve, or it is halved."""


def _bracket(m: MultiprecisionArithmetic, height: Callable[[mpf], mpf]) -> tuple[mpf, mpf]:
    """Two powers of 2, a factor of 2 apart, with the root between them."""

    def is_left(exponent: int) -> bool:
        return bool(height(m.context.ldexp(1, exponent)) < 0)

    exponent, stride = 0, 1
    left = is_left(0)
    while is_left(exponent + (stride if left else -stride)) is left:
        exponent += stride if left else -stride
        stride *= 2
    low, high = sorted((exponent, exponent + (stride if left else -stride)))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_left(middle) else (low, middle)
    return m.context.ldexp(1, low), m.context.ldexp(1, high)


def _relative(m: MultiprecisionArithmetic) -> mpf:
    """How narrow, in relative terms, a bracket can sensibly be at this precision."""
    return m.context.mpf(10) ** (6 - m.context.dps)
