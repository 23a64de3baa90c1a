"""The least scale of probabilistic DP, for symmetric log-concave noise.

The loss L(x) = psi(x) - psi(x - d) does not fall, so P(L > eps) <= delta says that L <= eps at the point d + u that the moved
noise exceeds with probability delta: psi(d + u) - psi(u) <= eps. The left side is at most 0 for d <= -2u and rises with d from
there on. In the union reading the loss is that against the worse of both neighbours, and exceeds eps where |X| > u.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from flint import arb, ctx, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.derivatives import DerivativeArithmetic, Dual
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.enclose.refine import enclose
from dpverify.enclose.root import positive_root
from dpverify.errors import ImpossibleRequest, InputError
from dpverify.mechanisms import _quantile

if TYPE_CHECKING:
    from typing import Any

    from dpverify.mechanisms._additive import AdditiveNoise

_HALF = fmpq(1, 2)


def scale(noise: AdditiveNoise, eps: fmpq, delta: fmpq, reading: str, digits: int) -> Enclosure:
    """The least scale with P(L > eps) <= delta; `noise` supplies shape and sensitivity."""
    if reading not in ("pairwise", "union"):
        raise InputError(f"reading = {reading!r}: choose 'union' (the worse of both neighbours) or 'pairwise' (one neighbour).")
    tail = delta / 2 if reading == "union" else delta
    slope, sensitivity = noise.loss_slope, noise.exact_sensitivity
    if eps == 0 and tail <= _HALF:
        raise ImpossibleRequest("epsilon = 0: the loss is positive half of the time at every scale; give epsilon > 0.")
    if slope is not None and (tail == 0 or (noise.attains_loss_limit and tail <= _HALF)):
        return Enclosure(sensitivity * slope / eps, digits=digits)
    if tail == 0:
        raise ImpossibleRequest(
            f"delta = 0: the privacy loss of {type(noise).__name__} noise is unbounded; give delta > 0, or use Laplace noise."
        )

    def value(bits: int) -> arb:
        return arb(sensitivity) / _shift(noise, eps, tail, bits)

    return enclose(
        value, digits, what=lambda: f"{noise.scale_name} at epsilon = {brief(eps)}, P(loss > epsilon) = {brief(delta)}"
    )


def _shift(noise: AdditiveNoise, eps: fmpq, tail: fmpq, bits: int) -> arb:
    """The d at which psi(d + u) - psi(u) = eps, right of max(0, -2u)."""

    @cache
    def at_precision(precision: int) -> arb:
        return abs(_quantile.upper(noise, tail))

    def away() -> arb:
        """|u|, at the working precision in force. psi(u) = psi(|u|), and d + u = |u| + rest."""
        return at_precision(int(ctx.prec))

    if eps == 0:
        return 2 * away()
    m: Any = DerivativeArithmetic(BALLS)

    def loss(rest: arb) -> arb:
        return noise.log_density(BALLS, away()) - noise.log_density(BALLS, away() + rest)

    def slope(rest: arb) -> arb:
        there: Dual = noise.log_density(m, Dual(away() + rest, arb(1)))
        return -there.slope

    rest = positive_root(loss, slope, eps, increasing=True, bits=bits)
    return rest if tail <= _HALF else rest + 2 * away()
