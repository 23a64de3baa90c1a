"""NumPy arrays: double precision, for plots and tables. Nothing that is certified passes through here."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray
from scipy import special

from dpverify.arithmetic.exact import float_above

Array = NDArray[np.float64]


class ArrayArithmetic:
    """Elementwise double-precision arithmetic; a few units in the last place, and no guarantee."""

    name = "numpy"

    def exact(self, number: fmpq) -> float:
        return float_above(number)

    def rational(self, above: int, below: int = 1) -> float:
        return above / below

    def pi(self) -> float:
        return float(np.pi)

    def exp(self, x: Array) -> Array:
        return np.exp(x)

    def expm1(self, x: Array) -> Array:
        return np.expm1(x)

    def log(self, x: Array) -> Array:
        return np.log(x)

    def log1p(self, x: Array) -> Array:
        return np.log1p(x)

    def sqrt(self, x: Array) -> Array:
        return np.sqrt(x)

    def abs(self, x: Array) -> Array:
        return np.abs(x)

    def sign(self, x: Array) -> Array:
        return np.sign(x)

    def normal_cdf(self, x: Array) -> Any:
        return special.ndtr(x)

    def zeta(self, x: Array) -> Any:
        return special.zeta(x)

    def power(self, x: Array, y: Array) -> Any:
        return np.power(x, y)

    def atan(self, x: Array) -> Array:
        return np.arctan(x)

    def floor(self, x: Array) -> Any:
        return np.floor(x)

    def gamma(self, x: Array) -> Any:
        return special.gamma(x)

    def gamma_upper(self, a: Array, x: Array) -> Any:
        return special.gammaincc(a, x)

    def gamma_lower(self, a: Array, x: Array) -> Any:
        return special.gammainc(a, x)

    def student_cdf(self, nu: Array, x: Array) -> Any:
        return special.stdtr(nu, x)

    def hurwitz_zeta(self, s: Array, a: Array) -> Any:
        return special.zeta(s, a)


ARRAYS = ArrayArithmetic()
