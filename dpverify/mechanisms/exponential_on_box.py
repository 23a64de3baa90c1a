"""The exponential mechanism on a box, with the utility -|x - true answer|_p^p."""

from __future__ import annotations

from flint import fmpq

from dpverify.mechanisms._bounded import condition_parameter, exponent_parameter
from dpverify.mechanisms._domain import adjacency_parameter, lower_parameter, upper_parameter
from dpverify.mechanisms._parameters import scale_parameter
from dpverify.mechanisms._truncated import TruncatedOutput


class ExponentialOnBox(TruncatedOutput):
    """Choose x in a box with density proportional to exp(-sum_k |x_k - t_k|^p / temperature), t the true answer: pure DP.

    The general analysis of the exponential mechanism asks for temperature = 2 Delta_u/epsilon, where the utility
    -sum_k |x_k - t_k|^p moves by at most Delta_u = sum_k [L_k^p - (L_k - D_k)^p] (p >= 1; sum_k D_k^p for p < 1): that is
    condition "exponential". For p >= 2 the factor 2 is unnecessary: condition "utility". The law is that of
    `TruncatedGeneralizedGaussian` with scale = temperature^(1/p), whose exact level is less still: condition "exact".
    The utility -|x - t|_p without the power, on the whole space, is `KNorm`.
    [F. McSherry & K. Talwar, "Mechanism Design via Differential Privacy" (2007); F. Liu, "Generalized Gaussian Mechanism for
    Differential Privacy", IEEE TKDE 2019; the exact level is derived in `_gains`]
    """

    __slots__ = ()
    name = "exponential-on-box"
    temperature = scale_parameter("T", meaning="temperature: the utility is divided by it, in the unit of the answer to the p")
    p = exponent_parameter()
    upper = upper_parameter()
    lower = lower_parameter()
    adjacency = adjacency_parameter()
    condition = condition_parameter(("liu", "exponential", "utility"))
    power_text = "temperature"
    level_text = (
        "(L^p - (L - D)^p)/temperature + log(M(L)/(M(D) + M(L - D))), M(x) = P(1/p, x^p/temperature), for p >= 2"
        " (p <= 1: D^p/temperature + log((M(D) + M(L - D))/M(L)), largest over shifts D; 1 < p < 2: largest over true answers)"
    )

    @property
    def degree(self) -> fmpq:
        return fmpq(1)
