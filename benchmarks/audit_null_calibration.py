"""How often sound mechanisms are refuted: 2,000 audits at the exact claim, at level alpha = 0.01.

    python benchmarks/audit_null_calibration.py          writes reports/audit-null-calibration.{md,json}

Each mechanism satisfies its claim with equality, so every refutation is a false alarm, and an auditor that tested what it
chose on the outputs on which it chose it would raise them by the hundred. If alarms had probability 0.01 each, more than
36 of 2,000 would have probability below 0.0005. The same seeds give the same files; on one core it takes some minutes.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from dpverify import __version__
from dpverify.audit.api import audit
from dpverify.guarantees import Verdict

REPORTS = Path(__file__).resolve().parent.parent / "reports"
AUDITS = 2_000
MOST_REFUTED = 36
SAMPLES = 20_000
ALPHA = "0.01"
RATIO = math.exp(-1)


def laplace(data: float, rng: np.random.Generator, size: int) -> Any:
    """Exactly 1-private on the reals."""
    return data + rng.laplace(0, 1, size)


def discrete_laplace(data: int, rng: np.random.Generator, size: int) -> Any:
    """P(noise = k) proportional to e^-|k|."""
    return data + rng.geometric(1 - RATIO, size) - rng.geometric(1 - RATIO, size)


def randomized_response(data: int, rng: np.random.Generator, size: int) -> Any:
    """The truth is e times as likely as the lie."""
    return np.where(rng.random(size) < 1 / (1 + RATIO), data, 1 - data)


Outputs: TypeAlias = Literal["bits", "reals"]

MECHANISMS: list[tuple[str, Any, tuple[Any, Any], Outputs]] = [
    ("Laplace, scale 1, on the reals", laplace, (0.0, 1.0), "reals"),
    ("discrete Laplace, ratio 1/e", discrete_laplace, (10, 11), "bits"),
    ("randomized response, e to 1", randomized_response, (0, 1), "bits"),
]


def main() -> int:
    """Run all audits, write both reports, and say whether the bound was kept."""
    counts: list[dict[str, Any]] = [
        {"mechanism": name, "audits": 0, "refuted": 0, "undecided": 0, "one_output_per_call": 0} for name, *_ in MECHANISMS
    ]
    bounds: list[list[float]] = [[] for _ in MECHANISMS]
    for seed in range(AUDITS):
        place = seed % len(MECHANISMS)
        _, mechanism, inputs, outputs = MECHANISMS[place]
        result = audit(
            mechanism,
            inputs=inputs,
            epsilon=1,
            samples=SAMPLES,
            alpha=ALPHA,
            seed=seed,
            outputs=outputs,
            progress=False,
        )
        row = counts[place]
        row["audits"] += 1
        row["refuted"] += result.verdict is Verdict.REFUTED
        row["undecided"] += result.verdict is Verdict.UNDECIDED
        row["one_output_per_call"] += result.evidence["one_output_per_call"]
        bounds[place].append(result.epsilon_lower)
        if sys.stderr.isatty() and seed % 20 == 0:
            print(f"\r{seed} of {AUDITS}", end="", file=sys.stderr)
    for row, found in zip(counts, bounds, strict=True):
        row["median_epsilon_lower"] = round(float(np.median(found)), 4)
    refuted = sum(row["refuted"] for row in counts)
    report = {
        "command": "python benchmarks/audit_null_calibration.py",
        "versions": {"dpverify": __version__, "numpy": np.__version__},
        "claim": {"epsilon": "1", "delta": "0"},
        "alpha": ALPHA,
        "samples": SAMPLES,
        "seeds": [0, AUDITS - 1],
        "audits": AUDITS,
        "refuted": refuted,
        "most_refuted": MOST_REFUTED,
        "mechanisms": counts,
    }
    (REPORTS / "audit-null-calibration.json").write_text(json.dumps(report, indent=2) + "\n")
    (REPORTS / "audit-null-calibration.md").write_text(as_text(report))
    print(as_text(report))
    return 0 if refuted <= MOST_REFUTED else 1


def as_text(report: dict[str, Any]) -> str:
    """The table that is committed."""
    lines = [
        "# False alarms of the auditor",
        "",
        f"`{report['command']}`, dpverify {report['versions']['dpverify']}, numpy {report['versions']['numpy']}.",
        "",
        f"{report['audits']:,} audits of mechanisms that satisfy epsilon = 1 exactly, {report['samples']:,} outputs a side, "
        f"alpha = {report['alpha']}, seeds {report['seeds'][0]} to {report['seeds'][1]}. "
        f"Every refutation is a false alarm; alpha allows {float(report['alpha']) * report['audits']:g} on average, "
        f"and at most {report['most_refuted']} are accepted.",
        "",
        "| mechanism | audits | refuted | undecided | fell back to one output a call | median lower bound on epsilon |",
        "|---|---|---|---|---|---|",
    ]
    for row in report["mechanisms"]:
        lines.append(
            f"| {row['mechanism']} | {row['audits']} | {row['refuted']} | {row['undecided']} | {row['one_output_per_call']} "
            f"| {row['median_epsilon_lower']} |"
        )
    lines += ["", f"Refuted in all: {report['refuted']}.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
