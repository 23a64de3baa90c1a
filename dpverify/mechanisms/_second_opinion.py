"""The same three questions as `_certified`, answered by mpmath from the same formulas: no certificate, no shared engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import fmpq

from dpverify.arithmetic.multiprecision import MultiprecisionArithmetic
from dpverify.enclose.second_opinion import positive_root, settled

if TYPE_CHECKING:
    from mpmath import mpf

    from dpverify.mechanisms._additive import AdditiveNoise


def delta(noise: AdditiveNoise, eps: fmpq, digits: int) -> mpf:
    """delta(eps) to about `digits` digits."""

    def value(m: MultiprecisionArithmetic) -> mpf:
        limit = None if noise.loss_slope is None else noise.shift * noise.loss_slope
        if limit is not None and eps >= limit:
            return m.rational(0)
        if limit is not None and eps <= -limit:
            return -m.expm1(m.exact(eps))
        return noise.profile(m, m.exact(eps), m.exact(noise.shift))

    return settled(value, digits, what=f"delta of {noise!r}")


def epsilon(noise: AdditiveNoise, exact_delta: fmpq, digits: int) -> mpf:
    """The least epsilon >= 0, to about `digits` digits."""

    def value(m: MultiprecisionArithmetic) -> mpf:
        d, level = m.exact(noise.shift), m.exact(exact_delta)
        if exact_delta == 0 and noise.loss_slope is not None:
            return d * noise.loss_slope
        if noise.profile(m, m.rational(0), d) <= level:
            return m.rational(0)
        closed = noise.epsilon_for(m, level, d)
        if closed is not None:
            return closed
        if noise.loss_slope is None:
            return positive_root(m, lambda eps: noise.profile(m, eps, d), level, increasing=False)
        limit = d * noise.loss_slope  # the formula holds below it
        y = positive_root(m, lambda y: noise.profile(m, limit * y / (1 + y), d), level, increasing=False)
        return limit * y / (1 + y)

    return settled(value, digits, what=f"epsilon of {noise!r}")


def scale(noise: AdditiveNoise, eps: fmpq, exact_delta: fmpq, sensitivity: fmpq, digits: int) -> mpf:
    """The least scale, to about `digits` digits."""

    def value(m: MultiprecisionArithmetic) -> mpf:
        if exact_delta == 0 and noise.loss_slope is not None:
            return m.exact(sensitivity * noise.loss_slope / eps)
        level, eps_value = m.exact(exact_delta), m.exact(eps)
        shift = noise.shift_for(m, eps_value, level)
        if shift is None:
            least = m.exact(fmpq(0) if noise.loss_slope is None else eps / noise.loss_slope)  # the formula holds above it
            shift = least + positive_root(m, lambda more: noise.profile(m, eps_value, least + more), level, increasing=True)
        return m.exact(sensitivity) / shift

    return settled(value, digits, what=noise.scale_name)
