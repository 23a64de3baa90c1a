"""What `audit` promises: its inputs, its budget, its seed, its words."""

from __future__ import annotations

import functools
import json
import math
import random
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpverify
import dpverify.audit.records
from dpverify.audit import plan, progress
from dpverify.audit.api import audit
from dpverify.audit.engine import trials_within
from dpverify.audit.search import pick
from dpverify.errors import InputError
from dpverify.guarantees import Verdict

RATIO = math.exp(-1)


def sound(data, rng, size):
    return data + rng.geometric(1 - RATIO, size) - rng.geometric(1 - RATIO, size)


def leaky(data, rng, size):
    return data + rng.geometric(0.9, size) - rng.geometric(0.9, size)


@pytest.mark.parametrize("spelling", ["dpverify.audit", "dpverify.audit.api.audit"])
def test_the_function_is_reached_by_either_name(spelling: str) -> None:
    """Importing a part of the package binds `dpverify.audit` to the package, which can therefore be called."""
    assert isinstance(sys.modules["dpverify.audit"], type(dpverify)) or callable(sys.modules["dpverify.audit"])
    function = sys.modules["dpverify.audit"] if spelling == "dpverify.audit" else audit
    assert function(sound, inputs=(0, 1), epsilon=2, samples=200).verdict is Verdict.NOT_REFUTED  # type: ignore[operator]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epsilon": -1}, "epsilon = -1: a claim needs epsilon >= 0"),
        ({"epsilon": "nan"}, "epsilon = 'nan'"),
        ({"epsilon": math.inf}, "epsilon = inf: it must be a finite number"),
        ({"epsilon": "1e301"}, "epsilon = 1e301: a claim this weak"),
        ({"delta": 1}, "delta = 1: a claim needs 0 <= delta < 1"),
        ({"delta": -0.1}, "delta = -0.1"),
        ({"delta": "0." + 30 * "9"}, "no double lies between it and 1"),
        ({"alpha": 0}, r"alpha = 0: the probability of refuting a true claim lies in \(0, 1\)"),
        ({"alpha": 1}, "alpha = 1"),
        ({"alpha": "1e-200"}, "alpha = 1e-200"),
        ({"samples": 99}, "samples = 99: 100 or more is needed"),
        ({"samples": 1e6}, "samples = 1000000.0: a whole number is needed"),
        ({"samples": True}, "samples = True: a whole number"),
        ({"samples": 10**13}, "samples = 10000000000000: 100 or more is needed, and at most"),
        ({"seed": -1}, "seed = -1: 0 or more is needed"),
        ({"seed": "1"}, "seed = '1': a whole number is needed"),
        ({"outputs": "floats"}, "outputs = 'floats': write 'bits'"),
        ({"inputs": (1, 2, 3)}, r"inputs: a pair \(d1, d2\).* not 3 of them"),
        ({"inputs": 5}, "not int"),
        ({"inputs": (iter([1]), [1])}, r"inputs\[0\] is a list_iterator, which the first call would use up"),
        ({"timeout": 0}, "timeout = 0: seconds that one call may take"),
        ({"timeout": "1"}, "timeout = '1'"),
    ],
)
def test_a_request_that_cannot_be_used_is_refused_before_anything_is_drawn(options: dict[str, Any], said: str) -> None:
    def never(data, rng, size):
        raise AssertionError("drawn")

    with pytest.raises(InputError, match=said):
        audit(never, **{"inputs": (0, 1), "epsilon": 1, **options})


@pytest.mark.parametrize(
    ("epsilon", "delta", "least"),
    [("0.1", 0, 0.1), (Fraction(1, 3), "1e-5", math.nextafter(1 / 3, 1)), (0.1, 0.5, 0.1), (0, 0, 0.0)],
)
def test_a_claim_is_tested_at_doubles_that_are_no_smaller(epsilon: Any, delta: Any, least: float) -> None:
    result = audit(sound, inputs=(0, 0), epsilon=epsilon, delta=delta, samples=100)
    assert result.epsilon == least
    assert Fraction(result.epsilon) >= Fraction(epsilon)
    assert Fraction(result.delta) >= Fraction(delta)
    assert result.evidence["tested"] == {"epsilon": result.epsilon, "delta": result.delta}


