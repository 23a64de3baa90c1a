"""Two roads to one claim: what is certain of a law that somebody states, and what samples of the code say.

A mechanism that is told (a member of the catalogue with its parameters) or a pair of densities gives the optimal event,
{x : log p(x) - log q(x) > epsilon}, which the audit tests beside those that it finds, and, where it is told, a certified
delta(epsilon). Both are printed side by side. What is told of the code is checked on samples first: a certificate speaks
of the law, and only as far as the code follows it of the code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number, float_above, to_exact
from dpverify.audit.api import audit
from dpverify.audit.callables import form_of
from dpverify.audit.calls import Calls, Request
from dpverify.audit.events import Event, Within
from dpverify.audit.features import Coordinate
from dpverify.audit.request import checked_alpha, checked_delta, checked_epsilon, checked_pair, checked_whole
from dpverify.audit.result import AuditResult
from dpverify.errors import InputError, shown
from dpverify.guarantees import Verdict
from dpverify.showing import notebook

Floats = NDArray[np.float64]
LogDensity = Callable[[Floats], Floats]

POINTS = 4_001
"""Places at which the sign of loss - epsilon is looked up before its changes are located."""

COMPARED = 200_000
"""Outputs a side on which the code is compared with the law that is told; of a mechanism that returns one a call, fewer."""

COMPARED_CALLS = 5_000

DISAGREE = 1e-6
"""The level at which outputs contradict the law."""

FIRST_BLOCK = 2**31 + 2**30 + 2**29
"""Blocks from here on belong to this comparison; no audit numbers so many."""


class Told(Protocol):
    """What a mechanism of the catalogue offers."""

    def delta(self, epsilon: Number, *, digits: int = 15) -> Enclosure:
        """The exact delta."""
        ...

    def epsilon(self, delta: Number, *, digits: int = 15) -> Enclosure:
        """The exact epsilon."""
        ...

    def sampler(self) -> Callable[..., Any]:
        """The law as code."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Triangulation:
    """What is certain and what is measured of one claim.

    verdict      "refuted" where the audit refutes, or where the told law does for certain and the outputs follow it;
                 otherwise the audit's verdict. It is never "proved": code is more than its law
    audit        the audit; its witness rests on samples alone
    told         the law in words; None where only densities were given
    certified_delta, certified_epsilon
                 enclosures of delta(epsilon) and epsilon(delta) of the told law; None without one, or where no number exists
    law_violates whether the told law contradicts the claim, for certain; None without one
    agrees       whether the outputs are compatible with the told law (level 1e-6); None without one
    events       the optimal events in words
    """

    verdict: Verdict
    audit: AuditResult
    told: str | None
    certified_delta: Enclosure | None
    certified_epsilon: Enclosure | None
    law_violates: bool | None
    agrees: bool | None
    events: tuple[str, ...]

    def _repr_html_(self) -> str:
        return notebook(self, "triangulation")

    def __str__(self) -> str:
        """Both opinions, one below the other."""
        lines = [f"{self.verdict.value}, by what is certain and what was measured together."]
        if self.told is not None:
            delta = "unknown" if self.certified_delta is None else self.certified_delta.decimal(8)
            lines.append(f"certified  {self.told} has delta = {delta} at epsilon = {self.audit.epsilon:.6g}")
            if self.certified_epsilon is not None:
                lines.append(f"           and epsilon = {self.certified_epsilon.decimal(8)} at delta = {self.audit.delta:.6g}")
            follows = "are compatible with" if self.agrees else "do not follow"
            lines.append(f"           the outputs of the code {follows} that law (level {DISAGREE:g})")
        low = self.audit.epsilon_lower
        lines.append(f"measured   {self.audit.verdict.value}; epsilon is at least {math.floor(low * 1e4) / 1e4:.4f}")
        lines += [f"optimal    {event}" for event in self.events]
        return "\n".join(lines)


