"""Branch and bound on boxes: maxima that are known, in the interior, on faces and at corners, and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.arithmetic.precision import working_precision
from dpverify.enclose import box_maximum as module
from dpverify.enclose.box_maximum import Box, Maximum, Point, box_maximum
from dpverify.errors import PrecisionError


def interval(box: Box, axis: int = 0) -> arb:
    return arb(box.low[axis]).union(arb(box.high[axis]))


class Wave:
    """sin(rate x) + slope x, by plain interval arithmetic."""

    def __init__(self, rate: int, slope: fmpq, *, curved: bool = True) -> None:
        self.rate, self.tilt, self.curved = rate, slope, curved
        self.calls = 0

    def value(self, point: Point) -> arb:
        self.calls += 1
        return (self.rate * arb(point[0])).sin() + self.tilt * arb(point[0])

    def enclosure(self, box: Box) -> arb:
        x = interval(box)
        return (self.rate * x).sin() + self.tilt * x

    def gradient(self, box: Box) -> tuple[arb, ...]:
        return (self.rate * (self.rate * interval(box)).cos() + self.tilt,)

    def concavity(self, box: Box) -> arb:
        return arb((self.rate**2 * (self.rate * interval(box)).sin()).lower()) if self.curved else arb(-1)


class Saddle:
    """3 - 20 (x - y^2)^2 - (y - 3/10)^2 + sin 3x: a bent ridge."""

    def value(self, point: Point) -> arb:
        return self._at(arb(point[0]), arb(point[1]))

    def enclosure(self, box: Box) -> arb:
        return self._at(interval(box), interval(box, 1))

    def gradient(self, box: Box) -> tuple[arb, ...]:
        x, y = interval(box), interval(box, 1)
        return -40 * (x - y * y) + 3 * (3 * x).cos(), 80 * y * (x - y * y) - 2 * (y - arb(fmpq(3, 10)))

    def concavity(self, box: Box) -> arb:
        """The determinant of the Hessian over minus its trace, where both are positive: no more than its least eigenvalue."""
        x, y = interval(box), interval(box, 1)
        first, second, mixed = -40 - 9 * (3 * x).sin(), 80 * x - 240 * y * y - 2, 80 * y
        determinant, trace = first * second - mixed * mixed, -(first + second)
        return arb((determinant / trace).lower()) if determinant > 0 and trace > 0 else arb(-1)

    def _at(self, x: arb, y: arb) -> arb:
        return 3 - 20 * (x - y * y) ** 2 - (y - arb(fmpq(3, 10))) ** 2 + (3 * x).sin()


def on_unit(function: object, dimensions: int = 1, bits: int = 80, prec: int = 128) -> Maximum:
    with working_precision(prec):
        box = Box((fmpq(0),) * dimensions, (fmpq(1),) * dimensions)
        return box_maximum(function, box, bits=bits, what=lambda: "the test")  # type: ignore[arg-type]


@given(rate=st.integers(1, 60), slope=st.fractions(-30, 30, max_denominator=20))
@settings(max_examples=24)
def test_the_maximum_of_a_wave(rate: int, slope: Fraction) -> None:
    """Its stationary points are known: cos(rate x) = -slope/rate."""
    found = on_unit(Wave(rate, fmpq(slope.numerator, slope.denominator)))
    places = [0.0, 1.0]
    if abs(slope) < rate:
        first = math.acos(-float(slope) / rate)
        places += [(sign * first + 2 * math.pi * turn) / rate for sign in (1, -1) for turn in range(rate)]
    largest = max(math.sin(rate * x) + float(slope) * x for x in places if 0 <= x <= 1)
    assert abs(float(found.value) - largest) < 1e-9 * max(1, abs(largest))
    assert found.value.rel_accuracy_bits() > 70 or abs(largest) < 1e-6


def test_more_precision_gives_more_digits_at_little_cost() -> None:
    """The concave bound is off by the square of the error of the point: no deeper search is needed."""
    coarse, fine = Wave(5, fmpq(1, 3)), Wave(5, fmpq(1, 3))
    wide, narrow = on_unit(coarse, bits=60, prec=100), on_unit(fine, bits=400, prec=460)
    assert narrow.value.rel_accuracy_bits() > 390
    assert wide.value.overlaps(narrow.value)
    assert fine.calls < coarse.calls + 40


def test_without_concavity_the_mean_value_form_closes_too() -> None:
    with_it, without = Wave(5, fmpq(1, 3)), Wave(5, fmpq(1, 3), curved=False)
    assert on_unit(without, bits=60).value.overlaps(on_unit(with_it, bits=60).value)
    assert without.calls > with_it.calls


def test_a_ridge_in_two_dimensions() -> None:
    found = on_unit(Saddle(), 2)
    assert found.value.rel_accuracy_bits() > 78
    grid = max(float(Saddle().value((fmpq(i, 200), fmpq(j, 200)))) for i in range(201) for j in range(201))
    assert grid <= float(found.value.upper())
    assert float(found.value) - grid < 1e-2
    assert found.value.contains(Saddle().value(found.point)) or found.value.overlaps(Saddle().value(found.point))


def test_a_point_and_a_flat_function() -> None:
    with working_precision(100):
        here = Box((fmpq(1, 3),), (fmpq(1, 3),))
        found = box_maximum(Wave(3, fmpq(0)), here, bits=60, what=lambda: "a point")
        assert found.value.overlaps(arb(1).sin())
    assert on_unit(Wave(0, fmpq(0))).value == 0


def test_a_wrong_gradient_would_be_seen() -> None:
    """The check that the tests above can fail: a function that lies about its slope has its maximum missed."""

    class Lying(Wave):
        def gradient(self, box: Box) -> tuple[arb, ...]:
            return (arb(1),)

    assert not on_unit(Lying(5, fmpq(1, 3))).value.overlaps(on_unit(Wave(5, fmpq(1, 3))).value)


def test_effort_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_EFFORT", 5)
    with pytest.raises(PrecisionError, match=r"the test: the maximum was not found among 5 boxes; ask for fewer digits"):
        on_unit(Wave(60, fmpq(0), curved=False))
