"""Certified maxima of sums of concave functions of one number each, under a bound on the sum of squares.

    maximise  g_1(c_1) + ... + g_r(c_r)   over   0 <= c_k <= cap_k,  c_1^2 + ... + c_r^2 <= radius^2.

From below: a point that is certainly allowed. From above: the Lagrangian dual. For every multiplier mu >= 0 the maximum is
at most mu radius^2 + sum_k max_c [g_k(c) - mu c^2]; where g_k + m_k c^2/2 is concave, phi = g_k - mu c^2 satisfies

    phi(c) <= phi(c_k) + phi'(c_k) (c - c_k) - (m_k + 2 mu) (c - c_k)^2/2   for every c in [0, cap_k],

at any point c_k of our choice. With the same point in both, on the sphere or with mu = 0, the two differ by

    sum_k sup_c [phi'(c_k) (c - c_k) - (m_k + 2 mu) (c - c_k)^2/2]  <=  sum_k phi'(c_k)^2/(2 (m_k + 2 mu))

(and mu times what is left of radius^2, where the point is not on the sphere), which is the square of the error of the point.
How point and multiplier were found need not be trusted. A coordinate that ends at its cap (an active box constraint)
contributes nothing as long as phi' >= 0 there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from flint import arb, ctx, fmpq

from dpverify.arithmetic.precision import working_precision

_STEPS = 80
_SEARCH_PRECISION = 96
_EDGE = fmpq((1 << 16) - 1, 1 << 16)
_NEAREST = 4096
_FINE = 3e-15
"""Relative accuracy of the search in floating point: the certified bounds are off by its square."""
_REFINEMENTS = 12


Place: TypeAlias = "arb | fmpq"


class Concave(Protocol):
    """A concave function g on [0, cap], with g(0) = 0. Methods run at the working precision in force and are certain, but
    for `bend`, which only makes the search quick."""

    cap: fmpq
    increasing: bool
    """Whether g is known to increase on [0, cap]."""

    def value(self, c: Place) -> arb:
        """g(c)."""

    def slope(self, c: Place) -> arb:
        """g'(c)."""

    def bend(self, c: Place) -> arb:
        """About g''(c)."""

    def modulus(self) -> arb:
        """An m >= 0 such that g + m c^2/2 is concave on [0, cap]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allotment:
    """How the square of the radius is shared out, and the multiplier: a starting point, nothing rests on it."""

    point: tuple[fmpq, ...]
    multiplier: fmpq


@dataclass(frozen=True, slots=True, kw_only=True)
class BallMaximum:
    """`value`: a ball that holds the maximum; `allotment`: where it is, good enough to start from nearby."""

    value: arb
    allotment: Allotment


def ball_maximum(parts: Sequence[Concave], radius_squared: fmpq, start: Allotment | None = None) -> BallMaximum:
    """The maximum of the sum, as accurate as the values of the parts allow at the working precision, or nearly so."""
    caps = tuple(part.cap for part in parts)
    if all(part.increasing for part in parts) and sum((cap * cap for cap in caps), fmpq(0)) <= radius_squared:
        total = sum((part.value(cap) for part, cap in zip(parts, caps, strict=True)), arb(0))
        return BallMaximum(value=total, allotment=Allotment(point=caps, multiplier=fmpq(0)))
    best = _improved(parts, radius_squared, start or _searched(parts, radius_squared))
    if start is not None and not best.suffices():
        again = _improved(parts, radius_squared, _searched(parts, radius_squared))
        best = again if again.gap < best.gap else best
    return BallMaximum(value=best.below.union(best.below + best.gap), allotment=best.at)


def _improved(parts: Sequence[Concave], radius_squared: fmpq, start: Allotment) -> _Bounds:
    """The bounds at the start, or after as many steps of Newton's method as help."""
    best = _bounds(parts, radius_squared, start)
    for _ in range(_REFINEMENTS):
        if best.suffices() or not best.gap.is_finite():
            break
        better = _bounds(parts, radius_squared, _refined(parts, radius_squared, best))
        if not better.gap < best.gap:
            break
        best = better
    return best if best.suffices() or not best.gap.is_finite() else _edged(parts, radius_squared, best)


