"""`DominatingPair`: the two output laws from which every privacy notion is computed.

A mechanism hands out one or several; whatever is computed is the supremum over them, and over both orders of each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

from flint import arb, fmpq

from dpverify.errors import InputError

Ball: TypeAlias = "arb | fmpq"
"""A ball that contains the value, or the exact value."""


class DominatingPair(Protocol):
    """Two laws P and Q, with privacy loss L = log dP/dQ (nats; +infinity where Q has no mass).

    Every method runs at the working precision in force and returns a ball that contains the value, or the exact value
    where it is rational. An infinite value is the ball `arb.pos_inf()`.

    A pair that knows more may offer any of these too, and is then asked instead of searched:

    - `is_symmetric`: True where (Q, P) answers every question as (P, Q) does;
    - `log_power_moment(order)`: log of `power_moment`, which may lie beyond every exponent (None: not known);
    - `loss_variance()`: the variance of L under P;
    - `loss_quantile(tail)`: the least x with P(L > x) <= tail, for 0 < tail < 1;
    - `trade_off(level)`: the least P(not S) over events S with Q(S) <= level, for 0 < level < 1;
    - `loss_atoms()`: where L takes finitely many values, ((x, P(L = x), Q(L = x)), ...) in decreasing order of x;
    - `tail_with_slope(ball)`: P(L > eps) and its derivative over all eps in a ball (None where it cannot be followed);
    - `disclosure_tail(eps)`, `disclosure_quantile(tail)`: as `loss_tail` and `loss_quantile`, for the largest loss against
      any neighbour at all;
    - `neighbour_tail(eps)`, `neighbour_quantile(tail)`: as `loss_tail` and `loss_quantile`, the largest over the neighbours
      themselves, where the pair dominates them and is none of them (probabilistic DP does not follow from domination);
    - `concentration_tau()`: the least tau of mean-concentrated DP (None: not known);
    - `zcdp_rho()`: the supremum of D_order(P || Q) / order over order > 1, where the family has a proof (None: not known);
    - `gdp_mu()`: the least mu whose Gaussian trade-off function lies on or under this pair's (None: not known).
    """

    def hockey_stick(self, eps: fmpq) -> arb | fmpq:
        """sup over events S of P(S) - e^eps Q(S), for every real eps."""

    def loss_tail(self, eps: fmpq) -> arb | fmpq:
        """P(L > eps)."""

    def loss_limit(self) -> arb | fmpq:
        """The essential supremum of L under P."""

    def power_moment(self, order: fmpq) -> arb | fmpq:
        """The integral of p^order q^(1 - order), for a real order > 0: e^((order - 1) D_order(P || Q))."""

    def mean_loss(self) -> arb | fmpq:
        """E_P L, the Kullback-Leibler divergence of P from Q."""

    def reversed(self) -> DominatingPair:
        """The pair (Q, P)."""


Source: TypeAlias = Any
"""What a notion is asked about: a mechanism (anything with `dominating_pairs()`), one pair, or several."""


def pairs_of(source: Source) -> tuple[DominatingPair, ...]:
    """All pairs to take the supremum over, both orders included (one, where it says that it is symmetric)."""
    offered = getattr(source, "dominating_pairs", None)
    pairs: Iterable[Any] = offered() if offered is not None else source if isinstance(source, (list, tuple)) else (source,)
    found: list[DominatingPair] = []
    for pair in pairs:
        if not hasattr(pair, "hockey_stick"):
            raise InputError(f"{source!r} offers no dominating pair; give a mechanism of the catalogue or a pair.")
        found.append(pair)
        if not getattr(pair, "is_symmetric", False):
            found.append(pair.reversed())
    return tuple(found)


def largest(values: Iterable[Ball]) -> Ball:
    """The maximum of several values, exact where all of them are."""
    listed = list(values)
    exact = [value for value in listed if isinstance(value, fmpq)]
    if len(exact) == len(listed):
        return max(exact)
    found = arb(max(exact)) if exact else arb.neg_inf()
    for value in listed:
        if not isinstance(value, fmpq):
            found = found.max(value)
    return found


def is_infinite(value: Ball) -> bool:
    """Whether a value is certainly +infinity."""
    return isinstance(value, arb) and bool(value == arb.pos_inf())
