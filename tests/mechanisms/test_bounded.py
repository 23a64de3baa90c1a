"""What every bounded mechanism must do. The registry supplies the families; the routes that check them share no formula."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import acb, arb, fmpq
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dpverify as dv
from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.precision import working_precision
from dpverify.errors import ImpossibleRequest, InputError, NotCovered
from dpverify.mechanisms import by_name, names
from dpverify.mechanisms._bounded import BoundedOutput
from dpverify.mechanisms._gains import FlatGain, InflatedGain, NormaliserGain, PowerGain, TruncatedGain, UtilityGain
from dpverify.mechanisms._inflated import InflatedOutput
from dpverify.mechanisms._power_kernel import PowerKernel
from dpverify.mechanisms._truncated import TruncatedOutput

FAMILIES: list[Any] = [family for family in map(by_name, names()) if issubclass(family, BoundedOutput)]
TRUNCATED = [family for family in FAMILIES if issubclass(family, TruncatedOutput)]
each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
each_truncated = pytest.mark.parametrize("family", TRUNCATED, ids=lambda family: family.name)


def decimals(low: str, high: str) -> st.SearchStrategy[str]:
    """Positive decimal text, uniform in the logarithm."""
    powers = st.floats(math.log10(float(low)), math.log10(float(high)))
    return powers.map(lambda power: f"{10**power:.6e}")


epsilons = decimals("1e-12", "500")
moderate_epsilons = decimals("1e-3", "30")
sensitivities = decimals("1e-9", "1e9")
exponents = st.sampled_from(["1/3", "1/2", "1", "3/2", "2", "5/2", "3", "4", "40"])
ratios = st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(2), Fraction(10), Fraction(10**6), Fraction(10**12)])


def shape(family: Any, p: str) -> dict[str, Any]:
    """The exponent, where the family has one."""
    return {"p": p} if any(one.name == "p" for one in family.parameters) else {}


def member(family: Any, scale: Any, p: str, **rest: Any) -> Any:
    return family(**{family.scale_name: scale}, **shape(family, p), **rest)


def exactly(enclosure: Any) -> tuple[Fraction, Fraction]:
    return enclosure.exact_lower, enclosure.exact_upper


def at_most(mechanism: Any, level: str) -> bool:
    """Whether the level of the mechanism is certainly at most this; False: certainly above it."""
    for digits in (20, 60, 200):
        low, high = exactly(mechanism.epsilon(0, digits=digits))
        if high <= Fraction(level):
            return True
        if low > Fraction(level):
            return False
    raise AssertionError("not told apart at 200 digits")


# The public questions.


@each_family
@given(epsilon=epsilons, p=exponents, sensitivity=sensitivities, ratio=ratios, ball=st.booleans())
@settings(max_examples=12)
def test_the_calibrated_double_is_the_least_that_satisfies(
    family: Any, epsilon: str, p: str, sensitivity: str, ratio: Fraction, ball: bool
) -> None:
    assume(family.name != "exponential-on-box" or p != "40")  # temperatures beyond the doubles
    domain = {"upper": Fraction(sensitivity) * ratio, "adjacency": "l2" if ball else "box"}
    found = family.calibrate(epsilon=epsilon, sensitivity=sensitivity, **domain, **shape(family, p))
    scale = getattr(found, family.scale_name)
    assert isinstance(scale, float)
    assert at_most(found, epsilon)
    assert not at_most(member(family, math.nextafter(scale, 0), p, sensitivity=sensitivity, **domain), epsilon)


@each_family
@pytest.mark.parametrize("adjacency", ["box", "l2"])
@given(
    epsilon=moderate_epsilons,
    p=st.sampled_from(["1/2", "1", "2", "3"]),
    parts=st.lists(decimals("1", "50"), min_size=2, max_size=3),
)
@settings(max_examples=12)
def test_the_least_double_in_several_dimensions(family: Any, adjacency: str, epsilon: str, p: str, parts: list[str]) -> None:
    domain = {"upper": tuple(parts), "adjacency": adjacency}
    found = family.calibrate(epsilon=epsilon, sensitivity="1/2", **domain, **shape(family, p))
    scale = getattr(found, family.scale_name)
    assert at_most(found, epsilon)
    assert not at_most(member(family, math.nextafter(scale, 0), p, sensitivity="1/2", **domain), epsilon)


@each_family
@given(epsilon=moderate_epsilons, p=exponents, ratio=ratios, factor=st.fractions("1/100", 100, max_denominator=100))
@settings(max_examples=20)
def test_scaling_the_domain_scales_the_noise(family: Any, epsilon: str, p: str, ratio: Fraction, factor: Fraction) -> None:
    """Lengths times a factor: the scale times the same factor, the temperature times its p-th power."""
    one = family.bound(epsilon=epsilon, upper=ratio, digits=25, **shape(family, p))
    many = family.bound(epsilon=epsilon, upper=ratio * factor, sensitivity=factor, digits=25, **shape(family, p))
    power = Fraction(p) if family.name == "exponential-on-box" else Fraction(1)
    with working_precision(200):
        expected = BALLS.power(arb(fmpq(factor.numerator, factor.denominator)), arb(fmpq(power.numerator, power.denominator)))
        assert (ball(one) * expected).overlaps(ball(many))


def ball(enclosure: Any) -> arb:
    return arb(enclosure.bounds(40)[0]).union(arb(enclosure.bounds(40)[1]))


@each_family
@given(p=exponents, low=st.fractions(-50, 50, max_denominator=20))
@settings(max_examples=10)
def test_only_lengths_matter(family: Any, p: str, low: Fraction) -> None:
    here = member(family, "3/4", p, upper=5)
    there = member(family, "3/4", p, lower=low, upper=low + 5)
    assert here.epsilon(0).overlaps(there.epsilon(0))
    assert here.mean_squared_error().overlaps(there.mean_squared_error())


@each_family
@given(p=exponents, scales=st.lists(decimals("1e-2", "1e2"), min_size=2, max_size=2, unique=True), ball=st.booleans())
@settings(max_examples=12)
def test_more_noise_is_more_private(family: Any, p: str, scales: list[str], ball: bool) -> None:
    small, large = sorted(scales, key=float)
    domain = {"upper": "7/2", "adjacency": "l2" if ball else "box"}
    assert member(family, large, p, **domain).epsilon(0, digits=30) < member(family, small, p, **domain).epsilon(0, digits=30)


@each_family
@given(p=exponents, scale=decimals("1e-1", "1e1"), more=st.integers(16, 50))
@settings(max_examples=15)
def test_enclosures_nest_with_precision(family: Any, p: str, scale: str, more: int) -> None:
    mechanism = member(family, scale, p, upper=(4, 3), sensitivity=(1, "1/2"))
    assert mechanism.epsilon(0).overlaps(mechanism.epsilon(0, digits=more))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "p"), [(family, p) for family in FAMILIES for p in (["1/2", "1", "3/2", "3"] if shape(family, "1") else ["2"])]
)
@pytest.mark.parametrize(
    ("upper", "sensitivity", "adjacency"), [("5", "1", "box"), ("5", "4", "box"), ("4,3", "1", "l2"), ("2,9", "1,2", "box")]
)
def test_the_second_opinion_agrees(family: Any, p: str, upper: str, sensitivity: str, adjacency: str) -> None:
    asked = {"upper": upper, "sensitivity": sensitivity, "adjacency": adjacency, **shape(family, p)}
    if adjacency == "l2" and p == "3/2" and shape(family, p) and issubclass(family, TruncatedOutput):
        return  # refused: tested below
    first, second = (family.bound(epsilon="3/4", digits=20, arithmetic=name, **asked) for name in ("arb", "mpmath"))
    assert near(first, second, 18)
    mechanism = family(**{family.scale_name: "5/4"}, **asked)
    assert near(mechanism.epsilon(0, digits=20), mechanism.epsilon(0, digits=20, arithmetic="mpmath"), 18)
    assert mechanism.delta(1000, arithmetic="mpmath") == 0
    with pytest.raises(NotCovered):
        mechanism.delta("1e-9", arithmetic="mpmath")


@pytest.mark.parametrize(
    ("family", "asked"),
    [
        (dv.TruncatedGeneralizedGaussian, {"p": "3/2", "upper": "4,3", "adjacency": "l2", "condition": "exponential"}),
        (dv.TruncatedGeneralizedGaussian, {"p": "5", "upper": "4,1/2", "adjacency": "l2", "condition": "utility"}),
        (dv.TruncatedGeneralizedGaussian, {"p": "1/3", "upper": "4,1/2", "adjacency": "l2", "condition": "exponential"}),
        (dv.TruncatedGeneralizedGaussian, {"p": "1/3", "upper": "4,4", "sensitivity": "sqrt(2)", "adjacency": "l2"}),
        (dv.TruncatedGeneralizedGaussian, {"p": "1/3", "upper": "2,4", "sensitivity": "7/4,3", "adjacency": "box"}),
        (dv.TruncatedGeneralizedGaussian, {"p": "5/2", "upper": "4,3", "condition": "utility"}),
        (dv.BoundaryInflatedGeneralizedGaussian, {"p": "1/3", "upper": "4,1/2", "adjacency": "l2"}),
        (dv.BoundaryInflatedGeneralizedGaussian, {"p": "1/2", "upper": "4,4,4", "adjacency": "l2"}),
        (dv.BoundedGaussian, {"upper": "4", "condition": "chen-hale"}),
        (dv.BoundedGaussian, {"upper": "4,3", "sensitivity": "sqrt(2)", "adjacency": "l2", "condition": "chen-hale"}),
        (dv.BoundedGaussian, {"upper": "4,3", "sensitivity": "sqrt(2)", "adjacency": "l2", "condition": "utility"}),
        (dv.BoundedGaussian, {"upper": "4", "sensitivity": "sqrt(2)", "adjacency": "l2"}),
        (dv.BoundedLaplace, {"upper": "4,1/4", "adjacency": "l2", "condition": "exponential"}),
    ],
    ids=str,
)
def test_the_second_opinion_agrees_on_conditions(family: Any, asked: dict[str, str]) -> None:
    first, second = (family.bound(epsilon="3/4", digits=20, arithmetic=name, **asked) for name in ("arb", "mpmath"))
    assert near(first, second, 18)
    mechanism = family(**{family.scale_name: first.upper}, **asked)
    assert near(mechanism.epsilon(0, digits=20), mechanism.epsilon(0, digits=20, arithmetic="mpmath"), 18)
    assert at_most(mechanism, "3/4")


def near(enclosure: Any, value: Any, digits: int) -> bool:
    middle = sum(exactly(enclosure)) / 2
    mantissa, exponent = value.man_exp
    return abs(Fraction(int(mantissa)) * Fraction(2) ** int(exponent) - middle) <= abs(middle) * Fraction(1, 10**digits)


# Routes that share no formula with what is tested.


def kernel_integral(p: fmpq, b: arb, length: fmpq) -> arb:
    """int_0^length exp(-(y/b)^p) dy, rigorously, without gamma functions."""
    if length == 0:
        return arb(0)
    # y = length u^n with whole n and n p makes the integrand an entire function of u.
    n = int(p.q) * math.ceil(2 / int(p.p))
    power, rate = int(n * p), (arb(length) / b) ** arb(p)

    def integrand(u: acb, _: bool) -> acb:
        return n * u ** (n - 1) * (-rate * u**power).exp()

    return length * acb.integral(integrand, acb(0), acb(1)).real


def log_ratio(p: fmpq, b: arb, length: fmpq, first: fmpq, second: fmpq, x: fmpq) -> arb:
    """log of the density at x for true answer `first` over that for `second`, from the definition of the truncated law."""
    normalisers = [kernel_integral(p, b, t) + kernel_integral(p, b, length - t) for t in (first, second)]
    powers = [BALLS.power(abs(arb(x - t)) / b, arb(p)) for t in (first, second)]
    return powers[1] - powers[0] + (normalisers[1] / normalisers[0]).log()


@each_truncated
@given(
    p=st.sampled_from(["1/2", "3/4", "1", "6/5", "3/2", "9/5", "2", "5/2", "3", "5"]),
    b=st.fractions("1/8", 4, max_denominator=16),
    shift=st.fractions("1/20", 1, max_denominator=20),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=15)
def test_no_pair_of_true_answers_is_worse(family: Any, p: str, b: Fraction, shift: Fraction, seed: int) -> None:
    """Random true answers and outputs never exceed the level; the best of many comes near."""
    exact_p = member(family, 1, p, upper=1).exact_p
    rng = random.Random(seed)
    with working_precision(64):
        wide = arb(fmpq(b.numerator, b.denominator))
        scale = (
            wide**exact_p
            if family.name == "exponential-on-box"
            else wide / arb(2).sqrt()
            if family.name == "bounded-gaussian"
            else wide
        )
        mechanism = member(family, Fraction(float(scale)), p, upper=1, sensitivity=shift)
        level = mechanism.epsilon(0).upper
        largest = 0.0
        for _ in range(60):
            d = shift if rng.random() < 0.7 else shift * Fraction(rng.random())
            s = rng.choice([Fraction(0), 1 - d, (1 - d) * Fraction(rng.randrange(33), 32)])
            x = rng.choice([Fraction(0), Fraction(1), s, s + d, Fraction(rng.randrange(33), 32)])
            for pair in ((s, s + d), (s + d, s)):
                places = [fmpq(y.numerator, y.denominator) for y in (*pair, x)]
                found = log_ratio(exact_p, wide, fmpq(1), *places)
                assert float(found.lower()) <= level * (1 + 1e-12) + 1e-12
                largest = max(largest, float(found))
        assert largest > 0.9 * level


@given(b=st.fractions("1/2", 4, max_denominator=16), shift=st.fractions("1/20", 1, max_denominator=20), p=exponents)
@settings(max_examples=16)
def test_inflated_bounds_are_atoms_of_clamped_noise(b: Fraction, shift: Fraction, p: str) -> None:
    """The ratio of the masses that are moved to a bound, by integrals; and no ratio of densities exceeds the level."""
    assume(p != "40")
    exact_p = Fraction(p)
    level = dv.BoundaryInflatedGeneralizedGaussian(b, p, upper=1, sensitivity=shift).epsilon(0, digits=20)
    q, inner = fmpq(exact_p.numerator, exact_p.denominator), 1 - shift
    with working_precision(240):  # differences of integrals
        width = arb(fmpq(b.numerator, b.denominator))
        whole = width * (1 + 1 / arb(q)).gamma()
        far, nearer = (whole - kernel_integral(q, width, fmpq(x.numerator, x.denominator)) for x in (Fraction(1), inner))
        at_a_bound = (nearer / far).log()
        first = (whole / (whole - kernel_integral(q, width, fmpq(shift.numerator, shift.denominator)))).log()
        inside = BALLS.power(arb(fmpq(shift.numerator, shift.denominator)) / width, arb(q))
        expected = at_a_bound if exact_p >= 1 else inside
        assert abs(ball(level) - expected) < arb(10) ** -12 * abs(expected)
        for other in (at_a_bound, first, inside if exact_p < 1 else arb(1) - 1):
            assert other < expected * (1 + arb(10) ** -12)


@given(
    theta=decimals("1e-2", "1e3"),
    p=st.sampled_from(["1/2", "1", "3/2", "2", "3", "6"]),
    length=st.fractions("1/4", 1, max_denominator=8),
)
@settings(max_examples=16)
def test_the_gains_are_concave_where_it_is_claimed(theta: str, p: str, length: Fraction) -> None:
    """Certified second differences; and the slopes, bends and pulls that the searches use are derivatives."""
    exact_p, side = fmpq(*Fraction(p).as_integer_ratio()), fmpq(length.numerator, length.denominator)
    flat, steep = [FlatGain], [InflatedGain, UtilityGain]
    gains: list[Any] = [NormaliserGain, *(flat if exact_p <= 1 else []), *(steep if exact_p >= 1 else [PowerGain])]
    if exact_p >= 2:
        gains.append(TruncatedGain)
    with working_precision(200):
        kernel = PowerKernel(BALLS, exact_p, arb(theta))
        for family in gains:
            cap = side if family is not TruncatedGain or exact_p == 2 else side / 2
            gain = family(kernel, side, cap)
            top = gain.cap
            values = [gain.value(top * k / 8) for k in range(1, 9)]
            for a, b, c in zip(values, values[1:], values[2:], strict=False):
                assert not a + c - 2 * b > 0
            here, step = top * 3 / 8, fmpq(1, 2**60)
            up, down = gain.value(here + step), gain.value(here - step)
            assert alike((up - down) / (2 * step), gain.slope(here))
            assert alike((up + down - 2 * gain.value(here)) / step**2, gain.bend(here))
            thicker = family(PowerKernel(BALLS, exact_p, arb(theta) + step), side, cap).value(here)
            assert alike((thicker - gain.value(here)) / step, gain.pull(here))


def alike(first: arb, second: arb) -> bool:
    return bool(abs(first - second) < arb(10) ** -6 * (1 + abs(second)))


def test_beyond_half_the_length_a_gain_need_not_be_concave() -> None:
    """Why the ball is refused there for p > 2."""
    with working_precision(100):
        gain = TruncatedGain(PowerKernel(BALLS, fmpq(4), arb(1)), fmpq(1), fmpq(1))
        assert gain.bend(fmpq(99, 100)) > 0
        assert gain.bend(fmpq(49, 100)) < 0


def test_for_p_between_one_and_two_the_worst_true_answer_may_lie_inside() -> None:
    mechanism = dv.TruncatedGeneralizedGaussian("1", "3/2", upper=1, sensitivity="1/4")
    with working_precision(80):
        p, b, one, quarter = fmpq(3, 2), arb(1), fmpq(1), fmpq(1, 4)
        at_ends = [log_ratio(p, b, one, s, s + quarter, fmpq(0)) for s in (fmpq(0), one - quarter)]
        inside = log_ratio(p, b, one, fmpq(1, 8), fmpq(3, 8), fmpq(0))
        assert inside > at_ends[0]
        assert inside > at_ends[1]
    assert Fraction(float(inside)) * Fraction(99, 100) < mechanism.epsilon(0).exact_lower


def test_for_p_below_one_the_largest_shift_need_not_be_the_worst() -> None:
    """Beyond half the length more sensitivity may cost nothing."""
    levels = [
        dv.TruncatedGeneralizedGaussian(1, "1/2", upper=1, sensitivity=d).epsilon(0, digits=30) for d in ("0.4", "0.95", "1")
    ]
    assert levels[0] < levels[1]
    assert levels[1].overlaps(levels[2])
    with working_precision(80):
        whole = log_ratio(fmpq(1, 2), arb(1), fmpq(1), fmpq(0), fmpq(1), fmpq(0))
        assert whole < ball(levels[2]) * arb("0.999")


# One law under several names.


@given(scale=decimals("1e-1", "1e1"), ball=st.booleans())
@settings(max_examples=20)
def test_special_cases_agree(scale: str, ball: bool) -> None:
    domain = {"upper": "3,2", "adjacency": "l2" if ball else "box"}
    general, gaussian = dv.TruncatedGeneralizedGaussian, dv.BoundedGaussian
    assert dv.BoundedLaplace(scale, **domain).epsilon(0).overlaps(general(scale, 1, **domain).epsilon(0))
    squared = Fraction(scale) ** 2
    on_box = dv.ExponentialOnBox(squared, 2, **domain)
    assert on_box.epsilon(0).overlaps(general(scale, 2, **domain).epsilon(0))
    assert on_box.mean_squared_error().overlaps(general(scale, 2, **domain).mean_squared_error())
    wide = gaussian.bound(epsilon=1, digits=30, **domain)
    narrow = general.bound(epsilon=1, p=2, digits=30, **domain)
    assert ball_square(wide, 2).overlaps(ball_square(narrow, 1))


def ball_square(enclosure: Any, factor: int) -> arb:
    with working_precision(150):
        return factor * ball(enclosure) ** 2


@each_family
@given(epsilon=moderate_epsilons, p=st.sampled_from(["1/2", "1", "2", "3"]))
@settings(max_examples=10)
def test_a_ball_lies_between_its_inner_and_its_outer_box(family: Any, epsilon: str, p: str) -> None:
    asked = {"epsilon": epsilon, "upper": "4,4", **shape(family, p)}
    outer, within, inner = (
        family.bound(sensitivity=d, adjacency=how, **asked) for d, how in (("5/3", "box"), ("5/3", "l2"), ("1", "box"))
    )
    assert exactly(within)[1] <= exactly(outer)[1]
    assert exactly(inner)[0] <= exactly(within)[0]
    one = {**asked, "upper": "4"}
    assert family.bound(sensitivity=1, adjacency="l2", **one).overlaps(family.bound(sensitivity=1, **one))


@given(epsilon=moderate_epsilons, lengths=st.lists(decimals("1", "20"), min_size=2, max_size=3), part=st.floats(0.05, 0.999))
@settings(max_examples=12)
def test_no_shift_on_the_ball_gains_more(epsilon: str, lengths: list[str], part: float) -> None:
    """Shifts of the right length in random directions, as boxes, against the certified maximum of the bounded Gaussian."""
    radius = part * math.hypot(*map(float, lengths))
    sigma = dv.BoundedGaussian.bound(epsilon=epsilon, upper=tuple(lengths), sensitivity=radius, adjacency="l2").upper
    rng = random.Random(part)
    for _ in range(20):
        direction = [abs(rng.gauss(0, 1)) for _ in lengths]
        norm = math.hypot(*direction)
        shifts = [min(radius * x / norm, float(length)) for x, length in zip(direction, lengths, strict=True)]
        if all(0 < shift <= Fraction(length) for shift, length in zip(shifts, lengths, strict=True)):
            mechanism = dv.BoundedGaussian(sigma, upper=tuple(lengths), sensitivity=tuple(shifts))
            assert mechanism.epsilon(0).lower <= float(epsilon) * (1 + 1e-12)


def test_an_active_box_constraint() -> None:
    """A short side is used up whole: the maximum lies in a corner of the box and the ball."""
    mechanism = dv.BoundedGaussian(1, upper=(4, "1/100"), sensitivity=1, adjacency="l2")
    low, high = mechanism.neighbours()
    assert math.isclose(math.dist(low, high), 1, rel_tol=1e-9)
    used = dv.BoundedGaussian(1, upper=(4, "1/100"), sensitivity=("0.99994999874993749609", "1/100"))
    assert used.epsilon(0).overlaps(mechanism.epsilon(0)) or used.epsilon(0) < mechanism.epsilon(0)
    assert abs(used.epsilon(0).upper - mechanism.epsilon(0).upper) < 1e-3
    whole = dv.BoundedGaussian.bound(epsilon=2, upper=(3, 4), sensitivity=5, adjacency="l2")
    assert whole == Fraction(5, 2)
    assert whole.is_exact


# Sufficient conditions.


@given(epsilon=moderate_epsilons, ratio=ratios, p=exponents)
@settings(max_examples=20)
@each_family
def test_conditions_are_sufficient(family: Any, epsilon: str, ratio: Fraction, p: str) -> None:
    asked = {"epsilon": epsilon, "upper": ratio, **shape(family, p)}
    exact = family.bound(**asked)
    for condition in family.condition.choices:
        try:
            found = family.bound(condition=condition, **asked)
        except NotCovered:
            assert condition == ("liu" if Fraction(p) > 2 else "utility") or Fraction(p) % 1 > 0
            continue
        assert exactly(found)[1] >= exactly(exact)[0]
        assert exactly(family.looseness(condition=condition, **asked))[1] >= 1
        claimed = member(family, found.upper, p, upper=ratio, condition=condition)
        assert at_most(claimed, epsilon)


@pytest.mark.parametrize(
    ("asked", "ratio"),
    [
        ({"sensitivity": "1/4", "condition": "chen-hale"}, "2.196"),
        ({"sensitivity": "0.1", "condition": "liu"}, "2.76"),
        ({"sensitivity": "1/2", "condition": "liu"}, "4.43"),
        ({"sensitivity": "1", "condition": "liu"}, "6"),
    ],
)
def test_how_loose_the_published_conditions_are(asked: dict[str, Any], ratio: str) -> None:
    found = dv.BoundedGaussian.looseness(epsilon=1, upper=1, **asked)
    assert f"{found.upper:.{len(ratio.partition('.')[2])}f}" == ratio


def test_what_the_published_conditions_realise() -> None:
    sigma = dv.BoundedGaussian.bound(epsilon=1, upper=1, sensitivity="1/4", condition="chen-hale").upper
    assert round(dv.BoundedGaussian(sigma, upper=1, sensitivity="1/4").epsilon(0).upper, 3) == 0.407
    assert dv.BoundedGaussian(sigma, upper=1, sensitivity="1/4", condition="chen-hale").epsilon(0) < Fraction("1.0000000001")
    loose = dv.BoundedGaussian.bound(epsilon=1, upper="10,1", sensitivity="0.1,1", condition="chen-hale").upper ** 2
    assert round(loose, 2) == 13.18
    # Equation (7) is not sufficient for inflated bounds.
    b = dv.TruncatedGeneralizedGaussian.bound(epsilon="0.1", p=2, upper=1, condition="liu").upper
    assert round(dv.BoundaryInflatedGeneralizedGaussian(b, 2, upper=1).epsilon(0).upper, 4) == 0.1565


GRAPH = {"lower": "0,1", "upper": "10,9"}
"""Chen & Hale's example: the second Laplacian eigenvalue and the degree of a vertex of a graph."""


