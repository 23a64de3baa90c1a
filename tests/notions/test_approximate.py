"""Approximate DP asked of pairs agrees with what the mechanisms answer by their own engines."""

from __future__ import annotations

from typing import Any

import mpmath
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.errors import ImpossibleRequest, InputError
from dpverify.mechanisms import by_name
from dpverify.notions import approximate

families = st.sampled_from(["laplace", "logistic", "gaussian"]).map(by_name)
shifts = st.fractions("1/1000", 30, max_denominator=1000)


@given(family=families, shift=shifts, epsilon=st.fractions(-20, 40, max_denominator=100))
def test_the_profile_is_the_mechanisms(family: Any, shift: Any, epsilon: Any) -> None:
    noise = family(1, sensitivity=shift)
    assert approximate.profile(noise, epsilon, digits=25).overlaps(noise.delta(epsilon, digits=30))


@given(family=families, shift=shifts, power=st.floats(-250, -0.01))
@settings(max_examples=24)
def test_the_least_epsilon_is_the_mechanisms(family: Any, shift: Any, power: float) -> None:
    noise, delta = family(1, sensitivity=shift), f"{10**power:.6e}"
    assert approximate.least_epsilon(noise, delta, digits=25).overlaps(noise.epsilon(delta, digits=30))


@given(family=families, shift=shifts)
@settings(max_examples=12)
def test_the_total_variation_is_the_integral_of_half_the_distance(family: Any, shift: Any) -> None:
    noise = family(1, sensitivity=shift)
    m = mpmath.mp.clone()
    m.dps = 30
    d = m.mpf(shift.numerator) / shift.denominator

    class Plain:
        name = "plain"

        def __getattr__(self, function: str) -> Any:
            own = {"pi": lambda: m.pi, "rational": lambda a, b=1: m.mpf(a) / b, "abs": m.fabs}
            return own.get(function) or getattr(m, function)

    def density(x: Any) -> Any:
        return m.exp(noise.log_density(Plain(), x))

    half = m.quad(lambda x: density(x - d) - density(x), [d / 2, d, d + 5, d + 40, d + 400])
    found = approximate.total_variation(noise, digits=20)
    assert abs(m.mpf(found.decimal(20)) - half) < m.mpf(10) ** -15


def test_the_supremum_is_over_all_pairs_and_both_orders(randomized: Any) -> None:
    pairs = [randomized(fmpq(1)), randomized(fmpq(2)), randomized(fmpq(1, 2))]
    for epsilon in ("0", "0.7", "1.5"):
        assert approximate.profile(pairs, epsilon).overlaps(approximate.profile(pairs[1], epsilon))
    assert approximate.least_epsilon(pairs, 0) == 2


def test_a_pair_that_is_not_symmetric_is_asked_in_both_orders() -> None:
    class Lopsided:
        def __init__(self, mirrored: bool) -> None:
            self.mirrored = mirrored

        def hockey_stick(self, eps: fmpq) -> fmpq:
            return fmpq(1, 3) if self.mirrored else fmpq(1, 5)

        def reversed(self) -> Lopsided:
            return Lopsided(not self.mirrored)

    assert approximate.profile(Lopsided(False), 1) == approximate.profile(Lopsided(True), 1)
    assert approximate.profile(Lopsided(False), 1).exact_upper == approximate.profile(Lopsided(False), 1).exact_lower
    assert approximate.profile(Lopsided(False), 1).decimal(5) == "0.33333"


def test_what_cannot_be_answered_is_explained(family: Any) -> None:
    noise = family(1)
    with pytest.raises(ImpossibleRequest, match=r"0 <= delta < 1"):
        approximate.least_epsilon(noise, 1)
    with pytest.raises(InputError, match="probability"):
        approximate.least_epsilon(noise, -1)
    with pytest.raises(InputError, match="no dominating pair"):
        approximate.profile("laplace", 1)
    if noise.loss_slope is None:
        with pytest.raises(ImpossibleRequest, match="unbounded"):
            approximate.least_epsilon(noise, 0)


def test_a_loss_that_may_be_infinite_has_no_epsilon_below_that_probability() -> None:
    class Uniform:
        is_symmetric = True

        def hockey_stick(self, eps: fmpq) -> fmpq:
            return fmpq(1, 4)

        def loss_limit(self) -> Any:
            from flint import arb

            return arb.pos_inf()

    with pytest.raises(ImpossibleRequest, match="larger delta"):
        approximate.least_epsilon(Uniform(), "0.1")
    assert approximate.least_epsilon(Uniform(), "0.25") == 0
