"""Pairs of laws on finitely many outcomes: hockey-stick divergences as sums of positive parts, every branch decided exactly.

A law is a list of weights, each a sum of rational multiples of exponentials of rationals, over their common total. Whether
p_i > e^eps q_i is then decidable, ties included, for every rational eps; and whatever is rational is returned as a rational.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, ctx, fmpq

from dpverify.arithmetic.exponentials import ExponentialSum, total
from dpverify.enclose.effort import spend
from dpverify.errors import InputError


class FiniteLaw:
    """Probabilities weight_i / total on the outcomes 0, 1, 2 ..."""

    def __init__(self, weights: Sequence[ExponentialSum]) -> None:
        self.weights = tuple(weights)
        self.total = total(self.weights)

    def __len__(self) -> int:
        return len(self.weights)

    def probability(self, outcomes: Sequence[int]) -> arb | fmpq:
        """P(outcome is one of `outcomes`)."""
        return total(self.weights[i] for i in outcomes).over(self.total)

    def probabilities(self) -> list[arb | fmpq]:
        """P(outcome = i) for each i."""
        return [weight.over(self.total) for weight in self.weights]

    def cumulative(self) -> list[arb | fmpq]:
        """P(outcome <= i) for each i but the last."""
        found, sums = ExponentialSum(), []
        for weight in self.weights[:-1]:
            found = found + weight
            sums.append(found.over(self.total))
        return sums


def rational_law(probabilities: Sequence[fmpq]) -> FiniteLaw:
    """A law with rational probabilities."""
    return FiniteLaw([ExponentialSum.rational(probability) for probability in probabilities])


@dataclass(frozen=True, kw_only=True)
class FinitePair:
    """Two laws on the same finitely many outcomes. Implements `notions.pair.DominatingPair`."""

    p: FiniteLaw
    q: FiniteLaw
    is_symmetric: bool = False

    def __post_init__(self) -> None:
        if len(self.p) != len(self.q):
            raise InputError(f"two laws on {len(self.p)} and {len(self.q)} outcomes: give laws on the same outcomes.")

    def hockey_stick(self, eps: fmpq) -> arb | fmpq:
        gain = [i for i in range(len(self.p)) if self.order(i, eps) > 0]
        if not gain:
            return fmpq(0)
        mass, against = self.p.probability(gain), self.q.probability(gain)
        if isinstance(against, fmpq) and (against == 0 or eps == 0):
            return mass - against if isinstance(mass, fmpq) else mass - arb(against)
        return arb(mass) - arb(eps).exp() * arb(against)

    def loss_tail(self, eps: fmpq) -> arb | fmpq:
        return self.p.probability([i for i in range(len(self.p)) if self.order(i, eps) > 0])

    def loss_limit(self) -> arb | fmpq:
        return self._loss(self.descending[0][0])

    def power_moment(self, order: fmpq) -> arb | fmpq:
        if order == 1:
            return fmpq(1)
        moment = arb(0)
        for p, q in self._logarithms():
            if not q.is_finite():
                if order > 1:
                    return arb.pos_inf()
                continue
            spend()
            moment += (p * arb(order) + q * arb(1 - order)).exp()
        return moment

    def _logarithms(self) -> list[tuple[arb, arb]]:
        """(log p, log q) of the losses that P has, at the working precision."""
        store: dict[int, list[tuple[arb, arb]]] = self.__dict__.setdefault("_logarithms_at", {})
        precision = int(ctx.prec)
        if precision not in store:
            atoms = [(p, q) for _, p, q in self.loss_atoms() if p != 0]
            store[precision] = [(arb(p).log(), arb.neg_inf() if q == 0 else arb(q).log()) for p, q in atoms]
        return store[precision]

    def zcdp_rho(self) -> arb | fmpq | None:
        """E L, where the losses are l, 0 and -l and 0 is not too likely.

        With p = P(l) = Q(-l), q = P(-l) = Q(l) and c = P(0), the log of the moment of order 1/2 + u is g(u^2), with
        g(s) = log(c + 2 sqrt(p q) cosh(l sqrt(s))), and order (order - 1) = u^2 - 1/4: D_order/order is a slope of g from 1/4
        on, largest at 1/4 where g is concave from there. With x = l sqrt(s) that is so where c <= 2 sqrt(p q) r(x),
        r(x) = (sinh x cosh x - x)/(x cosh x - sinh x), which is 2 at 0 and grows: a quotient of series with growing ratios
        4^n/(2 n) of their coefficients.
        """
        atoms = self.loss_atoms()
        largest = arb(atoms[0][0])
        if not (self.is_symmetric and len(atoms) <= 3 and largest.is_finite()):
            return None
        if len(atoms) == 3:
            x, between = largest / 2, 2 * (arb(atoms[0][1]) * arb(atoms[0][2])).sqrt()
            least = (x.sinh() * x.cosh() - x) / (x * x.cosh() - x.sinh())
            rest = arb(atoms[1][1])
            if not (rest <= 2 * between or rest <= between * least):
                return None
        return self.mean_loss()

    def mean_loss(self) -> arb | fmpq:
        mean: arb | fmpq = fmpq(0)
        for loss, p, _ in self.loss_atoms():
            if p == 0 or loss == 0:
                continue
            mean = mean + p * loss if all(isinstance(x, fmpq) for x in (mean, p, loss)) else arb(mean) + arb(p) * arb(loss)
        return mean

    def reversed(self) -> FinitePair:
        return FinitePair(p=self.q, q=self.p, is_symmetric=self.is_symmetric)

    def loss_atoms(self) -> tuple[tuple[arb | fmpq, arb | fmpq, arb | fmpq], ...]:
        """(x, P(L = x), Q(L = x)) in decreasing order of x."""
        groups = self.descending
        return tuple((self._loss(group[0]), self.p.probability(group), self.q.probability(group)) for group in groups)

    def order(self, i: int, eps: fmpq) -> int:
        """The sign of p_i - e^eps q_i, certain."""
        mine, theirs = self.p.weights[i], self.q.weights[i]
        quick = mine.ball() * self.q.total.ball() - arb(eps).exp() * theirs.ball() * self.p.total.ball()
        if quick > 0:
            return 1
        if quick < 0:
            return -1
        return (mine * self.q.total - ExponentialSum.exp(eps) * theirs * self.p.total).sign()

    @cached_property
    def descending(self) -> list[list[int]]:
        """Outcomes grouped by equal loss, the largest loss first; outcomes that neither law has are left out."""
        groups: list[list[int]] = []
        for i in range(len(self.p)):
            if self.p.weights[i].terms or self.q.weights[i].terms:
                self._insert(groups, i)
        return groups

    def _insert(self, groups: list[list[int]], i: int) -> None:
        low, high = 0, len(groups)
        while low < high:
            middle = (low + high) // 2
            comparison = self._compare(i, groups[middle][0])
            if comparison == 0:
                groups[middle].append(i)
                return
            low, high = (low, middle) if comparison > 0 else (middle + 1, high)
        groups.insert(low, [i])

    def _compare(self, i: int, j: int) -> int:
        """The sign of p_i/q_i - p_j/q_j."""
        p, q = self.p.weights, self.q.weights
        return (p[i] * q[j] - p[j] * q[i]).sign()

    def _loss(self, i: int) -> arb | fmpq:
        """log p_i/q_i."""
        p, q = self.p.weights[i], self.q.weights[i]
        if not q.terms:
            return arb.pos_inf()
        if not p.terms:
            return arb.neg_inf()
        above, below = p * self.q.total, q * self.p.total
        if len(above.terms) == len(below.terms):
            gap = max(above.terms) - max(below.terms)
            if (below * ExponentialSum.exp(gap)).terms == above.terms:
                return gap
        return (above.ball() / below.ball()).log()
