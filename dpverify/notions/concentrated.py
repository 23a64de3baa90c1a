"""Concentrated DP from dominating pairs: the rho of zCDP, and the (epsilon, tau) of mean-concentrated DP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import arb, fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.precision import working_precision
from dpverify.enclose.maximum import maximum
from dpverify.enclose.refine import check_digits, enclose
from dpverify.errors import NotCovered
from dpverify.notions.pair import Ball, Source, is_infinite, largest, pairs_of
from dpverify.notions.renyi import log_moment


def rho(source: Source, *, digits: int = 15) -> Enclosure:
    """The least rho at which the mechanism is rho-zCDP: sup over order > 1 of D_order / order, over all pairs and orders.

    Infinite where no rho will do. In closed form where a family has proved where the supremum lies; for a bounded privacy
    loss a certified search. Raises NotCovered for other unbounded losses, PrecisionError where the search does not close.
    """
    pairs = pairs_of(source)

    def value(bits: int) -> Ball:
        return largest(_rho(pair, bits, source) for pair in pairs)

    return enclose(value, check_digits(digits), what=lambda: f"the zCDP rho of {source!r}")


def _rho(pair: Any, bits: int, source: Source) -> Ball:
    known: Ball | None = pair.zcdp_rho() if hasattr(pair, "zcdp_rho") else None
    if known is not None:
        return known
    if is_infinite(pair.mean_loss()):  # the divergence of order 1 is the least
        return arb.pos_inf()
    limit = arb(pair.loss_limit())
    if not limit.is_finite():
        raise NotCovered(
            f"{source!r}: the privacy loss is unbounded, and no proof says at which order D_order / order is largest, so its"
            " supremum is not certified here; ask for the Renyi divergence at the orders that you use."
        )
    with working_precision(3 * bits + 64):  # near order 1 the log of the moment cancels
        return _searched_rho(pair, limit, bits)


def _searched_rho(pair: Any, limit: arb, bits: int) -> arb:
    """The supremum of K(a) / (a (a - 1)), K = log of the power moment, over 1 <= a.

    At a = 1 the quotient is the mean loss m. K is convex with K(1) = 0, so on an interval it lies under its chord, and the
    quotient under chord(a) / (a (a - 1)). D_a never exceeds the largest loss, so beyond limit / m the quotient is below m.
    """
    mean = arb(pair.mean_loss())
    farthest = ((limit / mean).upper() + 2).mid()

    known: dict[fmpq, arb] = {}

    def moment(order: arb) -> arb:
        exact = order.fmpq()
        if exact not in known:
            known[exact] = arb(log_moment(pair, exact))
        return known[exact]

    def at(order: arb) -> arb:
        return mean if order == 1 else moment(order) / (order * (order - 1))

    def bound(low: arb, high: arb) -> arb:
        if low == 1:
            return moment(high) / (high - 1)
        first, last = moment(low), moment(high)
        slope = (last - first) / (high - low)
        offset = first - slope * low
        over = at(low).max(at(high))
        # Where the derivative of (offset + slope a)/(a^2 - a) vanishes.
        root = (offset * (offset + slope)).nonnegative_part().sqrt()
        for place in ((-offset + root) / slope, (-offset - root) / slope):
            if not (place < low or place > high):
                order = place.max(low).min(high)
                over = over.max((offset + slope * order) / (order * (order - 1)))
        return over

    nearest = 1 + arb(2) ** -(bits + 8)
    ends = [arb(1), nearest]
    while ends[-1] - 1 < farthest - 1:
        ends.append((1 + 2 * (ends[-1] - 1)).mid())
    return maximum(at, bound, ends, bits=bits - 8, known=mean, what=lambda: f"the zCDP rho of {pair!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanConcentrated:
    """The least (epsilon, tau) of mean-concentrated DP: E L <= epsilon, P(L - epsilon > a) <= e^{-a^2/(2 tau^2)}, all a > 0."""

    epsilon: Enclosure
    tau: Enclosure


def mean_concentrated(source: Source, *, digits: int = 15) -> MeanConcentrated:
    """epsilon: the largest mean loss; tau: the least that goes with it.

    In closed form where a family states it, by a certified search for a bounded loss whose tail has a known slope or few
    jumps. Raises NotCovered for other unbounded losses, PrecisionError where the search does not close.
    """
    pairs = pairs_of(source)
    mean = enclose(
        lambda bits: largest(pair.mean_loss() for pair in pairs),
        check_digits(digits),
        what=lambda: f"the mean loss of {source!r}",
    )

    def value(bits: int) -> Ball:
        if any(is_infinite(pair.mean_loss()) for pair in pairs):
            return arb.pos_inf()
        if not all(hasattr(pair, "concentration_tau") or arb(pair.loss_limit()).is_finite() for pair in pairs):
            raise NotCovered(_NO_TAU.format(source))
        with working_precision(3 * bits + 64):  # the loss is compared with its mean, which may be far smaller
            centre = largest(pair.mean_loss() for pair in pairs)
            return largest(_tau(pair, centre, bits, source) for pair in pairs)

    return MeanConcentrated(epsilon=mean, tau=enclose(value, digits, what=lambda: f"the tau of {source!r}"))


_NO_TAU = "{!r}: the privacy loss is unbounded, and no proof says how fast its tail falls; no tau is certified here."


def _tau(pair: Any, centre: Ball, bits: int, source: Source) -> Ball:
    known: Ball | None = pair.concentration_tau() if hasattr(pair, "concentration_tau") else None
    if known is not None:
        return known
    limit = arb(pair.loss_limit())
    if not limit.is_finite():
        raise NotCovered(_NO_TAU.format(source))
    return _searched_tau(pair, arb(centre), limit, bits)


def _searched_tau(pair: Any, centre: arb, limit: arb, bits: int) -> arb:
    """The square root of the supremum over 0 < a < limit - centre of a^2 / (-2 log P(L > centre + a)).

    The tail falls, so on [low, high] the quotient is at most high^2 / (-2 log P(L > centre + low)); where the pair can follow
    its tail with a slope, the mean-value form bounds it as well.
    """
    lowest, highest = centre.lower().fmpq(), centre.upper().fmpq()
    follow = getattr(pair, "tail_with_slope", None)

    def quotient(a: arb, mean: fmpq) -> arb:
        tail = arb(pair.loss_tail(mean + a.fmpq()))
        return a**2 / (-2 * tail.log()) if tail > 0 else arb(0)

    def at(a: arb) -> arb:
        return quotient(a, highest)  # a tail further right is smaller, and so is the quotient

    def bound(low: arb, high: arb) -> arb:
        over = quotient(low, lowest) * (high / low) ** 2 if low > 0 else _at_most(pair, lowest, high)
        if follow is None or not low > 0:
            return over
        box = low.union(high)
        followed = follow(centre + box)
        if followed is None:
            return over
        tail, slope = followed
        height = -tail.log()
        gradient = abs((2 * box * height + box**2 * slope / tail) / (2 * height**2))
        middle = ((low + high) / 2).mid()
        fine = quotient(middle, lowest) + gradient * (high - middle).max(middle - low)
        return fine if fine.upper() < over.upper() else over

    width = (limit - centre).upper()
    if not centre.rad() < width * arb(2) ** -(bits + 20):
        return arb(0).union(arb.pos_inf())  # more precision is needed before a search can end
    ends = [arb(0), *((width * arb(2) ** -k).mid() for k in range(6, 0, -1)), width]
    return maximum(at, bound, ends, bits=bits, known=arb(0), what=lambda: f"the tau of {pair!r}").sqrt()


def _at_most(pair: Any, mean: fmpq, high: arb) -> arb:
    """The bound on [0, high]: the tail is largest at 0."""
    tail = arb(pair.loss_tail(mean))
    return high**2 / (-2 * tail.log()) if tail < 1 else arb.pos_inf()
