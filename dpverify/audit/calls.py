"""Blocks of calls of a mechanism in this process: seeding, calling, and saying precisely what went wrong.

One block is one batched call, or many calls of a mechanism that returns one output at a time. Its generator is seeded by
the audit's seed and the block's number alone; where outputs must owe nothing to each other (`apart`) every call has its
own generator and returns one output. Python's and NumPy's global generators are seeded likewise (`generators`). No
statistics live here.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dpverify.audit import leaving
from dpverify.audit.callables import Form, batch_of, kept, name_of, outputs_of, single
from dpverify.audit.generators import GlobalGenerators
from dpverify.audit.reading import from_array, from_objects
from dpverify.audit.table import Table
from dpverify.audit.unchanged import same, snapshot
from dpverify.errors import MechanismError, shown

NAMES = ("inputs[0]", "inputs[1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One block: which input (its place), its number, how many outputs, and whether each comes from a call of its own."""

    side: int
    block: int
    size: int
    apart: bool = False


class Caller(Protocol):
    """Whatever turns a request into outputs."""

    def outputs(self, request: Request) -> Table:
        """The outputs of one block. Raises MechanismError that names what happened, and at which call."""
        ...

    def many(self) -> AbstractContextManager[None]:
        """While it lasts, many blocks follow each other."""
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...


class Calls:
    """Calls a mechanism in this process, on two inputs or more. `names` are what messages call these."""

    def __init__(
        self, mechanism: Callable[..., Any], form: Form, inputs: Sequence[Any], seed: int, names: Sequence[str] = NAMES
    ) -> None:
        self.mechanism = mechanism
        self.form = form
        self.inputs = inputs
        self.seed = seed
        self.names = names
        self.name = name_of(mechanism)
        self.count = 0
        self._generators = GlobalGenerators()
        self._before = tuple(map(snapshot, inputs))
        self.alive: Callable[[], None] = lambda: None
        self.passed_on: tuple[type[BaseException], ...] = (MechanismError, KeyboardInterrupt)
        """What no mechanism is blamed for. All else is its own, be it an Exception or not: asyncio's CancelledError is none."""

    def outputs(self, request: Request) -> Table:
        sequence = self._sequence(request.block)
        with leaving.kept_here(), self._generators.seeded(sequence.generate_state(5)):
            rng = _generator(sequence) if self.form.seeded and not request.apart else None
            if self.form.batched and not request.apart:
                return self._batch(request, rng)
            return self._one_by_one(request, rng)

    def many(self) -> AbstractContextManager[None]:
        """While it lasts, many blocks follow each other: the global generators are put back at its end."""
        return self._generators.kept()

    def close(self) -> None:
        """Give back the global generators, if they are still kept."""
        self._generators.put_back()

    def _batch(self, request: Request, rng: np.random.Generator | None) -> Table:
        where = self._where(request)
        try:
            returned = self.form.call(self.mechanism, self.inputs[request.side], rng, request.size)
            table = batch_of(returned, request.size, where)
        except self.passed_on:
            raise
        except BaseException as error:
            raise self._raised(error, where) from error
        self._check_inputs(request.side, where)
        return table

    def _one_by_one(self, request: Request, rng: np.random.Generator | None) -> Table:
        data = self.inputs[request.side]
        found: list[Any] = []
        try:
            for place in range(request.size):
                if request.apart and self.form.seeded:
                    rng = _generator(self._sequence(request.block, place))
                self.count += 1
                returned = self.form.call(self.mechanism, data, rng, 1)
                where = self._where(request, counted=True)
                found.append(kept(outputs_of(returned, 1, where) if self.form.batched else single(returned, where)))
                self.alive()
            table = _table_of(found, batches=self.form.batched)
        except self.passed_on:
            raise
        except BaseException as error:
            raise self._raised(error, self._where(request, counted=True)) from error
        self._check_inputs(request.side, self._where(request, counted=True))
        return table

    def _sequence(self, *key: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.seed, spawn_key=key)

    def _where(self, request: Request, *, counted: bool = False) -> str:
        if not counted:
            self.count += 1
        size = f", size={1 if request.apart else request.size}" if self.form.batched else ""
        return f"{self.name}, call {self.count} (on {self.names[request.side]}{size})"

    def _raised(self, error: BaseException, where: str) -> MechanismError:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != leaving.__file__]
        text = f": {said}" if (said := shown(error, str)) else ""
        if isinstance(error, RecursionError) and len(frames) > 1 and frames[1].name != Form.call.__name__:
            return MechanismError(
                f"{where} returned something that is nested too deeply to be read (or that contains itself); return it in a"
                f" flatter form, as text say."
            )
        place = f" at {frames[-1].filename}, line {frames[-1].lineno}" if frames else ""
        return MechanismError(
            f"{where} raised {type(error).__name__}{text}{place}. An audit needs an output for every call; "
            f"return None, or whatever a user would see, where the mechanism refuses to answer."
        )

    def _check_inputs(self, called: int, where: str) -> None:
        """Both of two inputs are compared with what they were; of many, the one that the mechanism was called on."""
        for place in range(len(self.inputs)) if len(self.inputs) <= 2 else (called,):
            if not same(self._before[place], self.inputs[place]):
                raise MechanismError(
                    f"{where} changed its input: {self.names[place]} is no longer what it was, so later outputs would be "
                    f"about other data. Work on a copy of the data inside the mechanism."
                )


def _generator(sequence: np.random.SeedSequence) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(sequence))


def _table_of(found: list[Any], *, batches: bool) -> Table:
    """Outputs that came one a call, each in a batch of its own or as it is."""
    if _are_arrays(found):
        return from_array(np.concatenate(found) if batches else np.stack(found))
    return from_objects([one[0] for one in found] if batches else found)


def _are_arrays(found: list[Any]) -> bool:
    """Whether all outputs are arrays that can be stacked without changing what they are."""
    first = found[0] if found else None
    if not isinstance(first, np.ndarray) or first.dtype.hasobject:
        return False
    kind = first.dtype if first.dtype.names is not None else first.dtype.kind
    return all(
        type(one) is type(first) and one.shape == first.shape and (one.dtype == kind or one.dtype.kind == kind) for one in found
    )
