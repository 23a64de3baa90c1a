import math
from fractions import Fraction
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpverify.audit.statistics import joint
from dpverify.audit.statistics.joint import Edge, Region, region_probability, supremum

Number = TypeVar("Number", Fraction, float)


def probability(region: Region, p: Number, q: Number) -> Number:
    """Pr_{p,q}(R) by the definition, exactly where p and q are fractions."""
    n1, n2 = region.draws, region.other_draws
    tail, reached = {}, 0 * p
    for x in range(n1, -1, -1):
        reached += math.comb(n1, x) * p**x * (1 - p) ** (n1 - x)
        tail[x] = reached
    critical = region.at(0, n2).tolist()
    return sum((math.comb(n2, y) * q**y * (1 - q) ** (n2 - y) * tail[c] for y, c in enumerate(critical) if c <= n1), 0 * p)


@st.composite
def regions(draw: st.DrawFn) -> Region:
    n1, n2 = draw(st.integers(1, 25)), draw(st.integers(1, 25))
    steps = draw(st.lists(st.integers(0, n1 + 2), min_size=n2 + 1, max_size=n2 + 1))
    return Region(draws=n1, other_draws=n2, first=0, critical=np.array(sorted(steps), dtype=np.int64))


PROBABILITIES = st.floats(1e-6, 1 - 1e-6)


@given(regions(), PROBABILITIES, PROBABILITIES)
def test_the_probability_of_a_region_is_enclosed(region: Region, p: float, q: float) -> None:
    value, error = region_probability(region, p, q, 1e-12)
    exact = probability(region, Fraction(p), Fraction(q))
    assert Fraction(value) - Fraction(error) <= exact <= Fraction(value) + Fraction(error)
    assert error < 1e-9


@given(regions(), PROBABILITIES)
def test_certain_hits_leave_the_other_side_only(region: Region, q: float) -> None:
    value, error = region_probability(region, 1.0, q, 1e-12)
    assert abs(probability(region, Fraction(1), Fraction(q)) - Fraction(value)) <= Fraction(error)


@settings(max_examples=16)
@given(
    regions(),
    st.sampled_from(["1", "11/10", "3", "40"]),
    st.sampled_from(["0", "1/1000", "1/5"]),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
    st.sampled_from([0.3, 0.01, 1e-4]),
)
def test_the_supremum_is_an_upper_bound_and_a_tight_one(
    region: Region, ratio: str, delta: str, ends: tuple[float, float], level: float
) -> None:
    low, high = sorted(ends)
    assume(low < high)
    bound = supremum(region, Edge(ratio=float(Fraction(ratio)), delta=float(Fraction(delta))), low, high, level)
    seen = 0.0
    for q in np.linspace(low, high, 41).tolist():
        seen = max(seen, probability(region, min(1.0, float(Fraction(ratio)) * q + float(Fraction(delta))), q))
    assert bound >= seen * (1 - 1e-12)
    assert bound <= 1
    if seen <= level:  # where it is larger nobody needs it precisely; between the 41 points F may still rise
        assert bound <= max(1.2 * seen, seen + 0.02 * level)


def test_the_supremum_over_a_wide_range_of_large_counts() -> None:
    # 1.96 standard deviations beyond x = y: F is near .025 in the middle, and nearly the same everywhere
    y = np.arange(0, 4001)
    critical = np.ceil(y + 1.96 * np.sqrt(np.maximum(2 * y * (1 - y / 4000), 1)) + 1).astype(np.int64)
    region = Region(draws=4000, other_draws=4000, first=0, critical=np.maximum.accumulate(critical))
    bound = supremum(region, Edge(ratio=1.0, delta=0.0), 0.05, 0.4, 0.025)
    grid = [region_probability(region, q, q, 1e-12)[0] for q in np.linspace(0.05, 0.4, 3000)]
    assert max(grid) * (1 - 1e-9) <= bound <= max(grid) * 1.01


def test_without_its_remainder_the_interpolation_would_miss_the_supremum(monkeypatch: pytest.MonkeyPatch) -> None:
    # a region that is one narrow peak in q: 32 points over [0, 1] step over it, and only the remainder says so
    critical = np.where(np.arange(20001) < 10240, 10000, 20001)
    region, edge = Region(draws=20000, other_draws=20000, first=0, critical=critical), Edge(ratio=1.0, delta=0.0)
    peak = max(region_probability(region, q, q, 1e-12)[0] for q in np.linspace(0.5, 0.512, 60))
    assert supremum(region, edge, 0.0, 1.0, 0.01) >= peak
    monkeypatch.setattr(joint, "_remainders", lambda *_: (0.0, 0.0))
    assert supremum(region, edge, 0.0, 1.0, 0.01) < 0.9 * peak


def test_a_region_answers_only_for_what_it_holds() -> None:
    region = Region(draws=5, other_draws=10, first=2, critical=np.array([1, 2, 3], dtype=np.int64))
    assert region.at(2, 4).tolist() == [1, 2, 3]
    with pytest.raises(AssertionError, match="not computed"):
        region.at(1, 3)


@given(st.integers(1, 10**6), st.floats(1e-9, 1 - 1e-9), st.sampled_from([1e-4, 1e-9, 1e-40]))
def test_windows_leave_out_little_and_say_how_much(trials: int, p: float, small: float) -> None:
    first, last = joint.windows(trials, p, small)
    mass = joint._mass(trials, np.array([p]), first, last)
    assert mass.below[0] <= 10 * small
    assert mass.above[0] <= 10 * small
    assert float(mass.values.sum()) == pytest.approx(1 - float(mass.below[0] + mass.above[0]), abs=30 * small + 1e-9)


@given(st.integers(1, 10**6), st.floats(1e-4, 0.999), st.floats(0.9, 1.1))
def test_probabilities_together_are_those_that_each_has_alone(trials: int, q: float, apart: float) -> None:
    y = np.arange(0, trials + 1) if trials <= 2000 else np.arange(0, 2001)
    critical = np.minimum(y + 1 + np.floor(2 * np.sqrt(y)), trials + 1).astype(np.int64)
    small = 1e-9
    both = np.array([q, min(q * apart, 0.999)])
    region = Region(draws=trials, other_draws=len(y) - 1, first=0, critical=critical)
    together, errors = joint.region_probabilities(region, both, both, small)
    for place, at in enumerate(both.tolist()):
        value, error = region_probability(region, at, at, small)
        assert abs(value - together[place]) <= error + errors[place]


def test_a_row_too_far_from_the_others_says_nothing() -> None:
    mass = joint._mass(10**6, np.array([0.9, 0.5, 0.1]), 0, 10**6)
    assert mass.above.tolist() == [1.0, 0.0, 1.0]
    assert not mass.values[0].any()
    assert float(mass.values[1].sum()) == pytest.approx(1)