@pytest.mark.parametrize(
    ("epsilon", "ball", "wide", "narrow", "published", "liu"),
    [
        ("0.1", "290.897391", "284.587843", "235.018041", "857.518170", "1320"),
        ("1", "32.3427195", "31.7200565", "26.8829409", "84.3844334", "132"),
        ("10", "4.20453021", "4.11392297", "3.53520302", "7.53578773", "13.2"),
    ],
)
def test_the_graph_example(epsilon: str, ball: str, wide: str, narrow: str, published: str, liu: str) -> None:
    """sigma^2 on the ball of radius sqrt(20), on two boxes, and by the published conditions."""
    on_ball = {"sensitivity": "sqrt(20)", "adjacency": "l2"}
    cases: list[tuple[str, dict[str, str]]] = [
        (ball, on_ball),
        (wide, {"sensitivity": "4,2"}),
        (narrow, {"sensitivity": "3,2"}),
        (published, {**on_ball, "condition": "chen-hale"}),
        (liu, {"sensitivity": "4,2", "condition": "liu"}),
    ]
    for printed, asked in cases:
        found = dv.BoundedGaussian.bound(epsilon=epsilon, **asked, **GRAPH).upper ** 2
        assert abs(Fraction(found) - Fraction(printed)) <= Fraction(1, 10 ** len(printed.partition(".")[2])) + Fraction(
            1, 10**12
        )


