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
from importlib.metadata import entry_points
from pathlib import Path

ROUNDS = 40
TESTS = 200


def seconds(place: Path, *words: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words, str(place)]
    subprocess.run(command, check=True, capture_output=True, cwd=place.parent)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    if not entry_points(group="pytest11", name="dpverify"):
        sys.exit("dpverify is not installed here, so pytest has no plugin of it: pip install --editable .")
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "test_nothing.py"
        place.write_text("".join(f"def test_{number}():\n    pass\n\n\n" for number in range(TESTS)))
        without, with_plugin = [], []
        for number in range(ROUNDS):
            for plugin in (True, False) if number % 2 else (False, True):
                spent = 1000 * seconds(place, *(() if plugin else ("-p", "no:dpverify")))
                (with_plugin if plugin else without).append(spent)
    differences = [after - before for before, after in zip(without, with_plugin, strict=True)]
    error = statistics.stdev(differences) / ROUNDS**0.5
    print("# What the pytest plugin costs a suite without claims\n")
    print(f"Written by `python benchmarks/plugin_overhead.py`: {TESTS} empty tests, {ROUNDS} rounds, time on the processor.\n")
    print(f"Without the plugin {statistics.median(without):.0f} ms, with it {statistics.median(with_plugin):.0f} ms (medians).")
    print(f"Mean difference {statistics.mean(differences):.0f} ms, with a standard error of {error:.0f} ms.")


if __name__ == "__main__":
    main()
