"""Curves of a mechanism, known from both sides at finitely many places: what pictures are drawn of.

A value at a place is certified, and so is everything between two places, since all three curves are monotone: the privacy
profile and the trade-off function fall, the distribution function of the privacy loss rises. The places lie close together
at little cost, because delta is a convex function of e^epsilon (a supremum of linear ones): between two places it lies under
their chord and over the chords beside it, continued. The trade-off function is the profile's convex dual,
T(level) = sup over epsilon of 1 - delta(epsilon) - e^epsilon level, and is bounded by the same two sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from flint import arb

from dpverify.arithmetic.enclosure import Enclosure, arb_above, arb_below
from dpverify.arithmetic.exact import Number, float_above, to_exact
from dpverify.arithmetic.precision import working_precision
from dpverify.errors import DpverifyError, InputError, NotCovered, shown
from dpverify.notions import loss
from dpverify.notions.pair import DominatingPair

POINTS = 96
MOST_POINTS = 10_000
_BETWEEN = 8
"""Steps between two places at which delta was computed."""
_REACHED, _FAR = 1e-7, 700.0
_BITS = 192


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """A monotone curve f at rising `places`: lower[i] <= f(places[i]) <= upper[i], doubles that are rounded outward."""

    places: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    rising: bool

    def outline(self) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
        """(places, lower, upper) of a region that contains the curve between the places too: steps, each place twice but for
        the ends. Between a and b a falling f lies between f(b) and f(a), a rising one between f(a) and f(b)."""
        places: list[float] = []
        lower: list[float] = []
        upper: list[float] = []
        for here in range(len(self.places) - 1):
            places += self.places[here : here + 2]
            low, high = (here, here + 1) if self.rising else (here + 1, here)
            lower += [self.lower[low]] * 2
            upper += [self.upper[high]] * 2
        return tuple(places), tuple(lower), tuple(upper)


def of_profile(mechanism: Any, *, reach: Number | None = None, points: int = POINTS) -> Sides:
    """delta(epsilon) for epsilon from 0 to `reach` (nats); None: as far as delta is 1e-8 or more.

    `mechanism` answers `delta` and `epsilon`. Places where no value is certified are left out. Raises InputError, NotCovered.
    """
    count, end = _checked_points(points), reach_of(mechanism, reach)
    found = _known((end * place / count for place in range(count + 1)), mechanism.delta, rising=False, of=mechanism)
    with working_precision(_BITS):
        convex = _Convex(found)
        places, lower, upper = [found.places[0]], [found.lower[0]], [found.upper[0]]
        for here, (left, right) in enumerate(zip(found.places, found.places[1:], strict=False)):
            for step in range(1, _BETWEEN):
                place = left + (right - left) * step / _BETWEEN
                if places[-1] < place < right:
                    under, over = convex.between(here, arb(place).exp())
                    places.append(place)
                    lower.append(max(arb_below(under.lower()), found.lower[here + 1]))
                    upper.append(min(arb_above(over.upper()), found.upper[here]))
            places.append(right)
            lower.append(found.lower[here + 1])
            upper.append(found.upper[here + 1])
    return Sides(places=tuple(places), lower=tuple(lower), upper=tuple(upper), rising=False)


def of_trade_off(mechanism: Any, *, points: int = POINTS) -> Sides:
    """T(level) for levels from 0 to 1: the least miss rate of a test whose false-alarm rate is at most `level`.

    `mechanism` answers `delta` for every real epsilon, and `epsilon`. Raises InputError, NotCovered.
    """
    count, end = _checked_points(points), reach_of(mechanism, None)
    epsilons = (end * place / count for place in range(-count, count + 1))
    found = _known(epsilons, mechanism.delta, rising=False, of=mechanism)
    if found.upper[-1] > _REACHED:  # this much is lost at every epsilon, and only places far out bound it
        found = _known((-_FAR, *found.places, _FAR), mechanism.delta, rising=False, of=mechanism)
    levels = sorted({*(place / (2 * count) for place in range(2 * count + 1)), *(0.5**k for k in range(8, 28))})
    with working_precision(_BITS):
        dual = _Convex(found).dual()
        sides = [dual(arb(level)) for level in levels]
        lower = [max(0.0, arb_below(under.lower())) for under, _ in sides]
        upper = [min(1.0, max(0.0, arb_above(over.upper()))) for _, over in sides]
    upper[-1] = 0.0  # a test that always rejects misses nothing
    return Sides(places=tuple(levels), lower=tuple(lower), upper=tuple(upper), rising=False)


def of_loss(pair: DominatingPair, *, reach: Number | None = None, points: int = POINTS) -> Sides:
    """P(L <= x) of the privacy loss L of a pair (nats), for x from -reach to `reach`; None: from its quantile 1/10,000 to its
    quantile 9,999/10,000, or as far up as L is finite. Raises InputError, NotCovered."""
    count, law = 4 * _checked_points(points), loss.of(pair)
    if reach is not None:
        low, high = -positive_reach(reach), positive_reach(reach)
    else:
        low, high = _quantile(law, ("0.0001", "0.01", "0.1")), _quantile(law, ("0.9999", "0.99", "0.9", "0.5"))
        margin = (high - low) * 0.04 or 1.0
        low, high = low - margin, high + margin
    return _known((low + (high - low) * place / count for place in range(count + 1)), law.cdf, rising=True, of=pair)


def reach_of(mechanism: Any, reach: Number | None) -> float:
    """The largest epsilon of a picture: the one that is given, else the one at which delta is 1e-8."""
    if reach is not None:
        return positive_reach(reach)
    for delta in ("1e-8", "1e-4", "1e-1"):
        try:
            end: float = mechanism.epsilon(delta).upper
        except DpverifyError:  # more than this is lost at every epsilon, or nothing certifies it
            continue
        if 0 < end < float("inf"):
            return 1.08 * end
    return 1.0


def positive_reach(reach: Number) -> float:
    """`reach` as a double, or an InputError."""
    end = float_above(to_exact(reach, "reach"))
    if not 0 < end <= 1e6:
        raise InputError(f"reach = {shown(reach)}: how far the picture goes, in nats; give a number above 0, up to 1,000,000.")
    return end


class _Convex:
    """delta as a convex function of x = e^epsilon, known from both sides at places x[0] < x[1] < ..."""

    def __init__(self, found: Sides) -> None:
        self.x = [arb(place).exp() for place in found.places]
        self.low = [arb(value) for value in found.lower]
        self.high = [arb(value) for value in found.upper]

    def between(self, here: int, x: arb) -> tuple[arb, arb]:
        """(lower, upper) at an x between x[here] and x[here + 1]."""
        share = (x - self.x[here]) / (self.x[here + 1] - self.x[here])
        left, right = self._beside(here)
        return arb(0).max(left.at(x)).max(right.at(x)), self.high[here] + share * (self.high[here + 1] - self.high[here])

    def _beside(self, here: int) -> tuple[_Line, _Line]:
        """Lines under the curve between x[here] and x[here + 1]: the chords to the left and to the right, continued, and never
        too steep. Where there is no chord, delta >= 1 - x on the left and delta >= its last value on the right."""
        x, low, high = self.x, self.low, self.high
        if here > 0:
            left = _Line(x=x[here], y=low[here], slope=(low[here] - high[here - 1]) / (x[here] - x[here - 1]))
        else:
            left = _Line(x=x[0], y=1 - x[0], slope=arb(-1))
        end = here + 1
        if end + 1 < len(x):
            return left, _Line(x=x[end], y=low[end], slope=(high[end + 1] - low[end]) / (x[end + 1] - x[end]))
        return left, _Line(x=x[end], y=low[end], slope=arb(0))

    def dual(self) -> Callable[[arb], tuple[arb, arb]]:
        """(lower, upper) for the supremum over x > 0 of 1 - delta(x) - x level, as a function of the level.

        Every place is a lower bound. From above, delta is replaced by the piecewise linear function under it; the supremum of
        1 less that is taken on at a place or where two chords beside a gap meet, or beyond the first or the last place, where
        delta >= 1 - x and delta >= 0.
        """
        places = list(zip(self.x, self.high, strict=True))
        corners = [*zip(self.x, self.low, strict=True)]
        for here in range(len(self.x) - 1):
            corners += self._corners(here)

        def sides(level: arb) -> tuple[arb, arb]:
            under, over = arb(0), (self.x[0] * (1 - level)).max(1 - self.x[-1] * level)
            for x, high in places:
                under = under.max(1 - high - x * level)
            for x, low in corners:
                over = over.max(1 - low - x * level)
            return under, over

        return sides

    def _corners(self, here: int) -> list[tuple[arb, arb]]:
        """Points (x, delta) such that the largest 1 - delta - x level of them and of the two places bounds the supremum over
        the gap after `here`: where the lines under the curve meet, or else both ends of one of them."""
        left, right = self._beside(here)
        start, end = self.x[here], self.x[here + 1]
        meeting = (right.at(start) - left.at(start)) / (left.slope - right.slope) + start
        if meeting >= start and meeting <= end:
            return [(meeting, left.at(meeting))]
        middle = (start + end) / 2
        line = left if left.at(middle).mid() > right.at(middle).mid() else right
        return [(start, line.at(start)), (end, line.at(end))]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    x: arb
    y: arb
    slope: arb

    def at(self, x: arb) -> arb:
        found: arb = self.y + self.slope * (x - self.x)
        return found


def _known(places: Iterable[float], value: Callable[[float], Enclosure], *, rising: bool, of: object) -> Sides:
    found: list[tuple[float, float, float]] = []
    refusal: DpverifyError | None = None
    for place in places:
        try:
            enclosure = value(place)
        except DpverifyError as error:
            refusal = error
            continue
        found.append((place, max(0.0, enclosure.lower), min(1.0, enclosure.upper)))
    if len(found) < 2:
        raise NotCovered(
            f"{shown(of)}: fewer than two points of this curve are certified. {refusal or ''}".rstrip()
        ) from refusal
    at, lower, upper = zip(*found, strict=True)
    return Sides(places=at, lower=lower, upper=upper, rising=rising)


def _quantile(law: loss.PrivacyLoss, tried: tuple[str, ...]) -> float:
    for probability in tried:
        try:
            found = law.quantile(probability).upper
        except DpverifyError:
            continue
        if abs(found) < float("inf"):
            return found
    raise NotCovered(f"{shown(law.pair)}: no quantile of its privacy loss is finite and certified; say how far with reach=.")


def _checked_points(points: int) -> int:
    if isinstance(points, bool) or not isinstance(points, int) or not 2 <= points <= MOST_POINTS:
        raise InputError(f"points = {shown(points)}: a whole number from 2 to {MOST_POINTS} is needed.")
    return points
