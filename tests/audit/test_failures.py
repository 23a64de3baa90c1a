"""A mechanism that fails in any way ends the audit with a message that says how, and with what had been measured."""

from __future__ import annotations

import ctypes
import faulthandler
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify.audit.api import audit
from dpverify.audit.callables import form_of
from dpverify.audit.calls import Calls, Request
from dpverify.audit.child import ChildCalls, _serve
from dpverify.audit.evidence import recheck
from dpverify.errors import InputError, MechanismError
from dpverify.guarantees import Verdict

FEW: dict[str, Any] = {"inputs": (0, 1), "epsilon": 1, "samples": 400}


class After:
    """A good mechanism for a number of calls, then whatever `then` does."""

    def __init__(self, calls: int, then: Any) -> None:
        self.left = calls
        self.then = then

    def __call__(self, data: Any, rng: np.random.Generator, size: int) -> Any:
        self.left -= 1
        if self.left < 0:
            return self.then(data, size)
        return data + rng.geometric(0.5, size) - rng.geometric(0.5, size)


def raises(data: Any, size: int) -> None:
    raise ZeroDivisionError("no records")


def exits(data: Any, size: int) -> None:
    sys.exit(3)


def leaves(data: Any, size: int) -> None:
    os._exit(0)


def nests(data: Any, size: int) -> Any:
    nest: list[Any] = []
    nest.append(nest)
    return [nest] * size


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even a message")


def speechless(data: Any, size: int) -> None:
    raise Unspeakable


def fails_lazily(data: Any, size: int) -> Any:
    yield 1.0
    raise KeyError("later")


@pytest.mark.parametrize(
    ("then", "said"),
    [
        (
            raises,
            r"After, call 4 \(on inputs\[[01]\], size=\d+\) raised ZeroDivisionError: no records at .*test_failures.py, line",
        ),
        (exits, "raised SystemExit: 3"),
        (leaves, r"raised SystemExit: os._exit\(0\) would end the whole process.* at .*test_failures.py, line"),
        (nests, "call 4 .* returned something that is nested too deeply"),
        (speechless, "raised Unspeakable: <Unspeakable that cannot be shown> at"),
        (fails_lazily, "raised KeyError: 'later'"),
        (lambda data, size: np.zeros(size + 1), r"call 4 .* returned \d+ outputs, and size = \d+ were asked for"),
        (lambda data, size: 1.0, r"call 4 .* returned one float, and \d+ outputs were asked for"),
        (lambda data, size: None, r"call 4 .* returned None"),
    ],
)
def test_how_a_batched_mechanism_failed_is_said(then: Any, said: str) -> None:
    with pytest.raises(MechanismError, match=said) as caught:
        audit(After(3, then), **FEW)
    assert caught.value.exit_code == 2
    assert caught.value.partial.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("form", ["f(data, rng)", "f(data)"])
def test_a_mechanism_that_fails_one_output_at_a_time(form: str) -> None:
    calls = 0

    def output(data: int) -> int:
        nonlocal calls
        calls += 1
        if calls == 30:
            raise RuntimeError("enough")
        return data

    mechanism = (lambda data, rng: output(data)) if form == "f(data, rng)" else output
    with pytest.raises(MechanismError, match=r"call 30 \(on inputs\[[01]\]\) raised RuntimeError: enough"):
        audit(mechanism, **FEW)


def test_what_had_been_counted_is_kept_and_set_aside() -> None:
    """32 + 32 blocks explore; the failure comes while the first look's outputs are being drawn."""
    with pytest.raises(MechanismError) as caught:
        audit(After(80, raises), **FEW)
    partial = caught.value.partial
    tests = partial.evidence["tests"]
    assert tests
    planned = [test for test in tests if "bets" not in test]
    assert all(test["draws"] > 0 and "ended before" in test["set_aside"] for test in planned)
    assert [test["set_aside"] for test in tests if "bets" in test] == [None]  # these may be looked at whenever
    assert partial.samples > 100
    assert "no records" in partial.evidence["undecided"]
    assert "no records" in partial.notes[-1]
    assert recheck(json.loads(json.dumps(partial.evidence))).verdict is Verdict.UNDECIDED


