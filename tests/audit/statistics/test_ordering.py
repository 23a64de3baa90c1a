import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.audit.statistics import ordering

SLOPES = st.floats(0.01, 300)
SHIFTS = st.sampled_from([0.0, 0.1, 10.0, 3000.0])


def exact_deviance(x: float, y: float, slope: float, shift: float) -> mpmath.mpf:
    """Twice the gap of the log likelihoods, the constrained one maximised numerically."""
    with mpmath.workdps(40):
        x_, y_, slope_, shift_ = (mpmath.mpf(v) for v in (x, y, slope, shift))

        def gain(mu: mpmath.mpf) -> mpmath.mpf:
            return x_ * slope_ / (shift_ + slope_ * mu) - slope_ + y_ / mu - 1

        high = (x_ + y_ + 1) * (1 + 1 / slope_)
        mu = mpmath.findroot(gain, (mpmath.mpf(10) ** -30, high), solver="anderson", tol=1e-25, maxsteps=500, verify=False)
        m = shift_ + slope_ * mu
        return 2 * (x_ * mpmath.log(x_ / m) - (x_ - m) + y_ * mpmath.log(y_ / mu) - (y_ - mu))


@pytest.mark.parametrize(
    ("x", "y", "slope", "shift"),
    [(20, 0.5, 2.7, 0.0), (40, 1.5, 2.7, 10.0), (300, 100.5, 1.1, 10.0), (15, 0.5, 0.01, 10.0), (9000, 10.5, 30.0, 3000.0)],
)
def test_deviance_is_the_likelihood_ratio(x: float, y: float, slope: float, shift: float) -> None:
    assert ordering.deviance(x, y, slope, shift) == pytest.approx(float(exact_deviance(x, y, slope, shift)), rel=1e-9)


def test_deviance_at_its_ends() -> None:
    assert ordering.deviance(5, 5.0, 1.0, 0.0) == 0.0
    assert ordering.deviance(5, 0.5, 0.0, 0.0) == math.inf
    assert ordering.deviance(50, 0.5, 0.0, 10.0) == pytest.approx(2 * (50 * math.log(5) - 40))


@given(st.integers(0, 2000), SLOPES, SHIFTS, st.floats(0.1, 8))
def test_critical_values_are_at_most_the_exact_ones_and_hardly_less(y: int, slope: float, shift: float, z: float) -> None:
    draws = 10**5
    critical = int(ordering.critical_values(y, y, draws, slope, shift, z)[0])
    target = z * z * (1 - y / draws)
    below = critical - 1
    assert below <= shift + slope * (y + 0.5) or ordering.deviance(below, y + 0.5, slope, shift) < target * (1 + 1e-9)
    above = critical + 1 + 1e-6 * critical
    assert ordering.deviance(above, y + 0.5, slope, shift) >= target * (1 - 1e-6)


@given(SLOPES, SHIFTS, st.floats(0.1, 8), st.floats(1.0001, 2))
def test_regions_nest(slope: float, shift: float, z: float, more: float) -> None:
    base = ordering.critical_values(0, 300, 1000, slope, shift, z)
    assert np.all(np.diff(base) >= 0)
    for larger in ((slope * more, shift, z), (slope, shift * more + 1, z), (slope, shift, z * more)):
        assert np.all(ordering.critical_values(0, 300, 1000, *larger) >= base)


@given(st.integers(1, 3000), st.integers(0, 500), st.sampled_from([0.0, 5.0, 100.0]), st.floats(0.1, 6))
def test_the_observed_pair_lies_in_its_own_region(x: int, y: int, shift: float, z: float) -> None:
    slope = ordering.slope_at(x, y, 1000, shift, z)
    if slope is not None:
        assert ordering.critical_values(y, y, 1000, slope, shift, z)[0] <= x
        assert ordering.critical_values(y, y, 1000, slope * 1.01, shift, z)[0] >= min(x, 10 / slope)
    elif x > shift:
        assert shift > 0
        assert ordering.deviance(x, y + 0.5, 1e-20, shift) < z * z
    other = ordering.shift_at(x, y, 1000, 1.5, z)
    if other is not None:
        assert ordering.critical_values(y, y, 1000, 1.5, other, z)[0] <= x
    found = ordering.signed_root(x, y, 1000, 1.5, shift)
    if found > 0.05:
        assert ordering.critical_values(y, y, 1000, 1.5, shift, found)[0] <= x
