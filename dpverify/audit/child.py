"""The same calls in a child process, which can be stopped: a time-out, and a mechanism that may die without taking us along.

One child serves a whole audit, in order, so that a mechanism that owns its generator goes on where it was. Where the
platform forks, anything can be audited in a child; where it does not, the mechanism and its inputs must be picklable.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from multiprocessing.connection import Connection
from typing import Any

from dpverify.audit.callables import Form, name_of
from dpverify.audit.calls import NAMES, Calls, Request
from dpverify.audit.table import Table
from dpverify.errors import InputError, MechanismError

START_UP = 60.0
"""Seconds within which a child must be ready; a spawned one imports the mechanism's module first."""


class ChildCalls:
    """Calls a mechanism in a child process. A call that gives no sign of life for `timeout` seconds is ended."""

    def __init__(
        self,
        mechanism: Callable[..., Any],
        form: Form,
        inputs: tuple[Any, ...],
        seed: int,
        *,
        timeout: float,
        method: str | None = None,
        names: Sequence[str] = NAMES,
    ) -> None:
        self.name = name_of(mechanism)
        self.names = names
        self.timeout = timeout
        method = method or ("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")
        context = multiprocessing.get_context(method)
        self._ours, theirs = context.Pipe()
        inherited = self._ours if method == "fork" else None
        arguments = (theirs, inherited, mechanism, form, inputs, seed, timeout, names)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)  # type: ignore[attr-defined]
        try:
            with warnings.catch_warnings():
                # a fork of a process with threads is safe here: the child runs the mechanism and nothing of ours
                warnings.simplefilter("ignore", DeprecationWarning)
                self._process.start()
        except AssertionError as error:
            raise InputError(
                f"timeout = {timeout}: a time-out needs a child process, and this is a daemonic process, which may have none "
                f"({error}); pass timeout=None here."
            ) from None
        except Exception as error:
            raise InputError(
                f"timeout = {timeout}: a time-out needs a child process; this platform starts one by pickling, and {self.name} "
                f"or its inputs cannot be pickled ({error}). Define the mechanism at the top level of a module, "
                f"or pass timeout=None."
            ) from None
        finally:
            theirs.close()
        self._receive(max(START_UP, timeout), f"{self.name}: starting the child process")

    def outputs(self, request: Request) -> Table:
        where = f"{self.name} (on {self.names[request.side]}, block {request.block})"
        try:
            self._ours.send(request)
        except (BrokenPipeError, OSError):
            raise self._died(where) from None
        found = self._receive(self.timeout, where)
        assert isinstance(found, Table)
        return found

    def many(self) -> AbstractContextManager[None]:
        return nullcontext()  # the global generators of the child are its own

    def close(self) -> None:
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self._ours.close()

    def _receive(self, patience: float, where: str) -> Any:
        while True:
            if not self._ours.poll(patience):
                self._process.kill()
                raise MechanismError(
                    f"{where} did not return within timeout = {patience:g} seconds and was ended. If it is only slow, allow "
                    f"more time; if it hangs on this input, an audit cannot go on."
                )
            try:
                word, content = self._ours.recv()
            except (EOFError, OSError):
                raise self._died(where) from None
            if word == "failed":
                raise MechanismError(content)
            if word != "alive":
                return content

    def _died(self, where: str) -> MechanismError:
        self._process.join(1.0)
        code = self._process.exitcode
        how = f"exit code {code}"
        if code is not None and code < 0:
            how = f"signal {signal.Signals(-code).name}"
        return MechanismError(
            f"{where}: the process that ran it died ({how}). Run the mechanism alone on this input to see why; "
            f"running out of memory and faults in compiled code end like this."
        )


def _serve(
    theirs: Connection,
    inherited: Connection | None,
    mechanism: Any,
    form: Form,
    inputs: tuple[Any, ...],
    seed: int,
    timeout: float,
    names: Sequence[str] = NAMES,
) -> None:
    """The child: answer requests until the other end is closed."""
    if inherited is not None:
        inherited.close()  # a fork holds the other end too, and as long as it does nobody can hang up
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    calls = Calls(mechanism, form, inputs, seed, names)
    calls.passed_on = (MechanismError,)  # with the signal ignored, a KeyboardInterrupt is the mechanism's own
    heartbeat = timeout / 8
    last = time.monotonic()

    def alive() -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > heartbeat:
            last = now
            theirs.send(("alive", None))

    calls.alive = alive
    theirs.send(("ready", None))
    while True:
        try:
            request = theirs.recv()
        except (EOFError, OSError):
            return
        last = time.monotonic()
        try:
            answer: tuple[str, Any] = ("table", calls.outputs(request))
        except MechanismError as error:
            answer = ("failed", str(error))
        theirs.send(answer)
