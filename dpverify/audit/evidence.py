"""Evidence: events, counts, seeds and versions as plain data, and the verdict that follows from them without sampling.

Evidence holds no timings, so the same audit gives the same bytes. It is checked, not trusted: `recheck` recomputes every
test and the verdict from the counts and says which field does not fit. It is not signed: it shows that a verdict follows
from its counts, not that the counts were drawn.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Collection
from typing import Any

import numpy as np

from dpverify.arithmetic.exact import float_above, to_exact
from dpverify.audit.curve import curve_from_json
from dpverify.audit.events import event_from_json
from dpverify.audit.records import EARLIER, Claim, Findings, Record, Wager, findings, judged, judged_bets, record_to_json
from dpverify.audit.result import AuditResult
from dpverify.audit.statistics.betting import PairCounts
from dpverify.audit.statistics.counts import Counts
from dpverify.audit.table import Path
from dpverify.errors import InputError, shown

SCHEMA = 1
SEEDS = "block b: PCG64(SeedSequence(seed, spawn_key=(b,))); one output a call: spawn_key=(b, place in block)"
CLOSE = 1e-9
"""Relative difference up to which a stored bound counts as the one recomputed; other versions may round otherwise."""


def evidence_of(
    *,
    claim: Claim,
    claimed: dict[str, Any],
    alpha: float,
    samples: int,
    seed: int,
    outputs: str,
    stop_early: bool,
    mechanism: dict[str, Any],
    search: dict[str, Any] | None,
    drawn: tuple[int, int],
    blocks: int,
    grid: dict[Path, float],
    apart: bool,
    records: list[Record],
    undecided: str | None,
    notes: tuple[str, ...],
    found: Findings,
) -> dict[str, Any]:
    """Everything that a reader needs to check the verdict, and to repeat the audit."""
    from dpverify import __version__

    return {
        "schema": SCHEMA,
        "versions": {"dpverify": __version__, "numpy": np.__version__, "python": platform.python_version()},
        "claim": claimed,
        "tested": {"epsilon": found.epsilon, "delta": found.delta},
        "alpha": alpha,
        "samples": samples,
        "seed": seed,
        "seeds": SEEDS,
        "outputs": outputs,
        "stop_early": stop_early,
        "mechanism": mechanism,
        **({} if search is None else {"search": search}),
        "drawn": list(drawn),
        "blocks": blocks,
        "design": claim.design,
        "one_output_per_call": apart,
        "grid": [{"path": list(path), "spacing": spacing} for path, spacing in grid.items()],
        "tests": [record_to_json(record) for record in records],
        "undecided": undecided,
        "notes": list(notes),
        "verdict": str(found.verdict),
        "verdict_on_reals": str(found.verdict_on_reals),
        "epsilon_lower": found.epsilon_lower,
        "detectable_epsilon": found.detectable_epsilon if math.isfinite(found.detectable_epsilon) else None,
        "bounds": found.bounds,
    }


def recheck(evidence: dict[str, Any]) -> AuditResult:
    """The verdict that follows from saved evidence: every test is made again from its counts, nothing is sampled.

    `evidence` is what `AuditResult.evidence` held or `dpverify audit --evidence` wrote (schema 1). Returned as by `audit`,
    with 0 seconds. Raises InputError that names the field where the evidence is incomplete, impossible (more hits than
    draws, shares of alpha that exceed it, more draws than were made) or does not lead to the verdict stored in it.
    """
    if not isinstance(evidence, dict):
        raise InputError(f"evidence: an object is needed, not {type(evidence).__name__}; pass what audit --evidence wrote.")
    schema = _field(evidence, "schema", "schema")
    if schema != SCHEMA or isinstance(schema, bool):
        raise InputError(
            f"evidence: schema = {shown(schema)}: this version reads schema {SCHEMA}; use the version that wrote it."
        )
    samples = _count(evidence, "samples", "samples")
    claim = _claim(evidence)
    alpha = _probability(evidence, "alpha")
    searched, named = _searched(evidence, samples)
    drawn = _drawn(evidence, samples - searched)
    _mechanism(evidence)
    undecided = _optional_text(evidence, "undecided")
    tests = _field(evidence, "tests", "tests")
    if not isinstance(tests, list):
        raise InputError(f"evidence: tests is {type(tests).__name__}, and a list is needed; the file was edited or cut.")
    records = [_record(test, f"tests[{place}]", claim, drawn, searched, named) for place, test in enumerate(tests)]
    spent = sum(record.alpha for record in records if record.set_aside is None)
    if spent > alpha * (1 + CLOSE):
        raise InputError(f"evidence: the tests spend alpha = {spent:g} in all, and the audit had alpha = {alpha:g}.")
    found = findings(claim, records, undecided)
    for key, now in (("verdict", found.verdict), ("verdict_on_reals", found.verdict_on_reals)):
        stored = _field(evidence, key, key)
        if stored != now:
            raise InputError(
                f"evidence: {key} = {shown(stored)} is stored, and the counts say {str(now)!r}; the file was edited."
            )
    _same(evidence, "epsilon_lower", found.epsilon_lower, "epsilon_lower")
    detectable = found.detectable_epsilon
    _same(evidence, "detectable_epsilon", detectable if math.isfinite(detectable) else None, "detectable_epsilon")
    if "bounds" in evidence:  # evidence of earlier versions has none
        for name, bound in found.bounds.items():
            _same(evidence["bounds"], name, bound, f"bounds.{name}")
    notes = _field(evidence, "notes", "notes")
    return AuditResult(
        verdict=found.verdict,
        epsilon=found.epsilon,
        delta=found.delta,
        epsilon_lower=found.epsilon_lower,
        confidence=1 - alpha,
        witness=found.witness,
        detectable_epsilon=found.detectable_epsilon,
        samples=max(drawn) + searched,
        seconds=0.0,
        verdict_on_reals=found.verdict_on_reals,
        notes=tuple(map(str, notes)) if isinstance(notes, list) else (),
        evidence=evidence,
        bounds=found.bounds,
    )


def _claim(evidence: dict[str, Any]) -> Claim:
    """The claim as tested, which has to be at least what was claimed."""
    claimed, tested = _field(evidence, "claim", "claim"), _field(evidence, "tested", "tested")
    if isinstance(claimed, dict) and "notion" in claimed:
        return _curve_claim(evidence, claimed, tested)
    values = {}
    for key in ("epsilon", "delta"):
        exact = to_exact(_field(claimed, key, f"claim.{key}"), f"evidence: claim.{key}")
        value = _number(_field(tested, key, f"tested.{key}"), f"tested.{key}")
        if value != float_above(exact):
            raise InputError(
                f"evidence: tested.{key} = {shown(value)}, and the least double that is no less than the claim is another."
            )
        values[key] = value
    if values["epsilon"] < 0 or not 0 <= values["delta"] < 1:
        raise InputError(f"evidence: claim = {shown(claimed)}: epsilon >= 0 and 0 <= delta < 1 are needed.")
    design = _field(evidence, "design", "design")
    if design != "fixed" and not (design == "random-side" and values["delta"] == 0):
        raise InputError(
            f"evidence: design = {shown(design)}: it is 'fixed', or 'random-side' where delta = 0; "
            f"delta = {values['delta']:g} here."
        )
    return Claim(epsilon=values["epsilon"], delta=values["delta"], design=design)


def _curve_claim(evidence: dict[str, Any], claimed: dict[str, Any], tested: Any) -> Claim:
    """A claim that is a curve; `tested` is the point of the best test."""
    curve = curve_from_json(claimed)
    epsilon, delta = (_number(_field(tested, key, f"tested.{key}"), f"tested.{key}") for key in ("epsilon", "delta"))
    if not curve.allows(epsilon, delta):
        raise InputError(f"evidence: tested = {shown(tested)} is no point that the claim implies.")
    if (design := _field(evidence, "design", "design")) != "fixed":
        raise InputError(f"evidence: design = {shown(design)}: a curve is tested with 'fixed' numbers of draws.")
    return Claim(epsilon=epsilon, delta=delta, curve=curve)


def _mechanism(evidence: dict[str, Any]) -> None:
    """The name and the two inputs are what a reader is shown."""
    mechanism = _field(evidence, "mechanism", "mechanism")
    name, inputs = (_field(mechanism, key, f"mechanism.{key}") for key in ("name", "inputs"))
    if not isinstance(name, str):
        raise InputError(f"evidence: mechanism.name = {shown(name)}: text is needed.")
    if not isinstance(inputs, list) or len(inputs) != 2 or not all(isinstance(text, str) for text in inputs):
        raise InputError(f"evidence: mechanism.inputs = {shown(inputs)}: two texts are needed.")


def _searched(evidence: dict[str, Any], samples: int) -> tuple[int, Collection[str]]:
    """Outputs a side that were spent on choosing the pair of inputs, and the numbers of the datasets that are named."""
    if "search" not in evidence:
        return 0, ()
    spent = _count(evidence["search"], "outputs", "search.outputs")
    if spent > samples:
        raise InputError(f"evidence: search.outputs = {shown(spent)} exceeds samples = {samples}, the budget of either side.")
    named = _field(evidence["search"], "datasets", "search.datasets")
    if not isinstance(named, dict) or not all(isinstance(text, str) for text in named.values()):
        raise InputError(f"evidence: search.datasets = {shown(named)}: texts are needed, by the numbers of datasets.")
    return spent, named


def _record(test: Any, place: str, claim: Claim, drawn: tuple[int, int], searched: int, named: Collection[str]) -> Record:
    numbers = {key: _count(test, key, f"{place}.{key}") for key in ("hits", "draws", "other_hits", "other_draws")}
    stage = _count(test, "stage", f"{place}.stage")
    if stage == EARLIER:
        drawn = (2 * searched, 2 * searched)  # all outputs of the search, which may have been of any dataset
    likelier = _field(test, "likelier", f"{place}.likelier")
    if type(likelier) is not int or likelier not in (0, 1):
        raise InputError(f"evidence: {place}.likelier = {shown(likelier)}: it is 0 or 1, the number of an input.")
    for hits, draws, side in (("hits", "draws", likelier), ("other_hits", "other_draws", 1 - likelier)):
        if numbers[hits] > numbers[draws]:
            raise InputError(
                f"evidence: {place}.{hits} = {shown(numbers[hits])} exceeds {draws} = {shown(numbers[draws])}; "
                f"the file was edited."
            )
        if numbers[draws] > drawn[side]:
            raise InputError(
                f"evidence: {place}.{draws} = {shown(numbers[draws])}, and only {drawn[side]} outputs were drawn on that side."
            )
    alpha = _probability(test, "alpha", f"{place}.alpha")
    if claim.curve is not None:
        point = tuple(_number(_field(test, key, f"{place}.{key}"), f"{place}.{key}") for key in ("epsilon", "delta"))
        if not claim.curve.allows(point[0], point[1]):
            raise InputError(f"evidence: {place} tests {point}, which is no point that the claim implies.")
        claim = claim.at((point[0], point[1]))
    precise = _field(test, "precise", f"{place}.precise")
    if not isinstance(precise, bool):
        raise InputError(f"evidence: {place}.precise = {shown(precise)}: it is true or false.")
    counts = Counts(**numbers)
    listed = test.get("bets", [])
    if not isinstance(listed, list):
        raise InputError(f"evidence: {place}.bets = {shown(listed)}: a list is needed.")
    bets = tuple(_wager(bet, f"{place}.bets[{n}]", claim, drawn) for n, bet in enumerate(listed))
    if bets and counts not in [bet.counts for bet in bets]:
        raise InputError(f"evidence: {place} has counts that none of its bets has; the file was edited.")
    unknown = [number for bet in bets for number in bet.pair or () if str(number) not in named]
    if unknown:
        raise InputError(f"evidence: {place} bets on dataset {unknown[0]}, which search.datasets does not name.")
    rejects, bound = judged_bets(claim, bets, alpha) if bets else judged(claim, counts, alpha)
    stored = _field(test, "rejects", f"{place}.rejects")
    if stored is not rejects:
        raise InputError(
            f"evidence: {place}.rejects = {shown(stored)} is stored, and its counts say {rejects}; the file was edited."
        )
    _same(test, "epsilon_lower", bound, f"{place}.epsilon_lower")
    return Record(
        stage=stage,
        look=_count(test, "look", f"{place}.look"),
        event=event_from_json(_field(test, "event", f"{place}.event")),
        forward=likelier == 0,
        precise=precise,
        counts=counts,
        alpha=alpha,
        rejects=rejects,
        epsilon_lower=float(test["epsilon_lower"]),
        claim=claim,
        set_aside=_optional_text(test, "set_aside", f"{place}.set_aside"),
        bets=bets,
    )


def _wager(bet: Any, place: str, claim: Claim, drawn: tuple[int, int]) -> Wager:
    """One bet of several. Their shares are checked where their capital is computed."""
    pairs = _field(bet, "pairs", f"{place}.pairs")
    counts = PairCounts(**{key: _count(pairs, key, f"{place}.pairs.{key}") for key in ("both", "first", "second", "neither")})
    if sum((counts.both, counts.first, counts.second, counts.neither)) > min(drawn):
        raise InputError(f"evidence: {place} has more pairs than the {min(drawn)} outputs that were drawn on one side.")
    likelier = _field(bet, "likelier", f"{place}.likelier")
    if type(likelier) is not int or likelier not in (0, 1):
        raise InputError(f"evidence: {place}.likelier = {shown(likelier)}: it is 0 or 1, the number of an input.")
    epsilon, delta = (_number(_field(bet, key, f"{place}.{key}"), f"{place}.{key}") for key in ("epsilon", "delta"))
    if claim.curve is None and (epsilon, delta) != (claim.epsilon, claim.delta):
        raise InputError(f"evidence: {place} is held to ({epsilon}, {delta}), and the claim is another.")
    if claim.curve is not None and not claim.curve.allows(epsilon, delta):
        raise InputError(f"evidence: {place} tests {(epsilon, delta)}, which is no point that the claim implies.")
    datasets = bet.get("datasets")
    if datasets is not None and not (
        isinstance(datasets, list) and len(datasets) == 2 and all(type(number) is int for number in datasets)
    ):
        raise InputError(f"evidence: {place}.datasets = {shown(datasets)}: the numbers of two datasets are needed.")
    return Wager(
        event=event_from_json(_field(bet, "event", f"{place}.event")),
        forward=likelier == 0,
        share=_share(bet, f"{place}.share"),
        pairs=counts,
        claim=claim.at((epsilon, delta)) if claim.curve is not None else claim,
        pair=None if datasets is None else (datasets[0], datasets[1]),
    )


def _share(bet: Any, place: str) -> float:
    share = _number(_field(bet, "share", place), place)
    if not 0 < share <= 1:
        raise InputError(f"evidence: {place} = {shown(share)}: a share of the capital, above 0 and at most 1, is needed.")
    return share


def _field(data: Any, key: str, place: str) -> Any:
    if not isinstance(data, dict) or key not in data:
        raise InputError(f"evidence: {place} is missing; the file was cut or edited.")
    return data[key]


def _count(data: Any, key: str, place: str) -> int:
    value = _field(data, key, place)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InputError(f"evidence: {place} = {shown(value)}: a whole number that is not negative is needed.")
    return value


def _number(value: Any, place: str) -> float:
    try:
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    except OverflowError:  # an integer beyond the largest double
        pass
    raise InputError(f"evidence: {place} = {shown(value)}: a finite number is needed.")


def _probability(data: Any, key: str, place: str | None = None) -> float:
    value = _number(_field(data, key, place or key), place or key)
    if not 0 < value < 1:
        raise InputError(f"evidence: {place or key} = {shown(value)}: a probability strictly between 0 and 1 is needed.")
    return value


def _optional_text(data: Any, key: str, place: str | None = None) -> str | None:
    value = _field(data, key, place or key)
    if value is not None and not isinstance(value, str):
        raise InputError(f"evidence: {place or key} = {shown(value)}: text or null is needed.")
    return value


def _drawn(evidence: dict[str, Any], samples: int) -> tuple[int, int]:
    drawn = _field(evidence, "drawn", "drawn")
    if not isinstance(drawn, list) or len(drawn) != 2:
        raise InputError(f"evidence: drawn = {shown(drawn)}: two numbers are needed, outputs on either input.")
    both = {"drawn[0]": drawn[0], "drawn[1]": drawn[1]}
    first, second = (_count(both, key, key) for key in both)
    if max(first, second) > samples:
        raise InputError(f"evidence: drawn = {shown(drawn)} exceeds samples = {samples}, the budget of either side.")
    return first, second


def _same(data: Any, key: str, now: float | None, place: str) -> None:
    stored = _field(data, key, place)
    if stored is None or now is None:
        agree = stored is now
    else:
        agree = math.isclose(_number(stored, place), now, rel_tol=CLOSE, abs_tol=CLOSE)
    if not agree:
        raise InputError(f"evidence: {place} = {shown(stored)} is stored, and the counts say {now!r}; the file was edited.")
