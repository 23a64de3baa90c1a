"""Progress of a long audit: a callback, or one line on a terminal. Nothing is written where no terminal is listening."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from dpverify.errors import InputError, shown

QUIET = 2.0
"""Seconds before the line appears, so that a short audit stays silent."""

PAUSE = 0.2


def reporter(progress: Callable[[int, int], None] | bool | None) -> tuple[Callable[[int, int], None], Callable[[], None]]:
    """What to call with (outputs drawn, outputs in the budget), and what to call at the end."""
    if callable(progress):
        return progress, lambda: None
    if progress not in (None, True, False):
        raise InputError(f"progress = {shown(progress)}: a callable f(drawn, budget), True, False or None is needed.")
    if sys.stderr is None or progress is False or (progress is None and not sys.stderr.isatty()):
        return lambda drawn, budget: None, lambda: None
    line = _Line()
    return line.report, line.clear


class _Line:
    def __init__(self) -> None:
        self.started = time.monotonic()
        self.last = self.started + QUIET - PAUSE
        self.shown = False

    def report(self, drawn: int, budget: int) -> None:
        now = time.monotonic()
        if now - self.last < PAUSE:
            return
        self.last = now
        self.shown = True
        rate = drawn / max(now - self.started, 1e-9)
        sys.stderr.write(f"\rauditing: {drawn:,} of at most {budget:,} outputs, {rate:,.0f} a second \x1b[K")
        sys.stderr.flush()

    def clear(self) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