def test_sigma_is_not_the_error_of_the_release() -> None:
    """A cut of sigma^2 by a third moves the mean squared error of the first coordinate by half a percent."""
    errors = []
    for condition, asked in (("liu", {"sensitivity": "4,2"}), ("chen-hale", {"sensitivity": "sqrt(20)", "adjacency": "l2"})):
        member = dv.BoundedGaussian.calibrate(epsilon="0.1", condition=condition, **asked, **GRAPH)
        errors.append(round(member.mean_squared_error(coordinate=0).upper, 2))
    assert errors == [33.0, 32.82]


def test_compare_like_with_like() -> None:
    """Equation (7) on a long thin box: less noise than Chen & Hale's ball, and not private on that ball."""
    thin = {"upper": "10,1"}
    sigma = dv.BoundedGaussian.bound(epsilon=1, sensitivity="0.1,1", condition="liu", **thin).upper
    assert round(sigma**2, 2) == 5.01
    assert round(dv.BoundedGaussian(sigma, sensitivity="0.1,1", **thin).epsilon(0).upper, 3) == 0.263
    assert round(dv.BoundedGaussian(sigma, sensitivity="sqrt(1.01)", adjacency="l2", **thin).epsilon(0).upper, 3) == 1.611


def test_the_published_fixed_point_iteration_arrives_at_the_same_sigma() -> None:
    """Chen & Hale's condition, iterated from above in floating point."""
    for epsilon, length, d in ((0.1, 1.0, 0.25), (1.0, 1.0, 0.75), (5.0, 10.0, 4.0)):
        sigma = math.sqrt(2 * (length + d / 2) * d / epsilon)
        c = min(d, length / 2)
        for _ in range(200):
            cdfs = [math.erf(x / (sigma * math.sqrt(2))) for x in (length - c, c, length)]
            sigma = math.sqrt((length + d / 2) * d / (epsilon - math.log((cdfs[0] + cdfs[1]) / cdfs[2])))
        found = dv.BoundedGaussian.bound(epsilon=epsilon, upper=length, sensitivity=d, condition="chen-hale")
        assert math.isclose(found.upper, sigma, rel_tol=1e-12)