@pytest.mark.parametrize("delta", [0, 1e-3])
@pytest.mark.parametrize("samples", [100, 101, 999, 20_000, 60_000, 123_457])
def test_the_budget_is_never_exceeded_and_a_good_mechanism_costs_most_of_it(samples: int, delta: float) -> None:
    drawn = {0: 0, 1: 0}

    def counting(data, rng, size):
        drawn[data] += size
        return sound(data, rng, size)

    result = audit(counting, inputs=(0, 1), epsilon=2, delta=delta, samples=samples, alpha=1e-7)
    assert max(drawn.values()) == result.samples <= samples
    assert result.evidence["drawn"] == [drawn[0], drawn[1]]
    assert result.samples >= (0.94 if samples > 5_000 else 0.55) * samples
    assert result.verdict is Verdict.NOT_REFUTED


def test_a_blatant_violation_stops_at_once() -> None:
    result = audit(leaky, inputs=(0, 1), epsilon=1, samples=10**6)
    assert result.verdict is Verdict.REFUTED
    assert result.samples < 20_000


def test_one_at_a_time_forms_give_the_same_verdicts() -> None:
    def drawn(data, rng):
        return int(leaky(data, rng, 1)[0])

    def plain(data):
        return data + np.random.geometric(0.9) - np.random.geometric(0.9)

    def python(data):
        return data if random.random() < 0.9 else 1 - data

    for mechanism in (drawn, plain, python, functools.partial(leaky, size=1)):
        assert audit(mechanism, inputs=(0, 1), epsilon=1, samples=2_000, alpha=1e-6).verdict is Verdict.REFUTED


@pytest.mark.parametrize("mechanism", [sound, leaky, lambda data: data + np.random.normal()])
@pytest.mark.parametrize("outputs", ["bits", "reals"])
def test_the_same_seed_gives_the_same_bytes(mechanism: Any, outputs: Any) -> None:
    first, second, other = (
        json.dumps(audit(mechanism, inputs=(0, 1), epsilon=1, samples=3_000, seed=seed, outputs=outputs).evidence)
        for seed in (4, 4, 5)
    )
    assert first == second != other


def test_a_refutation_says_what_where_and_how_often() -> None:
    result = audit(leaky, inputs=(0, 1), epsilon=1, samples=10_000, alpha="1e-4")
    witness = result.witness
    assert witness is not None
    assert result.confidence == 1 - 1e-4
    assert result.epsilon_lower > 1
    assert result.epsilon_lower >= witness.epsilon_lower
    data = json.loads(json.dumps(witness.to_json()))
    assert data["sentence"] == str(witness)
    assert f"{witness.hits:,} of {witness.draws:,} outputs on inputs[{witness.likelier}]" in str(witness)
    assert witness.description in str(witness)


def test_what_is_not_refuted_states_what_would_have_been() -> None:
    result = audit(sound, inputs=(0, 1), epsilon=1, samples=20_000, alpha=1e-7)
    assert result.witness is None
    assert 1 < result.detectable_epsilon < 1.5
    assert 0.8 < result.epsilon_lower < 1


def test_outputs_that_suggest_no_event_are_counted_all_the_same() -> None:
    def unique(data, rng):
        return f"{rng.integers(2**62):019d}"

    result = audit(unique, inputs=(0, 1), epsilon=1, samples=400)
    assert result.verdict is Verdict.NOT_REFUTED
    assert result.evidence["tests"]
    assert math.isinf(result.detectable_epsilon)
    assert result.evidence["detectable_epsilon"] is None


