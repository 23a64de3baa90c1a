"""Trade-off functions: the least error of the second kind among tests whose error of the first kind is at most `level`.

With delta(eps) for every real eps,  T(level) = sup over eps of 1 - delta(eps) - e^eps level  and, back again,
delta(eps) = sup over level of 1 - T(level) - e^eps level: each is the convex dual of the other in e^eps.
"""

from __future__ import annotations

from flint import arb, ctx, fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number, to_exact
from dpverify.arithmetic.precision import working_precision
from dpverify.enclose.refine import check_digits, enclose
from dpverify.errors import InputError, NotCovered, shown
from dpverify.guarantees import ApproxDP
from dpverify.notions._checks import ATTEMPTS, not_negative
from dpverify.notions.pair import Ball, DominatingPair, Source, largest, pairs_of


def trade_off(source: Source, level: Number, *, digits: int = 15) -> Enclosure:
    """T(level): no test with P(reject | Q) <= level has P(accept | P) below it, whichever pair and order.

    0 <= level <= 1; T(1) = 0, and T(0) is the mass that P has where Q has some. What is below 2^-20,000 and is not
    told from 0 is enclosed by 0 and a bound. With several pairs it is the convex lower
    envelope of theirs, which is what the profile knows. Returns an Enclosure.
    """
    exact, pairs = _checked_level(level), pairs_of(source)
    if exact == 1:
        return Enclosure(fmpq(0), digits=check_digits(digits))

    def value(bits: int) -> Ball:
        if len(pairs) == 1 and hasattr(pairs[0], "trade_off"):
            known: Ball = pairs[0].trade_off(exact)
            return known
        if exact == 0:
            return _at_zero(pairs, source)
        with working_precision(2 * bits + 64):  # T may be far smaller than the numbers that it is the difference of
            found = dual(pairs, exact, bits)
            if not found > 0 and any(_vanishes(pair, exact) for pair in pairs):
                return fmpq(0)
            if not found > 0 and found.upper() < arb(2) ** -_NEGLIGIBLE:
                raise _Negligible(found)
            return found

    what = f"the trade-off function of {shown(source)} at {exact}"
    try:
        return enclose(value, check_digits(digits), what=lambda: what, within=(0, 1), attempts=ATTEMPTS)
    except _Negligible as negligible:
        return Enclosure(negligible.ball, digits=digits, within=(0, 1))


_NEGLIGIBLE = 20_000


class _Negligible(Exception):
    """A value that is below 2^-20,000 and may be 0: known by an upper bound alone."""

    def __init__(self, ball: arb) -> None:
        super().__init__(ball)
        self.ball = ball


def _vanishes(pair: DominatingPair, level: fmpq) -> bool:
    """Whether T(level) = 0: Q has at least 1 - level where P has nothing. That mass is the limit of the divergence of Q from P,
    which is convex in e^eps and does not rise, so that two equal values are the limit."""
    back = pair.reversed()
    near, far = back.hockey_stick(_PLATEAU), back.hockey_stick(2 * _PLATEAU)
    return isinstance(near, fmpq) and isinstance(far, fmpq) and near == far and near >= 1 - level


_PLATEAU = fmpq(1000)


def guaranteed(guarantee: ApproxDP, level: Number, *, digits: int = 15) -> Enclosure:
    """What (epsilon, delta)-DP alone says: max(0, 1 - delta - e^epsilon level, e^-epsilon (1 - delta - level))."""
    exact = _checked_level(level)
    eps, delta = to_exact(guarantee.epsilon, "epsilon"), to_exact(guarantee.delta, "delta")
    if eps == 0 or exact >= 1 - delta:
        return Enclosure(max(fmpq(0), 1 - delta - exact), digits=check_digits(digits))

    def value(bits: int) -> arb:
        growth = arb(eps).exp()
        return (1 - arb(delta) - growth * arb(exact)).max((1 - arb(delta) - arb(exact)) / growth)

    return enclose(value, check_digits(digits), what=lambda: f"the trade-off of {guarantee} at {exact}", within=(0, 1))