def test_the_looseness_of_chen_hale_tends_to_its_limit() -> None:
    """3 as epsilon falls for D <= L/2, and 2 + D/L + L/(4 D) above."""
    for d, limit in (
        ("1/4", Fraction(3)),
        ("1/2", Fraction(3)),
        ("3/4", 2 + Fraction(3, 4) + Fraction(1, 3)),
        ("1", Fraction(13, 4)),
    ):
        near_zero = dv.BoundedGaussian.looseness(epsilon="1e-6", upper=1, sensitivity=d, condition="chen-hale")
        assert abs(near_zero.exact_upper - limit) < Fraction(1, 10**4)


@given(epsilon=moderate_epsilons, ratio=st.fractions(1, 50, max_denominator=10))
@settings(max_examples=20)
def test_simple_bounds_on_sigma(epsilon: str, ratio: Fraction) -> None:
    """D L/(2 eps) <= sigma^2 <= D (L - D/2)/eps, the upper one being condition utility."""
    low, high = exactly(dv.BoundedGaussian.bound(epsilon=epsilon, upper=ratio))
    assert ratio / (2 * Fraction(epsilon)) <= high**2 * (1 + Fraction(1, 10**12))
    assert low**2 <= (ratio - Fraction(1, 2)) / Fraction(epsilon)
    simple = exactly(dv.BoundedGaussian.bound(epsilon=epsilon, upper=ratio, condition="utility"))
    assert simple[0] ** 2 <= (ratio - Fraction(1, 2)) / Fraction(epsilon) <= simple[1] ** 2