def triangulate(
    mechanism: Callable[..., Any],
    *,
    inputs: tuple[Any, Any],
    epsilon: Number,
    delta: Number = 0,
    told: Told | None = None,
    answers: tuple[float, float] | None = None,
    densities: tuple[LogDensity, LogDensity] | None = None,
    alpha: Number = 1e-3,
    seed: int = 0,
    **options: Any,
) -> Triangulation:
    """Audit a mechanism whose law is told, and lay the certified numbers of that law beside what the samples say.

    told       a mechanism of the catalogue with its parameters, `dpverify.Gaussian(sigma=..., sensitivity=...)` say: the law of
               the code's output around its true answer
    answers    the true answers on the two inputs; None: the inputs themselves, where these are numbers
    densities  instead of `told`: the logarithms of the output's densities on the two inputs, as functions of an array; a
               factor that both have may be left out
    alpha      as for `audit`; one half of it goes to the optimal events
    options    what `audit` takes besides

    Returns a Triangulation. Its certified numbers are enclosures; what the audit says is statistical at level 1 - alpha. That
    the outputs follow the law is tested by two distribution functions that are further apart than the inequality of
    Dvoretzky, Kiefer and Wolfowitz (with Massart's constant) allows. Raises InputError, and whatever `audit` raises.
    """
    pair = checked_pair(inputs)
    exact = checked_epsilon(epsilon), checked_delta(delta)
    checked_alpha(alpha)
    root = checked_whole(seed, "seed", least=0, most=None)
    if (told is None) == (densities is None):
        raise InputError("told, densities: exactly one of them says what the law of the outputs is.")
    places = None if told is None else _answers(pair, answers)
    logs = densities if told is None or places is None else _told_densities(told, places)
    events = [] if logs is None else _optimal(logs, float_above(exact[0]), _outputs(mechanism, pair, root, 1_000))
    measured = audit(mechanism, inputs=pair, epsilon=epsilon, delta=delta, alpha=alpha, seed=root, hints=events, **options)
    words = tuple(f"{event.describe()}, likelier on inputs[{side}]" for event, side in events)
    if told is None or places is None:
        return Triangulation(
            verdict=measured.verdict,
            audit=measured,
            told=None,
            certified_delta=None,
            certified_epsilon=None,
            law_violates=None,
            agrees=None,
            events=words,
        )
    certified = told.delta(epsilon)
    violates = bool(certified.exact_lower > _fraction(exact[1]))
    agrees = _agree(
        told, places, _outputs(mechanism, pair, root, COMPARED if form_of(mechanism).batched else COMPARED_CALLS), root
    )
    follows = Verdict.REFUTED if violates and agrees else measured.verdict
    return Triangulation(
        verdict=Verdict.REFUTED if measured.verdict is Verdict.REFUTED else follows,
        audit=measured,
        told=repr(told),
        certified_delta=certified,
        certified_epsilon=_epsilon_of(told, delta),
        law_violates=violates,
        agrees=agrees,
        events=words,
    )


def _fraction(value: Any) -> Any:
    from fractions import Fraction

    return Fraction(int(value.p), int(value.q))


def _epsilon_of(told: Told, delta: Number) -> Enclosure | None:
    try:
        return told.epsilon(delta)
    except InputError:  # no epsilon belongs to this delta (a Gaussian at 0, say)
        return None


def _answers(pair: tuple[Any, Any], answers: tuple[float, float] | None) -> tuple[float, float]:
    given = pair if answers is None else answers
    try:
        first, second = (float(answer) for answer in given)
        if math.isfinite(first) and math.isfinite(second) and first != second:
            return first, second
    except (TypeError, ValueError):
        pass
    raise InputError(
        f"answers = {shown(given)}: the two true answers to which the told noise is added are needed, numbers that differ; "
        f"the inputs stand for themselves only where they are numbers."
    )


def _told_densities(told: Told, answers: tuple[float, float]) -> tuple[LogDensity, LogDensity] | None:
    """The log densities of an additive law, up to a constant; None for a law that states none."""
    from dpverify.arithmetic.arrays import ARRAYS

    log_density: Any = getattr(told, "log_density", None)
    scale = getattr(told, "exact_scale", None)
    if log_density is None or scale is None:
        return None
    unit = float(_fraction(to_exact(scale, "scale")))

    def around(answer: float) -> LogDensity:
        return lambda x: np.asarray(log_density(ARRAYS, (x - answer) / unit), dtype=np.float64)

    return around(answers[0]), around(answers[1])


