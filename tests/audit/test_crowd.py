"""Many workers: the same evidence from any number of them, workers that die, mechanisms that workers cannot have."""

from __future__ import annotations

import json
import os
import signal
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify.audit import crowd, worker
from dpverify.audit.api import audit
from dpverify.audit.blocks import Question
from dpverify.audit.callables import form_of
from dpverify.audit.calls import Request
from dpverify.audit.crew import Job
from dpverify.errors import InputError, MechanismError
from dpverify.guarantees import Verdict

PARENT = os.getpid()


def laplace(data: Any, rng: np.random.Generator, size: int) -> Any:
    return np.round((data + rng.laplace(size=size)) * 65536) / 65536


def evidence(mechanism: Any = laplace, **options: Any) -> str:
    request: dict[str, Any] = {"inputs": (0, 1), "epsilon": 1, "samples": 8_000, "seed": 5, **options}
    return json.dumps(audit(mechanism, **request).evidence)


@pytest.fixture(scope="module")
def expected() -> str:
    return evidence()


@pytest.mark.parametrize("workers", [0, 1, 2, 4])
def test_any_number_of_workers_finds_the_same_evidence_to_the_byte(workers: int, expected: str) -> None:
    assert evidence(workers=workers) == expected


@pytest.mark.parametrize("kind", [ProcessPoolExecutor, ThreadPoolExecutor])
def test_an_executor_that_is_handed_in_finds_it_too_and_stays_open(kind: Any, expected: str) -> None:
    with kind(2) as executor:
        assert evidence(executor=executor) == expected
        assert executor.submit(int, "3").result() == 3


def test_calls_may_be_limited_in_time_in_workers_too(expected: str) -> None:
    assert evidence(workers=2, timeout=60) == expected


@pytest.mark.parametrize("own", [True, False])
def test_a_worker_that_dies_is_replaced_and_nothing_changes(own: bool, expected: str, tmp_path: Path) -> None:
    died = tmp_path / "died"

    def fatal(data: Any, rng: np.random.Generator, size: int) -> Any:
        found = laplace(data, rng, size)
        if os.getpid() != PARENT and found[0] > 2 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    fatal.__name__ = "laplace"
    if own:
        assert evidence(fatal, workers=2) == expected
    else:
        with ProcessPoolExecutor(2) as executor:
            assert evidence(fatal, executor=executor) == expected
    assert died.exists()


def test_a_block_that_is_the_end_of_every_worker_ends_the_audit_and_is_named() -> None:
    def fatal(data: Any, rng: np.random.Generator, size: int) -> Any:
        found = laplace(data, rng, size)
        if found[0] > 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    with pytest.raises(
        MechanismError, match=r"fatal \(on inputs\[[01]\], block \d+\): the worker that ran it died 3 times"
    ) as caught:
        evidence(fatal, workers=2, samples=40_000)
    assert caught.value.partial.verdict is Verdict.UNDECIDED
    assert sum(caught.value.partial.evidence["drawn"]) > 0


def test_what_was_measured_before_a_failure_does_not_depend_on_the_workers() -> None:
    def fails(data: Any, rng: np.random.Generator, size: int) -> Any:
        found = laplace(data, rng, size)
        if found[0] > 4:
            raise RuntimeError("too much")
        return found

    drawn = []
    for workers in (1, 3):
        with pytest.raises(MechanismError, match="raised RuntimeError: too much") as caught:
            evidence(fails, workers=workers, samples=40_000)
        drawn.append(caught.value.partial.evidence["drawn"])
    assert drawn[0] == drawn[1]


class Own:
    """Noise from a generator that the mechanism carries along: every copy repeats it."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(3)

    def __call__(self, data: Any, rng: np.random.Generator, size: int) -> Any:
        return data + self.rng.geometric(0.6, size) - self.rng.geometric(0.6, size)


def test_workers_that_repeat_each_other_are_noticed() -> None:
    result = audit(Own(), inputs=(0, 1), epsilon=1, samples=20_000, workers=2)
    assert result.verdict is Verdict.UNDECIDED
    assert "the mechanism carries a generator of its own" in result.notes[-1]
    assert all(test["set_aside"] == "processes repeat each other" for test in result.evidence["tests"])
    alone = audit(Own(), inputs=(0, 1), epsilon=1, samples=20_000)
    assert alone.verdict is Verdict.NOT_REFUTED


def test_noise_from_the_system_is_independent_in_all_workers() -> None:
    def fresh(data: Any, rng: np.random.Generator, size: int) -> Any:
        noise = np.random.default_rng()
        return data + noise.geometric(0.7, size) - noise.geometric(0.7, size)

    assert audit(fresh, inputs=(0, 1), epsilon="1.3", samples=20_000, workers=2).verdict is Verdict.NOT_REFUTED


def test_global_generators_are_put_back_by_threads(expected: str) -> None:
    def worldly(data: Any, rng: np.random.Generator, size: int) -> Any:
        return data + np.random.geometric(0.6, size) - np.random.geometric(0.6, size)

    before = np.random.get_state()[1].tolist()
    with ThreadPoolExecutor(4) as executor:
        assert evidence(worldly, executor=executor) == evidence(worldly)
    assert np.random.get_state()[1].tolist() == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"workers": -1}, "workers = -1: 0 or more is needed"),
        ({"workers": 1.5}, "workers = 1.5: a whole number is needed"),
        ({"executor": 3}, "executor = 3: a concurrent.futures.Executor is needed"),
        ({"executor": ThreadPoolExecutor(1), "workers": 2}, "not both"),
    ],
)
def test_what_is_no_worker_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        evidence(**options)


class Distant(Executor):
    """An executor whose workers get everything as bytes, like a cluster's; some tasks are lost on the way."""

    def __init__(self, lost: int = 0) -> None:
        self.lost = lost
        self.payloads: list[Any] = []
        self.sizes: list[int] = []

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        import pickle

        self.payloads.append(arguments[1])
        future: Future[Any] = Future()
        if self.lost > 0:
            self.lost -= 1
            future.set_exception(ConnectionError("lost"))
        else:
            found = pickle.dumps(function(*pickle.loads(pickle.dumps(arguments))))
            if arguments[3].events:
                self.sizes.append(len(found))
            future.set_result(pickle.loads(found))
        return future


