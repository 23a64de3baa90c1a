"""`TruncatedOutput`: a law cut to the domain and rescaled: density proportional to e^{-theta |x - t|^p} on the box.

With one-sided sums of moments m_j(x) = int_0^x y^j e^{-theta y^p} dy, proportional to P((j+1)/p, theta x^p), and s, r the
distances of the true answer from the two ends, E|Y - t|^j = (m_j(s) + m_j(r))/(m_0(s) + m_0(r)). Both E[y^2 | y <= s] and
E[y^2 | y <= r] are at most E[y^2 | y <= s + r], so the mean squared error is largest at the ends of the domain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flint import fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.mechanisms import _conditions
from dpverify.mechanisms._bounded import BoundedOutput
from dpverify.mechanisms._power_kernel import PowerKernel

if TYPE_CHECKING:
    from flint import arb

    from dpverify.arithmetic.interface import Value
    from dpverify.samplers.sampler import Sampler


class TruncatedOutput(BoundedOutput):
    """Moments, samplers and text of truncated laws."""

    __slots__ = ()
    exact_requirement = staticmethod(_conditions.truncated)

    def squared_error(self, kernel: PowerKernel, below: fmpq, above: fmpq) -> arb:
        """(m_2(s) + m_2(r))/(m_0(s) + m_0(r)), in units of the longest side."""
        return (
            moment_scale(kernel, 2)
            * (moment_mass(kernel, 2, below) + moment_mass(kernel, 2, above))
            / (kernel.mass(below) + kernel.mass(above))
        )

    def offset(self, kernel: PowerKernel, below: fmpq, above: fmpq) -> arb:
        """(m_1(r) - m_1(s))/(m_0(s) + m_0(r)): how far the mean lies above the true answer."""
        return (
            moment_scale(kernel, 1)
            * (moment_mass(kernel, 1, above) - moment_mass(kernel, 1, below))
            / (kernel.mass(below) + kernel.mass(above))
        )

    def worst_end(self, kernel: PowerKernel, length: fmpq, bits: int) -> arb:
        """The mean squared error at an end of the domain, where it is largest."""
        return self.squared_error(kernel, fmpq(0), length)

    def sampler(self, granularity: Any = None) -> Sampler:
        """Releases by inversion of the cdf in double precision; exact on a grid of this granularity where one is given.

        The granularity must divide every side of the domain. See `samplers.sampler` for what the labels mean.
        """
        from dpverify.mechanisms import _bounded_samplers

        return _bounded_samplers.truncated(self, granularity)

    def cumulative(self, kernel: PowerKernel, below: fmpq, above: fmpq, x: fmpq) -> Value:
        """P(release <= t + x) for -below <= x <= above, in units of the longest side."""
        part = kernel.mass(x) if x >= 0 else -kernel.mass(-x)
        return (kernel.mass(below) + part) / (kernel.mass(below) + kernel.mass(above))


def moment_scale(kernel: PowerKernel, order: int) -> arb:
    """E|x|^order of the kernel on the whole line: theta^{-order/p} Gamma((order+1)/p)/Gamma(1/p)."""
    p = kernel.p
    ratio = BALLS.gamma(BALLS.exact((order + 1) / p)) / BALLS.gamma(BALLS.exact(1 / p))
    return ratio * BALLS.power(kernel.theta, BALLS.exact(-order / p))


def moment_mass(kernel: PowerKernel, order: int, x: fmpq) -> arb:
    """The share of E|x|^order that lies within x: P((order+1)/p, theta x^p)."""
    if x == 0:
        return BALLS.rational(0)
    return BALLS.gamma_lower(BALLS.exact((order + 1) / kernel.p), kernel.theta * kernel.power(x))
