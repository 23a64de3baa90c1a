"""The crew of many: blocks are drawn by the workers of any `concurrent.futures.Executor`, or of a process pool of our own.

Tasks are handed out ahead and taken back in order, so that nothing depends on who was quicker. A worker that dies is replaced
and its blocks are drawn again: the same seeds, the same outputs. Exploration outputs, a bounded number, come back whole; of
all others counts alone do, so that memory is flat in the size of the sample.
"""

from __future__ import annotations

import multiprocessing
import os
import uuid
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dpverify.audit import worker
from dpverify.audit.blocks import Answer, Question
from dpverify.audit.callables import name_of
from dpverify.audit.calls import Request
from dpverify.audit.crew import Job
from dpverify.errors import InputError, MechanismError, shown

ATTEMPTS = 3
"""How often a block may be the end of its worker before the audit gives up."""

IN_FLIGHT = 4
"""Tasks that wait or run for each worker, so that none is idle."""

LARGEST_TASK = 8
"""Blocks of one task, at most."""

SMALL = 50_000
"""Bytes of a pickled mechanism that every task may carry; a larger one goes to a worker that asks for it."""


@dataclass(slots=True)
class _Task:
    """Blocks that are drawn together. Without a future it waits to be handed out by itself, after the end of a worker."""

    requests: tuple[Request, ...]
    question: Question
    future: Future[worker.Result] | None = None
    ends: int = 0


class Crowd:
    """Blocks are drawn by workers: those of `executor`, or `workers` processes of our own.

    Where an executor breaks for good, as a process pool does when one of its processes dies, a pool of as many processes
    of our own takes its place. An executor that was handed in is never shut down.
    """

    def __init__(self, job: Job, *, executor: Executor | None = None, workers: int | None = None) -> None:
        self._job = job
        self._theirs = executor
        self._ours: Executor | None = None
        self.hands = workers or _workers_of(executor)
        self._run = uuid.uuid4().hex
        self._payload: bytes | None = None
        if isinstance(executor, ThreadPoolExecutor):
            worker.adopt(self._run, job)
        elif executor is not None:
            self._payload = worker.packed(job)

    def answers(self, requests: Iterable[Request], question: Question) -> Iterator[tuple[Request, Answer]]:
        source = iter(requests)
        waiting: deque[_Task] = deque()
        size, handed_out, window = 1, 0, IN_FLIGHT * self.hands
        try:
            while True:
                while len(waiting) < window and all(task.future is not None for task in waiting):
                    if not (taken := tuple(islice(source, size))):
                        break
                    waiting.append(self._handed_out(_Task(taken, question)))
                    handed_out += 1
                    if handed_out % (4 * window) == 0:  # few blocks are spread over all workers, many go in larger tasks
                        size = min(2 * size, LARGEST_TASK)
                if not waiting:
                    return
                yield from self._taken_back(waiting)
        finally:
            for task in waiting:
                if task.future is not None:
                    task.future.cancel()

    def close(self) -> None:
        worker.forget(self._run)
        if self._ours is not None:
            self._ours.shutdown(wait=True, cancel_futures=True)
            self._ours = None

    def _taken_back(self, waiting: deque[_Task]) -> Iterator[tuple[Request, Answer]]:
        """The answers of the first task in line."""
        task = waiting[0]
        while True:
            if task.future is None:
                task = self._handed_out(task)
            try:
                result = task.future.result()  # type: ignore[union-attr]
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # of the executor; what a mechanism raises comes back as a result
                self._after_an_end(waiting, error)
                continue
            if result is not None:
                break
            task.future = self._submitted(task, whole=True)
        waiting.popleft()
        answers, failure = result
        yield from zip(task.requests, answers, strict=False)
        if failure is not None:
            raise MechanismError(failure)

    def _after_an_end(self, waiting: deque[_Task], error: BaseException) -> None:
        """A worker has died. What it had in hand is drawn again, one task at a time, so that the culprit is known."""
        broken = isinstance(error, BrokenExecutor)
        alone = len(waiting) == 1 or waiting[1].future is None
        if broken:
            self._give_up_executor()
        for task in waiting:
            if task is waiting[0] or broken or (task.future is not None and _failed(task.future)):
                task.future = None
        waiting[0].ends += alone or not broken
        if waiting[0].ends >= ATTEMPTS:
            blocks = ", ".join(str(request.block) for request in waiting[0].requests)
            where = self._job.names[waiting[0].requests[0].side]
            raise MechanismError(
                f"{name_of(self._job.mechanism)} (on {where}, block {blocks}): the worker that "
                f"ran it died {ATTEMPTS} times ({type(error).__name__}: {shown(error, str)}). Run the mechanism alone on this "
                f"input to see why; running out of memory and faults in compiled code end like this."
            ) from None

    def _give_up_executor(self) -> None:
        if self._ours is not None:
            self._ours.shutdown(wait=False, cancel_futures=True)
        self._ours = self._theirs = self._payload = None

    def _handed_out(self, task: _Task) -> _Task:
        try:
            task.future = self._submitted(task)
        except BrokenExecutor:  # it broke while nobody was looking
            self._give_up_executor()
            task.future = self._submitted(task)
        return task

    def _submitted(self, task: _Task, *, whole: bool = False) -> Future[worker.Result]:
        payload = self._payload if whole or len(self._payload or b"") <= SMALL else None
        arguments = (self._run, payload, task.requests, task.question, task.ends)
        if self._theirs is not None:
            return self._theirs.submit(worker.work, *arguments)
        if self._ours is None:
            self._ours = self._pool()
        with warnings.catch_warnings():
            # a fork of a process with threads is safe here: the child runs the mechanism and nothing of ours
            warnings.simplefilter("ignore", DeprecationWarning)
            return self._ours.submit(worker.work, *arguments)

    def _pool(self) -> Executor:
        """Processes of our own. Where the platform forks, they know the mechanism; where it does not, it is pickled."""
        if multiprocessing.current_process().daemon:
            raise InputError(
                "workers: this is a daemonic process, which may have no child processes; pass workers=None, or an executor."
            )
        method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
        if method == "spawn":
            worker.packed(self._job)
        context = multiprocessing.get_context(method)
        return ProcessPoolExecutor(self.hands, context, worker.start, (self._run, self._job))


def _failed(future: Future[Any]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)


def _workers_of(executor: Any) -> int:
    """How many tasks the executor runs at a time, as far as it says; this only decides how many are handed out ahead."""
    client = getattr(executor, "_client", None)  # dask
    try:
        count = sum(client.nthreads().values()) if client is not None else executor._max_workers
    except Exception:
        count = None
    return count if isinstance(count, int) and count > 0 else os.cpu_count() or 1
