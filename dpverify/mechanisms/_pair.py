"""The dominating pair of additive noise: two output laws from which every privacy notion is computed.

Everything is in units of the scale: P is the noise moved by d = sensitivity / scale, Q the noise itself. The privacy loss
L(x) = psi(x) - psi(x - d) does not fall as x grows, so every event about L is a half line that starts at a threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from flint import arb, ctx, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.derivatives import DerivativeArithmetic, Dual
from dpverify.arithmetic.interface import Arithmetic
from dpverify.arithmetic.rationals import rational_value
from dpverify.mechanisms import _quantile
from dpverify.mechanisms._moved_noise import MovedNoise

if TYPE_CHECKING:
    from dpverify.mechanisms._additive import AdditiveNoise


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditivePair(MovedNoise):
    """P: the noise moved by the sensitivity. Q: the noise. No pair of neighbours has a larger hockey-stick divergence,
    at any epsilon. The reflection x -> d - x swaps the two, so (Q, P) has the same privacy loss."""

    is_symmetric: ClassVar[bool] = True

    noise: AdditiveNoise

    # What every dominating pair offers (`notions.pair`).

    def hockey_stick(self, eps: fmpq) -> arb | fmpq:
        limit = self._limit()
        if limit is not None and eps >= limit:
            return fmpq(0)
        if limit is not None and eps <= -limit:
            return -BALLS.expm1(arb(eps))
        return self.noise.profile(BALLS, arb(eps), arb(self.noise.shift))

    def loss_tail(self, eps: fmpq) -> arb | fmpq:
        limit = self._limit()
        if limit is not None and eps >= limit:
            return fmpq(0)
        if limit is not None and eps < -limit:
            return fmpq(1)
        d = arb(self.noise.shift)
        threshold = self.noise.threshold(BALLS, arb(eps), d)
        if limit is not None and eps == -limit and not threshold.is_finite():
            return fmpq(1)  # the least loss is approached, and not attained
        return self.noise.cdf(BALLS, d - threshold)

    def loss_limit(self) -> arb | fmpq:
        limit = self._limit()
        return arb.pos_inf() if limit is None else limit

    def power_moment(self, order: fmpq) -> arb | fmpq:
        if order == 1:
            return fmpq(1)
        closed = self.log_power_moment(order)
        if closed is not None:
            return BALLS.exp(arb(closed))
        from dpverify.mechanisms import _integrals

        return _integrals.power_moment(self.noise, order)

    def mean_loss(self) -> arb | fmpq:
        stated = _stated(lambda m: self.noise.mean_loss(m, m.exact(self.noise.shift)))
        if stated is not None:
            return stated
        from dpverify.mechanisms import _integrals

        return _integrals.mean_loss(self.noise)

    def reversed(self) -> Self:
        return self

    # What this pair knows beyond that.

    def log_power_moment(self, order: fmpq) -> arb | fmpq | None:
        def formula(m: Arithmetic) -> Any:
            return self.noise.log_power_moment(m, m.exact(order), m.exact(self.noise.shift))

        exact = rational_value(formula)
        if exact is not None:
            return exact
        return self._middle_log_moment() if order == _HALF else _stated(formula)

    def _middle_log_moment(self) -> arb | fmpq | None:
        """At order 1/2, where stated formulas may divide by zero: K is convex and even about 1/2, which gives
        2 K(1/2 + h) - K(1/2 + 2h) <= K(1/2) <= K(1/2 + h)."""
        step = fmpq(1, 2 ** int(ctx.prec))
        near, far = self.log_power_moment(_HALF + step), self.log_power_moment(_HALF + 2 * step)
        if near is None or far is None:
            return None
        return (2 * arb(near) - arb(far)).union(arb(near))

    def loss_variance(self) -> arb | fmpq:
        stated = _stated(lambda m: self.noise.loss_variance(m, m.exact(self.noise.shift)))
        if stated is not None:
            return stated
        from dpverify.mechanisms import _integrals

        return _integrals.loss_variance(self.noise)

    def loss_quantile(self, tail: fmpq) -> arb | fmpq:
        """L(d + u), u the point that the noise exceeds with probability `tail`."""
        limit, d = self._limit(), arb(self.noise.shift)
        if limit is not None and self.noise.attains_loss_limit and tail <= fmpq(1, 2):
            return limit
        u = _quantile.upper(self.noise, tail)
        if limit is not None and self.noise.attains_loss_limit and u + d <= 0:
            return -limit
        return self.noise.log_density(BALLS, u) - self.noise.log_density(BALLS, d + u)

    def trade_off(self, level: fmpq) -> arb | fmpq:
        """F(u - d), u the point that the noise exceeds with probability `level`."""
        if level == 0:
            return fmpq(1)
        return self.noise.cdf(BALLS, _quantile.upper(self.noise, level) - arb(self.noise.shift))

    def tail_with_slope(self, eps: arb) -> tuple[arb, arb] | None:
        """P(L > eps) and its derivative in eps, over all of a ball within the range of the loss; None outside of it."""
        limit = self._limit()
        if limit is not None and not (-arb(limit) < eps < arb(limit)):
            return None
        m: Any = DerivativeArithmetic(BALLS)
        d = m.exact(self.noise.shift)
        tail: Dual = self.noise.cdf(m, d - self.noise.threshold(m, Dual(eps, 1), d))
        return tail.value, arb(tail.slope)

    def disclosure_tail(self, eps: fmpq) -> arb | fmpq:
        """P(the loss against some neighbour exceeds eps). The worst neighbour of an output y lies on the far side of it, at
        the full distance d, so these are the y with |y| above some v: two tails of P(L > eps), or everything."""
        tail = self.loss_tail(eps)
        return min(fmpq(1), 2 * tail) if isinstance(tail, fmpq) else (2 * tail).min(arb(1))

    def disclosure_quantile(self, tail: fmpq) -> arb | fmpq:
        return self.loss_quantile(tail / 2)

    def concentration_tau(self) -> arb | fmpq | None:
        # A Gaussian loss N(d^2/2, d^2) has P(L - d^2/2 > a) <= e^{-a^2/(2 d^2)}, with equality of the exponents as a grows.
        return self.noise.shift if self.noise.against_gaussian == "equal" else None

    def zcdp_rho(self) -> arb | fmpq | None:
        if self.noise.zcdp_is_mean_loss:
            return self.mean_loss()
        return arb.pos_inf() if self.noise.against_gaussian == "lighter" else None

    def gdp_mu(self) -> arb | fmpq | None:
        against = self.noise.against_gaussian
        if against == "equal":
            return self.noise.shift
        if against == "heavier":  # the two profiles meet at epsilon = 0: F(d/2) = Phi(mu/2)
            outside = 2 * self.noise.cdf(BALLS, arb(-self.noise.shift / 2))
            return 2 * arb(2).sqrt() * (outside.erfcinv() if self.noise.shift > 1 else (1 - outside).erfinv())
        return arb.pos_inf() if against == "lighter" else None

    def _limit(self) -> fmpq | None:
        """The largest privacy loss, where it is bounded."""
        slope = self.noise.loss_slope
        return None if slope is None else self.noise.shift * slope


_HALF = fmpq(1, 2)


def _stated(formula: Callable[[Arithmetic], Any]) -> arb | fmpq | None:
    """The value of a formula that a family may state: exact where it is rational, None where it is not stated."""
    exact = rational_value(formula)
    if exact is not None:
        return exact
    value: arb | None = formula(BALLS)
    return value
