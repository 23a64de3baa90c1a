"""What runs in a worker: rebuild the mechanism once, then count blocks. And how a mechanism gets there.

Threads of one process take turns: the global generators that are seeded for a block belong to the process.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import site
import sys
import sysconfig
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeAlias

from dpverify.audit.blocks import Answer, Life, Question, answer_of, begin
from dpverify.audit.callables import name_of
from dpverify.audit.calls import Caller, Request
from dpverify.audit.crew import Job
from dpverify.errors import InputError, MechanismError, shown

MOST_KNOWN = 4
"""Audits whose mechanisms a worker holds at the same time; one that is needed again after that is rebuilt."""

Result: TypeAlias = "tuple[list[Answer], str | None] | None"
"""Answers, and what went wrong with the block after the last of them; None: this worker does not know the mechanism."""


@dataclass(slots=True)
class _Known:
    job: Job
    caller: Caller | None = None
    life: Life | None = None


_turn = threading.Lock()
_known: OrderedDict[str, _Known] = OrderedDict()


def adopt(run: str, job: Job) -> None:
    """Make a mechanism known to this process as it is, without pickling."""
    _known[run] = _Known(job)
    while len(_known) > MOST_KNOWN:
        _, oldest = _known.popitem(last=False)
        if oldest.caller is not None:
            oldest.caller.close()


def forget(run: str) -> None:
    """The audit is over."""
    known = _known.pop(run, None)
    if known is not None and known.caller is not None:
        known.caller.close()


def start(run: str, job: Job) -> None:
    """The first thing that a process of our own pool does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    adopt(run, job)


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for ever, and hold the lock of the checkpoint that it has inherited."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)


def work(run: str, payload: bytes | None, requests: tuple[Request, ...], question: Question, attempt: int) -> Result:
    """Count a few blocks. `attempt` makes a task that is handed out again another task for schedulers that remember results."""
    with _turn:
        if run not in _known:
            if payload is None:
                return None
            try:
                adopt(run, pickle.loads(payload))  # of the audit that this worker serves
            except Exception as error:
                return [], _not_rebuilt(error)
        known = _known[run]
        answers: list[Answer] = []
        try:
            if known.caller is None or known.life is None:
                known.caller = known.job.caller()
                if isinstance(blamed := getattr(known.caller, "passed_on", None), tuple):
                    known.caller.passed_on = tuple(kind for kind in blamed if kind is not KeyboardInterrupt)  # type: ignore[attr-defined]
                known.life = begin(known.caller, known.job.first)
            with known.caller.many():
                for request in requests:
                    answers.append(answer_of(known.caller.outputs(request), question, known.life))
        except MechanismError as error:
            return answers, str(error)
        return answers, None


def _not_rebuilt(error: Exception) -> str:
    return (
        f"A worker cannot rebuild the mechanism ({type(error).__name__}: {shown(error, str)}). Workers need dpverify and "
        f"whatever the mechanism imports, in the same versions as here."
    )


def packed(job: Job) -> bytes:
    """The job as bytes that a worker can unpack. Raises InputError where the mechanism or its inputs cannot be pickled.

    With cloudpickle, functions of files that are not installed go by value, so that a worker need not have the file.
    """
    try:
        import cloudpickle
    except ImportError:
        cloudpickle = None
    try:
        if cloudpickle is None:
            return pickle.dumps(job)
        with _by_value(cloudpickle, job):
            return bytes(cloudpickle.dumps(job))
    except Exception as error:
        hint = "" if cloudpickle is not None else "; the package cloudpickle sends lambdas and inner functions as well"
        raise InputError(
            f"executor: {name_of(job.mechanism)} or its inputs cannot be pickled for a worker ({type(error).__name__}: "
            f"{shown(error, str)}). Define the mechanism at the top level of a module, or audit without an executor{hint}."
        ) from None


@contextmanager
def _by_value(cloudpickle: Any, job: Job) -> Iterator[None]:
    """While this lasts, modules that belong to no installation are pickled by value."""
    registered = []
    for part in (job.mechanism, getattr(job.mechanism, "func", None), type(job.mechanism), *map(type, job.inputs)):
        module = sys.modules.get(getattr(part, "__module__", None) or "")
        if module is not None and _is_loose(module) and module.__name__ not in cloudpickle.list_registry_pickle_by_value():
            cloudpickle.register_pickle_by_value(module)
            registered.append(module)
    try:
        yield
    finally:
        for module in registered:
            cloudpickle.unregister_pickle_by_value(module)


def _is_loose(module: ModuleType) -> bool:
    """Whether a worker can hardly be expected to have the module: a file outside of every installation, dpverify apart."""
    file = getattr(module, "__file__", None)
    if not file or module.__name__ == "__main__" or module.__name__.partition(".")[0] == "dpverify":
        return False
    installed = [*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages()]
    return not any(str(file).startswith(place.rstrip("/") + "/") for place in installed)
