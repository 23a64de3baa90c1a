"""Code of others that would end this process, or come back from it twice.

`os._exit` leaves without a word and with an exit code of its own choice: an audit, a gate or a run of pytest would end in
silence, with code 0 perhaps. A mechanism that forks, and whose child returns as well, would have the audit go on twice.
What a process does in C, or to itself by a signal, nothing here can stop; its exit code is not 0 then.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

_os: Any = os


@contextmanager
def kept_here() -> Iterator[None]:
    """While it lasts, `os._exit` in this process raises SystemExit that says so, and a fork that comes to its end is ended.

    Children that a mechanism starts for itself may leave as they like.
    """
    here, leave = os.getpid(), _os._exit

    def refuse(status: int) -> NoReturn:
        if os.getpid() != here:
            leave(status)
        raise SystemExit(f"os._exit({status}) would end the whole process, and with it whatever else is checked there")

    _os._exit = refuse
    try:
        yield
    finally:
        _os._exit = leave
        if os.getpid() != here:
            leave(1)
