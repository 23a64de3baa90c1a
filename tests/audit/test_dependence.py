"""Shared noise inside a batch raises doubt, independent outputs do not, and doubt leads to one output a call."""

from __future__ import annotations

import numpy as np
import pytest

from dpverify.audit import dependence
from dpverify.audit.api import audit
from dpverify.audit.table import Codes
from dpverify.guarantees import Verdict

ROUNDS = 2_000


def dispersions(probability: float, blocks: int, size: int) -> np.ndarray:
    hits = np.random.default_rng(7).binomial(size, probability, (ROUNDS, blocks))
    return np.array([dependence.dispersion(row.tolist(), [size] * blocks) for row in hits])


@pytest.mark.parametrize(
    ("probability", "blocks", "size"), [(0.5, 16, 300), (0.05, 32, 1_500), (0.002, 85, 10_000), (0.9, 16, 50)]
)
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_independent_counts_are_rarely_suspected(probability: float, blocks: int, size: int, level: float) -> None:
    """Of 2,000 at level a, more than 2,000 * 1.5 a + 5.2 deviations are as improbable as 1e-7 if the true rate is <= 1.5 a."""
    suspected = int((dispersions(probability, blocks, size) < level).sum())
    mean = 1.5 * level * ROUNDS
    assert suspected <= mean + 5.2 * mean**0.5
    assert suspected >= 1


@pytest.mark.parametrize(
    ("hits", "sizes"),
    [
        ([500] + [0] * 15, [500] * 16),  # one noise a batch, all or nothing
        ([0] * 15 + [7], [500] * 16),  # a few rare outputs, all in one batch
        ([300] * 16, [500] * 16),  # every batch the same
        ([250 + 60 * (k % 2) for k in range(32)], [500] * 32),  # a part of the noise is shared
    ],
)
def test_dependent_counts_are_suspected(hits: list[int], sizes: list[int]) -> None:
    assert dependence.dispersion(hits, sizes) < 1e-4


@pytest.mark.parametrize("hits", [[0] * 16, [500] * 16, [0, 1] + [0] * 14, [1] * 16, [3, 4, 3, 2]])
def test_too_little_to_tell_is_no_suspicion(hits: list[int]) -> None:
    assert dependence.dispersion(hits, [500] * len(hits)) > 0.05


def serials(masks: np.ndarray) -> float:
    parts = [dependence.counted(mask)[1:] for mask in masks]
    return dependence.serial(sum(part[0] for part in parts), sum(part[1] for part in parts))


@pytest.mark.parametrize(("probability", "blocks", "size"), [(0.5, 16, 60), (0.1, 16, 500), (0.95, 40, 1_000)])
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_hits_in_random_order_are_rarely_suspected(probability: float, blocks: int, size: int, level: float) -> None:
    """The same allowance as for the dispersion, on 500 rounds."""
    rng = np.random.default_rng(11)
    suspected = sum(serials(rng.random((blocks, size)) < probability) < level for _ in range(500))
    mean = 1.5 * level * 500
    assert 1 <= suspected <= mean + 5.2 * mean**0.5


def test_hits_that_follow_each_other_are_suspected() -> None:
    rng = np.random.default_rng(12)
    twice = np.repeat(rng.random((16, 100)) < 0.3, 2, axis=1)
    assert serials(twice) < 1e-9
    assert serials(np.tile([True, False], (16, 100))) < 1e-9


def test_few_hits_or_only_hits_show_no_order() -> None:
    assert serials(np.ones((16, 50), dtype=bool)) == 1
    assert serials(np.eye(16, 50, dtype=bool)) == 1


def blocks_of(draw) -> list[Codes]:
    rng = np.random.default_rng(5)
    return [np.asarray(draw(rng), dtype=np.uint64) for _ in range(16)]


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.integers(0, 2**63, 300),  # no value twice
        lambda rng: rng.integers(0, 2, 300),
        lambda rng: rng.geometric(0.5, 300),
        lambda rng: rng.integers(0, 5_000, 300),
        lambda rng: np.zeros(300),  # a constant
    ],
)
def test_repeats_by_chance_are_no_suspicion(draw) -> None:
    assert abs(dependence.repeats(blocks_of(draw), np.random.default_rng(0))) < 5


@pytest.mark.parametrize(
    ("draw", "sign"),
    [
        (lambda rng: np.full(300, rng.integers(0, 2**63)), 1),  # one noise a batch
        (lambda rng: np.repeat(rng.integers(0, 2**63, 150), 2), 1),  # each output twice
        (lambda rng: np.full(300, rng.integers(0, 2)), 1),
        (lambda rng: np.random.default_rng(1).integers(0, 2**63, 300), -1),  # every batch from the same seed
        (lambda rng: rng.permutation(300), -1),  # without replacement
    ],
)
def test_repeats_that_chance_does_not_explain(draw, sign: int) -> None:
    assert sign * dependence.repeats(blocks_of(draw), np.random.default_rng(0)) > dependence.LONGEST_TAIL


