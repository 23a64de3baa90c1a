"""From a claim to its outcome: audits, certified arithmetic, diagnoses. Seeds are fixed, alpha is 1e-6 or less."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dpverify as dv
from dpverify.errors import InputError, MechanismError, NotCovered, PrecisionError, UndecidedComparison
from dpverify.gate import effort
from dpverify.gate.checking import InvalidNeighbours, problems
from dpverify.gate.claims import AnalyticClaim, Place, SampledClaim, claims_of
from dpverify.gate.decide import decide
from dpverify.gate.files import file_name, saved
from dpverify.gate.outcome import RULES, Outcome, worst
from dpverify.gate.spending import alpha_of, random_seed, seconds_of, seed_from, seed_of
from dpverify.guarantees import Verdict
from dpverify.report.gate import claim_as_data, explanation, line, repeat_command, summary

if TYPE_CHECKING:
    from pathlib import Path


def coin(data: Any, rng: np.random.Generator, size: int) -> Any:
    return rng.random(size) < (0.75 if data else 0.25)


def sampled(mechanism: Any, epsilon: Any = 1, **options: Any) -> SampledClaim:
    return SampledClaim(
        **{"name": "it", "mechanism": mechanism, "inputs": (0, 1), "epsilon": epsilon, "samples": 20000, **options}
    )


def outcome_of(claim: Any, **options: Any) -> Outcome:
    return decide(claim, **{"alpha": 1e-6, "seed": 0, **options})


class TestDiagnosis:
    @pytest.mark.parametrize(
        ("rule", "mechanism"),
        [
            ("DP001", lambda data, rng, size: rng.geometric(0.9, size) - rng.geometric(0.9, size) + data),
            ("DP003", lambda data, rng, size: data + rng.laplace(0, 1, size)),
            ("DP004", lambda data, rng, size: np.where(rng.random(size) < 0.1, data, 7)),
            ("DP004", lambda data, rng, size: np.full(size, data)),
            ("DP006", lambda data, rng, size: data + np.random.default_rng(5).integers(0, 100, size)),
            ("DP006", lambda data, rng, size: np.repeat(rng.integers(0, 100, -(-size // 50)) + data, 50)[:size]),
        ],
        ids=["scale", "floats", "support", "constant", "fixed seed", "shared noise"],
    )
    def test_the_likely_cause_of_a_refutation(self, rule: str, mechanism: Any) -> None:
        outcome = outcome_of(sampled(mechanism))
        assert outcome.diagnosis is not None
        assert outcome.diagnosis.rule == rule
        assert outcome.exit_code != 0
        text = explanation(outcome)
        for part in ("  cause     probably: ", "  fix       ", f"  rule      {rule} {RULES[rule]}"):
            assert part in text
        assert "Likely cause" not in text  # it is said once

    def test_nothing_is_diagnosed_where_nothing_is_wrong(self) -> None:
        outcome = outcome_of(sampled(coin, 1.2))
        assert (outcome.diagnosis, outcome.exit_code) == (None, 0)
        assert "power " in explanation(outcome)

    def test_a_claim_with_delta_is_told_to_add_noise(self) -> None:
        outcome = outcome_of(sampled(coin, 0.5, delta="0.01"))
        assert outcome.diagnosis is not None
        assert outcome.diagnosis.fix.startswith("Add more noise")

    def test_a_changed_input_is_state(self) -> None:
        def greedy(data: list[int], rng: np.random.Generator) -> float:
            data.append(1)
            return float(rng.integers(0, 9))

        outcome = outcome_of(sampled(greedy, inputs=([0], [1])))
        assert outcome.diagnosis is not None
        assert outcome.diagnosis.rule == "DP006"
        assert isinstance(outcome.error, MechanismError)
        assert outcome.exit_code == 2

    def test_what_a_failing_mechanism_had_shown_is_kept(self) -> None:
        calls = []

        def fails_late(data: Any, rng: np.random.Generator, size: int) -> Any:
            calls.append(size)
            if len(calls) > 6:
                raise RuntimeError("out of noise")
            return coin(data, rng, size)

        outcome = outcome_of(sampled(fails_late, 0.5))
        assert outcome.verdict is None
        assert outcome.result is not None
        assert outcome.result.samples > 0
        assert "out of noise" in explanation(outcome)
        assert line(outcome).startswith("error        it: ")


class TestChecking:
    def test_all_that_is_wrong_is_found(self) -> None:
        claim = sampled(7, -1, delta=1, inputs=(1,), samples=5, outputs="x", timeout=-1, neighbours="near")
        found = [str(error) for error in problems(claim)]
        words = ["mechanism = 7", "epsilon = -1", "delta = 1", "inputs = (1,)", "samples = 5", "outputs = 'x'", "timeout = -1"]
        assert [
            text for text, word in zip(found, [*words, "neighbours = 'near'"], strict=True) if not text.startswith(word)
        ] == []
        assert outcome_of(claim).exit_code == 2

    @pytest.mark.parametrize(
        ("relation", "inputs", "fine"),
        [
            ("replace", ([1, 2], [2, 3]), True),
            ("replace", ([1, 2], [1, 2]), False),
            ("replace", ([1, 2], [1]), False),
            ("add or remove", ([1, 2], [2]), True),
            ("add or remove", ([2], np.array([2, 3])), True),
            ("add or remove", ([1, 2], [1, 3]), False),
        ],
    )
    def test_neighbours(self, relation: str, inputs: Any, fine: bool) -> None:
        claim = sampled(lambda data, rng, size: rng.random(size) < 0.5, inputs=[list(map(int, one)) for one in inputs])
        outcome = outcome_of(replace(claim, neighbours=relation))
        assert (outcome.verdict is Verdict.NOT_REFUTED) is fine
        if not fine:
            assert isinstance(outcome.error, InvalidNeighbours)
            assert outcome.diagnosis is not None
            assert outcome.diagnosis.rule == "DP005"

    def test_neighbours_of_what_holds_no_records(self) -> None:
        (error,) = problems(sampled(coin, neighbours="replace"))
        assert "leave neighbours out" in str(error)


class TestAnalytic:
    def claim(self, **changes: Any) -> AnalyticClaim:
        given = {"name": "noise", "mechanism": "gaussian", "parameters": {"sigma": "4.3"}, "epsilon": 1, "delta": "1e-6"}
        return AnalyticClaim(**{**given, **changes})  # type: ignore[arg-type]

    def test_enough_noise_is_proved(self) -> None:
        outcome = outcome_of(self.claim())
        assert (outcome.verdict, outcome.exit_code, outcome.alpha) == (Verdict.PROVED, 0, 0.0)
        assert "proved: noise satisfies epsilon = 1, delta = 1e-6." in explanation(outcome)

    def test_too_little_is_refuted_with_the_least_scale(self) -> None:
        outcome = outcome_of(self.claim(parameters={"sigma": "4.2"}))
        assert (outcome.verdict, outcome.exit_code) == (Verdict.REFUTED, 1)
        assert outcome.diagnosis is not None
        assert outcome.diagnosis.rule == "DP002"
        least = dv.Gaussian.calibrate(epsilon=1, delta="1e-6").sigma
        assert f"Use sigma = {least!r}" in outcome.diagnosis.fix
        assert "no sample and no chance" in explanation(outcome)

    def test_the_least_double_is_told_from_the_one_below(self) -> None:
        least = dv.Gaussian.calibrate(epsilon=1, delta="1e-6").sigma
        assert outcome_of(self.claim(parameters={"sigma": least})).verdict is Verdict.PROVED
        assert outcome_of(self.claim(parameters={"sigma": float(np.nextafter(least, 0))})).verdict is Verdict.REFUTED

    def test_a_pure_claim(self) -> None:
        laplace = self.claim(mechanism="laplace", parameters={"scale": 1, "sensitivity": 2}, delta=0)
        assert outcome_of(laplace).verdict is Verdict.REFUTED
        assert outcome_of(replace(laplace, epsilon=2)).verdict is Verdict.PROVED

    def test_no_scale_will_do(self) -> None:
        outcome = outcome_of(self.claim(delta=0))
        assert outcome.verdict is Verdict.REFUTED
        assert outcome.diagnosis is not None
        assert "No sigma is known" in outcome.diagnosis.fix

    @pytest.mark.parametrize(
        ("error", "verdict", "code"),
        [(PrecisionError("too near", reached=3), Verdict.UNDECIDED, 3), (NotCovered("no route"), None, 2)],
    )
    def test_what_the_catalogue_cannot_tell(self, monkeypatch: pytest.MonkeyPatch, error: Any, verdict: Any, code: int) -> None:
        def refuse(*arguments: Any, **options: Any) -> Any:
            raise error

        monkeypatch.setattr(dv.Gaussian, "delta", refuse)
        outcome = outcome_of(self.claim())
        assert (outcome.verdict, outcome.exit_code) == (verdict, code)
        assert str(error) in explanation(outcome)
        assert str(error) in line(outcome)

    def test_an_order_that_stays_open_is_undecided(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Wide:
            def __le__(self, other: Any) -> bool:
                raise UndecidedComparison("they overlap")

            def bounds(self, digits: int) -> tuple[str, str]:
                return "0", "1"

        monkeypatch.setattr(dv.Gaussian, "delta", lambda *arguments, **options: Wide())
        outcome = outcome_of(self.claim())
        assert (outcome.verdict, outcome.exit_code) == (Verdict.UNDECIDED, 3)
        assert "The precision that was reached does not decide." in explanation(outcome)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"mechanism": "gausian"}, "did you mean gaussian"),
            ({"parameters": {"sigma": 1, "width": 3}}, "width"),
            ({"parameters": {"sigma": "wide"}}, "'wide'"),
            ({"epsilon": -1}, "epsilon = -1"),
        ],
    )
    def test_what_cannot_be_decided_is_an_error(self, changes: dict[str, Any], message: str) -> None:
        outcome = outcome_of(self.claim(**changes))
        assert (outcome.verdict, outcome.exit_code) == (None, 2)
        assert message in str(outcome.error)
        assert message in explanation(outcome)


class TestEffort:
    def test_the_parts_of_alpha_add_up_to_it(self) -> None:
        assert sum(part for _, part in effort.LADDER) + effort.LAST == pytest.approx(1)

    def test_a_limit_of_time_still_refutes(self) -> None:
        outcome = outcome_of(sampled(coin, 0.1, samples=10**9), seconds=60)
        assert outcome.verdict is Verdict.REFUTED

    def test_without_time_the_first_audit_still_speaks(self) -> None:
        outcome = outcome_of(sampled(coin, 1.2, samples=10**9), seconds=0.0)
        assert outcome.verdict in (Verdict.NOT_REFUTED, Verdict.UNDECIDED)

    def test_a_slow_mechanism_is_broken_off(self) -> None:
        import time

        def slow(data: Any, rng: np.random.Generator) -> Any:
            time.sleep(0.01)
            return rng.random() < 0.5

        outcome = outcome_of(sampled(slow, samples=10**6), seconds=0.1)
        assert outcome.verdict in (Verdict.NOT_REFUTED, Verdict.UNDECIDED)

    def test_a_claim_far_from_its_bound_weighs_less(self) -> None:
        def weight(epsilon: Any, **options: Any) -> float:
            timed = effort.Timed(sampled(coin, epsilon, **options), alpha=1e-6, seed=0)
            assert timed.weight == 0
            timed.short(30.0)
            return timed.weight

        assert effort.LEAST_WEIGHT == weight(20) < weight(3) < weight(1.2) <= 1
        assert weight(3, delta="1e-3") == 1
        assert weight(0.5) == 0  # refuted already

    def test_the_long_audit_has_fresh_outputs(self) -> None:
        timed = effort.Timed(sampled(coin, 1.2, samples=40_000), alpha=1e-6, seed=0)
        timed.short(30.0)
        before = timed.result
        timed.long(30.0)
        assert before is not None
        assert timed.result is not None
        assert timed.result.evidence["seed"] != before.evidence["seed"]
        assert timed.result.evidence["samples"] > before.evidence["samples"]

    @pytest.mark.parametrize("late", [False, True])
    def test_a_mechanism_that_raises_is_an_error_under_a_limit_too(self, late: bool) -> None:
        calls = []

        def fails(data: Any, rng: np.random.Generator, size: int) -> Any:
            calls.append(size)
            if not late or sum(calls) > 3000:
                raise RuntimeError("out of noise")
            return rng.random(size) < 0.5

        outcome = outcome_of(sampled(fails), seconds=60)
        assert (outcome.verdict, outcome.exit_code) == (None, 2)
        assert "out of noise" in str(outcome.error)

    def test_few_samples_take_one_audit(self) -> None:
        result = outcome_of(sampled(coin, 1.2, samples=300), seconds=60).result
        assert result is not None
        assert result.evidence["samples"] == 300


class TestAssertions:
    def test_what_cannot_be_checked_raises_its_error(self) -> None:
        with pytest.raises(InputError, match="epsilon = -1"):
            dv.assert_private(coin, inputs=(0, 1), epsilon=-1)
        with pytest.raises(dv.PrivacyViolation, match="refuted: coin does not satisfy") as raised:
            dv.assert_private(coin, inputs=(0, 1), epsilon="1/2", samples=5000, name="coin")
        assert raised.value.outcome.verdict is Verdict.REFUTED


class TestWords:
    @pytest.mark.parametrize(("words", "seconds"), [("90", 90), ("90s", 90), ("1.5 m", 90), ("2h", 7200), (".5", 0.5)])
    def test_times(self, words: str, seconds: float) -> None:
        assert seconds_of(words, "budget") == seconds

    @pytest.mark.parametrize("read", [seconds_of, alpha_of, seed_from])
    @pytest.mark.parametrize("words", ["", "soon", "-1", "1e9x", "nan"])
    def test_nonsense(self, read: Any, words: str) -> None:
        with pytest.raises(InputError, match="here = "):
            read(words, "here")

    def test_seeds(self) -> None:
        assert seed_from("12", "seed") == 12
        assert seed_from("random", "seed") != seed_from("random", "seed") or random_seed() != random_seed()
        assert seed_of(0, "a") != seed_of(0, "b") != seed_of(1, "b")

    def test_the_order_of_exit_codes(self) -> None:
        assert [worst(codes) for codes in ([], [0, 3], [3, 2, 0], [2, 1, 3], [1, 4, 2])] == [0, 3, 2, 1, 4]

    def test_a_summary(self) -> None:
        good, bad = outcome_of(sampled(coin, 1.2)), outcome_of(sampled(coin, -1))
        assert summary([good, bad, good]) == "3 claims: 2 not refuted, 1 error"
        assert summary([]) == "0 claims"
        assert summary([bad]) == "1 claim: 1 error"


class TestFiles:
    def test_names_of_files_tell_claims_apart(self) -> None:
        assert file_name("a/b") != file_name("a:b")
        assert "/" not in file_name("../a/b")

    def test_evidence_can_be_rechecked(self, tmp_path: Path) -> None:
        outcome = saved(outcome_of(sampled(coin, 0.5)), tmp_path / "deep")
        assert outcome.evidence is not None
        assert dv.recheck(json.loads((tmp_path / "deep" / file_name("it")).read_text())).verdict is Verdict.REFUTED
        assert saved(outcome_of(sampled(coin, -1)), tmp_path).evidence is None

    def test_the_repeat_command_is_left_out_where_it_cannot_be_written(self) -> None:
        def command(**options: Any) -> str | None:
            return repeat_command(outcome_of(sampled(coin, 0.5, **options)))

        assert command() is None
        assert command(target="module:coin", outputs="reals", delta="1e-3") == (
            "dpverify audit module:coin --epsilon 1/2 --delta 1/1000 --inputs 0 1 --samples 20000 --alpha 1e-06 --seed 0"
            " --outputs reals"
        )
        assert command(target="module:coin", inputs=(np.zeros(2), 1)) is None
        assert command(target="module:coin", inputs=(object(), 1)) is None


class TestDecorator:
    def test_claims_are_noted_and_read(self) -> None:
        @dv.claim(epsilon=2, inputs=(0, 1))
        @dv.claim(epsilon=1, inputs=(0, 1), delta="1e-6", name="other")
        def mechanism(data: Any, rng: Any) -> float:
            return 0.0

        first, second = claims_of(mechanism)
        assert (first.name, first.epsilon, second.name, second.delta) == ("mechanism", 2, "other", "1e-6")
        assert first.target is None  # a name inside a function cannot be imported
        assert isinstance(first.place, Place)
        assert str(first.place).startswith(__file__)

    def test_what_cannot_be_decorated(self) -> None:
        with pytest.raises(dv.InputError, match="wrap it in a function"):
            dv.claim(epsilon=1, inputs=(0, 1))(len)

    def test_strangers_have_no_claims(self) -> None:
        class Strange:
            def __getattr__(self, name: str) -> Any:
                raise RuntimeError(name)

        assert claims_of(Strange()) == claims_of(3) == ()


def test_data_of_an_outcome() -> None:
    data = claim_as_data(outcome_of(sampled(coin, 0.5, place=Place(file="a.py", line=3))))
    assert (data["verdict"], data["file"], data["line"], data["kind"]) == ("refuted", "a.py", 3, "sampled")
    assert json.loads(json.dumps(data)) == data
