"""Densities that a user states: the same numbers as the families of the catalogue, and honest refusals.

Every family that the catalogue has in closed form is stated again as a formula and must give values that overlap. Where no
family is known the definition is integrated anew by mpmath.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from flint import arb, fmpq

import dpverify as dv
from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.multiprecision import MultiprecisionArithmetic
from dpverify.arithmetic.precision import working_precision
from dpverify.enclose.effort import LARGEST_EFFORT, limited_effort, spend
from dpverify.enclose.refine import Enclosure
from dpverify.errors import DpverifyError, ImpossibleRequest, InputError, NotCovered, PrecisionError
from dpverify.mechanisms import _density_profile
from dpverify.mechanisms._density_tree import Unbounded, compiled, range_beyond

x = sympy.Symbol("x")
m = mpmath.MPContext()
m.dps = 30

BOX = sympy.Piecewise((sympy.Rational(1, 2), (x >= -1) & (x <= 1)), (0, True))
TENT = sympy.Piecewise((1 - sympy.Abs(x), (x >= -1) & (x <= 1)), (0, True))
HALF_EXPONENTIAL = sympy.Piecewise((sympy.exp(-x), x >= 0), (0, True))

TWINS: dict[str, tuple[Any, Any]] = {
    "laplace": ("exp(-abs(x))/2", dv.Laplace(1)),
    "gaussian": ("exp(-x**2/2)/sqrt(2*pi)", dv.Gaussian(1)),
    "logistic": ("exp(-x)/(1 + exp(-x))**2", dv.Logistic(1)),
    "sech": ("sech(x)/pi", dv.HyperbolicSecant(1)),
    "cube": ("~exp(-abs(x)**3)", dv.GeneralizedGaussian(1, 3)),
    "root": ("~exp(-sqrt(abs(x)))", dv.GeneralizedGaussian(1, "1/2")),
    "cauchy": ("1/(pi*(1 + x**2))", dv.StudentT(1, 1)),
    "student": ("~(1 + x**2/3)^(-2)", dv.StudentT(1, 3)),
    "gumbel": ("exp(-x - exp(-x))", dv.Gumbel(1)),
    "box": (BOX, dv.Uniform(1)),
}
each_twin = pytest.mark.parametrize("twin", list(TWINS))


def custom(name: str, sensitivity: Any = 1, scale: Any = 1) -> Any:
    return dv.CustomNoise(scale, TWINS[name][0], sensitivity=sensitivity)


def family(name: str, sensitivity: Any = 1, scale: Any = 1) -> Any:
    twin = TWINS[name][1]
    shape = {key: value for key, value in twin.exact_parameters.items() if key != type(twin).scale_name}
    return type(twin)(scale, **shape, sensitivity=sensitivity)


def meets(one: Enclosure, other: Enclosure) -> bool:
    """Whether two 15-digit enclosures of the same number overlap and are both narrow."""
    narrow = all(e.exact_upper - e.exact_lower <= Fraction(1, 10**13) * max(abs(e.exact_upper), 1) for e in (one, other))
    return narrow and one.overlaps(other)


@each_twin
@pytest.mark.parametrize("epsilon", ["0", "1/10", "1", "-1/2"])
@pytest.mark.parametrize("sensitivity", ["1"])
def test_the_profile_is_that_of_the_family(twin: str, epsilon: str, sensitivity: str) -> None:
    if (twin, epsilon, sensitivity) == ("root", "1", "1"):  # the largest loss itself: no ball tells 0 from next to nothing
        with pytest.raises(PrecisionError, match="effort"):
            custom(twin, sensitivity).delta(epsilon)
        return
    assert meets(custom(twin, sensitivity).delta(epsilon), family(twin, sensitivity).delta(epsilon))


@each_twin
def test_epsilon_and_scale_are_those_of_the_family(twin: str) -> None:
    delta = "1/10" if twin in ("box", "cauchy", "student") else "1/1000"
    if twin != "box":  # there no epsilon helps below delta(0)
        assert meets(custom(twin).epsilon(delta), family(twin).epsilon(delta))
    shape = {key: value for key, value in TWINS[twin][1].exact_parameters.items() if key in ("p", "nu")}
    ask = {"epsilon": "1/2", "delta": delta, "sensitivity": "7/3"}
    expected = type(TWINS[twin][1]).bound(**ask, **shape)
    assert meets(dv.CustomNoise.bound(**ask, density=TWINS[twin][0]), expected)
    least = dv.CustomNoise.calibrate(**ask, density=TWINS[twin][0])
    assert least.scale in (expected.upper, math.nextafter(expected.upper, math.inf))
    assert least.delta("1/2").exact_upper <= Fraction(delta) + Fraction(1, 10**12)


@pytest.mark.parametrize("name", ["laplace", "logistic", "sech", "gumbel"])
def test_pure_privacy_is_the_limit_of_the_slope(name: str) -> None:
    if name == "gumbel":
        with pytest.raises(NotCovered, match="largest loss"):
            custom(name).epsilon(0)
        return
    assert custom(name, "2/3").epsilon(0) == Fraction(2, 3)
    assert custom(name, "2/3").delta("2/3") == 0
    assert dv.CustomNoise.bound(epsilon="1/2", density=TWINS[name][0]) == 2


@each_twin
def test_moments_are_those_of_the_family(twin: str) -> None:
    noise, other = custom(twin, scale="3/2"), family(twin, scale="3/2")
    if twin == "cauchy":
        with pytest.raises(ImpossibleRequest, match="infinite"):
            noise.variance()
        return
    assert meets(noise.variance(), other.variance())
    if twin == "student":
        return
    assert meets(noise.mean_absolute_moment(1), other.mean_absolute_moment(1))
    assert meets(noise.mean_squared_error(), other.mean_squared_error())


def test_odd_moments() -> None:
    assert custom("laplace").moment(3) == 0
    mean = custom("gumbel").moment(1, digits=20)
    assert abs(m.mpf(mean.decimal(20)) - m.euler) < m.mpf(10) ** -18


@pytest.mark.parametrize("name", ["laplace", "logistic", "gumbel", "student"])
def test_the_second_opinion_agrees(name: str) -> None:
    noise = custom(name, "6/5")
    certified, second = noise.delta("1/3", digits=20), noise.delta("1/3", digits=20, arithmetic="mpmath")
    assert abs(m.mpf(certified.decimal(20)) - m.mpf(second)) < m.mpf(10) ** -16


@pytest.mark.parametrize("name", ["student", "box"])
def test_the_second_opinion_solves_too(name: str) -> None:
    certified = dv.CustomNoise.bound(epsilon="1/3", delta="1/5", density=TWINS[name][0])
    second = dv.CustomNoise.bound(epsilon="1/3", delta="1/5", density=TWINS[name][0], arithmetic="mpmath")
    assert abs(m.mpf(certified.decimal(15)) / m.mpf(second) - 1) < m.mpf(10) ** -12


def by_definition(f: Any, d: Any, eps: Any, points: list[Any]) -> Any:
    """The integral of max(0, f(y - d) - e^eps f(y)); `points` split it at the kinks and roots."""
    return m.quad(lambda y: max(m.mpf(0), f(y - d) - m.exp(eps) * f(y)), points)


def test_a_tent_is_integrated_by_its_definition() -> None:
    noise = dv.CustomNoise(1, TENT, sensitivity="1/2")
    d, eps = m.mpf("0.5"), m.mpf("0.25")

    def tent(y: Any) -> Any:
        return max(m.mpf(0), 1 - abs(y))

    # 1 - (d - y) = e^eps (1 - y) between 0 and d, y - d < 0.
    root = (m.exp(eps) - 1 + d) / (1 + m.exp(eps))
    value = by_definition(tent, d, eps, [m.mpf(0), root, d, m.mpf(1), 1 + d])
    assert abs(m.mpf(noise.delta("1/4", digits=20).decimal(20)) - value) < m.mpf(10) ** -17
    assert noise.properties["log-concave"] == "proved"


def test_one_sided_noise_has_a_delta_of_one_in_one_order() -> None:
    noise = dv.CustomNoise(1, HALF_EXPONENTIAL)
    # What lies below the moved support, only the other neighbour can produce.
    assert meets(noise.delta(1), Enclosure(1 - arb(-1).exp(), digits=15))
    with pytest.raises(ImpossibleRequest, match="only one neighbour can produce"):
        noise.epsilon("1/2")
    assert noise.epsilon("0.99") >= 0
    pair = noise.dominating_pair()
    assert pair.power_moment(fmpq(2)) == arb.pos_inf()
    assert pair.mean_loss() == arb.pos_inf()
    with working_precision(80):
        # The integral of e^{-(y - 1)/2 - y/2} over y > 1.
        assert abs(arb(pair.power_moment(fmpq(1, 2))) - arb(fmpq(-1, 2)).exp()) < arb(10) ** -15


def test_a_heavy_mixture_that_is_unimodal_but_not_log_concave() -> None:
    text = "exp(-abs(x))/4 + exp(-abs(x)/4)/16"
    noise = dv.CustomNoise(1, text, sensitivity=2)
    assert noise.properties == {"symmetric": "proved", "log-concave": "refuted", "unimodal": "proved"}

    def f(y: Any) -> Any:
        return m.exp(-abs(y)) / 4 + m.exp(-abs(y) / 4) / 16

    d = m.mpf(2)

    def passes(eps: Any, low: Any, high: Any) -> Any:
        return m.findroot(lambda y: m.log(f(y - d) / f(y)) - eps, (m.mpf(low), m.mpf(high)), solver="anderson")

    def value(eps: Any, points: list[Any]) -> Any:
        return m.quad(lambda y: f(y - d) - m.exp(eps) * f(y), points)

    # The loss rises from 0 at d/2 to its largest value at d and falls to 1/2.
    low, high = m.mpf(2) / 5, m.mpf(3) / 4
    for eps, text_of_eps, points in (
        (low, "2/5", [passes(low, 1, 2), d, 8, 20, 40, 80, 160, 400]),
        (high, "3/4", [passes(high, 1, 2), d, passes(high, 2, 30)]),
    ):
        assert abs(m.mpf(noise.delta(text_of_eps).decimal(15)) - value(eps, points)) < m.mpf(10) ** -13


@pytest.mark.parametrize(
    ("low", "high", "body"),
    [
        (None, None, x**2 * sympy.exp(-(x**2))),
        (None, None, sympy.tanh(x) ** 2 * sympy.exp(-(x**2))),
        (-1, 1, x**2),
        (0, 1, (x - sympy.Rational(1, 2)) ** 2),
    ],
)
def test_a_zero_between_two_hills_is_not_log_concave(low: int | None, high: int | None, body: Any) -> None:
    # (log f)'' <= 0 holds left and right of the zero, where log f is -infinity.
    density = body if low is None else sympy.Piecewise((body, (x >= low) & (x <= high)), (0, True))
    noise = dv.CustomNoise(1, dv.CustomNoise.proportional_to(density))
    assert noise.properties["log-concave"] == noise.properties["unimodal"] == "not shown"
    with pytest.raises(NotCovered, match="worst shift need not be the sensitivity"):
        noise.delta("1/2")


def test_the_divergence_around_a_zero_is_that_of_the_definition() -> None:
    """2 x^2 e^(-x^2)/sqrt(pi) moved by 1: the loss exceeds 1/2 left and right of the zero of the other density."""
    noise = dv.CustomNoise(1, "~x**2*exp(-x**2)")
    factor = 2 / m.sqrt(m.pi)

    def f(y: Any) -> Any:
        return factor * y**2 * m.exp(-(y**2))

    def gap(y: Any) -> Any:
        return f(y - 1) - m.exp(m.mpf(1) / 2) * f(y)

    ends = [m.findroot(gap, bracket, solver="anderson") for bracket in ((-0.7, -0.3), (0.2, 0.5), (1.5, 2))]
    value = m.quad(gap, [ends[0], 0, ends[1]]) + m.quad(gap, [ends[2], 4, 8, 16])
    assert abs(m.mpf(noise.pair_delta(1, "1/2", digits=12).decimal(12)) - value) < m.mpf(10) ** -11


def test_a_zero_at_the_end_of_the_support_may_be_log_concave() -> None:
    for body in (x**2, sympy.sqrt(1 - x**2), 2 + x - x**2):
        density = sympy.Piecewise((body, (x >= 0) & (x <= 1)), (0, True))
        assert dv.CustomNoise(1, dv.CustomNoise.proportional_to(density)).properties["log-concave"] == "proved"


def test_numbers_of_hundreds_of_digits_do_not_start_exact_algebra() -> None:
    noise = dv.CustomNoise(1, "~exp(-x**2) + 10**-400*exp(-abs(x))")  # to factor its bend exactly took minutes
    assert noise.properties["log-concave"] != "proved"


def test_two_peaks_answer_for_one_shift_only() -> None:
    noise = dv.CustomNoise(1, "~exp(-(x - 2)**2/2) + exp(-(x + 2)**2/2)")
    with pytest.raises(NotCovered, match="pair_delta"):
        noise.delta(1)
    with pytest.raises(NotCovered, match="worst shift"):
        noise.dominating_pair()

    def f(y: Any) -> Any:
        return (m.exp(-((y - 2) ** 2) / 2) + m.exp(-((y + 2) ** 2) / 2)) / (2 * m.sqrt(2 * m.pi))

    d, eps = m.mpf(2), m.mpf(1) / 2
    grid = [m.mpf(k) / 8 for k in range(-96, 129)]
    roots = []
    for low, high in itertools.pairwise(grid):
        ends = [m.log(f(y - d) / f(y)) - eps for y in (low, high)]
        if ends[0] * ends[1] < 0:
            roots.append(m.findroot(lambda y: m.log(f(y - d) / f(y)) - eps, (low, high), solver="anderson"))
    value = by_definition(f, d, eps, [-12, *roots, 16])
    found = noise.pair_delta(2, "1/2")
    assert abs(m.mpf(found.decimal(15)) - value) < m.mpf(10) ** -12
    # The reflection identity: D(e^-eps) = 1 - e^-eps + e^-eps D'(e^eps), the pair being symmetric.
    back = noise.pair_delta(2, "-1/2")
    assert abs(m.mpf(back.decimal(15)) - (m.exp(-eps) * value + 1 - m.exp(-eps))) < m.mpf(10) ** -12


def test_pair_delta_of_what_is_known_is_the_profile() -> None:
    assert meets(custom("laplace").pair_delta(2, "1/3"), dv.Laplace(1, sensitivity=2).delta("1/3"))
    assert meets(custom("gumbel").pair_delta(1, "1/3"), dv.Gumbel(1).delta("1/3"))
    assert custom("box").pair_delta(5, 1) == 1


@pytest.mark.parametrize("name", ["laplace", "logistic", "sech", "gumbel", "student"])
def test_the_pair_answers_as_the_family_does(name: str) -> None:
    one, other = custom(name, "6/5").dominating_pair(), family(name, "6/5").dominating_pair()
    with working_precision(80):
        for eps in (fmpq(1, 5), fmpq(-1, 5)):
            for question in ("hockey_stick", "loss_tail"):
                apart = arb(getattr(one, question)(eps)) - arb(getattr(other, question)(eps))
                turned = arb(getattr(one.reversed(), question)(eps)) - arb(getattr(other, question)(eps))
                assert min(abs(apart).upper(), abs(turned).upper(), key=float) < arb(10) ** -10
        for order in (fmpq(1, 2), fmpq(3, 2)):
            if name == "gumbel" and order > 1:  # which order is called the first is free
                continue
            expected = arb(other.power_moment(order))
            assert abs(arb(one.power_moment(order)) - expected) < arb(10) ** -10
        assert one.power_moment(fmpq(1)) == 1


def test_the_largest_loss() -> None:
    assert custom("laplace", "6/5").dominating_pair().loss_limit() == fmpq(6, 5)
    assert custom("gaussian").dominating_pair().loss_limit() == arb.pos_inf()
    assert custom("box").dominating_pair().loss_limit() == arb.pos_inf()
    with pytest.raises(NotCovered, match="largest privacy loss"):
        custom("student").dominating_pair().loss_limit()


def test_notions_take_stated_densities() -> None:
    noise, twin = custom("laplace", "6/5"), family("laplace", "6/5")
    with working_precision(80):
        assert abs(arb(noise.dominating_pair().mean_loss()) - arb(twin.dominating_pair().mean_loss())) < arb(10) ** -15


def test_the_cdf_and_the_density_are_those_of_the_family() -> None:
    for name in ("laplace", "gumbel", "sech"):
        with working_precision(80):
            for point in (fmpq(-3, 2), fmpq(0), fmpq(5, 4)):
                at = arb(point)
                assert abs(custom(name).cdf(BALLS, at) - family(name).cdf(BALLS, at)) < arb(10) ** -18
                assert abs(custom(name).log_density(BALLS, at) - family(name).log_density(BALLS, at)) < arb(10) ** -18
    with pytest.raises(NotCovered, match="balls only"):
        custom("laplace").cdf(MultiprecisionArithmetic(30), 1)


def test_the_loss_is_an_expression() -> None:
    loss = dv.CustomNoise(2, "exp(-x**2/2)/sqrt(2*pi)", sensitivity=3).privacy_loss
    y = next(iter(loss.free_symbols))
    # (y^2 - (y - 3)^2)/8
    assert sympy.simplify(loss - (6 * y - 9) / 8) == 0


@pytest.mark.parametrize(
    ("density", "kind", "words"),
    [
        (3, InputError, "SymPy expression"),
        ("exp(-abs(x))", InputError, r"integrates to|integral"),
        ("exp(-abs(y))/2", InputError, "not known"),
        ("exp(-abs(x)/2", InputError, "no formula"),
        ("__import__('os')", InputError, "not known"),
        ("x.real", InputError, "not known"),
        ("floor(x)", InputError, "not known"),
        ("x**20000", InputError, "exponent"),
        ("1" * 10_001, InputError, "characters"),
        ("~x*exp(-x**2)", InputError, "negative"),
        ("~1/(1 + abs(x))", DpverifyError, "tail"),
        ("~exp(x)", DpverifyError, "tail"),
        (sympy.Symbol("a") * x, InputError, "exactly one free symbol"),
        (sympy.Integer(1), InputError, "exactly one free symbol"),
        (sympy.exp(-0.5 * x**2), InputError, "not exact"),
        (sympy.besselj(0, x) ** 2, InputError, "not known"),
        ("~exp(-abs(x**2 - 1))", InputError, "kinks"),
        (sympy.Piecewise((1, x >= 0), (2, True)), InputError, "Piecewise"),
        (1 + sympy.Piecewise((1, x >= 0), (0, True)), InputError, "Piecewise"),
        (sympy.Piecewise((1, sympy.Or(x < -1, x > 1)), (0, True)), InputError, "no interval"),
        (sympy.Piecewise((1, (x >= 0) & (x <= sympy.sqrt(2))), (0, True)), InputError, "not rational"),
        ("", InputError, "no formula"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_is_no_density_is_refused_by_name(density: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        dv.CustomNoise(1, density).delta(1)


def test_proportional_to() -> None:
    law = dv.CustomNoise.proportional_to("exp(-abs(x))")
    assert dv.CustomNoise(1, law) == dv.CustomNoise(1, "~exp(-abs(x))")
    assert hash(law) == hash(dv.CustomNoise.proportional_to("exp(-abs(x))"))
    assert str(law).startswith("~ ")
    assert meets(dv.CustomNoise(1, law).delta(1), dv.Laplace(1).delta(1))
    same = dv.CustomNoise(1, sympy.exp(-sympy.Abs(x)) / 2)
    assert meets(same.delta(1), dv.Laplace(1).delta(1))


def test_impossible_requests() -> None:
    with pytest.raises(ImpossibleRequest, match="no noise hides everything"):
        dv.CustomNoise.bound(epsilon=0, density=TWINS["laplace"][0])
    with pytest.raises(ImpossibleRequest, match="support ends"):
        dv.CustomNoise.bound(epsilon=1, density=BOX)
    with pytest.raises(NotCovered, match="infinite or not known"):
        dv.CustomNoise.bound(epsilon=1, density=TWINS["gaussian"][0])
    with pytest.raises(InputError):
        custom("laplace").pair_delta(0, 1)


def spend_all() -> None:
    for _ in range(LARGEST_EFFORT):
        spend()


def test_the_effort_of_one_question_is_limited() -> None:
    with limited_effort(), limited_effort(), pytest.raises(PrecisionError, match="effort"):
        spend_all()
    spend()  # free outside


def test_ranges_beyond_a_point_hold_the_values() -> None:
    y = sympy.Symbol("x", real=True)
    half = sympy.Rational(1, 2)
    known = [y**2 - 3, 1 / y, sympy.exp(-y), sympy.tanh(y), sympy.sinh(y), sympy.log(y), sympy.atan(y), sympy.cosh(y - 4)]
    known += [sympy.sech(y - 4), sympy.Abs(y - 5), (y - 5) ** 2, y**-half, sympy.sqrt(y), -(y**3), (y + 5) ** -2, sympy.pi * y]
    for expression in [*known, (-y) ** -3, sympy.Abs(-y)]:
        with working_precision(80):
            low, high = range_beyond(expression, arb(2))
            for point in np.linspace(2, 40, 30):
                value = compiled(expression)(BALLS, arb(float(point)))
                assert not value < low
                assert not value > high
    for expression in (sympy.log(y - 5), sympy.erf(y), y**y, (y - 5) ** half, (y - 5) ** -half):
        with pytest.raises(Unbounded):
            range_beyond(expression, arb(2))


def test_a_threshold_on_a_double_is_found() -> None:
    """The loss of exp(-x^4) at d = 1 is 1 exactly at x = 1, and the search for it passes balls around 0."""
    noise = dv.CustomNoise(1, "~exp(-x**4)")
    scale = 2 * m.gamma(m.mpf(5) / 4)
    value = m.quad(lambda y: m.exp(-((y - 1) ** 4)) - m.e * m.exp(-(y**4)), [1, 2, 3, 5]) / scale
    assert abs(m.mpf(noise.delta(1, digits=20).decimal(20)) - value) < m.mpf(10) ** -18


def test_the_reflection_identity_and_enclosures_that_nest() -> None:
    noise = custom("sech", "6/5")
    with working_precision(120):
        eps = arb(fmpq(1, 3))
        front, back = (arb(noise.delta(value, digits=25).bounds(30)[0]) for value in ("1/3", "-1/3"))
        assert abs((-eps).exp() * front - (-eps).expm1() - back) < arb(10) ** -23
    wide, narrow = noise.delta("1/3", digits=10), noise.delta("1/3", digits=30)
    assert wide.exact_lower <= narrow.exact_lower <= narrow.exact_upper <= wide.exact_upper


def test_the_least_scale_is_linear_in_the_sensitivity() -> None:
    one = dv.CustomNoise.bound(epsilon="1/3", delta="1/100", density=TWINS["cube"][0], sensitivity="7/5", digits=20)
    two = dv.CustomNoise.bound(epsilon="1/3", delta="1/100", density=TWINS["cube"][0], sensitivity="7/5000", digits=20)
    assert abs(two.exact_upper * 1000 / one.exact_upper - 1) < Fraction(1, 10**17)


def gallop() -> None:
    law = dv.CustomNoise(1, density="exp(-x-exp(-x))").exact_parameters["density"]
    for _ in range(LARGEST_EFFORT // 1000):
        _density_profile.loss(law, arb(2) ** 4000, arb(1))


def test_a_search_that_gallops_far_out_is_refused_soon() -> None:
    """Exponentials of numbers with thousands of bits before the point count by their length."""
    gallop()  # free outside
    with limited_effort(), pytest.raises(PrecisionError, match="effort"):
        gallop()


@pytest.mark.parametrize("name", ["gumbel", "laplace", "box"])
def test_both_tails_count(name: str) -> None:
    noise, other = custom(name, scale="3/2"), family(name, scale="3/2")
    assert meets(noise.tail_probability("3/4"), other.tail_probability("3/4"))
    assert meets(noise.tail_bound("1/3"), other.tail_bound("1/3"))
    assert noise.tail_bound(1) == 0


def test_fisher_information() -> None:
    assert meets(custom("gumbel").fisher_information(), dv.Gumbel(1).fisher_information())
    assert meets(custom("gaussian", scale=2).fisher_information(), dv.Gaussian(2).fisher_information())
    with pytest.raises(NotCovered, match="kinks"):
        custom("laplace").fisher_information()
