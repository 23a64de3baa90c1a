"""One audit, from the first output to the last test: explore, confirm on fresh outputs, doubt independence, stop.

The engine decides what is drawn and what is tested; how events are found is `search`, what counts say is `records`.
Whatever happens on the way, `records` holds every test that was made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from dpverify.audit import dependence, plan
from dpverify.audit.bets import Bets
from dpverify.audit.blocks import Answer, Question, answer_of
from dpverify.audit.causes import likely_cause
from dpverify.audit.exploration import Forecast
from dpverify.audit.grid import grid_of
from dpverify.audit.plan import Look, Stage
from dpverify.audit.records import EARLIER, Claim, Record, tested
from dpverify.audit.result import Cause, Witness
from dpverify.audit.sampling import FEWEST_BLOCKS, Sampler
from dpverify.audit.search import Picked, pick
from dpverify.audit.statistics.counts import Counts
from dpverify.audit.table import Codes, Path, Table, joined

FEWEST = 20
"""Outputs a side below which nothing is worth confirming."""

FIRST_LOOK, WITHOUT_LOOK = 2_048, 8_192
"""Outputs a side that are drawn before any others, to see how wide an output is, where the first stage explores more than the
second number."""

MOST_MARKS = 1_000_000
"""Blocks of which it is remembered how they begin, at most."""

MOST_COMPARED = 4
"""Coordinates on which the two sides are compared in order, at most."""

MOMENTS = 4
"""How often between two looks those who bet are asked whether they have won."""

CONFIRMING_BLOCKS = 16
"""Blocks a side and look, at least: enough to see counts vary from block to block. Whether values repeat inside blocks shows
while exploring, on more of them."""

ROOM = 8_000_000
"""Cells of the exploration outputs that are kept, at most, on either side; confirmation keeps counts alone."""


class _After(Enum):
    """What a stage leads to."""

    GO_ON = "go on"
    STOP = "stop"
    DOUBT = "outputs of a batch may depend on each other"


@dataclass(slots=True)
class _Tally:
    """Hits of one picked event, block by block, on either side, and how they follow each other (`dependence.counted`)."""

    picked: Picked
    hits: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    neighbours: list[tuple[float, float]] = field(default_factory=lambda: [(0.0, 0.0), (0.0, 0.0)])

    def add(self, side: int, hits: int, neighbours: tuple[float, float]) -> None:
        """One more block."""
        self.hits[side].append(hits)
        excess, variance = self.neighbours[side]
        self.neighbours[side] = excess + neighbours[0], variance + neighbours[1]

    def counts(self, sizes: Sequence[Sequence[int]]) -> Counts:
        """As the test wants them: the side that should be likelier first."""
        side = 0 if self.picked.forward else 1
        return Counts(
            hits=sum(self.hits[side]),
            draws=sum(sizes[side]),
            other_hits=sum(self.hits[1 - side]),
            other_draws=sum(sizes[1 - side]),
        )


class Engine:
    """Runs one audit. `records`, `notes`, `undecided` and `grid` are what it leaves behind.

    `hints` are events to test besides those that are found; `explored`, outputs to look for events in besides those that it
    draws. `earlier` are tests of the same claim, of all pairs of inputs that were tried: where one of them rejects, it stands
    if what the first stage draws bears out that outputs are independent.
    """

    def __init__(
        self,
        sampler: Sampler,
        claim: Claim,
        *,
        alpha: float,
        bits: bool,
        can_separate: bool,
        stop_early: bool,
        hints: Sequence[Picked] = (),
        answers: Sequence[float] = (),
        explored: tuple[Table, Table] | None = None,
        earlier: Sequence[Record] = (),
    ) -> None:
        self.sampler = sampler
        self.claim = claim
        self.alpha = alpha
        self.bits = bits
        self.can_separate = can_separate
        self.stop_early = stop_early
        self.hints = tuple(hints)
        self.answers = tuple(answers)
        self.records: list[Record] = list(earlier)
        self.notes: list[str] = []
        self.undecided: str | None = None
        self.grid: dict[Path, float] = {}
        self.apart = False
        self._explored: tuple[list[Table], list[Table]] = ([], []) if explored is None else ([explored[0]], [explored[1]])
        self._given = len(self._explored[0])
        self.sampler.width = max([self.sampler.width, *(table.width for tables in self._explored for table in tables)])
        self._spot: tuple[list[Table], list[Table]] = ([], [])
        self._spot_size = 0
        self._marks: dict[int, int] = {}
        self._alike: tuple[int, int] | None = None
        self._refuted_by_bits = False
        self._number = 0
        self._open: tuple[list[_Tally], tuple[list[int], list[int]], float] | None = None
        self._bets: Bets | None = None
        self._bet_share = plan.BETTING_SHARE if stop_early else 0.0

    # --- the course of an audit -------------------------------------------------------------------------------------

    def run(self) -> None:
        """Spend the budget, or as much of it as a verdict needs."""
        budget = self.sampler.left
        self._spot_size = min(plan.SPOT_CHECK, budget // 20) if self.can_separate else 0
        stages = plan.stages_for(
            budget - self._spot_size,
            share=1 - plan.APART_SHARE,
            stop_early=self.stop_early,
            explored=sum(table.size for table in self._explored[0]),
        )
        if self._spend(stages) is _After.DOUBT:
            self._doubt()

    def _spend(self, stages: Sequence[Stage]) -> _After:
        """Stage after stage, until one has the answer or a reason to doubt."""
        for stage in stages:
            after = self._stage(stage)
            if after is not _After.GO_ON:
                return after
        return _After.STOP

    def _stage(self, stage: Stage) -> _After:
        self._number += 1
        blocks, explored = self._explore(stage.explore)
        if self._number == 1:
            self._note_opaque()
        if self._number == 1 and (reason := self._repeats(blocks) or self._shared()) is not None:
            self.notes.append(reason)
            return _After.DOUBT
        stage = replace(stage, confirm=stage.confirm + stage.explore - explored)
        return self._confirm(stage, self._pick(stage))

    def _doubt(self) -> None:
        """Start over with one output per independently seeded call, on what is left of the budget and of alpha."""
        self._set_aside("outputs of one batch depend on each other")
        if not self.can_separate:
            self.undecided = (
                "Successive outputs depend on each other, and this mechanism takes no generator that could keep them apart. "
                "Give it the form f(data, rng, size) or f(data, rng), and draw all noise from rng."
            )
            return
        budget = min(self.sampler.left, plan.MOST_APART)
        if budget < 2 * FEWEST:
            self.undecided = (
                "Outputs of one batch depend on each other, and no budget was left for one output a call; raise samples."
            )
            return
        self.notes.append("The verdict rests on one output per independently seeded call.")
        self.apart = True
        self._marks, self._alike = {}, None
        self._explored = self._spot
        if self._spend(plan.stages_apart(budget)) is _After.DOUBT:
            self._set_aside("outputs of separate calls depend on each other")
            self.undecided = (
                "Outputs of separate, independently seeded calls still depend on each other: the mechanism keeps a state "
                "from one call to the next. Remove it, or audit a function that builds the mechanism afresh."
            )

    def _set_aside(self, reason: str) -> None:
        self._close_bets()
        self.records = [replace(record, set_aside=record.set_aside or reason) for record in self.records]
        self._refuted_by_bits = False

    # --- exploring --------------------------------------------------------------------------------------------------

    def _explore(self, wanted: int) -> tuple[tuple[list[Codes], list[Codes]], int]:
        """Draw exploration outputs, of either side as many as are wanted and have room: the codes of whole outputs, block by
        block, in the first stage; and how many were drawn. The first outputs of all show how much room one takes."""
        blocks: tuple[list[Codes], list[Codes]] = ([], [])
        drawn = 0
        look = FIRST_LOOK if self._number == 1 and wanted > WITHOUT_LOOK and not self._given else wanted
        for upto in dict.fromkeys((look, wanted)):
            size = min(upto - drawn, max(self._room(), 0 if drawn else FEWEST))
            fewest = FEWEST_BLOCKS if upto == wanted and (self._number == 1 or self.apart) else 4
            for side, table in self._tables((size, size), apart=self.apart, fewest=fewest):
                self._explored[side].append(table)
                if self._number == 1:  # nobody looks at those of later stages
                    blocks[side].append(table.whole())
            drawn += size
        return blocks, drawn

    def _tables(self, sizes: tuple[int, int], *, apart: bool, fewest: int = FEWEST_BLOCKS) -> Iterator[tuple[int, Table]]:
        for side, answer in self.sampler.blocks_of(sizes, Question(keep=True), apart=apart, fewest=fewest):
            self._note_mark(answer)
            assert answer.table is not None
            yield side, answer.table

    def _note_mark(self, answer: Answer) -> None:
        """Remember how a block begins, and whether another one began alike."""
        if answer.mark is not None and len(self._marks) < MOST_MARKS:
            number = len(self._marks)
            if self._marks.setdefault(answer.mark, number) != number and self._alike is None:
                self._alike = self._marks[answer.mark], number

    def _note_opaque(self) -> None:
        for kind in sorted({kind for tables in self._explored for table in tables for kind in table.opaque}):
            self.notes.append(
                f"Some outputs hold objects of type {kind}, of which nothing but the type can be read: no event speaks of what "
                f"is in them. Return numbers, text, tuples or dicts, or give the type a __repr__ that shows its content."
            )

    def _repeats(self, blocks: tuple[list[Codes], list[Codes]]) -> str | None:
        generator = np.random.Generator(np.random.PCG64(0))
        for side, codes in enumerate(blocks):
            away = dependence.repeats(codes, generator)
            if abs(away) > dependence.LONGEST_TAIL:
                where = "inside" if away > 0 else "across"
                return (
                    f"On inputs[{side}] equal outputs occur {where} batches far more often than chance explains: "
                    f"outputs of one batch share their noise, or batches share a seed."
                )
        return None

    def _shared(self) -> str | None:
        """Whether a block of one side follows a block of the other: both were made with the same noise."""
        for path in self._explored[0][0].coordinates[:MOST_COMPARED]:
            sides = [[table.column(path).values for table in tables[self._given :]] for tables in self._explored]
            if dependence.follows(sides[0], sides[1]):
                return (
                    "A batch on one input rises and falls with a batch on the other: both inputs were answered with the same "
                    "noise, from a seed that the mechanism fixes itself."
                )
        return None

    def _pick(self, stage: Stage) -> list[Picked]:
        pooled = joined(self._explored[0]), joined(self._explored[1])
        self._explored = [pooled[0]], [pooled[1]]
        self.grid = grid_of(pooled, self.grid)
        curve = self.claim.curve
        forecast = Forecast(
            delta=self.claim.delta,
            alpha=self.alpha * stage.looks[-1].share / 2,
            planned=stage.confirm,
            points=() if curve is None else curve.points,
        )
        enough = (self.claim.epsilon if curve is None else 1.0) if self.stop_early else math.inf
        bits = self.bits and not self._refuted_by_bits
        found = pick(
            pooled,
            grid=self.grid,
            bits=bits,
            forecast=forecast,
            enough=enough if stage.learns else -math.inf,
            answers=self.answers,
        )
        return self._with_hints(found)

    def _with_hints(self, found: list[Picked]) -> list[Picked]:
        """Events that were handed in share half of the error budget among them, those that were found the other half."""
        if not self.hints:
            return found
        share = 0.5 / len(self.hints)
        given = [replace(one, share=share) for one in self.hints]
        return [*given, *(replace(one, share=one.share / 2) for one in found)]

    # --- confirming -------------------------------------------------------------------------------------------------

    def _confirm(self, stage: Stage, picked: list[Picked]) -> _After:
        if self._bet_share:
            alpha = self.alpha * self._bet_share * sum(look.share for look in stage.looks)
            self._bets = Bets(self.claim, self._number, picked, alpha, self.sampler.pairing)
        after = self._counted(stage, picked)
        self._close_bets()
        return after

    def _close_bets(self) -> None:
        """Record how the bets of a stage stand. Whatever moment that is, it may be looked at."""
        if self._bets is not None:
            self.records += self._bets.rest()
            self._bets = None

    def _counted(self, stage: Stage, picked: list[Picked]) -> _After:
        tallies = [_Tally(one) for one in picked]
        question = self._question(picked, keep=stage.reused and stage.confirm <= self._room())
        sizes: tuple[list[int], list[int]] = ([], [])
        kept: tuple[list[Table], list[Table]] = ([], [])
        done, moments = 0, MOMENTS if self._bets is not None else 1
        for place, look in enumerate(stage.looks, start=1):
            self._open = tallies, sizes, look.share
            begun, upto = done, round(stage.confirm * look.part)
            for moment in range(1, moments + 1):
                due = begun + (upto - begun) * moment // moments
                self._count(self._sides(due - done), question, tallies, sizes, kept, fewest=CONFIRMING_BLOCKS // moments)
                done = due
                if (after := self._bet(tallies, sizes)) is not _After.GO_ON:
                    self._open = None
                    return after
            after = self._look(place, look, tallies, sizes)
            if after is _After.GO_ON and self._refuted_by_bits and not stage.quick:
                return _After.STOP
            if after is not _After.GO_ON:
                return after
        if self._number == 1 and (settled := self._settled(tallies)):
            return self._refuted(settled, sizes)
        if (reason := self._suspect(tallies, sizes, dependence.LEVEL)) is not None:
            self.notes.append(reason)
            return _After.DOUBT
        for side in (0, 1):
            self._explored[side].extend(kept[side])
        return _After.GO_ON

    def _count(
        self,
        wanted: tuple[int, int],
        question: Question,
        tallies: list[_Tally],
        sizes: tuple[list[int], list[int]],
        kept: tuple[list[Table], list[Table]],
        *,
        fewest: int,
    ) -> None:
        """Draw so many outputs of either side and count the hits of each event, block by block."""
        for side, answer in self.sampler.blocks_of(wanted, question, apart=self.apart, fewest=fewest):
            sizes[side].append(answer.size)
            for tally, hits, neighbours in zip(tallies, answer.hits, answer.neighbours, strict=True):
                tally.add(side, hits, neighbours)
            self._note_mark(answer)
            if answer.table is not None:
                kept[side].append(answer.table)
            if self._bets is not None and (place := len(sizes[side])) <= len(sizes[1 - side]):
                block = (sizes[0][place - 1], sizes[1][place - 1])
                self._bets.add(block, [(tally.hits[0][place - 1], tally.hits[1][place - 1]) for tally in tallies])

    def _question(self, picked: Sequence[Picked], *, keep: bool) -> Question:
        return Question(
            events=tuple(one.event for one in picked), precise=tuple(one.precise for one in picked), grid=self.grid, keep=keep
        )

    def _room(self) -> int:
        """How many more exploration outputs of either side may be kept."""
        return ROOM // self.sampler.width - max(sum(table.size for table in tables) for tables in self._explored)

    def _sides(self, limit: int) -> tuple[int, int]:
        """How many outputs of either side: by coins where delta = 0, equal numbers else."""
        if self.claim.design == "fixed":
            return limit, limit
        trials = trials_within(limit)
        while True:
            first = int(self.sampler.coins.binomial(trials, 0.5))
            if max(first, trials - first) <= limit:  # fails once in 10^11 audits, which no alpha in use can notice
                return first, trials - first

    def _look(self, place: int, look: Look, tallies: list[_Tally], sizes: tuple[list[int], list[int]]) -> _After:
        fresh = self._tested(place, look.share, tallies, sizes)
        self.records += fresh
        self._open = None
        if self._copied():
            return _After.STOP
        rejecting = [tally for tally, record in zip(tallies, fresh, strict=True) if record.rejects]
        return self._refuted(rejecting, sizes) if rejecting else _After.GO_ON

    def _copied(self) -> bool:
        """Whether the processes that call the mechanism repeat each other; no verdict rests on such outputs."""
        if not dependence.copies(list(self.sampler.lives.values())):
            return False
        self._set_aside("processes repeat each other")
        self.undecided = (
            "Every process that calls the mechanism begins with the same outputs, and goes on with others for the same "
            "seed: the mechanism carries a generator of its own, so that workers, or an audit that is resumed, repeat "
            "each other. Draw all noise from rng, or audit it in one process from beginning to end."
        )
        return True

    def _bet(self, tallies: list[_Tally], sizes: tuple[list[int], list[int]]) -> _After:
        """Whether those who bet against the claim have won by now."""
        won = [] if self._bets is None else self._bets.won()
        if not won:
            return _After.GO_ON
        self.records += won
        if self._copied():
            return _After.STOP
        seen = {record.precise for record in won}
        return self._refuted([tally for tally in tallies if tally.picked.precise in seen], sizes)

    def _settled(self, tallies: list[_Tally]) -> list[_Tally]:
        """Where earlier tests have refuted the claim: the events of this stage that see as much as theirs."""
        precise = {record.precise for record in self.records if record.stage == EARLIER and record.rejects}
        return [tally for tally in tallies if tally.picked.precise in precise]

    def _refuted(self, rejecting: list[_Tally], sizes: tuple[list[int], list[int]]) -> _After:
        """Before a refutation stands: are the outputs independent? And does it suffice to stop?"""
        reason = self._suspect(rejecting, sizes, dependence.LEVEL_AT_STAKE) or self._spot_check(rejecting, sizes)
        if reason is not None:
            self.notes.append(reason)
            return _After.DOUBT
        if not self.stop_early:
            return _After.GO_ON
        if any(not tally.picked.precise for tally in rejecting):
            return _After.STOP
        self._refuted_by_bits = True
        return _After.GO_ON

    def _tested(self, place: int, share: float, tallies: list[_Tally], sizes: tuple[list[int], list[int]]) -> list[Record]:
        return [
            tested(
                self.claim.at(tally.picked.point),
                stage=self._number,
                look=place,
                event=tally.picked.event,
                forward=tally.picked.forward,
                precise=tally.picked.precise,
                counts=tally.counts(sizes),
                alpha=self.alpha * (1 - self._bet_share) * share * tally.picked.share,
            )
            for tally in tallies
        ]

    def break_off(self) -> None:
        """Record what was counted since the last look. It was not planned to be looked at now, so it is set aside."""
        if self._number <= 1:  # their outputs have not been doubted yet
            reason = "the audit ended before it was seen whether outputs depend on each other"
            self.records = [
                replace(one, set_aside=one.set_aside or reason) if one.stage == EARLIER else one for one in self.records
            ]
        if self._open is not None:
            tallies, sizes, share = self._open
            self._open = None
            unplanned = self._tested(0, share, tallies, sizes)
            self.records += [replace(record, set_aside="the audit ended before these counts were due") for record in unplanned]
        self._close_bets()

    def cause(self, witness: Witness) -> Cause:
        """What probably lies behind a refutation."""
        return likely_cause(witness, self._explored, self.claim.epsilon, reused=self.apart, curve=self.claim.curve is not None)

    # --- doubting ---------------------------------------------------------------------------------------------------

    def _suspect(self, tallies: list[_Tally], sizes: tuple[list[int], list[int]], level: float) -> str | None:
        """Why these counts are not to be trusted, or None."""
        if self._alike is not None:
            return "Two batches begin with the same outputs, so batches share a seed that the mechanism fixes itself."
        level /= 4 * len(tallies)
        for tally in tallies:
            for side in (0, 1):
                subject = f"'{tally.picked.event.describe()}' on inputs[{side}]"
                if dependence.dispersion(tally.hits[side], sizes[side]) < level:
                    return f"How often {subject} occurs varies from batch to batch in a way that chance does not explain."
                if dependence.serial(*tally.neighbours[side]) < level:
                    return f"Outputs with {subject} follow each other in a way that chance does not explain."
        return None

    def _spot_check(self, tallies: list[_Tally], sizes: tuple[list[int], list[int]]) -> str | None:
        """Before a refutation rests on batches: do outputs from calls of their own agree with them?"""
        if not self.can_separate or self.apart:
            return None
        if not self._spot[0]:
            for side, table in self._tables((self._spot_size, self._spot_size), apart=True):
                self._spot[side].append(table)
        level = dependence.LEVEL_AT_STAKE / (2 * len(tallies))
        for tally in tallies:
            question = self._question([tally.picked], keep=False)
            for side in (0, 1):
                alone = [answer_of(table, question) for table in self._spot[side]]
                hits, draws = sum(tally.hits[side]), sum(sizes[side])
                alone_hits, alone_draws = sum(answer.hits[0] for answer in alone), sum(answer.size for answer in alone)
                if dependence.disagree(hits, draws, alone_hits, alone_draws, level):
                    return (
                        f"'{tally.picked.event.describe()}' occurs on inputs[{side}] in {alone_hits} of {alone_draws} separate "
                        f"calls, which does not fit {hits} of {draws} outputs of batches."
                    )
        return None


def trials_within(limit: int) -> int:
    """How many fair coins may be tossed so that neither side shows up more than `limit` times, seven deviations allowed."""
    root = math.sqrt(2 * limit + 12.25) - 3.5
    return max(limit, math.floor(root * root))
