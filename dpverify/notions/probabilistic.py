"""Probabilistic DP: how likely it is that the privacy loss exceeds epsilon.

Pairwise reading: for one neighbour at a time. Union reading: the loss against *some* neighbour exceeds epsilon; it needs to
know all neighbours, not a pair, so only pairs that offer `disclosure_tail` and `disclosure_quantile` answer it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb, ctx, fmpq

from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number, to_exact
from dpverify.enclose.refine import check_digits, enclose
from dpverify.errors import ImpossibleRequest, InputError, NotCovered, PrecisionError
from dpverify.notions._checks import ATTEMPTS, checked_delta
from dpverify.notions.approximate import exceeds
from dpverify.notions.pair import Ball, DominatingPair, Source, largest, pairs_of

READINGS = ("pairwise", "union")


def probability(source: Source, epsilon: Number, *, reading: str = "pairwise", digits: int = 15) -> Enclosure:
    """The least delta at which the mechanism is probabilistically (epsilon, delta)-DP: P(L > epsilon), every real epsilon."""
    eps, pairs = to_exact(epsilon, "epsilon"), pairs_of(source)
    tails = [_offered(pair, "disclosure_tail", source) if _union(reading) else _pairwise_tail(pair) for pair in pairs]
    return enclose(
        lambda bits: largest(tail(eps) for tail in tails),
        check_digits(digits),
        what=lambda: f"P(loss > {brief(eps)}) of {source!r}",
        within=(0, 1),
        attempts=ATTEMPTS,
    )


def least_epsilon(source: Source, delta: Number, *, reading: str = "pairwise", digits: int = 15) -> Enclosure:
    """The least epsilon >= 0 (nats) with P(L > epsilon) <= delta, for 0 <= delta < 1: the exact requirement.

    Raises ImpossibleRequest where the loss is infinite with more than this probability.
    """
    exact, pairs = checked_delta(delta), pairs_of(source)
    union = _union(reading)

    def quantile(pair: DominatingPair) -> Ball:
        if exact == 0:
            return pair.loss_limit()
        if union:
            found: Ball = _offered(pair, "disclosure_quantile", source)(exact)
            return found
        quantile: Callable[[fmpq], Ball] | None = getattr(pair, "neighbour_quantile", None)
        return loss_quantile(pair, exact) if quantile is None else quantile(exact)

    def value(bits: int) -> Ball:
        return largest([fmpq(0), *(quantile(pair) for pair in pairs)])

    found = enclose(
        value,
        check_digits(digits),
        what=lambda: f"the loss that {source!r} exceeds with probability {brief(exact)}",
        attempts=ATTEMPTS,
    )
    if found.is_infinite:
        raise ImpossibleRequest(
            f"delta = {brief(exact)}: the privacy loss of {source!r} exceeds every epsilon with more than this probability;"
            " give a larger delta."
        )
    return found


def _pairwise_tail(pair: Any) -> Callable[[fmpq], Ball]:
    """P(L > eps): probabilistic DP is no matter of domination, so a pair that only dominates speaks of the neighbours."""
    tail: Callable[[fmpq], Ball] = getattr(pair, "neighbour_tail", pair.loss_tail)
    return tail


def loss_quantile(pair: Any, tail: fmpq) -> Ball:
    """The least x with P(L > x) <= tail, for 0 < tail < 1: asked of the pair, read off its atoms, or found by bisection."""
    if hasattr(pair, "loss_quantile"):
        known: Ball = pair.loss_quantile(tail)
        return known
    if hasattr(pair, "loss_atoms"):
        return _atom_quantile(pair, tail)
    # Where the loss has atoms at its largest value or at 0, the crossing is exactly there.
    for atom in (pair.loss_limit(), fmpq(0)):
        if isinstance(atom, fmpq) and _crosses_at(pair, atom, tail):
            return atom
    return _bisected(pair, tail)


def _crosses_at(pair: DominatingPair, loss: fmpq, tail: fmpq) -> bool:
    """Whether P(L > loss) <= tail < P(L >= loss)."""
    return not exceeds(lambda: pair.loss_tail(loss), tail, pair) and exceeds(lambda: mass_from(pair, loss), tail, pair)


def mass_from(pair: DominatingPair, eps: fmpq) -> Ball:
    """P(L >= eps), from P(L >= eps) - e^eps Q(L >= eps) = delta(eps) and Q(L >= eps) = 1 - Q(-L > -eps)."""
    against = 1 - arb(pair.reversed().loss_tail(-eps))
    return arb(pair.hockey_stick(eps)) + arb(eps).exp() * against


def _atom_quantile(pair: Any, tail: fmpq) -> Ball:
    above: Ball = fmpq(0)
    for loss, p, _ in pair.loss_atoms():
        above = above + p if isinstance(above, fmpq) and isinstance(p, fmpq) else arb(above) + arb(p)
        if exceeds(lambda: above, tail, pair):  # noqa: B023
            found: Ball = loss
            return found
    raise PrecisionError(f"{pair!r}: its atoms do not add up to more than {1 - tail}; move the request away.", reached=0)


def _bisected(pair: DominatingPair, tail: fmpq) -> arb:
    """A bracket of the crossing, halved to the working precision. Probes are odd multiples, so that ties are unlikely."""

    def over(x: fmpq) -> bool:
        return exceeds(lambda: pair.loss_tail(x), tail, pair)

    reach = fmpq(739, 1000)
    while over(reach):
        reach *= 4
        if reach > 2**40:
            return arb.pos_inf()
    low, high = (fmpq(0), reach) if over(fmpq(0)) else (-reach, fmpq(0))
    while not over(low):
        low *= 4
        if low < -(2**40):
            return arb.neg_inf()
    goal = fmpq(1, 2 ** int(ctx.prec))
    while high - low > goal * max(abs(low), abs(high), _LEAST):
        middle = (low + high) / 2
        low, high = (middle, high) if over(middle) else (low, middle)
    return arb(low).union(arb(high))


_LEAST = fmpq(1, 2**4000)
"""What is nearer to 0 than this counts as 0."""


def _union(reading: str) -> bool:
    if reading not in READINGS:
        raise InputError(f"reading = {reading!r}: choose 'pairwise' (one neighbour at a time) or 'union' (some neighbour).")
    return reading == "union"


def _offered(pair: Any, method: str, source: Source) -> Any:
    if not hasattr(pair, method):
        raise NotCovered(
            f"{source!r}: the union reading is about all neighbours at once, and only additive noise says who they are;"
            " use reading='pairwise'."
        )
    return getattr(pair, method)
