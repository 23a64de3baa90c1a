"""The same questions as `_bounded_engine`, answered by mpmath: other searches, another root finder, no certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import fmpq

from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.multiprecision import MultiprecisionArithmetic
from dpverify.enclose.second_opinion import settled
from dpverify.errors import PrecisionError
from dpverify.mechanisms._bounded_engine import not_covered

if TYPE_CHECKING:
    from mpmath import mpf

    from dpverify.mechanisms._bounded import BoundedOutput
    from dpverify.mechanisms._domain import Reach
    from dpverify.mechanisms._requirements import Requirement

_STEPS = 60


def delta(mechanism: BoundedOutput, eps: fmpq, digits: int) -> mpf:
    """0 where epsilon covers the loss; 1 - e^eps where -epsilon does. Between, NotCovered is raised."""
    loss = epsilon(mechanism, fmpq(0), digits)
    m = MultiprecisionArithmetic(digits + 15)
    level = m.exact(eps)
    if level >= loss:
        return m.rational(0)
    if mechanism.is_exact and -level >= loss:
        return -m.expm1(level)
    raise not_covered(mechanism, f"delta at epsilon = {brief(eps)}, which is below the pure-DP level")


def epsilon(mechanism: BoundedOutput, exact_delta: fmpq, digits: int) -> mpf:
    """The largest loss, to about `digits` digits."""
    needed = mechanism.requirement()
    return settled(lambda m: needed.opinion(m, mechanism.theta_on(m)), digits, what=f"epsilon of {mechanism!r}")


def scale(mechanism: BoundedOutput, eps: fmpq, exact_delta: fmpq, sensitivity: Reach, digits: int) -> mpf:
    """The least scale, to about `digits` digits."""
    needed = mechanism.requirement(sensitivity)
    return settled(
        lambda m: mechanism.scale_of(m, _theta(needed, m, eps)),
        digits,
        what=f"{mechanism.scale_name} at epsilon = {brief(eps)}",
    )


def _theta(needed: Requirement, m: MultiprecisionArithmetic, eps: fmpq) -> mpf:
    """A secant iteration on log loss as a function of log theta: nearly a straight line."""
    goal = m.log(m.exact(eps))
    here = m.context.mpf(needed.start(float(m.exact(eps))))
    previous = here * m.rational(9, 8)
    value, before = (m.log(needed.opinion(m, theta)) - goal for theta in (here, previous))
    smallest = m.context.mpf(10) ** (12 - m.context.dps)
    for _ in range(_STEPS):
        slope = (value - before) / (m.log(here) - m.log(previous))
        step = value / slope
        previous, before = here, value
        here = here * m.exp(-step)
        if abs(step) <= smallest:
            return here
        value = m.log(needed.opinion(m, here)) - goal
        if value == before:
            return here
    raise PrecisionError("mpmath's secant iteration did not settle; ask for fewer digits.", reached=0)
