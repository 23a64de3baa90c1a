"""How much work one question may cost: counted in evaluations, so that what is refused is the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from flint import ctx

from dpverify.errors import PrecisionError

LARGEST_EFFORT = 250_000
"""In evaluations of a simple function at low precision: a few seconds."""
_BITS = 256
"""The working precision that makes an evaluation twice as dear."""
_DIGITS = 15
"""More digits than these may cost more, in proportion."""

_left: ContextVar[list[float] | None] = ContextVar("effort left", default=None)


@contextmanager
def limited_effort(*, times: int = 1, digits: int = _DIGITS) -> Iterator[None]:
    """Within the block `spend` counts, up to `times` the largest effort; blocks within blocks share the count of the
    outermost."""
    if _left.get() is not None:
        yield
        return
    token = _left.set([LARGEST_EFFORT * times * max(1.0, digits / _DIGITS)])
    try:
        yield
    finally:
        _left.reset(token)


def spend(evaluations: float = 1, *, bits: int | None = None) -> None:
    """Count evaluations at the working precision, or at that of `bits`. Raises PrecisionError when the effort is spent."""
    left = _left.get()
    if left is not None:
        left[0] -= evaluations * (1 + (int(ctx.prec) if bits is None else bits) / _BITS)
        if left[0] < 0:
            raise PrecisionError(
                f"the effort of {LARGEST_EFFORT} evaluations is spent; ask for fewer digits, or move the request away from the "
                "extreme.",
                reached=0,
            )
