import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.audit.statistics.roots import narrowed


@given(st.floats(0.01, 9.99), st.sampled_from([1.0, -1.0]), st.sampled_from([0.2, 1.0, 3.0]), st.sampled_from([1e-3, 1e-10]))
def test_a_root_is_enclosed_from_few_evaluations(root: float, sign: float, power: float, width: float) -> None:
    asked = []

    def function(x: float) -> float:
        asked.append(x)
        return sign * math.copysign(abs(x - root) ** power, x - root)

    low, high = narrowed(function, 0.0, 10.0, (function(0.0), function(10.0)), width)
    assert low <= root <= high
    assert high - low <= width
    assert len(asked) <= 60


@pytest.mark.parametrize("far", [math.inf, 1e9])
def test_a_jump_and_an_infinite_value_are_halved(far: float) -> None:
    low, high = narrowed(lambda x: -1.0 if x < 2 else far, 0.0, 10.0, (-1.0, far), 1e-6)
    assert low <= 2 <= high
    assert high - low <= 1e-6


def test_smooth_functions_take_few() -> None:
    asked = []

    def function(x: float) -> float:
        asked.append(x)
        return math.exp(x) - 3

    low, high = narrowed(function, 0.0, 5.0, (-2.0, math.exp(5) - 3), 1e-10)
    assert low <= math.log(3) <= high
    assert len(asked) <= 15
