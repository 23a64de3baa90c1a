"""The truncated generalized Gaussian mechanism."""

from __future__ import annotations

from dpverify.mechanisms._bounded import condition_parameter, exponent_parameter
from dpverify.mechanisms._domain import adjacency_parameter, lower_parameter, upper_parameter
from dpverify.mechanisms._parameters import scale_parameter
from dpverify.mechanisms._truncated import TruncatedOutput


class TruncatedGeneralizedGaussian(TruncatedOutput):
    """Release x in [lower, upper] with density proportional to exp(-|x - true answer|^p / scale^p), p > 0: pure DP.

    With L = upper - lower, sensitivity D <= L, b = scale and M(x) = P(1/p, (x/b)^p), the exact level in one dimension is
    [L^p - (L-D)^p]/b^p + log[M(L)/(M(D) + M(L-D))] for p >= 2, at true answers upper - D, upper and output lower;
    for p <= 1 the largest c^p/b^p + log[(M(c) + M(L-c))/M(L)] over c <= D (c = D where p = 1 or D <= L/2);
    for 1 < p < 2 the worst true answer may lie inside the domain, and is found by certified branch and bound.
    Coordinates are independent: levels add up over a box of shifts. `condition`: "exact", or the sufficient "liu",
    "exponential", "utility" (`_conditions`).
    [F. Liu, "Generalized Gaussian Mechanism for Differential Privacy", IEEE TKDE 2019, Definition 5; the exact level is derived
    in `_gains`]
    """

    __slots__ = ()
    name = "truncated-generalized-gaussian"
    scale = scale_parameter("b")
    p = exponent_parameter()
    upper = upper_parameter()
    lower = lower_parameter()
    adjacency = adjacency_parameter()
    condition = condition_parameter(("liu", "exponential", "utility"))
    level_text = (
        "(L^p - (L - D)^p)/scale^p + log(M(L)/(M(D) + M(L - D))), M(x) = P(1/p, x^p/scale^p), for p >= 2"
        " (p <= 1: D^p/scale^p + log((M(D) + M(L - D))/M(L)), largest over shifts D; 1 < p < 2: largest over true answers)"
    )
