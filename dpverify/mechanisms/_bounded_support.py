"""Noise that never exceeds a bound: there is a delta that no epsilon gets below.

Noise scale * X with |X| <= a, symmetric and unimodal, so that the worst shift is the sensitivity (`_unimodal`). Outputs that
only one of two neighbours can produce have an infinite loss: P(L = infinity) = P(X > a - d) with d = sensitivity/scale, and 1
from d = 2a on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number, to_exact
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.enclose.decide import is_above
from dpverify.enclose.refine import check_digits
from dpverify.errors import ImpossibleRequest
from dpverify.mechanisms._unimodal import UnimodalNoise
from dpverify.mechanisms._unimodal_pair import UnimodalPair

if TYPE_CHECKING:
    import sympy


class BoundedSupportNoise(UnimodalNoise):
    """Noise on [-a scale, a scale], which answers in closed form."""

    no_derivation = "the engine derives profiles of densities that are positive on the whole line"

    __slots__ = ()

    # What a family states.

    @property
    def reach(self) -> fmpq:
        """a: how far the noise can go, in units of the scale."""
        raise NotImplementedError

    def cdf_within(self, m: Arithmetic, x: Value) -> Value:
        """F(x) for |x| <= a."""
        raise NotImplementedError

    def least_delta(self, m: Arithmetic, d: fmpq) -> Value | fmpq:
        """P(L = infinity), the infimum of delta(eps); exact where it is rational."""
        raise NotImplementedError

    def common_moment(self, m: Arithmetic, order: fmpq) -> Value | fmpq:
        """The integral of f(x - d)^order f(x)^(1 - order) over the common support, for 0 < order < 1 and d < 2a."""
        raise NotImplementedError

    # What follows.

    def power_moment(self, order: fmpq) -> Value | fmpq:
        """Infinite for order > 1: the moved noise has outputs that the noise does not have."""
        if order > 1:
            return arb.pos_inf()
        return self.common_moment(BALLS, order) if self.shift < 2 * self.reach else fmpq(0)

    def expected_loss(self) -> arb:
        """Infinite."""
        return arb.pos_inf()

    def dominating_pair(self) -> Any:
        return UnimodalPair(noise=self)

    def tail_bound(self, probability: Number, *, digits: int = 15) -> Enclosure:
        """The least bound with P(|Z| > bound) <= probability, in units of the answer; at probability 0 the end of the
        support."""
        if to_exact(probability, "probability") == 0:
            return Enclosure(self.reach * self.exact_scale, digits=check_digits(digits))
        return super().tail_bound(probability, digits=digits)

    def cdf(self, m: Arithmetic, x: Value) -> Value:
        """F(x); of numbers beyond the support 0 or 1. The formula itself is for |x| <= a."""
        if m.name in ("arb", "mpmath", "float"):
            if x <= -m.exact(self.reach):
                return m.rational(0)
            if x >= m.exact(self.reach):
                return m.rational(1)
        return self.cdf_within(m, x)

    def _refuse_impossible_bound(self, eps: fmpq, delta: fmpq) -> None:
        if delta == 0:
            raise ImpossibleRequest(
                f"delta = 0: {type(self).__name__} noise is bounded, so some outputs give the answer away at every "
                f"{self.scale_name}; give delta > 0."
            )

    def _refuse_impossible_epsilon(self, delta: fmpq) -> None:
        least = self.least_delta(BALLS, self.shift)
        if isinstance(least, fmpq):
            if delta >= least:
                return
        elif not is_above(lambda: self.least_delta(BALLS, self.shift), delta, what=lambda: f"the least delta of {self!r}"):
            return
        raise ImpossibleRequest(
            f"delta = {Enclosure(delta, digits=6).decimal()}: outputs that only one neighbour can produce have probability "
            f"{Enclosure(least, digits=6).decimal()}, so no finite epsilon will do; give a larger delta."
        )

    @property
    def privacy_loss(self) -> sympy.Expr:
        """log p(x)/q(x) in x: infinite where only the noise about `sensitivity` reaches, minus infinity where only that about 0
        does."""
        import sympy

        x = sympy.Symbol("x")
        width = self.reach * self.exact_scale
        low, high = (sympy.Rational(int(end.p), int(end.q)) for end in (self.exact_sensitivity - width, width))
        if low >= high:
            return sympy.Piecewise((-sympy.oo, x <= high), (sympy.oo, True))
        return sympy.Piecewise((-sympy.oo, x < low), (sympy.oo, x > high), (super().privacy_loss, True))

    def fisher_information(self, *, digits: int = 15) -> Enclosure:
        """Infinite: the density ends in a jump."""
        return Enclosure.infinity(digits=check_digits(digits))