# Exact answers.


def test_ties_are_exact() -> None:
    whole = dv.BoundedGaussian.bound(epsilon=2, upper=3, sensitivity=3)
    assert whole == Fraction(3, 2)
    assert whole.is_exact
    assert dv.BoundedGaussian("3/2", upper=3, sensitivity=3).epsilon(0) == 2
    assert dv.BoundedGaussian("3/2", upper=3, sensitivity=3).delta(2) == 0
    assert dv.BoundedLaplace.bound(epsilon="1/3", upper=2, sensitivity=2) == 6
    # b = D eps^(-1/p): the length of the domain does not enter, not even through its irrational power.
    assert dv.BoundaryInflatedGeneralizedGaussian.bound(epsilon="1/2", p="1/2", upper=3, sensitivity="1/2") == 2
    assert dv.BoundaryInflatedGeneralizedGaussian(2, "1/2", upper=3, sensitivity="1/2").epsilon(0) == Fraction(1, 2)
    assert dv.BoundaryInflatedGeneralizedGaussian.bound(epsilon=1, p=1, upper="4,4,4,4", sensitivity=1, adjacency="l2") == 2
    assert dv.ExponentialOnBox.bound(epsilon=1, p=3, upper=2, condition="exponential") == 14
    assert dv.ExponentialOnBox.bound(epsilon=1, p=2, upper="3,4", sensitivity=2, adjacency="l2", condition="utility") == 16
    assert dv.TruncatedGeneralizedGaussian.bound(epsilon=7, p=3, upper=1, condition="liu").is_exact is False
    assert dv.TruncatedGeneralizedGaussian.bound(epsilon=14, p=3, upper=1, condition="liu") == 1