def corner(epsilon: Number, delta: Number, *, digits: int = 15) -> Enclosure:
    """Where the trade-off function of (epsilon, delta)-DP bends, at level = T(level) = (1 - delta)/(1 + e^epsilon)."""
    eps, rest = to_exact(epsilon, "epsilon"), 1 - to_exact(delta, "delta")
    return enclose(
        lambda bits: arb(rest) / (1 + arb(eps).exp()),
        check_digits(digits),
        what=lambda: f"the corner of the trade-off function at epsilon = {eps}",
        within=(0, 1),
    )


def dual(pairs: tuple[DominatingPair, ...], level: fmpq, bits: int) -> arb:
    """sup over eps of 1 - delta(eps) - e^eps level, by bisection on the sign of a slope.

    In x = e^eps the function is concave, with slope Q(L >= eps) - level to the left of x, Q being that of the pair whose
    hockey-stick divergence is delta(eps); it is no smaller than the slope to the right. Between two points with slopes of
    opposite signs the supremum lies under both tangents. The answer is as good as the working precision allows.
    """

    def slope(eps: fmpq) -> arb:
        chosen = pairs[0] if len(pairs) == 1 else max(pairs, key=lambda pair: arb(pair.hockey_stick(eps)).mid())
        return 1 - arb(chosen.reversed().loss_tail(-eps)) - arb(level)

    def value(eps: fmpq) -> arb:
        return 1 - arb(largest(pair.hockey_stick(eps) for pair in pairs)) - arb(eps).exp() * arb(level)

    def rises(eps: fmpq) -> bool | None:
        """The sign of the slope, at as little precision as it takes; None where it cannot be told at the one in force."""
        precision = min(64, int(ctx.prec))
        while True:
            with working_precision(precision):
                found = slope(eps)
            if found > 0 or found < 0:
                return bool(found > 0)
            if precision >= int(ctx.prec):
                return None
            precision = min(2 * precision, int(ctx.prec))

    reach = fmpq(1)
    while reach < _FARTHEST and not (rises(-reach) and rises(reach) is False):
        reach *= 2
    low, high = -reach, reach
    if not rises(low):  # the supremum lies between x = 0, where the value is 0, and x = e^low
        return value(low).union(value(low) + abs(slope(low)) * arb(low).exp())
    for step in range(4 * int(ctx.prec)):
        middle = (low + high) / 2
        upward = rises(middle)
        if upward is None:  # level with the top, as far as can be told
            return value(middle).union(value(middle) + abs(slope(middle)) * (arb(high).exp() - arb(low).exp()))
        low, high = (middle, high) if upward else (low, middle)
        if step % _PATIENCE == 0:
            left, right, width = value(low), value(high), arb(high).exp() - arb(low).exp()
            under, over = left.max(right), (left + slope(low) * width).min(right - slope(high) * width)
            noisy = not under.rad() < over.upper() * arb(2) ** -bits
            if noisy or over - under < under * arb(2) ** -bits or over < arb(2) ** -_SMALLEST:
                break
    return under.union(over)


_PATIENCE = 8
"""Halvings between two looks at how close the tangents have come."""


def _at_zero(pairs: tuple[DominatingPair, ...], source: Source) -> fmpq:
    """T(0) = 1 where no loss is infinite."""
    if all(arb(pair.loss_limit()).is_finite() for pair in pairs):
        return fmpq(1)
    raise NotCovered(
        f"{source!r}: with an unbounded privacy loss T(0) is not told from T near 0 here; ask for a level above 0."
    )


_FARTHEST = 2**20
_SMALLEST = 100_000
"""As a negative power of two: what is smaller counts as 0."""


def _checked_level(level: Number) -> fmpq:
    number = not_negative(level, "level")
    if number > 1:
        raise InputError(f"level = {level}: an error probability is needed; give a number from 0 to 1.")
    return number
