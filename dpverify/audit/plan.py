"""How a budget of outputs and a budget of error are spent. Fixed before the first output is drawn.

A large audit has three stages, each with fresh outputs to confirm on: a quick one, so that a blatant violation stops at once,
a second, and a thorough one that takes the rest. All outputs of earlier stages serve later ones to explore. Each look at
the counts has its own share of alpha, and the shares add up to 1, so the audit as a whole errs with probability alpha.
"""

from __future__ import annotations

from dataclasses import dataclass

APART_SHARE = 0.05
"""The part of alpha kept for one output per call, should the outputs of a batch turn out to depend on each other."""

MOST_APART = 100_000
"""Outputs a side of an audit that takes one output per call, at most: each of them costs a call."""

SPOT_CHECK = 256
"""Outputs a side, each from a call of its own, that have to agree with batches before a refutation rests on these."""

BETTING_SHARE = 0.05
"""The part of each stage's alpha that is bet, where the audit may stop early."""

STAGED = 50_000
"""From this many outputs a side on, an audit has a quick stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A moment at which counts are tested: after this part of a stage's outputs, at this share of alpha."""

    part: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Outputs a side to explore beyond those that earlier stages drew, outputs a side to confirm, and the looks.

    `reused`: once tested, its outputs serve the next stage to explore. `quick`: where it refutes by low-order bits alone,
    the audit goes on, so that the verdict on the reals does not rest on so few outputs.
    """

    explore: int
    confirm: int
    looks: tuple[Look, ...]
    reused: bool = False
    quick: bool = False

    @property
    def learns(self) -> bool:
        """Whether trees are grown where cheaper events do not settle it: not in a stage that others follow at once."""
        return not (self.quick and self.reused)


MOST_EXPLORED = 1_500_000
"""Outputs a side that a single stage explores, at most."""


def stages_for(samples: int, *, share: float, stop_early: bool = True, explored: int = 0) -> list[Stage]:
    """The stages of `samples` outputs a side; the shares of their looks add up to `share`.

    An audit that will not stop early has one stage and one look: its bound is the better for it. So many outputs that have
    been `explored` before save it exploring others, but for a quarter.
    """
    if not stop_early and samples >= STAGED:
        wanted = min(samples // 5, MOST_EXPLORED)
        explore = max(wanted - explored, wanted // 4)
        return [Stage(explore=explore, confirm=samples - explore, looks=(Look(part=1.0, share=share),))]
    if samples < STAGED:
        explore = max(samples // 4, 10)
        looks = (Look(part=0.25, share=0.1 * share), Look(part=1.0, share=0.9 * share))
        return [Stage(explore=explore, confirm=samples - explore, looks=looks, quick=True)]
    quick, second, third = (min(samples // part, most) for part, most in ((200, 20_000), (25, 100_000), (16, 80_000)))
    return [
        Stage(explore=quick, confirm=quick, looks=(Look(part=1.0, share=0.06 * share),), reused=True, quick=True),
        Stage(explore=second // 2, confirm=second, looks=(Look(part=1.0, share=0.1 * share),), reused=True),
        Stage(
            explore=third,
            confirm=samples - 2 * quick - second // 2 - second - third,
            looks=(Look(part=0.2, share=0.12 * share), Look(part=1.0, share=0.72 * share)),
        ),
    ]


def stages_apart(samples: int) -> list[Stage]:
    """The stages of `samples` outputs a side from calls of their own; the shares of their looks add up to `APART_SHARE`."""
    if samples < 2_000:
        looks = (Look(part=1.0, share=APART_SHARE),)
        return [Stage(explore=samples // 3, confirm=samples - samples // 3, looks=looks, quick=True)]
    quick, second = samples // 40, samples // 8
    return [
        Stage(explore=quick, confirm=quick, looks=(Look(part=1.0, share=0.25 * APART_SHARE),), reused=True, quick=True),
        Stage(explore=second, confirm=samples - second - 2 * quick, looks=(Look(part=1.0, share=0.75 * APART_SHARE),)),
    ]