@each_family
def test_delta_at_epsilon(family: Any) -> None:
    mechanism = member(family, 1, "2", upper=2)
    level = mechanism.epsilon(0)
    assert mechanism.delta(level.upper) == 0
    assert mechanism.delta(level.upper).is_exact
    assert math.isclose(mechanism.delta(-level.upper).upper, -math.expm1(-level.upper), rel_tol=1e-14)
    with pytest.raises(NotCovered, match=r"certified for pure DP only; ask for delta = 0"):
        mechanism.delta(level.lower / 2)


# Moments.


def direct_moments(mechanism: Any, at: float) -> tuple[float, float, float]:
    """(mass, mean, second moment about `at`) of a release, by quadrature of the density and the atoms."""
    length = float(mechanism.domain.lengths[0].p) / float(mechanism.domain.lengths[0].q)
    p = float(mechanism.exact_p.p) / float(mechanism.exact_p.q)
    theta = float(mechanism.theta()) / length**p
    # Nodes dense about the kink.
    nodes, weights = np.polynomial.legendre.leggauss(200)
    total = np.zeros(3)
    for low, high in itertools.pairwise([0.0, at, length]):
        if high > low:
            u = (nodes + 1) / 2
            y = (high - low) * u**4  # distance from the kink
            x = high - y if high == at and low < at else low + y
            density = np.exp(-theta * np.abs(x - at) ** p)
            w = weights / 2 * (high - low) * 4 * u**3 * density
            total += [w.sum(), (w * x).sum(), (w * (x - at) ** 2).sum()]
    if isinstance(mechanism, InflatedOutput):
        whole = 2 * math.gamma(1 + 1 / p) * theta ** (-1 / p)
        left, right = (part_of_tail(p, theta, side) / whole for side in (at, length - at))
        total = total / whole + [left + right, right * length, left * at**2 + right * (length - at) ** 2]
    return total[0], total[1] / total[0], total[2] / total[0]


