"""Every mechanism that hands out dominating pairs: the notions computed from them agree with one another.

What a family cannot certify it must refuse by name; whatever it does answer is held to the relations among the notions.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from dpverify.errors import DpverifyError, NotCovered
from dpverify.mechanisms import by_name, names
from dpverify.notions import approximate, concentrated, gaussian_dp, loss, probabilistic, renyi, trade_off
from dpverify.notions.gaussian_pair import GaussianPair
from dpverify.notions.pair import pairs_of

SHAPES: dict[str, Any] = {"p": "5/2", "nu": 3, "flip": "1/4", "gamma": "1/3", "step": 1, "upper": 1, "lower": 0}


def member(name: str) -> Any:
    """An ordinary member of the family, or None where its shape has no obvious value."""
    family = by_name(name)
    values = {}
    for parameter in family.parameters:
        if parameter.is_scale:
            values[parameter.name] = SHAPES.get(parameter.name, 2)
        elif parameter.name in SHAPES:
            values[parameter.name] = SHAPES[parameter.name]
    try:
        noise = family(**values)
        pairs_of(noise)
    except DpverifyError:
        return None
    return noise


MEMBERS = {name: found for name in names() if (found := member(name)) is not None}
each_member = pytest.mark.parametrize("noise", MEMBERS.values(), ids=MEMBERS.keys())


def asked(question: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """The answer, or None where it is refused by name."""
    try:
        return question(*values, **options)
    except DpverifyError:
        return None


def test_most_of_the_catalogue_is_examined() -> None:
    assert len(MEMBERS) >= 15
    assert {"laplace", "gaussian", "subbotin", "discrete-laplace", "randomized-response"} <= set(MEMBERS)


@each_member
@pytest.mark.parametrize("epsilon", ["0", "1/5", "1", "-1/2"])
def test_the_profile_of_the_pairs_is_the_mechanisms(noise: Any, epsilon: str) -> None:
    found = asked(noise.delta, epsilon)
    if found is not None:
        assert approximate.profile(noise, epsilon).overlaps(found)
        tail = probabilistic.probability(noise, epsilon)
        assert tail.exact_upper >= found.exact_lower


@each_member
def test_a_loss_beyond_its_limit_has_no_probability(noise: Any) -> None:
    for pair in pairs_of(noise):
        law = loss.of(pair)
        low, high = law.cdf(-50, digits=20), law.cdf("1/3", digits=20)
        assert low.exact_lower <= high.exact_upper
        for share in ("1/20", "1/2", "19/20"):
            quantile = asked(law.quantile, share, digits=25)
            if quantile is not None and not quantile.is_infinite:
                assert law.cdf(quantile.exact_upper, digits=30).exact_upper >= Fraction(share)
                assert law.cdf(quantile.exact_lower - Fraction(1, 10**20), digits=30).exact_lower <= Fraction(share)


@each_member
def test_divergences_grow_with_the_order_and_rho_bounds_them(noise: Any) -> None:
    orders = ("1/2", 1, "3/2", 3)
    values = [asked(renyi.divergence, noise, order) for order in orders]
    rho = asked(concentrated.rho, noise)
    known = [(order, value) for order, value in zip(orders, values, strict=True) if value is not None]
    for (_, before), (_, after) in pairwise(known):
        assert before.lower <= after.upper
    for order, value in known:
        if rho is not None and Fraction(order) > 1 and not rho.is_infinite:
            assert value.exact_lower <= Fraction(order) * rho.exact_upper


@each_member
def test_the_trade_off_function_lies_over_the_profile_and_the_gaussian(noise: Any) -> None:
    mu = asked(gaussian_dp.mu, noise)
    for level in ("1/100", "1/4", "3/4"):
        found = asked(trade_off.trade_off, noise, level)
        if found is None:
            continue
        for epsilon in ("0", "1/2"):
            delta = approximate.profile(noise, epsilon)
            floor = 1 - delta.upper - float(Fraction(level)) * 2.718281828459045 ** float(Fraction(epsilon))
            assert found.upper >= floor - 1e-12
        if mu is not None and not mu.is_infinite:
            gaussian = trade_off.trade_off(GaussianPair(mu_squared=to_fmpq(mu.exact_upper**2)), level)
            assert found.upper >= gaussian.lower - 1e-13


@each_member
def test_rho_and_mu_agree(noise: Any) -> None:
    """mu-GDP has rho = mu^2/2; a mean loss is never above rho."""
    rho, mu, mean = asked(concentrated.rho, noise), asked(gaussian_dp.mu, noise), asked(renyi.divergence, noise, 1)
    if rho is not None and mu is not None:
        assert mu.is_infinite or rho.upper <= mu.upper**2 / 2 * (1 + 1e-12)
    if rho is not None and mean is not None:
        assert mean.lower <= rho.upper


def test_a_mechanism_without_pairs_says_so() -> None:
    bounded = by_name("bounded-gaussian")(1, upper=1)
    with pytest.raises(NotCovered):
        approximate.profile(bounded, 1)


def to_fmpq(value: Fraction) -> Any:
    from flint import fmpq

    return fmpq(value.numerator, value.denominator)


def test_mu_of_many_stairs_is_finite() -> None:
    """Masses far below the working precision are no certain events: the loss is bounded, so mu is finite."""
    stairs = by_name("staircase")("1/64", 16, "1/7", sensitivity="1/8")
    found = gaussian_dp.mu(stairs)
    assert not found.is_infinite
    # The largest loss alone: an event of power p and level p e^-loss.
    assert 10 < found.lower < 60
