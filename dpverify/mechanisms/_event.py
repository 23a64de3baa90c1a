"""Events {x : low < x < high} on which the privacy loss exceeds epsilon, and the profile that they give.

The event maximises G(low, high) = P - e^eps Q, so G changes to second order only where an end is missed. On balls it is
therefore evaluated at the exact midpoints of the ends; what that loses is at least 0 and at most, for each end, its radius
times the largest |dG| = |p - e^eps q| over its ball.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flint import arb, ctx

from dpverify.arithmetic.interface import Arithmetic, Value

if TYPE_CHECKING:
    from dpverify.mechanisms._unimodal import UnimodalNoise

_ENOUGH = 12
"""Bits of the working precision that may be lost to missed ends before they are asked for again, more accurately."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The interval, in units of the scale; no high end where it is a half line. On balls the ends are enclosed."""

    low: Value
    high: Value | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """delta(eps, d), and its partial derivatives by d and by eps (these are only for speed)."""

    value: Value
    by_shift: Value
    by_epsilon: Value


def masses(noise: UnimodalNoise, m: Arithmetic, d: Value, event: Event) -> tuple[Value, Value]:
    """P and Q of the event."""
    inside_p, inside_q = noise.cdf(m, d - event.low), noise.cdf(m, -event.low)
    if event.high is not None:
        inside_p -= noise.cdf(m, d - event.high)
        inside_q -= noise.cdf(m, -event.high)
    return inside_p, inside_q


def measured_on(noise: UnimodalNoise, m: Arithmetic, eps: Value, d: Value, event: Callable[[bool], Event | None]) -> Measured:
    """The profile and its slopes. `event(fully)` gives the event to about half the working precision, or to nearly all of
    it; None where it cannot be told at this precision (balls), or is empty (mpmath)."""
    found = event(False)
    if m.name != "arb":
        if found is None:
            return Measured(value=m.rational(0), by_shift=m.rational(0), by_epsilon=m.rational(0))
        return _at(noise, m, eps, d, found)
    if found is not None:
        measured, missed = _enclosed(noise, m, eps, d, found)
        if missed <= abs(measured.value) * arb(2) ** (_ENOUGH - int(ctx.prec)):
            return measured
    found = event(True)
    if found is None:
        return Measured(value=arb.nan(), by_shift=arb.nan(), by_epsilon=arb.nan())
    return _enclosed(noise, m, eps, d, found)[0]


def _at(noise: UnimodalNoise, m: Arithmetic, eps: Value, d: Value, event: Event) -> Measured:
    inside_p, inside_q = masses(noise, m, d, event)
    by_shift = m.exp(noise.log_density(m, event.low - d))
    if event.high is not None:
        by_shift -= m.exp(noise.log_density(m, event.high - d))
    weighted = m.exp(eps) * inside_q
    return Measured(value=inside_p - weighted, by_shift=by_shift, by_epsilon=-weighted)


def _enclosed(noise: UnimodalNoise, m: Arithmetic, eps: arb, d: arb, event: Event) -> tuple[Measured, arb]:
    """`_at` the midpoints with what they may miss, and a bound on that."""
    ends: list[Any] = [event.low] if event.high is None else [event.low, event.high]
    at = _at(noise, m, eps, d, Event(low=event.low.mid(), high=None if event.high is None else event.high.mid()))
    missed = arb(0)
    for end in ends:
        radius = end.rad()
        if radius > 0:
            log_p = noise.log_density(m, end - d)
            log_q = eps + noise.log_density(m, end)
            steepest, crude = abs(log_p.exp() * (log_q - log_p).expm1()), log_p.exp() + log_q.exp()
            missed += (radius * (steepest if steepest.upper() <= crude.upper() else crude)).upper()
    return Measured(
        value=at.value + (missed / 2 + arb(0, 1) * missed / 2), by_shift=at.by_shift, by_epsilon=at.by_epsilon
    ), missed