def test_rates_are_compared_exactly() -> None:
    assert dependence.disagree(900, 1000, 128, 256, 1e-2)
    assert dependence.disagree(128, 1000, 200, 256, 1e-2)
    assert not dependence.disagree(500, 1000, 128, 256, 1e-2)


# --- in an audit: alpha = 1e-7, so each of these fails by chance at most that often ------------------------------------

SURE = {"inputs": (0, 1), "epsilon": 1, "alpha": 1e-7, "samples": 20_000}


def geometric(rng, size):
    """P(k) proportional to e^-|k|."""
    return rng.geometric(1 - np.exp(-1), size) - rng.geometric(1 - np.exp(-1), size)


def one_noise_a_batch(data, rng, size):
    return np.full(size, data + geometric(rng, 1)[0])


def each_noise_twice(data, rng, size):
    return data + np.repeat(geometric(rng, size), 2)[:size]


def mostly_shared(data, rng, size):
    """The private part of the noise is shared; what differs is a coin that says nothing."""
    return np.stack([np.full(size, data + geometric(rng, 1)[0]), rng.integers(0, 2**40, size)], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [one_noise_a_batch, each_noise_twice, mostly_shared])
@pytest.mark.parametrize("seed", range(2))
def test_sound_mechanisms_that_share_noise_are_not_refuted(mechanism, seed: int) -> None:
    result = audit(mechanism, seed=seed, **SURE)
    assert result.verdict is Verdict.NOT_REFUTED
    assert result.evidence["one_output_per_call"]
    assert any("one output per independently seeded call" in note for note in result.notes)


def broken_and_shared(data, rng, size):
    return np.full(size, data + geometric(rng, 1)[0] // 4)


def one_seed(data, rng, size):
    return data + geometric(np.random.default_rng(1), size)


def one_seed_for_all(data, rng, size):
    return np.full(size, data + geometric(np.random.default_rng(1), 1)[0])


def singles_differ(data, rng, size):
    """Sound in batches of one; a batch of more leaks, as where a test path is not what users run."""
    return data * (size > 1) + geometric(rng, size)


@pytest.mark.parametrize("mechanism", [broken_and_shared, one_seed, one_seed_for_all])
def test_broken_mechanisms_that_share_noise_are_refuted(mechanism) -> None:
    result = audit(mechanism, **SURE)
    assert result.verdict is Verdict.REFUTED
    assert result.witness is not None


def test_tests_on_dependent_batches_are_set_aside() -> None:
    """The rates differ between batches and single calls, which only the check before a refutation can show."""
    result = audit(singles_differ, inputs=(0, 3), epsilon=1, alpha=1e-7, samples=20_000)
    assert result.verdict is Verdict.NOT_REFUTED
    assert any(test["rejects"] and test["set_aside"] for test in result.evidence["tests"])
    assert not any(test["rejects"] and not test["set_aside"] for test in result.evidence["tests"])
    assert any("separate calls, which does not fit" in note for note in result.notes)


def test_where_calls_cannot_be_kept_apart_the_audit_is_undecided() -> None:
    class Slow:
        """New noise every 500 calls."""

        def __init__(self) -> None:
            self.calls = 0
            self.rng = np.random.default_rng(3)

        def __call__(self, data):
            if self.calls % 500 == 0:
                self.noise = int(geometric(self.rng, 1)[0])
            self.calls += 1
            return data + self.noise

    result = audit(Slow(), **SURE)
    assert result.verdict is Verdict.UNDECIDED
    assert "takes no generator" in result.notes[-1]
    assert result.verdict_on_reals is Verdict.UNDECIDED


def test_a_mechanism_that_keeps_a_state_between_separate_calls_is_undecided() -> None:
    class Stale:
        """Noise is drawn from the generator that it is given, but only every seventh call."""

        def __init__(self) -> None:
            self.left = 0

        def __call__(self, data, rng, size):
            if self.left <= 0:
                self.left, self.noise = 7, int(geometric(rng, 1)[0])
            self.left -= 1
            return np.full(size, data + self.noise)

    result = audit(Stale(), **SURE)
    assert result.verdict is Verdict.UNDECIDED
    assert "keeps a state" in result.notes[-1]


def test_without_budget_for_separate_calls_the_audit_is_undecided() -> None:
    """The doubt arises at the last look, when everything has been drawn."""

    class Late:
        drawn = 0

        def __call__(self, data, rng, size):
            self.drawn += size
            return data + (geometric(rng, size) if self.drawn < 140 else np.full(size, 9 * (rng.random() < 0.5)))

    result = audit(Late(), inputs=(0, 0), epsilon=1, delta=1e-9, samples=200)
    assert result.verdict is Verdict.UNDECIDED
    assert "no budget was left" in result.notes[-1]


def test_ranks_of_rows_together_are_those_of_each() -> None:
    rows = np.random.default_rng(2).normal(size=(5, 70))
    for changed in (rows, np.where(rows > 1, 1.0, rows), np.where(rows > 2, np.nan, rows)):
        expected = np.stack([dependence._ranks(row) for row in changed])
        assert np.allclose(dependence._all_ranks(changed), expected, rtol=0, atol=1e-12, equal_nan=True)
