"""Who draws the blocks. A crew turns a stream of requests into answers, in the order of the requests.

A block's seed is its number, so that its answer is the same wherever it is drawn. The crew of this file is this process;
`crowd` has the one of many workers, `journal` the one that remembers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from dpverify.audit.blocks import Answer, Life, Question, answer_of, begin
from dpverify.audit.callables import Form
from dpverify.audit.calls import NAMES, Caller, Calls, Request


class Crew(Protocol):
    """Whatever turns requests into answers."""

    @property
    def hands(self) -> int:
        """How many blocks may be drawn at the same time."""
        ...

    def answers(self, requests: Iterable[Request], question: Question) -> Iterator[tuple[Request, Answer]]:
        """An answer for each request, in their order. Raises MechanismError in the place of a block that fails."""
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is needed to call the mechanism on any of its `inputs`, which messages call by their `names`. `first` is how many
    outputs the first calls of a process have."""

    mechanism: Callable[..., Any]
    form: Form
    inputs: tuple[Any, ...]
    seed: int
    timeout: float | None
    first: int
    names: tuple[str, ...] = NAMES

    def caller(self) -> Caller:
        """Calls in this process, or in a child of it where a call may take only so long."""
        if self.timeout is None:
            return Calls(self.mechanism, self.form, self.inputs, self.seed, self.names)
        from dpverify.audit.child import ChildCalls

        return ChildCalls(self.mechanism, self.form, self.inputs, self.seed, timeout=self.timeout, names=self.names)


class Alone:
    """Blocks are drawn in this process, one after the other."""

    hands = 1

    def __init__(self, job: Job) -> None:
        self._caller = job.caller()
        self._first = job.first
        self._life: Life | None = None

    def answers(self, requests: Iterable[Request], question: Question) -> Iterator[tuple[Request, Answer]]:
        if self._life is None:
            self._life = begin(self._caller, self._first)
        with self._caller.many():
            for request in requests:
                yield request, answer_of(self._caller.outputs(request), question, self._life)

    def close(self) -> None:
        self._caller.close()
