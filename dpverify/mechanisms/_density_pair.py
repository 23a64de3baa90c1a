"""The dominating pair of a stated density: masses of events, power moments and mean losses by integration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy
from flint import arb, fmpq

from dpverify.errors import NotCovered
from dpverify.mechanisms._density import Density, expectation, moved
from dpverify.mechanisms._density_forms import logarithm
from dpverify.mechanisms._density_profile import Undecided, certain, half_line, intervals, one_order, region_masses
from dpverify.mechanisms._density_text import X

if TYPE_CHECKING:
    from dpverify.mechanisms.custom_noise import CustomNoise

_ZERO, _ONE = fmpq(0), fmpq(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DensityPair:
    """P: the noise moved by the sensitivity, Q: the noise; in units of the scale. `turned`: the other order, for f(-x)."""

    noise: CustomNoise
    turned: bool = False

    @property
    def is_symmetric(self) -> bool:
        """Whether the other order answers alike: the density is even."""
        return self.noise.law.is_even

    @property
    def _law(self) -> Density:
        return self.noise.law.mirrored if self.turned else self.noise.law

    def hockey_stick(self, eps: fmpq) -> arb | fmpq:
        d = self.noise.shift
        if eps >= 0:
            exact = self._exact(eps)
            return one_order(self._law, arb(eps), arb(d)).value if exact is None else exact
        back = self.reversed().hockey_stick(-eps)
        return back if back == 1 else arb(eps).exp() * arb(back) - arb(eps).expm1()

    def _exact(self, eps: fmpq) -> fmpq | None:
        limit = self.noise.loss_limit(self.noise.shift)
        if isinstance(limit, fmpq) and eps >= limit:
            return _ZERO
        return certain(self._law, eps, self.noise.shift)

    def loss_tail(self, eps: fmpq) -> arb | fmpq:
        if eps < 0:
            return 1 - _mass(self.reversed(), -eps, of_q=True)
        return _mass(self, eps, of_q=False)

    def loss_limit(self) -> arb | fmpq:
        if self._law.high is not None:
            return arb.pos_inf()
        limit = self._law.steepest_loss if self._law.is_log_concave else None
        if limit is not None:
            return limit * self.noise.shift
        if self._law.is_log_concave and self._law.grows_without_bound:
            return arb.pos_inf()
        raise NotCovered(f"{self._law}: the largest privacy loss is not known here.")

    def power_moment(self, order: fmpq) -> arb | fmpq:
        """The integral of p^order q^(1 - order), itself treated as the integral of a positive function."""
        if order == 1:
            return _ONE
        law = self._law
        if order > 1 and (law.low is not None or law.high is not None):
            return arb.pos_inf()
        return _mixture(law, self.noise.shift, order).total() / law.total()

    def mean_loss(self) -> arb | fmpq:
        """The integral of p log(p/q); |log(p/q)| <= (1 + log(p/q)^2)/2 bounds its tails."""
        law, d = self._law, self.noise.shift
        if law.low is not None or law.high is not None:
            return arb.pos_inf()
        return _mean_loss(law, d)

    def reversed(self) -> DensityPair:
        """The other order."""
        return type(self)(noise=self.noise, turned=not self.turned)


def _mass(pair: DensityPair, eps: fmpq, *, of_q: bool) -> arb | fmpq:
    """P, or Q, of {L > eps}, eps >= 0; on flat pieces of the loss the ball holds the masses with and without them."""
    law, d = pair._law, pair.noise.shift
    exact = pair._exact(eps)
    if exact is not None:
        return exact if not of_q else _ZERO
    try:
        region = half_line(law, arb(eps), arb(d)) if law.is_log_concave else intervals(law, arb(eps), arb(d))
    except Undecided:
        return arb.nan()
    p, q = region_masses(law, region, arb(d))
    found = q if of_q else p
    return found + arb(0, 1) * region.unsure


def _mixture(law: Density, d: fmpq, order: fmpq) -> Density:
    """f(x - d)^order f(x)^(1 - order)."""
    body = sympy.exp(_number(order) * logarithm(moved(law, d)) + _number(1 - order) * logarithm(law.body))
    if law.low is None and law.high is None:
        return Density(body, is_proportional=True)
    inside = [_number(law.low + d) <= X] if law.low is not None else []
    inside += [_number(law.high) >= X] if law.high is not None else []
    return Density(sympy.Piecewise((body, sympy.And(*inside)), (0, True)), is_proportional=True)


def _mean_loss(law: Density, d: fmpq) -> arb:
    shifted = moved(law, d)
    return expectation(Density(shifted, is_proportional=True), logarithm(shifted) - logarithm(law.body)) / law.total()


def _number(value: fmpq) -> sympy.Rational:
    return sympy.Rational(int(value.p), int(value.q))
