"""Anytime-valid evidence against P(S) <= e^epsilon Q(S) + delta: the capital of a bettor who starts with 1.

Under the claim each capital below is a non-negative supermartingale, so that it ever reaches 1/alpha with probability at
most alpha (Ville 1939): the claim may be refuted at the first moment it does, and looking often costs nothing.

What is bet on are pairs y ~ M(D), y' ~ M(D'):  Z = 1[y in S] - e^epsilon 1[y' in S] - delta has mean <= 0 and is at least
-(e^epsilon + delta); the capital is an average of prod (1 + lambda Z) over lambda in [0, 1/(e^epsilon + delta)). It depends
on four counts. Where a coin chose the sides, so that they are not equal in number, `audit.bets` makes the pairs.

Several events are bet on together: each gets a share of the 1 that the bettor starts with, fixed before the first pair, and
the capital is what all shares have become. An average of supermartingales is one, so that events, directions and pairs of
inputs need no correction for their number; what it refutes is the claim, and not the pair or the event that is named.

The average over lambda is a sum over one fixed grid, the same for every claim; a lambda that could lose everything counts
as lost. So every capital falls as epsilon rises, and the least epsilon whose capital is below 1/alpha is a lower
confidence bound that holds at all times at once. Capitals are rounded down; what is left out of a sum only lowers it.

Nothing here stops anything: the engine that draws decides when to look, and what part of alpha the bettor has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpverify.arithmetic.enclosure import arb_above
from dpverify.arithmetic.precision import working_precision
from dpverify.audit.statistics.counts import check, whole
from dpverify.audit.statistics.roots import narrowed
from dpverify.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCounts:
    """Of paired draws y ~ M(D), y' ~ M(D'): how many had S for `both`, the `first` (y) only, the `second` only, `neither`."""

    both: int
    first: int
    second: int
    neither: int

    def __post_init__(self) -> None:
        for name in ("both", "first", "second", "neither"):
            count = whole(getattr(self, name), name)
            if count < 0:
                raise InputError(f"{name} = {count}: a count is not negative.")
            object.__setattr__(self, name, count)


def log_capital(pairs: PairCounts, *, epsilon: float, delta: float) -> float:
    """The natural logarithm of the bettor's capital after these pairs, rounded down; at most 0.0 before the first.

    `epsilon` >= 0 in nats, `delta` in [0, 1]: doubles at least as large as the claim. At stopping time or fixed sample
    alike, the claim is refuted at level alpha where it is >= -log(alpha). -inf where every bet lost.
    """
    check(delta=delta, epsilon=epsilon)
    with working_precision(_BITS):
        ratio, gift = arb(epsilon).exp(), arb(delta)
        outcomes = (
            (pairs.first, 1 - gift),
            (pairs.second, -ratio - gift),
            (pairs.both, 1 - ratio - gift),
            (pairs.neither, -gift),
        )
        return _log_mixture(outcomes)


_BITS = 128
_STAKES = 2.0 ** (-np.arange(80) / 4)
"""The grid of lambda: 1 to 1e-6, four to an octave. A stake within a factor 2^(1/8) of the best grows 98 % as fast."""

_WEIGHTS = (1 / (4 + np.arange(80))) / float(np.sum(1 / (4 + np.arange(80)))) * (1 - 1e-9)
"""More on large stakes, which settle blatant violations; they sum to less than 1, rounding included."""

_SMALL = 10.0
"""Terms that are e^10 times smaller than the largest are left out of the certified sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bet:
    """A `share` of the capital, on one event, against p <= e^epsilon q + delta; `pairs` is what has been seen of it."""

    share: float
    pairs: PairCounts
    epsilon: float
    delta: float


def average_log_capital(bets: Sequence[Bet]) -> float:
    """The logarithm of what all shares together have become, rounded down: log sum share e^(log_capital).

    The shares are positive and at most 1 in all, or InputError is raised; what they lack of 1 is not bet, and not counted.
    Statistical: under the claim it ever reaches -log(alpha) with probability at most alpha. -inf where all is lost.
    """
    shares = sum(bet.share for bet in bets)
    if not bets or min(bet.share for bet in bets) <= 0 or shares > 1 + _ROUNDED_SHARES:
        raise InputError(f"shares of {shares:g} in all: each is positive, and they are at most 1 together.")
    capitals = [(bet.share, log_capital(bet.pairs, epsilon=bet.epsilon, delta=bet.delta)) for bet in bets]
    top = max(capital for _, capital in capitals)
    if math.isinf(top):
        return -math.inf
    with working_precision(_BITS):
        total = sum(
            (arb(share) * (arb(capital) - arb(top)).exp() for share, capital in capitals if capital > -math.inf), arb(0)
        )
        return -arb_above(-(arb(top) + total.log() - _ROUNDED_SHARES).lower())


