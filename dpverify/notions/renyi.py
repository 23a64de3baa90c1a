"""Renyi divergences: D_order(P || Q) = log(integral of p^order q^(1 - order)) / (order - 1), in nats."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number
from dpverify.enclose.refine import check_digits, enclose
from dpverify.notions._checks import checked_epsilon, positive
from dpverify.notions.pair import Ball, Source, largest, pairs_of
from dpverify.notions.renyi_conversion import best_order, delta_formula, epsilon_formula, some_delta


def divergence(source: Source, order: Number, *, digits: int = 15) -> Enclosure:
    """The largest Renyi divergence of the stated order over all pairs, both orders of each.

    `order` > 0; order 1 is the Kullback-Leibler divergence E L, "inf" the largest loss. An Enclosure, exact where the value
    is rational, infinite where the divergence is. Raises NotCovered where a family states too little to certify it.
    """
    exact, pairs = _checked_order(order), pairs_of(source)

    def value(bits: int) -> Ball:
        return largest(of_pair(pair, exact) for pair in pairs)

    return enclose(value, check_digits(digits), what=lambda: f"the Renyi divergence of order {order} of {source!r}")


def curve(source: Source, orders: Iterable[Number], *, digits: int = 15) -> tuple[tuple[Number, Enclosure], ...]:
    """(order, divergence) for each of `orders`."""
    return tuple((order, divergence(source, order, digits=digits)) for order in orders)


@dataclass(frozen=True, slots=True, kw_only=True)
class ByOrder:
    """An (epsilon, delta) that follows from the Renyi divergence of one order."""

    order: Fraction
    value: Enclosure


def approximate_epsilon(source: Source, delta: Number, *, digits: int = 15) -> ByOrder:
    """An epsilon for `delta`, 0 < delta < 1, from the order that is about the best: what an accountant of moments reports.

    Sound whatever the order; only how small it is rests on the search. `approximate.least_epsilon` is the least there is.
    """
    exact, pairs = some_delta(delta), pairs_of(source)

    def cost(order: fmpq) -> float:
        return float(epsilon_formula(order, arb(largest(of_pair(pair, order) for pair in pairs)), exact))

    return _by_order(source, best_order(cost), lambda order, divergence: epsilon_formula(order, divergence, exact), digits)


def approximate_delta(source: Source, epsilon: Number, *, digits: int = 15) -> ByOrder:
    """A delta for `epsilon` >= 0, from the order that is about the best; `approximate.profile` is the least there is."""
    eps, pairs = checked_epsilon(epsilon), pairs_of(source)

    def cost(order: fmpq) -> float:
        return float(delta_formula(order, arb(largest(of_pair(pair, order) for pair in pairs)), eps).log())

    return _by_order(source, best_order(cost), lambda order, divergence: delta_formula(order, divergence, eps), digits)


def _by_order(source: Source, order: fmpq, formula: Callable[[fmpq, arb], arb], digits: int) -> ByOrder:
    pairs = pairs_of(source)

    def value(bits: int) -> arb:
        return formula(order, arb(largest(of_pair(pair, order) for pair in pairs))).max(arb(0))

    found = enclose(value, check_digits(digits), what=lambda: f"what order {order} gives for {source!r}")
    return ByOrder(order=Fraction(int(order.p), int(order.q)), value=found)


def of_pair(pair: Any, order: fmpq | None) -> Ball:
    """D_order(P || Q) of one pair, at the working precision; None is the order infinity."""
    if order is None:
        limit: Ball = pair.loss_limit()
        return limit
    if order == 1:
        mean: Ball = pair.mean_loss()
        return mean
    moment = log_moment(pair, order)
    return moment / (order - 1) if isinstance(moment, fmpq) else moment / arb(order - 1)


def log_moment(pair: Any, order: fmpq) -> Ball:
    """log of the integral of p^order q^(1 - order)."""
    if hasattr(pair, "log_power_moment"):
        known: Ball | None = pair.log_power_moment(order)
        if known is not None:
            return known
    moment = pair.power_moment(order)
    return fmpq(0) if isinstance(moment, fmpq) and moment == 1 else arb(moment).log()


def _checked_order(order: Number) -> fmpq | None:
    return None if order in ("inf", float("inf")) else positive(order, "order")
