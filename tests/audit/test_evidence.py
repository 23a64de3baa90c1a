"""Evidence leads to its verdict without sampling, and evidence that was changed does not pass."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from dpverify.audit.api import audit
from dpverify.audit.events import _FAMILIES, event_from_json
from dpverify.audit.evidence import recheck
from dpverify.errors import InputError
from dpverify.guarantees import GaussianDP, Verdict


def leaky(data, rng, size):
    return data + rng.geometric(0.9, size) - rng.geometric(0.9, size)


def floats(data, rng, size):
    return data + rng.laplace(0, 1, size)


def saved(mechanism: Any, **options: Any) -> dict[str, Any]:
    result = audit(mechanism, inputs=(0, 1), samples=4_000, **options)
    evidence: dict[str, Any] = json.loads(json.dumps(result.evidence))
    return evidence


REFUTED = saved(leaky, epsilon=1, stop_early=False)
REFUTED_BY_BETS = saved(leaky, epsilon=1)
NOT_REFUTED = saved(leaky, epsilon=5, delta="1e-3")
LEAKING_BITS = saved(floats, epsilon="1")
SHARED = saved(lambda data, rng, size: np.full(size, data + rng.geometric(0.5)), epsilon=8)


@pytest.mark.parametrize(
    ("evidence", "verdict", "on_reals"),
    [
        (REFUTED, Verdict.REFUTED, Verdict.REFUTED),
        (REFUTED_BY_BETS, Verdict.REFUTED, Verdict.REFUTED),
        (NOT_REFUTED, Verdict.NOT_REFUTED, Verdict.NOT_REFUTED),
        (LEAKING_BITS, Verdict.REFUTED, Verdict.NOT_REFUTED),
    ],
)
def test_the_verdict_follows_from_the_evidence(evidence: dict[str, Any], verdict: Verdict, on_reals: Verdict) -> None:
    result = recheck(copy.deepcopy(evidence))
    assert (result.verdict, result.verdict_on_reals) == (verdict, on_reals)
    assert result.evidence == evidence
    assert result.seconds == 0
    assert result.epsilon_lower == evidence["epsilon_lower"]
    assert (result.witness is None) == (verdict is Verdict.NOT_REFUTED)


def test_recheck_says_what_audit_said() -> None:
    result = audit(leaky, inputs=(0, 1), epsilon=1, samples=4_000)
    again = recheck(result.evidence)
    for name in (
        "verdict",
        "epsilon",
        "delta",
        "epsilon_lower",
        "confidence",
        "witness",
        "detectable_epsilon",
        "samples",
        "notes",
    ):
        assert getattr(again, name) == getattr(result, name)


def put(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(evidence: dict[str, Any]) -> None:
        for step in path[:-1]:
            evidence = evidence[step]
        evidence[path[-1]] = value

    return change


def more_hits(evidence: dict[str, Any]) -> None:
    evidence["tests"][0]["hits"] = evidence["tests"][0]["draws"] + 1


def fewer_hits(evidence: dict[str, Any]) -> None:
    max(evidence["tests"], key=lambda test: test["hits"])["hits"] //= 2


def no_rejection(evidence: dict[str, Any]) -> None:
    for test in evidence["tests"]:
        test["rejects"] = not test["rejects"]


def set_all_aside(evidence: dict[str, Any]) -> None:
    for test in evidence["tests"]:
        test["set_aside"] = "no reason"


def without(*path: str) -> Callable[[dict[str, Any]], None]:
    def change(evidence: dict[str, Any]) -> None:
        for step in path[:-1]:
            evidence = evidence[step]
        del evidence[path[-1]]

    return change


def one_test_less(key: str) -> Callable[[dict[str, Any]], None]:
    return lambda evidence: evidence["tests"][0].pop(key)


TAMPERED: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (put("schema", value=2), "schema = 2: this version reads schema 1"),
    (put("schema", value=True), "schema = True"),
    (without("schema"), "schema is missing"),
    (without("claim"), "claim is missing"),
    (put("claim", value=3), "claim.epsilon is missing"),
    (put("claim", "epsilon", value="-1"), "tested.epsilon = 1.0, and the least double"),
    (put("claim", "epsilon", value="2"), "tested.epsilon = 1.0"),
    (put("claim", "delta", value="x"), "evidence: claim.delta = 'x'"),
    (put("tested", "epsilon", value=math.inf), "tested.epsilon = inf: a finite number"),
    (put("tested", "epsilon", value=True), "tested.epsilon = True"),
    (put("design", value="paired"), "design = 'paired': it is 'fixed', or 'random-side' where delta = 0"),
    (put("alpha", value=0), "alpha = 0.0: a probability strictly between 0 and 1"),
    (put("alpha", value=1.5), "alpha = 1.5"),
    (put("alpha", value="small"), "alpha = 'small': a finite number"),
    (put("alpha", value=1e-9), "the tests spend alpha = .* in all, and the audit had alpha = 1e-09"),
    (put("samples", value=-5), "samples = -5: a whole number"),
    (put("samples", value=10), r"drawn = \[.*\] exceeds samples = 10"),
    (put("drawn", value=[1]), r"drawn = \[1\]: two numbers are needed"),
    (put("drawn", value=[10, 10]), r"tests\[0\].draws = \d+, and only 10 outputs were drawn on that side"),
    (put("drawn", value=[1.5, 3]), r"drawn\[0\] = 1.5: a whole number"),
    (put("mechanism", value="f"), "mechanism.name is missing"),
    (put("mechanism", "name", value=3), "mechanism.name = 3: text"),
    (put("mechanism", "inputs", value=["0"]), "mechanism.inputs = .*: two texts"),
    (put("tests", value={}), "tests is dict, and a list is needed"),
    (put("tests", value=[]), "verdict = 'refuted' is stored, and the counts say 'undecided'"),
    (put("tests", value=[3]), r"tests\[0\].hits is missing"),
    (more_hits, r"tests\[0\].hits = \d+ exceeds draws = \d+"),
    (fewer_hits, r"tests\[\d+\].(rejects|epsilon_lower) = .* is stored, and"),
    (no_rejection, r"tests\[0\].rejects = .* is stored, and its counts say"),
    (put("tests", 0, "hits", value=1.5), r"tests\[0\].hits = 1.5: a whole number"),
    (put("tests", 0, "hits", value=True), r"tests\[0\].hits = True: a whole number"),
    (put("tests", 0, "likelier", value=2), r"tests\[0\].likelier = 2: it is 0 or 1"),
    (put("tests", 0, "alpha", value=0.0), r"tests\[0\].alpha = 0.0: a probability"),
    (put("tests", 0, "precise", value="no"), r"tests\[0\].precise = 'no': it is true or false"),
    (put("tests", 0, "set_aside", value=1), r"tests\[0\].set_aside = 1: text or null"),
    (put("tests", 0, "epsilon_lower", value=9.0), r"tests\[0\].epsilon_lower = 9.0 is stored"),
    (put("tests", 0, "epsilon_lower", value=None), r"tests\[0\].epsilon_lower = None is stored"),
    (put("tests", 0, "event", value={}), "describes no event"),
    (one_test_less("event"), r"tests\[0\].event is missing"),
    (one_test_less("other_draws"), r"tests\[0\].other_draws is missing"),
    (set_all_aside, "verdict = 'refuted' is stored, and the counts say 'undecided'"),
    (put("undecided", value=3), "undecided = 3: text or null"),
    (put("verdict", value="not refuted"), "verdict = 'not refuted' is stored, and the counts say 'refuted'"),
    (put("verdict_on_reals", value="not refuted"), "verdict_on_reals = 'not refuted' is stored"),
    (put("epsilon_lower", value=0.5), "epsilon_lower = 0.5 is stored"),
    (put("detectable_epsilon", value=1.0001), "detectable_epsilon = 1.0001 is stored"),
    (without("detectable_epsilon"), "detectable_epsilon is missing"),
    (without("notes"), "notes is missing"),
    (put("tests", 0, "likelier", value=1.0), r"tests\[0\].likelier = 1.0: it is 0 or 1"),
    (put("tested", "epsilon", value=10**400), "tested.epsilon = 10+ .* 0+ .*: a finite number"),
    (put("detectable_epsilon", value=10**400), "detectable_epsilon = .*: a finite number"),
    (put("schema", value="9" * 5000), "schema = '9+ .* characters.: this version"),
]


BET = "tests", 0, "bets", 0
TAMPERED_BETS: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (put(*BET, value=3), r"tests\[0\].bets\[0\].pairs is missing"),
    (put(*BET, "pairs", "first", value=-1), r"tests\[0\].bets\[0\].pairs.first = -1: a whole number"),
    (put(*BET, "pairs", "first", value=10**6), r"tests\[0\].bets\[0\] has more pairs than the \d+ outputs"),
    (put("tests", 0, "hits", value=1), r"tests\[0\] has counts that none of its bets has"),
    (put(*BET, "likelier", value=2), r"tests\[0\].bets\[0\].likelier = 2"),
    (put(*BET, "epsilon", value=0.5), r"tests\[0\].bets\[0\] is held to \(0.5, 0.0\), and the claim is another"),
    (put(*BET, "share", value=1.5), r"tests\[0\].bets\[0\].share = 1.5: a share of the capital"),
    (put(*BET, "share", value=1e-9), r"tests\[0\].(rejects|epsilon_lower) = .* is stored, and"),
    (put(*BET, "event", value={}), "describes no event"),
    (put("tests", 0, "bets", value=3), r"tests\[0\].bets = 3: a list"),
]


@pytest.mark.parametrize(("change", "said"), TAMPERED_BETS)
def test_bets_that_were_changed_are_refused_by_field(change: Callable[[dict[str, Any]], Any], said: str) -> None:
    evidence = copy.deepcopy(REFUTED_BY_BETS)
    assert evidence["tests"][0]["bets"]
    change(evidence)
    with pytest.raises(InputError, match=said):
        recheck(evidence)


@pytest.mark.parametrize(("change", "said"), TAMPERED)
def test_evidence_that_was_changed_is_refused_by_field(change: Callable[[dict[str, Any]], Any], said: str) -> None:
    evidence = copy.deepcopy(REFUTED)
    change(evidence)
    with pytest.raises(InputError, match=said):
        recheck(evidence)


@pytest.mark.parametrize("evidence", [None, [], "text", 3])
def test_what_is_no_evidence_is_refused(evidence: Any) -> None:
    with pytest.raises(InputError, match="an object is needed"):
        recheck(evidence)


def test_a_claim_that_is_impossible_is_refused() -> None:
    evidence = copy.deepcopy(REFUTED)
    evidence["claim"]["delta"], evidence["tested"]["delta"] = "2", 2.0
    with pytest.raises(InputError, match="0 <= delta < 1 are needed"):
        recheck(evidence)


def test_tests_that_were_set_aside_do_not_count() -> None:
    assert recheck(SHARED).verdict is Verdict(SHARED["verdict"])
    evidence = copy.deepcopy(REFUTED)
    set_all_aside(evidence)
    evidence |= {"verdict": "undecided", "verdict_on_reals": "undecided", "epsilon_lower": 0.0, "detectable_epsilon": None}
    assert recheck(evidence).verdict is Verdict.UNDECIDED


def test_evidence_holds_no_timing_and_names_its_versions() -> None:
    assert "seconds" not in json.dumps(REFUTED)
    assert set(REFUTED["versions"]) == {"dpverify", "numpy", "python"}
    assert REFUTED["seed"] == 0
    assert REFUTED["mechanism"] == {"name": "leaky", "form": "f(data, rng, size)", "inputs": ["0", "1"]}


EVENTS = [
    {"family": "within", "of": {"scalar": "coordinate", "path": [0]}, "low": 0.5, "high": None, "inside": True},
    {"family": "lattice", "path": [], "exponent": -53, "below": 0, "on": False},
    {"family": "one of", "path": None, "codes": ["000000000000000f"], "examples": ["x"]},
    {"family": "equal", "first": [0], "second": ["b", 1], "negated": False},
    {"family": "kind", "path": [0], "kind": "nan", "negated": True},
]
STRANGE = [None, True, -1, 0.5, math.inf, math.nan, 10**400, "", "x", [], [None], [0.5], {}]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event["family"])
def test_an_event_is_read_as_it_was_written_or_not_at_all(event: dict[str, Any]) -> None:
    assert event_from_json(event).to_json() == event
    both = {"family": "both", "first": event, "second": EVENTS[0]}
    assert event_from_json(both).to_json() == both
    for key in event:
        for value in STRANGE:
            changed = {**event, key: value}
            try:
                read = event_from_json(changed)
            except InputError:
                continue
            again = read.to_json()
            assert again == changed
            assert isinstance(again[key], bool) == isinstance(value, bool)


class TestSchema:
    @pytest.fixture
    def validator(self, root: Path) -> jsonschema.Draft202012Validator:
        schema = json.loads((root / "dpverify" / "audit" / "evidence.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        return jsonschema.Draft202012Validator(schema)

    @pytest.mark.parametrize("evidence", [REFUTED, NOT_REFUTED, LEAKING_BITS, SHARED])
    def test_evidence_follows_it(self, validator: jsonschema.Draft202012Validator, evidence: dict[str, Any]) -> None:
        validator.validate(evidence)

    @pytest.mark.parametrize("claim", [GaussianDP(mu=1), [(1, "1e-2"), (2, "1e-4")]], ids=["parameter", "points"])
    def test_so_does_evidence_about_a_curve(self, validator: jsonschema.Draft202012Validator, claim: Any) -> None:
        validator.validate(saved(leaky, claim=claim))

    def test_and_the_shipped_one(self, validator: jsonschema.Draft202012Validator, root: Path) -> None:
        validator.validate(json.loads((root / "examples" / "leaky_count_evidence.json").read_text()))

    @pytest.mark.parametrize(
        "change", [put("verdict", value="proved"), put("tests", 0, "hits", value=-1), without("claim", "delta")]
    )
    def test_what_does_not_is_noticed(
        self, validator: jsonschema.Draft202012Validator, change: Callable[[dict[str, Any]], None]
    ) -> None:
        evidence = copy.deepcopy(REFUTED)
        change(evidence)
        assert not validator.is_valid(evidence)

    def test_it_names_every_family_of_events(self, root: Path) -> None:
        schema = json.loads((root / "dpverify" / "audit" / "evidence.schema.json").read_text())
        assert set(schema["$defs"]["event"]["properties"]["family"]["enum"]) == {*_FAMILIES, "both"}
