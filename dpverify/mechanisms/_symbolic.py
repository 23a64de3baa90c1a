"""Mechanisms as symbols: the privacy loss in the units of the output, and the derivation of the profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy

from dpverify.arithmetic.symbols import SYMBOLS
from dpverify.derive import additive
from dpverify.derive.notation import tidy

if TYPE_CHECKING:
    from dpverify.derive.steps import Derivation
    from dpverify.mechanisms._additive import AdditiveNoise


def privacy_loss(noise: AdditiveNoise) -> sympy.Expr:
    """log p(x)/q(x) in the symbol `x` (units of the output), p being the noise about `sensitivity` and q that about 0.

    The numbers in it are exact rationals.
    """
    x = sympy.Symbol("x")
    scale, sensitivity = SYMBOLS.exact(noise.exact_scale), SYMBOLS.exact(noise.exact_sensitivity)
    return tidy(noise.log_density(SYMBOLS, (x - sensitivity) / scale) - noise.log_density(SYMBOLS, x / scale))


def derivation(noise: AdditiveNoise) -> Derivation:
    """The checked derivation of the profile. Raises DerivationError."""
    return additive.derive(noise)
