"""Every sampler of the catalogue under the project's own auditor. The registry supplies the mechanisms.

A true claim is refuted with probability at most ALPHA = 1e-7 an audit; with fewer than 200 audits that is below 2e-5 for the
whole file, and the seeds are fixed. Doubles are audited as what they are labelled: reals.
"""

from __future__ import annotations

import contextlib
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpverify.audit.api import audit
from dpverify.errors import DpverifyError
from dpverify.guarantees import Verdict
from dpverify.mechanisms import by_name, names
from dpverify.mechanisms._additive import AdditiveNoise
from dpverify.samplers.sampler import EXACT, IDEAL_MODEL_DOUBLE

pytestmark = pytest.mark.slow

ALPHA = 1e-7
SAMPLES = 5_000
LARGEST = 20
"""A larger epsilon is no claim that samples speak about."""


def members() -> list[Any]:
    """Each family at the middle of its scale's typical range, with the low and the high ends of its shapes."""
    found = []
    for family in map(by_name, names()):
        scale = next(parameter for parameter in family.parameters if parameter.is_scale)
        low, high = (float(Fraction(end)) for end in scale.typical)
        found += [family(**{scale.name: math.sqrt(low * high)}, **shape) for shape in family.typical_shapes()]
    return found


MEMBERS = members()
each_member = pytest.mark.parametrize("member", MEMBERS, ids=repr)


def claims(member: Any) -> list[tuple[float, float]]:
    """(epsilon, delta) that the mechanism itself states: pure, and at another level of epsilon; whatever it covers."""
    found = []
    try:
        pure = member.epsilon(0).upper
        if pure < LARGEST:
            found.append((pure, 0.0))
    except DpverifyError:
        pure = math.inf
    epsilon = min(0.25, pure / 2)
    with contextlib.suppress(DpverifyError):
        delta = member.delta(epsilon).upper
        if delta < 1:
            found.append((epsilon, delta))
    return found


def samples(member: Any) -> int:
    """Fewer where each is found by a search in a density that the user states."""
    return SAMPLES // 4 if member.name == "custom-noise" else SAMPLES


def under_audit(member: Any, sampler: Any, epsilon: float, delta: float, alpha: float, times: int = 1) -> Verdict:
    outputs = "bits" if sampler.exactness == EXACT else "reals"
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "samples": times * samples(member), "alpha": alpha, "seed": 3}
    result = audit(sampler, inputs=member.neighbours(), outputs=outputs, **asked)
    return result.verdict


@each_member
def test_no_sampler_is_refuted_at_its_own_claims(member: Any) -> None:
    sampler = member.sampler()
    assert sampler.exactness in (EXACT, IDEAL_MODEL_DOUBLE)
    assert sampler.law
    for epsilon, delta in claims(member):
        assert under_audit(member, sampler, epsilon, delta, ALPHA) is Verdict.NOT_REFUTED


@each_member
def test_every_sampler_is_refuted_where_it_claims_too_much(member: Any) -> None:
    """So that the check above can fail: the outputs depend on the data, and, where a delta is stated, as much as it says."""
    stated = [(epsilon, delta / 2) for epsilon, delta in claims(member) if 0.1 < delta < 0.95]
    epsilon, delta = max(stated, key=lambda claim: claim[1], default=(0.0, 0.0))
    assert under_audit(member, member.sampler(), epsilon, delta, 1e-3, times=3) is Verdict.REFUTED


@pytest.mark.parametrize("name", [name for name in names() if issubclass(by_name(name), AdditiveNoise)])
def test_additive_noise_is_exact_on_a_grid(name: str) -> None:
    """Rounded to the last bit it stands the audit of its bits; the doubles of the same law need not."""
    family = by_name(name)
    member = family(**{family.scale_name: 1}, **family.typical_shapes()[0])
    sampler = member.sampler(granularity="1/8")
    assert sampler.exactness == EXACT
    outputs = sampler(0, np.random.default_rng(1), samples(member) // 10)
    assert np.array_equal(outputs * 8, np.rint(outputs * 8))
    for epsilon, delta in claims(member)[-1:]:
        assert under_audit(member, sampler, epsilon, delta, ALPHA) is Verdict.NOT_REFUTED


def test_a_double_sampler_does_not_stand_the_audit_of_its_bits() -> None:
    member = by_name("laplace")(1)
    epsilon = member.epsilon(0).upper
    inputs = (0, Fraction(1, 3))
    result = audit(member.sampler(), inputs=inputs, epsilon=epsilon, samples=SAMPLES, seed=3)
    assert result.verdict is Verdict.REFUTED
    assert result.verdict_on_reals is Verdict.NOT_REFUTED


@each_member
def test_the_same_seed_gives_the_same_releases(member: Any) -> None:
    data, sampler = member.neighbours()[0], member.sampler()
    first, second = (sampler(data, np.random.default_rng(5), 40) for _ in range(2))
    assert np.array_equal(first, second)
    assert len(first) == 40
