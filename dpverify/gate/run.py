"""All claims of a project, one after the other, under one budget of error and one of time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from dpverify.gate import cache, spending
from dpverify.gate.checking import problems
from dpverify.gate.claims import SampledClaim
from dpverify.gate.decide import decide
from dpverify.gate.effort import Timed
from dpverify.gate.files import saved

if TYPE_CHECKING:
    from pathlib import Path

    from dpverify.audit.result import AuditResult
    from dpverify.gate.claims import Claim
    from dpverify.gate.config import Configuration
    from dpverify.gate.outcome import Outcome

FIRST = 0.3
"""The part of the time in which every claim is audited shortly; the rest goes to those that need it."""


def run(
    configuration: Configuration,
    *,
    remember: bool,
    evidence: Path | None,
    told: Callable[[Outcome], None] = lambda outcome: None,
) -> Iterator[Outcome]:
    """The outcomes, in the order of the claims. `remember` says whether earlier outcomes count; `told` hears of each.

    Each sampled claim spends an equal part of alpha; certified arithmetic spends none.
    """
    claims, root = configuration.claims, configuration.root
    alpha = spending.share(configuration.alpha, sum(isinstance(claim, SampledClaim) for claim in claims))
    keys = [
        cache.key_of(claim, alpha=alpha, seed=configuration.seed, seconds=configuration.seconds) if remember else None
        for claim in claims
    ]
    known = [None if key is None else cache.remembered(claim, key, root) for claim, key in zip(claims, keys, strict=True)]
    open_claims = [claim for claim, outcome in zip(claims, known, strict=True) if outcome is None]
    timed = _shortly(open_claims, configuration, alpha)
    for claim, key, earlier in zip(claims, keys, known, strict=True):
        outcome = earlier
        if outcome is None:
            under_way = timed.get(id(claim))
            outcome = decide(claim, alpha=alpha, seed=configuration.seed, audit=None if under_way is None else under_way.finish)
            if key is not None:
                cache.remember(outcome, key, root)
        if evidence is not None:
            outcome = saved(outcome, evidence)
        told(outcome)
        yield outcome


class _UnderWay:
    """A claim that was audited shortly, and the time that is still to be shared."""

    def __init__(self, timed: Timed, clock: _Clock) -> None:
        self.timed = timed
        self.clock = clock

    def finish(self) -> AuditResult:
        """The long audit, in this claim's part of the time."""
        return self.timed.rest(self.clock.part(self.timed.weight))


class _Clock:
    """What is left of the time, shared by weight among the claims that are left."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.weights = 0.0

    def part(self, weight: float) -> float:
        """The seconds of one claim of this weight."""
        left = max(self.deadline - time.monotonic(), 0.0)
        seconds = left * weight / self.weights if self.weights > 0 else 0.0
        self.weights -= weight
        return seconds


def _shortly(claims: list[Claim], configuration: Configuration, alpha: float) -> dict[int, _UnderWay]:
    """A short audit of each claim that can be sampled, where time is limited; by the identity of the claim."""
    sampled = [claim for claim in claims if isinstance(claim, SampledClaim) and not problems(claim)]
    if configuration.seconds is None:
        return {}
    started = time.monotonic()
    clock = _Clock(started + configuration.seconds)
    first = started + FIRST * configuration.seconds
    found: dict[int, _UnderWay] = {}
    for place, claim in enumerate(sampled):
        timed = Timed(claim, alpha=alpha, seed=configuration.seed)
        timed.short(max(first - time.monotonic(), 0.0) / (len(sampled) - place))
        clock.weights += timed.weight
        found[id(claim)] = _UnderWay(timed, clock)
    return found