def test_lost_tasks_are_handed_out_again_and_only_counts_travel(expected: str) -> None:
    executor = Distant(lost=2)
    assert evidence(executor=executor) == expected
    large = Distant()
    audit(laplace, inputs=(0, 1), epsilon=1, samples=2_000_000, seed=5, executor=large, outputs="reals")
    assert max(large.sizes[-50:]) < 20_000


def test_a_task_that_is_always_lost_ends_the_audit() -> None:
    with pytest.raises(MechanismError, match=r"died 3 times \(ConnectionError: lost\)"):
        evidence(executor=Distant(lost=10**9))


def test_large_inputs_travel_to_workers_that_ask_for_them() -> None:
    def total(data: Any, rng: np.random.Generator, size: int) -> Any:
        return np.round(data.sum()) + rng.geometric(0.6, size) - rng.geometric(0.6, size)

    inputs = np.zeros(10_000), np.eye(1, 10_000)
    executor = Distant()
    assert evidence(total, inputs=inputs, executor=executor) == evidence(total, inputs=inputs)
    assert 1 <= sum(payload is not None for payload in executor.payloads) <= crowd.IN_FLIGHT * (os.cpu_count() or 1)


def test_a_pool_that_breaks_between_two_tasks_is_replaced(expected: str) -> None:
    class Broken(Executor):
        def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
            raise BrokenExecutor("gone")

    assert evidence(executor=Broken(), samples=8_000) == expected


def test_a_mechanism_that_cannot_be_sent_is_refused_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stubborn:
        def __reduce__(self) -> Any:
            raise TypeError("not me")

        def __call__(self, data: Any, rng: np.random.Generator, size: int) -> Any:
            raise AssertionError("drawn")

    with pytest.raises(
        InputError, match=r"executor: .*Stubborn or its inputs cannot be pickled for a worker \(TypeError: not me\)"
    ):
        evidence(Stubborn(), executor=Distant())
    monkeypatch.setitem(__import__("sys").modules, "cloudpickle", None)
    with pytest.raises(InputError, match="the package cloudpickle sends lambdas"):
        evidence(lambda data, rng, size: rng.random(size), executor=Distant())


def test_a_worker_says_why_it_cannot_have_the_mechanism() -> None:
    request = Request(side=0, block=0, size=1)
    answers, failure = worker.work("a run", b"nothing", (request,), Question(), 0) or ([], None)
    assert not answers
    assert failure is not None
    assert "A worker cannot rebuild the mechanism" in failure
    assert worker.work("a run", None, (request,), Question(), 0) is None


def test_a_worker_forgets_the_oldest_of_many_audits() -> None:
    job = Job(mechanism=laplace, form=form_of(laplace), inputs=(0, 1), seed=0, timeout=60, first=1)
    request = Request(side=0, block=0, size=3)
    for number in range(worker.MOST_KNOWN + 1):
        worker.adopt(f"run {number}", job)
        if number == 0:
            assert worker.work("run 0", None, (request,), Question(keep=True), 0) is not None
    assert worker.work("run 0", None, (request,), Question(), 0) is None
    for number in range(1, worker.MOST_KNOWN + 1):
        worker.forget(f"run {number}")


def test_how_many_tasks_are_handed_out_ahead_follows_the_executor() -> None:
    class Client:
        def nthreads(self) -> dict[str, int]:
            return {"one": 2, "other": 1}

    executor = Distant()
    assert crowd._workers_of(executor) == os.cpu_count()
    executor._client = Client()  # type: ignore[attr-defined]
    assert crowd._workers_of(executor) == 3


def test_where_nothing_forks_the_mechanism_is_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd.multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    with pytest.raises(InputError, match="cannot be pickled"):
        evidence(_Never(), workers=1)


class _Never:
    def __reduce__(self) -> Any:
        raise TypeError("never")

    def __call__(self, data: Any, rng: np.random.Generator, size: int) -> Any:
        return rng.random(size)


def test_a_daemonic_process_may_have_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(crowd.multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="this is a daemonic process"):
        evidence(workers=1)
