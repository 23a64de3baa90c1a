"""Low-order bits: which multiples of a power of two a floating-point number is, jointly with its magnitude.

A sum of doubles is rounded to a multiple of the larger operand's unit in the last place. Near zero that unit betrays the
operand: 1 + noise is a multiple of 2^-53 however small it is, 0 + noise mostly is not (Mironov, On significance of the
least significant bits for differential privacy, 2012). Such events say nothing about the noise and all about its floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.events.thresholds import plain
from dpverify.audit.exploration import Candidate, Exploration
from dpverify.audit.table import Floats, Kind, Path, Table, name, path_from_json

LARGEST_EXPONENT = 1024
"""Doubles are less than 2 to this."""

FEW = 8
"""One number in so many small enough: from there on looking at these alone is quicker."""

NO_BIT = 10_000
"""The exponent of the lowest set bit of zero, which is a multiple of everything."""


@dataclass(frozen=True, slots=True)
class OnLattice:
    """|x| < 2^below and x is (`on`), or is not, a multiple of 2^exponent. `below` None: any finite x.

    x is the number on `path`, or, with a true `answer` to which the noise was added, its difference from that.
    """

    path: Path
    exponent: int
    below: int | None
    on: bool = True
    answer: float = 0.0

    def mask(self, table: Table) -> NDArray[np.bool_]:
        column = table.column(self.path)
        values = _differences(column.values, self.answer)
        if self.below is None:
            inside = np.isfinite(column.values)
        else:
            end = math.ldexp(1.0, self.below) if self.below < LARGEST_EXPONENT else math.inf
            inside = values < end
            inside &= values > -end
        if not column.plain:
            inside &= column.kinds == Kind.NUMBER
        if np.count_nonzero(inside) * FEW <= len(inside):
            rows = np.flatnonzero(inside)
            inside[rows] = multiples(values[rows], self.exponent) == self.on
        else:
            there = multiples(values, self.exponent)
            inside &= there if self.on else ~there
        return inside

    def describe(self) -> str:
        subject = name(self.path)
        if self.answer:
            subject += f" {'-' if self.answer > 0 else '+'} {plain(abs(self.answer))}"
        small = "" if self.below is None else f"|{subject}| < 2^{self.below} and "
        return f"{small}{subject} is {'' if self.on else 'not '}a multiple of 2^{self.exponent}"

    def to_json(self) -> dict[str, Any]:
        answer = {"answer": self.answer} if self.answer else {}
        of = {"family": "lattice", "path": list(self.path), **answer}
        return {**of, "exponent": self.exponent, "below": self.below, "on": self.on}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> OnLattice:
        below = None if data["below"] is None else int(data["below"])
        answer = float(data.get("answer", 0.0))
        return cls(path_from_json(data["path"]), int(data["exponent"]), below, bool(data["on"]), answer)


def multiples(values: Floats, exponent: int) -> NDArray[np.bool_]:
    """Which numbers are multiples of 2^exponent; without a look at their bits, as far as doubles hold 2^-exponent."""
    if abs(exponent) >= LARGEST_EXPONENT - 1:
        return lowest_bits(values)[0] >= exponent
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        steps = values * math.ldexp(1.0, -exponent)
        found: NDArray[np.bool_] = steps == np.rint(steps)  # what overflows is too large to have so low a bit
    if exponent > 0:
        found &= (steps != 0) | (values == 0)  # and may underflow
    return found


def lowest_bits(values: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The exponent of the lowest set bit of each number, and the least j with |x| < 2^j."""
    with np.errstate(invalid="ignore"):
        fraction, exponent = np.frexp(values)
        mantissa = np.where(np.isfinite(values), fraction * 2.0**53, 0.0).astype(np.int64)
    lowest = np.full(len(values), NO_BIT, dtype=np.int64)
    nonzero = mantissa != 0
    bits = mantissa[nonzero]
    power = np.frexp((bits & -bits).astype(np.float64))[1] - 1
    lowest[nonzero] = exponent[nonzero] - 53 + power
    return lowest, np.where(nonzero, exponent, -NO_BIT).astype(np.int64)


def _differences(values: Floats, answer: float) -> Floats:
    if not answer:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        return values - answer


def propose(exploration: Exploration, path: Path, answer: float = 0.0) -> Iterator[Candidate]:
    """The most promising pair of a magnitude and a power of two, in either direction."""
    sides = []
    for table in exploration.search:
        column = table.column(path)
        finite = (column.kinds == Kind.NUMBER) & np.isfinite(column.values)
        sides.append(lowest_bits(_differences(column.values[finite], answer)))
    pooled = np.concatenate([side[0] for side in sides])
    varied = pooled[pooled != NO_BIT]
    if len(varied) < 2 or varied.min() == varied.max():
        return
    magnitudes = np.concatenate([side[1] for side in sides])
    exponents = np.arange(varied.min() + 1, min(varied.max(), varied.min() + 160) + 1)
    belows = np.arange(max(np.quantile(magnitudes, 1e-4), magnitudes.max() - 80), magnitudes.max() + 1).astype(np.int64)
    on, all_of = zip(*(_counts(*side, exponents, belows) for side in sides), strict=True)
    hits, other_hits = (
        np.concatenate([there.ravel(), (every[:, None] - there).ravel()]) for there, every in zip(on, all_of, strict=True)
    )
    size = on[0].size
    for index, lead in exploration.best(hits, other_hits, keep=2):
        below, exponent = np.unravel_index(index % size, on[0].shape)
        last = below == len(belows) - 1
        event = OnLattice(path, int(exponents[exponent]), None if last else int(belows[below]), index < size, answer)
        yield Candidate(event, lead)


def _counts(
    lowest: NDArray[np.int64], magnitude: NDArray[np.int64], exponents: NDArray[np.int64], belows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many numbers below each magnitude are multiples of each power, and how many numbers there are below it."""
    row = np.searchsorted(belows, magnitude)
    cell = np.searchsorted(exponents, lowest, side="right")
    table = np.bincount(row * (len(exponents) + 1) + cell, minlength=len(belows) * (len(exponents) + 1))
    table = table.reshape(len(belows), -1).cumsum(axis=0)
    at_least = table[:, ::-1].cumsum(axis=1)[:, ::-1]
    return at_least[:, 1:], at_least[:, 0]
