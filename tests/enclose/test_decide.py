from __future__ import annotations

import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from dpverify.enclose.decide import is_above
from dpverify.errors import PrecisionError

what = "the number".__str__


@given(st.integers(1, 2000), st.sampled_from([-1, 1]))
def test_a_hair_is_enough(exponent: int, side: int) -> None:
    hair = fmpq(side) / fmpq(10) ** exponent
    assert is_above(lambda: arb(fmpq(1, 3) + hair), fmpq(1, 3), what=what) is (side > 0)


def test_a_tie_is_a_named_error() -> None:
    with pytest.raises(PrecisionError, match="the number could not be told"):
        is_above(lambda: arb(2).sqrt() ** 2, fmpq(2), what=what)
