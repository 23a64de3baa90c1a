"""The public face of the auditor: `audit`, and what it checks before the first output is drawn."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from numbers import Real
from typing import Any, Literal

from dpverify import __version__
from dpverify.arithmetic.exact import Number, float_above
from dpverify.audit.blocks import FIRST_CALLS
from dpverify.audit.callables import form_of, name_of
from dpverify.audit.crew import Alone, Crew, Job
from dpverify.audit.curve import curve_of
from dpverify.audit.engine import Engine
from dpverify.audit.events import Event
from dpverify.audit.evidence import evidence_of
from dpverify.audit.neighbours import Neighbourhood, Pairs
from dpverify.audit.progress import reporter
from dpverify.audit.records import Claim, design_for, findings
from dpverify.audit.request import (
    MOST_SAMPLES,
    MOST_WORKERS,
    checked_alpha,
    checked_delta,
    checked_epsilon,
    checked_timeout,
    checked_whole,
    shortened,
)
from dpverify.audit.result import AuditResult, Witness
from dpverify.audit.sampling import Sampler
from dpverify.audit.search import Picked
from dpverify.audit.strategies import PairStrategy
from dpverify.audit.unchanged import digest_of_input
from dpverify.audit.worst import Search, checked_inputs
from dpverify.errors import InputError, MechanismError, shown
from dpverify.guarantees import Guarantee

__all__ = ["AuditResult", "Witness", "audit"]


def audit(
    mechanism: Callable[..., Any],
    *,
    inputs: tuple[Any, Any] | Pairs | PairStrategy,
    epsilon: Number | None = None,
    delta: Number = 0,
    claim: Guarantee | Sequence[tuple[Number, Number]] | None = None,
    samples: int = 10**6,
    alpha: Number = 1e-3,
    seed: int = 0,
    outputs: Literal["bits", "reals"] = "bits",
    timeout: float | None = None,
    progress: Callable[[int, int], None] | bool | None = None,
    stop_early: bool = True,
    workers: int | None = None,
    executor: Executor | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    relation: Neighbourhood | str | None = None,
    hints: Sequence[tuple[Event, int]] = (),
) -> AuditResult:
    """Try to refute the claim that a mechanism is (epsilon, delta)-differentially private, by sampling it on two inputs.

    The claim is P(S) <= e^epsilon Q(S) + delta for every set S of outputs, P and Q the laws of the outputs on the two
    inputs, in either order; of a curve, for each of its points. Events S are sought on exploration outputs and tested on
    fresh ones with exact binomial bounds.

    mechanism  f(data, rng, size) with `size` independent outputs along the first axis, or f(data, rng) or f(data) with one;
               the form is read off the parameter names. rng is a numpy Generator
    inputs     two neighbouring datasets, whatever `mechanism` takes as data; or several pairs (`audit.neighbours`) or a
               strategy for them (`audit.strategies`), of which the worst is chosen on outputs that are not counted
    epsilon    the claim, in nats, >= 0; delta in [0, 1). A float is exactly that double, text is an exact decimal or fraction
    claim      instead of epsilon and delta: PureDP, ApproxDP, GaussianDP, ZCDP, RenyiDP, or a profile, a list of
               (epsilon, delta) that all hold. Each event is tested at the point where its test is strongest
    samples    outputs a side, at most, search included (2 x samples in all); at least 100
    alpha      probability of refuting a claim that is true, in (0, 1)
    seed       >= 0; the same seed gives the same evidence, provided that all noise comes from rng or the global generators
    outputs    "bits": floats as they are; "reals": rounded to a grid first, so that low-order bits play no part
    timeout    seconds that one call may take; the mechanism then runs in a child process. None: no limit, no child process
    stop_early False: spend the whole budget even after a refutation, for the largest epsilon_lower that it can show
    progress   called with (outputs drawn, outputs in the budget); None: a line on a terminal if the audit is long; False: never
    workers    processes that call the mechanism; None or 0: this one. The evidence is the same for any number of them
    executor   a concurrent.futures.Executor whose workers call the mechanism instead, a dask client's `get_executor()` say
    relation   what `inputs` are checked to be: an `adjacency.Relation`, its words, or a `BoundedDifference`; None: unchecked
    hints      events to test besides those that are found, each with the input (0 or 1) on which it should be likelier
    checkpoint a file in which every answer is written down, so that the same request goes on where it was killed

    Returns an AuditResult; its numbers are statistical at level 1 - alpha. Raises InputError for a request that cannot be
    used, and MechanismError for a mechanism that raises, hangs, dies, changes its input or returns something that is no
    batch, with what had been measured in `.partial`; a KeyboardInterrupt carries `.partial` as well. There is none while
    the worst of several pairs is still sought.
    """
    started = time.perf_counter()
    form = form_of(mechanism)
    given, fewest = checked_inputs(inputs, relation)
    level = checked_alpha(alpha)
    samples = checked_whole(samples, "samples", least=fewest, most=MOST_SAMPLES)
    seed = checked_whole(seed, "seed", least=0, most=None)
    if outputs not in ("bits", "reals"):
        raise InputError(f"outputs = {shown(outputs)}: write 'bits' (floats as they are) or 'reals' (floats rounded first).")
    tested, claimed = _claim(epsilon, delta, claim, samples)
    many = None if workers is None else checked_whole(workers, "workers", least=0, most=MOST_WORKERS)
    if executor is not None and (many or not isinstance(executor, Executor)):
        raise InputError(
            f"executor = {shown(executor)}: a concurrent.futures.Executor is needed"
            + (", or workers for processes of our own; not both." if many else ".")
        )
    report, finish = reporter(progress)
    first = max(1, min(FIRST_CALLS, samples // 200))
    job = Job(mechanism=mechanism, form=form, inputs=(), seed=seed, timeout=checked_timeout(timeout), first=first)
    search = Search(claim=tested, level=level, samples=samples, bits=outputs == "bits", stop_early=stop_early)
    job, choose = search.begun(given, job)
    request = {
        "dpverify": __version__,
        "claim": claimed,
        "alpha": level,
        "samples": samples,
        "seed": seed,
        "outputs": outputs,
        "stop_early": stop_early,
        "mechanism": f"{name_of(mechanism)}, {form}",
        "hints": [[event.to_json(), side] for event, side in hints],
        **{name: f"{shortened(data)} ({digest_of_input(data)})" for name, data in zip(job.names, job.inputs, strict=True)},
    }
    with _crew(job, executor, many, checkpoint, request) as crew:
        chosen = choose(crew, report)
        pair = job.inputs[chosen.pair[0]], job.inputs[chosen.pair[1]]
        sampler = Sampler(
            crew,
            budget=samples - chosen.spent,
            seed=seed,
            first=first,
            progress=lambda drawn, _: report(drawn + 2 * chosen.spent, 2 * samples),
            pair=chosen.pair,
        )
        told_events = [Picked(event, side == 0, 1.0, precise=False) for event, side in hints]
        engine = Engine(
            sampler,
            tested,
            alpha=level * (1 - search.betting_share) if chosen.records else level,
            bits=outputs == "bits",
            can_separate=form.seeded or form.batched,
            stop_early=stop_early,
            hints=told_events if chosen.suspected is None else [chosen.suspected, *told_events],
            answers=_answers(pair),
            explored=chosen.explored,
            earlier=chosen.records,
        )

        def result(interrupted: str | None = None) -> AuditResult:
            undecided = interrupted or engine.undecided
            found = findings(tested, engine.records, undecided)
            cause = None if found.witness is None else engine.cause(found.witness)
            told = [chosen.told(), *engine.notes, None if cause is None else str(cause), undecided]
            notes = tuple(dict.fromkeys(note for note in told if note is not None))
            drawn = (sampler.drawn[0], sampler.drawn[1])
            evidence = evidence_of(
                claim=tested,
                claimed=claimed,
                alpha=level,
                samples=samples,
                seed=seed,
                outputs=outputs,
                stop_early=stop_early,
                mechanism={"name": name_of(mechanism), "form": str(form), "inputs": [shortened(data) for data in pair]},
                search=chosen.to_json([shortened(data) for data in job.inputs]),
                drawn=drawn,
                blocks=sampler.blocks,
                grid=engine.grid,
                apart=engine.apart,
                records=engine.records,
                undecided=undecided,
                notes=notes,
                found=found,
            )
            return AuditResult(
                verdict=found.verdict,
                epsilon=found.epsilon,
                delta=found.delta,
                epsilon_lower=found.epsilon_lower,
                confidence=1 - level,
                witness=found.witness,
                detectable_epsilon=found.detectable_epsilon,
                samples=max(drawn) + chosen.spent,
                seconds=time.perf_counter() - started,
                verdict_on_reals=found.verdict_on_reals,
                notes=notes,
                evidence=evidence,
                bounds=found.bounds,
                cause=cause,
            )

        try:
            engine.run()
        except MechanismError as error:
            engine.break_off()
            error.partial = result(f"The mechanism failed: {error}")
            raise
        except KeyboardInterrupt as error:
            engine.break_off()
            error.partial = result("The audit was interrupted.")  # type: ignore[attr-defined]
            raise
        finally:
            finish()
        return result()


def _answers(pair: tuple[Any, Any]) -> tuple[float, ...]:
    """The inputs where they are numbers: what noise is likely to be added to."""
    if not all(isinstance(data, Real) for data in pair):
        return ()
    found = tuple(float(data) for data in pair if abs(data) < LARGEST_ANSWER)
    return tuple(answer for answer in found if answer)


LARGEST_ANSWER = 2**1000


def _claim(epsilon: Number | None, delta: Number, claim: Any, samples: int) -> tuple[Claim, dict[str, Any]]:
    """The claim as it is tested, and as evidence quotes it."""
    if (epsilon is None) == (claim is None):
        raise InputError("epsilon, claim: one of the two is needed, and not both.")
    if epsilon is None:
        if delta != 0:
            raise InputError(f"delta = {shown(delta, str)}: it goes with epsilon; a claim states its own delta.")
        curve = curve_of(claim)
        point = curve.points[len(curve.points) // 2]
        return Claim(epsilon=point[0], delta=point[1], curve=curve), curve.to_json()
    exact = {"epsilon": checked_epsilon(epsilon), "delta": checked_delta(delta)}
    above = {name: float_above(value) for name, value in exact.items()}
    design = design_for(above["delta"], samples)
    return Claim(epsilon=above["epsilon"], delta=above["delta"], design=design), {name: str(exact[name]) for name in exact}


@contextmanager
def _crew(job: Job, executor: Executor | None, workers: int | None, checkpoint: Any, request: dict[str, Any]) -> Iterator[Crew]:
    """The right kind of crew, closed on the way out whatever happens."""
    journal = None
    if checkpoint is not None:
        from dpverify.audit.journal import Journal

        journal = Journal(checkpoint, request)
    with ExitStack() as held:
        if journal is not None:
            held.callback(journal.close)
        crew: Crew
        if executor is None and not workers:
            crew = Alone(job)
        else:
            from dpverify.audit.crowd import Crowd

            crew = Crowd(job, executor=executor, workers=workers)
        held.callback(crew.close)
        if journal is not None:
            from dpverify.audit.journal import Recalled

            crew = Recalled(crew, journal)
        yield crew
