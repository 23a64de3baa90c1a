"""The same answers as `_k_norm` by mpmath: no certificate, no shared engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import fmpq

from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.multiprecision import MultiprecisionArithmetic
from dpverify.enclose.second_opinion import settled
from dpverify.mechanisms import _second_opinion
from dpverify.mechanisms._k_norm import not_covered

if TYPE_CHECKING:
    from mpmath import mpf

    from dpverify.mechanisms._domain import Reach
    from dpverify.mechanisms.k_norm import KNorm


def delta(mechanism: KNorm, eps: fmpq, digits: int) -> mpf:
    """0 from the pure-DP level on; between it and its negative only in one dimension."""
    if mechanism.exact_parameters["dimension"] == 1 and mechanism.exact_norm(mechanism.reach) is not None:
        return _second_opinion.delta(mechanism.as_laplace(), eps, digits)
    loss = epsilon(mechanism, fmpq(0), digits)
    m = MultiprecisionArithmetic(digits + 15)
    if m.exact(eps) >= loss:
        return m.rational(0)
    if mechanism.times == 1 and -m.exact(eps) >= loss:
        return -m.expm1(m.exact(eps))
    raise not_covered(f"delta at epsilon = {brief(eps)}, which is below the pure-DP level")


def epsilon(mechanism: KNorm, exact_delta: fmpq, digits: int) -> mpf:
    """Delta_p/scale."""
    if exact_delta > 0:
        return _second_opinion.epsilon(mechanism.as_laplace(), exact_delta, digits)
    return _opinion(mechanism, mechanism.reach, mechanism.exact_parameters["scale"], digits)


def scale(mechanism: KNorm, eps: fmpq, exact_delta: fmpq, sensitivity: Reach, digits: int) -> mpf:
    """Delta_p/epsilon."""
    norm = mechanism.exact_norm(sensitivity)
    if exact_delta > 0 and norm is not None:
        return _second_opinion.scale(mechanism.as_laplace(), eps, exact_delta, mechanism.times * norm, digits)
    return _opinion(mechanism, sensitivity, eps, digits)


def _opinion(mechanism: KNorm, sensitivity: Reach, below: fmpq, digits: int) -> mpf:
    return settled(
        lambda m: mechanism.times * mechanism.norm_on(m, sensitivity) / m.exact(below), digits, what=f"{mechanism!r}"
    )
