"""Probabilistic DP of noise with density ~ exp(-c |x|^p), p >= 1: closed forms.

The loss increases, so P(L > eps) <= delta says that L <= eps at the point d + u that the moved noise exceeds with probability
delta: c ((d + u)^p - |u|^p) = eps, that is d = (eps/c + |u|^p)^(1/p) - u. In the union reading the loss is the larger of those
to both neighbours, and exceeds eps where |X| > u, which has probability Q(1/p, c u^p).
Source: F. Liu, "Generalized Gaussian Mechanism for Differential Privacy" (IEEE TKDE 2019), Corollary 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number, rational_power
from dpverify.enclose.refine import enclose
from dpverify.enclose.root import positive_root
from dpverify.errors import ImpossibleRequest, InputError, NotCovered
from dpverify.mechanisms._parameters import checked_delta, checked_epsilon

if TYPE_CHECKING:
    from dpverify.mechanisms._power_law import PowerLawNoise

_HALF, _ONE = fmpq(1, 2), fmpq(1)


def scale(noise: PowerLawNoise, epsilon: Number, delta: Number, reading: str, digits: int) -> Enclosure:
    """The least scale; `noise` supplies shape and sensitivity."""
    eps, exact_delta = checked_epsilon(epsilon), checked_delta(delta)
    p, c, sensitivity = noise.exact_p, noise.exact_weight, noise.exact_sensitivity
    outside, sign = _outside(exact_delta, reading)
    if p < 1:
        raise NotCovered(
            f"p = {p}: for p < 1 the loss is not monotone and has no such closed form; at scale = sensitivity "
            "(c/epsilon)^(1/p) it never exceeds epsilon (ask bound with delta = 0)."
        )
    if p == 1 and eps > 0 and sign > 0:
        return Enclosure(sensitivity / (eps / c), digits=digits)
    if outside == 0:
        raise ImpossibleRequest("delta = 0: the privacy loss is unbounded for p > 1; give delta > 0, or use p = 1.")
    if eps == 0 and (sign > 0 or outside == 1):
        raise ImpossibleRequest("epsilon = 0: the loss is positive half of the time at every scale; give epsilon > 0.")
    if outside == 1:  # u = 0
        power = rational_power(eps / c, 1 / p)
        if power is not None:
            return Enclosure(sensitivity / power, digits=digits)
        return enclose(lambda bits: arb(sensitivity) * arb(eps / c) ** arb(-1 / p), digits, what=lambda: f"scale of {noise!r}")

    def value(bits: int) -> arb:
        size = _tail_size(noise, outside, bits)  # c u^p
        u, ratio = (size / arb(c)) ** arb(1 / p), arb(eps) / size
        if sign > 0:
            return arb(sensitivity) / (u * (ratio.log1p() / arb(p)).expm1())
        return arb(sensitivity) / (u * ((1 + ratio) ** arb(1 / p) + 1))

    return enclose(
        value, digits, what=lambda: f"{noise.scale_name} at epsilon = {brief(eps)}, P(loss > epsilon) = {brief(exact_delta)}"
    )


def _outside(delta: fmpq, reading: str) -> tuple[fmpq, int]:
    """(P(|X| > |u|), sign of u)."""
    if reading == "union":
        return delta, 1
    if reading == "pairwise":
        return (2 * delta, 1) if delta <= _HALF else (2 * (1 - delta), -1)
    raise InputError(f"reading = {reading!r}: choose 'union' (the worse of both neighbours) or 'pairwise' (one neighbour).")


def _tail_size(noise: PowerLawNoise, outside: fmpq, bits: int) -> arb:
    """The z with Q(1/p, z) = outside, for 0 < outside < 1."""
    a = 1 / noise.exact_p

    def slope(z: arb) -> arb:
        return z ** (arb(a) - 1) * (-z).exp() * arb(a).rgamma()

    if outside > _HALF:  # where the mass within is the smaller one
        return positive_root(lambda z: BALLS.gamma_lower(arb(a), z), slope, 1 - outside, increasing=True, bits=bits)
    return positive_root(lambda z: BALLS.gamma_upper(arb(a), z), lambda z: -slope(z), outside, increasing=False, bits=bits)
