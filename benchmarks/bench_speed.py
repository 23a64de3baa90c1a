"""What a certified calibration costs, beside the uncertified ones of other libraries. Run by `speed_table.py`.

Needs the dependency group `benchmark` (diffprivlib, dp-accounting). Times of different rows are only ever compared
within one run.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import dpverify as dv

EPSILON, DELTA = 1, 1e-6
EXTREMES = [
    {"epsilon": epsilon, "delta": delta, "sensitivity": sensitivity}
    for epsilon in ("1e-12", "1e-3", "1", "30", "500")
    for delta in ("1e-300", "1e-12", "0.5", "0.999")
    for sensitivity in ("1e-9", "1e9")
]


def test_gaussian_calibration(benchmark: Any) -> None:
    member = benchmark(lambda: dv.Gaussian.calibrate(epsilon=EPSILON, delta=DELTA, sensitivity=1))
    assert member.delta(EPSILON).upper <= DELTA


def test_gaussian_calibration_from_text(benchmark: Any) -> None:
    assert benchmark(lambda: dv.Gaussian.calibrate(epsilon="1", delta="1e-6", sensitivity="1")).sigma > 4.2


def test_gaussian_delta(benchmark: Any) -> None:
    noise = dv.Gaussian(1)
    assert benchmark(lambda: noise.delta(1)).upper < 0.2


def test_gaussian_epsilon(benchmark: Any) -> None:
    noise = dv.Gaussian(1)
    assert benchmark(lambda: noise.epsilon(1e-6)).upper > 4


def test_bounded_gaussian_calibration(benchmark: Any) -> None:
    asked = {"epsilon": EPSILON, "sensitivity": 0.25, "upper": 1}
    assert benchmark(lambda: dv.BoundedGaussian.calibrate(**asked)).epsilon(0).upper <= EPSILON


def test_bounded_gaussian_on_a_ball(benchmark: Any) -> None:
    """Two coordinates, lambda_2 in [0, 10] and a degree in [1, 9], neighbours at a Euclidean distance of sqrt(20)."""
    asked = {"epsilon": EPSILON, "sensitivity": "sqrt(20)", "lower": (0, 1), "upper": (10, 9), "adjacency": "l2"}
    assert benchmark(lambda: dv.BoundedGaussian.calibrate(**asked)).epsilon(0).upper <= EPSILON


@pytest.mark.parametrize("family", ["Laplace", "Logistic"])
def test_closed_form_bound(benchmark: Any, family: str) -> None:
    chosen = getattr(dv, family)
    assert benchmark(lambda: chosen.bound(epsilon=EPSILON, delta=DELTA, sensitivity=1)).upper <= 1


def test_closed_form_bound_of_pure_dp(benchmark: Any) -> None:
    assert benchmark(lambda: dv.Laplace.bound(epsilon=EPSILON, sensitivity=1)) == 1


@pytest.mark.parametrize("asked", EXTREMES, ids=lambda asked: "-".join(asked.values()))
def test_extreme_gaussian(benchmark: Any, asked: dict[str, str]) -> None:
    assert benchmark(lambda: dv.Gaussian.calibrate(**asked)).sigma > 0


def test_diffprivlib_gaussian_analytic(benchmark: Any) -> None:
    mechanisms = pytest.importorskip("diffprivlib.mechanisms")
    benchmark(lambda: mechanisms.GaussianAnalytic(epsilon=EPSILON, delta=DELTA, sensitivity=1))


def test_dp_accounting_sigma(benchmark: Any) -> None:
    accounting = pytest.importorskip("dp_accounting")
    benchmark(lambda: accounting.get_sigma_gaussian(EPSILON, DELTA))


def process(words: list[str]) -> Callable[[], None]:
    return lambda: subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)


PROCESSES = {
    "python": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import dpverify": ["-c", "import dpverify"],
    "dpverify bound": ["-m", "dpverify", "bound", "gaussian", "--epsilon", "1", "--delta", "1e-6"],
}


@pytest.mark.parametrize("name", PROCESSES)
def test_process(benchmark: Any, name: str) -> None:
    benchmark.pedantic(process(PROCESSES[name]), rounds=25, warmup_rounds=2)


def test_random_requests_are_no_slower_than_forty_calibrations(benchmark: Any) -> None:
    """The mean over random requests of the stated regimes; `safe_doubles.py` reports the worst."""
    rng = random.Random(5)
    asked = [
        {
            "epsilon": f"{10 ** rng.uniform(-12, 2.6):.6e}",
            "delta": f"{10 ** rng.uniform(-300, -0.001):.6e}",
            "sensitivity": f"{10 ** rng.uniform(-9, 9):.6e}",
        }
        for _ in range(200)
    ]
    benchmark(lambda: [dv.Gaussian.calibrate(**one) for one in asked])