def needed_log_capital(alpha: float) -> float:
    """-log(alpha), rounded up: the logarithm of the capital that refutes at level alpha."""
    check(alpha=alpha)
    with working_precision(_BITS):
        return arb_above(-arb(alpha).log().lower())


def average_epsilon_lower(bets: Sequence[Bet], alpha: float) -> float:
    """The least epsilon >= 0 at which all bets together have less than 1/alpha, rounded down by 1e-9 or so.

    Their own epsilon plays no part. A lower confidence bound at level alpha, at all times at once, where they share one delta;
    else for the epsilon that the claim has at each of their deltas alike. 0.0 where nothing is shown.
    """
    return _largest_refuted(lambda epsilon: [replace(bet, epsilon=epsilon) for bet in bets], alpha, most=1000.0)


def average_delta_lower(bets: Sequence[Bet], alpha: float) -> float:
    """The least delta in [0, 1) at which all bets together have less than 1/alpha, rounded down by 1e-9 or so.

    Their own delta plays no part; each keeps its epsilon. A lower confidence bound at level alpha on the delta of the claim at
    that epsilon, at all times at once. 0.0 where nothing is shown.
    """
    return _largest_refuted(lambda delta: [replace(bet, delta=delta) for bet in bets], alpha, most=1.0)


def _largest_refuted(at: Callable[[float], list[Bet]], alpha: float, *, most: float) -> float:
    """The largest value, up to `most` or so, at which the bets that `at` gives have 1/alpha together; 0.0 where none."""
    needed = needed_log_capital(alpha)

    def surplus(value: float) -> float:
        return rough_log_capital(at(value)) - needed

    if surplus(0.0) < -_LEEWAY:
        return 0.0
    low, high = 0.0, 1.0
    while high < most and surplus(high) >= 0:
        low, high = high, 2 * high
    low, high = narrowed(surplus, low, high, (surplus(low), surplus(high)), 1e-10 * max(1.0, high))
    for back in (1e-9, 1e-7, 1e-5, 1e-3):
        found = low - back * max(1.0, low)
        if found <= 0:
            return 0.0
        if average_log_capital(at(found)) >= needed:
            return found
    return 0.0


def rough_log_capital(bets: Sequence[Bet]) -> float:
    """About `average_log_capital`, in doubles: to find out when and where the certified one is worth its cost."""
    groups: dict[tuple[float, float], list[Bet]] = {}
    for bet in bets:
        groups.setdefault((bet.epsilon, bet.delta), []).append(bet)
    rough = []
    for (epsilon, delta), group in groups.items():
        counts = np.array([[b.pairs.first, b.pairs.second, b.pairs.both, b.pairs.neither, 1] for b in group], dtype=np.float64)
        shares = np.array([bet.share for bet in group])[:, np.newaxis]
        terms = np.log(_WEIGHTS * shares) + counts @ _log_factors(epsilon, delta)
        rough.append(terms[terms > terms.max(axis=1, keepdims=True) - _SMALL])
    joined = np.concatenate(rough)
    top = float(joined.max())
    return top + math.log(float(np.exp(joined - top).sum()))


_LEEWAY = 1e-6

_ROUNDED_SHARES = 1e-12
"""By how much doubles that are to sum to 1 may exceed it; as much is taken off the logarithm of the capital."""


@lru_cache(maxsize=64)
def _log_factors(epsilon: float, delta: float) -> NDArray[np.float64]:
    """log(1 + stake z) for each outcome of a pair and each stake; last, what puts stakes that could lose all out of the sum."""
    ratio = math.exp(min(epsilon, 700.0))
    outcomes = np.array([1 - delta, -ratio - delta, 1 - ratio - delta, -delta])
    factors = 1 + outcomes[:, np.newaxis] * _STAKES
    logs = np.log(np.maximum(factors, 1e-300))
    return np.vstack([logs, np.where(factors.min(axis=0) > 0, 0.0, -_FAR)])


_FAR = 1e9


def _log_mixture(outcomes: Sequence[tuple[int, arb]]) -> float:
    """log sum_j weight_j prod_i (1 + stake_j z_i)^(n_i) over the stakes that cannot lose everything, rounded down."""
    guess = np.log(_WEIGHTS)
    for count, z in outcomes:
        factor = 1 + _STAKES * float(z)
        guess = guess + np.where(factor > 0, count * np.log(np.maximum(factor, 1e-300)), -np.inf)
    loss = min((z.lower() for _, z in outcomes), key=float)
    total = arb(0)
    best: arb | None = None
    for j in np.flatnonzero(guess > guess.max() - _SMALL):
        stake = arb(float(_STAKES[j]))
        if not 1 + stake * loss > 0:
            continue
        term = arb(float(_WEIGHTS[j])).log()
        for count, z in outcomes:
            if count:
                term += count * (stake * z).log1p()
        best = term if best is None else best
        total += (term - best).exp()
    return -math.inf if best is None else -arb_above(-(best + total.log()).lower())
