"""The law of the privacy loss L of one pair, P being the law of the output: cdf, quantiles, moments, and discretisations.

A discretisation is certified to lie on its side: rounded up it never claims less privacy loss than there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import arb, fmpq

from dpverify.arithmetic.enclosure import Enclosure, arb_above, arb_below
from dpverify.arithmetic.exact import Number, to_exact
from dpverify.arithmetic.precision import working_precision
from dpverify.enclose.refine import check_digits, enclose, goal_bits
from dpverify.errors import ImpossibleRequest, InputError, NotCovered, PrecisionError
from dpverify.notions._checks import ATTEMPTS, between_zero_and_one, positive
from dpverify.notions.pair import Ball, Source, pairs_of
from dpverify.notions.probabilistic import loss_quantile, mass_from


def of(source: Source) -> PrivacyLoss:
    """The privacy loss of a mechanism that has one pair with the same loss in both orders, or of a given pair.

    Raises InputError where there are several: hand in the pair that is meant.
    """
    if hasattr(source, "hockey_stick"):
        return PrivacyLoss(pair=source)
    pairs = pairs_of(source)
    if len(pairs) != 1:
        raise InputError(f"{source!r} has {len(pairs)} different privacy losses; choose one of its dominating_pairs().")
    return PrivacyLoss(pair=pairs[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyLoss:
    """The law of L = log p(x)/q(x), x drawn from P. All answers are enclosures."""

    pair: Any

    def cdf(self, loss: Number, *, digits: int = 15) -> Enclosure:
        """P(L <= loss)."""
        x = to_exact(loss, "loss")

        def value(bits: int) -> Ball:
            return 1 - self.pair.loss_tail(x)

        return enclose(
            value, check_digits(digits), what=lambda: f"P(L <= {x}) of {self.pair!r}", within=(0, 1), attempts=ATTEMPTS
        )

    def quantile(self, probability: Number, *, digits: int = 15) -> Enclosure:
        """The least x with P(L <= x) >= probability, for 0 < probability < 1. Infinite where L is."""
        tail = 1 - between_zero_and_one(probability, "probability")
        return enclose(
            lambda bits: loss_quantile(self.pair, tail),
            check_digits(digits),
            what=lambda: f"a quantile of the loss of {self.pair!r}",
            attempts=ATTEMPTS,
        )

    def mean(self, *, digits: int = 15) -> Enclosure:
        """E L, the Kullback-Leibler divergence of P from Q, in nats."""
        return enclose(lambda bits: self.pair.mean_loss(), check_digits(digits), what=lambda: f"the mean loss of {self.pair!r}")

    def variance(self, *, digits: int = 15) -> Enclosure:
        """E (L - E L)^2. Raises NotCovered where the pair does not know it."""
        known = getattr(self.pair, "loss_variance", None)
        if known is None and hasattr(self.pair, "loss_atoms"):
            known = self._atom_variance
        if known is None:
            raise NotCovered(
                f"{self.pair!r} knows its loss by tails and power moments only; its variance is not certified here."
            )
        return enclose(lambda bits: known(), check_digits(digits), what=lambda: f"the variance of the loss of {self.pair!r}")

    def _atom_variance(self) -> arb:
        mean, second = arb(0), arb(0)
        for loss, p, _ in self.pair.loss_atoms():
            if p != 0:  # an output that P never gives has loss -infinity
                mean += arb(p) * arb(loss)
                second += arb(p) * arb(loss) ** 2
        return second - mean**2

    def discretised(self, interval: Number, *, rounding: str, tail: Number = "1e-20", digits: int = 15) -> DiscretisedLoss:
        """L rounded to multiples of `interval` > 0: `rounding` "up" (pessimistic) or "down" (optimistic).

        A loss is followed as far as all but `tail` of its mass on either side reaches; beyond, up makes it infinite on the
        right and the first multiple on the left, down the last multiple on the right and -infinity on the left.
        """
        step, rest = positive(interval, "interval"), between_zero_and_one(tail, "tail")
        if rounding not in ("up", "down"):
            raise InputError(f"rounding = {rounding!r}: choose 'up' (pessimistic) or 'down' (optimistic).")
        first, last = self._reach(step, rest)
        if last - first > LARGEST_TABLE:
            raise ImpossibleRequest(
                f"interval = {interval}: {last - first} multiples are needed, more than {LARGEST_TABLE}; give a larger one."
            )
        return DiscretisedLoss(pair=self.pair, interval=step, first=first, last=last, rounding=rounding, digits=digits)

    def _reach(self, step: fmpq, rest: fmpq) -> tuple[int, int]:
        """Multiples of the step beyond which at most about `rest` lies on each side."""
        ends = []
        for share, side in ((1 - rest, -1), (rest, 1)):
            found = arb(loss_quantile(self.pair, share))
            limit = self.pair.loss_limit()
            if not found.is_finite():
                raise ImpossibleRequest(f"tail = {rest}: the loss of {self.pair!r} is infinite with a larger probability.")
            end = int((found.upper().fmpq() / step).ceil()) if side > 0 else int((found.lower().fmpq() / step).floor())
            if side > 0 and isinstance(limit, fmpq):
                end = min(end, int((limit / step).ceil()))
            ends.append(end)
        return ends[0], ends[1]


LARGEST_TABLE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscretisedLoss:
    """A privacy loss on the multiples first..last of `interval`; masses are differences of certified tails.

    Rounded up, its profile is nowhere below the pair's; rounded down, nowhere above.
    """

    pair: Any
    interval: fmpq
    first: int
    last: int
    rounding: str
    digits: int

    def masses(self) -> tuple[tuple[int, float, float], ...]:
        """(multiple, lower, upper) for each multiple: doubles around its probability, rounded outward. What is missing from 1
        is at +infinity (up) or -infinity (down)."""
        with working_precision(goal_bits(self.digits) + 64):
            balls = [(index, arb(self._mass(index))) for index in range(self.first, self.last + 1)]
            return tuple((index, max(0.0, arb_below(mass.lower())), arb_above(mass.upper())) for index, mass in balls)

    def delta(self, epsilon: Number, *, digits: int | None = None) -> Enclosure:
        """The profile of the discretised loss, E max(0, 1 - e^(epsilon - L)): a bound from above (up) or below (down)."""
        eps = to_exact(epsilon, "epsilon")
        start = max(self.first, int((eps / self.interval).floor()) + 1)

        def value(bits: int) -> Ball:
            total = arb(self.pair.loss_tail(self.interval * self.last)) if self.rounding == "up" else arb(0)
            factor = 1 - (arb(eps) - arb(self.interval * start)).exp()
            ratio = (-arb(self.interval)).exp()
            complement = 1 - factor
            for index in range(start, self.last + 1):
                total += arb(self._mass(index)) * (1 - complement)
                complement *= ratio
            return total if start <= self.last or self.rounding == "up" else fmpq(0)

        wanted = check_digits(self.digits if digits is None else digits)
        try:
            return enclose(value, wanted, what=lambda: f"the discretised profile at {eps}", within=(0, 1))
        except PrecisionError:  # no mass is seen there: whatever lies on the right side of what is seen will do
            if self.rounding == "down":
                return Enclosure(fmpq(0), digits=wanted)
            with working_precision(4096):
                return Enclosure(arb(value(4096)).upper().fmpq(), digits=wanted)

    def _mass(self, index: int) -> Ball:
        """P of the losses that are rounded to this multiple."""
        step = self.interval
        if self.rounding == "up":
            above = self.pair.loss_tail(step * index)
            before = fmpq(1) if index == self.first else self.pair.loss_tail(step * (index - 1))
        else:
            above = fmpq(0) if index == self.last else self._from(step * (index + 1))
            before = self._from(step * index)
        both = isinstance(above, fmpq) and isinstance(before, fmpq)
        return before - above if both else arb(before) - arb(above)

    def _from(self, loss: fmpq) -> Ball:
        """P(L >= loss)."""
        return mass_from(self.pair, loss)
