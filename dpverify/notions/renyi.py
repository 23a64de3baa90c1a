"""Renyi divergences: D_order(P || Q) = log(integral of p^order q^(1 - order)) / (order - 1), in nats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flint import arb, fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number
from dpverify.enclose.refine import check_digits, enclose
from dpverify.notions._checks import positive
from dpverify.notions.pair import Ball, Source, largest, pairs_of


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
