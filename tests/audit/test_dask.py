"""Audits on a real dask cluster: a scheduler and two workers, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify.audit.api import audit
from dpverify.cli import main
from dpverify.cli.exit_codes import NOTHING_REFUTED, UNUSABLE

distributed = pytest.importorskip("distributed", reason="LOUDLY: dask is not installed: pip install 'dpverify[dask]'")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # dask, tornado and asyncio warn of one another


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler that has two workers, and the processes of these."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}

    def start(*words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]]
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    scheduler = start("dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    workers = [start("dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard") for _ in range(2)]
    try:
        with distributed.Client(address, timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
        yield address, workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


def laplace(data: Any, rng: np.random.Generator, size: int) -> Any:
    return np.round((data + rng.laplace(size=size)) * 65536) / 65536


def slow(data: Any, rng: np.random.Generator, size: int) -> Any:
    time.sleep(0.01)
    return np.round((data + rng.laplace(size=size)) * 65536) / 65536


REQUEST: dict[str, Any] = {"inputs": (0, 1), "epsilon": 1, "samples": 4_000, "seed": 5}


def evidence(mechanism: Any, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(audit(mechanism, **REQUEST, **options).evidence))
    del found["mechanism"]
    return found


def test_two_workers_of_a_scheduler_find_the_same_evidence(cluster: Any) -> None:
    with distributed.Client(cluster[0]) as client:
        assert evidence(laplace, executor=client.get_executor()) == evidence(laplace)
        assert len(client.scheduler_info()["workers"]) == 2


def test_the_command_line_finds_it_too(cluster: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file of the mechanism is not importable where the workers are, and goes by value."""
    file = tmp_path / "mechanism_for_dask.py"
    file.write_text("def count(data, rng, size):\n    return data + rng.geometric(0.7, size) - rng.geometric(0.7, size)\n")
    words = ["audit", f"{file}:count", "--epsilon", "1.3", "--inputs", "0", "1", "--samples", "3000", "--output-format", "json"]
    assert main([*words, "--scheduler", cluster[0]]) == NOTHING_REFUTED
    there = json.loads(capsys.readouterr().out)["evidence"]
    assert main(words) == NOTHING_REFUTED
    assert there == json.loads(capsys.readouterr().out)["evidence"]
    assert main([*words, "--scheduler", "nowhere://127.0.0.1:1"]) == UNUSABLE
    assert "no scheduler answers there" in capsys.readouterr().err


def test_a_worker_that_is_killed_changes_nothing(cluster: Any) -> None:
    address, workers = cluster
    calls = 0

    def progress(drawn: int, budget: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 30:
            os.kill(workers[0].pid, signal.SIGKILL)

    with distributed.Client(address) as client:
        assert evidence(slow, executor=client.get_executor(), progress=progress) == evidence(laplace)
        assert calls > 30
