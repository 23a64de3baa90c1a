"""The twenty-one mechanisms on which black-box auditors have been compared since StatDP (Ding et al., 2018), batched.

Written from their mathematics as DP-Sniper (Bichsel, Steffen, Bogunovic and Vechev, 2021) and "Understanding the Sparse Vector
Technique" (Lyu, Su and Li, 2017) state it. All claim epsilon = 0.1; some of them wrongly. A mechanism takes the
data, a generator and a size, and returns that many outputs along the first axis. `SUITE` lists them with the pairs of
inputs that an auditor may search, and with the bounds that others have reported.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

import numpy as np

EPSILON = 0.1
QUERIES = 10
Generator = np.random.Generator
Outputs = Any


def laplace(data: float, rng: Generator, size: int) -> Outputs:
    return data + rng.laplace(0, 1 / EPSILON, size)


def truncated_geometric(data: int, rng: Generator, size: int) -> Outputs:
    """Geometric noise cut off to 0..5, by exact integers: the least z whose cumulative count reaches a uniform one."""
    counts, total = _cumulative_counts(data)
    return np.searchsorted(counts, rng.integers(1, total, size, endpoint=True))


def _cumulative_counts(centre: int, most: int = 5) -> tuple[list[int], int]:
    k = math.ceil(math.log(2 / EPSILON))
    base = 2**k + 1
    total = (2 ** (k + 1) + 1) * base ** (most - 1)
    counts = []
    for z in range(most):
        if z < centre:
            counts.append(2 ** (k * (centre - z)) * base ** (most - (centre - z)))
        else:
            counts.append(total - 2 ** (k * (z - centre + 1)) * base ** (most - 1 - (z - centre)))
    return [*counts, total], total


def noisy_histogram(data: tuple[float, ...], rng: Generator, size: int) -> Outputs:
    return np.array(data) + rng.laplace(0, 1 / EPSILON, (size, len(data)))


def noisy_histogram_scale_inverted(data: tuple[float, ...], rng: Generator, size: int) -> Outputs:
    return np.array(data) + rng.laplace(0, EPSILON, (size, len(data)))


def noisy_max_laplace(data: tuple[float, ...], rng: Generator, size: int) -> Outputs:
    return (np.array(data) + rng.laplace(0, 2 / EPSILON, (size, len(data)))).argmax(axis=1)


def noisy_max_exponential(data: tuple[float, ...], rng: Generator, size: int) -> Outputs:
    return (np.array(data) + rng.exponential(2 / EPSILON, (size, len(data)))).argmax(axis=1)


def noisy_max_laplace_value(data: tuple[float, ...], rng: Generator, size: int) -> Outputs:
    return (np.array(data) + rng.laplace(0, 2 / EPSILON, (size, len(data)))).max(axis=1)


def noisy_max_exponential_value(data: tuple[float, ...], rng: Generator, size: int) -> Outputs:
    return (np.array(data) + rng.exponential(2 / EPSILON, (size, len(data)))).max(axis=1)


def _stopped_after(answers: Outputs, above: Outputs, count: int) -> Outputs:
    """The answers; NaN behind the place of the `count`-th TRUE, where the technique has stopped and gives none."""
    earlier = np.cumsum(above, axis=1, dtype=np.int8) - above
    return np.where(earlier < count, answers, np.nan)


def svt_1(data: tuple[float, ...], rng: Generator, size: int) -> Outputs:
    above = _above(data, rng, size, threshold=0.5, rho=2 / EPSILON, nu=4 / EPSILON)
    return _stopped_after(above, above, 1)


def svt_2(data: tuple[float, ...], rng: Generator, size: int) -> Outputs:
    """The threshold's noise is drawn again after each TRUE; after the first one nothing follows."""
    above = _above(data, rng, size, threshold=1, rho=2 / EPSILON, nu=4 / EPSILON)
    return _stopped_after(above, above, 1)


def _above(data: tuple[float, ...], rng: Generator, size: int, *, threshold: float, rho: float, nu: float) -> Outputs:
    level = threshold + rng.laplace(0, rho, (size, 1))
    return np.array(data) + rng.laplace(0, nu, (size, len(data))) >= level


def svt_3(data: tuple[float, ...], rng: Generator, size: int, count: int = 1) -> Outputs:
    level = 1 + rng.laplace(0, 2 / EPSILON, (size, 1))
    noisy = np.array(data) + rng.laplace(0, 2 * count / EPSILON, (size, len(data)))
    above = noisy >= level
    return _stopped_after(np.where(above, noisy, 0.0), above, count)


def svt_4(data: tuple[float, ...], rng: Generator, size: int, count: int = 1) -> Outputs:
    above = _above(data, rng, size, threshold=1, rho=4 / EPSILON, nu=4 / (3 * EPSILON))
    return _stopped_after(above, above, count)


