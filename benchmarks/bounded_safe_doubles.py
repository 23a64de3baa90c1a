"""Random requests to the bounded mechanisms: is the calibrated double the least one that satisfies the claim?

Domains are 1 to 10^18 times as long as the sensitivity, in one to three coordinates, boxes and balls, with every condition.
The level at the returned double is certainly at most epsilon, at the double below it certainly above. Also reported: named
refusals, and the slowest request as a multiple of a Gaussian calibration at (1, 1e-6) in the same run.

    python benchmarks/bounded_safe_doubles.py --requests 1000 --seed 1 --output reports/bounded-safe-doubles.md
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

from safe_doubles import gaussian_calibration_seconds, log_uniform

from dpverify.errors import ImpossibleRequest, NotCovered
from dpverify.mechanisms import by_name, names
from dpverify.mechanisms._bounded import BoundedOutput
from dpverify.mechanisms.k_norm import KNorm

EXPONENTS = ("1", "2", "3", "4", "40", "1.5", "1.1", "2.5", "0.5", "0.1", "0.9")
EDGE_EPSILONS = ("1e-12", "500", "1")


def exponent(rng: random.Random) -> str:
    """p: small numbers that people use, between 1 and 2, and anything from 0.05 to 40."""
    return rng.choice([*EXPONENTS, f"{rng.uniform(1, 2):.4f}", f"{float(log_uniform(rng, 0.05, 40)):.4f}"])


def domain(rng: random.Random, shifts: list[str]) -> tuple[Fraction, ...]:
    """Lengths from the shift itself to 10^18 times as much."""

    def ratio() -> Fraction:
        return Fraction(
            rng.choice(["1", "1.5", "2", log_uniform(rng, 1, 1e3), log_uniform(rng, 1, 1e9), log_uniform(rng, 1, 1e18)])
        )

    return tuple(max(Fraction(shift) * ratio(), Fraction(shift)) for shift in shifts)


def request(rng: random.Random, family: Any) -> dict[str, Any]:
    """epsilon in [1e-12, 500], sensitivity in [1e-9, 1e9], with the edges over-represented."""
    asked: dict[str, Any] = {"epsilon": rng.choice(EDGE_EPSILONS) if rng.random() < 0.1 else log_uniform(rng, 1e-12, 500)}
    count = rng.choice([1, 1, 1, 2, 3])
    first = log_uniform(rng, 1e-9, 1e9)
    shifts = [first, *(f"{float(first) * rng.uniform(1e-3, 1):.6e}" for _ in range(count - 1))]
    if any(parameter.name == "p" for parameter in family.parameters):
        asked["p"] = exponent(rng)
    if issubclass(family, KNorm):
        asked["p"] = str(max(1.0, float(asked["p"])))
        asked |= {"dimension": count, "adjacency": "box", "sensitivity": tuple(shifts) if count > 1 else first}
    else:
        asked["upper"] = domain(rng, shifts)
        asked["sensitivity"] = tuple(shifts) if count > 1 else first
        if rng.random() < 0.4:
            asked |= {
                "adjacency": "l2",
                "sensitivity": first if rng.random() < 0.7 else f"sqrt({Fraction(first) ** 2 * 99 / 100})",
            }
    if rng.random() < 0.25:
        asked["condition"] = rng.choice(family.condition.choices)
    return asked


def at_most(mechanism: Any, epsilon: Fraction) -> bool:
    """Whether the level is certainly at most epsilon (True) or certainly above it (False)."""
    for digits in (20, 60, 200):
        level = mechanism.epsilon(0, digits=digits)
        if level.exact_upper <= epsilon:
            return True
        if level.exact_lower > epsilon:
            return False
    raise AssertionError("the level cannot be told from epsilon at 200 digits")


def is_least_double(family: Any, scale: float, asked: dict[str, Any]) -> bool:
    """Whether `scale` satisfies the request and the double below it does not, both certified."""
    rest = {name: value for name, value in asked.items() if name != "epsilon"}

    def satisfies(value: float) -> bool:
        return value > 0 and at_most(family(**{family.scale_name: value}, **rest), Fraction(asked["epsilon"]))

    return satisfies(scale) and not satisfies(math.nextafter(scale, 0))


def examined(family: Any, count: int, seed: int) -> dict[str, Any]:
    """Run `count` requests against one family."""
    rng = random.Random(seed)
    unit = gaussian_calibration_seconds()
    wrong, refused, beyond = [], 0, 0
    seconds: list[tuple[float, dict[str, Any]]] = []
    for _ in range(count):
        asked = request(rng, family)
        start = time.process_time()
        try:
            scale = getattr(family.calibrate(**asked), family.scale_name)
        except NotCovered:
            refused += 1
            continue
        except ImpossibleRequest:
            beyond += 1  # the doubles
            continue
        seconds.append((time.process_time() - start, asked))
        if not is_least_double(family, scale, asked):
            wrong.append(asked)
    worst = max(seconds, key=lambda pair: pair[0])
    return {
        "answered": len(seconds),
        "refused": refused,
        "beyond": beyond,
        "wrong": wrong,
        "median": statistics.median(pair[0] for pair in seconds) / unit,
        "worst": worst[0] / unit,
        "seconds": worst[0],
        "worst request": worst[1],
    }


def main() -> None:
    """Examine every bounded mechanism and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = [
        "# Least safe doubles of bounded mechanisms over random requests",
        "",
        f"Made by `python benchmarks/bounded_safe_doubles.py --requests {options.requests} --seed {options.seed}`.",
        "Times of a calibration, in processor time, are multiples of one Gaussian calibration at (1, 1e-6); they vary between",
        "runs, the counts do not. Refused: named refusals (a ball with 1 < p < 2, say). Beyond: the least scale is no double.",
        "",
        "| mechanism | answered | refused | beyond | not the least double | median time | worst time | worst request |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for family in map(by_name, names()):
        if not issubclass(family, (BoundedOutput, KNorm)):
            continue
        found = examined(family, options.requests, options.seed)
        worst = ", ".join(f"{key} {shown(value)}" for key, value in found["worst request"].items())
        lines.append(
            f"| {family.name} | {found['answered']} | {found['refused']} | {found['beyond']} | {len(found['wrong'])} |"
            f" {found['median']:.2f} | {found['worst']:.1f} ({found['seconds']:.2f} s) | {worst} |"
        )
        for asked in found["wrong"]:
            lines.append(f"| wrong: {asked} | | | | | | | |")
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.output:
        options.output.write_text(text)


def shown(value: Any) -> str:
    """A value as it would be typed."""
    return ",".join(f"{float(one):.6g}" for one in value) if isinstance(value, tuple) else str(value)


if __name__ == "__main__":
    main()