def _outputs(mechanism: Callable[..., Any], pair: tuple[Any, Any], seed: int, size: int) -> tuple[Floats, Floats]:
    """Numbers to compare with the law; none of them is counted by the audit."""
    calls = Calls(mechanism, form_of(mechanism), pair, seed)
    found = []
    for side in (0, 1):
        table = calls.outputs(Request(side=side, block=FIRST_BLOCK + side, size=size))
        values = table.column(()).values.copy()
        if np.isnan(values).any():
            raise InputError("told, densities: the law of a number is stated, and not every output of the mechanism is one.")
        found.append(values)
    return found[0], found[1]


def _optimal(logs: tuple[LogDensity, LogDensity], epsilon: float, outputs: tuple[Floats, Floats]) -> list[tuple[Event, int]]:
    """Where either log ratio exceeds epsilon (half-lines and intervals), by the changes of its sign on a fine grid."""
    pooled = np.concatenate(outputs)
    low, high = float(pooled.min()), float(pooled.max())
    margin = (high - low) or 1.0
    grid = np.linspace(low - margin, high + margin, POINTS)
    events: list[tuple[Event, int]] = []
    for side in (0, 1):

        def beyond(x: Floats, side: int = side) -> NDArray[np.bool_]:
            with np.errstate(all="ignore"):
                likely, other = (np.asarray(logs[one](x), dtype=np.float64) for one in (side, 1 - side))
                loss = likely - other if likely.shape == other.shape == x.shape else None
            if loss is None:
                raise InputError(
                    f"densities: {likely.shape} and {other.shape} numbers for {x.shape} places; each takes an array of places "
                    f"and returns an array that is as long."
                )
            return loss > epsilon

        events += [(event, side) for event in _pieces(beyond, grid)]
    return events[:4]


def _pieces(beyond: Callable[[Floats], NDArray[np.bool_]], grid: Floats) -> list[Event]:
    inside = beyond(grid)
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    cuts = [_located(beyond, float(grid[place]), float(grid[place + 1]), bool(inside[place])) for place in edges]
    ends = [*([-math.inf] if inside[0] else []), *cuts, *([math.inf] if inside[-1] else [])]
    rays_and_intervals = zip(ends[::2], ends[1::2], strict=False)
    found: list[Event] = [
        Within(Coordinate(()), low, high) for low, high in rays_and_intervals if high - low < math.inf or cuts
    ]
    if len(found) == 2 and inside[0] and inside[-1]:
        return [Within(Coordinate(()), cuts[0], cuts[1], inside=False)]
    return found


def _located(beyond: Callable[[Floats], NDArray[np.bool_]], low: float, high: float, before: bool) -> float:
    for _ in range(60):
        middle = (low + high) / 2
        if bool(beyond(np.array([middle]))[0]) == before:
            low = middle
        else:
            high = middle
    return high


def _agree(told: Told, answers: tuple[float, float], outputs: tuple[Floats, Floats], seed: int) -> bool:
    """Whether outputs less their answer and draws of the told noise have distribution functions as close as chance makes."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(FIRST_BLOCK + 2,))))
    noise = np.sort(np.asarray(told.sampler()(0, rng, COMPARED), dtype=np.float64))
    for answer, values in zip(answers, outputs, strict=True):
        moved = np.sort(values - answer)
        both = np.concatenate([noise, moved])
        gap = np.abs(_share(noise, both) - _share(moved, both)).max()
        allowed = sum(math.sqrt(math.log(8 / DISAGREE) / (2 * len(one))) for one in (noise, moved))
        if gap > allowed + 1e-3:  # a grid that outputs are rounded to moves a distribution function a little
            return False
    return True


def _share(ordered: Floats, places: Floats) -> Floats:
    return np.searchsorted(ordered, places, side="right") / len(ordered)
