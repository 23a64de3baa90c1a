"""What many tests need. Tests of one module stand in the file that is named after it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from dpverify.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent

# The same examples in every run, whatever the machine's speed: a red run is a fault and never bad luck.
settings.register_profile("dpverify", max_examples=20, derandomize=True, deadline=None, print_blob=True)
settings.load_profile("dpverify")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a command did."""

    code: int
    output: str
    errors: str


@pytest.fixture
def root() -> Path:
    """The directory that holds pyproject.toml."""
    return ROOT


@pytest.fixture
def dpverify(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run a command of the command line in this process: `dpverify("bound", "laplace", ...)`."""

    def run(*words: str) -> Outcome:
        capsys.readouterr()
        code = main(words)
        captured = capsys.readouterr()
        return Outcome(code=code, output=captured.out, errors=captured.err)

    return run
