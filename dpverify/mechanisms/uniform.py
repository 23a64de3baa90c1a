"""The uniform mechanism."""

from __future__ import annotations

from typing import ClassVar

from flint import fmpq

from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.mechanisms._bounded_support import BoundedSupportNoise
from dpverify.mechanisms._parameters import scale_parameter

_ONE = fmpq(1)


class Uniform(BoundedSupportNoise):
    """Add noise that is uniform on [-scale, scale]: delta(eps) = min(1, sensitivity/(2 scale)) whatever eps >= 0.

    No epsilon makes it private with a smaller delta: outputs beyond the common support give the answer away. The least scale
    is sensitivity/(2 delta), exactly. Variance scale^2/3. For eps < 0, delta(eps) = 1 - e^eps (1 - delta(0)).
    """

    __slots__ = ()
    name = "uniform"
    scale = scale_parameter(meaning="half-width of the noise")
    texts: ClassVar[dict[str, str]] = {
        "delta": "min(1, sensitivity/(2*scale)) for epsilon >= 0",
        "epsilon": "0 if delta >= sensitivity/(2*scale); else none",
        "scale": "sensitivity/(2*delta)",
    }

    @property
    def reach(self) -> fmpq:
        return _ONE

    def log_density(self, m: Arithmetic, x: Value) -> Value:
        return -m.log(m.rational(2)) + 0 * x

    def cdf_within(self, m: Arithmetic, x: Value) -> Value:
        return (1 + x) / 2

    def exact_delta(self, m: Arithmetic, eps: fmpq, d: fmpq) -> fmpq:
        return min(_ONE, d / 2)

    def exact_shift(self, m: Arithmetic, eps: fmpq, delta: fmpq) -> fmpq:
        return 2 * delta

    def least_delta(self, m: Arithmetic, d: fmpq) -> fmpq:
        return min(_ONE, d / 2)

    def tail_masses(self, m: Arithmetic, eps: fmpq, *, inclusive: bool) -> tuple[fmpq, fmpq]:
        """The loss is 0 or infinite."""
        if inclusive and eps == 0:
            return _ONE, max(fmpq(0), 1 - self.shift / 2)
        return self.least_delta(m, self.shift), fmpq(0)

    def common_moment(self, m: Arithmetic, order: fmpq) -> fmpq:
        return 1 - self.shift / 2

    def absolute_moment(self, m: Arithmetic, order: int) -> Value:
        return m.rational(1, order + 1)

    def upper_quantile(self, m: Arithmetic, tail: Value) -> Value:
        return 1 - 2 * tail
