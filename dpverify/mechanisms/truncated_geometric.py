"""The truncated geometric mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import arb, fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number
from dpverify.enclose.refine import check_digits, enclose
from dpverify.errors import InputError, shown
from dpverify.mechanisms import _discrete_laplace
from dpverify.mechanisms._discrete import IntegerNoise, refuse_no_privacy
from dpverify.mechanisms._discrete_laplace import DiscreteLaplacePair
from dpverify.mechanisms._mechanism import Engine, unknown_arithmetic
from dpverify.mechanisms._parameters import WholeParameter, scale_parameter
from dpverify.mechanisms.discrete_laplace import DiscreteLaplace

if TYPE_CHECKING:
    from dpverify.samplers.sampler import Sampler


class TruncatedGeometric(IntegerNoise):
    """Add discrete Laplace noise to a count from 0 to `largest`, and move what falls outside to the nearer end.

    P(z | i) = (1 - r)/(1 + r) r^|z - i| inside, r^i/(1 + r) at 0, r^{largest - i}/(1 + r) at the upper end, r = e^{-1/s}.
    Clamping costs no noise and saves none: counts i and i + D have the loss D/s on everything from i + D on and -D/s on
    everything up to i, so whatever is moved to an end joins outputs of its own loss. The profile, and every other notion,
    is that of the discrete Laplace mechanism, for every pair of counts at distance D <= largest.
    [Ghosh, Roughgarden & Sundararajan 2009]
    """

    __slots__ = ()
    name = "truncated-geometric"
    scale = scale_parameter()
    largest = WholeParameter("n", meaning="the largest count; the least is 0", typical=("2", "100"), least=1)

    def pair(self) -> DiscreteLaplacePair:
        return DiscreteLaplacePair(scale=self.exact_parameters["scale"], shift=self.shift)

    def mean_squared_error(self, *, digits: int = 15) -> Enclosure:
        """The largest mean squared error over all true counts.

        With f(a) = sum of min(x, a)^2 P(x) over x >= 1 it is f(i) + f(n - i) at the count i. From i to i + 1 that changes
        by (u(i) - u(n - 1 - i))/(1 + r) with u(a) = (2 a + 1) r^{a + 1}, which for i = (n - 1)/2 - w has the sign of
        w/s - artanh(2 w/n): concave in w and 0 at 0, so the largest value is at an end or in the middle.
        """
        n = int(self.exact_parameters["largest"].p)

        def value(bits: int) -> arb:
            end, middle = self._one_side(n), self._one_side(n // 2) + self._one_side(n - n // 2)
            return end.max(middle)

        return enclose(value, check_digits(digits), what=lambda: f"mean squared error of {self!r}")

    def variance(self, *, digits: int = 15) -> Enclosure:
        raise InputError(
            f"variance of {self!r}: it depends on the true count, and the clamped output is biased; ask for "
            "mean_squared_error, which is the largest over all counts."
        )

    def _one_side(self, a: int) -> arb:
        """f(a) = r/(1 + r) times the sum of (2 j + 1) r^j over j < a."""
        step = arb(1 / self.exact_parameters["scale"])
        r, ra, gap = (-step).exp(), (-step * a).exp(), -(-step).expm1()
        ones = -(-step * a).expm1() / gap
        weighted = (r - ra * (a - (a - 1) * r)) / gap**2
        return r / (1 + r) * (2 * weighted + ones)

    def second_moment(self) -> arb:
        raise NotImplementedError

    def sampler(self) -> Sampler:
        from dpverify.samplers.whole import clamped

        noise = DiscreteLaplace(self.exact_parameters["scale"], sensitivity=self.exact_sensitivity).sampler()
        return clamped(noise, int(self.exact_parameters["largest"].p), law=f"{self!r}")

    def _checked_sensitivity(self, value: Number) -> fmpq:
        number = super()._checked_sensitivity(value)
        if number > self.exact_parameters["largest"]:
            raise InputError(
                f"sensitivity = {shown(value, str)}: counts from 0 to {self.exact_parameters['largest']} are never further "
                "apart than that; give a sensitivity of at most largest."
            )
        return number

    @classmethod
    def _engine(cls, arithmetic: str) -> Engine:
        if arithmetic == "arb":
            return _discrete_laplace
        if arithmetic == "mpmath":
            return _discrete_laplace.SecondOpinion
        raise unknown_arithmetic(arithmetic)

    def _refuse_impossible_bound(self, eps: fmpq, delta: fmpq) -> None:
        refuse_no_privacy(eps, delta)

    @classmethod
    def expression(cls, solved: str) -> str:
        return DiscreteLaplace.expression(solved)
