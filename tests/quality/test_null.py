"""Mechanisms that keep their claim exactly: never refuted, whatever they return and however their noise is made.

alpha = 1e-7 for each audit, so that all of them together fail by chance with probability below 1e-5 over all seeds, and
each test below 1e-6. Real outputs are on a grid or audited on the reals: in double precision they would not be private.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from dpverify.audit.api import audit
from dpverify.guarantees import Verdict

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A mechanism, two neighbouring inputs, and the claim, which is the exact truth unless the name says otherwise."""

    mechanism: Callable[..., Any]
    inputs: tuple[Any, Any]
    epsilon: float
    delta: float = 0.0
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.mechanism.__name__


def on_grid(values: Any) -> Any:
    """Post-processing that hides low-order bits."""
    return np.round(np.asarray(values) * 4096) / 4096


def two_sided_geometric(rng, size, epsilon=1.0):
    """P(k) proportional to exp(-epsilon |k|)."""
    return rng.geometric(-math.expm1(-epsilon), size) - rng.geometric(-math.expm1(-epsilon), size)


def laplace(data, rng, size):
    return data + rng.laplace(0, 1, size)


def laplace_on_grid(data, rng, size):
    return on_grid(data + rng.laplace(0, 1, size))


def clamped_laplace(data, rng, size):
    """Atoms at both ends."""
    return on_grid(np.clip(data + rng.laplace(0, 1, size), 0, 2))


def discrete_laplace(data, rng, size):
    return data + two_sided_geometric(rng, size)


def one_by_one(data, rng):
    return int(data + two_sided_geometric(rng, 1)[0])


def global_generator(data):
    return data + np.random.geometric(-math.expm1(-1)) - np.random.geometric(-math.expm1(-1))


def randomized_response(data, rng, size):
    truthful = rng.random(size) < math.e / (1 + math.e)
    return np.where(truthful, data, 1 - data)


def response_in_words(data, rng, size):
    """Five categories; the truth is e^1.5 times as likely as any other."""
    words = np.array(["red", "green", "blue", "grey", "white"])
    truth = int(np.flatnonzero(words == data)[0])
    keep = rng.random(size) < math.exp(1.5) / (math.exp(1.5) + 4)
    return words[np.where(keep, truth, (truth + rng.integers(1, 5, size)) % 5)]


def ten_responses(data, rng, size):
    """epsilon = 1/2 for each bit; all of them differ."""
    keep = rng.random((size, 10)) < math.exp(0.5) / (1 + math.exp(0.5))
    return np.where(keep, data, 1 - data).astype(np.int8)


def permute_and_flip(data, rng, size):
    """As the argument of the maximum with one-sided exponential noise; scores (3, 3) against (4, 2) show the whole loss."""
    return (np.asarray(data, float) + rng.exponential(2, (size, 2))).argmax(axis=1)


def sparse_vector(data, rng, size):
    """One answer above the threshold, then nothing: ragged and with None. Claimed at its proved epsilon, which has room."""
    threshold = rng.laplace(0, 2, size)
    noisy = np.asarray(data, float) + rng.laplace(0, 4, (size, len(data)))
    first = np.where((noisy >= threshold[:, None]).any(axis=1), (noisy >= threshold[:, None]).argmax(axis=1), -1)
    return [None if place < 0 else [0] * int(place) + [1] for place in first]


def truncated_laplace(data, rng, size):
    """Outputs that only one input can give have exactly the mass delta, and inside the loss is exactly epsilon."""
    bound = math.log(1 + (math.e - 1) / (2 * 1e-2))
    magnitude = -np.log1p(-rng.random(size) * -math.expm1(-bound))
    return on_grid(data + np.where(rng.random(size) < 0.5, -magnitude, magnitude))


def gaussian(data, rng, size):
    """sigma = 1, sensitivity 1: delta(1) = Phi(-1/2) - e Phi(-3/2) = 0.126936737... (Balle and Wang), rounded up."""
    return on_grid(data + rng.normal(0, 1, size))


def leak_with_probability_delta(data, rng, size):
    """Releases its input with probability delta exactly: the extreme (0, delta) mechanism."""
    return np.where(rng.random(size) < 0.01, data, -1)


def dictionary(data, rng):
    """Two counts under composition, and a field that says nothing."""
    noise = two_sided_geometric(rng, 2, 0.5)
    return {"a": int(data + noise[0]), "b": int(data + noise[1]), "unit": "people", "version": None}


def shared_noise(data, rng, size):
    """One noise for the whole batch."""
    return np.full(size, data + two_sided_geometric(rng, 1)[0])


def shared_laplace(data, rng, size):
    return np.full(size, data + rng.laplace(0, 1))


