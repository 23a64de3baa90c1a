"""`Enclosure`: a real number known from both sides.

Whatever can be read off it is rounded outward or is printed only as far as it is guaranteed. It is made by the engines in
`enclose`; how it was computed is not known here.
"""

from __future__ import annotations

import copyreg
import math
from typing import TYPE_CHECKING, Any

from flint import arb, fmpq

from dpverify.arithmetic import decimals
from dpverify.arithmetic.exact import Number, float_above, float_below, to_exact
from dpverify.arithmetic.precision import working_precision
from dpverify.errors import InputError, UndecidedComparison
from dpverify.showing import notebook

if TYPE_CHECKING:
    from fractions import Fraction

SMALLEST_EXACT_END = -10_000
"""Exact ends of numbers below 10^-10000 are 0 and 10^-10000: the true fractions would fill the memory."""


class Enclosure:
    """A certified two-sided bound on one real number (kind of exactness: *enclosure*, or *exact* where `is_exact`).

    - `.lower`, `.upper`: doubles with lower <= value <= upper. `upper` is the least double that is >= the value,
      so for an epsilon, a delta or a scale it is the safe one.
    - `.decimal(n)`: decimal text, at most n significant digits and only guaranteed ones (the last is right to one unit).
    - `.bounds(n)`: two decimal texts of n significant digits, rounded outward.
    - `.exact_lower`, `.exact_upper`: Fractions. Below 10^-10000 they are 0 and 10^-10000.
    - `<`, `<=`, `>`, `>=`, `==`, `!=` with a number or another enclosure are certain, or raise UndecidedComparison.
    """

    __slots__ = ("_ball", "_exact", "_high", "_low", "digits")
    __hash__ = None  # type: ignore[assignment]  # equality may refuse to answer, so an enclosure is no dictionary key

    digits: int
    """How many significant digits were asked for, and are guaranteed."""

    def __init__(self, value: arb | fmpq, *, digits: int, within: tuple[int, int] | None = None) -> None:
        """From a ball, or from an exact rational. The working precision must be the one `value` was computed at.

        `within` is a closed interval that is known to contain the value, such as (0, 1) for a probability.
        """
        self.digits = digits
        if isinstance(value, fmpq):
            self._exact: fmpq | None = value
            self._ball: Any = None
        else:
            self._exact = None
            self._ball = value
            self._low: arb = value.lower()
            self._high: arb = value.upper()
            if within is not None:
                self._low = self._low if self._low >= within[0] else arb(within[0])
                self._high = self._high if self._high <= within[1] else arb(within[1])

    @property
    def is_exact(self) -> bool:
        """Whether the value is known exactly, as a rational."""
        return self._exact is not None

    @classmethod
    def infinity(cls, *, digits: int) -> Enclosure:
        """+infinity, for a quantity of which no finite value is enough. It has no exact ends and no formula to refine."""
        return cls(arb.pos_inf(), digits=digits)

    @property
    def is_infinite(self) -> bool:
        """Whether the value is certainly +infinity."""
        return self._exact is None and not self._low.is_finite()

    @property
    def lower(self) -> float:
        """A double that is <= the value: the largest one, unless the enclosure itself straddles a double."""
        return float_below(self._exact) if self._exact is not None else arb_below(self._low)

    @property
    def upper(self) -> float:
        """The least double that is >= the value."""
        return float_above(self._exact) if self._exact is not None else arb_above(self._high)

    @property
    def decides_upper(self) -> bool:
        """Whether `upper` is certainly the least double: no double lies strictly below it and within the enclosure."""
        return self._exact is not None or bool(arb(math.nextafter(self.upper, -math.inf)) < self._low)

    @property
    def exact_lower(self) -> Fraction:
        return _fraction(self._exact if self._exact is not None else self._end(self._low, upward=False))

    @property
    def exact_upper(self) -> Fraction:
        return _fraction(self._exact if self._exact is not None else self._end(self._high, upward=True))

    def decimal(self, digits: int | None = None) -> str:
        """Decimal text with at most `digits` significant digits, each guaranteed (the last one to a unit)."""
        wanted = _positive(digits, self.digits)
        if self.is_infinite:
            return "inf"
        if self._exact is not None:
            return decimals.nearest(self._exact, wanted)
        return str(self._ball.str(wanted, radius=False))

    def bounds(self, digits: int | None = None) -> tuple[str, str]:
        """(lower, upper) as decimal text with `digits` significant digits (default: three more than guaranteed),
        rounded outward."""
        wanted = _positive(digits, self.digits + 3)
        if self.is_infinite:
            return "inf", "inf"
        if self._exact is not None:
            return decimals.below(self._exact, wanted), decimals.above(self._exact, wanted)
        return (
            decimals.rounded(*_scaled(self._low, wanted + 5, upward=False), wanted, upward=False),
            decimals.rounded(*_scaled(self._high, wanted + 5, upward=True), wanted, upward=True),
        )

    def contains(self, value: Number) -> bool:
        """Whether `value` (an exact number) lies within the enclosure."""
        number = to_exact(value, "value")
        low, high = self._ends()
        return not _less(number, low) and not _less(high, number)

    def overlaps(self, other: Enclosure) -> bool:
        """Whether the two enclosures share a point, as two enclosures of the same number must."""
        low, high = self._ends()
        other_low, other_high = other._ends()
        return not _less(high, other_low) and not _less(other_high, low)

    def _ends(self) -> tuple[Any, Any]:
        return (self._exact, self._exact) if self._exact is not None else (self._low, self._high)

    def _end(self, end: arb, *, upward: bool) -> fmpq:
        if not end.is_finite():
            raise InputError("the value is infinite, and no fraction holds it; read .upper, or ask .is_infinite first.")
        bound = fmpq(1, 10**-SMALLEST_EXACT_END)
        with working_precision(64):
            tiny = bool(abs(end) < arb(bound))
        if not tiny:
            return end.fmpq()
        if upward:
            return bound if end > 0 else fmpq(0)
        return -bound if end < 0 else fmpq(0)

    def _order(self, other: Any) -> int:
        """-1 if certainly below `other`, 1 if certainly above, 0 if certainly equal; raises when not certain."""
        if other is self:
            return 0
        low, high = self._ends()
        if isinstance(other, Enclosure):
            other_low, other_high = other._ends()
        else:
            other_low = other_high = to_exact(other, "the number compared with")
        if _less(high, other_low):
            return -1
        if _less(other_high, low):
            return 1
        if self.is_exact and not _less(other_low, other_high):
            return 0
        raise UndecidedComparison(
            f"{self!r} cannot be told from {other!r} at {self.digits} digits; ask for more with digits=, "
            "or use .upper or .lower, whichever side is safe."
        )

    def __lt__(self, other: Enclosure | Number) -> bool:
        return self._order(other) < 0

    def __le__(self, other: Enclosure | Number) -> bool:
        return self._order(other) <= 0

    def __gt__(self, other: Enclosure | Number) -> bool:
        return self._order(other) > 0

    def __ge__(self, other: Enclosure | Number) -> bool:
        return self._order(other) >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Enclosure | str):
            try:
                other = to_exact(other, "the number compared with")
            except InputError:
                return NotImplemented  # what is no number is not equal to one
        return self._order(other) == 0

    def __deepcopy__(self, memo: Any) -> Enclosure:
        return self  # nothing in it can change

    def __copy__(self) -> Enclosure:
        return self

    def __str__(self) -> str:
        return self.decimal()

    def _repr_html_(self) -> str:
        return notebook(self, "enclosure")

    def __repr__(self) -> str:
        if self._exact is not None:
            return f"Enclosure({self.decimal()}, exact)" if decimals.terminates(self._exact) else f"Enclosure({self._exact})"
        return "Enclosure[{}, {}]".format(*self.bounds())


