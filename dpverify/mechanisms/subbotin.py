"""The Subbotin mechanism: generalized Gaussian noise in Vinterbo's convention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.mechanisms import _power_law
from dpverify.mechanisms._parameters import scale_parameter

if TYPE_CHECKING:
    from dpverify.mechanisms.generalized_gaussian import GeneralizedGaussian


class Subbotin(_power_law.PowerLawNoise):
    """Add noise with density exp(-|x/scale|^p/p) / (2 scale p^(1/p - 1) Gamma(1/p)), for any real p > 0.

    p = 1 is Laplace noise of this scale; p = 2 is Gaussian noise of this standard deviation. Variance
    scale^2 p^(2/p) Gamma(3/p)/Gamma(1/p). For p <= 1 pure DP at scale = sensitivity (p epsilon)^(-1/p); for p > 1 delta > 0
    is needed. In the other convention, `GeneralizedGaussian`, the same noise has scale p^(1/p). The law in full is in
    `_power_law`.
    [S. Vinterbo, "Differential Privacy for Symmetric Log-Concave Mechanisms", AISTATS 2022]
    """

    __slots__ = ()
    name = "subbotin"
    scale = scale_parameter("s")
    p = _power_law.exponent_parameter()
    weight_text = "1/p*"
    compared_shapes = ({"p": "3/2"}, {"p": "2"}, {"p": "4"})

    @staticmethod
    def weight(p: fmpq) -> fmpq:
        return 1 / p

    def generalized_gaussian_scale(self, *, digits: int = 15) -> Enclosure:
        """The scale of the same noise in the convention of `GeneralizedGaussian`: scale p^(1/p). Exact where rational."""
        return _power_law.converted_scale(self, 1, digits)

    def to_generalized_gaussian(self) -> GeneralizedGaussian:
        """The same noise as a `GeneralizedGaussian`. Raises InputError where its scale is no rational number: see
        `generalized_gaussian_scale`."""
        from dpverify.mechanisms.generalized_gaussian import GeneralizedGaussian

        found: GeneralizedGaussian = _power_law.converted(self, GeneralizedGaussian, 1)
        return found
