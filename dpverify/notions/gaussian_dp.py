"""Gaussian DP: a mechanism is mu-GDP if telling its neighbours apart is never easier than N(0, 1) from N(mu, 1)."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from flint import arb

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.enclose.refine import check_digits, enclose
from dpverify.errors import NotCovered
from dpverify.notions.pair import Ball, Source, is_infinite, largest, pairs_of


def gaussian_profile(m: Arithmetic, eps: Value, mu: Value) -> Value:
    """delta(eps) of the pair N(mu, 1), N(0, 1): Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)."""
    return m.normal_cdf(mu / 2 - eps / mu) - m.exp(eps) * m.normal_cdf(-mu / 2 - eps / mu)


def gaussian_trade_off(level: arb, mu: arb) -> arb:
    """G_mu(level) = Phi(Phi^{-1}(1 - level) - mu)."""
    root = arb(2).sqrt()
    return (-((2 * level).erfcinv() - mu / root)).erfc() / 2


def mu(source: Source, *, digits: int = 15) -> Enclosure:
    """The least mu at which the mechanism is mu-GDP; infinite where there is none.

    In closed form where a family knows where its trade-off function is nearest to a Gaussian one, exact for a privacy loss
    with finitely many values: the trade-off function is then a polygon, and a convex function that lies under its corners
    lies under it. Raises NotCovered elsewhere.
    """
    pairs = pairs_of(source)

    def value(bits: int) -> Ball:
        return largest(_mu(pair, source) for pair in pairs)

    return enclose(value, check_digits(digits), what=lambda: f"the GDP mu of {source!r}")


def _mu(pair: Any, source: Source) -> Ball:
    known: Ball | None = pair.gdp_mu() if hasattr(pair, "gdp_mu") else None
    if known is not None:
        return known
    if hasattr(pair, "loss_atoms"):
        return _polygon_mu(pair.loss_atoms())
    if is_infinite(pair.mean_loss()):  # mu-GDP bounds it by mu^2/2
        return arb.pos_inf()
    raise NotCovered(
        f"{source!r}: no proof says where its trade-off function is nearest to a Gaussian one, so no least mu is certified"
        " here; compare the privacy profiles at the epsilons that you use."
    )


def _polygon_mu(atoms: tuple[tuple[Ball, Ball, Ball], ...]) -> arb:
    """The maximum over the corners of Phi^{-1}(power) - Phi^{-1}(level): events {L >= x} for each value x of the loss."""
    best = arb(0)
    powers, levels = (_shares([arb(atom[law]) for atom in atoms]) for law in (1, 2))
    for power, level in zip(powers, levels, strict=True):
        gap = _quantile(*power) - _quantile(*level)
        if gap == arb.pos_inf():  # a certain event against one of some probability
            return gap
        if not gap.is_finite() and gap != arb.neg_inf():
            return arb.nan()  # masses that are not told from 0 at this precision
        best = best.max(gap)
    return best


def _shares(masses: list[arb]) -> list[tuple[arb, arb]]:
    """(mass of the first k, mass of the rest) for k = 1 .. number - 1, each summed from its own side."""
    below = list(accumulate(masses))[:-1]
    above = list(accumulate(reversed(masses)))[:-1]
    return list(zip(below, reversed(above), strict=True))


def _quantile(below: arb, above: arb) -> arb:
    """Phi^{-1}(below), where below + above = 1; the smaller of the two is the accurate one."""
    if below == 0:
        return arb.neg_inf()
    if above == 0:
        return arb.pos_inf()
    if not (below > 0 and above > 0):
        return arb.nan()
    root = arb(2).sqrt()
    return -root * (2 * below).erfcinv() if below < above else root * (2 * above).erfcinv()
