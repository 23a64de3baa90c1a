"""The boundary-inflated generalized Gaussian mechanism."""

from __future__ import annotations

from dpverify.mechanisms._bounded import condition_parameter, exponent_parameter
from dpverify.mechanisms._domain import adjacency_parameter, lower_parameter, upper_parameter
from dpverify.mechanisms._inflated import InflatedOutput
from dpverify.mechanisms._parameters import scale_parameter


class BoundaryInflatedGeneralizedGaussian(InflatedOutput):
    """Add noise with density ~ exp(-|x|^p / scale^p), and move what leaves [lower, upper] to the nearer bound: pure DP.

    With L = upper - lower, sensitivity D <= L, b = scale and Q(x) = Q(1/p, (x/b)^p), the exact level in one dimension is
    log[Q(L-D)/Q(L)] for p >= 1 (D/b for p = 1), at the bound that is farther from the true answers; events that mix bounds and
    interior are no harder. For p < 1 it is D^p/b^p, in the interior. Coordinates are independent: levels add up over a box of
    shifts, and the worst shifts on a ball (adjacency = "l2") are a concave maximum. Equation (7) of the source is not
    sufficient here: at b of `TruncatedGeneralizedGaussian` with condition "liu", `epsilon(0)` gives the level that is realised.
    [F. Liu, "Generalized Gaussian Mechanism for Differential Privacy", IEEE TKDE 2019; the exact level is derived in `_gains`]
    """

    __slots__ = ()
    name = "boundary-inflated-generalized-gaussian"
    scale = scale_parameter("b")
    p = exponent_parameter()
    upper = upper_parameter()
    lower = lower_parameter()
    adjacency = adjacency_parameter()
    condition = condition_parameter(())
    level_text = "log(Q(1/p, ((L - D)/scale)^p)/Q(1/p, (L/scale)^p)) (p <= 1: D^p/scale^p)"