def part_of_tail(p: float, theta: float, x: float) -> float:
    with working_precision(60):
        whole = arb(1 + 1 / p).gamma() * arb(theta) ** arb(-1 / p)
        return float(whole * arb(theta * x**p).gamma_upper(arb(1 / p), 1))


@each_family
@pytest.mark.parametrize("p", ["1/2", "1", "3/2", "2", "4"])
@pytest.mark.parametrize("scale", ["1/2", "3"])
def test_moments_are_the_integrals(family: Any, p: str, scale: str) -> None:
    mechanism = member(family, scale, p, upper=3)
    for at in ("0", "1", "3/2", "5/2"):
        _, mean, squared = direct_moments(mechanism, float(Fraction(at)))
        assert math.isclose(mechanism.mean_squared_error(at=at).upper, squared, rel_tol=1e-8)
        variance = squared - (mean - float(Fraction(at))) ** 2
        assert math.isclose(mechanism.variance(at=at).upper, variance, rel_tol=1e-7)
    worst = mechanism.mean_squared_error()
    for k in range(33):
        assert mechanism.mean_squared_error(at=Fraction(3 * k, 32)).exact_lower <= worst.exact_upper


def test_moments_of_several_coordinates() -> None:
    both = dv.BoundedGaussian(2, upper=(10, 8), sensitivity=(4, 2))
    one = dv.BoundedGaussian(2, upper=10, sensitivity=4)
    assert both.mean_squared_error(at=(3, 4), coordinate=0).overlaps(one.mean_squared_error(at=3))
    total = both.mean_squared_error(at=(3, 4)).exact_upper
    parts = [both.mean_squared_error(at=(3, 4), coordinate=k).exact_upper for k in (0, 1)]
    assert abs(total - sum(parts)) < Fraction(1, 10**12)
    with pytest.raises(InputError, match="coordinate = 2: the domain has 2"):
        both.mean_squared_error(coordinate=2)
    with pytest.raises(InputError, match="must lie in the domain"):
        both.mean_squared_error(at=(3, 9))


# Samplers.

TRIALS = 20_000
ALARM = math.sqrt(math.log(2 / 1e-8) / (2 * TRIALS))
"""Dvoretzky-Kiefer-Wolfowitz: the empirical cdf is farther off with probability at most 1e-8, each; about 60 are looked at."""


def cumulative(mechanism: Any, at: fmpq, x: np.ndarray) -> np.ndarray:
    length = mechanism.domain.lengths[0]
    with working_precision(60):
        kernel = PowerKernel(BALLS, mechanism.exact_p, mechanism.theta())
        below = at / length
        return np.array(
            [
                1.0
                if y >= float(arb(length))
                else float(mechanism.cumulative(kernel, below, 1 - below, fmpq(*float(y).as_integer_ratio()) / length - below))
                for y in x
            ]
        )


@each_family
@pytest.mark.parametrize("p", ["1/2", "1", "3"])
@pytest.mark.parametrize("granularity", [None, "1/32"])
def test_samplers_follow_the_law(family: Any, p: str, granularity: str | None) -> None:
    mechanism = member(family, "3/2", p, upper=4)
    draw = mechanism.sampler(granularity=granularity)
    assert draw.exactness == ("ideal-model double" if granularity is None else "exact")
    outputs = draw("5/4", np.random.default_rng(11), TRIALS)
    assert outputs.shape == (TRIALS,)
    assert outputs.min() >= 0
    assert outputs.max() <= 4
    places = np.linspace(0, 4, 65)[:-1]
    if granularity is not None:
        assert set(np.unique(outputs * 32 % 1)) == {0.0}
        places = places + 1 / 64  # the edges between cells
    empirical = np.searchsorted(np.sort(outputs), places, side="right") / TRIALS
    assert np.abs(empirical - cumulative(mechanism, fmpq(5, 4), places)).max() < ALARM


def test_samplers_of_several_coordinates() -> None:
    draw = dv.BoundedGaussian(2, upper=(10, 8), lower=(0, -8), sensitivity=(4, 2)).sampler()
    outputs = draw((3, -4), np.random.default_rng(1), 1000)
    assert outputs.shape == (1000, 2)
    assert (outputs >= [0, -8]).all()
    assert (outputs <= [10, 8]).all()
    with pytest.raises(InputError, match="2 coordinate"):
        draw(3, np.random.default_rng(1), 10)
    with pytest.raises(InputError, match="granularity = 3: it must divide the length"):
        dv.BoundedGaussian(2, upper=(10, 8)).sampler(granularity=3)


