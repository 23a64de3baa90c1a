"""The dominating pair of unimodal noise: the noise moved by the sensitivity, and the noise.

In units of the scale, d = sensitivity / scale. For a symmetric density the reflection x -> d - x swaps the two laws and
changes the sign of the loss, so P(L <= -eps) = Q(L >= eps): masses are needed for eps >= 0 only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.derivatives import DerivativeArithmetic, Dual
from dpverify.mechanisms import _quantile, _unimodal_engine
from dpverify.mechanisms._moved_noise import MovedNoise

if TYPE_CHECKING:
    from dpverify.mechanisms._unimodal import UnimodalNoise

_ZERO, _ONE = fmpq(0), fmpq(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnimodalPair(MovedNoise):
    """P: symmetric unimodal noise moved by the sensitivity. Q: the noise. No pair of neighbours has a larger hockey-stick
    divergence, at any epsilon (`_unimodal`)."""

    is_symmetric: ClassVar[bool] = True

    noise: UnimodalNoise

    # What every dominating pair offers (`notions.pair`).

    def hockey_stick(self, eps: fmpq) -> arb | fmpq:
        found: arb | fmpq = _unimodal_engine.hockey_stick(self.noise, eps)
        return found

    def loss_tail(self, eps: fmpq) -> arb | fmpq:
        size, limit = abs(eps), self.noise.loss_limit(self.noise.shift)
        if _unimodal_engine.reaches(limit, size, self.noise):
            if eps >= 0:
                return _ZERO
            if not isinstance(limit, fmpq) or limit < size:
                return _ONE
        if eps >= 0:
            above: arb | fmpq = self.noise.tail_masses(BALLS, size, inclusive=False)[0]
            return above
        return 1 - self.noise.tail_masses(BALLS, size, inclusive=True)[1]

    def loss_limit(self) -> arb | fmpq:
        limit = self.noise.loss_limit(self.noise.shift)
        return arb.pos_inf() if limit is None else limit if isinstance(limit, fmpq) else limit(BALLS)

    def power_moment(self, order: fmpq) -> arb | fmpq:
        if order == 1:
            return _ONE
        found: arb | fmpq = self.noise.power_moment(order)
        return found

    def log_power_moment(self, order: fmpq) -> arb | None:
        """log of `power_moment`, where it is known without it."""
        return None if order == 1 else self.noise.log_moment(order)

    def mean_loss(self) -> arb | fmpq:
        found: arb | fmpq = self.noise.expected_loss()
        return found

    def reversed(self) -> Self:
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class RegularPair(UnimodalPair):
    """The pair of a density that is positive everywhere, so that the loss has a variance."""

    def loss_variance(self) -> arb | fmpq:
        """The variance of the loss under P."""
        from dpverify.mechanisms import _integrals

        return _integrals.loss_variance(self.noise)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConcavePair(RegularPair):
    """The pair of a symmetric log-concave density: tests are half lines, and the farther neighbour is the worse one."""

    def trade_off(self, level: fmpq) -> arb | fmpq:
        """F(u - d), u the point that the noise exceeds with probability `level`."""
        if level == 0:
            return _ONE
        return self.noise.cdf(BALLS, _quantile.upper(self.noise, level) - arb(self.noise.shift))

    def loss_quantile(self, tail: fmpq) -> arb:
        """The loss at d + u, u the point that the noise exceeds with probability `tail`."""
        u = _quantile.upper(self.noise, tail)
        return self.noise.log_density(BALLS, u) - self.noise.log_density(BALLS, arb(self.noise.shift) + u)

    def disclosure_tail(self, eps: fmpq) -> arb | fmpq:
        """P(the loss against some neighbour exceeds eps): both tails of the noise, or everything."""
        tail = self.loss_tail(eps)
        return min(_ONE, 2 * tail) if isinstance(tail, fmpq) else (2 * tail).min(arb(1))

    def disclosure_quantile(self, tail: fmpq) -> arb:
        return self.loss_quantile(tail / 2)

    def tail_with_slope(self, eps: arb) -> tuple[arb, arb] | None:
        """P(L > eps) and its derivative over a ball of eps, where the family states its threshold as a formula."""
        limit = self.noise.loss_bound(BALLS)
        if limit is not None and not -limit < eps < limit:
            return None
        m: Any = DerivativeArithmetic(BALLS)
        d = m.exact(self.noise.shift)
        try:
            tail: Dual = self.noise.cdf(m, d - self.noise.threshold(m, Dual(eps, 1), d))
        except NotImplementedError:
            return None
        return tail.value, arb(tail.slope)

    def zcdp_rho(self) -> arb | fmpq | None:
        if self.noise.zcdp_is_mean_loss:
            return self.mean_loss()
        return arb.pos_inf() if self.noise.against_gaussian == "lighter" else None

    def gdp_mu(self) -> arb | None:
        if self.noise.against_gaussian == "lighter":
            return arb.pos_inf()
        outside = 2 * self.noise.cdf(BALLS, arb(-self.noise.shift / 2))
        return 2 * arb(2).sqrt() * (outside.erfcinv() if self.noise.shift > 1 else (1 - outside).erfinv())


@dataclass(frozen=True, slots=True, kw_only=True)
class StaircasePair(UnimodalPair):
    """A pair whose loss takes finitely many values."""

    noise: Any

    def loss_atoms(self) -> tuple[tuple[fmpq, arb | fmpq, arb | fmpq], ...]:
        """(x, P(L = x), Q(L = x)) in decreasing order of x."""
        found: tuple[tuple[fmpq, arb | fmpq, arb | fmpq], ...] = self.noise.loss_atoms()
        return found

    def loss_variance(self) -> arb:
        """The variance of the loss under P."""
        mean = self.noise.expected_loss()
        return sum((arb(p) * (arb(x) - mean) ** 2 for x, p, _ in self.loss_atoms()), arb(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class GumbelPair:
    """The two orders of Gumbel noise and the noise moved by the sensitivity. With E exponentially distributed under P,

    - falling: P the noise, Q the moved noise, L = E (e^d - 1) - d;
    - rising:  P the moved noise, Q the noise, L = d - E (1 - e^-d).
    """

    noise: UnimodalNoise
    falling: bool = True

    def hockey_stick(self, eps: fmpq) -> arb | fmpq:
        d = self.noise.shift
        if not self.falling:
            if eps >= d:
                return _ZERO
            e = arb(eps).exp()
            return -arb(eps).expm1() + e * arb(self._falling(-eps))
        return self._falling(eps)

    def _falling(self, eps: fmpq) -> arb:
        if eps <= -self.noise.shift:
            return -arb(eps).expm1()
        return self.noise.profile(BALLS, arb(eps), arb(self.noise.shift))

    def loss_tail(self, eps: fmpq) -> arb | fmpq:
        d = self.noise.shift
        if self.falling:
            return _ONE if eps <= -d else (-arb(d + eps) / arb(d).expm1()).exp()
        return _ZERO if eps >= d else -(arb(d - eps) / arb(-d).expm1()).expm1()

    def loss_limit(self) -> arb | fmpq:
        return arb.pos_inf() if self.falling else self.noise.shift

    def power_moment(self, order: fmpq) -> arb | fmpq:
        if order == 1:
            return _ONE
        d, more = self.noise.shift, order - 1
        if self.falling:
            divisor = 1 - arb(more) * arb(d).expm1()
            return arb.pos_inf() if divisor < 0 else (-arb(more * d)).exp() / divisor
        return arb(more * d).exp() / (1 - arb(more) * arb(-d).expm1())

    def mean_loss(self) -> arb:
        d = self.noise.shift
        return arb(d).expm1() - arb(d) if self.falling else arb(d) + arb(-d).expm1()

    def loss_variance(self) -> arb:
        """The variance of the loss under P."""
        return arb(self.noise.shift if self.falling else -self.noise.shift).expm1() ** 2

    def reversed(self) -> Self:
        return type(self)(noise=self.noise, falling=not self.falling)
