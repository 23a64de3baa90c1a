"""The likely cause that a refutation names."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from dpverify.audit.api import audit
from dpverify.guarantees import GaussianDP, Verdict


def rounded(values: Any) -> Any:
    return np.round(values * 65536) / 65536


def too_small(data: Any, rng: np.random.Generator, size: int) -> Any:
    return rounded(data + rng.laplace(0, 0.5, size))


def leaking(data: Any, rng: np.random.Generator, size: int) -> Any:
    return data + rng.laplace(size=size)


def bounded(data: Any, rng: np.random.Generator, size: int) -> Any:
    return data + rng.integers(0, 4, size)


def spreading(data: Any, rng: np.random.Generator, size: int) -> Any:
    return rounded(rng.normal(0, 1 + data, size))


def frozen(data: Any, rng: np.random.Generator, size: int) -> Any:
    return np.full(size, data + np.random.default_rng(1).laplace())


def words(data: Any, rng: np.random.Generator, size: int) -> Any:
    return np.where(rng.random(size) < 0.9, data, 1 - data).astype(str).tolist()


def missing(data: Any, rng: np.random.Generator, size: int) -> Any:
    return np.where(rng.random(size) < (0.2 if data else 0.02), np.nan, rng.integers(0, 50, size))


def with_a_key(data: Any, rng: np.random.Generator, size: int) -> Any:
    there = rng.random(size) < (0.4 if data else 0.02)
    values = rng.integers(0, 50, size)
    return [{"old": int(value), "new": 1} if also else {"old": int(value)} for value, also in zip(values, there, strict=True)]


def alike(data: Any, rng: np.random.Generator, size: int) -> Any:
    found = rng.integers(0, 10_000, (size, 2))
    copied = rng.random(size) < (0.2 if data else 0.02)
    return np.where(copied[:, None], found[:, :1], found)


@pytest.mark.parametrize(
    ("mechanism", "cause"),
    [
        (missing, "presence; how often output is (NaN|a number) depends on the data"),
        (with_a_key, r"presence; how often output\['new'\] (is a number|is there) depends on the data"),
        (alike, "presence; how often two items of an output are equal depends on the data"),
        (
            too_small,
            "scale or sensitivity; the noise is too small for how far the answer moves between these inputs by a factor",
        ),
        (words, "scale or sensitivity"),
        (leaking, "floating point"),
        (bounded, r"support; inputs\[[01]\] gives outputs that inputs\[[01]\] does not give"),
        (spreading, r"scale; the noise depends on the data: its spread on inputs\[1\] is (1.9|2)[.\d]* times"),
        (frozen, "reused randomness"),
    ],
)
def test_a_refutation_names_its_likely_cause(mechanism: Any, cause: str) -> None:
    result = audit(mechanism, inputs=(0, 1), epsilon=1, samples=20_000)
    assert result.verdict is Verdict.REFUTED

    assert re.match(f"Likely cause: {cause}", result.notes[-1]), result.notes


def test_what_is_not_refuted_has_no_cause() -> None:
    result = audit(too_small, inputs=(0, 1), epsilon="2.5", samples=2_000)
    assert not any("cause" in note for note in result.notes)


def test_noise_that_both_inputs_share_is_noticed() -> None:
    """A generator with a fixed seed for every batch: batches on both inputs rise and fall together."""

    def copied(data: Any, rng: np.random.Generator, size: int) -> Any:
        return rounded(data + np.random.default_rng(size).laplace(size=size) + 1e-3 * rng.random(size))

    result = audit(copied, inputs=(0, 1), epsilon=1, samples=20_000)
    assert any("same noise" in note or "share" in note for note in result.notes)


def test_a_key_that_shows_the_input_is_named_as_such() -> None:
    """Not by a bound that all its values keep: that the key is there is the whole of it."""

    def histogram(data: Any, rng: np.random.Generator, size: int) -> Any:
        return [dict(zip(data, map(int, row), strict=True)) for row in rng.integers(-30, 30, (size, len(data)))]

    result = audit(histogram, inputs=(("a",), ("a", "b")), epsilon=1, samples=20_000)
    assert result.witness is not None
    assert result.witness.event["family"] == "kind", result.witness.description


def test_of_a_curve_no_factor_is_told_that_belongs_to_another_point() -> None:
    def noisy(data: int, rng: Any, size: int) -> Any:
        return np.rint(data + rng.laplace(0, 0.5, size))

    result = audit(noisy, inputs=(0, 1), claim=GaussianDP(mu=1), samples=5_000)
    assert result.cause is not None
    assert "too small" in result.cause.text
    assert "factor" not in result.cause.text
