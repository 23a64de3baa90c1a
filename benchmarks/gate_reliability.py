"""How reliable the gate is: python benchmarks/gate_reliability.py [RUNS] > reports/gate-reliability.md

A gate over ten sound mechanisms, all but two of them exactly at their claim, is run with fresh seeds and counted red or not;
so is the same gate with one more mechanism, Laplace noise of epsilon = 1.1 against a claim of 1. At the default error budget
a gate over sound mechanisms is red with a probability of at most 1e-6.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import dpverify as dv
from dpverify.gate.claims import SampledClaim
from dpverify.gate.config import Configuration
from dpverify.gate.outcome import worst
from dpverify.gate.run import run

SAMPLES = 50_000
SAMPLES_WITH_DELTA = 10_000
SAMPLES_OF_THE_FALSE_CLAIM = 150_000
"""Outputs a side. The number does not change how often a true claim is refuted; the false one needs as many to be found."""

ALPHA = 1e-6
DISCRETE = 1 - np.exp(-1.0)
SIGMA = dv.Gaussian.calibrate(epsilon=1, delta="1e-6").sigma
GAUSSIAN = dv.DiscreteGaussian.calibrate(epsilon=1, delta="1e-5").sampler()


def rounded_laplace(data, rng, size):
    return np.rint(data + rng.laplace(0, 1, size))


def laplace_on_a_grid(data, rng, size):
    return np.rint(1024 * (data + rng.laplace(0, 1, size))) / 1024


def geometric(data, rng, size):
    return data + rng.geometric(DISCRETE, size) - rng.geometric(DISCRETE, size)


def discrete_gaussian(data, rng, size):
    return GAUSSIAN(data, rng, size)


def rounded_gaussian(data, rng, size):
    return np.rint(data + rng.normal(0, SIGMA, size))


def randomized_response(data, rng, size):
    return rng.random(size) < (0.75 if data else 0.25)


def clamped_count(data, rng, size):
    return np.clip(np.rint(data + rng.laplace(0, 1, size)), 0, 4)


def two_numbers(data, rng, size):
    return np.rint(np.array([data, 2 * data]) + rng.laplace(0, 3, (size, 2)))


def choice(data, rng, size):
    weights = np.exp(0.5 * np.array([data, 1 - data, 0.5]))
    return rng.choice(3, size, p=weights / weights.sum())


def text(data, rng, size):
    return [str(number) for number in rounded_laplace(data, rng, size)]


def too_little(data, rng, size):
    return np.rint(data + rng.laplace(0, 1 / 1.1, size))


CLAIMS = {
    rounded_laplace: ("1", "0"),
    laplace_on_a_grid: ("1", "0"),
    geometric: ("1", "0"),
    discrete_gaussian: ("1", "1e-5"),
    rounded_gaussian: ("1", "1e-6"),
    randomized_response: ("1.0986122886681098", "0"),
    clamped_count: ("1", "0"),
    two_numbers: ("1", "0"),
    choice: ("1", "0"),
    text: ("1", "0"),
}


def claim(mechanism, epsilon, delta, samples):
    return SampledClaim(
        name=mechanism.__name__, mechanism=mechanism, inputs=(0, 1), epsilon=epsilon, delta=delta, samples=samples
    )


def code(claims, seed, alpha):
    """The exit code of a gate."""
    configuration = Configuration(root=Path(), claims=tuple(claims), alpha=alpha, seed=seed, seconds=None)
    return worst([outcome.exit_code for outcome in run(configuration, remember=False, evidence=None)])


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    sound = [claim(mechanism, *said, SAMPLES if said[1] == "0" else SAMPLES_WITH_DELTA) for mechanism, said in CLAIMS.items()]
    broken = claim(too_little, "1", "0", SAMPLES_OF_THE_FALSE_CLAIM)
    seeds = [int(seed) for seed in np.random.SeedSequence(20260101).generate_state(runs)]
    red, found, started = 0, 0, time.perf_counter()
    for number, seed in enumerate(seeds, start=1):
        red += code(sound, seed, ALPHA) != 0
        # In a gate of all eleven claims the false one has an eleventh of the budget, whatever the others do.
        found += code([broken], seed, ALPHA / (len(sound) + 1)) == 1
        print(f"{number} of {runs}: red {red}, found {found}, {time.perf_counter() - started:.0f} s", file=sys.stderr)
    print("# How reliable the gate is\n")
    print(
        f"Written by `python benchmarks/gate_reliability.py {runs}`, with the default error budget of {ALPHA:.0e} a run and up"
    )
    print(
        f"to {SAMPLES:,} outputs a side and claim ({SAMPLES_WITH_DELTA:,} where delta > 0, {SAMPLES_OF_THE_FALSE_CLAIM:,} for"
    )
    print(f"the false claim). The sound mechanisms: {', '.join(one.name for one in sound)}.\n")
    print("| gate | runs | red |\n|---|---|---|")
    print(f"| ten sound mechanisms | {runs} | {red} |")
    print(f"| with rounded Laplace noise beside them, epsilon = 1.1 claimed as 1 | {runs} | {found} |\n")
    print("In the second row the false claim alone is counted, at its eleventh of the budget.")


if __name__ == "__main__":
    main()
