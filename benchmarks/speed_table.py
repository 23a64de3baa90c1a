"""Run `bench_speed.py` once and write its ratios as a table.

python benchmarks/speed_table.py --output reports/speed.md
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent


def medians() -> dict[str, float]:
    """Median seconds of every benchmark of one run."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "times.json"
        command = [sys.executable, "-m", "pytest", "-q", str(HERE / "bench_speed.py"), "--benchmark-enable", "--benchmark-only"]
        command += [f"--benchmark-json={file}", "-p", "no:cacheprovider", "-o", "python_files=bench_*.py", "-W", "ignore"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found = json.loads(file.read_text())["benchmarks"]
    return {one["name"].removeprefix("test_"): one["stats"]["median"] for one in found}


def row(what: str, seconds: float, against: str, reference: float, limit: str) -> str:
    """One comparison of the table."""
    return f"| {what} | {seconds * 1e6:.1f} us | {against} | {seconds / reference:.3f} | {limit} |"


def table(times: dict[str, float]) -> str:
    """The report, as Markdown."""
    calibration = times["gaussian_calibration"]
    laplace, logistic = times["closed_form_bound[Laplace]"], times["closed_form_bound[Logistic]"]
    numpy, bare = times["process[import numpy]"], times["process[python]"]
    extremes = {name: value for name, value in times.items() if name.startswith("extreme_gaussian")}
    slowest = max(extremes, key=lambda name: extremes[name])
    lines = [
        "# Speed, as ratios within one run",
        "",
        "Made by `python benchmarks/speed_table.py --output reports/speed.md` (pytest-benchmark, medians) on Python",
        f"{platform.python_version()} with python-flint {version('python-flint')}, numpy {version('numpy')}, "
        f"diffprivlib {version('diffprivlib')}, dp-accounting {version('dp-accounting')}.",
        "Times change with the machine; the ratios are what is claimed.",
        "",
        "| what | median | against | ratio | at most |",
        "|---|---|---|---|---|",
    ]
    if "diffprivlib_gaussian_analytic" in times:
        peer = times["diffprivlib_gaussian_analytic"]
        lines.append(
            row("Gaussian, least safe double", calibration, f"diffprivlib GaussianAnalytic, {peer * 1e6:.0f} us", peer, "1/4")
        )
        lines.append(row("Laplace bound, closed form", laplace, "the same", peer, "1/10"))
        lines.append(row("logistic bound, closed form", logistic, "the same", peer, "1/10"))
    if "dp_accounting_sigma" in times:
        peer = times["dp_accounting_sigma"]
        lines.append(
            row(
                "Gaussian, least safe double",
                calibration,
                f"dp-accounting get_sigma_gaussian, {peer * 1e6:.0f} us",
                peer,
                "1/5",
            )
        )
    lines += [
        row(
            "Laplace bound, pure DP", times["closed_form_bound_of_pure_dp"], "Gaussian, least safe double", calibration, "1/10"
        ),
        row(
            "bounded Gaussian, one dimension",
            times["bounded_gaussian_calibration"],
            "Gaussian, least safe double",
            calibration,
            "4",
        ),
        row(
            "bounded Gaussian, two dimensions, l2 ball",
            times["bounded_gaussian_on_a_ball"],
            "Gaussian, least safe double",
            calibration,
            "20",
        ),
        row("Laplace bound, closed form", laplace, "Gaussian, least safe double", calibration, "none"),
        row("logistic bound, closed form", logistic, "Gaussian, least safe double", calibration, "none"),
        row(
            f"slowest of {len(extremes)} extremes, {slowest[17:-1]}",
            extremes[slowest],
            "Gaussian, least safe double",
            calibration,
            "40",
        ),
        row(
            "mean of 200 random requests",
            times["random_requests_are_no_slower_than_forty_calibrations"] / 200,
            "Gaussian, least safe double",
            calibration,
            "40",
        ),
        row(
            "`import dpverify`, process",
            times["process[import dpverify]"],
            f"`import numpy`, process, {numpy * 1e3:.0f} ms",
            numpy,
            "none",
        ),
        row(
            "`import dpverify`, less the interpreter",
            times["process[import dpverify]"] - bare,
            "`import numpy`, less the interpreter",
            numpy - bare,
            "1/2",
        ),
        row("`dpverify bound gaussian`, process", times["process[dpverify bound]"], "`import numpy`, process", numpy, "1.5"),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    text = table(medians())
    print(text, end="")
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
