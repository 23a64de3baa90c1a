"""Certified answers for additive noise: the formulas of a family on Arb balls.

Exact comparisons of rationals choose the branch; the engines in `enclose` raise the precision. Nothing is rounded but
outward.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.rationals import rational_value
from dpverify.enclose.decide import is_above
from dpverify.enclose.refine import enclose
from dpverify.enclose.root import positive_root
from dpverify.mechanisms import _integrals, _quantile

if TYPE_CHECKING:
    from dpverify.mechanisms._additive import AdditiveNoise

_ZERO = fmpq(0)


def delta(noise: AdditiveNoise, eps: fmpq, digits: int) -> Enclosure:
    """delta(eps) in [0, 1]: 0 above the largest loss, 1 - e^eps below the smallest, the profile between."""
    d = noise.shift
    limit = None if noise.loss_slope is None else d * noise.loss_slope
    if limit is not None and eps >= limit:
        return Enclosure(_ZERO, digits=digits)

    def value(bits: int) -> arb:
        if limit is not None and eps <= -limit:
            return -BALLS.expm1(arb(eps))
        return noise.profile(BALLS, arb(eps), arb(d))

    return enclose(value, digits, what=lambda: f"delta of {noise!r} at epsilon = {brief(eps)}", within=(0, 1))


def epsilon(noise: AdditiveNoise, exact_delta: fmpq, digits: int) -> Enclosure:
    """The least epsilon >= 0, for a delta at which one exists."""
    d = noise.shift
    if exact_delta == 0 and noise.loss_slope is not None:
        return Enclosure(d * noise.loss_slope, digits=digits)
    if _covers_zero(noise, exact_delta, d):
        return Enclosure(_ZERO, digits=digits)

    def value(bits: int) -> arb:
        closed = noise.epsilon_for(BALLS, arb(exact_delta), arb(d))
        if closed is not None:
            return closed

        def slope(eps: arb) -> arb:
            return -BALLS.exp(eps) * noise.cdf(BALLS, -noise.threshold(BALLS, eps, arb(d)))

        if noise.loss_slope is None:
            return positive_root(
                lambda eps: noise.profile(BALLS, eps, arb(d)),
                slope,
                exact_delta,
                increasing=False,
                bits=bits,
                start=_guess(lambda: noise.epsilon_guess(log_of(exact_delta), float(arb(d)))),
            )
        # The formula holds below the largest loss: eps = limit y/(1 + y) stays there for every y > 0.
        limit = d * noise.loss_slope
        y = positive_root(
            lambda y: noise.profile(BALLS, arb(limit) * y / (1 + y), arb(d)),
            lambda y: slope(arb(limit) * y / (1 + y)) * arb(limit) / ((1 + y) * (1 + y)),
            exact_delta,
            increasing=False,
            bits=bits,
        )
        return arb(limit) * y / (1 + y)

    return enclose(value, digits, what=lambda: f"epsilon of {noise!r} at delta = {brief(exact_delta)}")


def scale(noise: AdditiveNoise, eps: fmpq, exact_delta: fmpq, sensitivity: fmpq, digits: int) -> Enclosure:
    """The least scale for a possible request; `noise` supplies the formulas and the shape, not the scale."""
    if exact_delta == 0 and noise.loss_slope is not None:
        return Enclosure(sensitivity * noise.loss_slope / eps, digits=digits)

    def value(bits: int) -> arb:
        return arb(sensitivity) / _shift(noise, eps, exact_delta, bits)

    return enclose(value, digits, what=lambda: f"{noise.scale_name} at epsilon = {brief(eps)}, delta = {brief(exact_delta)}")


def absolute_moment(noise: AdditiveNoise, order: int, digits: int) -> Enclosure:
    """E |scale X|^order."""
    exact = rational_value(lambda m: noise.absolute_moment(m, order))
    if exact is not None:
        return Enclosure(exact * noise.exact_scale**order, digits=digits)

    def value(bits: int) -> arb:
        return noise.absolute_moment(BALLS, order) * arb(noise.exact_scale) ** order

    return enclose(value, digits, what=lambda: f"moment {order} of {noise!r}")


def tail_probability(noise: AdditiveNoise, bound: fmpq, digits: int) -> Enclosure:
    """P(|scale X| > bound)."""
    if bound == 0:
        return Enclosure(fmpq(1), digits=digits)

    def value(bits: int) -> arb:
        return 2 * noise.cdf(BALLS, -arb(bound / noise.exact_scale))

    return enclose(value, digits, what=lambda: f"P(|noise| > {bound}) of {noise!r}", within=(0, 1))


def tail_bound(noise: AdditiveNoise, probability: fmpq, digits: int) -> Enclosure:
    """The least bound with P(|scale X| > bound) <= probability."""
    if probability == 1:
        return Enclosure(_ZERO, digits=digits)
    exact = rational_value(lambda m: noise.upper_quantile(m, m.exact(probability / 2)))
    if exact is not None:
        return Enclosure(exact * noise.exact_scale, digits=digits)

    def value(bits: int) -> arb:
        return _quantile.upper(noise, probability / 2) * arb(noise.exact_scale)

    return enclose(value, digits, what=lambda: f"the bound that the noise of {noise!r} exceeds at {probability}")


def fisher_information(noise: AdditiveNoise, digits: int) -> Enclosure:
    """E psi'(X)^2 / scale^2."""
    exact = rational_value(noise.score_variance)
    if exact is not None:
        return Enclosure(exact / noise.exact_scale**2, digits=digits)

    def value(bits: int) -> arb:
        stated = noise.score_variance(BALLS)
        return (_integrals.score_variance(noise) if stated is None else stated) / arb(noise.exact_scale) ** 2

    return enclose(value, digits, what=lambda: f"the Fisher information of {noise!r}")


def _shift(noise: AdditiveNoise, eps: fmpq, exact_delta: fmpq, bits: int) -> arb:
    """The d > 0 at which the profile passes through (eps, delta)."""
    closed = noise.shift_for(BALLS, arb(eps), arb(exact_delta))
    if closed is not None:
        return closed

    def slope(d: arb) -> arb:
        return BALLS.exp(noise.log_density(BALLS, d - noise.threshold(BALLS, arb(eps), d)))

    if noise.loss_slope is None:
        return positive_root(
            lambda d: noise.profile(BALLS, arb(eps), d),
            slope,
            exact_delta,
            increasing=True,
            bits=bits,
            start=_guess(lambda: noise.shift_guess(float(arb(eps)), log_of(exact_delta))),
        )
    least = eps / noise.loss_slope  # up to there no loss exceeds eps; the formula holds above
    return arb(least) + positive_root(
        lambda more: noise.profile(BALLS, arb(eps), arb(least) + more),
        lambda more: slope(arb(least) + more),
        exact_delta,
        increasing=True,
        bits=bits,
    )


def _covers_zero(noise: AdditiveNoise, exact_delta: fmpq, d: fmpq) -> bool:
    """Whether delta(0) <= delta, so that no epsilon is needed."""
    return not is_above(lambda: noise.profile(BALLS, arb(0), arb(d)), exact_delta, what=lambda: f"delta(0) of {noise!r}")


def _guess(compute: object) -> float | None:
    """A starting point in plain floating point, or None where that overflows: only speed depends on it."""
    try:
        return compute()  # type: ignore[operator,no-any-return]
    except (OverflowError, ValueError, ZeroDivisionError):
        return None


def log_of(value: fmpq) -> float:
    """The natural logarithm of a positive rational as a double, also far below the least double."""
    return math.log(int(value.p)) - math.log(int(value.q))
