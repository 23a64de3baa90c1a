"""Triangulation: certified numbers of a told law beside what samples say, and the optimal event tested."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpverify
from dpverify.cli import main
from dpverify.cli.exit_codes import REFUTED, UNUSABLE
from dpverify.errors import InputError
from dpverify.guarantees import Verdict
from dpverify.verdict import triangulate

SIGMA = 0.4343612303898771
"""sqrt(2 log(1.25 / delta)) / epsilon at (10, 1e-4): a calibration that is too small there."""


def rounded(values: Any) -> Any:
    return np.round(values * 65536) / 65536


def gaussian(data: Any, rng: np.random.Generator, size: int) -> Any:
    return rounded(np.sum(data) + rng.normal(0, SIGMA, size))


def laplace(data: Any, rng: np.random.Generator, size: int) -> Any:
    return rounded(data + rng.laplace(size=size))


FAR: dict[str, Any] = {"inputs": (np.ones(4), np.ones(3)), "answers": (4, 3), "epsilon": 10, "delta": "1e-4", "samples": 2_000}


def test_what_no_sample_reaches_is_refuted_by_the_law_that_is_told() -> None:
    result = triangulate(gaussian, told=dpverify.Gaussian(sigma=SIGMA, sensitivity=1), **FAR)
    assert result.audit.verdict is Verdict.NOT_REFUTED
    assert result.verdict is Verdict.REFUTED
    assert result.law_violates
    assert result.agrees
    assert result.certified_delta is not None
    assert 2.7428e-4 < result.certified_delta.lower < result.certified_delta.upper < 2.7429e-4
    text = str(result)
    assert text.startswith("refuted")
    assert "delta = 0.00027428" in text
    assert "measured   not refuted" in text
    assert len(result.events) == 2


def test_a_law_that_the_outputs_do_not_follow_refutes_nothing() -> None:
    result = triangulate(gaussian, told=dpverify.Gaussian(sigma=SIGMA / 1.15, sensitivity=1), **FAR)
    assert result.law_violates
    assert not result.agrees
    assert result.verdict is Verdict.NOT_REFUTED
    assert "do not follow that law" in str(result)


def test_a_sound_law_and_sound_outputs_agree() -> None:
    result = triangulate(laplace, told=dpverify.Laplace(scale=1), inputs=(0, 1), epsilon=1, samples=5_000)
    assert (result.law_violates, result.agrees, result.verdict) == (False, True, Verdict.NOT_REFUTED)


def test_an_epsilon_that_does_not_exist_is_left_out() -> None:
    result = triangulate(laplace, told=dpverify.Gaussian(sigma=1), inputs=(0, 1), epsilon=5, samples=1_000)
    assert result.certified_epsilon is None
    assert "nats" not in str(result)


def test_densities_give_the_optimal_event_and_samples_refute_with_it() -> None:
    densities = (lambda x: -np.abs(x), lambda x: -np.abs(x - 1))
    result = triangulate(laplace, densities=densities, inputs=(0, 1), epsilon="0.8", samples=60_000)
    assert result.verdict is result.audit.verdict is Verdict.REFUTED
    assert result.told is None
    assert result.events[0].endswith("likelier on inputs[0]")
    cut = result.audit.evidence["tests"][0]["event"]["high"]
    assert abs(cut - 0.1) < 1e-9  # the loss 1 - 2x is 0.8 there
    assert sum(test["alpha"] for test in result.audit.evidence["tests"]) <= 1e-3


@pytest.mark.parametrize(
    ("logs", "events"),
    [
        ((lambda x: -x * x / 2, lambda x: -x * x / 8), [" or > "]),
        ((lambda x: np.where(np.abs(x) < 1, 0.0, -9.0), lambda x: np.where(np.abs(x - 3) < 1, 0.0, -9.0)), ["<", "<"]),
        ((lambda x: -x * x, lambda x: -x * x), []),
    ],
)
def test_optimal_events_are_intervals_rays_or_what_lies_outside(logs: Any, events: list[str]) -> None:
    result = triangulate(laplace, densities=logs, inputs=(0, 1), epsilon="1.1", samples=400)
    assert len(result.events) == len(events)
    for event, sign in zip(result.events, events, strict=True):
        assert sign in event


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "exactly one of them"),
        ({"told": dpverify.Laplace(scale=1), "densities": (abs, abs)}, "exactly one of them"),
        ({"told": dpverify.Laplace(scale=1), "inputs": ([0], [1])}, r"answers = \(\[0\], \[1\]\)"),
        ({"told": dpverify.Laplace(scale=1), "inputs": (1, 1)}, "numbers that differ"),
        ({"densities": (lambda x: x[:1], lambda x: x)}, "densities: "),
    ],
)
def test_what_is_not_told_well_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises((InputError, ValueError), match=said):
        triangulate(laplace, **{"inputs": (0, 1), "epsilon": 1, "samples": 200, **options})


def test_outputs_that_are_no_numbers_follow_no_such_law() -> None:
    with pytest.raises(InputError, match="the law of a number is stated"):
        triangulate(lambda data, rng: "text", told=dpverify.Laplace(scale=1), inputs=(0, 1), epsilon=1, samples=200)


def test_a_law_without_a_density_is_certified_and_gives_no_event() -> None:
    class Law:
        def delta(self, epsilon: Any, *, digits: int = 15) -> Any:
            return dpverify.Laplace(scale=1).delta(epsilon)

        epsilon = staticmethod(dpverify.Laplace(scale=1).epsilon)

        def sampler(self) -> Any:
            return laplace

    result = triangulate(laplace, told=Law(), inputs=(0, 1), epsilon=1, samples=400)
    assert result.events == ()
    assert result.agrees


def test_the_command_line_lays_both_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "told_gaussian.py"
    file.write_text(
        f"import numpy as np\ndef noisy(data, rng, size):\n    return np.sum(data) + rng.normal(0, {SIGMA}, size)\n"
    )
    words = ["audit", f"{file}:noisy", "--epsilon", "10", "--delta", "1e-4", "--inputs", "[1, 1]", "[1]", "--samples", "2000"]
    words += ["--outputs", "reals"]
    told = ["--told", f"gaussian sigma={SIGMA}", "--answers", "2", "1"]
    assert main([*words, *told]) == REFUTED
    text = capsys.readouterr().out
    assert "certified  Gaussian" in text
    assert "not refuted: no event that was tested" in text
    assert main([*words, *told, "--output-format", "json"]) == REFUTED
    data = json.loads(capsys.readouterr().out)
    assert (data["verdict"], data["certified"]["audit_verdict"]) == ("refuted", "not refuted")
    assert data["certified"]["delta"].startswith("0.000274280474")
    for wrong, said in (
        (["--answers", "2", "1"], "--answers are what the noise of --told"),
        (["--told", "gaussian"], "write a name and its parameters"),
        (["--told", "gaussian of=2"], "of is not a parameter"),
        (["--told", "nothing sigma=1"], "is not a mechanism"),
    ):
        assert main([*words, *wrong]) == UNUSABLE
        assert said in capsys.readouterr().err
