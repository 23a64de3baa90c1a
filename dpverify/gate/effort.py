"""How much an audit may cost: all its samples, or as many as a time allows.

Under a limit of time a claim is audited up to three times, each time with fresh outputs, more of them and a part of alpha
of its own (the parts add up to alpha, so the whole is at level alpha by the union bound). The short audits say how fast the
mechanism is and how near it comes to its claim; one that stays far away from it gets less of the time. The number of
outputs of an audit depends on earlier outputs and on the clock, never on its own outputs, so its level holds.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from dpverify.errors import DpverifyError
from dpverify.gate.claims import FEWEST_SAMPLES, SampledClaim
from dpverify.gate.spending import seed_of
from dpverify.guarantees import Verdict

if TYPE_CHECKING:
    from dpverify.audit.result import AuditResult

LADDER = ((400, 0.05), (10_000, 0.15))
"""Outputs a side of the short audits, and their parts of alpha; the long audit has the rest."""

LAST = 1 - sum(part for _, part in LADDER)
LEAST_WEIGHT = 0.1
GRACE = 1.0
"""Seconds that the first short audit may take in any case: without one nothing could be said at all."""

HASTE = 0.7
"""The part of the time that is planned for; speed varies."""


class _OutOfTime(KeyboardInterrupt):
    """Breaks an audit off from its progress callback; carries what was measured as a KeyboardInterrupt does."""

    partial: AuditResult | None = None


def audited(claim: SampledClaim, *, alpha: float, seed: int, seconds: float | None) -> AuditResult:
    """The audit of a checked claim at level `alpha`, within about `seconds`. Raises what `audit` raises."""
    if seconds is None:
        return _audit(claim, samples=claim.samples, alpha=alpha, seed=seed)
    return Timed(claim, alpha=alpha, seed=seed).run(seconds)


class Timed:
    """One claim under a limit of time. `short` audits it briefly, `long` with the time that is left for it."""

    def __init__(self, claim: SampledClaim, *, alpha: float, seed: int) -> None:
        self.claim = claim
        self.alpha = alpha
        self.seed = seed
        self.pace = 0.0
        self.result: AuditResult | None = None
        self.finished = False
        self.error: DpverifyError | None = None

    @property
    def weight(self) -> float:
        """How near the mechanism came to its claim, from LEAST_WEIGHT to 1: its share of what time is left."""
        if self.finished or self.result is None:
            return 0.0
        if self.claim.delta != 0 or self.result.epsilon <= 0:
            return 1.0  # the bound on epsilon alone does not say how near it is
        return max(LEAST_WEIGHT, min(1.0, self.result.epsilon_lower / self.result.epsilon))

    def run(self, seconds: float) -> AuditResult:
        """Both, one after the other."""
        deadline = time.monotonic() + seconds
        self.short(seconds)
        return self.rest(max(deadline - time.monotonic(), 0.0) * self.weight)

    def rest(self, seconds: float) -> AuditResult:
        """What comes after the short audits: the long one, or the error that broke a short one."""
        self.long(seconds)
        if self.error is not None:
            raise self.error
        assert self.result is not None  # a short audit leaves one
        return self.result

    def short(self, seconds: float) -> None:
        """The short audits, as far as they fit."""
        deadline = time.monotonic() + max(seconds, GRACE)
        for number, (most, part) in enumerate(LADDER):
            samples = min(most, self.claim.samples, self._fitting(deadline - time.monotonic()))
            done = self.result.evidence["samples"] if self.result is not None else 0
            if number == 0 or (not self.finished and samples >= 2 * done):
                self._try(number, samples, part, deadline)

    def long(self, seconds: float) -> None:
        """The long audit, if it has room for more outputs than the last short one."""
        done = self.result.evidence["samples"] if self.result is not None else 0
        samples = min(self.claim.samples, self._fitting(seconds))
        if not self.finished and samples >= 2 * done:
            self._try(len(LADDER), samples, LAST, time.monotonic() + seconds)

    def _fitting(self, seconds: float) -> int:
        """How many outputs a side the time allows; before anything was timed, all."""
        return max(int(HASTE * seconds / self.pace), FEWEST_SAMPLES) if self.pace > 0 else self.claim.samples

    def _try(self, number: int, samples: int, part: float, deadline: float) -> None:
        def watch(drawn: int, budget: int) -> None:
            if time.monotonic() > deadline:
                raise _OutOfTime

        started = time.monotonic()
        seed = seed_of(self.seed, str(number))
        try:
            result = _audit(self.claim, samples=samples, alpha=part * self.alpha, seed=seed, progress=watch)
        except _OutOfTime as stop:
            self.finished = True
            if self.result is None or (stop.partial is not None and stop.partial.verdict is Verdict.REFUTED):
                self.result = stop.partial
            return
        except DpverifyError as error:
            self.finished = True
            self.error = error
            return
        self.pace = (time.monotonic() - started) / samples
        self.result = result
        self.finished = result.verdict is not Verdict.NOT_REFUTED


def _audit(claim: SampledClaim, **options: Any) -> AuditResult:
    from dpverify.audit.api import audit

    return audit(
        claim.mechanism,
        inputs=claim.inputs,
        epsilon=claim.epsilon,
        delta=claim.delta,
        outputs=claim.outputs,  # type: ignore[arg-type]  # checked with the rest of the claim
        timeout=claim.timeout,
        **{"progress": False, **options},
    )
