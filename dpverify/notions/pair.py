"""`DominatingPair`: the two output laws from which every privacy notion is computed.

A mechanism hands out one or several; whatever is computed is the supremum over them, and over both orders of each.
"""

from __future__ import annotations

from typing import Protocol

from flint import arb, fmpq


class DominatingPair(Protocol):
    """Two laws P and Q, with privacy loss L = log dP/dQ (nats; +infinity where Q has no mass).

    Every method runs at the working precision in force and returns a ball that contains the value, or the exact value
    where it is rational. An infinite value is the ball `arb.pos_inf()`.
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
