"""Where bounded mechanisms put their outputs, and how far neighbouring true answers may be apart within it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.powers import exact_power
from dpverify.errors import InputError, shown
from dpverify.mechanisms._parameters import (
    ChoiceParameter,
    VectorParameter,
    as_given,
    checked_sensitivity,
    numbers,
)

BOX, BALL = "box", "l2"
_ROOT = re.compile(r"\s*sqrt\s*\(([^()]+)\)\s*")


def upper_parameter() -> VectorParameter:
    """The upper ends of the domain."""
    return VectorParameter("U", meaning="upper end of the domain; for several coordinates 10,8 or a tuple", typical=("1", "10"))


def lower_parameter() -> VectorParameter:
    """The lower ends of the domain."""
    return VectorParameter("V", meaning="lower end of the domain; default: 0", typical=("0", "-1"), default="0")


def adjacency_parameter() -> ChoiceParameter:
    """What the sensitivity bounds."""
    return ChoiceParameter(
        "A",
        meaning="neighbours differ by at most the sensitivity in each coordinate, or in the Euclidean norm",
        choices=(BOX, BALL),
        default=BOX,
    )


@dataclass(frozen=True, slots=True)
class Reach:
    """How far neighbouring true answers may be apart: coordinate k by at most `shifts[k]` ("box"), or all together by a
    Euclidean distance of at most the square root of `radius_squared` ("l2")."""

    shifts: tuple[fmpq, ...] | None
    radius_squared: fmpq | None

    def as_given(self) -> Any:
        """The sensitivity as a caller would write it."""
        if self.shifts is not None:
            return as_given(self.shifts)
        assert self.radius_squared is not None
        radius = exact_power(self.radius_squared, fmpq(1, 2))
        return f"sqrt({self.radius_squared})" if radius is None else as_given(radius)

    def for_each(self, count: int) -> tuple[fmpq, ...] | None:
        """The shifts of a box with that many coordinates."""
        return self.shifts * count if self.shifts is not None and len(self.shifts) == 1 else self.shifts


def reach(sensitivity: Any, adjacency: str) -> Reach:
    """From what was handed in: a number, one a coordinate, or for "l2" also text such as "sqrt(20)". Raises InputError."""
    if adjacency == BOX:
        if isinstance(sensitivity, str) and _ROOT.fullmatch(sensitivity):
            raise InputError(
                f"sensitivity = {shown(sensitivity, str)}: the shift of a coordinate must be rational; give a decimal above it."
            )
        listed = numbers(sensitivity, "sensitivity")
        return Reach(tuple(checked_sensitivity(one) for one in listed), None)
    root = _ROOT.fullmatch(sensitivity) if isinstance(sensitivity, str) else None
    if root:
        return Reach(None, checked_sensitivity(root[1]))
    if getattr(sensitivity, "is_Pow", False) and getattr(sensitivity, "exp", None) == fmpq(1, 2):
        return Reach(None, checked_sensitivity(sensitivity.base))
    listed = numbers(sensitivity, "sensitivity")
    if len(listed) != 1:
        raise InputError(
            f"sensitivity = {shown(sensitivity)}: with adjacency = 'l2' it is one distance; give a number, or text such as"
            " 'sqrt(20)', or use adjacency = 'box' for one shift a coordinate."
        )
    return Reach(None, checked_sensitivity(listed[0]) ** 2)


@dataclass(frozen=True, slots=True)
class Domain:
    """The box of possible outputs and true answers."""

    low: tuple[fmpq, ...]
    high: tuple[fmpq, ...]

    @property
    def lengths(self) -> tuple[fmpq, ...]:
        return tuple(b - a for a, b in zip(self.low, self.high, strict=True))

    @property
    def longest(self) -> fmpq:
        return max(self.lengths)

    @property
    def dimensions(self) -> int:
        return len(self.low)

    def relative_lengths(self) -> tuple[fmpq, ...]:
        """In units of the longest side."""
        longest = self.longest
        return tuple(length / longest for length in self.lengths)

    def check(self, within: Reach) -> None:
        """Raise InputError where neighbours would have to leave the domain, or coordinates do not match."""
        if within.shifts is not None:
            if len(within.shifts) not in (1, self.dimensions):
                raise InputError(
                    f"sensitivity has {len(within.shifts)} coordinates and the domain {self.dimensions}: give one number, or"
                    " one a coordinate."
                )
            shifts = within.for_each(self.dimensions) or ()
            for shift, length in zip(shifts, self.lengths, strict=True):
                if shift > length:
                    raise InputError(
                        f"sensitivity = {brief(shift)}: true answers lie in a domain of length {brief(length)} and cannot"
                        f" be farther apart; give at most {brief(length)}."
                    )
        elif within.radius_squared is not None:
            diagonal = sum((length**2 for length in self.lengths), fmpq(0))
            if within.radius_squared > diagonal:
                raise InputError(
                    f"sensitivity = {shown(within.as_given(), str)}: the diagonal of the domain is sqrt({brief(diagonal)}),"
                    " and true answers cannot be farther apart; give at most that."
                )

    def point(self, at: Any) -> tuple[fmpq, ...]:
        """A true answer within the domain, or an InputError."""
        place = numbers(at, "true answer")
        if len(place) != self.dimensions:
            raise InputError(
                f"true answer = {shown(at)}: the domain has {self.dimensions} coordinate(s); give one number for each."
            )
        for x, a, b in zip(place, self.low, self.high, strict=True):
            if not a <= x <= b:
                raise InputError(
                    f"true answer = {brief(x)}: it must lie in the domain [{brief(a)}, {brief(b)}]; clamp it first, or"
                    " widen the domain."
                )
        return place


def domain(lower: tuple[fmpq, ...], upper: tuple[fmpq, ...]) -> Domain:
    """From both ends; one number stands for all coordinates. Raises InputError."""
    count = max(len(lower), len(upper))
    low, high = (ends * count if len(ends) == 1 else ends for ends in (lower, upper))
    if len(low) != len(high):
        raise InputError(f"lower has {len(lower)} coordinates and upper {len(upper)}: give one number, or as many in both.")
    for a, b in zip(low, high, strict=True):
        if not a < b:
            raise InputError(f"lower = {brief(a)}, upper = {brief(b)}: the domain is empty; give lower < upper.")
    return Domain(low, high)