class TestBitsAndReals:
    @staticmethod
    def floats(data, rng, size):
        """Sound on the reals; for input 1 all outputs are multiples of 2^-53, for input 0 many are not."""
        return data + rng.laplace(0, 1, size)

    @pytest.mark.parametrize("samples", [10_000, 100_000])
    def test_floats_that_leak_are_told_apart_from_noise_that_is_wrong(self, samples: int) -> None:
        result = audit(self.floats, inputs=(0.0, 1.0), epsilon=1, samples=samples, alpha=1e-7)
        assert result.verdict is Verdict.REFUTED
        assert result.verdict_on_reals is Verdict.NOT_REFUTED
        assert result.witness is not None
        assert result.witness.precise
        assert "the scale of the noise may well be right, its floats leak" in str(result.witness)

    def test_reals_hide_the_bits(self) -> None:
        result = audit(self.floats, inputs=(0.0, 1.0), epsilon=1, samples=20_000, alpha=1e-7, outputs="reals")
        assert result.verdict is result.verdict_on_reals is Verdict.NOT_REFUTED
        assert not any(test["precise"] for test in result.evidence["tests"])

    def test_noise_that_is_wrong_is_refuted_on_the_reals_too(self) -> None:
        def wrong(data, rng, size):
            return data + rng.laplace(0, 0.4, size)

        result = audit(wrong, inputs=(0.0, 1.0), epsilon=1, samples=10_000, alpha=1e-7)
        assert result.verdict is result.verdict_on_reals is Verdict.REFUTED

    def test_an_exact_value_that_rounding_hides_is_seen_in_the_bits(self) -> None:
        """Exactly 1/3 on one input, next to it on the other."""

        def almost(data, rng, size):
            return np.where(rng.random(size) < 0.5, rng.normal(size=size), 1 / 3 + data * 2**-50)

        result = audit(almost, inputs=(0, 1), epsilon=1, samples=10_000, alpha=1e-7)
        assert result.verdict is Verdict.REFUTED
        assert result.verdict_on_reals is Verdict.NOT_REFUTED

    def test_whole_numbers_stay_whole_on_the_reals(self) -> None:
        """Parity is no low-order bit, however wide the spread."""

        def parity(data, rng, size):
            return 2.0 * rng.integers(0, 10**9, size) + data

        result = audit(parity, inputs=(0, 1), epsilon=1, samples=10_000, alpha=1e-7)
        assert result.evidence["grid"][0]["spacing"] == 1.0


class TestPlan:
    @pytest.mark.parametrize("samples", [100, 101, 999, 49_999, 50_000, 10**6, 2 * 10**8])
    def test_stages_spend_the_budget_and_alpha_and_no_more(self, samples: int) -> None:
        stages = plan.stages_for(samples, share=0.85)
        assert sum(stage.explore + stage.confirm for stage in stages) == samples
        assert sum(look.share for stage in stages for look in stage.looks) == pytest.approx(0.85)
        assert all(stage.looks[-1].part == 1 for stage in stages)

    @pytest.mark.parametrize("samples", [40, 1_999, 2_000, 100_000])
    def test_stages_apart_do_too(self, samples: int) -> None:
        stages = plan.stages_apart(samples)
        assert sum(stage.explore + stage.confirm for stage in stages) == samples
        assert sum(look.share for stage in stages for look in stage.looks) == pytest.approx(plan.APART_SHARE)

    @pytest.mark.parametrize("limit", [1, 10, 75, 1_000, 850_000])
    def test_coins_keep_to_the_limit(self, limit: int) -> None:
        trials = trials_within(limit)
        assert limit <= trials <= 2 * limit
        assert trials == limit or trials / 2 + 3.5 * math.sqrt(trials) <= limit


