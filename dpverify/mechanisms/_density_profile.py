"""Profiles of noise with a stated density: where the loss exceeds epsilon is found on balls, and its masses are integrated.

For one order of the pair, P the noise moved up by d and Q the noise (the other order is this one for f(-x)):

- f log-concave: the loss L(x) = log f(x - d) - log f(x) does not fall, and the event is x > t. Any x0 may stand for t: with
  a < t < b known and |L - eps| <= eta at x0, the profile exceeds P(X > x0 - d) - e^eps P(X > x0) by at most
  P(a < X + d < b) min(1, e^eta - 1), since |L - eps| <= eta between x0 and t. So a flat loss needs no unique t.
- f even and unimodal: the event lies right of d/2, and is found by halving boxes until balls show the sign of L - eps. A box
  that stays undecided adds at most its width times the largest |p - e^eps q| = p |1 - e^(eps - L)|, which is small too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from flint import arb, ctx, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.interface import Value
from dpverify.arithmetic.precision import working_precision
from dpverify.enclose.decide import is_above
from dpverify.enclose.effort import spend
from dpverify.enclose.refine import enclose
from dpverify.errors import ImpossibleRequest, NotCovered
from dpverify.mechanisms import _density_second_opinion
from dpverify.mechanisms._density import Density
from dpverify.mechanisms._density_tails import steepness
from dpverify.mechanisms._event import Measured

if TYPE_CHECKING:
    from dpverify.mechanisms.custom_noise import CustomNoise

_ZERO, _ONE = fmpq(0), fmpq(1)
_GALLOP = 400
_STEPS = 400
_BEND = 4
"""Evaluations that a second derivative costs."""
_MOST_BOXES = 20_000


# One order of the pair.


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """The event where the loss exceeds eps, as far as it is decided.

    `intervals`: disjoint (no high end: infinite). `missed`: they have a divergence of P from Q that is below the whole by at
    most this. `unsure`: what the points have of which it is not known on which side they lie, the P-mass or the Q-mass.
    """

    intervals: tuple[tuple[arb, arb | None], ...]
    missed: arb
    unsure: arb
    undecided: tuple[tuple[arb, arb], ...] = ()


def loss(law: Density, x: arb, d: arb) -> arb:
    """L(x). Far out it costs more: an exponential of a number of n bits before the point takes about n times as long."""
    mantissa, exponent = x.mid().man_exp()
    spend(1 + max(0, int(mantissa).bit_length() + int(exponent)))
    found: arb = law.loss(BALLS, (x, d))
    return found


def half_line(law: Density, eps: arb, d: arb) -> Region:
    """The event of a log-concave density."""
    if eps == 0 and law.is_even:
        return _right_of_half(law, d)
    low = None if law.low is None else arb(law.low) + d
    high = None if law.high is None else arb(law.high)
    if low is not None and high is not None and low >= high:
        return Region(intervals=((low.lower(), None),), missed=arb(0), unsure=arb(0))
    start = _middle(low, high, arb(law.middle) + d / 2)
    left, right = _bracket(law, eps, d, start, low, high)
    best, nearest = start, arb.pos_inf()
    goal = arb(2) ** (4 - int(ctx.prec)) * (1 + abs(eps))
    below: arb | None = None
    above: arb | None = None
    side = 0
    for _ in range(_STEPS):
        x = (left + right) / 2
        if below is not None and above is not None:
            chord = (left * above - right * below) / (above - below)
            x = chord if left < chord < right else x
        x = x.mid()
        if not left < x < right:
            break
        gap = loss(law, x, d) - eps
        if gap.is_nan():
            break
        if abs(gap).upper() < nearest:
            best, nearest = x, abs(gap).upper()
        if nearest <= goal:
            break
        if gap > 0:
            right, above, below = x, gap.mid(), (below / 2 if below is not None and side > 0 else below)
            side = 1
        elif gap < 0:
            left, below, above = x, gap.mid(), (above / 2 if above is not None and side < 0 else above)
            side = -1
        else:
            break
    if nearest <= goal:
        left, right = _tightened(law, eps, d, best, left, right)
    p, unsure = _masses(law, left, right, d)
    if nearest == 0:  # a root, up to which and beyond which the sign is known: the loss does not fall
        return Region(intervals=((best, None),), missed=arb(0), unsure=unsure)
    if nearest < 1 and left <= best <= right:  # between here and the root |p - e^eps q| <= (e^nearest - 1) p
        return Region(intervals=((best, None),), missed=(p * nearest.expm1()).upper(), unsure=unsure)
    # No root inside: the loss stays on one side up to an end of the common support, to which the bracket has shrunk.
    return Region(intervals=((right, None),), missed=p, unsure=unsure)


def _tightened(law: Density, eps: arb, d: arb, root: arb, left: arb, right: arb) -> tuple[arb, arb]:
    """Points as near to a root as the sign of L - eps is known, where that is near."""
    for power in (int(ctx.prec) - 16, int(ctx.prec) // 2, int(ctx.prec) // 4):
        away = arb(2) ** -power * (1 + abs(root))
        low, high = (root - away).lower(), (root + away).upper()
        if left < low and loss(law, low, d) < eps:
            left = low
        if high < right and loss(law, high, d) > eps:
            right = high
        if left == low and right == high:
            break
    return left, right


def _masses(law: Density, left: arb, right: arb, d: arb) -> tuple[arb, arb]:
    """Bounds on the P-mass, and on both the P-mass and the Q-mass, between two points."""
    box, share = left.union(right), (right - left) / law.total()
    p, q = law.value(BALLS, box - d).abs_upper() * share, law.value(BALLS, box).abs_upper() * share
    return p.upper(), p.max(q).upper()


def _middle(low: arb | None, high: arb | None, guess: arb) -> arb:
    if low is not None and high is not None:
        return ((low + high) / 2).mid()
    if low is not None:
        return guess.max(low + 1).mid()
    return (guess if high is None else guess.min(high - 1)).mid()


def _bracket(law: Density, eps: arb, d: arb, start: arb, low: arb | None, high: arb | None) -> tuple[arb, arb]:
    """Points with L < eps and L > eps, or the ends of the common support."""
    left, right = (start if low is None else low.lower()), (start if high is None else high.upper())
    if low is None:
        left = _galloped(law, eps, d, start, -1)
    if high is None:
        right = _galloped(law, eps, d, start, 1)
    return left, right


def _galloped(law: Density, eps: arb, d: arb, x: arb, side: int) -> arb:
    """A point left (side -1) of x with L < eps, or right of it (side 1) with L > eps."""
    step = arb(1)
    gap = arb(0)
    for _ in range(_GALLOP):
        gap = (loss(law, x, d) - eps) * side
        if gap > 0:
            return x
        if not gap.is_finite():
            raise Undecided
        x, step = (x + side * step).mid(), 2 * step
    raise _out_of_reach(law) if gap < 0 else Undecided


class Undecided(Exception):
    """The sign of L - eps cannot be told at this precision."""


def _out_of_reach(law: Density) -> NotCovered:
    return NotCovered(f"{law}: no output was found whose loss passes epsilon; the loss may be bounded by it.")


def intervals(law: Density, eps: arb, d: arb) -> Region:
    """The event of an even unimodal density, for eps >= 0: it lies right of d/2."""
    return _right_of_half(law, d) if eps == 0 else _scanned(law, eps, d, (d / 2).lower())


def _right_of_half(law: Density, d: arb) -> Region:
    """The event of an even unimodal density at eps = 0: all that is right of d/2."""
    half = d / 2
    missed, unsure = _masses(law, half.lower(), half.upper(), d) if half.rad() > 0 else (arb(0), arb(0))
    return Region(intervals=((half.mid(), None),), missed=missed, unsure=unsure)


def everywhere(law: Density, eps: arb, d: arb) -> Region:
    """The event of any density, for eps >= 0."""
    if law.low is not None:
        return _scanned(law, eps, d, (arb(law.low) + d).upper())
    first = -(2 + max((abs(k) for k in law.kinks), default=_ZERO))
    for _ in range(_GALLOP):
        _, high = steepness(law.mirrored_as_it_is.slope_forms, arb(-first))
        if d * high < eps:  # left of `first` the loss is d times a slope of the mirror image
            return _scanned(law, eps, d, arb(first))
        first = 2 * first
    raise NotCovered(f"{law}: the sign of its loss far to the left is not known here.")


def _scanned(law: Density, eps: arb, d: arb, first: arb) -> Region:
    """The event right of `first`."""
    inner: list[tuple[arb, arb | None]] = []
    missed = unsure = arb(0)
    undecided: list[tuple[arb, arb]] = []
    top, beyond = _top(law, eps, d)
    if beyond is None:
        missed = unsure = (law.upper((top - d).lower()) / law.total()).upper()
        undecided.append((top, arb.pos_inf()))
    breaks = sorted({*(arb(k).mid() for k in law.kinks), *((arb(k) + d).mid() for k in law.kinks)}, key=float)
    edges = [first, *(b for b in breaks if first < b < top), top]
    tolerance = arb(2) ** -(int(ctx.prec) // 2 + 8)
    waiting = list(pairwise(edges))[::-1]
    seen = 0
    while waiting:
        left, right = waiting.pop()
        seen += 1
        gap = _gap(law, eps, d, left, right)
        if gap > 0:
            if inner and inner[-1][1] is not None and not inner[-1][1] < left:
                inner[-1] = (inner[-1][0], right)
            else:
                inner.append((left, right))
        elif not gap < 0:
            middle = ((left + right) / 2).mid()
            wide = right - left > tolerance * (1 + abs(middle)) and seen < _MOST_BOXES and left < middle < right
            if wide and not all(_is_noise(law, eps, d, x) for x in (middle, left, right)):
                waiting += [(middle, right), (left, middle)]
            else:
                share = abs(gap).upper().expm1().min(1) if gap.is_finite() else 1
                p, both = _masses(law, left, right, d)
                unsure = (unsure + both).upper()
                missed = (missed + p * share).upper()
                undecided.append((left, right))
    if beyond:
        if inner and inner[-1][1] is not None and not inner[-1][1] < top:
            inner[-1] = (inner[-1][0], None)
        else:
            inner.append((top, None))
    return Region(intervals=tuple(inner), missed=missed, unsure=unsure, undecided=tuple(undecided))


def _top(law: Density, eps: arb, d: arb) -> tuple[arb, bool | None]:
    """A point beyond which the loss is above eps everywhere (True), nowhere (False), or of unknown sign (None)."""
    if law.high is not None:
        return arb(law.high), True
    top = (d + 2 + max((abs(k) for k in law.kinks), default=_ZERO)).upper()
    for _ in range(_GALLOP):
        low, high = steepness(law.slope_forms, (top - d).lower())
        if low.is_finite() and high.is_finite() and d * abs(low).max(abs(high)) < eps:
            return top, False
        if -high * d > eps:
            return top, True
        top = (2 * top).mid()
        if top > arb(2) ** (int(ctx.prec) + 64) and (law.upper((top - d).lower()) / law.total()) < arb(2) ** -int(ctx.prec):
            return top, None
    return top, None


def _gap(law: Density, eps: arb, d: arb, left: arb, right: arb) -> arb:
    """L - eps on a box, by the mean value theorem about its middle."""
    box, middle = left.union(right), ((left + right) / 2).mid()
    before, here = law.piece_at(middle - d), law.piece_at(middle)
    at_middle = loss(law, middle, d) - eps
    value = at_middle + (before.slope(BALLS, box - d) - here.slope(BALLS, box)) * (box - middle)
    if before is here and not (value > 0 or value < 0):
        # far out two slopes nearly cancel: their difference is -d times a bend between
        spend(_BEND)
        bent = at_middle - d * here.bend(BALLS, box.union(box - d)) * (box - middle)
        value = bent if bent.is_finite() and not bent.rad() > value.rad() else value
    if not value.is_finite():  # next to a kink where the slope is infinite
        value = loss(law, box, d) - eps
    return value


def _is_noise(law: Density, eps: arb, d: arb, x: arb) -> bool:
    """Whether the sign of L - eps at a point is not told at this precision, so that a smaller box would not help."""
    gap = loss(law, x, d) - eps
    return not (gap > 0 or gap < 0)


def one_order(law: Density, eps: arb, d: arb) -> Measured:
    """The hockey-stick divergence of P from Q at eps >= 0, and its slopes."""
    if law.is_log_concave and law.steepest_loss is not None and not eps < d * law.steepest_loss:
        # At the limit itself balls do not tell: the divergence is at most that at a somewhat smaller eps.
        inside = (d * law.steepest_loss * (1 - arb(2) ** -40)).lower()
        most = arb(0) if eps >= d * law.steepest_loss else one_order(law, inside, d).value.abs_upper()
        return Measured(value=arb(0).union(most), by_shift=arb(0), by_epsilon=arb(0))
    try:
        region = half_line(law, eps, d) if law.is_log_concave else intervals(law, eps, d)
    except Undecided:
        return Measured(value=arb.nan(), by_shift=arb.nan(), by_epsilon=arb.nan())
    p, q = region_masses(law, region, d)
    weighted = eps.exp() * q
    by_shift = arb(0)
    for low, high in region.intervals:
        by_shift += law.value(BALLS, (low - d).mid()) - (0 if high is None else law.value(BALLS, (high - d).mid()))
    half = region.missed / 2
    return Measured(value=p - weighted + half + arb(0, 1) * half, by_shift=by_shift / law.total(), by_epsilon=-weighted)


def region_masses(law: Density, region: Region, d: arb) -> tuple[arb, arb]:
    """P and Q of the intervals. The ends are exact; d may be a ball."""
    p, q = arb(0), arb(0)
    for low, high in region.intervals:
        p += _inside(law, low - d, None if high is None else high - d)
        q += _inside(law, low, high)
    return p / law.total(), q / law.total()


def _inside(law: Density, low: arb, high: arb | None) -> arb:
    """The integral of f from low to high (None: infinity), which may have radii."""
    value = law.upper(low.mid()) if high is None else law.between(low.mid(), high.mid())
    for end in (low, high):
        if end is not None and end.rad() > 0:
            value += arb(0, 1) * (end.rad() * law.value(BALLS, end).abs_upper()).upper()
    return value


# Both orders.


def measured(m: Any, law: Density, eps: Value, d: Value) -> Measured:
    """The larger of both orders at eps >= 0."""
    if m.name != "arb":
        value = _density_second_opinion.profile(m, law, eps, d)
        return Measured(value=value, by_shift=m.rational(0), by_epsilon=m.rational(0))
    first = one_order(law, eps, d)
    if law.is_even:
        return first
    second = one_order(law.mirrored, eps, d)
    larger = first if first.value.mid() >= second.value.mid() else second
    return Measured(value=first.value.max(second.value), by_shift=larger.by_shift, by_epsilon=larger.by_epsilon)


def certain(law: Density, eps: fmpq, d: fmpq) -> fmpq | None:
    """0 where no loss exceeds eps, 1 where the supports are disjoint, else None."""
    if law.low is not None and law.high is not None and d >= law.high - law.low:
        return _ONE
    if law.is_log_concave or eps == 0:
        return None
    with working_precision(128):
        region = intervals(law, arb(eps), arb(d))
    return _ZERO if not region.intervals and not region.undecided else None


def refuse_below_plateau(law: Density, delta: fmpq, d: fmpq) -> None:
    """Raise ImpossibleRequest where outputs that only one neighbour can produce have more probability than delta."""
    for side in (law, law.mirrored):
        if side.high is None:
            continue

        def alone(side: Density = side) -> arb:
            return _inside(side, arb(side.high) - arb(d), None) / side.total()

        if (side.low is not None and d >= side.high - side.low) or is_above(
            alone, delta, what=lambda: f"the least delta of {law}"
        ):
            raise ImpossibleRequest(
                f"delta = {Enclosure(delta, digits=6).decimal()}: outputs that only one neighbour can produce have a larger "
                "probability, so no finite epsilon will do; give a larger delta."
            )


def pair_delta(law: Density, eps: fmpq, d: fmpq, digits: int) -> Enclosure:
    """The larger divergence of both orders, at one shift, of any density."""
    size = abs(eps)

    def value(bits: int) -> arb:
        values = []
        for side in (law,) if law.is_even else (law, law.mirrored):
            known = side.is_log_concave or side.is_symmetric_unimodal
            region = None if known else everywhere(side, arb(size), arb(d))
            if region is None:
                values.append(one_order(side, arb(size), arb(d)).value)
            else:
                p, q = region_masses(side, region, arb(d))
                values.append(p - arb(size).exp() * q + region.missed / 2 + arb(0, 1) * region.missed / 2)
        found = values[0] if len(values) == 1 else values[0].max(values[1])
        return found if eps >= 0 else arb(eps).exp() * found - arb(eps).expm1()

    exact = certain(law, size, d) if law.is_log_concave or law.is_symmetric_unimodal else None
    if exact is not None and (eps >= 0 or exact == 1):
        return Enclosure(exact, digits=digits)
    return enclose(value, digits, what=lambda: f"the divergence of {law} at shift {d}", within=(0, 1), attempts=2)


# Inverses.


def shift(m: Any, noise: CustomNoise, eps: fmpq, delta: fmpq) -> Value | None:
    """The d at which the profile passes delta; None where the engine's own search will do."""
    if _engine_will_do(noise):
        return None

    def value(d: Value) -> Value:
        return noise.measured(m, m.exact(eps), d).value

    if m.name != "arb":
        from dpverify.enclose import second_opinion

        return second_opinion.positive_root(m, value, m.exact(delta), increasing=True)
    return _crossing(value, delta, increasing=True)