def _edged(parts: Sequence[Concave], radius_squared: fmpq, best: _Bounds) -> _Bounds:
    """Where the maximum lies so close to a cap that the slope changes within the rounding of the place (as t^{p-1} does
    next to t = 0 for p close to 1), its distance from the cap is searched instead, and Newton's method finds the rest."""
    edge = {k for k, c in enumerate(best.at.point) if c > parts[k].cap * _EDGE}
    for _ in range(_REFINEMENTS if edge else 0):
        places = [_next_to_cap(parts[k], best.at.multiplier) if k in edge else c for k, c in enumerate(best.at.point)]
        moved = _bounds(parts, radius_squared, Allotment(point=tuple(places), multiplier=best.at.multiplier))
        if not moved.gap.is_finite():
            break
        better = _bounds(parts, radius_squared, _refined(parts, radius_squared, moved, edge))
        better = better if better.gap < moved.gap else moved
        if not better.gap < best.gap:
            break
        best = better
        if best.suffices():
            break
    return best


def _next_to_cap(part: Concave, multiplier: fmpq) -> fmpq:
    """The cap less about the largest distance at which the slope is still steeper than the multiplier asks."""

    def is_steep(distance: fmpq) -> bool:
        c = part.cap - distance
        return bool(part.slope(c) - 2 * multiplier * c >= 0)

    if is_steep(fmpq(0)):
        return part.cap
    low, high = 1, 2  # powers of two: the distance lies between cap 2^-high and cap 2^-low
    while high < _NEAREST and is_steep(part.cap / (1 << high)):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_steep(part.cap / (1 << middle)) else (low, middle)
    far, near = part.cap / (1 << low), part.cap / (1 << high)
    for _ in range(int(ctx.prec)):
        middle_distance = (far + near) / 2
        far, near = (middle_distance, near) if is_steep(middle_distance) else (far, middle_distance)
    return part.cap - far


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds:
    """The sum at one allowed point, and how much the dual may lie above it."""

    at: Allotment
    point: tuple[Place, ...]
    slopes: tuple[arb, ...]
    below: arb
    gap: arb

    def suffices(self) -> bool:
        """Whether the gap is no worse than the rounding of the value, or small for the working precision."""
        return bool(self.gap <= (2 * self.below.rad()).max(abs(self.below) * arb(2) ** (_SPARED - int(ctx.prec))))


_SPARED = 24
"""Bits by which a maximum may be less accurate than the working precision, where more would cost another step."""


def _bounds(parts: Sequence[Concave], radius_squared: fmpq, at: Allotment) -> _Bounds:
    """Both bounds at one point and multiplier. The point is moved onto the sphere where it must be."""
    caps = [part.cap for part in parts]
    places = [min(max(c, fmpq(0)), cap) for c, cap in zip(at.point, caps, strict=True)]
    slack = radius_squared - sum((c * c for c in places), fmpq(0))
    free = _moved(parts, places, radius_squared) if at.multiplier > 0 or slack < 0 else None
    if free is not None:
        left = radius_squared - sum((c * c for k, c in enumerate(places) if k != free), fmpq(0))
        if left <= 0:
            return _Bounds(at=at, point=(), slopes=(), below=arb.neg_inf(), gap=arb.pos_inf())
    # Exact where it can be: at a cap, rounding would lead outside of the domain of the part.
    point: list[Place] = list(places)
    rooms = [arb(cap - c) for c, cap in zip(places, caps, strict=True)]
    if free is not None:
        root = arb(left).sqrt()
        point[free] = root
        rooms[free] = (arb(caps[free]) - root).max(arb(0))
        slack = fmpq(0)
    slopes = tuple(part.slope(c) for part, c in zip(parts, point, strict=True))
    multiplier = at.multiplier
    if free is not None and multiplier == 0:
        multiplier = max((slopes[free] / (2 * point[free])).mid().fmpq(), fmpq(0))
    below, gap = arb(0), arb(multiplier * slack)
    for part, c, room, slope in zip(parts, point, rooms, slopes, strict=True):
        below += part.value(c)
        gap += _excess(slope - 2 * multiplier * c, c, room, part.modulus() + 2 * multiplier)
    settled = Allotment(point=tuple(places), multiplier=multiplier)
    return _Bounds(at=settled, point=tuple(point), slopes=slopes, below=below, gap=arb(gap.upper()))