def svt_5(data: tuple[float, ...], rng: Generator, size: int) -> Outputs:
    return (np.array(data) >= 1 + rng.laplace(0, 2 / EPSILON, (size, 1))).astype(np.int8)


def svt_6(data: tuple[float, ...], rng: Generator, size: int) -> Outputs:
    return _above(data, rng, size, threshold=1, rho=2 / EPSILON, nu=2 / EPSILON).astype(np.int8)


def numerical_svt(data: tuple[float, ...], rng: Generator, size: int) -> Outputs:
    above = _above(data, rng, size, threshold=1, rho=3 / EPSILON, nu=12 / EPSILON)
    released = np.array(data) + rng.laplace(0, 6 / EPSILON, (size, len(data)))
    return _stopped_after(np.where(above, released, 0.0), above, 2)


def svt_3_and_4(data: tuple[float, ...], rng: Generator, size: int) -> Outputs:
    return np.concatenate([svt_3(data, rng, size, 2), svt_4(data, rng, size, 2)], axis=1)


FILTER_BITS = 20
HASHES = 4
SALT = 0
"""Chosen so that some neighbouring values have filters without a common bit."""


def bloom_filter(value: int) -> Outputs:
    bits = np.zeros(FILTER_BITS, dtype=np.int8)
    for hashing in range(HASHES):
        digest = blake2b(f"{SALT} {hashing} {value}".encode(), digest_size=4).digest()
        bits[int.from_bytes(digest, "little") % FILTER_BITS] = 1
    return bits


def _permanent(value: int, rng: Generator, size: int, f: float) -> Outputs:
    drawn = rng.random((size, FILTER_BITS), dtype=np.float32)
    return np.where(drawn < f / 2, np.int8(1), np.where(drawn < f, np.int8(0), bloom_filter(value)))


def one_time_rappor(data: int, rng: Generator, size: int) -> Outputs:
    return _permanent(data, rng, size, 0.95)


def rappor(data: int, rng: Generator, size: int) -> Outputs:
    kept = _permanent(data, rng, size, 0.75)
    return (rng.random((size, FILTER_BITS), dtype=np.float32) < np.where(kept == 1, 0.55, 0.45)).astype(np.int8)


def laplace_parallel(data: float, rng: Generator, size: int) -> Outputs:
    return data + rng.laplace(0, 1 / 0.005, (size, 20))


def prefix_sum(data: tuple[float, ...], rng: Generator, size: int) -> Outputs:
    return np.cumsum(np.array(data) + rng.laplace(0, 1 / EPSILON, (size, len(data))), axis=1)


