"""The one place that sets flint's working precision.

`flint.ctx.prec` is global to the process and not safe to change from two threads, so it is changed under a lock,
and put back on the way out whatever happens.
"""

from __future__ import annotations

import threading
from types import TracebackType

import flint

_lock = threading.RLock()


class working_precision:  # noqa: N801 - read as a verb phrase: `with working_precision(100):`
    """Run a block at `bits` bits of Arb precision. Nests; other threads wait."""

    __slots__ = ("_before", "bits")

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def __enter__(self) -> None:
        _lock.acquire()
        self._before = flint.ctx.prec
        flint.ctx.prec = self.bits

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        flint.ctx.prec = self._before
        _lock.release()
