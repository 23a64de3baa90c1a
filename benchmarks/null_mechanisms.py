"""Sound mechanisms that satisfy their claim with equality, of every shape of output: to refute one is a false alarm.

`SOUND` lists them with their inputs and the claim. Those in `VECTORS` have outputs on which an auditor may learn a score.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dpverify.guarantees import ZCDP, GaussianDP

Generator = np.random.Generator
RATIO = math.exp(-1)
TRUTH = 1 / (1 + RATIO)
"""The probability of the truth in randomized response with epsilon = 1."""


def told(data: Any, rng: Generator, size: Any, epsilon: float = 1.0) -> Any:
    """Randomized response: bits that equal `data` with probability e^epsilon / (1 + e^epsilon)."""
    kept = rng.random(size) < 1 / (1 + math.exp(-epsilon))
    return np.where(kept, data, 1 - np.asarray(data))


def laplace(data: float, rng: Generator, size: int) -> Any:
    return data + rng.laplace(0, 1, size)


def clamped_laplace(data: float, rng: Generator, size: int) -> Any:
    return np.clip(data + rng.laplace(0, 1, size), -0.5, 1.5)


def discrete_laplace(data: int, rng: Generator, size: int) -> Any:
    return data + rng.geometric(1 - RATIO, size) - rng.geometric(1 - RATIO, size)


def response(data: int, rng: Generator, size: int) -> Any:
    return told(data, rng, size)


def words(data: int, rng: Generator, size: int) -> Any:
    """Of five words the true one is e times as likely as each of the others."""
    drawn = rng.choice(5, size, p=np.where(np.arange(5) == data, math.e, 1.0) / (math.e + 4))
    return [("ash", "beech", "elm", "oak", "yew")[place] for place in drawn]


def tokens(data: int, rng: Generator, size: int) -> Any:
    """Twelve random letters and digits, the last of which is even or odd as a response says."""
    letters, last = rng.integers(0, 36, (size, 11)), 2 * rng.integers(0, 5, size) + told(data, rng, size)
    return [
        "".join("0123456789abcdefghijklmnopqrstuvwxyz"[k] for k in row) + str(end)
        for row, end in zip(letters, last, strict=True)
    ]


def lines_of_fields(data: int, rng: Generator, size: int) -> Any:
    """A name, a number with decimals, and a noisy count, as a line of a table."""
    counts, names = discrete_laplace(data, rng, size), rng.integers(0, 10**6, size)
    return [f"user{name:06d},{number:.3f},{count}" for name, number, count in zip(names, rng.random(size), counts, strict=True)]


def gaussian(data: float, rng: Generator, size: int) -> Any:
    return data + rng.normal(0, 1, size)


def permute_and_flip(data: tuple[float, float], rng: Generator, size: int) -> Any:
    """Scores that move by 1: the largest score plus exponential noise of mean 2."""
    return (np.array(data) + rng.exponential(2, (size, 2))).argmax(axis=1)


def one_bit_of_eight(data: int, rng: Generator, size: int) -> Any:
    return told(np.array([1, 0, 1, 1, 0, 1, 0, data]), rng, (size, 8))


def eight_bits(data: int, rng: Generator, size: int) -> Any:
    return told(np.full(8, data), rng, (size, 8), 1 / 8)


def four_numbers(data: float, rng: Generator, size: int) -> Any:
    return data + rng.laplace(0, 4, (size, 4))


def gaussian_vector(data: float, rng: Generator, size: int) -> Any:
    return data / math.sqrt(5) + rng.normal(0, 1, (size, 5))


def running_sums(data: float, rng: Generator, size: int) -> Any:
    return np.cumsum(data + rng.laplace(0, 4, (size, 4)), axis=1)


def matrix(data: float, rng: Generator, size: int) -> Any:
    return data + rng.laplace(0, 6, (size, 2, 3))


def record(data: int, rng: Generator, size: int) -> Any:
    """A number and a word, half of epsilon each."""
    numbers = data + rng.laplace(0, 2, size)
    labels = told(data, rng, size, 0.5)
    return [{"mean": number, "group": "ab"[label]} for number, label in zip(numbers.tolist(), labels, strict=True)]


def missing(data: int, rng: Generator, size: int) -> Any:
    """None, NaN or a number; which of them is the response, the number is noise."""
    none, noise = told(data, rng, size), rng.normal(size=size)
    nan = rng.random(size) < 0.1
    return [None if gone else math.nan if odd else x for gone, odd, x in zip(none, nan, noise.tolist(), strict=True)]


def ragged(data: int, rng: Generator, size: int) -> Any:
    return [rng.random(1 + 2 * length).tolist() for length in told(data, rng, size)]


def mixed(data: int, rng: Generator, size: int) -> Any:
    return [
        "refused" if answer else x for answer, x in zip(told(data, rng, size), rng.laplace(size=size).tolist(), strict=True)
    ]


def four_bytes(data: int, rng: Generator, size: int) -> Any:
    drawn = told(np.array([0, 1, 1, data]), rng, (size, 4)).astype(np.uint8)
    return [row.tobytes() for row in drawn]


def items(data: int, rng: Generator, size: int) -> Any:
    kept = told(np.array([0, 1, data]), rng, (size, 3)).astype(bool)
    return [{name for name, there in zip("xyz", row, strict=True) if there} for row in kept]


def subsampled(data: int, rng: Generator, size: int) -> Any:
    """The record takes part with probability 1/2; else a zero answers in its place."""
    return told(np.where(rng.random(size) < 0.5, data, 0), rng, size)


LEAK = 0.05


def sometimes_in_clear(data: int, rng: Generator, size: int) -> Any:
    """With probability 0.05 the value itself, marked as such; else a response: (1, 0.05)-private with equality."""
    return np.where(rng.random(size) < LEAK, 2 + data, told(data, rng, size))


def gaussian_and_word(data: int, rng: Generator, size: int) -> Any:
    """A Gaussian beside pure noise of another type."""
    return [[x, "abc"[k]] for x, k in zip((data + rng.normal(size=size)).tolist(), rng.integers(0, 3, size), strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """A mechanism, two neighbours, and the claim that it satisfies with equality, as keywords of `audit`."""

    name: str
    mechanism: Any
    inputs: tuple[Any, Any] = (0, 1)
    claim: dict[str, Any]
    outputs: Literal["bits", "reals"] = "bits"


ONE: dict[str, Any] = {"epsilon": 1}
GAUSSIAN_DELTA = "0.12693673750664398"
"""The delta at epsilon = 1 of a unit shift under unit noise, rounded up in the last digit."""

SOUND: tuple[Sound, ...] = (
    Sound(name="Laplace", mechanism=laplace, claim=ONE, outputs="reals"),
    Sound(name="clamped Laplace", mechanism=clamped_laplace, claim=ONE, outputs="reals"),
    Sound(name="discrete Laplace", mechanism=discrete_laplace, claim=ONE),
    Sound(name="randomized response", mechanism=response, claim=ONE),
    Sound(name="one of five words", mechanism=words, claim=ONE),
    Sound(name="Gaussian, one point", mechanism=gaussian, claim={"epsilon": 1, "delta": GAUSSIAN_DELTA}, outputs="reals"),
    Sound(name="Gaussian, mu = 1", mechanism=gaussian, claim={"claim": GaussianDP(mu=1)}, outputs="reals"),
    Sound(name="Gaussian, rho = 1/2", mechanism=gaussian, claim={"claim": ZCDP(rho="1/2")}, outputs="reals"),
    Sound(name="permute and flip", mechanism=permute_and_flip, inputs=((0, 0), (1, -1)), claim=ONE),
    Sound(name="eight bits, one moves", mechanism=one_bit_of_eight, claim=ONE),
    Sound(name="eight bits, all move", mechanism=eight_bits, claim=ONE),
    Sound(name="vector of four Laplace", mechanism=four_numbers, claim=ONE, outputs="reals"),
    Sound(
        name="vector of five Gaussians, mu = 1", mechanism=gaussian_vector, claim={"claim": GaussianDP(mu=1)}, outputs="reals"
    ),
    Sound(name="running sums", mechanism=running_sums, claim=ONE, outputs="reals"),
    Sound(name="matrix", mechanism=matrix, claim=ONE, outputs="reals"),
    Sound(name="dict of a number and a word", mechanism=record, claim=ONE, outputs="reals"),
    Sound(name="None, NaN or a number", mechanism=missing, claim=ONE),
    Sound(name="ragged lists", mechanism=ragged, claim=ONE),
    Sound(name="text or a number", mechanism=mixed, claim=ONE),
    Sound(name="bytes of fixed width", mechanism=four_bytes, claim=ONE),
    Sound(name="sets", mechanism=items, claim=ONE),
    Sound(name="tokens", mechanism=tokens, claim=ONE),
    Sound(name="lines of fields", mechanism=lines_of_fields, claim=ONE),
    Sound(name="subsampled response", mechanism=subsampled, claim={"epsilon": math.log1p((math.e - 1) / 2) * (1 + 1e-15)}),
    Sound(name="sometimes in clear", mechanism=sometimes_in_clear, claim={"epsilon": 1, "delta": LEAK}),
    Sound(
        name="Gaussian beside a word",
        mechanism=gaussian_and_word,
        claim={"epsilon": 1, "delta": GAUSSIAN_DELTA},
        outputs="reals",
    ),
)

VECTORS: tuple[str, ...] = (
    "eight bits, one moves",
    "eight bits, all move",
    "vector of four Laplace",
    "vector of five Gaussians, mu = 1",
    "running sums",
    "matrix",
    "dict of a number and a word",
    "Gaussian beside a word",
)
