"""Sums of concave functions on a ball within a box: closed forms, active caps, and bounds that hold whatever the start."""

from __future__ import annotations

import math

import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.arithmetic.precision import working_precision
from dpverify.enclose.ball_maximum import Allotment, Place, ball_maximum


class Linear:
    """a c."""

    increasing = True

    def __init__(self, a: fmpq, cap: fmpq) -> None:
        self.a, self.cap = a, cap

    def value(self, c: Place) -> arb:
        return arb(self.a) * c

    def slope(self, c: Place) -> arb:
        return arb(self.a)

    def bend(self, c: Place) -> arb:
        return arb(0)

    def modulus(self) -> arb:
        return arb(0)


class Hill(Linear):
    """a c (1 - c): largest at 1/2."""

    increasing = False

    def value(self, c: Place) -> arb:
        return arb(self.a) * c * (1 - c)

    def slope(self, c: Place) -> arb:
        return arb(self.a) * (1 - 2 * c)

    def bend(self, c: Place) -> arb:
        return arb(-2 * self.a)

    def modulus(self) -> arb:
        return arb(2 * self.a)


positive = st.fractions("1/50", 50, max_denominator=50).map(lambda x: fmpq(x.numerator, x.denominator))
HUGE = fmpq(10**9)


@given(weights=st.lists(positive, min_size=1, max_size=5), squared=positive)
@settings(max_examples=24)
def test_linear_sums_have_the_length_of_their_weights(weights: list[fmpq], squared: fmpq) -> None:
    with working_precision(150):
        found = ball_maximum([Linear(a, HUGE) for a in weights], squared)
        expected = arb(squared * sum((a * a for a in weights), fmpq(0))).sqrt()
        assert found.value.overlaps(expected)
        assert found.value.rel_accuracy_bits() > 110


@given(weights=st.lists(positive, min_size=2, max_size=4), caps=st.lists(positive, min_size=4, max_size=4), squared=positive)
@settings(max_examples=24)
def test_active_caps(weights: list[fmpq], caps: list[fmpq], squared: fmpq) -> None:
    """Against the closed form: coordinates at their caps, the rest along the weights that are left."""
    parts = [Linear(a, cap) for a, cap in zip(weights, caps, strict=False)]
    held: list[int] = []
    while True:
        left = float(arb(squared)) - sum(float(arb(parts[k].cap)) ** 2 for k in held)
        free = [k for k in range(len(parts)) if k not in held]
        if not free or left <= 0:
            break
        factor = math.sqrt(left / sum(float(arb(weights[k])) ** 2 for k in free))
        over = [k for k in free if factor * float(arb(weights[k])) > float(arb(parts[k].cap))]
        if not over:
            break
        held += over
    expected = sum(float(arb(weights[k] * parts[k].cap)) for k in held)
    expected += sum(factor * float(arb(weights[k])) ** 2 for k in free)
    with working_precision(120):
        found = ball_maximum(parts, squared)
        assert abs(float(found.value) - expected) < 1e-12 * expected
        assert found.value.rel_accuracy_bits() > 85


def test_a_slack_ball_and_a_tight_one() -> None:
    with working_precision(120):
        parts = [Hill(fmpq(1), fmpq(1)), Hill(fmpq(2), fmpq(1))]
        slack = ball_maximum(parts, fmpq(4))
        assert slack.value.overlaps(arb(fmpq(3, 4)))
        assert slack.value.rel_accuracy_bits() > 90
        assert slack.allotment.multiplier == 0
        tight = ball_maximum(parts, fmpq(1, 10))
        assert tight.value < slack.value
        assert tight.value.rel_accuracy_bits() > 90
        assert sum((c * c for c in tight.allotment.point), fmpq(0)) < fmpq(1001, 10000)


@given(
    starts=st.lists(st.fractions(0, 1, max_denominator=64), min_size=2, max_size=2),
    multiplier=st.fractions(0, 20, max_denominator=8),
)
@settings(max_examples=24)
def test_no_start_can_make_it_wrong(starts: list[object], multiplier: object) -> None:
    """Point and multiplier need not be trusted: both bounds hold at any of them."""
    parts = [Hill(fmpq(1), fmpq(1)), Hill(fmpq(2), fmpq(1))]
    exact = [fmpq(x.numerator, x.denominator) for x in (*starts, multiplier)]  # type: ignore[attr-defined]
    with working_precision(120):
        best = ball_maximum(parts, fmpq(1, 10)).value
        begun = ball_maximum(parts, fmpq(1, 10), Allotment(point=tuple(exact[:2]), multiplier=exact[2])).value
        assert begun.overlaps(best)


def test_everything_at_its_cap_but_for_a_hair() -> None:
    parts = [Linear(fmpq(3), fmpq(1)), Linear(fmpq(5), fmpq(1))]
    with working_precision(200):
        whole = ball_maximum(parts, fmpq(2)).value
        hair = ball_maximum(parts, fmpq(2) - fmpq(1, 10**20)).value
        assert whole == 8
        assert hair < whole
        assert hair.rel_accuracy_bits() > 110
        assert abs(float((whole - hair) * arb(10) ** 20) - 1.5) < 1e-6  # 3/(2 c) of the square that is missing


class Steep(Linear):
    """1 - (1 - c)^p, p just above 1: next to c = 1 the slope changes within the rounding of c."""

    p = fmpq(201, 200)

    def value(self, c: Place) -> arb:
        return 1 - self._power(c, self.p)

    def slope(self, c: Place) -> arb:
        return self.p * self._power(c, self.p - 1)

    def bend(self, c: Place) -> arb:
        return -self.p * (self.p - 1) * self._power(c, self.p - 2)

    def _power(self, c: Place, exponent: fmpq) -> arb:
        rest = 1 - c
        return arb(0) if rest == 0 else arb(rest) ** arb(exponent)


def test_a_maximum_closer_to_a_cap_than_rounding_shows() -> None:
    """Slope 2 mu = 0.4 or so asks for 1 - c = (0.4/p)^200, about 10^-80."""
    with working_precision(160):
        found = ball_maximum([Steep(fmpq(1), fmpq(1)), Linear(fmpq(1), fmpq(100))], fmpq(9))
        assert found.value.rel_accuracy_bits() > 130
        rest = 1 - found.allotment.point[0]
        assert fmpq(1, 10**100) < rest < fmpq(1, 10**40)
        assert found.value.overlaps(1 + arb(8).sqrt())  # to within 10^-40
        assert ball_maximum([Steep(fmpq(1), fmpq(1)), Linear(fmpq(1), fmpq(100))], fmpq(9)).value.overlaps(found.value)


@pytest.mark.parametrize("wrong", [fmpq(1, 2), fmpq(2)])
def test_a_wrong_slope_leaves_a_gap(wrong: fmpq) -> None:
    """The check that the dual is used: a part that lies about its slope is not closed to full accuracy."""

    class Lying(Hill):
        def slope(self, c: Place) -> arb:
            return super().slope(c) * wrong

    parts = [Lying(fmpq(1), fmpq(1)), Hill(fmpq(2), fmpq(1))]
    with working_precision(120):
        honest = ball_maximum([Hill(fmpq(1), fmpq(1)), Hill(fmpq(2), fmpq(1))], fmpq(1, 10)).value
        assert not ball_maximum(parts, fmpq(1, 10)).value.overlaps(honest)
