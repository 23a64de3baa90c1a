"""Checkpoints: an audit that was killed goes on where it was, to the same evidence, and never as another audit."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify.audit.api import audit
from dpverify.audit.journal import MAGIC, Journal
from dpverify.errors import InputError, MechanismError
from dpverify.guarantees import Verdict

CALLS = 0


def count(data: Any, rng: np.random.Generator, size: int) -> Any:
    global CALLS
    CALLS += 1
    return data + rng.geometric(0.6, size) - rng.geometric(0.6, size)


REQUEST: dict[str, Any] = {"inputs": (0, 1), "epsilon": 1, "samples": 4_000, "seed": 2}


def evidence(mechanism: Any = count, **options: Any) -> str:
    return json.dumps(audit(mechanism, **{**REQUEST, **options}).evidence)


def test_a_finished_audit_is_repeated_from_its_checkpoint_without_a_call(tmp_path: Path) -> None:
    expected = evidence()
    assert evidence(checkpoint=tmp_path / "file") == expected
    before = CALLS
    assert evidence(checkpoint=tmp_path / "file") == expected
    assert before == CALLS


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, 5, 0.1, 0.4, 0.7, 0.99])
def test_an_audit_goes_on_wherever_the_file_was_cut(tmp_path: Path, part: float) -> None:
    """Whole frames are kept, what is left of the last one is dropped."""
    file = tmp_path / "file"
    expected = evidence(checkpoint=file)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(part if part > 1 else part * len(whole))])
    before = CALLS
    assert evidence(checkpoint=file) == expected
    assert file.read_bytes()[: len(MAGIC)] == MAGIC
    if part > 0.5 and part < 1:
        assert CALLS - before < 100


def test_outputs_of_every_kind_come_back_from_the_file(tmp_path: Path) -> None:
    def motley(data: Any, rng: np.random.Generator) -> Any:
        which = int(rng.integers(6)) + data
        return [None, float("nan"), 2**70 + which, {"a": [1.5, "x"]}, "text", (1, 2), b"\xff\x00"][which]

    file = tmp_path / "file"
    expected = evidence(motley, checkpoint=file)
    assert evidence(motley, checkpoint=file) == expected == evidence(motley)


def test_nothing_measured_is_lost_after_kill_9(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import json, os, signal, sys
        from dpverify.audit.api import audit

        calls = 0

        def count(data, rng, size):
            global calls
            calls += 1
            if calls == int(sys.argv[2]):
                os.kill(os.getpid(), signal.SIGKILL)
            return data + rng.geometric(0.6, size) - rng.geometric(0.6, size)

        result = audit(count, inputs=(0, 1), epsilon=1, samples=4_000, seed=2, checkpoint=sys.argv[1] or None)
        print(calls)
        print(json.dumps(result.evidence))
        """)
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def run(checkpoint: str, fatal: int) -> Any:
        command = [sys.executable, str(script), checkpoint, str(fatal)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    calls, expected = run("", 0).stdout.splitlines()
    file = str(tmp_path / "file")
    assert run(file, 100).returncode == -signal.SIGKILL
    again, found = run(file, 0).stdout.splitlines()
    assert found == expected
    assert int(again) == int(calls) - 99 + 2  # two first calls of the new process


@pytest.mark.parametrize("workers", [1, 2])
def test_the_workers_of_an_audit_that_was_killed_leave_its_checkpoint(tmp_path: Path, workers: int) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import os, sys, time
        from dpverify.audit.api import audit

        def slow(data, rng, size):
            time.sleep(0.005)
            os.write(1, b"called\\n")
            return data + rng.geometric(0.6, size) - rng.geometric(0.6, size)

        audit(slow, inputs=(0, 1), epsilon=1, samples=4_000, seed=2, checkpoint=sys.argv[1], workers=int(sys.argv[2]))
        """)
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(script), str(tmp_path / "file"), str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for _ in range(60):
            assert process.stdout.readline() == "called\n"
        process.kill()
        process.communicate(timeout=30)  # which ends when the last process that may write has ended
    subprocess.run([*command[:-1], "1"], check=True, capture_output=True, env=environment)


def test_a_mechanism_that_failed_may_be_corrected_and_the_audit_goes_on(tmp_path: Path) -> None:
    broken = True

    def shaky(data: Any, rng: np.random.Generator, size: int) -> Any:
        found = data + rng.geometric(0.6, size) - rng.geometric(0.6, size)
        if broken and found[0] > 2:
            raise OSError("disk full")
        return found

    with pytest.raises(MechanismError, match="disk full"):
        evidence(shaky, checkpoint=tmp_path / "file")
    broken = False
    assert evidence(shaky, checkpoint=tmp_path / "file") == evidence(shaky)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"epsilon": 2}, "claim = {'epsilon': '1', 'delta': '0'} and not {'epsilon': '2'"),
        ({"alpha": 0.01}, "alpha = 0.00"),
        ({"samples": 4_001}, "samples = 4000 and not 4001"),
        ({"seed": 3}, "seed = 2 and not 3"),
        ({"outputs": "reals"}, "outputs = 'bits' and not 'reals'"),
        ({"inputs": (0, 2)}, r"inputs\[1\] = '1 "),
    ],
)
def test_another_request_is_no_continuation(tmp_path: Path, options: dict[str, Any], key: str) -> None:
    evidence(checkpoint=tmp_path / "file")
    with pytest.raises(InputError, match=f"it belongs to another audit, with {key}"):
        evidence(checkpoint=tmp_path / "file", **options)


def test_long_inputs_are_compared_to_the_last_number(tmp_path: Path) -> None:
    first, second = np.zeros(5_000), np.zeros(5_000)
    second[2_500] = 1

    def total(data: Any, rng: np.random.Generator, size: int) -> Any:
        return data.sum() + rng.geometric(0.6, size)

    for inputs in ((first, second), ([first, {1, 2}], [second, {1, 2}])):
        file = tmp_path / f"file {type(inputs[0]).__name__}"
        mechanism = total if isinstance(inputs[0], np.ndarray) else lambda data, rng, size: total(data[0], rng, size)
        evidence(mechanism, inputs=inputs, checkpoint=file)
        with pytest.raises(InputError, match=r"inputs\[0\] = "):
            evidence(mechanism, inputs=(inputs[1], inputs[0]), checkpoint=file)


def test_a_file_that_is_no_checkpoint_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("a letter to a friend, and by no means a checkpoint")
    with pytest.raises(InputError, match="this file exists and is no checkpoint"):
        evidence(checkpoint=file)
    assert file.read_text().startswith("a letter")
    with pytest.raises(InputError, match=r"cannot be written \(No such file or directory\)"):
        evidence(checkpoint=tmp_path / "nowhere" / "file")


def test_two_audits_do_not_share_a_file(tmp_path: Path) -> None:
    file = tmp_path / "file"

    def nosy(data: Any, rng: np.random.Generator, size: int) -> Any:
        evidence(checkpoint=file)
        return rng.random(size)

    with pytest.raises(MechanismError, match="another audit writes to this file"):
        evidence(nosy, checkpoint=file)


@pytest.mark.parametrize("place", ["request", "asked", "hits", "sense"])
def test_frames_that_do_not_fit_are_noticed(tmp_path: Path, place: str) -> None:
    import struct
    import zlib

    file = tmp_path / "file"
    evidence(checkpoint=file)
    content, frames = file.read_bytes()[len(MAGIC) :], []
    while content:
        length, _ = struct.unpack("<QI", content[:12])
        frames.append(content[12 : 12 + length])
        content = content[12 + length :]
    head, _, rest = frames[3].partition(b"\n")
    edited = json.loads(head)
    edited[place] = {"request": [0, 0, 1, False], "asked": "else", "hits": None, "sense": None}[place]
    frames[3] = (b"no sense" if place == "sense" else json.dumps(edited).encode()) + b"\n" + rest
    file.write_bytes(MAGIC + b"".join(struct.pack("<QI", len(one), zlib.crc32(one)) + one for one in frames))
    said = "this audit is another one there" if place in ("request", "asked") else "a part of this file cannot be read"
    with pytest.raises(InputError, match=said):
        evidence(checkpoint=file)


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    class Full(io.BytesIO):
        def write(self, content: Any) -> int:
            raise OSError(28, "No space left on device")

    journal = Journal(tmp_path / "file", {})
    journal.close()
    journal._file = Full()
    with pytest.raises(InputError, match=r"writing failed \(No space left on device\)"):
        journal.write({})


class Own:
    """Noise from a generator that the mechanism carries along: a new process begins it again."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(3)

    def __call__(self, data: Any, rng: np.random.Generator, size: int) -> Any:
        return data + self.rng.geometric(0.6, size) - self.rng.geometric(0.6, size)


def test_an_audit_that_would_repeat_itself_is_not_resumed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert audit(Own(), **REQUEST, checkpoint=file).verdict is Verdict.NOT_REFUTED
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    result = audit(Own(), **REQUEST, checkpoint=file)
    assert result.verdict is Verdict.UNDECIDED
    assert "an audit that is resumed" in result.notes[-1]


def test_workers_and_checkpoints_go_together(tmp_path: Path) -> None:
    file = tmp_path / "file"
    expected = evidence(checkpoint=file, workers=2)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert evidence(checkpoint=file, workers=1) == expected == evidence()
