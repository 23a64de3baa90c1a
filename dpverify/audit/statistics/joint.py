"""The exact joint test of p <= ratio q + delta from two independent binomial counts: a certified supremum over q.

For a region R = {(x, y): x >= critical(y)} with rising critical values, Pr_{p,q}(R) rises with p and falls with q, so that
under the claim it is largest on the edge p = ratio q + delta; what is left is one nuisance parameter q. Following Berger
and Boos (1994), q is only searched in a confidence set of level 1 - beta, and beta is added:

    the claim is rejected at level alpha   iff   beta + sup { F(q): q in C } <= alpha,    F(q) = Pr_{ratio q + delta, q}(R).

C needs no more than the two exact bounds that the claim leaves: q <= upper(Y), and lower(X) <= p <= ratio q + delta.

The supremum is a theorem, not a search. F is a polynomial in q, and its K-th derivative is an expectation over R of
products of Krawtchouk polynomials, which are orthogonal for the binomial law; Cauchy-Schwarz gives

    |F^(K)(q)| <= sqrt(M K!) I(q)^(K/2),   M = sup F,   I(q) = ratio^2 n1 / (p (1-p)) + n2 / (q (1-q)).

So on a cell of half-width h Chebyshev interpolation at K points errs by at most 2 sqrt(M) (h sqrt(I) / 2)^K / sqrt(K!): a few
dozen evaluations cover ten standard deviations. Near the ends of [0, 1], where I has a pole, finite differences
of an indicator (at most 2^K) bound the derivatives instead. The maximum of the interpolant is bounded from a
fine Chebyshev grid (Ehlich and Zeller 1964). An evaluation of F is a sum of positive doubles between two certified
anchors; its rounding is bounded by a count of its operations, and what lies outside its windows by geometric series.

A region with steps of several counts of Y holds the region with a critical value for each: what it says is an upper bound
too. Nearby pairs (p, q) are answered from one row of probabilities of either side (`tilted`), far ones from rows of their own.

Nothing here chooses a region or solves for epsilon or delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpverify.arithmetic.precision import working_precision
from dpverify.audit.statistics import tails
from dpverify.audit.statistics.ordering import Floats, Integers
from dpverify.audit.statistics.tilted import UNDERFLOW, UNIT, Blocks, Rows, geometric


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """{(x, y): x >= critical[(y - first) // stride]}: `critical` is non-decreasing, so that a stride longer than 1, of which
    each count is taken for the first, makes the region larger. Outside of first..last nothing is known."""

    draws: int
    other_draws: int
    first: int
    critical: Integers
    stride: int = 1
    _known: list[_Tilted | None] = field(default_factory=list, compare=False, repr=False)

    @property
    def last(self) -> int:
        """The last y with a critical value."""
        return min(self.first + len(self.critical) * self.stride - 1, self.other_draws)

    def at(self, low: int, high: int) -> Integers:
        """The critical values for y = low..high."""
        if low < self.first or high > self.last:
            raise AssertionError(f"critical values for y in [{low}, {high}] were asked for and not computed")
        return self.critical[(np.arange(low, high + 1) - self.first) // self.stride]


def windows(trials: int, p: float, small: float) -> tuple[int, int]:
    """Counts outside which Bin(trials, p) has about the mass `small` or less. A guess: what it has is bounded elsewhere."""
    w = math.sqrt(-2 * math.log(small))
    spread = w * math.sqrt(trials * p * (1 - p)) + w * w / 3
    low, high = math.floor(trials * p - spread), math.ceil(trials * p + spread + 1)
    return max(0, min(low, trials)), max(0, min(high, trials))


def _mass(trials: int, p: Floats, first: int, last: int) -> Rows:
    """The probabilities of first, first + 1, ..., each by itself.

    One is certified; from there each is a neighbour times (n - j)/(j + 1) p/(1 - p) or its inverse. That count is the mode for
    the middle p. Where it is too improbable for a double at some p, there is no row to scale, and
    the rest is bounded by 1.
    """
    anchor = min(max(int((trials + 1) * float(p[len(p) // 2])), first), last)
    with working_precision(tails.working_bits(trials)):
        ways = tails.log_choose(trials, anchor)
        exact = [arb(one) for one in p]
        certain = [float((ways + anchor * one.log() + (trials - anchor) * (1 - one).log()).exp()) for one in exact]
    odds = (p / (1 - p))[:, np.newaxis]
    j = np.arange(first, last, dtype=np.float64)
    ratios = (trials - j) / (j + 1)
    split = anchor - first
    values = np.empty((len(p), last - first + 1))
    values[:, split] = 1.0
    with np.errstate(over="ignore"):  # of rows that are lost
        np.cumprod(ratios[split:] * odds, axis=1, out=values[:, split + 1 :])
        if split:
            np.cumprod(1 / (ratios[split - 1 :: -1] * odds), axis=1, out=values[:, split - 1 :: -1])
    lost = np.array(certain) < _LEAST_ANCHOR
    values[lost] = 0.0
    values *= np.array(certain)[:, np.newaxis]
    below, above = np.zeros(len(p)), np.zeros(len(p))
    if first > 0:
        below = geometric(values[:, 0], first / ((trials - first + 1) * odds[:, 0]))
    if last < trials:
        above = geometric(values[:, -1], (trials - last) / (last + 1) * odds[:, 0])
    return Rows(values, (8 * values.shape[1] + 64) * UNIT, np.where(lost, 1.0, below), np.where(lost, 1.0, above))


_LEAST_ANCHOR = 1e-250
"""A certified probability below this is too near to underflow for its neighbours to be scaled by it."""


def region_probability(region: Region, p: float, q: float, small: float) -> tuple[float, float]:
    """(value, error): Pr_{p,q}(R) lies in value +- error, for doubles 0 < p <= 1 and 0 < q < 1. `small` sizes the windows."""
    value, error = region_probabilities(region, np.array([p]), np.array([q]), small)
    return float(value[0]), float(error[0])


def region_probabilities(region: Region, p: Floats, q: Floats, small: float) -> tuple[Floats, Floats]:
    """The same for several pairs (p, q) near each other, whose windows are joined: either all p are below 1, or all are 1."""
    found = _by_tilting(region, p, q, small) if p.max() < 1 and len(p) > 1 else None
    return _each_alone(region, p, q, small) if found is None else found


def _each_alone(region: Region, p: Floats, q: Floats, small: float) -> tuple[Floats, Floats]:
    """A row of probabilities for each p and each q."""
    low, high = _joint_window(region.other_draws, q, small)
    y = _mass(region.other_draws, q, low, high)
    critical = region.at(low, high)
    if p.min() >= 1:
        inside: Floats = np.sum(y.values[:, critical <= region.draws], axis=1)
        return inside, inside * 2 * y.error + y.below + y.above + UNDERFLOW
    first, last = _joint_window(region.draws, p, small)
    x = _mass(region.draws, p, first, last)
    table = np.empty((len(p), x.values.shape[1] + 2))  # Pr(X >= c) for c < first, first, ..., last, > last
    table[:, 0], table[:, -1] = 1.0, 0.0
    np.cumsum(x.values[:, ::-1], axis=1, out=table[:, -2:0:-1])
    places = np.minimum(np.maximum(critical - (first - 1), 0), table.shape[1] - 1)
    value: Floats = np.einsum("ij,ij->i", y.values, table[:, places])  # np.dot may start threads that spin on a busy machine
    error = value * 1.01 * (x.error + y.error + (table.shape[1] + y.values.shape[1]) * UNIT)
    return value, error + x.below + x.above + y.below + y.above + UNDERFLOW


@dataclass(frozen=True, slots=True)
class _Tilted:
    """The counts of either side in blocks, the x so that every critical value begins one. `places`: how many blocks of x lie
    below the critical value of each block of y; -1 where all x that have a probability here are at least as large."""

    x: Blocks
    y: Blocks | None
    places: Integers

    @staticmethod
    def of(region: Region, p: Floats, q: Floats, small: float) -> _Tilted | None:
        """Blocks for all y of the region and all x that matter at these p, and at others near them."""
        middle = len(p) // 2
        starts = np.arange(region.first, region.last + 1, region.stride)
        y = Blocks.of(region.other_draws, float(q[middle]), starts, region.last)
        first, last = _joint_window(region.draws, p, small)
        spare = (last - first) // 24
        first, last = max(0, first - spare), min(region.draws, last + spare)
        critical = np.minimum(region.critical, last + 1)
        first = max(first, min(int(critical[0]), last))
        longest = max((last - first) // LONGEST_PART, 1)
        starts = np.append(first, critical[(critical > first) & (critical <= last)])
        starts = starts[np.diff(starts, prepend=-1) > 0]
        if np.diff(starts, append=last + 1).max() > longest:
            starts = np.union1d(starts, np.arange(first, last + 1, longest))
        x = Blocks.of(region.draws, float(p[middle]), starts, last)
        places = np.where(critical < first, -1, np.searchsorted(starts, critical))
        return None if x is None else _Tilted(x, y, places)

    def reaches(self, region: Region, p: Floats, q: Floats, small: float) -> bool:
        """Whether these blocks hold all counts that matter."""
        first, last = _joint_window(region.draws, p, small)
        low, high = _joint_window(region.other_draws, q, small)
        start = int(self.x.starts[0])
        enough = last <= self.x.last and (first >= start or int(region.critical[0]) >= start)
        return enough and low >= region.first and high <= region.last


LONGEST_PART = 500
"""No block is longer than the window of x divided by this: so that tilting takes few terms."""


def _tilted(region: Region, p: Floats, q: Floats, small: float) -> _Tilted | None:
    """The blocks of a region; the last ones are remembered."""
    if not region._known or (region._known[0] is not None and not region._known[0].reaches(region, p, q, small)):
        region._known[:] = [_Tilted.of(region, p, q, small)]
    return region._known[0]


def _by_tilting(region: Region, p: Floats, q: Floats, small: float) -> tuple[Floats, Floats] | None:
    """The same from one row of probabilities of either side, taken once for a region; None where that does not reach."""
    known = _tilted(region, p, q, small)
    x = None if known is None else known.x.rows(p)
    if known is None or x is None:
        return None
    y = None if known.y is None else known.y.rows(q)
    if y is None:  # these q lie far apart, or are near 0
        if region.stride > 1:
            return None
        y = _mass(region.other_draws, q, region.first, region.last)
    table = np.empty((len(p), x.values.shape[1] + 2))  # 1; Pr(X in block b or beyond) for each b; 0
    table[:, 0], table[:, -1] = 1.0, 0.0
    np.cumsum(x.values[:, ::-1], axis=1, out=table[:, -2:0:-1])
    value: Floats = np.einsum("ij,ij->i", y.values, table[:, known.places + 1])
    error = value * 1.01 * (x.error + y.error + (table.shape[1] + y.values.shape[1]) * UNIT)
    if known.places[0] < 0:  # else no x below the first block lies in the region
        error = error + x.below
    return value, error + x.above + y.below + y.above + UNDERFLOW


def _joint_window(trials: int, p: Floats, small: float) -> tuple[int, int]:
    return windows(trials, float(p.min()), small)[0], windows(trials, float(p.max()), small)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """The edge p = ratio q + delta of a claim, for doubles that are upper bounds of the true ratio and delta."""

    ratio: float
    delta: float

    def p(self, q: float) -> float:
        """Rounded up, and at most 1."""
        return min(1.0, (self.ratio * q * (1 + 4 * UNIT) + self.delta) * (1 + 4 * UNIT))

    def each_p(self, q: Floats) -> Floats:
        """The same for each of several q."""
        return np.minimum(1.0, (self.ratio * q * (1 + 4 * UNIT) + self.delta) * (1 + 4 * UNIT))


def supremum(region: Region, edge: Edge, low: float, high: float, level: float) -> float:
    """An upper bound of F on [low, high], certified; within a part 1e-3 or so of the supremum where that is near `level`."""
    small = 1e-7 * level
    corner = (1 - edge.delta) / edge.ratio * (1 - 8 * UNIT) if edge.ratio > 0 else math.inf
    best = 0.0
    if high > corner:  # beyond it the claim allows p = 1, where F falls with q
        start = max(low, corner)
        value, error = region_probability(region, 1.0, start, small)
        best = value + error
        high = corner
    ends = np.linspace(low, high, 3) if 0 < low < high else np.empty(0)
    if len(ends) and edge.p(high) < 1:
        _tilted(region, edge.each_p(ends), ends, small)  # once for all cells
    while low < high:
        end = _cell_end(region, edge, low, high, level)
        best = max(best, _cell_bound(region, edge, low, end, small))
        low = end
    return min(1.0, best)


NODES = 28
_MARGIN = 1e-3


def _cell_end(region: Region, edge: Edge, low: float, high: float, level: float) -> float:
    """As far as one interpolation reaches from `low`: its error is a part _MARGIN of `level` if F is about `level` there."""
    goal = _MARGIN * level

    def fits(end: float) -> bool:
        fisher, plain = _remainders(region, edge, low, end)
        return min(fisher * math.sqrt(level), plain) <= goal

    if fits(high):
        return high
    good, bad = low, high
    for _ in range(200):
        middle = (good + bad) / 2 if good > 0.5 * bad or good == low else math.sqrt(good * bad)
        if fits(middle):
            good = middle
        else:
            bad = middle
        if good > low and bad - good <= 0.05 * (good - low):
            break
    return good


def _remainders(region: Region, edge: Edge, low: float, high: float) -> tuple[float, float]:
    """(a, b): interpolation at NODES points of [low, high] errs by at most min(a sqrt(sup F), b)."""
    k = NODES
    half = (high - low) / 2
    p_low, p_high = edge.p(low), edge.p(high)
    root_x = edge.ratio * math.sqrt(region.draws / max(min(p_low * (1 - p_low), p_high * (1 - p_high)), _TINY))
    root_y = math.sqrt(region.other_draws / max(min(low * (1 - low), high * (1 - high)), _TINY))
    log_factor = math.log(2) + k * math.log(half / 2)
    fisher = log_factor + k * math.log(math.hypot(root_x, root_y)) - _LOG_FACTORIALS[k] / 2
    plain_x, plain_y = 2 * edge.ratio * region.draws, 2 * region.other_draws
    x_terms = np.minimum(_ORDERS * math.log(root_x) + _LOG_FACTORIALS / 2, _ORDERS * math.log(plain_x))
    y_terms = np.minimum(_ORDERS * math.log(root_y) + _LOG_FACTORIALS / 2, _ORDERS * math.log(plain_y))
    terms = _LOG_FACTORIALS[k] - _LOG_FACTORIALS - _LOG_FACTORIALS[::-1] + x_terms[::-1] + y_terms
    top = float(terms.max())
    plain = log_factor - _LOG_FACTORIALS[k] + top + math.log(float(np.exp(terms - top).sum()))
    return math.exp(min(fisher + 1e-9, 700)), math.exp(min(plain + 1e-9, 700))


_TINY = 1e-280
_ORDERS = np.arange(NODES + 1, dtype=np.float64)
_LOG_FACTORIALS = np.array([math.lgamma(i + 1) for i in range(NODES + 1)])


def _cell_bound(region: Region, edge: Edge, low: float, high: float, small: float) -> float:
    points, grid, inflation, lebesgue = _chebyshev(NODES)
    middle, half = (low + high) / 2, (high - low) / 2
    q = np.minimum(np.maximum(middle + half * points, low), high)
    p = edge.each_p(q)
    values, errors = _at_nodes(region, p, q, small)
    errors = errors + _displacement(region.draws, p, values) + _displacement(region.other_draws, q, values)
    centre = float(values.max() + values.min()) / 2
    interpolant = centre + float(np.abs(np.einsum("ij,j->i", grid, values - centre)).max()) * inflation
    found = interpolant + lebesgue * float(errors.max()) + 1e-12 * float(values.max())
    fisher, plain = _remainders(region, edge, low, high)
    root = (fisher + math.sqrt(fisher * fisher + 4 * found)) / 2
    return min(root * root, found + plain) * (1 + 1e-12)


def _at_nodes(region: Region, p: Floats, q: Floats, small: float) -> tuple[Floats, Floats]:
    """F at the nodes, which rise or fall in p and q alike; halves of them apart where their windows have little in common."""
    if p.max() < 1 and (found := _by_tilting(region, p, q, small)) is not None:
        return found
    middle = len(p) // 2
    near = all(
        _length(trials, at, small) <= _WIDER * _length(trials, at[middle : middle + 1], small) + _SHORT
        for trials, at in ((region.draws, p), (region.other_draws, q))
    )
    if len(p) == 1 or (near and (p.min() >= 1 or p.max() < 1)):
        return region_probabilities(region, p, q, small)
    halves = [_at_nodes(region, p[part], q[part], small) for part in (slice(0, middle), slice(middle, None))]
    values, errors = (np.concatenate(both) for both in zip(*halves, strict=True))
    return values, errors


def _length(trials: int, p: Floats, small: float) -> int:
    low, high = _joint_window(trials, p, small)
    return high - low


_WIDER, _SHORT = 1.5, 64
"""How much longer a joint window may be than that of its middle: each mass is scaled from the middle, far from underflow."""


def _displacement(trials: int, p: Floats, values: Floats) -> Floats:
    """How far F moves when p moves by a few roundings: |dF/dp| <= min(n, sqrt(F n / (p (1-p)))), by the same two arguments."""
    with np.errstate(divide="ignore"):
        steep = np.where(p < 1, np.sqrt(1.01 * values * trials * p / (1 - p)), math.inf)
    return 32 * UNIT * np.minimum(float(trials), steep)


@lru_cache(maxsize=4)
def _chebyshev(nodes: int) -> tuple[Floats, Floats, float, float]:
    """Chebyshev points of [-1, 1]; interpolation from them to 16 times as many; Ehlich-Zeller factor; Lebesgue constant."""
    many = 16 * nodes
    angles = (np.arange(nodes) + 0.5) * math.pi / nodes
    fine = (np.arange(many) + 0.5) * math.pi / many
    orders = np.arange(nodes)
    to_coefficients = np.cos(np.outer(orders, angles)) * 2 / nodes
    to_coefficients[0] /= 2
    matrix: NDArray[np.float64] = np.cos(np.outer(fine, orders)) @ to_coefficients
    return np.cos(angles), matrix, 1 / math.cos(math.pi * (nodes - 1) / (2 * many)), 2 / math.pi * math.log(nodes) + 1