def _moved(parts: Sequence[Concave], places: list[fmpq], radius_squared: fmpq) -> int | None:
    """The coordinate that takes what the others leave of the square of the radius: the largest that is not at its cap. Where
    that would be more than its cap, it is put there (in `places`), and the next one is tried. With all of them at their caps:
    None if that is allowed, else the one that gains least."""
    for k in sorted(range(len(places)), key=lambda k: places[k], reverse=True):
        if places[k] < parts[k].cap:
            left = radius_squared - sum((c * c for j, c in enumerate(places) if j != k), fmpq(0))
            if left <= parts[k].cap ** 2:
                return k
            places[k] = parts[k].cap
    if sum((c * c for c in places), fmpq(0)) <= radius_squared:
        return None
    return min(range(len(places)), key=lambda k: float(parts[k].slope(places[k])) / float(arb(places[k])))


def _excess(slope: arb, c: Place, room: arb, modulus: arb) -> arb:
    """sup of slope t - modulus t^2/2 over -c <= t <= room, or a little more."""
    ahead = (slope * room).upper().max((slope * -c).upper()).max(arb(0))
    if modulus > 0:
        steepest = abs(slope).upper()
        return ahead.min((steepest * steepest / (2 * modulus)).upper())
    return ahead


# The search: Newton's method on the conditions g_k'(c_k) = 2 mu c_k, sum c_k^2 = radius^2. Nothing below is certified.


def _refined(parts: Sequence[Concave], radius_squared: fmpq, found: _Bounds, held: Collection[int] = ()) -> Allotment:
    """One step of Newton's method in all unknowns together but those `held`, at the working precision."""
    mu = found.at.multiplier
    moves: list[tuple[arb, arb]] = []  # c moves by first + second * (change of mu)
    for k, (part, place, c, slope) in enumerate(zip(parts, found.at.point, found.point, found.slopes, strict=True)):
        rest, bend = slope - 2 * mu * c, part.bend(c) - 2 * mu
        pinned = k in held or (place == part.cap and rest >= 0)
        moves.append((arb(0), arb(0)) if pinned else (-rest / bend, 2 * c / bend))
    change = arb(0)
    if mu > 0:
        excess = arb(radius_squared) - sum((c * (c + 2 * a) for c, (a, _) in zip(found.point, moves, strict=True)), arb(0))
        change = excess / sum((2 * c * b for c, (_, b) in zip(found.point, moves, strict=True)), arb(0))
    placed = []
    for place, c, (first, second), part in zip(found.at.point, found.point, moves, parts, strict=True):
        move = first + second * change
        if not move.is_finite():
            return found.at
        # What is pinned stays exactly where it is.
        placed.append(place if move == 0 else min(max((c + move).mid().fmpq(), fmpq(0)), part.cap))
    return Allotment(point=tuple(placed), multiplier=max(mu + change.mid().fmpq(), mu / 2))


def _searched(parts: Sequence[Concave], radius_squared: fmpq) -> Allotment:
    """Both unknowns from nothing, in floating point."""
    functions = [plainly(part) for part in parts]
    with working_precision(min(int(ctx.prec), _SEARCH_PRECISION)):
        point, multiplier = share(functions, float(arb(radius_squared)))
    return allotment(point, multiplier, [part.cap for part in parts])


