"""How close an audit of a correct mechanism comes to its claim: python benchmarks/audit_resolution.py

Writes reports/audit-resolution.md. 10^6 outputs a side, search included, at 95 %, one look; medians over 100 seeds. The
limits are those of the best event known in advance, with Clopper-Pearson bounds at the expected counts and nothing spent on
search.

- Laplace noise of scale 1 between 0 and 1, claimed at epsilon = 1;
- Gaussian noise calibrated to (1, 1e-5), claimed there;
- the same noise claimed as its profile, twenty-one points with delta from 1e-6 to 0.1: the largest part of epsilon(delta)
  that a bound reaches at any of them, all bounds together at 95 %.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import dpverify as dv

REPORT = Path(__file__).resolve().parent.parent / "reports" / "audit-resolution.md"
SAMPLES, SEEDS, ALPHA = 10**6, 100, "0.05"
NOISE = dv.Gaussian.calibrate(epsilon=1, delta="1e-5")
SIGMA = float(NOISE.sigma)
DELTAS = [f"{10 ** (-6 + place / 4):.6g}" for place in range(21)]
PROFILE = [(NOISE.epsilon(delta=delta).upper, delta) for delta in DELTAS]


def laplace(data: float, rng: np.random.Generator, size: int) -> Any:
    """Scale 1."""
    return data + rng.laplace(0, 1, size)


def gaussian(data: float, rng: np.random.Generator, size: int) -> Any:
    """The calibrated scale, in doubles."""
    return data + rng.normal(0, SIGMA, size)


ROWS: tuple[tuple[str, Any, dict[str, Any], float | None, float], ...] = (
    ("Laplace at epsilon = 1", laplace, {"epsilon": 1}, 0.994, 0.993),
    ("Gaussian at (1, 1e-5)", gaussian, {"epsilon": 1, "delta": "1e-5"}, 0.768, 0.75),
    ("Gaussian along its profile", gaussian, {"claim": PROFILE}, None, 0.93),
)


def part_of(mechanism: Any, claim: dict[str, Any], seed: int) -> tuple[float, bool]:
    """The largest bound beside the epsilon that is claimed, and whether the claim was refuted, which is an error here."""
    result = dv.audit(
        mechanism,
        inputs=(0, 1),
        samples=SAMPLES,
        alpha=ALPHA,
        seed=seed,
        outputs="reals",
        stop_early=False,
        progress=False,
        **claim,
    )
    return result.epsilon_lower / result.epsilon, result.verdict is dv.Verdict.REFUTED


def main() -> int:
    """Audit, write the report, and say whether the medians are what they should be."""
    lines, enough = [], True
    for name, mechanism, claim, limit, wanted in ROWS:
        started = time.process_time()
        found = [part_of(mechanism, claim, seed) for seed in range(SEEDS)]
        seconds = (time.process_time() - started) / SEEDS
        parts = [part for part, _ in found]
        median, refuted = statistics.median(parts), sum(wrong for _, wrong in found)
        enough &= median >= wanted
        shown = "" if limit is None else f"{limit}"
        lines.append(
            f"| {name} | {median:.4f} | {min(parts):.4f} to {max(parts):.4f} | {wanted} | {shown} | {refuted} | {seconds:.1f} |"
        )
        print(lines[-1], flush=True)
    REPORT.write_text(
        "# How close an audit of a correct mechanism comes to its claim\n\n"
        f"`python benchmarks/audit_resolution.py`, dpverify {dv.__version__}, numpy {np.__version__}: {SAMPLES:,} outputs "
        f"a side, 95 %, {SEEDS} seeds.\nA part of one means that the bound is the truth; at 95 % one in twenty may exceed it. "
        "Limit: the best event, known in advance.\n\n"
        "| claim | median part of epsilon | all seeds | wanted | limit | above the truth | CPU seconds |\n"
        "|---|---|---|---|---|---|---|\n" + "\n".join(lines) + "\n"
    )
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
