"""A progress bar for tables whose rows take their time: on a terminal, on standard error, and only after a moment."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

QUIET = 0.5
"""Seconds before the bar appears, so that a quick table stays silent."""

WIDTH = 30


class Progress:
    """`with Progress(total) as bar: ... bar.advance()`. Leaves nothing behind, however it ends."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.shown = False
        self.started = time.monotonic()
        self.listening = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def advance(self) -> None:
        """One more row is there."""
        self.done += 1
        if self.listening and time.monotonic() - self.started >= QUIET:
            full = WIDTH * self.done // self.total
            sys.stderr.write(f"\r[{'#' * full}{' ' * (WIDTH - full)}] {self.done} of {self.total}\x1b[K")
            sys.stderr.flush()
            self.shown = True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
