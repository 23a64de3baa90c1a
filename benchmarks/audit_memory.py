"""That the memory of an audit does not grow with its samples: peak resident size of audits of 10^6 to 10^9 outputs a side.

    python benchmarks/audit_memory.py [LARGEST]          writes reports/audit-memory.md; LARGEST defaults to 1e9

Each audit runs in a process of its own. One mechanism is as cheap as a mechanism can be, randomized response on one bit from
raw bytes, so that a thousand million outputs a side take minutes on one core; the other returns twenty numbers, and its audits
spend the whole budget, so that they look for events in as many outputs as they may keep.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from dpverify import __version__

REPORT = Path(__file__).resolve().parent.parent / "reports" / "audit-memory.md"
LIMIT = 2**30


def randomized_response(data: Any, rng: np.random.Generator, size: int) -> Any:
    """The truth with probability 187/256: epsilon = log(187/69) = .99704."""
    return (np.frombuffer(rng.bytes(size), dtype=np.uint8) < 187) ^ data


def noisy_vector(data: Any, rng: np.random.Generator, size: int) -> Any:
    """Laplace noise of scale 1 on twenty numbers."""
    return data + rng.laplace(size=(size, 20))


CASES: dict[str, tuple[Any, dict[str, Any], tuple[int, ...]]] = {
    "bit": (randomized_response, {"inputs": (False, True), "epsilon": "0.9971"}, (10**6, 10**7, 10**8, 10**9)),
    "twenty numbers": (
        noisy_vector,
        {"inputs": (np.zeros(20), np.eye(20)[0]), "epsilon": 1, "outputs": "reals", "stop_early": False},
        (10**6, 10**7),
    ),
}


def measured(case: str, samples: int) -> dict[str, Any]:
    """One audit in this process."""
    import resource

    from dpverify.audit.api import audit

    started = time.process_time()
    mechanism, options, _ = CASES[case]
    result = audit(mechanism, samples=samples, progress=False, **options)
    return {
        "verdict": result.verdict.value,
        "drawn": result.evidence["drawn"],
        "epsilon_lower": result.epsilon_lower,
        "seconds": time.process_time() - started,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def main(largest: int) -> int:
    """Run every size, write the report, and say whether the limit was kept."""
    lines, peaks = [], []
    for case, samples in ((case, samples) for case, (_, _, sizes) in CASES.items() for samples in sizes if samples <= largest):
        command = [sys.executable, __file__, "--one", case, str(samples)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout)
        peaks.append(found["peak"])
        lines.append(
            f"| {case} | {samples:,} | {sum(found['drawn']):,} | {found['verdict']} | {found['epsilon_lower']:.5f} | "
            f"{found['seconds']:.0f} | {found['peak'] / 2**20:.0f} |"
        )
        print(lines[-1], flush=True)
    REPORT.write_text(
        f"# Memory of an audit\n\n"
        f"`python benchmarks/audit_memory.py`, dpverify {__version__}, numpy {np.__version__}, {platform.machine()}.\n\n"
        f"A bit: randomized response with epsilon = log(187/69) = 0.99704 against 0.9971. Twenty numbers: Laplace noise\n"
        f"of scale 1, one of them moved by 1, against 1, the whole budget spent. Each audit in a process of its own; the peak\n"
        f"is that of the whole process, interpreter and libraries included; the limit is 1,024 MiB.\n\n"
        f"| outputs | samples | outputs drawn | verdict | epsilon at least | CPU seconds | peak, MiB |\n"
        f"|---|---|---|---|---|---|---|\n" + "\n".join(lines) + "\n"
    )
    return 0 if max(peaks) < LIMIT else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measured(sys.argv[2], int(sys.argv[3]))))
        sys.exit(0)
    sys.exit(main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**9))