# --- which inputs, and what others have shown -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A mechanism of the suite: the pairs of inputs that may be searched, and published lower bounds at 90 % (text).

    `sniper` and `stat_dp`: reference runs with 2e8 outputs a side. `limits`: what the best event, known in advance, shows at
    1e6, 1e7 and 2e8. `part`: how much of the limit at 1e7 an auditor is expected to show.
    """

    name: str
    mechanism: Callable[..., Outputs]
    pairs: tuple[tuple[Any, Any], ...]
    sniper: str
    stat_dp: str
    limits: tuple[str, str, str]
    truth: str
    outputs: Literal["bits", "reals"] = "reals"
    part: float = 0.95


def _one_moves(n: int) -> tuple[tuple[Any, Any], ...]:
    ones = (1,) * n
    return ((ones, (0, *ones[1:])), (ones, (2, *ones[1:])))


def _all_move(n: int) -> tuple[tuple[Any, Any], ...]:
    ones, half = (1,) * n, n // 2
    others = (
        (2,) + (0,) * (n - 1),
        (0,) + (2,) * (n - 1),
        (2,) * half + (0,) * (n - half),
        (2,) * n,
        (0,) * n,
    )
    crossed = ((1,) * half + (0,) * (n - half), (0,) * half + (1,) * (n - half))
    return (*_one_moves(n), *((ones, other) for other in others), crossed)


SCALARS = ((0, 1), (0, -1), (9, 10))
VALUES = tuple((value, value + 1) for value in range(-10, 10))

_NONE = ("", "", "")

SUITE: tuple[Subject, ...] = (
    Subject(
        name="Laplace",
        mechanism=laplace,
        pairs=SCALARS,
        sniper=".0976",
        stat_dp=".0998",
        limits=(".0965", ".0989", ".0998"),
        truth=".1",
    ),
    Subject(
        name="TruncatedGeometric",
        mechanism=truncated_geometric,
        pairs=((2, 1), (1, 0), (5, 4)),
        sniper=".1156",
        stat_dp=".1169",
        limits=(".1145", ".1167", ".1175"),
        truth="ln 1.125",
    ),
    Subject(
        name="NoisyHist1",
        mechanism=noisy_histogram,
        pairs=_one_moves(5),
        sniper=".0978",
        stat_dp=".0994",
        limits=(".0965", ".0989", ".0998"),
        truth=".1",
    ),
    Subject(
        name="NoisyHist2",
        mechanism=noisy_histogram_scale_inverted,
        pairs=_one_moves(5),
        sniper="4.602",
        stat_dp="10.002 (above the truth)",
        limits=("9.655", "9.890", "9.975"),
        truth="10",
    ),
    Subject(
        name="NoisyMax1",
        mechanism=noisy_max_laplace,
        pairs=_all_move(5),
        sniper=".0925",
        stat_dp=".0921",
        limits=(".0878", ".0925", ".0941"),
        truth=".0948 on these inputs",
    ),
    Subject(
        name="NoisyMax2",
        mechanism=noisy_max_exponential,
        pairs=_all_move(5),
        sniper=".0979",
        stat_dp=".0997",
        limits=(".0936", ".0980", ".0995"),
        truth=".1",
    ),
    Subject(
        name="NoisyMax3",
        mechanism=noisy_max_laplace_value,
        pairs=_all_move(5),
        sniper=".2488",
        stat_dp=".1991",
        limits=(".2305", ".2438", ".2486"),
        truth=".25",
    ),
    Subject(
        name="NoisyMax4",
        mechanism=noisy_max_exponential_value,
        pairs=_all_move(5),
        sniper=".3534",
        stat_dp=".1988",
        limits=("1.059", "2.153", "4.133"),
        truth="inf",
        part=0.85,
    ),
    Subject(
        name="SVT1",
        mechanism=svt_1,
        pairs=_all_move(QUERIES),
        sniper=".0858",
        stat_dp=".0298",
        limits=(".0662", ".0815", ".0870"),
        truth=".0885 on these inputs",
    ),
    Subject(
        name="SVT2",
        mechanism=svt_2,
        pairs=_all_move(QUERIES),
        sniper=".0859",
        stat_dp=".0407",
        limits=(".0661", ".0813", ".0867"),
        truth="about .088",
    ),
    Subject(name="SVT3", mechanism=svt_3, pairs=_all_move(QUERIES), sniper=".1822", stat_dp=".1793", limits=_NONE, truth="inf"),
    Subject(
        name="SVT4",
        mechanism=svt_4,
        pairs=_all_move(QUERIES),
        sniper=".1696",
        stat_dp=".1719",
        limits=(".1464", ".1641", ".1706"),
        truth=".175",
    ),
    Subject(
        name="SVT5",
        mechanism=svt_5,
        pairs=_all_move(QUERIES),
        sniper="1.761",
        stat_dp="14.314",
        limits=("9.690", "11.998", "14.996"),
        truth="inf",
    ),
    Subject(
        name="SVT6",
        mechanism=svt_6,
        pairs=_all_move(QUERIES),
        sniper=".2720",
        stat_dp=".3220",
        limits=(".2825", ".3588", ".4063"),
        truth="inf as n grows",
    ),
    Subject(
        name="NumericalSVT",
        mechanism=numerical_svt,
        pairs=_all_move(QUERIES),
        sniper=".0345",
        stat_dp="error",
        limits=_NONE,
        truth="<= .1",
    ),
    Subject(
        name="SVT34Parallel",
        mechanism=svt_3_and_4,
        pairs=_all_move(QUERIES),
        sniper=".2616",
        stat_dp=".1963",
        limits=_NONE,
        truth="inf",
    ),
    Subject(
        name="OneTimeRAPPOR",
        mechanism=one_time_rappor,
        pairs=VALUES,
        sniper=".5999",
        stat_dp=".4706",
        limits=(".7463", ".7836", ".7969"),
        truth=".8007 (disjoint filters)",
    ),
    Subject(
        name="RAPPOR",
        mechanism=rappor,
        pairs=VALUES,
        sniper=".3008 (above the truth of its pair)",
        stat_dp=".2416",
        limits=(".3466", ".3833", ".3963"),
        truth=".4001",
    ),
    Subject(
        name="LaplaceParallel",
        mechanism=laplace_parallel,
        pairs=SCALARS,
        sniper=".0350",
        stat_dp=".0135",
        limits=(".0315", ".0489", ".0652"),
        truth=".1",
        part=0.85,
    ),
    Subject(
        name="PrefixSum",
        mechanism=prefix_sum,
        pairs=_all_move(QUERIES),
        sniper=".5774",
        stat_dp=".3516",
        limits=(".8700", ".9569", ".9902"),
        truth="1.0",
    ),
    Subject(
        name="FloatLaplace",
        mechanism=laplace,
        pairs=SCALARS,
        sniper=".2521",
        stat_dp="",
        limits=("9.171", "11.482", ""),
        truth="inf",
        outputs="bits",
        part=9 / 11.482,
    ),
)
