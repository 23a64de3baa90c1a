"""How much work one question about a stated density may cost: counted in evaluations, so the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from flint import ctx

from dpverify.errors import PrecisionError

LARGEST_EFFORT = 250_000
"""In evaluations of the density at low precision: a few seconds."""
_BITS = 256
"""The working precision that makes an evaluation twice as dear."""

_left: ContextVar[list[float] | None] = ContextVar("effort left", default=None)


@contextmanager
def limited_effort() -> Iterator[None]:
    """Within the block `spend` counts; blocks within blocks share the count of the outermost."""
    if _left.get() is not None:
        yield
        return
    token = _left.set([float(LARGEST_EFFORT)])
    try:
        yield
    finally:
        _left.reset(token)


def spend() -> None:
    """Count one evaluation at the working precision. Raises PrecisionError when the effort is spent."""
    left = _left.get()
    if left is not None:
        left[0] -= 1 + int(ctx.prec) / _BITS
        if left[0] < 0:
            raise PrecisionError(
                f"the effort of {LARGEST_EFFORT} evaluations is spent; ask for fewer digits, or move the request away from the "
                "extreme.",
                reached=0,
            )
