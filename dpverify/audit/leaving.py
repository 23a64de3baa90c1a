"""Code of others that would end this process, or come back from it twice.

`os._exit` leaves without a word and with an exit code of its own choice: an audit, a gate or a run of pytest would end in
silence, with code 0 perhaps. A mechanism that forks, and whose child returns as well, would have the audit go on twice.
What a process does in C, or to itself by a signal, nothing here can stop.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, NoReturn

_os: Any = os
_leave: Callable[[int], NoReturn] = os._exit
_lock = Lock()
_inside = 0
"""How many calls of this process are guarded now; threads may overlap."""


@contextmanager
def kept_here() -> Iterator[None]:
    """While it lasts, `os._exit` in this process raises SystemExit that says so, and a fork that comes to its end is ended.

    Children that a mechanism starts for itself may leave as they like.
    """
    here = os.getpid()
    _count(here, 1)
    try:
        yield
    finally:
        _count(here, -1)
        if os.getpid() != here:
            _leave(1)


def _count(here: int, more: int) -> None:
    """The first call that begins puts the guard up, the last one that ends takes it down."""
    global _inside

    def refuse(status: int) -> NoReturn:
        if os.getpid() != here:
            _leave(status)
        raise SystemExit(f"os._exit({status}) would end the whole process, and with it whatever else is checked there")

    with _lock:
        before, _inside = _inside, _inside + more
        if before == 0:
            _os._exit = refuse
        elif _inside == 0:
            _os._exit = _leave
