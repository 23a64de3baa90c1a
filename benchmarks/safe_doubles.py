"""Random requests to every mechanism: is the calibrated double the least one that satisfies the claim?

Each answer is checked by certified comparisons that share nothing with the search that found it: the profile at the
returned double is certainly at most delta, the profile at the double below it certainly above. Also reported: the
slowest request as a multiple of a Gaussian calibration at (1, 1e-6) in the same run.

    python benchmarks/safe_doubles.py --requests 2000 --seed 1 --output reports/safe-doubles.md
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpverify.errors import DpverifyError, PrecisionError, UndecidedComparison
from dpverify.mechanisms import by_name, names
from dpverify.mechanisms._bounded import BoundedOutput
from dpverify.mechanisms._discrete import IntegerNoise
from dpverify.mechanisms._response import Response

EDGE_DELTAS = ("0", "1e-300", "0.999", "1e-12", "0.5")
EDGE_EPSILONS = ("1e-12", "500", "1", "0")
EDGE_SENSITIVITIES = ("1e-9", "1e9", "1")


def log_uniform(rng: random.Random, low: float, high: float) -> str:
    """A decimal number whose logarithm is uniform."""
    return f"{10 ** rng.uniform(math.log10(low), math.log10(high)):.6e}"


def request(rng: random.Random) -> dict[str, str]:
    """epsilon in [1e-12, 500], delta 0 or in [1e-300, 0.999], sensitivity in [1e-9, 1e9], with the edges over-represented."""
    edge = rng.random() < 0.15
    epsilon = rng.choice(EDGE_EPSILONS) if edge else log_uniform(rng, 1e-12, 500)
    if rng.random() < 0.25:
        delta = rng.choice(EDGE_DELTAS)
    else:
        delta = log_uniform(rng, 1e-300, 1e-3) if rng.random() < 0.7 else f"{rng.uniform(1e-3, 0.999):.6f}"
    sensitivity = rng.choice(EDGE_SENSITIVITIES) if edge else log_uniform(rng, 1e-9, 1e9)
    return {"epsilon": epsilon, "delta": delta, "sensitivity": sensitivity}


def suited(family: Any, asked: dict[str, str], number: int) -> dict[str, Any]:
    """The request with the family's shapes, in turn, and a sensitivity that it can have."""
    shapes = family.typical_shapes()
    suited: dict[str, Any] = {**asked, **shapes[number % len(shapes)]}
    if issubclass(family, IntegerNoise):
        suited["sensitivity"] = max(1, int(float(asked["sensitivity"])))
        if "largest" in suited:
            suited["largest"] = 3 * suited["sensitivity"]
    if issubclass(family, Response):
        del suited["sensitivity"]
    return suited


def is_least_double(family: Any, scale: float, asked: dict[str, Any]) -> bool:
    """Whether `scale` satisfies the request and the double below it does not, both certified."""
    fixed = {name: value for name, value in asked.items() if name not in ("epsilon", "delta")}

    def satisfies(value: float) -> bool:
        member = family(**{family.scale_name: value}, **fixed)
        for digits in (20, 60, 200, 800):
            with suppress(UndecidedComparison):
                return bool(member.delta(asked["epsilon"], digits=digits) <= Fraction(asked["delta"]))
        raise PrecisionError("the profile cannot be told from delta at 800 digits", reached=0)

    return satisfies(scale) and not satisfies(math.nextafter(scale, 0))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """(seconds of processor time, result) of one call."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def quickest(work: Callable[[], Any]) -> float:
    """The least of three times, so that a pause of the machine is not taken for work."""
    return min(timed(work)[0] for _ in range(3))


def gaussian_calibration_seconds() -> float:
    """The unit of time of the report."""
    gaussian = by_name("gaussian")
    return statistics.median(timed(lambda: gaussian.calibrate(epsilon=1, delta="1e-6"))[0] for _ in range(400))


def examined(family: Any, count: int, seed: int) -> dict[str, Any]:
    """Run `count` requests that are not refused against one family: scale, then epsilon and delta at that scale."""
    rng = random.Random(seed)
    unit = gaussian_calibration_seconds()
    wrong: list[dict[str, Any]] = []
    refused: Counter[str] = Counter()
    seconds: list[tuple[float, dict[str, Any]]] = []
    while len(seconds) < count:
        asked = suited(family, request(rng), len(seconds))
        try:
            member = family.calibrate(**asked)
            is_least = is_least_double(family, getattr(member, family.scale_name), asked)
            member.epsilon(asked["delta"])
        except DpverifyError as error:  # by this question or by one of the next: then nothing is claimed either
            refused[type(error).__name__] += 1
            continue
        if not is_least:
            wrong.append(asked)
        questions = [lambda: family.calibrate(**asked), lambda: member.delta(asked["epsilon"])]  # noqa: B023 - called at once
        if float(asked["delta"]) > 0:
            questions.append(lambda: member.epsilon(asked["delta"]))  # noqa: B023
        seconds.append((max(map(quickest, questions)), asked))
    worst = max(seconds, key=lambda pair: pair[0])
    return {
        "requests": count,
        "refused": ", ".join(f"{times} {name}" for name, times in refused.items()) or "none",
        "wrong": wrong,
        "median": statistics.median(pair[0] for pair in seconds) / unit,
        "worst": worst[0] / unit,
        "worst request": worst[1],
    }


def main() -> None:
    """Examine every mechanism and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], help="these mechanisms alone")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    only = f" --only {' '.join(options.only)}" if options.only else ""
    lines = [
        "# Least safe doubles over random requests",
        "",
        f"Made by `python benchmarks/safe_doubles.py --requests {options.requests} --seed {options.seed}{only} --output FILE`.",
        "Times (of the slowest of the three questions, in processor time) are multiples of one Gaussian calibration at",
        "(1, 1e-6); they vary between runs, the counts do not.",
        "",
        "Requests that no parameter satisfies, or that nothing answers yet, are refused by name and counted beside.",
        "",
        "| mechanism | requests | refused | not the least double | median time | worst time | worst request |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in options.only or names():
        family = by_name(name)
        if issubclass(family, BoundedOutput):  # they need a domain: `bounded_safe_doubles.py`
            continue
        found = examined(family, options.requests, options.seed)
        worst = ", ".join(f"{key} {value}" for key, value in found["worst request"].items())
        lines.append(
            f"| {name} | {found['requests']} | {found['refused']} | {len(found['wrong'])} | {found['median']:.2f} "
            f"| {found['worst']:.1f} | {worst} |"
        )
        for asked in found["wrong"]:
            lines.append(f"| wrong: {asked} | | | | | | |")
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
