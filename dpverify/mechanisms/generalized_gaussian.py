"""The generalized Gaussian mechanism, in Liu's convention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.mechanisms import _power_law
from dpverify.mechanisms._parameters import scale_parameter

if TYPE_CHECKING:
    from dpverify.mechanisms.subbotin import Subbotin


class GeneralizedGaussian(_power_law.PowerLawNoise):
    """Add noise with density exp(-|x/scale|^p) / (2 scale Gamma(1 + 1/p)), for any real p > 0.

    p = 1 is Laplace noise of this scale; p = 2 is Gaussian noise of standard deviation scale/sqrt(2). Variance
    scale^2 Gamma(3/p)/Gamma(1/p). For p <= 1 pure DP at scale = sensitivity epsilon^(-1/p); for p > 1 delta > 0 is needed.
    In the other convention, `Subbotin`, the same noise has scale/p^(1/p). The law in full is in `_power_law`.
    [F. Liu, "Generalized Gaussian Mechanism for Differential Privacy", IEEE TKDE 2019]
    """

    __slots__ = ()
    name = "generalized-gaussian"
    scale = scale_parameter("b")
    p = _power_law.exponent_parameter()
    weight_text = ""
    compared_shapes = ()  # the same noise as `Subbotin`, which enters

    @staticmethod
    def weight(p: fmpq) -> fmpq:
        return fmpq(1)

    def subbotin_scale(self, *, digits: int = 15) -> Enclosure:
        """The scale of the same noise in the convention of `Subbotin`: scale p^(-1/p). Exact where it is rational."""
        return _power_law.converted_scale(self, -1, digits)

    def to_subbotin(self) -> Subbotin:
        """The same noise as a `Subbotin`. Raises InputError where its scale is no rational number: see `subbotin_scale`."""
        from dpverify.mechanisms.subbotin import Subbotin

        found: Subbotin = _power_law.converted(self, Subbotin, -1)
        return found