def test_a_refutation_survives_a_later_failure() -> None:
    """Low-order bits refute in the first look; the mechanism fails in the second, which was for the reals."""

    class Leaks:
        calls = 0

        def __call__(self, data: float, rng: np.random.Generator, size: int) -> Any:
            self.calls += 1
            if self.calls > 170 and size > 1:
                raise RuntimeError("late")
            return data + rng.laplace(size=size)

    with pytest.raises(MechanismError) as caught:
        audit(Leaks(), inputs=(0.0, 1.0), epsilon=1, samples=4_000, alpha=1e-7)
    assert caught.value.partial.verdict is Verdict.REFUTED
    assert recheck(caught.value.partial.evidence).verdict is Verdict.REFUTED


def test_an_interrupt_keeps_what_was_measured() -> None:
    def interrupt(data: Any, size: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        audit(After(80, interrupt), **FEW)
    partial = caught.value.partial  # type: ignore[attr-defined]
    assert partial.evidence["tests"]
    assert partial.notes == ("The audit was interrupted.",)


def sorts_in_place(data: list[int], rng: np.random.Generator, size: int) -> Any:
    data.sort()
    return rng.normal(size=size)


def keeps_a_log(data: dict[str, Any], rng: np.random.Generator) -> float:
    data["calls"] += 1
    return rng.normal()


@pytest.mark.parametrize(
    ("mechanism", "inputs"),
    [(sorts_in_place, ([1, 2], [2, 1])), (keeps_a_log, ({"calls": 0}, {"calls": 0}))],
)
def test_a_changed_input_is_reported(mechanism: Any, inputs: Any) -> None:
    with pytest.raises(MechanismError, match=r"changed its input: inputs\[[01]\] is no longer what it was"):
        audit(mechanism, inputs=inputs, epsilon=1, samples=400)


def test_global_generators_are_seeded_and_put_back() -> None:
    def mechanism(data: int) -> float:
        return data + np.random.laplace() + random.random()

    def draw(block: int) -> list[float]:
        calls = Calls(mechanism, form_of(mechanism), (0, 1), 3)
        return calls.outputs(Request(side=0, block=block, size=5)).column(()).values.tolist()

    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
    assert draw(0) == draw(0) != draw(1)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # type: ignore[index]


def sound(data: int, rng: np.random.Generator, size: int) -> Any:
    return data + rng.geometric(0.5, size) - rng.geometric(0.5, size)


# --- outputs that are not what they seem -----------------------------------------------------------------------------


def drawn_apart(mechanism: Any, size: int = 20) -> Any:
    return Calls(mechanism, form_of(mechanism), (0, 1), 0).outputs(Request(side=0, block=0, size=size, apart=True))


MEMORY: Any = {"array": np.zeros(1), "list": [0.0], "nested": {"a": [0.0]}}


def fills_an_array(data: int, rng: np.random.Generator) -> Any:
    MEMORY["array"][0] = rng.random()
    return MEMORY["array"]


def fills_a_list(data: int, rng: np.random.Generator) -> Any:
    MEMORY["list"][0] = rng.random()
    return MEMORY["list"]


def fills_what_is_inside(data: int, rng: np.random.Generator) -> Any:
    MEMORY["nested"]["a"][0] = rng.random()
    return MEMORY["nested"], (MEMORY["nested"]["a"],)


def fills_a_batch(data: int, rng: np.random.Generator, size: int) -> Any:
    MEMORY["array"][:] = rng.random()
    return MEMORY["array"][:size]


@pytest.mark.parametrize("mechanism", [fills_an_array, fills_a_list, fills_what_is_inside, fills_a_batch])
def test_a_mechanism_may_return_the_same_memory_every_time(mechanism: Any) -> None:
    assert len(set(drawn_apart(mechanism).whole().tolist())) == 20


class OnlyAnArray:
    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values


@pytest.mark.parametrize("wrap", [iter, OnlyAnArray, lambda values: (value for value in values), lambda values: {*values}])
def test_what_is_a_batch_is_one_where_each_output_has_a_call_of_its_own(wrap: Any) -> None:
    def mechanism(data: int, rng: np.random.Generator, size: int) -> Any:
        return wrap(rng.random(size))

    assert np.array_equal(*(drawn_apart(one).numbers() for one in (mechanism, lambda data, rng, size: rng.random(size))))


def test_a_promise_of_an_output_is_none() -> None:
    async def later() -> int:
        return 1

    def generates(data: int) -> Any:
        yield data

    for mechanism, kind in ((generates, "generator"), (lambda data: later(), "coroutine")):
        with pytest.raises(MechanismError, match=f"returned a {kind}, which has not run yet"):
            audit(mechanism, **FEW)


def test_objects_that_show_nothing_of_their_content_are_remarked_upon() -> None:
    result = audit(lambda data, rng, size: [object() for _ in range(size)], **FEW)
    assert any("objects of type builtins.object, of which nothing but the type" in note for note in result.notes)


class NoException(BaseException):
    """Like asyncio.CancelledError, or the outcomes of a test framework."""


@pytest.mark.parametrize("error", [NoException("off"), GeneratorExit("off")])
@pytest.mark.parametrize("timeout", [None, 30])
def test_what_is_raised_need_not_be_an_exception(error: BaseException, timeout: float | None) -> None:
    def then(data: Any, size: int) -> None:
        raise error

    with pytest.raises(MechanismError, match=f"raised {type(error).__name__}: off") as caught:
        audit(After(9, then), **FEW, timeout=timeout)
    assert caught.value.partial.samples > 0


def test_in_a_child_an_interrupt_is_the_mechanisms_own() -> None:
    def then(data: Any, size: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(MechanismError, match="raised KeyboardInterrupt"):
        audit(After(3, then), **FEW, timeout=30)


def test_progress_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(InputError, match="progress = 3: a callable"):
        audit(sound, **FEW, progress=3)  # type: ignore[arg-type]


# --- the child process ------------------------------------------------------------------------------------------------


def test_the_child_answers_until_the_other_end_is_closed() -> None:
    """The child's loop, run here: a heartbeat while calls are slow, a table, a failure, and the end."""

    def slow(data: int) -> int:
        time.sleep(0.002)
        if data:
            raise ValueError("no")
        return data

    ours, theirs = multiprocessing.Pipe()
    heard: list[Any] = []

    def parent() -> None:
        heard.append(ours.recv())
        for side in (0, 1):
            ours.send(Request(side=side, block=side, size=30))
            heard.append(ours.recv())
            while heard[-1][0] == "alive":
                heard.append(ours.recv())
        ours.close()

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=parent)
    thread.start()
    try:
        _serve(theirs, None, slow, form_of(slow), (0, 1), 0, 0.05)
    finally:
        signal.signal(signal.SIGINT, before)
        thread.join()
    words = [word for word, _ in heard]
    assert words[0] == "ready"
    assert "alive" in words
    assert words[-1] == "failed"
    assert next(content for word, content in heard if word == "table").size == 30


def test_a_child_process_draws_the_same_outputs() -> None:
    alone = audit(sound, **FEW)
    watched = audit(sound, timeout=30, **FEW)
    assert json.dumps(alone.evidence) == json.dumps(watched.evidence)


def hangs(data: Any, size: int) -> Any:
    time.sleep(600)


def dies(data: Any, size: int) -> Any:
    ctypes.CDLL(None)._exit(7)  # os._exit does not end a process here


def crashes(data: Any, size: int) -> Any:
    faulthandler.disable()
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(600)


@pytest.mark.parametrize(
    ("then", "said"),
    [
        (hangs, r"After \(on inputs\[[01]\], block \d+\) did not return within timeout = 0.5 seconds"),
        (dies, r"the process that ran it died \(exit code 7\)"),
        (crashes, r"the process that ran it died \(signal SIGSEGV\)"),
        (raises, "call 78 .* raised ZeroDivisionError"),
    ],
)
def test_a_child_that_hangs_or_dies_is_reported_and_what_was_measured_is_kept(then: Any, said: str) -> None:
    with pytest.raises(MechanismError, match=said) as caught:
        audit(After(77, then), timeout=0.5, **FEW)
    assert caught.value.partial.evidence["tests"]
    assert not multiprocessing.active_children()


def test_many_short_calls_may_take_longer_than_the_timeout() -> None:
    """The limit is for one call, and 1.2 seconds are spent on many."""

    def slow(data: int) -> int:
        time.sleep(0.006)
        return data

    assert audit(slow, inputs=(0, 0), epsilon=1, samples=100, timeout=0.1).verdict is Verdict.NOT_REFUTED


@pytest.fixture
def importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module that a spawned child can import."""
    (tmp_path / "mechanism_to_spawn.py").write_text(
        "import os\n\ndef release(data, rng, size):\n    return data + rng.geometric(0.5, size)\n\n"
        "def dies(data, rng, size):\n    os.kill(os.getpid(), 9)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import mechanism_to_spawn  # type: ignore[import-not-found]

    yield mechanism_to_spawn
    del sys.modules["mechanism_to_spawn"]


def test_where_there_is_no_fork_a_child_is_spawned(importable: Any) -> None:
    child = ChildCalls(importable.release, form_of(importable.release), (0, 1), 0, timeout=30, method="spawn")
    try:
        request = Request(side=1, block=4, size=10)
        here = Calls(importable.release, form_of(importable.release), (0, 1), 0).outputs(request)
        assert child.outputs(request).column(()).values.tolist() == here.column(()).values.tolist()
    finally:
        child.close()


def test_a_dead_child_says_so_again(importable: Any) -> None:
    child = ChildCalls(importable.dies, form_of(importable.dies), (0, 1), 0, timeout=30)
    try:
        for _ in range(2):
            with pytest.raises(MechanismError, match="died"):
                child.outputs(Request(side=0, block=0, size=1))
    finally:
        child.close()


def test_where_a_mechanism_cannot_be_sent_to_a_child_it_is_said() -> None:
    def local(data: int) -> int:
        return data

    with pytest.raises(InputError, match=r"timeout = 1.*starts one by pickling, and local.*pass timeout=None"):
        ChildCalls(local, form_of(local), (0, 1), 0, timeout=1, method="spawn")


def test_a_daemonic_process_may_have_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="this is a daemonic process"):
        audit(sound, timeout=1, **FEW)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="SKIPPED: this system does not fork")
def test_a_child_does_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    written = tmp_path / "child"
    program = f"""
import os, pathlib, signal, dpverify as dv
def f(data, rng, size):
    pathlib.Path({str(written)!r}).write_text(str(os.getpid()))
    return rng.random(size)
def progress(drawn, budget):
    os.kill(os.getpid(), signal.SIGKILL)
dv.audit(f, inputs=(0, 1), epsilon=1, timeout=60, progress=progress)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGKILL
    child = int(written.read_text())
    for _ in range(200):
        if not is_running(child):
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    raise AssertionError("the child went on without its parent")


def is_running(process: int) -> bool:
    """Whether a process exists and is no zombie that nobody has collected."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
def test_a_child_that_a_mechanism_forks_does_not_carry_on_the_audit(capfd: pytest.CaptureFixture[str]) -> None:
    """Were it so, everything would be said twice. The mechanism's own children may leave as they like."""
    here = os.getpid()
    children: list[int] = []

    def forks(data: Any, rng: np.random.Generator, size: int) -> Any:
        if len(children) < 2 and (child := os.fork()):
            children.append(child)
        elif os.getpid() != here and children:
            os._exit(7)
        return data + rng.geometric(0.5, size) - rng.geometric(0.5, size)

    result = audit(forks, inputs=(0, 1), epsilon=1, samples=400)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]

    assert result.verdict is Verdict.NOT_REFUTED
    assert codes == [1, 7]  # the first came back from the mechanism, the second left in it
