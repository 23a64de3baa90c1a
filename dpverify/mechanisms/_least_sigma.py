"""The least parameter at which a supremum of excesses falls to a level, where the supremum itself is not monotone.

What is relied on: for each t, the parameters x with excess(x, t) > level form an interval; the intervals of the "safe"
thresholds reach down to 0; and the supremum over t at x is attained at threshold(x). Intervals are joined from 0 on: the
right end of the interval at hand is enclosed by two certain signs, and if another interval covers that end, the search goes
on along that one. What has been covered violates the claim, so the first end that no interval covers is the least
parameter that satisfies it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flint import arb, fmpq

from dpverify.arithmetic.precision import working_precision
from dpverify.enclose.decide import LARGEST_PRECISION, is_above
from dpverify.errors import PrecisionError

_COARSE = 12
"""Bits to which an end is enclosed as long as the search still takes long steps."""

_FAR = 2.0**-4
"""The log of the excess over the level from which on the end is far away."""

_STRAIGHT = 2**-9
"""A ratio of the ends of a bracket, in logarithms, at which exact secants take over."""

_ADVANCE = 1 + fmpq(1, 2**24)
"""A step that is shorter led nowhere."""

_ACCURACY = 40
"""Bits to which an excess is computed while an end is approached."""

_LEAST = 2.0**-1074

_EXACTLY = 1 << 16
"""Bits that hold every dyadic number met here."""

_CANNOT = 1
"""The radius of a ball about 0 that says: not at this precision."""


class LeastSigma:
    """The search. It remembers how far it has come, so that a second call at a higher precision goes on from there."""

    def __init__(
        self,
        *,
        excess: Callable[[fmpq, int], arb],
        threshold: Callable[[fmpq], int],
        level: fmpq,
        start: fmpq,
        safe_threshold: int,
        beyond: fmpq | None = None,
    ) -> None:
        self._excess = excess
        self._threshold = threshold
        self._level = level
        self._lost = 0
        self._near: tuple[int, arb, arb] | None = None
        if beyond is not None:
            self._covered, self._t = beyond, threshold(beyond)
            return
        self._t = safe_threshold
        while not self._is_above(start, safe_threshold):
            start /= 2
        self._covered = start

    def enclosed(self, bits: int) -> arb:
        """A ball around the least parameter, of relative radius about 2^-bits."""
        width = _COARSE
        while True:
            width = min(width, bits)
            low, high = self._right_end(width)
            following = self._threshold(high)
            covers: bool | None = False if following == self._t else self._compare(high, following, width + 64)
            if covers and self._compare(low, following, width + 64):
                advanced = low > self._covered * _ADVANCE
                self._covered, self._t = low, following
                # Far from the end the interval that reaches farthest is best; near it that of the best t, by which the
                # search converges quadratically.
                far = advanced and self._log_excess(arb(low)) > _FAR
                if far:
                    self._t = self._farthest(low)
                width = _COARSE if far else 2 * width + _COARSE
            elif width < bits:
                self._covered, width = low, 2 * width + _COARSE
            else:
                return arb(low).union(arb(high)) if covers is False else arb(0, _CANNOT)

    def _farthest(self, x: fmpq) -> int:
        """About the largest t whose interval covers x: it reaches farther than that of the best t at x."""
        best = near = self._threshold(x)
        stride = 1
        while self._compare(x, near + stride, 64):
            near, stride = near + stride, 2 * stride
        while stride > max(1, (near - best) // 16):
            stride //= 2
            if self._compare(x, near + stride, 64):
                near += stride
        return near

    def _compare(self, x: fmpq, t: int, precision: int) -> bool | None:
        """Whether excess(x, t) is above the level (True), below it (False), or too close to call (None)."""
        with working_precision(precision + self._lost):
            value, level = self._excess(x, t), arb(self._level)
            return True if value > level else False if value < level else None

    def _is_above(self, x: fmpq, t: int) -> bool:
        return is_above(lambda: self._excess(x, t), self._level, what=lambda: f"delta at the parameter {float(arb(x))}")

    def _right_end(self, bits: int) -> tuple[fmpq, fmpq]:
        """low < high, high/low - 1 about 2^-bits, with the right end of the interval of t between them, certified."""
        if self._near is None or self._near[0] != self._t:
            self._near = (self._t, *self._narrowed(*self._bracket()))
        _, low, high = self._near
        precision = bits + 40 + self._lost
        while precision <= LARGEST_PRECISION:
            with working_precision(precision):
                low, high, settled = self._polished(low, high, bits)
            if settled:
                self._near = (self._t, low, high)
                return low.fmpq(), high.fmpq()
            precision *= 2
        raise PrecisionError(
            f"the end of an interval near {low.str(10)} was not found at {LARGEST_PRECISION} bits; move the request away from "
            "the extreme.",
            reached=0,
        )

    def _polished(self, low: arb, high: arb, bits: int) -> tuple[arb, arb, bool]:
        """A bracket narrowed to a relative width of 2^-bits, and whether it was; False: the precision does not suffice.

        Secant steps; where those are slow, halves; and once they have settled, a step to the other side.
        """
        level, hair = arb(self._level), arb(2) ** -(bits + 2)
        x, before = low, high
        at_x, at_before = (self._excess(point.fmpq(), self._t) - level for point in (low, high))
        if not (at_x > 0 and at_before < 0):
            return low, high, False
        widths = [high - low]
        while widths[-1] > low * 2 * hair:
            following = (x - at_x * (x - before) / (at_x - at_before)).mid()
            if len(widths) > 3 and widths[-1] > widths[-4] / 2:
                following = ((low + high) / 2).mid()
            elif not abs(following - x) > x * hair:
                following = (x * (1 + hair if x == low else 1 - hair)).mid()
            if not low < following < high:
                following = ((low + high) / 2).mid()
            before, at_before, x = x, at_x, following
            at_x = self._excess(x.fmpq(), self._t) - level
            if at_x > 0:
                low = x
            elif at_x < 0:
                high = x
            else:
                return low, high, False
            widths.append(high - low)
        return low, high, True

    def _bracket(self) -> tuple[arb, float, arb, float]:
        """Two points around the end, and the log excess at each."""
        with working_precision(_EXACTLY):
            low = arb(self._covered)
        at_low, stride = self._log_excess(low), 1 / 64
        while True:
            with working_precision(80):
                high = (low * arb(stride).exp()).mid()
            at_high = self._log_excess(high)
            if at_high <= 0:
                return low, at_low, high, at_high
            low, at_low, stride = high, at_high, 2 * stride

    def _narrowed(self, low: arb, at_low: float, high: arb, at_high: float) -> tuple[arb, arb]:
        """The bracket narrowed to where the excess is nearly a straight line, by halves and secants of its log."""
        with working_precision(80):
            while (width := float((high / low).log())) > _STRAIGHT:
                share = at_low / (at_low - at_high) if math.isfinite(at_high) else 0.5
                middle = (low * arb(width * min(max(share, 0.1), 0.9)).exp()).mid()
                found = self._log_excess(middle)
                if found > 0:
                    low, at_low = middle, found
                else:
                    high, at_high = middle, found
        return low, high

    def _log_excess(self, x: arb) -> float:
        """log(excess / level) as a double, never 0 and of a certain sign; -inf where the excess is far below the level."""
        point, precision = x.mid().fmpq(), 64 + self._lost
        while precision <= LARGEST_PRECISION:
            with working_precision(precision):
                value, level = self._excess(point, self._t), arb(self._level)
                if value < level / 2**20:
                    return -math.inf
                accuracy = int(value.rel_accuracy_bits())
                if accuracy > _ACCURACY and (value > level or value < level):
                    self._lost = max(self._lost, precision - accuracy - 8)
                    found = float((value / level).log())
                    return found or (_LEAST if value > level else -_LEAST)
            precision *= 2
        raise PrecisionError(
            f"delta at the parameter {x.str(10)} was not found at {LARGEST_PRECISION} bits; move the request away from the "
            "extreme.",
            reached=0,
        )
