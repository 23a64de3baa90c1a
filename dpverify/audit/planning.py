"""How many outputs an audit needs, before any is drawn: the power of its last look, at events of given probabilities.

A mechanism violates (epsilon, delta) by a resolution r where some event S has P(S) = e^(epsilon + r) Q(S) + delta. How many
outputs show that depends on P(S): a coin that is off is seen soon, a rare event late. So the answer is a table, one row a
probability. Nothing here knows a mechanism, and no verdict rests on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from dpverify.arithmetic.exact import Number, float_above, float_below, to_exact
from dpverify.audit import plan
from dpverify.audit.request import FEWEST_SAMPLES, MOST_SAMPLES, checked_alpha, checked_delta, checked_epsilon, checked_whole
from dpverify.audit.statistics.power import power_at
from dpverify.errors import InputError, shown

MASSES = (0.5, 0.1, 0.01, 0.001)
"""Probabilities P(S) of the violating event on the input where it is likelier."""

POWER = 0.9
LEADER_SHARE = 0.5
"""The part of a look's alpha that the most promising event has, where others are tested beside it."""

CLOSE = 1.01
FEWEST_HITS = 20

MOST_EXACT = 10**8
"""Outputs a side up to which the exact power is computed; beyond that the normal approximation is as good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """One kind of event: its probability on the likelier input, the outputs a side, and the epsilon that they show.

    `samples` is None where even 10^12 outputs would not do, or where no such event exists. `exact`: by the exact power of
    the test; where it is False, by a normal approximation.
    """

    mass: float
    samples: int | None
    detectable_epsilon: float
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPlan:
    """What an audit could see of a claim. `resolution` is None where the samples were given and the epsilon was asked."""

    epsilon: float
    delta: float
    alpha: float
    power: float
    resolution: float | None
    rows: tuple[PlanRow, ...]


def audit_plan(
    *,
    epsilon: Number,
    delta: Number = 0,
    alpha: Number = 1e-3,
    resolution: Number | None = None,
    samples: int = 10**6,
    masses: tuple[float, ...] = MASSES,
) -> AuditPlan:
    """How many outputs a side `audit` needs to refute (epsilon, delta) where the truth is epsilon + resolution; none is drawn.

    epsilon, delta, alpha  as for `audit`, in nats
    resolution             > 0, in nats: the violation that is to be found with probability 0.9. None: what `samples` outputs
                           a side find is computed instead
    masses                 the probabilities P(S), in (0, 1), of the violating event that the table is about

    The events are taken as found: the outputs that find them are part of the count, and that they are found is not certain.
    Exact binomial power of the last look (`statistics.power`), numbers of outputs within 4 % of the least; beyond 10^8 outputs
    a normal approximation. Returns an AuditPlan with a row for each of `masses`. Raises InputError.
    """
    claim = float_above(checked_epsilon(epsilon)), float_above(checked_delta(delta))
    level = checked_alpha(alpha)
    wanted = None if resolution is None else _resolution(resolution)
    number = checked_whole(samples, "samples", least=FEWEST_SAMPLES, most=MOST_SAMPLES)
    for mass in masses:
        if not 0 < mass < 1:
            raise InputError(f"masses = {shown(masses)}: probabilities of an event are needed, strictly between 0 and 1.")
    rows = tuple(_row_of(number, mass, claim, level) if wanted is None else _row(mass, claim, level, wanted) for mass in masses)
    return AuditPlan(epsilon=claim[0], delta=claim[1], alpha=level, power=POWER, resolution=wanted, rows=rows)


def _resolution(resolution: Number) -> float:
    exact = to_exact(resolution, "resolution")
    if not 0 < exact <= 700:
        raise InputError(
            f"resolution = {shown(resolution, str)}: the violation to be found is needed in nats, more than 0 and at most 700."
        )
    return float_below(exact)


def _row(mass: float, claim: tuple[float, float], level: float, resolution: float) -> PlanRow:
    """The number of outputs that shows `resolution`: from where the rough number is, upwards until the exact power suffices."""
    goal = claim[0] + resolution
    low, high = FEWEST_SAMPLES, MOST_SAMPLES
    if mass <= claim[1] or _roughly(high, mass, claim, level, goal) < POWER:
        return PlanRow(mass=mass, samples=None, detectable_epsilon=math.inf, exact=False)
    while high > CLOSE * low:
        middle = math.isqrt(low * high)
        if _roughly(middle, mass, claim, level, goal) >= POWER:
            high = middle
        else:
            low = middle
    if not _is_quick(high, mass, claim, goal):
        return PlanRow(mass=mass, samples=high, detectable_epsilon=goal, exact=False)
    samples = max(high * 19 // 20, FEWEST_SAMPLES)
    while _power(samples, mass, claim, level, goal) < POWER:
        samples += samples // 25 + 1
    return PlanRow(mass=mass, samples=samples, detectable_epsilon=goal, exact=True)


def _row_of(samples: int, mass: float, claim: tuple[float, float], level: float) -> PlanRow:
    """The epsilon that so many outputs show, in the same way."""
    low, high = claim[0], claim[0] + 40.0
    if mass <= claim[1] or _roughly(samples, mass, claim, level, high) < POWER:
        return PlanRow(mass=mass, samples=samples, detectable_epsilon=math.inf, exact=False)
    while high - low > 1e-6:
        middle = (low + high) / 2
        if _roughly(samples, mass, claim, level, middle) >= POWER:
            high = middle
        else:
            low = middle
    exact, step = _is_quick(samples, mass, claim, high), (high - claim[0]) / 25
    wanted = high - 2 * step if exact else high
    while exact and _power(samples, mass, claim, level, wanted) < POWER:
        wanted += step
    return PlanRow(mass=mass, samples=samples, detectable_epsilon=wanted, exact=exact)


def _is_quick(samples: int, mass: float, claim: tuple[float, float], wanted: float) -> bool:
    """Whether the exact power takes no more than seconds: the joint test is slow where the other input hardly shows S."""
    return samples <= MOST_EXACT and (claim[1] == 0 or samples * mass * math.exp(-wanted) >= FEWEST_HITS)


def _last_look(samples: int, level: float) -> tuple[int, float]:
    """Outputs a side at the last look of an audit, and the level of its first event."""
    last = plan.stages_for(samples - min(plan.SPOT_CHECK, samples // 20), share=1 - plan.APART_SHARE)[-1]
    return last.confirm, level * LEADER_SHARE * last.looks[-1].share


def _power(samples: int, mass: float, claim: tuple[float, float], level: float, wanted: float) -> float:
    """The probability that the event is rejected at the last look where the true epsilon is `wanted`; rounded down."""
    outputs, alpha = _last_look(samples, level)
    rare = (mass - claim[1]) * math.exp(-wanted)
    return power_at(draws=outputs, p=mass, q=rare, epsilon=claim[0], delta=claim[1], alpha=alpha)


def _roughly(samples: int, mass: float, claim: tuple[float, float], level: float, wanted: float) -> float:
    """The same from a normal distribution of P(S) - e^epsilon Q(S) - delta: *heuristic*, to choose where to look."""
    outputs, alpha = _last_look(samples, level)
    rare, ratio = (mass - claim[1]) * math.exp(-min(wanted, 700.0)), math.exp(min(claim[0], 300.0))
    surplus = mass - ratio * rare - claim[1]
    spread = math.sqrt((mass * (1 - mass) + ratio * ratio * rare) / outputs)
    if outputs * mass < -math.log(alpha) / 2:
        return 0.0
    return NormalDist().cdf(surplus / spread + NormalDist().inv_cdf(alpha))
