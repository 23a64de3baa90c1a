"""The likely cause that a refutation names."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from dpverify.audit.api import audit
from dpverify.guarantees import Verdict


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


@pytest.mark.parametrize(
    ("mechanism", "cause"),
    [
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
