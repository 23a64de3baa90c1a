"""Conversions: sound against mechanisms that have the given guarantee, tight where they say so, refused where there is none."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dv
from dpverify.errors import ImpossibleRequest, InputError
from dpverify.guarantees import (
    ZCDP,
    ApproxDP,
    ConcentratedDP,
    GaussianDP,
    ProbabilisticDP,
    PureDP,
    RandomDP,
    RenyiDP,
)
from dpverify.mechanisms import by_name
from dpverify.notions import (
    approximate,
    concentrated,
    conversion,
    gaussian_dp,
    groups,
    probabilistic,
    renyi,
    renyi_conversion,
    renyi_exact,
)
from dpverify.notions.gaussian_pair import GaussianPair

epsilons = st.fractions("1/100", 8, max_denominator=100)
deltas = st.floats(-60, -0.05).map(lambda power: f"{10**power:.6e}")


def value(given: Any, to: Any, name: str, **wish: Any) -> Any:
    return conversion.convert(given, to, **wish, digits=25).values[name]


@given(epsilon=epsilons, other=epsilons, order=st.fractions("21/20", 30, max_denominator=20))
def test_pure_dp_costs_what_randomized_response_costs(epsilon: Any, other: Any, order: Any) -> None:
    from tests.notions.conftest import Randomized

    pair, pure = Randomized(fmpq(epsilon.numerator, epsilon.denominator)), PureDP(epsilon=epsilon)
    assert value(pure, ApproxDP, "delta", epsilon=other).overlaps(approximate.profile(pair, other, digits=25))
    assert value(pure, RenyiDP, "epsilon", order=order).overlaps(renyi.divergence(pair, order, digits=25))
    assert value(pure, GaussianDP, "mu").overlaps(gaussian_dp.mu(pair, digits=25))
    assert value(pure, ZCDP, "rho").overlaps(renyi.divergence(pair, 1, digits=25))
    assert value(pure, ZCDP, "rho").exact_upper <= epsilon**2 / 2


@given(epsilon=epsilons, delta=deltas)
def test_pure_dp_at_a_delta_goes_there_and_back(epsilon: Any, delta: str) -> None:
    found = value(PureDP(epsilon=epsilon), ApproxDP, "epsilon", delta=delta)
    assert found.exact_lower <= epsilon
    if found.exact_lower > 0:
        back = value(PureDP(epsilon=epsilon), ApproxDP, "delta", epsilon=found.exact_upper)
        assert back.exact_lower <= Fraction(delta) <= back.exact_upper + Fraction(1, 10**20)


def test_laplace_noise_is_never_worse_than_its_pure_guarantee(family: Any) -> None:
    if family.loss_slope is None:
        return
    noise = family(1, sensitivity=2)
    for order in ("3/2", 4, 50):
        assert renyi.divergence(noise, order) <= value(PureDP(epsilon=2), RenyiDP, "epsilon", order=order)
    assert concentrated.rho(noise) < value(PureDP(epsilon=2), ZCDP, "rho")
    assert gaussian_dp.mu(noise) < value(PureDP(epsilon=2), GaussianDP, "mu")


@given(rho=st.fractions("1/1000", 20, max_denominator=1000), epsilon=epsilons, delta=deltas)
@settings(max_examples=24)
def test_zcdp_bounds_the_gaussian_that_has_it(rho: Any, epsilon: Any, delta: str) -> None:
    """N(mu, 1) has rho = mu^2/2 and nothing beyond; the conversion must not fall below what is true of it."""
    pair = GaussianPair(mu_squared=fmpq(2 * rho.numerator, rho.denominator))
    bound = value(ZCDP(rho=rho), ApproxDP, "epsilon", delta=delta)
    assert bound.exact_upper >= approximate.least_epsilon(pair, delta, digits=25).exact_lower
    assert renyi_conversion.delta_from_zcdp(rho, epsilon).exact_upper >= approximate.profile(pair, epsilon).exact_lower


@given(
    rho=st.fractions("1/1000", 20, max_denominator=1000), epsilon=epsilons, order=st.fractions("21/20", 60, max_denominator=20)
)
def test_the_best_order_is_the_best(rho: Any, epsilon: Any, order: Any) -> None:
    best = renyi_conversion.delta_from_zcdp(rho, epsilon, digits=25)
    some = renyi_conversion.delta_from_renyi(order, rho * order, epsilon, digits=25)
    assert best.exact_lower <= some.exact_upper
    delta = best.exact_upper
    if delta < 1:
        least = renyi_conversion.epsilon_from_zcdp(rho, delta, digits=25)
        assert least.exact_lower <= renyi_conversion.epsilon_from_renyi(order, rho * order, delta, digits=25).exact_upper
        assert least.exact_lower <= epsilon * (1 + Fraction(1, 10**15))


@given(epsilon=epsilons, delta=deltas)
def test_the_zcdp_budget_is_used_up(epsilon: Any, delta: str) -> None:
    rho = renyi_conversion.rho_for(epsilon, delta, digits=25)
    assert renyi_conversion.delta_from_zcdp(rho.exact_lower, epsilon, digits=30).exact_lower <= Fraction(delta)
    more = rho.exact_upper * (1 + Fraction(1, 10**18))
    assert renyi_conversion.delta_from_zcdp(more, epsilon, digits=30).exact_upper >= Fraction(delta)


def test_the_conversion_by_a_direct_minimisation() -> None:
    """min over orders by mpmath, from the formula as printed: e^{(a-1)(a rho - eps)}/(a - 1) (1 - 1/a)^a."""
    m = mpmath.mp.clone()
    m.dps = 40
    for rho, epsilon in (("0.5", "3"), ("0.01", "1"), ("4", "20")):

        def bound(a: Any, rho: str = rho, epsilon: str = epsilon) -> Any:
            return m.exp((a - 1) * (a * m.mpf(rho) - m.mpf(epsilon))) / (a - 1) * (1 - 1 / a) ** a

        start = (m.mpf(epsilon) / m.mpf(rho) + 1) / 2
        best = m.findroot(lambda a: m.diff(lambda x: m.log(bound(x)), a), start)
        found = renyi_conversion.delta_from_zcdp(rho, epsilon, digits=20)
        assert abs(m.mpf(found.decimal(20)) / bound(best) - 1) < m.mpf(10) ** -17


@given(mu=st.fractions("1/20", 8, max_denominator=20), epsilon=epsilons, delta=deltas)
def test_gaussian_dp_is_its_pair(mu: Any, epsilon: Any, delta: str) -> None:
    noise, claim = dv.Gaussian(1, sensitivity=mu), GaussianDP(mu=mu)
    assert value(claim, ApproxDP, "delta", epsilon=epsilon).overlaps(noise.delta(epsilon, digits=25))
    assert value(claim, ApproxDP, "epsilon", delta=delta).overlaps(noise.epsilon(delta, digits=25))
    assert conversion.convert(claim, ZCDP).guarantee == ZCDP(rho=mu**2 / 2)
    assert conversion.convert(claim, RenyiDP, order=3).guarantee == RenyiDP(order=3, epsilon=3 * mu**2 / 2)


@given(shift=st.fractions("1/10", 5, max_denominator=20), epsilon=epsilons, extra=epsilons)
def test_approximate_dp_bounds_the_tail_with_a_loss(shift: Any, epsilon: Any, extra: Any) -> None:
    noise = dv.Gaussian(1, sensitivity=shift)
    claim = ApproxDP(epsilon=epsilon, delta=noise.delta(epsilon).exact_upper)
    wanted = epsilon + extra
    try:
        bound = value(claim, ProbabilisticDP, "delta", epsilon=wanted)
    except ImpossibleRequest:
        return
    assert bound.exact_upper >= probabilistic.probability(noise, wanted).exact_lower


@given(shift=st.fractions("1/10", 5, max_denominator=20), delta=deltas)
def test_a_concentrated_loss_has_that_tail(shift: Any, delta: str) -> None:
    noise = dv.Gaussian(1, sensitivity=shift)
    claim = ConcentratedDP(epsilon=shift**2 / 2, tau=shift)
    assert (
        value(claim, ProbabilisticDP, "epsilon", delta=delta).exact_upper
        >= probabilistic.least_epsilon(noise, delta).exact_lower
    )
    assert conversion.convert(ZCDP(rho=shift**2 / 2), ConcentratedDP).guarantee == claim


KINDS = (PureDP, ApproxDP, ProbabilisticDP, ConcentratedDP, RenyiDP, ZCDP, GaussianDP)
EXAMPLES = (
    PureDP(epsilon=1),
    ApproxDP(epsilon=1, delta="1e-6"),
    ProbabilisticDP(epsilon=1, delta="1e-6"),
    ConcentratedDP(epsilon=1, tau=1),
    RenyiDP(order=8, epsilon=1),
    ZCDP(rho="1/2"),
    GaussianDP(mu=1),
    RandomDP(guarantee=PureDP(epsilon=1), failure="0.1", law="i.i.d. records"),
)


@pytest.mark.parametrize("given", EXAMPLES, ids=str)
@pytest.mark.parametrize("to", KINDS)
def test_every_pair_of_notions_is_answered_or_refused_with_a_reason(given: Any, to: Any) -> None:
    wish = {RenyiDP: {"order": 4}, ApproxDP: {"delta": "1e-5"}, ProbabilisticDP: {"delta": "1e-5"}}.get(to, {})
    try:
        found = conversion.convert(given, to, **wish)
    except ImpossibleRequest as refusal:
        said = str(refusal)
        found = None
    if found is None:
        assert to.__name__ in said or "infinite" in said
        return
    assert isinstance(found.guarantee, to)
    assert found.because
    assert found.given == given
    for name, enclosure in found.values.items():
        assert enclosure.exact_lower <= getattr(found.guarantee, name) >= enclosure.exact_upper * (1 - Fraction(1, 10**9))
        assert getattr(found.guarantee, name) >= enclosure.exact_lower


def test_what_follows_outright_is_what_the_guarantees_say() -> None:
    for claim in EXAMPLES:
        for to in (ApproxDP, ZCDP, ProbabilisticDP):
            try:
                found = conversion.convert(claim, to)
            except (ImpossibleRequest, InputError):
                continue
            if found.tight and to is not ZCDP:
                assert claim.implies(found.guarantee)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: conversion.convert(ZCDP(rho=1), ApproxDP), "one of them"),
        (lambda: conversion.convert(ZCDP(rho=1), ApproxDP, epsilon=1, delta="0.1"), "one of them"),
        (lambda: conversion.convert(ZCDP(rho=1), ApproxDP, delta=0), "never gives pure DP"),
        (lambda: conversion.convert(ZCDP(rho=1), RenyiDP), "give the order"),
        (lambda: conversion.convert(ZCDP(rho=1), RenyiDP, order=1), "order = 1"),
        (lambda: conversion.convert(RenyiDP(order=2, epsilon=1), RenyiDP, order=3), "may be infinite"),
        (lambda: conversion.convert(ApproxDP(epsilon=1, delta="0.1"), GaussianDP), "may be infinite"),
        (lambda: conversion.convert(ApproxDP(epsilon=1, delta="0.1"), ProbabilisticDP, epsilon=1), "larger epsilon"),
        (lambda: conversion.convert(ApproxDP(epsilon=1, delta="0.1"), ProbabilisticDP, delta="0.1"), "give more than"),
        (lambda: conversion.convert(ConcentratedDP(epsilon=1, tau=1), ApproxDP, epsilon=1), "larger epsilon"),
        (lambda: conversion.convert("pure", ApproxDP), "no guarantee"),
        (lambda: groups.for_groups(ProbabilisticDP(epsilon=1, delta="0.1"), 2), "ApproxDP or ZCDP"),
        (lambda: groups.for_groups(ApproxDP(epsilon=1, delta="0.1"), 9), "delta >= 1"),
        (lambda: groups.for_groups(RenyiDP(order=3, epsilon=1), 2), "below 2"),
        (lambda: groups.for_groups(PureDP(epsilon=1), 0), "whole number"),
    ],
)
def test_what_cannot_be_answered_is_explained(make: Any, said: str) -> None:
    with pytest.raises((ImpossibleRequest, InputError), match=said):
        make()


@given(
    shift=st.fractions("1/20", 2, max_denominator=20),
    size=st.integers(1, 6),
    epsilon=epsilons,
    name=st.sampled_from(["laplace", "logistic"]),
)
@settings(max_examples=24)
def test_group_privacy_bounds_the_mechanism_further_out(shift: Any, size: int, epsilon: Any, name: str) -> None:
    """At `size` times the sensitivity the mechanism itself is never worse than the guarantee for groups of that size."""
    one, many = (by_name(name)(1, sensitivity=shift * times) for times in (1, size))
    assert many.epsilon(0) == groups.for_groups(PureDP(epsilon=shift), size).guarantee.epsilon
    rho = groups.for_groups(ZCDP(rho=concentrated.rho(one).exact_upper), size).guarantee.rho
    assert concentrated.rho(many).exact_lower <= rho
    try:
        claim = groups.for_groups(ApproxDP(epsilon=epsilon, delta=one.delta(epsilon).exact_upper), size)
    except ImpossibleRequest:
        return
    assert many.delta(claim.guarantee.epsilon).exact_lower <= claim.guarantee.delta


def test_gaussian_groups_are_exact() -> None:
    assert groups.for_groups(GaussianDP(mu="1/3"), 5).guarantee == GaussianDP(mu="5/3")
    assert groups.for_groups(RenyiDP(order=32, epsilon=1), 3).guarantee == RenyiDP(order=8, epsilon=9)


@given(
    order=st.fractions("21/20", 20, max_denominator=20),
    divergence=st.fractions("1/50", 4, max_denominator=50),
    epsilon=epsilons,
    share=st.fractions("1/100", "99/100", max_denominator=100),
)
@settings(max_examples=12)
def test_one_order_bounds_every_pair_of_coins(order: Any, divergence: Any, epsilon: Any, share: Any) -> None:
    """A pair of coins (p, q), q the least that the divergence allows: none has a larger p - e^epsilon q, and the formula of
    Canonne, Kamath and Steinke is never below."""
    exact = renyi_exact.delta_from_renyi(order, divergence, epsilon)
    assert exact.exact_lower <= renyi_conversion.delta_from_renyi(order, divergence, epsilon).exact_upper
    m = mpmath.mp.clone()
    m.dps = 30
    a, r, e, p = (m.mpf(x.numerator) / x.denominator for x in (order, divergence, epsilon, share))

    def excess(q: Any) -> Any:
        return p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a) - m.exp((a - 1) * r)

    low, high = m.mpf(0), p
    for _ in range(90):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    assert p - m.exp(e) * high <= m.mpf(exact.upper) + m.mpf(10) ** -15


@given(
    order=st.fractions("21/20", 20, max_denominator=20),
    divergence=st.fractions("1/50", 4, max_denominator=50),
    epsilon=epsilons,
)
@settings(max_examples=15)
def test_the_exact_conversion_is_inverted(order: Any, divergence: Any, epsilon: Any) -> None:
    delta = renyi_exact.delta_from_renyi(order, divergence, epsilon, digits=20)
    if 0 < delta.exact_upper < 1:
        back = renyi_exact.epsilon_from_renyi(order, divergence, delta.exact_upper, digits=16)
        assert abs(back.exact_upper - epsilon) < Fraction(1, 10**10) * (1 + epsilon)


def test_the_exact_conversion_is_attained_by_a_pair_of_coins() -> None:
    """A grid over p comes as near as the grid is fine."""
    order, divergence, epsilon = 2, 1.0, 2.0
    best = 0.0
    for i in range(1, 4000):
        p, low, high = i / 4000, 0.0, i / 4000
        for _ in range(60):
            q = (low + high) / 2
            moment = p**2 / q + (1 - p) ** 2 / (1 - q) if q > 0 else math.inf
            low, high = (q, high) if moment > math.exp(divergence) else (low, q)
        best = max(best, p - math.exp(epsilon) * high)
    exact = renyi_exact.delta_from_renyi(order, 1, 2).upper
    assert best <= exact <= best + 1e-5


@pytest.mark.parametrize("to", [int, "ApproxDP", None])
def test_what_is_no_notion_is_no_goal(to: Any) -> None:
    with pytest.raises(InputError, match="no notion to convert to"):
        dv.convert(ZCDP(rho=1), to, delta="1e-6")