def allotment(point: Sequence[float], multiplier: float, caps: Sequence[fmpq]) -> Allotment:
    """From floating point. What is at its cap there is at its cap."""
    places = (
        cap if c >= float(arb(cap)) else min(fmpq(*c.as_integer_ratio()), cap) for c, cap in zip(point, caps, strict=True)
    )
    return Allotment(point=tuple(places), multiplier=fmpq(*multiplier.as_integer_ratio()))


Plain: TypeAlias = tuple[Callable[[float], float], Callable[[float], float], float]
"""slope, bend and cap of one part, in floating point."""


def plainly(part: Concave) -> Plain:
    """A part in floating point, for `share`."""
    return lambda c: float(part.slope(arb(c)).mid()), lambda c: float(part.bend(arb(c)).mid()), float(arb(part.cap))


def share(parts: Sequence[Plain], radius_squared: float) -> tuple[list[float], float]:
    """(point, multiplier) that satisfy the conditions for a maximum to about double precision; multiplier 0 where the bound
    on the squares is slack."""
    caps = [cap for _, _, cap in parts]
    even = math.sqrt(radius_squared / len(parts))
    point = [min(cap, even) for cap in caps]
    rising = [slope(c) / (2 * c) for (slope, _, _), c in zip(parts, point, strict=True) if slope(c) > 0]
    if not rising or sum(cap * cap for cap in caps) < radius_squared or any(slope(cap) < 0 for slope, _, cap in parts):
        alone = [_settled(slope, bend, cap, 0.0, cap / 2) for slope, bend, cap in parts]
        if sum(c * c for c in alone) <= radius_squared:
            return alone, 0.0
    low, high = 0.0, math.inf
    mu = max(rising, default=1.0)
    for _ in range(_STEPS):
        point = [_settled(slope, bend, cap, mu, c) for (slope, bend, cap), c in zip(parts, point, strict=True)]
        held = sum(c * c for c, cap in zip(point, caps, strict=True) if c >= cap)
        free = sum(c * c for c, cap in zip(point, caps, strict=True) if c < cap)
        if abs(held + free - radius_squared) <= _FINE * radius_squared:
            break
        low, high = (mu, high) if held + free > radius_squared else (low, mu)
        if high <= low * (1 + _FINE) or mu < 1e-300:
            break
        pull = sum(4 * c * c / (2 * mu - bend(c)) for (_, bend, cap), c in zip(parts, point, strict=True) if c < cap)
        step = 0.0
        if free > 0 and pull * mu > 0 and radius_squared > held:
            # log(sum of free squares) falls almost linearly with log mu.
            step = mu * math.exp(min(max(math.log(free / (radius_squared - held)) * free / (pull * mu), -30.0), 30.0))
        mu = step if low < step < high else math.sqrt(low * high) if 0 < low < high < math.inf else 16 * mu if low else mu / 16
    return point, mu


def _settled(slope: Callable[[float], float], bend: Callable[[float], float], cap: float, mu: float, start: float) -> float:
    """The c in [0, cap] with slope(c) = 2 mu c, or the cap where the slope is still larger there."""
    if slope(cap) >= 2 * mu * cap:
        return cap
    low, high, c = 0.0, cap, min(max(start, cap * 1e-300), cap)
    for _ in range(_STEPS):
        here = slope(c)
        rest = here - 2 * mu * c
        low, high = (c, high) if rest > 0 else (low, c)
        step = math.nan
        stiffness = 2 * mu - bend(c)
        if here > 0 and 2 * mu * c > 0:
            # log slope is almost linear in log c.
            step = c * math.exp(min(max(math.log(here / (2 * mu * c)) / (1 - bend(c) * c / here), -30.0), 30.0))
        elif stiffness > 0:
            step = c + rest / stiffness
        if not low < step < high:
            step = (low + high) / 2 if high < 4 * low else math.sqrt(low * high) if low > 0 else high * 1e-3
        if abs(step - c) <= _FINE * c or high - low <= _FINE * high:
            return step
        c = step
    return c
