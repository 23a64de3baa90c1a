"""`InflatedOutput`: noise is added, and what falls outside the domain is moved to the nearer bound, which gets an atom.

With s, r the distances of the true answer from the two ends, e the noise and J_j(x) = E min(|e|, x)^j, the mean squared error
is (J_2(s) + J_2(r))/2. Since J_2'(x) = 2 x P(|e| > x), it may be largest at an end or in the middle: it is searched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flint import arb, fmpq

from dpverify.enclose.box_maximum import Box, Point, box_maximum
from dpverify.mechanisms import _conditions
from dpverify.mechanisms._bounded import BoundedOutput
from dpverify.mechanisms._power_kernel import PowerKernel
from dpverify.mechanisms._truncated import moment_mass, moment_scale

if TYPE_CHECKING:
    from dpverify.samplers.sampler import Sampler

_UNIT = Box((fmpq(0),), (fmpq(1),))


class InflatedOutput(BoundedOutput):
    """Moments and samplers of laws with inflated bounds."""

    __slots__ = ()
    exact_requirement = staticmethod(_conditions.inflated)

    def squared_error(self, kernel: PowerKernel, below: fmpq, above: fmpq) -> arb:
        return (_capped(kernel, 2, below) + _capped(kernel, 2, above)) / 2

    def offset(self, kernel: PowerKernel, below: fmpq, above: fmpq) -> arb:
        return (_capped(kernel, 1, above) - _capped(kernel, 1, below)) / 2

    def worst_end(self, kernel: PowerKernel, length: fmpq, bits: int) -> arb:
        """The largest mean squared error, by branch and bound over the true answers of one half."""
        return box_maximum(_Error(kernel, length), _UNIT, bits=bits + 4, what=lambda: "the worst mean squared error").value

    def sampler(self, granularity: Any = None) -> Sampler:
        """Clamped noise in double precision; exact on a grid of this granularity where one is given.

        The granularity must divide every side of the domain. See `samplers.sampler` for what the labels mean.
        """
        from dpverify.mechanisms import _bounded_samplers

        return _bounded_samplers.inflated(self, granularity)

    def cumulative(self, kernel: PowerKernel, below: fmpq, above: fmpq, x: fmpq) -> arb:
        """P(release <= t + x) for -below <= x < above, in units of the longest side."""
        tail = kernel.tail(abs(x)) / 2
        return 1 - tail if x >= 0 else tail


def _capped(kernel: PowerKernel, order: int, x: fmpq) -> arb:
    """E min(|e|, x)^order."""
    return moment_scale(kernel, order) * moment_mass(kernel, order, x) + arb(x) ** order * kernel.tail(x)


class _Error:
    """(J_2(s) + J_2(l - s))/2 as a function of 2 s/l in [0, 1]; what `enclose.box_maximum` asks for."""

    def __init__(self, kernel: PowerKernel, length: fmpq) -> None:
        self._kernel = kernel
        self._length = length

    def value(self, point: Point) -> arb:
        s = point[0] * self._length / 2
        return (_capped(self._kernel, 2, s) + _capped(self._kernel, 2, self._length - s)) / 2

    def enclosure(self, box: Box) -> arb:
        """J_2 increases."""
        low, high = (end[0] * self._length / 2 for end in (box.low, box.high))
        return (_capped(self._kernel, 2, high) + _capped(self._kernel, 2, self._length - low)) / 2

    def gradient(self, box: Box) -> tuple[arb, ...]:
        """s Q(s) - r Q(r)."""
        low, high = (end[0] * self._length / 2 for end in (box.low, box.high))
        return ((self._weighted(low, high) - self._weighted(self._length - high, self._length - low)) * self._length / 2,)

    def concavity(self, box: Box) -> arb:
        """-(d/ds)^2 from below, with d/dx x Q(x) = Q(x) - x rate e^{-theta x^p}."""
        low, high = (end[0] * self._length / 2 for end in (box.low, box.high))
        bend = self._bent(low, high) + self._bent(self._length - high, self._length - low)
        return arb((-bend).lower()) * arb(self._length / 2) ** 2

    def _weighted(self, low: fmpq, high: fmpq) -> arb:
        """x Q(x) on [low, high]."""
        kernel = self._kernel
        return (low * kernel.tail(high)).union(high * kernel.tail(low))

    def _bent(self, low: fmpq, high: fmpq) -> arb:
        kernel = self._kernel
        return kernel.tail(high).union(kernel.tail(low)) - kernel.rate() * (low * kernel.bump(high)).union(
            high * kernel.bump(low)
        )
