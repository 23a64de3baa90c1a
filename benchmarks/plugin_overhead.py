"""What the pytest plugin costs a suite without claims: python benchmarks/plugin_overhead.py > reports/plugin-overhead.md

Runs pytest on 200 empty tests in turn without and with the plugin, in fresh processes. What is compared is the time on the
processor, user and system, so that other work on the machine matters less. The goal is a difference below 20 ms.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 11
TESTS = 200


def seconds(place: Path, *words: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words, str(place)]
    subprocess.run(command, check=True, capture_output=True, cwd=place.parent)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "test_nothing.py"
        place.write_text("".join(f"def test_{number}():\n    pass\n\n\n" for number in range(TESTS)))
        pairs = [(seconds(place, "-p", "no:dpverify"), seconds(place)) for _ in range(ROUNDS)]
    without, with_plugin = (1000 * statistics.median(column) for column in zip(*pairs, strict=True))
    difference = 1000 * statistics.median(after - before for before, after in pairs)
    print("# What the pytest plugin costs a suite without claims\n")
    print(f"Written by `python benchmarks/plugin_overhead.py`: {TESTS} empty tests, {ROUNDS} rounds, time on the processor.\n")
    print(f"Without the plugin {without:.0f} ms, with it {with_plugin:.0f} ms; the median difference is {difference:.1f} ms.")


if __name__ == "__main__":
    main()