@pytest.mark.slow
@pytest.mark.parametrize("family", [dv.BoundedLaplace, dv.BoundaryInflatedGeneralizedGaussian], ids=lambda family: family.name)
def test_the_auditor_refutes_too_small_a_claim_and_not_the_right_one(family: Any) -> None:
    mechanism = member(family, "1/2", "2", upper=2)
    level = mechanism.epsilon(0).upper
    asked = {"inputs": mechanism.neighbours(), "delta": 0, "samples": TRIALS, "seed": 3, "outputs": "reals", "alpha": 1e-6}
    draw = mechanism.sampler()
    assert dv.audit(draw, epsilon=level, **asked).verdict is dv.Verdict.NOT_REFUTED
    assert dv.audit(draw, epsilon=level / 4, **asked).verdict is dv.Verdict.REFUTED


# Refusals.


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"epsilon": 1, "delta": "1e-6", "upper": 2}, NotCovered, "delta = 1e-6.*pure DP only; ask for delta = 0"),
        ({"epsilon": 0, "upper": 2}, ImpossibleRequest, "does not depend on the true answer"),
        ({"epsilon": 1}, InputError, r"needs upper; write BoundedGaussian\(sigma, upper, lower='0'"),
        ({"epsilon": 1, "upper": "1/2"}, InputError, "length 0.5 and cannot be farther apart; give at most 0.5"),
        (
            {"epsilon": 1, "upper": "3,4", "sensitivity": 6, "adjacency": "l2"},
            InputError,
            r"diagonal of the domain is sqrt\(25\)",
        ),
        ({"epsilon": 1, "upper": "3,4", "sensitivity": "1,1,1"}, InputError, "3 coordinates and the domain 2"),
        ({"epsilon": 1, "upper": "3,4", "sensitivity": "1,1", "adjacency": "l2"}, InputError, "one distance; give a number"),
        ({"epsilon": 1, "upper": 3, "sensitivity": "sqrt(2)"}, InputError, "must be rational"),
        ({"epsilon": 1, "upper": 3, "sensitivity": 0}, InputError, "nothing to protect"),
        ({"epsilon": 1, "upper": 3, "lower": 3}, InputError, "the domain is empty; give lower < upper"),
        ({"epsilon": 1, "upper": "3,4", "lower": "0,1,2"}, InputError, "lower has 3 coordinates and upper 2"),
        ({"epsilon": 1, "upper": "3,x"}, InputError, "upper = 'x': this text is not a finite number"),
        ({"epsilon": 1, "upper": []}, InputError, "no number at all"),
        ({"epsilon": 1, "upper": 3, "adjacency": "l1"}, InputError, "choose one of box, l2"),
        ({"epsilon": 1, "upper": 3, "condition": "magic"}, InputError, "choose one of exact, chen-hale"),
        ({"epsilon": 1, "upper": "3,4", "adjacency": "l2", "condition": "liu"}, NotCovered, "bounds each coordinate"),
    ],
)
def test_refusals_say_what_to_do(asked: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        dv.BoundedGaussian.bound(**asked)


def test_refusals_of_the_general_law() -> None:
    general = dv.TruncatedGeneralizedGaussian
    for p, d in (("3/2", 1), ("3", 2)):
        with pytest.raises(NotCovered, match="worst shifts on a ball are certified for p <= 1"):
            general.bound(epsilon=1, p=p, upper="3,3", sensitivity=d, adjacency="l2")
    with pytest.raises(NotCovered, match="printed for whole p"):
        general.bound(epsilon=1, p="5/2", upper=3, condition="liu")
    with pytest.raises(NotCovered, match="false at p = 1"):
        general.bound(epsilon=1, p=1, upper=3, condition="utility")
    with pytest.raises(NotCovered, match="no finite set of dominating pairs"):
        general(1, 2, upper=3).dominating_pairs()
    with pytest.raises(InputError, match="p = 0: it must be positive"):
        general.bound(epsilon=1, p=0, upper=3)


def test_what_is_given_can_be_read_back() -> None:
    mechanism = dv.BoundedGaussian("1/2", upper=(10, 8), sensitivity="sqrt(20)", adjacency="l2")
    assert mechanism.upper == (10, 8)
    assert mechanism.lower == 0
    assert mechanism.sensitivity == "sqrt(20)"
    assert mechanism == dv.BoundedGaussian(0.5, upper="10,8", sensitivity="sqrt(20)", adjacency="l2")
    assert hash(mechanism) == hash(dv.BoundedGaussian(0.5, upper="10,8", sensitivity="sqrt(20)", adjacency="l2"))
    assert mechanism != dv.BoundedGaussian(0.5, upper="10,8", sensitivity=4, adjacency="l2")
    assert "sensitivity='sqrt(20)'" in repr(mechanism)
    assert dv.BoundedGaussian(1, upper="4,4", sensitivity=(1, 2)).sensitivity == (1, 2)


@each_family
def test_every_condition_has_a_formula(family: Any) -> None:
    for condition in family.condition.choices:
        asked = {"epsilon": 1, "delta": 0, "upper": 3, "condition": condition, **shape(family, "3")}
        assert family.solve(**asked).expression.startswith(f"the {family.scale_name} with epsilon = ")


def test_formulas_name_the_condition() -> None:
    asked = {"epsilon": 1, "delta": 0, "upper": 3}
    assert dv.BoundedGaussian.solve(**asked).expression.startswith(
        "the sigma with epsilon = sum over coordinates of D*(2*L - D)"
    )
    assert "(|L| + D/2)*D/sigma^2" in dv.BoundedGaussian.solve(**asked, condition="chen-hale").expression
    assert "/(2*sigma^2)" not in dv.ExponentialOnBox.solve(**asked, p=2, condition="liu").expression
    assert dv.BoundedLaplace.solve(delta=0, scale=1, upper=3).expression.startswith("sum over coordinates of D/scale")
    assert dv.BoundedLaplace.solve(epsilon=9, scale=1, upper=3).expression.startswith("0 if epsilon >= ")
