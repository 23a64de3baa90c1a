"""Certified answers for bounded mechanisms: delta = 0, from a requirement (`_requirements`) that a theta has to meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.enclose.decide import is_above
from dpverify.enclose.refine import enclose
from dpverify.enclose.root import positive_root
from dpverify.errors import NotCovered
from dpverify.mechanisms._requirements import Proportional

if TYPE_CHECKING:
    from dpverify.mechanisms._bounded import BoundedOutput
    from dpverify.mechanisms._domain import Reach
    from dpverify.mechanisms._requirements import Requirement


def delta(mechanism: BoundedOutput, eps: fmpq, digits: int) -> Enclosure:
    """0 where epsilon covers the loss; 1 - e^eps where -epsilon does. Between, NotCovered is raised."""
    needed = mechanism.requirement()
    exact = _exact_loss(mechanism, needed)

    def covers(level: fmpq) -> bool:
        if exact is not None:
            return bool(level >= exact)
        return level > 0 and not is_above(
            lambda: needed.value(mechanism.theta()), level, what=lambda: f"the loss of {mechanism!r}"
        )

    if covers(eps):
        return Enclosure(fmpq(0), digits=digits)
    if eps < 0 and mechanism.is_exact and covers(-eps):
        return enclose(
            lambda bits: -BALLS.expm1(arb(eps)), digits, what=lambda: f"delta at epsilon = {brief(eps)}", within=(0, 1)
        )
    raise not_covered(mechanism, f"delta at epsilon = {brief(eps)}, which is below the pure-DP level")


def epsilon(mechanism: BoundedOutput, exact_delta: fmpq, digits: int) -> Enclosure:
    """The least epsilon at delta = 0: the largest loss."""
    needed = mechanism.requirement()
    exact = _exact_loss(mechanism, needed)
    if exact is not None:
        return Enclosure(exact, digits=digits)
    return enclose(lambda bits: needed.value(mechanism.theta()), digits, what=lambda: f"epsilon of {mechanism!r}")


def scale(mechanism: BoundedOutput, eps: fmpq, exact_delta: fmpq, sensitivity: Reach, digits: int) -> Enclosure:
    """The least scale at which the requirement is met."""
    needed = mechanism.requirement(sensitivity)
    if needed.factor is not None:
        exact = mechanism.exact_scale(eps / needed.factor, needed.unit)
        if exact is not None:
            return Enclosure(exact, digits=digits)
    return enclose(
        lambda bits: mechanism.scale_of(BALLS, _theta(needed, eps, bits)),
        digits,
        what=lambda: f"{mechanism.scale_name} at epsilon = {brief(eps)}",
    )


def looseness(first: Requirement, second: Requirement, eps: fmpq, digits: int) -> Enclosure:
    """theta of the first over theta of the second, both at the same epsilon."""
    if isinstance(first, Proportional) and isinstance(second, Proportional):
        ratio = second.over(first)
        if ratio is not None:
            return Enclosure(ratio, digits=digits)
    return enclose(
        lambda bits: _theta(first, eps, bits) / _theta(second, eps, bits),
        digits,
        what=lambda: f"a ratio at epsilon = {brief(eps)}",
    )


def _theta(needed: Requirement, eps: fmpq, bits: int) -> arb:
    """The theta at which the loss is eps."""
    if needed.proportional:
        return arb(eps) / needed.slope(arb(1))
    try:
        start: float | None = needed.start(int(eps.p) / int(eps.q))
    except (OverflowError, ValueError, ZeroDivisionError):
        start = None
    return positive_root(needed.value, needed.slope, eps, increasing=True, bits=bits, start=start)


def _exact_loss(mechanism: BoundedOutput, needed: Requirement) -> fmpq | None:
    if needed.factor is None:
        return None
    theta = mechanism.exact_theta(needed.unit)
    return None if theta is None else needed.factor * theta


def not_covered(mechanism: BoundedOutput, what: str) -> NotCovered:
    """The named refusal of everything but pure DP."""
    return NotCovered(
        f"{what}: bounded outputs have no single worst pair of neighbours, so {type(mechanism).__name__} is certified for pure"
        " DP only; ask for delta = 0, or use an unbounded mechanism followed by clamping, which keeps (epsilon, delta)-DP."
    )