def epsilon(m: Any, noise: CustomNoise, delta: fmpq, d: fmpq) -> Value | None:
    """The eps at which the profile passes delta; None where the engine's own search will do."""
    if _engine_will_do(noise):
        return None

    def value(eps: Value) -> Value:
        return noise.measured(m, eps, m.exact(d)).value

    if m.name != "arb":
        from dpverify.enclose import second_opinion

        return second_opinion.positive_root(m, value, m.exact(delta), increasing=False)
    return _crossing(value, delta, increasing=False)


def _engine_will_do(noise: CustomNoise) -> bool:
    """Whether the profile is positive wherever the engine may look for a root."""
    law = noise.law
    if not law.is_log_concave:
        return False
    if noise.loss_limit(_ONE) is not None:
        return True
    return law.grows_without_bound or law.mirrored.grows_without_bound


def _crossing(value: Callable[[arb], arb], target: fmpq, *, increasing: bool) -> arb:
    """The x > 0 at which a monotone function, which may be 0 on a stretch, passes the target; at the working precision."""
    precision = int(ctx.prec)

    def is_left(x: arb) -> bool:
        above = is_above(lambda: value(x), target, what=lambda: f"the profile at {x.str(10)}")
        return above is not increasing

    low = high = arb(1)
    step = arb(2)
    if is_left(low):
        while is_left(high):
            low, high, step = high, (high * step).mid(), step * step
    else:
        while not is_left(low):
            low, high, step = (low / step).mid(), low, step * step
    goal = arb(2) ** (8 - precision)
    with working_precision(precision + 40):
        level = arb(target)
        left = right = arb.nan()
        side = 0
        for _ in range(_STEPS):
            if high - low <= low * goal:
                break
            x = ((low + high) / 2 if high < 4 * low else (low * high).sqrt()).mid()
            chord = (low * right - high * left) / (right - left)
            if low < chord.mid() < high:
                x = chord.mid()
            here = value(x)
            height = (here.log() - level.log()).mid() if here > 0 else arb.nan()
            height = height if increasing else -height
            is_below = (here < level) if increasing else (here > level)
            if not is_below and not (here > level or here < level):
                is_below = is_left(x)
            if is_below:
                low, left, right, side = x, height, (right / 2 if side < 0 else right), -1
            else:
                high, right, left, side = x, height, (left / 2 if side > 0 else left), 1
    return low.union(high)
