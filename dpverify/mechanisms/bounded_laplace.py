"""The bounded Laplace mechanism."""

from __future__ import annotations

from flint import fmpq

from dpverify.mechanisms._bounded import condition_parameter
from dpverify.mechanisms._domain import adjacency_parameter, lower_parameter, upper_parameter
from dpverify.mechanisms._parameters import scale_parameter
from dpverify.mechanisms._truncated import TruncatedOutput


class BoundedLaplace(TruncatedOutput):
    """Release x in [lower, upper] with density proportional to exp(-|x - true answer| / scale): pure DP.

    With L = upper - lower, sensitivity D <= L and b = scale, the exact level in one dimension is
    D/b + log[(2 - e^{-D/b} - e^{-(L-D)/b})/(1 - e^{-L/b})], at true answers lower, lower + D and output lower: more than D/b
    unless D = L, so the scale of unbounded Laplace noise is too small. Coordinates are independent. `condition`: "exact", or
    the sufficient "liu" and "exponential" (`_conditions`), both 2 D/epsilon.
    [N. Holohan, S. Antonatos, S. Braghin & P. Mac Aonghusa, "The Bounded Laplace Mechanism in Differential Privacy" (2020); the
    exact level is derived in `_gains`]
    """

    __slots__ = ()
    name = "bounded-laplace"
    scale = scale_parameter("b")
    upper = upper_parameter()
    lower = lower_parameter()
    adjacency = adjacency_parameter()
    condition = condition_parameter(("liu", "exponential"))
    level_text = "D/scale + log((2 - exp(-D/scale) - exp(-(L - D)/scale))/(1 - exp(-L/scale)))"

    @property
    def exact_p(self) -> fmpq:
        return fmpq(1)
