"""`IntegerNoise`: what mechanisms that add noise from the integers to a whole-number answer have in common.

The loss of the noise moved by D against the noise itself does not fall as the output x grows, so the worst event at a level
epsilon is {x >= t}, t the least integer whose loss exceeds epsilon: t is found by exact comparison of rationals. Moving the
noise by less than D can only shrink that event's excess, so that D is the worst shift. By symmetry the order of the two
laws does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

from flint import arb, fmpq

from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number
from dpverify.enclose.refine import check_digits, enclose
from dpverify.errors import ImpossibleRequest, InputError, shown
from dpverify.mechanisms._mechanism import Mechanism

if TYPE_CHECKING:
    from dpverify.notions.pair import DominatingPair


class IntegerNoise(Mechanism):
    """Noise from the integers, added to a whole number that moves by at most `sensitivity` between neighbouring datasets."""

    __slots__ = ()

    def pair(self) -> DominatingPair:
        """The noise moved by the sensitivity, and the noise."""
        raise NotImplementedError

    def second_moment(self) -> arb | fmpq:
        """E Z^2 of the noise Z, at the working precision."""
        raise NotImplementedError

    @property
    def shift(self) -> int:
        """The sensitivity D as an integer."""
        return int(self.exact_sensitivity.p)

    @classmethod
    def contenders(cls, *, epsilon: Number, delta: Number, sensitivity: Number) -> Iterator[tuple[str, Callable[[], Self]]]:
        """The least noise, for answers in whole numbers."""
        for shape, make in super().contenders(epsilon=epsilon, delta=delta, sensitivity=sensitivity):
            yield ", ".join(filter(None, [shape, "whole-number answers"])), make  # type: ignore[misc]

    def dominating_pairs(self) -> tuple[DominatingPair, ...]:
        return (self.pair(),)

    def neighbours(self) -> tuple[Any, Any]:
        return 0, self.shift

    def variance(self, *, digits: int = 15) -> Enclosure:
        """E Z^2 of the noise Z."""
        return enclose(lambda bits: self.second_moment(), check_digits(digits), what=lambda: f"variance of {self!r}")

    def mean_squared_error(self, *, digits: int = 15) -> Enclosure:
        """E Z^2 of the noise Z, in squared units of the answer."""
        return self.variance(digits=digits)

    def _checked_sensitivity(self, value: Number) -> fmpq:
        number = super()._checked_sensitivity(value)
        if number.q != 1:
            raise InputError(
                f"sensitivity = {shown(value, str)}: {type(self).__name__} adds integers to a whole-number answer, which moves "
                f"by whole numbers; give {max(1, int(number.floor()))}, or change the unit of the answer."
            )
        return number


def certified_delta(noise: Any, eps: fmpq, digits: int) -> Enclosure:
    """delta(eps) of a mechanism whose one pair is `noise.pair()`."""
    pair = noise.pair()
    return enclose(
        lambda bits: pair.hockey_stick(eps), digits, what=lambda: f"delta of {noise!r} at epsilon = {brief(eps)}", within=(0, 1)
    )


def refuse_no_privacy(eps: fmpq, delta: fmpq) -> None:
    """Raise ImpossibleRequest at epsilon = delta = 0, which no finite scale of a bounded loss reaches."""
    if eps == 0 and delta == 0:
        raise ImpossibleRequest("epsilon = 0 and delta = 0: no noise hides everything; give epsilon > 0 or delta > 0.")
