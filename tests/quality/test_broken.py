"""Mechanisms that are broken in a way that somebody once shipped, and the claim that each of them fails to keep.

Written from public descriptions; where one is known, the title or the place of the description is named. Each is refuted
with twenty thousand outputs a side. The claims are false, so there is no false alarm to bound; the seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpverify.audit.api import audit
from dpverify.audit.evidence import recheck
from dpverify.guarantees import Verdict

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A mechanism, two neighbouring inputs, and the claim about it."""

    mechanism: Callable[..., Any]
    inputs: tuple[Any, Any]
    epsilon: float
    delta: float = 0.0

    def __str__(self) -> str:
        return self.mechanism.__name__


def on_grid(values: Any) -> Any:
    """Post-processing that hides low-order bits, so that only the fault under study shows."""
    return np.round(np.asarray(values) * 4096) / 4096


def scale_inverted(data, rng, size):
    """Laplace noise of scale epsilon / sensitivity instead of sensitivity / epsilon; epsilon is 1/2."""
    return on_grid(data + rng.laplace(0, 0.5, size))


def deviation_for_scale(data, rng, size):
    """1/epsilon taken for the standard deviation: the scale is smaller by sqrt(2). epsilon is 1."""
    return np.rint(data + rng.laplace(0, 1 / math.sqrt(2), size)).astype(int)


def zero_twice(data, rng, size):
    """A random sign times a geometric number from 0 on: zero has two ways to come about. epsilon is 3."""
    magnitude = rng.geometric(1 - math.exp(-3), size) - 1
    return data + np.where(rng.random(size) < 0.5, -magnitude, magnitude)


def truncated_geometric(data, rng, size):
    """Noise that ends at +-4 is claimed to be purely private; the outermost outputs are possible for one input only."""
    steps = np.arange(-4, 5)
    mass = np.exp(-np.abs(steps))
    return data + rng.choice(steps, size, p=mass / mass.sum())


def unadjusted_rejection(data, rng, size):
    """Laplace noise drawn again until the result lies in [0, 3]; the constant that this brings depends on the data."""
    out = np.full(size, np.nan)
    todo = np.arange(size)
    while todo.size:
        proposal = data + rng.laplace(0, 1, todo.size)
        inside = (proposal >= 0) & (proposal <= 3)
        out[todo[inside]] = proposal[inside]
        todo = todo[~inside]
    return on_grid(out)


def noisy_mean_with_private_size(data, rng, size):
    """The noise of a mean is scaled by the number of records, which the neighbour does not share."""
    return on_grid(np.mean(data) + rng.laplace(0, 1 / len(data), size))


def threshold_noise_only(data, rng, size):
    """A sparse-vector variant without query noise (Lyu, Su and Li, Understanding the sparse vector technique, Algorithm 5)."""
    threshold = rng.laplace(0, 2, (size, 1))
    return (np.asarray(data, float) >= threshold).astype(int)


def noisy_maximum_with_its_value(data, rng, size):
    """Report noisy max that also releases the winning value (Ding et al., Detecting violations of differential privacy)."""
    noisy = np.asarray(data, float) + rng.laplace(0, 2, (size, len(data)))
    winner = noisy.argmax(axis=1)
    return [(int(place), float(on_grid(row[place]))) for place, row in zip(winner, noisy, strict=True)]


def one_hot_charged_once(data, rng, size):
    """Each bit of a one-hot vector is flipped with probability 1/4 and charged log 3, but neighbours differ in two bits."""
    bits = rng.random((size, 6)) < 0.25
    bits[:, data] ^= True
    return bits


def lie_that_may_be_true(data, rng, size):
    """Randomized response whose lie is drawn from the same coin as the truth; charged log(p / (1 - p)) with p = 0.6."""
    truthful = (rng.random(size) < 0.6) | (rng.random(size) < 0.6)
    return np.where(truthful, data, 1 - data)


def noise_used_twice(data, rng, size):
    """Two blocks of parameters get the same noise, which cancels in their difference."""
    noise = rng.normal(0, 4, size)
    return on_grid(np.stack([data[0] + noise, data[1] + noise], axis=1))


def fixed_seed(data, rng, size):
    """A seed that was left in the code for reproducible tests."""
    return on_grid(data + np.random.default_rng(42).laplace(0, 1, size))


def unstable_key(data, rng):
    """A histogram that keeps a key of one person above a threshold that is too low for its noise."""
    released = {}
    for key in sorted(set(data)):
        noisy = data.count(key) + rng.normal(0, 2)
        if noisy > 3:
            released[key] = float(on_grid(noisy))
    return released


def classical_gaussian_squared(data, rng, size):
    """The variance is passed where the standard deviation is expected, and both are below 1."""
    return on_grid(data + rng.normal(0, 0.48**2, size))


def textbook_float_laplace(data, rng, size):
    """Private on the reals and not in its bits (Mironov, On significance of the least significant bits)."""
    return data + rng.laplace(0, 1, size)


def answers_depend_on_type(data, rng):
    """An error path that only one input can take: text instead of a number, rarely."""
    return "overflow" if data and rng.random() < 0.02 else int(rng.integers(0, 10))


BROKEN = [
    Case(mechanism=scale_inverted, inputs=(10, 9), epsilon=0.5),
    Case(mechanism=deviation_for_scale, inputs=(10, 11), epsilon=1),
    Case(mechanism=zero_twice, inputs=(10, 11), epsilon=3),
    Case(mechanism=truncated_geometric, inputs=(10, 11), epsilon=1),
    Case(mechanism=unadjusted_rejection, inputs=(0.0, 1.0), epsilon=1),
    Case(mechanism=noisy_mean_with_private_size, inputs=([1.0, 0, 0], [0.0, 0]), epsilon=1),
    Case(mechanism=threshold_noise_only, inputs=([0, 1], [1, 0]), epsilon=1),
    Case(mechanism=noisy_maximum_with_its_value, inputs=([5] * 4, [6] * 4), epsilon=1),
    Case(mechanism=one_hot_charged_once, inputs=(2, 5), epsilon=math.log(3)),
    Case(mechanism=lie_that_may_be_true, inputs=(1, 0), epsilon=math.log(1.5)),
    Case(mechanism=noise_used_twice, inputs=((1.0, 0.0), (0.0, 0.0)), epsilon=1, delta=1e-5),
    Case(mechanism=fixed_seed, inputs=(10, 9), epsilon=1),
    Case(mechanism=unstable_key, inputs=(["a"] * 9 + ["b"], ["a"] * 9), epsilon=1, delta=0.02),
    Case(mechanism=classical_gaussian_squared, inputs=(0.0, 0.5), epsilon=1, delta=1e-3),
    Case(mechanism=textbook_float_laplace, inputs=(0.0, 1.0), epsilon=1),
    Case(mechanism=answers_depend_on_type, inputs=(1, 0), epsilon=1),
]


@pytest.mark.parametrize("case", BROKEN, ids=str)
@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
def test_a_broken_mechanism_is_refuted(case: Case, turned: bool) -> None:
    """In either order of the inputs; its evidence alone says so too, and whether it is the noise or its floats that leak."""
    inputs = case.inputs[::-1] if turned else case.inputs
    result = audit(case.mechanism, inputs=inputs, epsilon=case.epsilon, delta=case.delta, samples=20_000, seed=3)
    assert result.verdict is Verdict.REFUTED, result
    assert result.epsilon_lower > case.epsilon
    assert (result.verdict_on_reals is Verdict.REFUTED) == (case.mechanism is not textbook_float_laplace)
    assert recheck(result.evidence).verdict is Verdict.REFUTED
