"""The pair N(mu, 1), N(0, 1): what mu-GDP compares with, and what any number of Gaussian releases composes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.powers import exact_power
from dpverify.notions.gaussian_dp import gaussian_profile, gaussian_trade_off


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianPair:
    """P = N(mu, 1), Q = N(0, 1); mu^2 > 0 is given, so that mu may be irrational. L is N(mu^2/2, mu^2) under P."""

    is_symmetric: ClassVar[bool] = True

    mu_squared: fmpq

    def mu(self) -> arb | fmpq:
        """The distance of the means, in standard deviations."""
        exact = exact_power(self.mu_squared, fmpq(1, 2))
        return arb(self.mu_squared).sqrt() if exact is None else exact

    def hockey_stick(self, eps: fmpq) -> arb:
        return gaussian_profile(BALLS, arb(eps), arb(self.mu()))

    def loss_tail(self, eps: fmpq) -> arb:
        mu = arb(self.mu())
        return BALLS.normal_cdf(mu / 2 - arb(eps) / mu)

    def loss_limit(self) -> arb:
        return arb.pos_inf()

    def power_moment(self, order: fmpq) -> arb:
        return arb(self.log_power_moment(order)).exp()

    def mean_loss(self) -> fmpq:
        return self.mu_squared / 2

    def reversed(self) -> Self:
        return self

    def log_power_moment(self, order: fmpq) -> fmpq:
        return order * (order - 1) * self.mu_squared / 2

    def loss_variance(self) -> fmpq:
        return self.mu_squared

    def loss_quantile(self, tail: fmpq) -> arb | fmpq:
        if tail == fmpq(1, 2):
            return self.mu_squared / 2
        mu = arb(self.mu())
        return mu * (mu / 2 + arb(2).sqrt() * (2 * arb(tail)).erfcinv())

    def trade_off(self, level: fmpq) -> arb | fmpq:
        return fmpq(1) if level == 0 else gaussian_trade_off(arb(level), arb(self.mu()))

    def concentration_tau(self) -> arb | fmpq:
        return self.mu()

    def zcdp_rho(self) -> fmpq:
        return self.mu_squared / 2

    def gdp_mu(self) -> arb | fmpq:
        return self.mu()


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianNoisePair(GaussianPair):
    """The pair of Gaussian noise on a single number, whose neighbours lie on either side of it."""

    def disclosure_tail(self, eps: fmpq) -> arb:
        """P(the loss against some neighbour exceeds eps): both tails of the noise, or everything."""
        return (2 * self.loss_tail(eps)).min(arb(1))

    def disclosure_quantile(self, tail: fmpq) -> arb | fmpq:
        return self.loss_quantile(tail / 2)