def _ball(middle: tuple[int, int], radius: tuple[int, int]) -> arb:
    """A ball from its parts (mantissa, power of two). Its radius is rounded up, a ball without one stays exact."""
    return arb(middle, arb(radius))


def _taken_apart(ball: arb) -> tuple[Any, ...]:
    if not ball.is_finite():
        return arb, (str(ball),)
    return _ball, tuple(tuple(map(int, part.man_exp())) for part in (ball.mid(), ball.rad()))


copyreg.pickle(arb, _taken_apart)  # flint leaves this out, and enclosures travel between processes


def arb_above(end: arb) -> float:
    """The least double that is >= the exact ball `end` (inf beyond the largest double)."""
    nearest = float(end)
    if math.isinf(nearest):
        return nearest if nearest > 0 or not end.is_finite() else -math.nextafter(math.inf, 0)
    while arb(nearest) < end:
        nearest = math.nextafter(nearest, math.inf)
    while arb(below := math.nextafter(nearest, -math.inf)) >= end:
        nearest = below
    return nearest


def arb_below(end: arb) -> float:
    """The largest double that is <= the exact ball `end` (-inf below the most negative double)."""
    # Not -arb_above(-end): flint rounds even a negation to the working precision.
    nearest = float(end)
    if math.isinf(nearest):
        return nearest if nearest < 0 or not end.is_finite() else math.nextafter(math.inf, 0)
    while arb(nearest) > end:
        nearest = math.nextafter(nearest, -math.inf)
    while arb(above := math.nextafter(nearest, math.inf)) <= end:
        nearest = above
    return nearest


_FAR = 400_000
"""No number that `to_exact` lets in is nearer to 0, or farther from it, than 2^(-+_FAR)."""


def _less(left: arb | fmpq, right: arb | fmpq) -> bool:
    """left < right, exactly; the balls are exact ends."""
    if isinstance(left, arb) and isinstance(right, arb):
        return bool(left < right)
    return bool(_rational(left) < _rational(right))


def _rational(end: arb | fmpq) -> fmpq:
    """An end as a rational that compares with handed-in numbers as the end itself does."""
    if isinstance(end, fmpq):
        return end
    size = abs(end)
    if size == 0 or (arb(2) ** -_FAR < size < arb(2) ** _FAR):
        return end.fmpq()
    clamped = fmpq(2) ** _FAR if size > 1 else fmpq(1) / fmpq(2) ** _FAR
    return clamped if end > 0 else -clamped


def _scaled(end: arb, digits: int, *, upward: bool) -> tuple[int, int]:
    """(mantissa, power of ten) of a decimal on the stated side of `end`, with at least `digits` digits."""
    middle, radius, exponent = (int(part) for part in end.mid_rad_10exp(digits))
    return (middle + radius if upward else middle - radius), exponent


def _fraction(value: fmpq) -> Fraction:
    from fractions import Fraction

    return Fraction(int(value.p), int(value.q))


def _positive(digits: int | None, default: int) -> int:
    if digits is None:
        return default
    if isinstance(digits, bool) or not isinstance(digits, int) or digits < 1:
        raise InputError(f"digits = {digits!r}: a whole number of at least 1 is needed.")
    return digits
