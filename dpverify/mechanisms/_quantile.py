"""Quantiles of additive noise, in units of its scale: in closed form where the family states one, else certified roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import arb, ctx, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.enclose.root import positive_root

if TYPE_CHECKING:
    from dpverify.mechanisms._additive import AdditiveNoise

_HALF = fmpq(1, 2)


def upper(noise: AdditiveNoise, tail: fmpq) -> arb:
    """The u with P(X > u) = tail, for 0 < tail < 1; at about the working precision."""
    if tail == _HALF:
        return arb(0)
    if tail > _HALF:
        return -upper(noise, 1 - tail)
    closed = noise.upper_quantile(BALLS, arb(tail))
    if closed is not None:
        return closed
    return positive_root(
        lambda x: noise.cdf(BALLS, -x),
        lambda x: -BALLS.exp(noise.log_density(BALLS, x)),
        tail,
        increasing=False,
        bits=int(ctx.prec),
    )
