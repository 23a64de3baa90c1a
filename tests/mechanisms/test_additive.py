"""What every additive mechanism must do. The registry supplies the families: a new one is tested without an edit here."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import acb, arb, fmpq
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dpverify as dv
from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.precision import working_precision
from dpverify.errors import ImpossibleRequest, InputError, NotStated
from dpverify.mechanisms import by_name, class_names, names
from dpverify.mechanisms._additive import AdditiveNoise
from dpverify.mechanisms._unimodal import UnimodalNoise
from dpverify.mechanisms.custom_noise import CustomNoise


class Shaped:
    """A family with its shape parameters filled in, so that it is called as one that has none."""

    def __init__(self, family: Any, shape: dict[str, str]) -> None:
        self.family = family
        self.shape = shape

    def __call__(self, scale: Any, *, sensitivity: Any = 1) -> Any:
        return self.family(scale, **self.shape, sensitivity=sensitivity)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.family, name)

    def __str__(self) -> str:
        return "-".join([self.family.name, *(f"{name}={value.replace('/', ':')}" for name, value in self.shape.items())])

    def bound(self, **asked: Any) -> Enclosure:
        return self.family.bound(**asked, **self.shape)

    def calibrate(self, **asked: Any) -> Any:
        return self.family.calibrate(**asked, **self.shape)


FAMILIES = [
    Shaped(family, shape)
    for family in map(by_name, names())
    if issubclass(family, AdditiveNoise) and family is not CustomNoise  # integrals take long; test_custom_noise.py is theirs
    for shape in family.typical_shapes()
]
each_family = pytest.mark.parametrize("family", FAMILIES, ids=str)
# For what takes long: the examples are spread over the families.
any_family = st.sampled_from(FAMILIES)
# Those whose loss is monotone with a closed threshold, and whose density is symmetric and smooth off 0.
HALF_LINE = [shaped for shaped in FAMILIES if not issubclass(shaped.family, UnimodalNoise)]
each_half_line_family = pytest.mark.parametrize("family", HALF_LINE, ids=str)


def decimals(low: str, high: str) -> st.SearchStrategy[str]:
    """Positive decimal text, uniform in the logarithm."""
    powers = st.floats(math.log10(float(low)), math.log10(float(high)))
    return powers.map(lambda power: f"{10**power:.6e}")


moderate = decimals("1e-3", "30")
epsilons = decimals("1e-12", "500")
deltas = decimals("1e-300", "0.999")
sensitivities = decimals("1e-9", "1e9")


def exactly(enclosure: Enclosure) -> tuple[Fraction, Fraction]:
    return enclosure.exact_lower, enclosure.exact_upper


def is_possible(family: Any, epsilon: str, delta: str) -> bool:
    if float(delta) > 0:
        return True
    try:  # the largest loss at a scale that is as good as infinite
        return bool(family("1e30").epsilon(0) <= float(epsilon))
    except ImpossibleRequest:
        return False


def at_most(family: Any, scale: float, epsilon: str, delta: str, sensitivity: str) -> bool:
    """Whether the profile at this scale is certainly at most delta; False: certainly above it."""
    noise = family(scale, sensitivity=sensitivity)
    for digits in (20, 60, 200, 900):
        low, high = exactly(noise.delta(epsilon, digits=digits))
        if high <= Fraction(delta):
            return True
        if low > Fraction(delta):
            return False
    raise AssertionError("not told apart at 900 digits")


@given(family=any_family, epsilon=epsilons, delta=deltas | st.just("0"), sensitivity=sensitivities)
@settings(max_examples=60)
def test_the_calibrated_double_is_the_least_that_satisfies(family: Any, epsilon: str, delta: str, sensitivity: str) -> None:
    assume(is_possible(family, epsilon, delta))
    scale = getattr(family.calibrate(epsilon=epsilon, delta=delta, sensitivity=sensitivity), family.scale_name)
    assert isinstance(scale, float)
    assert at_most(family, scale, epsilon, delta, sensitivity)
    assert not at_most(family, math.nextafter(scale, 0), epsilon, delta, sensitivity)


@each_family
def test_a_scale_one_ulp_smaller_is_seen_to_fail(family: Any) -> None:
    scale = getattr(family.calibrate(epsilon=1, delta="1e-6"), family.scale_name)
    assert not at_most(family, math.nextafter(scale, 0), "1", "1e-6", "1")


class LogisticByRoots(dv.Logistic):
    """A family whose loss is bounded and whose profile nobody has inverted."""

    __slots__ = ()

    def shift_for(self, m: Any, eps: Any, delta: Any) -> None:
        return None

    def epsilon_for(self, m: Any, delta: Any, d: Any) -> None:
        return None


@pytest.mark.parametrize("arithmetic", ["arb", "mpmath"])
@pytest.mark.parametrize("delta", ["1e-300", "1e-6", "0.3"])
@pytest.mark.parametrize("epsilon", ["0", "1e-12", "1", "500"])
def test_a_bounded_loss_needs_no_closed_inverse(epsilon: str, delta: str, arithmetic: str) -> None:
    asked = {"epsilon": epsilon, "delta": delta, "arithmetic": arithmetic}
    scale, found = (family.bound(**asked) for family in (dv.Logistic, LogisticByRoots))
    at = dv.Logistic.calibrate(epsilon=epsilon, delta=delta).scale
    least, level = (family(at).epsilon(delta, arithmetic=arithmetic) for family in (dv.Logistic, LogisticByRoots))
    if arithmetic == "arb":
        assert found.overlaps(scale)
        assert level.overlaps(least)
        assert found.decimal(15) == scale.decimal(15)
    else:
        assert abs(found - scale) <= abs(scale) * 1e-14
        assert abs(level - least) <= abs(least) * 1e-14


def test_profiles_on_arrays_are_quiet_where_the_loss_ends() -> None:
    epsilons = [-3.0, -1.0, 1.0, 3.0]
    assert LogisticByRoots(1).profile_array(epsilons)[2:].tolist() == [0.0, 0.0]


@given(family=any_family, epsilon=decimals("1e-6", "100"), delta=deltas, sensitivity=sensitivities)
@settings(max_examples=40)
def test_the_three_questions_agree(family: Any, epsilon: str, delta: str, sensitivity: str) -> None:
    scale = family.bound(epsilon=epsilon, delta=delta, sensitivity=sensitivity, digits=30)
    loose, tight = (family(end, sensitivity=sensitivity) for end in (scale.exact_lower, scale.exact_upper))
    assert tight.delta(epsilon, digits=40).exact_lower <= Fraction(delta) <= loose.delta(epsilon, digits=40).exact_upper
    assert tight.epsilon(delta, digits=40).exact_lower <= Fraction(epsilon)
    if loose.delta(epsilon).overlaps(loose.delta(2 * Fraction(epsilon))):
        return  # noise of bounded support, where delta no longer depends on epsilon
    assert Fraction(epsilon) <= loose.epsilon(delta, digits=40).exact_upper


@given(
    family=any_family,
    shift=moderate,
    points=st.lists(st.fractions(-40, 40, max_denominator=64), min_size=3, max_size=3, unique=True),
)
@settings(max_examples=120)
def test_the_profile_falls_and_is_convex_in_exp_epsilon(family: Any, shift: str, points: list[Fraction]) -> None:
    low, middle, high = sorted(points)
    noise = family(1, sensitivity=shift)
    first, second, third = (noise.delta(point, digits=30) for point in (low, middle, high))
    assert first.exact_upper >= second.exact_lower
    assert second.exact_upper >= third.exact_lower
    assert third.exact_upper >= 0
    assert first.exact_lower <= 1
    # The second value lies on or under the chord, with e^epsilon as the abscissa.
    a, b, c = (Fraction(str(math.exp(float(point)))) for point in (low, middle, high))
    assume(b - a > c / 10**9)
    assume(c - b > c / 10**9)
    chord = (first.exact_upper * (c - b) + third.exact_upper * (b - a)) / (c - a)
    assert second.exact_lower <= chord + Fraction(1, 10**12)


@each_family
@given(shift=moderate, epsilon=st.fractions(-40, 40, max_denominator=64))
def test_the_reflection_identity(family: Any, shift: str, epsilon: Fraction) -> None:
    noise = family(1, sensitivity=shift)
    here, mirrored = noise.delta(epsilon, digits=40), noise.delta(-epsilon, digits=40)
    with working_precision(200):
        factor = (-arb(fmpq(epsilon.numerator, epsilon.denominator))).exp()
        expected = 1 - factor + factor * between(here)
        assert expected.overlaps(between(mirrored))


def between(enclosure: Enclosure) -> arb:
    """The enclosure as a ball."""
    return arb(enclosure.bounds(60)[0]).union(arb(enclosure.bounds(60)[1]))


@given(
    family=any_family,
    epsilon=epsilons,
    delta=deltas,
    sensitivity=sensitivities,
    factor=st.fractions("1/1000", 1000, max_denominator=1000),
)
@settings(max_examples=32)
def test_the_least_scale_is_linear_in_the_sensitivity(
    family: Any, epsilon: str, delta: str, sensitivity: str, factor: Fraction
) -> None:
    one = family.bound(epsilon=epsilon, delta=delta, sensitivity=sensitivity, digits=30)
    many = family.bound(epsilon=epsilon, delta=delta, sensitivity=Fraction(sensitivity) * factor, digits=30)
    assert one.exact_lower * factor <= many.exact_upper
    assert many.exact_lower <= one.exact_upper * factor


@given(family=any_family, epsilon=st.fractions(-5, 20, max_denominator=100), shift=moderate, more=st.integers(16, 60))
@settings(max_examples=80)
def test_enclosures_nest_with_precision(family: Any, epsilon: Fraction, shift: str, more: int) -> None:
    noise = family(1, sensitivity=shift)
    wide, narrow = noise.delta(epsilon), noise.delta(epsilon, digits=more)
    assert narrow.overlaps(wide)
    assert narrow.exact_upper - narrow.exact_lower <= max(wide.exact_upper - wide.exact_lower, Fraction(1, 10**10000))


@each_half_line_family
@given(epsilon=st.fractions("1/100", 20, max_denominator=100), shift=decimals("1e-2", "12"))
@settings(max_examples=12)
def test_the_profile_is_the_hockey_stick_integral(family: Any, epsilon: Fraction, shift: str) -> None:
    """The integral of max(0, p - e^eps q), rigorously, over the half line where p > e^eps q, against the closed form."""
    noise = family(1, sensitivity=shift)
    eps, d = fmpq(epsilon.numerator, epsilon.denominator), noise.exact_sensitivity
    if family.loss_slope is not None and eps >= d * family.loss_slope:
        assert noise.delta(epsilon) == 0
        return
    with working_precision(120):
        threshold = noise.threshold(BALLS, arb(eps), arb(d)).mid()
        edge = arb(max(float(threshold), float(arb(d))) + 60)

        def excess(x: acb, _: bool) -> acb:
            return density(noise, x - arb(d)) - arb(eps).exp() * density(noise, x)

        pieces = [threshold, *([arb(d)] if arb(d) > threshold else []), edge]
        total = sum((acb.integral(excess, acb(a), acb(b)).real for a, b in itertools.pairwise(pieces)), arb(0))
        closed = between(noise.delta(epsilon, digits=30))
        # The rest beyond `edge` is below e^-59, and a threshold rounded to its midpoint moves the integral by less.
        assert abs(total - closed) < arb(10) ** -25


def density(noise: AdditiveNoise, x: acb) -> acb:
    """The density at a complex point whose real part does not cross 0, for rigorous integration."""
    family = type(noise)

    class Holomorphic:
        """The few functions that log densities use, on complex balls; |x| is +-x away from 0."""

        def __getattr__(self, name: str) -> Any:
            return getattr(BALLS, name)

        def abs(self, value: acb) -> acb:
            return value if value.real > 0 or value.real.mid() > 0 else -value

        def log1p(self, value: acb) -> acb:
            return value.log1p()

        def exp(self, value: acb) -> acb:
            return value.exp()

    return family.log_density(noise, Holomorphic(), x).exp()  # type: ignore[arg-type]


@given(family=st.sampled_from(HALF_LINE), epsilon=moderate, delta=decimals("1e-200", "0.9"), sensitivity=sensitivities)
@settings(max_examples=16)
def test_the_second_opinion_agrees(family: Any, epsilon: str, delta: str, sensitivity: str) -> None:
    asked = {"epsilon": epsilon, "delta": delta, "sensitivity": sensitivity}
    first, second = family.bound(**asked, digits=30), family.bound(**asked, digits=30, arithmetic="mpmath")
    assert near(first, second)
    noise = family(1, sensitivity=epsilon)
    for value in (epsilon, "-0.5", "0"):
        assert near(noise.delta(value, digits=30), noise.delta(value, digits=30, arithmetic="mpmath"))
    assert near(noise.epsilon(delta, digits=30), noise.epsilon(delta, digits=30, arithmetic="mpmath"))


@pytest.mark.parametrize("family", [shaped for shaped in FAMILIES if shaped not in HALF_LINE], ids=str)
def test_the_second_opinion_agrees_where_thresholds_are_roots(family: Any) -> None:
    asked = {"epsilon": "0.7", "delta": "0.03", "sensitivity": "2"}
    assert near(family.bound(**asked, digits=30), family.bound(**asked, digits=30, arithmetic="mpmath"))
    noise = family("1.7", sensitivity="1.3")
    for value in ("0.4", "-0.5", "0"):
        assert near(noise.delta(value, digits=30), noise.delta(value, digits=30, arithmetic="mpmath"))


def near(enclosure: Enclosure, value: Any) -> bool:
    middle = (enclosure.exact_lower + enclosure.exact_upper) / 2
    mantissa, exponent = value.man_exp
    exact = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return abs(exact - middle) <= abs(middle) * Fraction(1, 10**28)


@each_family
@given(shift=decimals("1e-1", "20"))
def test_arrays_are_near_the_certified_values(family: Any, shift: str) -> None:
    noise = family(1, sensitivity=shift)
    epsilons = np.array([[-30.0, -1.0, 0.0], [0.25, 1.0, 30.0]])
    values = noise.profile_array(epsilons)
    assert values.shape == epsilons.shape
    certified = [[noise.delta(float(value)).upper for value in row] for row in epsilons]
    assert np.allclose(values, certified, rtol=1e-9, atol=1e-12)


@each_family
def test_arrays_refuse_nan(family: Any) -> None:
    with pytest.raises(InputError, match="finite"):
        family(1).profile_array([1.0, math.nan])


@each_half_line_family
@pytest.mark.parametrize("order", [1, 2, 3, 4, 7])
def test_moments_are_the_integrals(family: Any, order: int) -> None:
    noise = family(3)
    with working_precision(120):
        parts = [acb(0), acb(2), acb(90)]
        half = sum(
            (acb.integral(lambda x, _: x**order * density(noise, x), a, b).real for a, b in itertools.pairwise(parts)),
            arb(0),
        )
        stated = between(noise.mean_absolute_moment(order, digits=30))
        assert abs(2 * half * 3**order / stated - 1) < arb(10) ** -24
    if order % 2:
        assert noise.moment(order) == 0
    else:
        assert noise.moment(order).overlaps(noise.mean_absolute_moment(order))


def test_variances() -> None:
    laplace, logistic, gaussian = (by_name(name)("1/2") for name in ("laplace", "logistic", "gaussian"))
    assert laplace.variance() == Fraction(1, 2)
    assert gaussian.variance() == Fraction(1, 4)
    assert logistic.variance().decimal(10) == "0.8224670334"  # pi^2 / 12


@each_half_line_family
@given(x=st.fractions(-20, 20, max_denominator=50), shift=moderate)
def test_the_pair_has_the_loss_and_the_profile(family: Any, x: Fraction, shift: str) -> None:
    noise = family("1/3", sensitivity=shift)
    pair = noise.dominating_pair()
    with working_precision(120):
        point = arb(fmpq(x.numerator, x.denominator))
        loss = pair.log_density_p(BALLS, point) - pair.log_density_q(BALLS, point)
        assert loss.overlaps(pair.loss(BALLS, point))
        assert arb(pair.hockey_stick(fmpq(7, 10))).overlaps(between(noise.delta("0.7")))


@each_half_line_family
def test_ties_are_exact(family: Any) -> None:
    if family.loss_slope is None:
        pytest.skip("the loss is unbounded: no epsilon gives delta = 0 exactly")
    limit = Fraction("3/7") * family.loss_slope
    noise = family(7, sensitivity=3)
    assert noise.delta(limit) == 0
    assert noise.delta(limit).is_exact
    assert noise.epsilon(0) == limit
    assert family.bound(epsilon=limit, delta=0, sensitivity=3) == 7
    assert family.bound(epsilon=limit, sensitivity=3).is_exact
    assert noise.delta(limit - Fraction(1, 10**30)) > 0
    assert noise.delta(-limit, digits=30).overlaps(noise.delta(-limit - Fraction(1, 10**40), digits=30))


@each_family
def test_no_epsilon_is_needed_at_a_large_delta(family: Any) -> None:
    noise = family(1, sensitivity="1e-3")
    assert noise.epsilon("0.5") == 0
    assert noise.epsilon("0.5").is_exact
    assert noise.epsilon("0.5", arithmetic="mpmath") == 0


@pytest.mark.parametrize(
    ("family", "ask", "words"),
    [
        ("gaussian", {"epsilon": 1, "delta": 0}, "delta = 0.*unbounded.*give delta > 0"),
        ("laplace", {"epsilon": 0, "delta": 0}, "epsilon = 0 and delta = 0.*give"),
        ("gaussian", {"epsilon": 1, "delta": 1}, "delta = 1.*0 <= delta < 1"),
        ("laplace", {"epsilon": 1, "delta": "2"}, "0 <= delta < 1"),
        ("laplace", {"epsilon": 1, "delta": "-1e-9"}, "probability"),
        ("laplace", {"epsilon": -1, "delta": "1e-9"}, "epsilon >= 0"),
        ("laplace", {"epsilon": float("nan")}, "finite"),
        ("laplace", {"epsilon": "one"}, "not a finite number"),
        ("laplace", {"epsilon": 1, "sensitivity": 0}, "nothing to protect"),
        ("laplace", {"epsilon": 1, "sensitivity": -1}, "positive"),
        ("laplace", {"epsilon": 1, "sensitivity": float("inf")}, "finite"),
        ("laplace", {"epsilon": 1, "digits": 0}, "digits"),
        ("laplace", {"epsilon": 1, "arithmetic": "floats"}, "'arb'.*'mpmath'"),
        ("laplace", {"epsilon": 1, "p": 3}, "p is not a parameter of Laplace"),
        ("laplace", {"epsilon": 1, "scale": 3}, "scale is what bound solves for"),
    ],
)
def test_impossible_requests_say_what_to_do(family: str, ask: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        by_name(family).bound(**ask)


def test_impossible_epsilons_and_shapes() -> None:
    gaussian, laplace = by_name("gaussian"), by_name("laplace")
    with pytest.raises(ImpossibleRequest, match=r"delta = 0.*unbounded"):
        gaussian(1).epsilon(0)
    with pytest.raises(ImpossibleRequest, match="delta >= 1"):
        laplace(1).epsilon(1)
    for wrong in (0, -1, float("inf"), "x", None):
        with pytest.raises(InputError, match="scale"):
            laplace(wrong)
    with pytest.raises(InputError, match=r"needs scale; write Laplace\(scale, sensitivity=1\)"):
        laplace()
    with pytest.raises(InputError, match="takes 1 parameter"):
        laplace(1, 2)
    with pytest.raises(InputError, match="given twice"):
        laplace(1, scale=2)
    with pytest.raises(InputError, match="sigma is not a parameter of Laplace"):
        laplace(sigma=1)
    with pytest.raises(InputError, match="order"):
        laplace(1).moment(0)


def test_a_scale_beyond_the_doubles_is_refused_by_calibrate_and_given_by_bound() -> None:
    laplace = by_name("laplace")
    ask = {"epsilon": "1e-300", "sensitivity": "1e300"}
    assert laplace.bound(**ask) == 10**600
    with pytest.raises(ImpossibleRequest, match="largest double"):
        laplace.calibrate(**ask)


def test_values_are_immutable_equal_by_content_and_shown_as_code() -> None:
    laplace = by_name("laplace")
    noise = laplace("0.5", sensitivity="1/3")
    assert noise == laplace(Fraction(1, 2), sensitivity=Fraction(1, 3))
    assert hash(noise) == hash(laplace(0.5, sensitivity="1/3"))
    assert noise != laplace("0.5")
    assert noise != by_name("logistic")("0.5", sensitivity="1/3")
    assert noise != 3
    assert repr(noise) == "Laplace(scale=0.5, sensitivity='1/3')"
    assert (noise.scale, noise.sensitivity) == (0.5, Fraction(1, 3))
    for name in ("scale", "sensitivity", "other"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(noise, name, 1)
    assert laplace.scale.symbol == "s"


def test_solve_finds_whichever_is_missing() -> None:
    gaussian = by_name("gaussian")
    for missing in ("epsilon", "delta", "sigma"):
        given = {"epsilon": "1", "delta": "1e-6", "sigma": "4.224678889326835282997321181958865159309"}
        value = given.pop(missing)
        solved = gaussian.solve(**given, digits=20)
        assert (solved.mechanism, solved.solved) == ("gaussian", missing)
        assert abs(Fraction(solved.enclosure.decimal(20)) / Fraction(value) - 1) < Fraction(1, 10**18)
        assert solved.safe_double == solved.enclosure.upper
        assert "Phi" in solved.expression
    with pytest.raises(InputError, match=r"delta and sigma are missing.*delta = 0"):
        gaussian.solve(epsilon=1)
    with pytest.raises(InputError, match="all given"):
        gaussian.solve(epsilon=1, delta="1e-6", sigma=1)


@each_family
def test_expressions_are_text(family: Any) -> None:
    for solved in ("epsilon", "delta", family.scale_name):
        text = family.expression(solved)
        assert "sensitivity" in text
        assert not text.startswith("<")


def test_the_registry_is_the_directory() -> None:
    assert names() == sorted(names())
    assert {"gaussian", "laplace", "logistic"} <= set(names())
    assert [by_name(name).__name__ for name in names()] == class_names()
    with pytest.raises(InputError, match=r"'cauchy' is not a mechanism; the mechanisms are .*laplace"):
        by_name("cauchy")


class LaplaceWithoutThreshold(AdditiveNoise):
    """A family that states its law, and not where the privacy loss passes epsilon."""

    name = "no-threshold"
    scale = dv.Laplace.scale
    log_density, cdf, loss_slope = dv.Laplace.log_density, dv.Laplace.cdf, dv.Laplace.loss_slope


def test_a_formula_that_is_not_stated_is_named() -> None:
    noise = LaplaceWithoutThreshold(2)
    for ask in (lambda: noise.delta("1/4"), lambda: noise.delta("1/4", arithmetic="mpmath")):
        with pytest.raises(NotStated, match=r"no-threshold: LaplaceWithoutThreshold states no threshold\(\)") as refused:
            ask()
        assert refused.value.exit_code == 2
    with pytest.raises(NotStated, match=r"states no absolute_moment"):
        noise.variance()
    assert noise.epsilon(0).upper == 0.5
