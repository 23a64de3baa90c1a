"""From nothing to a red gate: the wheel is built and unpacked, and a new project with three lines of its own uses it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

LIBRARY = """
import numpy as np

def broken_count(data, rng, size):
    return np.rint(data + rng.laplace(0, 0.5, size))

def sound_count(data, rng, size):
    return np.rint(data + rng.laplace(0, 1, size))
"""
THREE_LINES = """\
import dpverify as dv
from counts import broken_count, sound_count
broken, sound = map(dv.claim(epsilon=1, inputs=(10, 11)), (broken_count, sound_count))
"""
CONFIGURATION = """
[tool.dpverify]
claims = [
  { target = "counts:broken_count", inputs = [10, 11], epsilon = 1 },
  { target = "counts:sound_count", inputs = [10, 11], epsilon = 1 },
  { mechanism = "laplace", scale = 1, epsilon = 1 },
]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A directory with what the wheel installs, and nothing of this one."""
    pytest.importorskip("hatchling", reason="SKIPPED: hatchling is not installed: pip install hatchling")
    place = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", place, request.config.rootpath], check=True)
    (wheel,) = place.glob("dpverify-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", place / "site", wheel], check=True)
    return place / "site"


@pytest.fixture
def project(tmp_path: Path, site: Path):
    """Run a command in a new project that sees the wheel first."""
    (tmp_path / "counts.py").write_text(LIBRARY)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{tmp_path}", "CI": "true"}
        environment.pop("PYTEST_ADDOPTS", None)
        return subprocess.run(
            [sys.executable, "-m", *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    return run


def test_three_lines_make_a_red_gate_that_explains_itself(project, tmp_path: Path) -> None:
    (tmp_path / "test_counts.py").write_text(THREE_LINES)
    done = project("pytest", "-p", "no:cacheprovider")
    assert done.returncode == 1, done.stdout + done.stderr
    for part in (
        "1 failed, 1 passed",
        "refuted: broken_count does not satisfy epsilon = 1, delta = 0.",
        "witness   output ",
        "cause     probably: scale or sensitivity; the noise is too small for how far the answer moves",
        "fix       Multiply the scale by ",
        "recheck   dpverify recheck .dpverify/evidence/broken_count-",
        "not refuted  sound_count: epsilon = 1, delta = 0; ",
    ):
        assert part in done.stdout, done.stdout
    (evidence,) = (tmp_path / ".dpverify" / "evidence").glob("*.json")
    again = project("dpverify", "recheck", str(evidence))
    assert (again.returncode, again.stdout.startswith("refuted: broken_count")) == (1, True)


def test_the_wheel_is_what_was_tested(project, site: Path, tmp_path: Path) -> None:
    (tmp_path / "where.py").write_text("import dpverify; print(dpverify.__file__)")
    assert project("where").stdout.startswith(str(site))


def test_the_same_from_a_file(project, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(CONFIGURATION)
    done = project("dpverify", "gate", "--output-format", "github")
    assert done.returncode == 1, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("::error file=pyproject.toml,line=3,title=DP001 statistical violation%3A counts%3Abroken_count")
    assert lines[1].startswith("not refuted counts:sound_count")
    assert lines[2].startswith("proved laplace (scale = 1)")
