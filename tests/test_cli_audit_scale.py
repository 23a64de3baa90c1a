"""The options of `dpverify audit` that are about effort on a large scale: plan, workers, scheduler, checkpoint."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dpverify.cli import main
from dpverify.cli.exit_codes import NOTHING_REFUTED, UNUSABLE

MECHANISM = """
def count(data, rng, size):
    return data + rng.geometric(0.7, size) - rng.geometric(0.7, size)
"""


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    file = tmp_path / f"counted_{tmp_path.name}.py"
    file.write_text(MECHANISM)
    return ["audit", f"{file}:count", "--epsilon", "1.3", "--inputs", "0", "1", "--samples", "3000", "--output-format", "json"]


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(words)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_workers_and_a_checkpoint_change_nothing(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found: list[Any] = []
    for more in ([], ["--workers", "2"], ["--checkpoint", str(tmp_path / "file")], ["--checkpoint", str(tmp_path / "file")]):
        code, out, _ = run([*words, *more], capsys)
        assert code == NOTHING_REFUTED
        found.append(json.loads(out)["evidence"])
    assert found[0] == found[1] == found[2] == found[3]


def test_a_plan_needs_neither_mechanism_nor_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(["audit", "--plan", "--epsilon", "1", "--resolution", "0.5"], capsys)
    assert code == NOTHING_REFUTED
    assert "Outputs a side that show an epsilon of 1.5 against epsilon = 1, delta = 0" in out
    assert "Nothing was drawn." in out
    code, out, _ = run(["audit", "--plan", "--epsilon", "1", "--samples", "1e4", "--output-format", "json"], capsys)
    rows = json.loads(out)["rows"]
    assert code == NOTHING_REFUTED
    assert [row["samples"] for row in rows] == [10_000] * 4
    assert rows[0]["detectable_epsilon"] < rows[1]["detectable_epsilon"]
    assert rows[3]["detectable_epsilon"] is None or rows[3]["detectable_epsilon"] > rows[2]["detectable_epsilon"]
    code, out, _ = run(["audit", "--plan", "--epsilon", "1", "--delta", "0.2", "--resolution", "1"], capsys)
    assert "more than 10^12" in out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--resolution", "1"], "--resolution says what --plan is to find"),
        (["--workers", "-1"], "workers = -1"),
        (["--workers", "2", "--scheduler", "x"], "not allowed with"),
        (["--plan", "--resolution", "0"], "resolution = 0"),
        (["--checkpoint", "/nowhere/at/all"], "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_said(words: list[str], more: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = run([*words, *more], capsys)
    assert code == UNUSABLE
    assert said in error


def test_without_dask_the_install_line_is_printed(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, error = run([*words, "--scheduler", "tcp://127.0.0.1:1"], capsys)
    assert code == UNUSABLE
    assert "pip install 'dpverify[dask]'" in error
