"""The bounded Gaussian mechanism."""

from __future__ import annotations

from flint import fmpq

from dpverify.mechanisms._bounded import condition_parameter
from dpverify.mechanisms._domain import adjacency_parameter, lower_parameter, upper_parameter
from dpverify.mechanisms._parameters import scale_parameter
from dpverify.mechanisms._truncated import TruncatedOutput


class BoundedGaussian(TruncatedOutput):
    """Release x in [lower, upper] with density proportional to exp(-(x - true answer)^2/(2 sigma^2)): pure DP.

    With L = upper - lower and sensitivity D <= L, the exact level in one dimension is
    D (2L - D)/(2 sigma^2) + log[(Phi(L/sigma) - 1/2)/(Phi(D/sigma) + Phi((L-D)/sigma) - 1)], at true answers upper - D, upper
    and output lower. Coordinates are independent: levels add up over a box of shifts, and the worst shifts on a ball
    (adjacency = "l2") are a concave maximum. sigma is not the standard deviation of the release: see `mean_squared_error`.
    `condition`: "exact", or the sufficient "chen-hale", "liu", "exponential", "utility" (`_conditions`).
    [B. Chen & M. Hale, "The Bounded Gaussian Mechanism for Differential Privacy" (2022); the exact level is derived in
    `_gains`]
    """

    __slots__ = ()
    name = "bounded-gaussian"
    sigma = scale_parameter("sigma", meaning="standard deviation of the Gaussian before it is cut to the domain")
    upper = upper_parameter()
    lower = lower_parameter()
    adjacency = adjacency_parameter()
    condition = condition_parameter(("chen-hale", "liu", "exponential", "utility"))
    power_text = "2*sigma^2"
    level_text = (
        "D*(2*L - D)/(2*sigma^2) + log((Phi(L/sigma) - 1/2)/(Phi(D/sigma) + Phi((L - D)/sigma) - 1))"
        " (adjacency l2: the largest sum over shifts D of Euclidean norm at most the sensitivity)"
    )

    @property
    def exact_p(self) -> fmpq:
        return fmpq(2)

    @property
    def weight(self) -> int:
        return 2
