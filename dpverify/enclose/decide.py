"""On which side of a target a number lies, or between which integers, at whatever precision it takes to be certain."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, fmpq

from dpverify.arithmetic.precision import working_precision
from dpverify.errors import PrecisionError

LARGEST_PRECISION = 200_000


def is_above(evaluate: Callable[[], arb], target: fmpq, *, what: Callable[[], str]) -> bool:
    """Whether the value of `evaluate` is above `target` (True) or below it (False), both certain.

    `evaluate()` runs at rising working precision. Raises PrecisionError, naming `what()`, where the two cannot be told
    apart (they may be equal).
    """
    bits = 64
    while bits <= LARGEST_PRECISION:
        with working_precision(bits):
            value, level = evaluate(), arb(target)
            if value > level:
                return True
            if value < level:
                return False
        bits *= 2
    raise PrecisionError(
        f"{what()} could not be told from its target at {LARGEST_PRECISION} bits; move the request away from the extreme.",
        reached=0,
    )


def whole_part(evaluate: Callable[[], arb], *, what: Callable[[], str]) -> int:
    """The largest integer that is no larger than the value of `evaluate`, which must not be an integer itself.

    `evaluate()` runs at rising working precision. Raises PrecisionError, naming `what()`, where the value cannot be told from
    an integer.
    """
    bits = 64
    while bits <= LARGEST_PRECISION:
        with working_precision(bits):
            whole = evaluate().floor().unique_fmpz()
        if whole is not None:
            return int(whole)
        bits *= 2
    raise PrecisionError(
        f"{what()}: a number could not be told from an integer at {LARGEST_PRECISION} bits; move the request away from the "
        "extreme.",
        reached=0,
    )
