import math

import numpy as np
import pytest
from flint import arb
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpverify.arithmetic.precision import working_precision
from dpverify.audit.statistics import joint, tails, tilted
from dpverify.audit.statistics.inversion import RegionOfCounts
from dpverify.audit.statistics.joint import Region
from dpverify.audit.statistics.tilted import Blocks


def between(trials: int, p: float, first: int, last: int) -> arb:
    """Pr(first <= Bin(trials, p) <= last) by summing its terms."""
    with working_precision(tails.working_bits(trials)):
        exact = arb(p)
        return sum((tails.probability(j, trials, exact, 1 - exact) for j in range(first, last + 1)), arb(0))


@settings(max_examples=60)
@given(
    st.integers(50, 10**7),
    st.floats(1e-4, 0.999),
    st.floats(-8, 8),
    st.sampled_from([1, 2, 7, 31]),
)
def test_blocks_enclose_their_probabilities(trials: int, middle: float, deviations: float, width: int) -> None:
    spread = math.sqrt(trials * middle * (1 - middle))
    p = min(max(middle + deviations * spread / trials, middle / 4), (3 + middle) / 4)
    first, last = max(0, int(trials * p - 3 * spread)), min(trials, int(trials * p + 3 * spread) + 1)
    starts = np.arange(first, last + 1, width)
    blocks = Blocks.of(trials, middle, starts, last)
    assert blocks is not None
    rows = blocks.rows(np.array([middle, p]))
    assume(rows is not None)
    assert rows is not None
    assert rows.error < 1e-4
    stops = np.append(starts[1:], last + 1)
    for block in {0, len(starts) // 3, len(starts) // 2, len(starts) - 1}:
        for row, at in enumerate((middle, p)):
            exact = between(trials, at, int(starts[block]), int(stops[block]) - 1)
            value = float(rows.values[row, block])
            assert exact >= value * (1 - rows.error) - 1e-290
            assert exact <= value * (1 + rows.error) + 1e-290
    for row, at in enumerate((middle, p)):
        with working_precision(tails.working_bits(trials)):
            beyond = tails.upper_tail(last + 1, trials, arb(at), 1 - arb(at))
            short = 1 - tails.upper_tail(first, trials, arb(at), 1 - arb(at))
        assert beyond <= rows.above[row] * (1 + 1e-12)
        assert short <= rows.below[row] * (1 + 1e-12)


def test_the_polynomial_is_part_of_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = Blocks.of(10**6, 0.5, np.arange(497_000, 503_000, 200), 502_999)
    assert blocks is not None
    near, far = blocks.rows(np.array([0.5])), blocks.rows(np.array([0.501]))
    assert near is not None
    assert near.error < 1e-10
    assert far is not None
    assert 1e-8 < far.error < 1e-5
    assert blocks.rows(np.array([0.502])) is None  # 0.8 of a unit of log odds times half a block
    monkeypatch.setattr(tilted, "LARGEST_ERROR", 1e-8)
    assert blocks.rows(np.array([0.501])) is None


def test_what_is_far_away_is_not_answered() -> None:
    assert Blocks.of(10**6, 0.5, np.arange(0, 10**6 + 1), 10**6) is None  # probabilities underflow
    blocks = Blocks.of(1000, 0.05, np.arange(0, 201, 10), 200)
    assert blocks is not None
    assert blocks.rows(np.array([0.05, 0.004])) is None
    assert blocks.rows(np.array([0.05, 0.9])) is None
    longer = Blocks.of(10**6, 0.5, np.arange(482_300, 517_701, 10), 517_700)
    assert longer is not None
    assert longer.rows(np.array([0.51])) is not None
    assert longer.rows(np.array([0.5177])) is None  # e^626 times what they are at 0.5


@settings(max_examples=60)
@given(
    st.integers(2000, 10**6),
    st.floats(0.01, 0.8),
    st.floats(0.3, 3),
    st.floats(0.5, 4),
    st.floats(0.97, 1.03),
    st.sampled_from([1, 3, 10]),
)
def test_regions_by_tilting_are_those_of_each_row_alone(
    draws: int, q: float, slope: float, z: float, apart: float, stride: int
) -> None:
    p = min(slope * q, 0.9)
    rows = np.array([p, p * apart]), np.array([q, q * apart])
    small = 1e-9
    low, high = joint._joint_window(draws, rows[1], small)
    y = np.arange(low, high + 1, stride)
    critical = np.ceil(draws * p + slope * (y - draws * q) + z * math.sqrt(draws * p)).astype(np.int64)
    region = Region(draws=draws, other_draws=draws, first=low, critical=np.maximum(critical, 0), stride=stride)
    assume(region.last >= high)
    found = joint._by_tilting(region, *rows, small)
    assume(found is not None)
    assert found is not None
    values, errors = joint._each_alone(region, *rows, small)
    assert np.all(np.abs(values - found[0]) <= errors + found[1])
    assert np.all(found[1] <= 1e-4 * found[0] + 100 * small)


def test_strides_only_enlarge_a_region_and_by_little() -> None:
    counts = RegionOfCounts(draws=10**7, other_draws=10**7, slope=2.7, shift=0.0, z=3.5)
    coarse = counts.over(0.1, 0.1004, 1e-10)
    fine = counts.critical(coarse.first, coarse.last)
    assert coarse.stride > 1
    assert np.all(coarse.at(coarse.first, coarse.last) <= fine)
    assert np.all(fine - coarse.at(coarse.first, coarse.last) <= 2.8 * coarse.stride)
    region = Region(draws=10**7, other_draws=10**7, first=coarse.first, critical=fine)
    at = np.array([0.27]), np.array([0.1])
    larger, exact = (joint.region_probabilities(one, *at, 1e-10)[0][0] for one in (coarse, region))
    assert exact <= larger <= exact * 1.06 + 1e-9