class TestProgress:
    def test_a_callback_hears_every_block(self) -> None:
        heard: list[tuple[int, int]] = []
        result = audit(sound, inputs=(0, 1), epsilon=1, samples=400, progress=lambda *now: heard.append(now))
        assert heard[-1] == (sum(result.evidence["drawn"]), 800)
        assert heard == sorted(heard)

    def test_a_line_appears_on_a_terminal_and_is_cleared(self, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
        monkeypatch.setattr(progress, "QUIET", 0.0)
        monkeypatch.setattr(progress, "PAUSE", 0.0)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        audit(sound, inputs=(0, 1), epsilon=1, samples=400)
        shown = capsys.readouterr().err
        assert "auditing: " in shown
        assert shown.endswith("\r\x1b[K")

    @pytest.mark.parametrize("wish", [None, False])
    def test_nothing_is_written_elsewhere(self, wish: Any, capsys: Any) -> None:
        audit(sound, inputs=(0, 1), epsilon=1, samples=400, progress=wish)
        assert capsys.readouterr() == ("", "")

    def test_a_short_audit_stays_silent_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        audit(sound, inputs=(0, 1), epsilon=1, samples=100)
        assert capsys.readouterr().err == ""


OUTPUTS: dict[str, Any] = {
    "numbers": lambda data, rng: 1.5 * data,
    "booleans": lambda data, rng: bool(data),
    "text": lambda data, rng: "yes" if data else "no",
    "bytes": lambda data, rng: b"\x01" if data else b"\x00",
    "none": lambda data, rng: None if data else 1,
    "nan": lambda data, rng: math.nan if data else 1.0,
    "infinite": lambda data, rng: math.inf if data else 1.0,
    "tuple": lambda data, rng: (1, "x", data),
    "nested": lambda data, rng: {"a": [1, {"b": data}]},
    "ragged": lambda data, rng: [0] * (1 + data),
    "empty": lambda data, rng: [] if data else [0],
    "set": lambda data, rng: {data},
    "vector": lambda data, rng: np.array([0.0, data]),
    "matrix": lambda data, rng: np.eye(2) * data,
    "complex": lambda data, rng: complex(1, data),
    "fraction": lambda data, rng: Fraction(1, 2 + data),
    "large": lambda data, rng: 10**30 + data,
    "types": lambda data, rng: "1" if data else 1,
    "object": lambda data, rng: int if data else float,
}


@pytest.mark.parametrize("kind", OUTPUTS)
def test_outputs_of_every_kind_are_told_apart(kind: str) -> None:
    """A mechanism without noise, whatever it returns, is refuted; the same on equal inputs is not."""
    mechanism = OUTPUTS[kind]
    assert audit(mechanism, inputs=(0, 1), epsilon=1, samples=300).verdict is Verdict.REFUTED
    assert audit(mechanism, inputs=(1, 1), epsilon=0, samples=300).verdict is Verdict.NOT_REFUTED


def test_the_whole_budget_may_be_spent_for_a_larger_bound() -> None:
    early, late = (
        audit(leaky, inputs=(0, 1), epsilon=1, samples=100_000, stop_early=stop_early) for stop_early in (True, False)
    )
    assert early.verdict is late.verdict is Verdict.REFUTED
    assert early.samples < late.samples
    assert early.epsilon_lower < late.epsilon_lower < math.log(10)


def test_how_much_is_kept_of_wide_outputs_does_not_grow_with_the_samples() -> None:
    """Of an audit that will not stop early, too. What is not kept to look for events is counted instead."""
    kept: list[int] = []

    def wide(data, rng, size):
        return rng.integers(0, 2, (size, 50), dtype=np.int8) | (np.arange(50) == 7) * data

    def watched(tables, **settings):
        kept.extend(table.size * len(table.columns) for table in tables)
        return pick(tables, **settings)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("dpverify.audit.engine.ROOM", 1_200_000)
        patched.setattr("dpverify.audit.engine.pick", watched)
        result = audit(wide, inputs=(0, 1), epsilon=0, samples=300_000, stop_early=False)
    assert 900_000 < max(kept) <= 1_200_000
    assert 299_000 < result.samples <= 300_000
    assert result.verdict is Verdict.REFUTED


def test_wide_outputs_are_drawn_in_small_blocks_and_few_of_them_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def wide(data, rng, size):
        sizes.append(size)
        outputs = rng.integers(0, 2, (size, 500), dtype=np.int8)
        outputs[:, 417] |= rng.random(size) < 0.3 * data
        return outputs

    monkeypatch.setattr("dpverify.audit.sampling.ROOM", 20_000)
    monkeypatch.setattr("dpverify.audit.engine.ROOM", 1_000_000)
    result = audit(wide, inputs=(0, 1), epsilon=0.2, samples=12_000)
    assert result.verdict is Verdict.REFUTED
    assert result.witness is not None
    assert "output[417]" in result.witness.description
    assert max(sizes[1:64]) <= 94
    assert max(sizes[200:]) <= 40
