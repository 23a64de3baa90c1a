"""On which side of a target a number lies, at whatever precision it takes to be certain."""

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
