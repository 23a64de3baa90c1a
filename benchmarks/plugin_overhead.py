"""What the pytest plugin costs a suite without claims: python benchmarks/plugin_overhead.py

Runs pytest on 200 empty tests in turn without and with the plugin, in fresh processes, and prints the medians. The goal is a
difference below 20 ms.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 21
TESTS = 200


def seconds(place: Path, *words: str) -> float:
    started = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words, str(place)]
    subprocess.run(command, check=True, capture_output=True, cwd=place.parent)
    return time.perf_counter() - started


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "test_nothing.py"
        place.write_text("".join(f"def test_{number}():\n    pass\n\n\n" for number in range(TESTS)))
        pairs = [(seconds(place, "-p", "no:dpverify"), seconds(place)) for _ in range(ROUNDS)]
    without, with_plugin = (statistics.median(column) for column in zip(*pairs, strict=True))
    difference = statistics.median(after - before for before, after in pairs)
    print(
        f"{TESTS} empty tests, {ROUNDS} rounds: {without * 1000:.0f} ms without, {with_plugin * 1000:.0f} ms with the plugin;"
    )
    print(f"median difference {difference * 1000:.1f} ms")


if __name__ == "__main__":
    main()
