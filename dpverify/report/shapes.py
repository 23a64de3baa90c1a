"""What pictures of an audit consist of, whatever draws them: limits of claims, tested events as points, power as a curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING

from dpverify.notions.trade_off import corner

if TYPE_CHECKING:
    from dpverify.audit.result import AuditResult
    from dpverify.gate.pictures import Law

Points = list[tuple[float, float]]

STEPS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedEvent:
    """An event as a test that tells the inputs apart: how often it raises a false alarm, and how often it misses."""

    alarm: float
    miss: float
    rejects: bool
    description: str


def limit(epsilon: float, delta: float) -> Points:
    """The trade-off function of (epsilon, delta)-DP by its corners, from level 0 to 1: straight in between.

    No test of a mechanism that keeps the claim lies below. Doubles, rounded toward the axes: never above the function.
    """
    at, end = corner(epsilon, delta).lower, max(0.0, math.nextafter(1 - delta, 0.0) if delta else 1.0)
    return [(0.0, end), (at, at), (end, 0.0), (1.0, 0.0)]


def limit_of(result: AuditResult) -> Points:
    """The limit that an audited claim sets: of a curve, at each level the highest of its points' limits."""
    from dpverify.audit.curve import curve_from_json

    claimed = result.evidence["claim"]
    if "notion" not in claimed:
        return limit(result.epsilon, result.delta)
    single = [limit(epsilon, delta) for epsilon, delta in curve_from_json(claimed).points]
    levels = sorted({level for one in single for level, _ in one} | {place / STEPS for place in range(STEPS + 1)})
    return [(level, max(height(one, level) for one in single)) for level in levels]


def height(corners: Points, level: float) -> float:
    """A function given by its corners, at a level."""
    for (left, high), (right, low) in pairwise(corners):
        if left <= level <= right and left < right:
            return high + (low - high) * (level - left) / (right - left)
    return 0.0


def tested_events(result: AuditResult) -> list[TestedEvent]:
    """The events whose tests count, with their measured rates."""
    return [
        TestedEvent(
            alarm=test["other_hits"] / test["other_draws"],
            miss=1 - test["hits"] / test["draws"],
            rejects=bool(test["rejects"]),
            description=test["description"],
        )
        for test in result.evidence["tests"]
        if test["set_aside"] is None and min(test["draws"], test["other_draws"])
    ]


def best_of(tested: list[TestedEvent]) -> TestedEvent:
    """The one that refutes, or else the one with the least sum of errors."""
    return max(tested, key=lambda event: (event.rejects, -event.alarm - event.miss))


def power_curve(result: AuditResult) -> Points:
    """(true epsilon, probability of a refutation): a normal approximation through the exact point at probability 0.9."""
    claimed, ninety, evidence = result.epsilon, result.detectable_epsilon, result.evidence
    last = max((test["alpha"] for test in evidence["tests"] if test["set_aside"] is None), default=evidence["alpha"])
    normal = NormalDist()
    least = -normal.inv_cdf(min(last, 0.4))
    spread = max((ninety - claimed) / (least + normal.inv_cdf(0.9)), 1e-12)
    reach = claimed + (ninety - claimed) * 1.8 if ninety > claimed else claimed + 1
    return [
        (epsilon, normal.cdf((epsilon - claimed) / spread - least))
        for epsilon in (claimed + (reach - claimed) * place / STEPS for place in range(STEPS + 1))
    ]


def stretches(law: Law) -> list[tuple[float, float, float]]:
    """Where the event lies: (left, right, part of the outputs there that lie in it), neighbours of the same part as one."""
    found: list[tuple[float, float, float]] = []
    for left, right, part in zip(law.edges, law.edges[1:], law.inside, strict=False):
        if found and found[-1][1] == left and round(found[-1][2], 2) == round(part, 2):
            left = found.pop()[0]
        found.append((left, right, part))
    return [one for one in found if one[2] > 0]