def partly_shared_noise(data, rng, size):
    """Sums of two geometric noises of which one is drawn once a batch: more than is needed."""
    return data + two_sided_geometric(rng, size) + two_sided_geometric(rng, 1)


def tiled_noise(data, rng, size):
    return data + np.resize(two_sided_geometric(rng, 50), size)


def shuffled_quantiles(data, rng, size):
    """A stratified sample in random order: each output alone is exact, together they are too even."""
    places = (rng.permutation(size) + rng.random(size)) / size
    return on_grid(data - np.sign(places - 0.5) * np.log1p(-2 * np.abs(places - 0.5)))


def constant(data, rng, size):
    return np.zeros(size)


def random_text(data, rng):
    return f"{rng.integers(2**60):x}"


ON_REALS = {"outputs": "reals"}

NULL = [
    Case(mechanism=laplace, inputs=(0.0, 1.0), epsilon=1, options=ON_REALS),
    Case(mechanism=laplace_on_grid, inputs=(0, 1), epsilon=1),
    Case(mechanism=clamped_laplace, inputs=(0.25, 1.25), epsilon=1),
    Case(mechanism=discrete_laplace, inputs=(10, 11), epsilon=1),
    Case(mechanism=one_by_one, inputs=(10, 11), epsilon=1),
    Case(mechanism=global_generator, inputs=(10, 11), epsilon=1),
    Case(mechanism=randomized_response, inputs=(0, 1), epsilon=1),
    Case(mechanism=response_in_words, inputs=("red", "blue"), epsilon=1.5),
    Case(mechanism=ten_responses, inputs=(0, 1), epsilon=5),
    Case(mechanism=permute_and_flip, inputs=((3, 3), (4, 2)), epsilon=1),
    Case(mechanism=sparse_vector, inputs=((0, 1, 0), (1, 0, 1)), epsilon=1),
    Case(mechanism=truncated_laplace, inputs=(0, 1), epsilon=1, delta=1e-2),
    Case(mechanism=gaussian, inputs=(0, 1), epsilon=1, delta=0.126936738),
    Case(mechanism=leak_with_probability_delta, inputs=(0, 1), epsilon=0, delta=0.01),
    Case(mechanism=dictionary, inputs=(3, 4), epsilon=1),
    Case(mechanism=shared_noise, inputs=(0, 1), epsilon=1),
    Case(mechanism=shared_laplace, inputs=(0.0, 1.0), epsilon=1, options=ON_REALS),
    Case(mechanism=partly_shared_noise, inputs=(0, 1), epsilon=1),
    Case(mechanism=tiled_noise, inputs=(0, 1), epsilon=1),
    Case(mechanism=shuffled_quantiles, inputs=(0, 1), epsilon=1),
    Case(mechanism=constant, inputs=(0, 1), epsilon=0),
    Case(mechanism=random_text, inputs=(0, 1), epsilon=0),
]


@pytest.mark.parametrize("case", NULL, ids=str)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_sound_mechanism_is_never_refuted(case: Case, seed: int) -> None:
    result = audit(
        case.mechanism,
        inputs=case.inputs,
        epsilon=case.epsilon,
        delta=case.delta,
        samples=10_000,
        alpha=1e-7,
        seed=seed,
        **case.options,
    )
    assert result.verdict is Verdict.NOT_REFUTED, result
    assert result.epsilon_lower <= case.epsilon


def test_the_shipped_sound_example_is_not_refuted(root) -> None:
    spec = importlib.util.spec_from_file_location("sound_count", root / "examples" / "sound_count.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    inputs = (example.COUNT, example.NEIGHBOUR)
    assert audit(example.noisy_count, inputs=inputs, epsilon=1, samples=50_000, alpha=1e-7).verdict is Verdict.NOT_REFUTED


@pytest.mark.parametrize(("name", "on_reals"), [("leaky_count", Verdict.REFUTED), ("float_count", Verdict.NOT_REFUTED)])
def test_the_shipped_broken_examples_are_refuted(root, name: str, on_reals: Verdict) -> None:
    spec = importlib.util.spec_from_file_location(name, root / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    inputs = (example.COUNT, example.NEIGHBOUR)
    result = audit(example.noisy_count, inputs=inputs, epsilon=1, samples=50_000, alpha=1e-7)
    assert (result.verdict, result.verdict_on_reals) == (Verdict.REFUTED, on_reals)


def test_a_sample_that_is_too_even_inside_a_batch_rests_on_separate_calls() -> None:
    """The same claim, and the reason is told."""
    result = audit(shuffled_quantiles, inputs=(0, 1), epsilon=1, samples=50_000, alpha=1e-7)
    assert result.evidence["one_output_per_call"]
    assert result.verdict is Verdict.NOT_REFUTED
