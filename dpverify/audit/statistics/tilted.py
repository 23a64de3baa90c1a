"""Binomial probabilities of many p near each other from those of one p, by blocks of counts.

From p0 to p every probability changes by a factor that is exponential in the count,

    Pr(Bin(n, p) = j) = Pr(Bin(n, p0) = j) e^(L + t (j - a)),    t = log(odds(p) / odds(p0)),
    L = a log(p / p0) + (n - a) log((1 - p) / (1 - p0)),

with any count a. On a block with centre m the factor e^(t (j - m)) is a Taylor polynomial of degree TERMS - 1 in t up to a
part x^TERMS / TERMS! e^x, x = |t| times half the width. So moments of the blocks at p0, taken once, give each block at each
p: a further p costs as much as there are blocks, and not as there are counts.

What is returned is in doubles with a proven bound on its error: one probability is certified (`tails`), neighbours follow by
products, and every rounding is counted. Where p is too far from p0 for that bound to be good, nothing is returned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from flint import arb

from dpverify.arithmetic.precision import working_precision
from dpverify.audit.statistics import tails
from dpverify.audit.statistics.ordering import Floats, Integers

UNIT = 2.0**-53

TERMS = 8
"""Moments of a block."""

MOST_TILTED = 0.5
"""How far |t| times half the width of a block may go: there the polynomial errs by a part 2e-7."""

FARTHEST = 600.0
"""Exponents beyond it are near the end of the doubles."""

FAINTEST = 1e-280
"""Probabilities beside that of the count a, below which underflow is near."""

LEAST_CHANGE, LARGEST_CHANGE = -0.9, 9.0
"""Relative changes of p and of 1 - p for which the relative error of log1p(change) is at most 16 units, the change in doubles:
its condition there is at most 4."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Row by row, one for each p, the probabilities of blocks: doubles with relative error `error`; `below` and `above` bound
    the rest."""

    values: Floats
    error: float
    below: Floats
    above: Floats


@dataclass(frozen=True, slots=True)
class Blocks:
    """Counts of Bin(trials, p0) in blocks that begin at `starts` and end at `last`.

    `top` is the probability of the count `anchor`; `moments[d]` are, block by block, the sums of r (j - centre)^d / d!, where r
    is the probability of j beside `top`, with relative error `error`; `ends` are r at both ends.
    """

    trials: int
    p: float
    anchor: int
    top: float
    starts: Integers
    last: int
    centres: Floats
    half: float
    moments: Floats
    ends: tuple[float, float]
    error: float

    @staticmethod
    def of(trials: int, p: float, starts: Integers, last: int) -> Blocks | None:
        """None where the counts lie so far apart that probabilities underflow."""
        first = int(starts[0])
        anchor = min(max(int((trials + 1) * p), first), last)
        with working_precision(tails.working_bits(trials)):
            top = float(tails.probability(anchor, trials, arb(p), 1 - arb(p)))
        j = np.arange(first, last, dtype=np.float64)
        ratios = (trials - j) / (j + 1) * (p / (1 - p))
        split = anchor - first
        beside = np.ones(last - first + 1)
        np.cumprod(ratios[split:], out=beside[split + 1 :])
        if split:
            np.cumprod(1 / ratios[split - 1 :: -1], out=beside[split - 1 :: -1])
        if not (min(beside[0], beside[-1]) >= FAINTEST and top >= FAINTEST):
            return None
        stops = np.append(starts[1:], last + 1)
        centres = (starts + (stops - 1)) / 2
        half = float((stops - 1 - starts).max()) / 2
        places = starts - first
        moments = np.empty((TERMS if half else 1, len(starts)))
        term, away = beside.copy(), np.arange(first, last + 1) - np.repeat(centres, stops - starts)
        for degree in range(len(moments)):
            if degree:
                term *= away
                term /= degree
            moments[degree] = np.add.reduceat(term, places)
        # a product of as many factors as there are counts, each of four roundings; the sums; `top`
        error = (8 * len(beside) + 64 + 2 * half + 4 * TERMS) * UNIT
        return Blocks(trials, p, anchor, top, starts, last, centres, half, moments, (beside[0], beside[-1]), error)

    def rows(self, p: Floats) -> Rows | None:
        """The probabilities of the blocks at each p, 0 < p < 1; None where some p is too far from the one of these blocks."""
        changes = (p - self.p) / self.p, (self.p - p) / (1 - self.p)
        if min(map(np.min, changes)) < LEAST_CHANGE or max(map(np.max, changes)) > LARGEST_CHANGE:
            return None
        hit, missed = map(np.log1p, changes)
        tilt = hit - missed
        level = self.anchor * hit + (self.trials - self.anchor) * missed
        farthest = float(max(abs(self.centres[0] - self.anchor), abs(self.centres[-1] - self.anchor))) + self.half
        steepest = float(np.abs(tilt).max())
        across = steepest * self.half
        largest = float(np.abs(level).max()) + steepest * farthest
        reached = level + np.maximum(tilt * (self.centres[0] - self.anchor), tilt * (self.centres[-1] - self.anchor))
        if across > MOST_TILTED or reached.max() > FARTHEST:  # what underflows is no more than UNDERFLOW in all
            return None
        terms = self._terms(across)
        values = np.multiply(tilt[:, np.newaxis], self.centres - self.anchor)
        values += level[:, np.newaxis]
        np.exp(values, out=values)
        powers = self.top * tilt[:, np.newaxis] ** np.arange(terms)
        values *= self.top * self.moments[0] if terms == 1 else np.einsum("id,dk->ik", powers, self.moments[:terms])
        exponent = 16 * UNIT * float(
            np.max((self.anchor + farthest) * np.abs(hit) + (self.trials - self.anchor + farthest) * np.abs(missed))
        ) + UNIT * (8 * largest + 16)
        polynomial = _cut_off(across, terms)
        # moments of odd degree cancel: what they are off by is a part of the first one, and so of the sum, times e^(2 across)
        error = (self.error + exponent * (1 + exponent) + polynomial) * math.exp(2 * across) * (1 + 1e-6)
        return Rows(values, error, *self._rest(p, tilt, level)) if error < LARGEST_ERROR else None

    def _terms(self, across: float) -> int:
        """As many as show, at most all."""
        return next((terms for terms in range(1, len(self.moments)) if _cut_off(across, terms) < SHOWS), len(self.moments))

    def _rest(self, p: Floats, tilt: Floats, level: Floats) -> tuple[Floats, Floats]:
        """Bounds for what lies outside of the blocks."""
        first, last, odds = int(self.starts[0]), self.last, p / (1 - p)
        below, above = np.zeros(len(p)), np.zeros(len(p))
        if first > 0:
            end = self.top * self.ends[0] * np.exp(level + tilt * (first - self.anchor))
            below = geometric(end, first / ((self.trials - first + 1) * odds))
        if last < self.trials:
            end = self.top * self.ends[1] * np.exp(level + tilt * (last - self.anchor))
            above = geometric(end, (self.trials - last) / (last + 1) * odds)
        return below, above


def _cut_off(across: float, terms: int) -> float:
    """What the terms of e^x beyond the first few add to it, at most, for |x| <= `across`."""
    return across**terms / math.factorial(terms) * math.exp(across)


SHOWS, LARGEST_ERROR = 1e-6, 1e-4


def geometric(end: Floats, ratio: Floats) -> Floats:
    """A bound for what lies beyond the end of a window: the ratios of neighbours fall from here on."""
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = np.minimum(1.0, end * ratio / (1 - ratio) * (1 + 2 * LARGEST_ERROR) + UNDERFLOW)
    return np.where(ratio >= 1, 1.0, bound)


UNDERFLOW = 1e-290
"""More than all that doubles can lose by underflow in a window."""
