"""Curves known from both sides: they contain what is certified by other roads, at the places and between them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dv
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.errors import InputError, NotCovered
from dpverify.notions import loss, sides, trade_off
from dpverify.notions.pair import pairs_of

if TYPE_CHECKING:
    from collections.abc import Callable

MECHANISMS = [
    dv.Gaussian(sigma=1),
    dv.Gaussian(sigma="0.05"),
    dv.Laplace(scale=2),
    dv.DiscreteGaussian(sigma=1),
    dv.Gumbel(scale=1),
    dv.Uniform(scale=3),
]
POINTS = 24


def holds(found: sides.Sides, place: float, value: Enclosure) -> None:
    """That the outline of the curve contains the value at the place."""
    places, lower, upper = found.outline()
    near = [one for one in range(0, len(places), 2) if places[one] <= place <= places[one + 1]]
    assert near
    assert all(lower[one] <= value.upper and value.lower <= upper[one] for one in near)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("curve", [sides.of_profile, sides.of_trade_off], ids=["profile", "trade-off"])
def test_a_curve_is_monotone_and_its_sides_are_in_order(curve: Callable[..., sides.Sides], mechanism: Any) -> None:
    found = curve(mechanism, points=POINTS)
    assert all(low <= high for low, high in zip(found.lower, found.upper, strict=True))
    assert all(left < right for left, right in pairwise(found.places))
    assert all(left >= right for side in (found.lower, found.upper) for left, right in pairwise(side))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@settings(max_examples=8, deadline=None)
@given(share=st.floats(0, 1))
def test_a_profile_contains_every_delta(mechanism: Any, share: float) -> None:
    found = sides.of_profile(mechanism, points=POINTS)
    epsilon = share * found.places[-1]
    holds(found, epsilon, mechanism.delta(epsilon))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@settings(max_examples=5, deadline=None)
@given(level=st.floats(1e-6, 0.8))
def test_a_trade_off_function_contains_what_the_pairs_say(mechanism: Any, level: float) -> None:
    holds(sides.of_trade_off(mechanism, points=POINTS), level, trade_off.trade_off(mechanism, level))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_a_trade_off_function_is_known_well(mechanism: Any) -> None:
    found = sides.of_trade_off(mechanism)
    assert max(high - low for low, high in zip(found.lower[1:], found.upper[1:], strict=True)) < 0.03


@pytest.mark.parametrize("share", ["0.07", "0.49", "0.9"])
def test_a_loss_contains_its_distribution_function(share: str) -> None:
    (pair,) = pairs_of(dv.Gaussian(sigma=1))
    law = loss.of(pair)
    x = law.quantile(share).upper
    holds(sides.of_loss(pair, points=POINTS), x, law.cdf(x))
    holds(sides.of_loss(pair, reach=5, points=POINTS), x, law.cdf(x))


def test_a_wrong_curve_is_noticed() -> None:
    found = sides.of_profile(dv.Gaussian(sigma=1), points=POINTS)
    with pytest.raises(AssertionError):
        holds(found, 1.0, dv.Gaussian(sigma="1.01").delta(1))


class Refusing:
    """A mechanism that certifies delta on half of the places, and no epsilon."""

    def __init__(self, most: float) -> None:
        self.most = most

    def epsilon(self, delta: Any) -> Enclosure:
        raise NotCovered(f"no epsilon at {delta}.")

    def delta(self, epsilon: float) -> Enclosure:
        if epsilon > self.most:
            raise NotCovered(f"no delta at {epsilon}.")
        return dv.Gaussian(sigma=1).delta(epsilon)


def test_places_where_nothing_is_certified_are_left_out() -> None:
    found = sides.of_profile(Refusing(0.5), points=10)
    assert found.places[-1] == 0.5
    holds(found, 0.33, dv.Gaussian(sigma=1).delta(0.33))
    with pytest.raises(NotCovered, match=r"fewer than two points .* no delta at"):
        sides.of_profile(Refusing(0.05), points=10)


def test_an_infinite_loss_is_drawn_as_far_as_it_is_finite() -> None:
    (pair, *_) = pairs_of(dv.Uniform(scale=2))
    found = sides.of_loss(pair, points=POINTS)
    assert found.upper[-1] < 0.9
    for one in pairs_of(dv.Uniform(scale="0.5")):  # the outputs never overlap
        with pytest.raises(NotCovered, match="reach="):
            sides.of_loss(one, points=POINTS)


@pytest.mark.parametrize(
    ("options", "words"), [({"points": 1}, "points = 1"), ({"points": 2.5}, "points = 2.5"), ({"points": True}, "points")]
)
def test_points_that_are_none_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        sides.of_trade_off(dv.Gaussian(sigma=1), **options)


@pytest.mark.parametrize("reach", [0, -1, "1e7", "far"])
def test_a_reach_that_is_none_is_refused(reach: Any) -> None:
    with pytest.raises(InputError, match="reach"):
        sides.of_profile(dv.Gaussian(sigma=1), reach=reach)
