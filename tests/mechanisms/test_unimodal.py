"""Noise whose loss need not be monotone: reference rows, the definition by mpmath, exact ties, what is known of each."""

from __future__ import annotations

import csv
import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import mpmath
import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dv
from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import rational_power
from dpverify.arithmetic.multiprecision import MultiprecisionArithmetic
from dpverify.arithmetic.precision import working_precision
from dpverify.errors import ImpossibleRequest, InputError, NotCovered
from dpverify.mechanisms import by_name

TABLE = Path(__file__).parent.parent / "reference" / "unimodal_noise.csv"
DIGITS = 35


# Reference rows.


def rows() -> list[dict[str, str]]:
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def answer(row: dict[str, str]) -> Enclosure:
    family, shape = by_name(row["mechanism"]), json.loads(row["params"])
    asked = {"epsilon": row["epsilon"], "delta": row["delta"], "sensitivity": row["sensitivity"]}
    if row["quantity"] == "delta":
        return family(**shape, sensitivity=row["sensitivity"]).delta(row["epsilon"], digits=DIGITS)
    if row["quantity"] == "scale":
        return family.bound(**asked, **shape, digits=DIGITS)
    if row["quantity"] in ("normaliser", "variance"):
        return getattr(family(**shape), row["quantity"])(digits=DIGITS)
    reading = row["quantity"].partition("(")[2].rstrip(")")
    return family.bound_probabilistic(**asked, **shape, reading=reading, digits=DIGITS)


def meets(enclosure: Enclosure, printed: str) -> bool:
    """Whether the enclosure shares a point with the printed value plus or minus one unit of its last digit."""
    mantissa, _, exponent = printed.partition("e")
    power = int(exponent or 0) - len(mantissa.partition(".")[2])
    with working_precision(600):
        value, unit = arb(mantissa) * arb(10) ** int(exponent or 0), arb(10) ** power
        return enclosure.overlaps(Enclosure((value - unit).union(value + unit), digits=DIGITS))


QUANTITIES = sorted({(row["mechanism"], row["quantity"]) for row in rows()})


@pytest.mark.parametrize(("mechanism", "quantity"), QUANTITIES, ids="-".join)
def test_every_row_is_met(mechanism: str, quantity: str) -> None:
    chosen = [row for row in rows() if (row["mechanism"], row["quantity"]) == (mechanism, quantity)]
    assert chosen
    for row in chosen:
        enclosure = answer(row)
        assert meets(enclosure, row["value"]), row
        low, high = enclosure.bounds(DIGITS + 10)
        assert Fraction(high) - Fraction(low) <= Fraction(1, 10**34) * abs(Fraction(low)), row


def test_there_are_as_many_rows_as_the_table_says_and_a_wrong_value_is_not_met() -> None:
    assert len(rows()) == 205
    row = next(row for row in rows() if row["quantity"] == "scale")
    assert not meets(answer(row), row["value"][:-12] + "000000000000")


# The definition, by mpmath.

m = mpmath.MPContext()
m.dps = 40


def q(text: Any) -> Any:
    return m.mpf(Fraction(text).numerator) / Fraction(text).denominator


def power_law(p: str, c: Any) -> Callable[[Any], Any]:
    constant = 2 * m.gamma(1 + 1 / q(p)) * c ** (-1 / q(p))
    return lambda x: m.exp(-c * abs(x) ** q(p)) / constant


def student(nu: str) -> Callable[[Any], Any]:
    constant = m.gamma((q(nu) + 1) / 2) / m.gamma(q(nu) / 2) / m.sqrt(q(nu) * m.pi)
    return lambda x: constant * (1 + x * x / q(nu)) ** (-(q(nu) + 1) / 2)


def stairs(step: str, gamma: str) -> Callable[[Any], Any]:
    fall = m.exp(-q(step))
    height = (1 - fall) / (2 * (q(gamma) + (1 - q(gamma)) * fall))
    return lambda x: height * fall ** m.floor(abs(x) + 1 - q(gamma))


def truncated(a: str) -> Callable[[Any], Any]:
    return lambda x: m.exp(-abs(x)) / (2 * (1 - m.exp(-q(a)))) if abs(x) <= q(a) else m.mpf(0)


# (class, shape, density, kinks and jumps, where the support ends)
LAWS: list[tuple[str, dict[str, str], Callable[[Any], Any], list[Any], Any]] = [
    ("GeneralizedGaussian", {"p": "3"}, power_law("3", m.mpf(1)), [], 6),
    ("GeneralizedGaussian", {"p": "6/5"}, power_law("6/5", m.mpf(1)), [0], 60),
    ("GeneralizedGaussian", {"p": "3/4"}, power_law("3/4", m.mpf(1)), [0], 500),
    ("Subbotin", {"p": "9/2"}, power_law("9/2", 1 / q("9/2")), [], 6),
    ("Subbotin", {"p": "1/2"}, power_law("1/2", m.mpf(2)), [0], 3000),
    ("HyperbolicSecant", {}, lambda x: m.sech(x) / m.pi, [], 100),
    ("Gumbel", {}, lambda x: m.exp(-x - m.exp(-x)), [], 100),
    ("StudentT", {"nu": "1"}, student("1"), [], m.inf),
    ("StudentT", {"nu": "7/2"}, student("7/2"), [], m.inf),
    ("Uniform", {}, lambda x: m.mpf(1) / 2 if abs(x) <= 1 else m.mpf(0), [-1, 1], 1),
    ("Triangular", {}, lambda x: max(m.mpf(0), 1 - abs(x)), [-1, 0, 1], 1),
    ("TruncatedLaplace", {"cutoff": "3"}, truncated("3"), [-3, 0, 3], 3),
    ("Staircase", {"step": "1/2", "gamma": "2/5"}, stairs("1/2", "2/5"), [], 200),
]
BOUNDED = ("Uniform", "Triangular", "TruncatedLaplace")
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: "-".join([law[0], *law[1].values()]).replace("/", ":"))


def divergence(law: Any, eps: Any, d: Any) -> Any:
    """The integral of max(0, p - e^eps q), the larger of both orders: pieces between kinks and between sign changes."""
    name, shape, f, kinks, reach = law
    if name == "Staircase":
        gamma = q(shape["gamma"])
        kinks = [side * (gamma + k) for k in range(reach) for side in (1, -1)]
    edges = sorted({*kinks, *(k + d for k in kinks), m.mpf(0), d / 2, d})
    if reach != m.inf:
        edges = sorted({*(e for e in edges if -reach < e < reach + d), -m.mpf(reach), reach + d})
    else:
        edges = [-m.inf, *edges, m.inf]
    best = m.mpf(0)
    for p, r in ((lambda x: f(x - d), f), (f, lambda x: f(x - d))):

        def excess(x: Any, p: Any = p, r: Any = r) -> Any:
            return p(x) - m.exp(eps) * r(x)

        total = m.mpf(0)
        for low, high in itertools.pairwise(edges):
            if name in ("Uniform", "Staircase"):
                total += max(0, excess((low + high) / 2)) * (high - low)
                continue
            inner = scanned(low, high)
            cuts = [low]
            for left, right in itertools.pairwise(inner):
                if (excess(left) > 0) != (excess(right) > 0):
                    cuts.append(bisected(excess, left, right))
            cuts.append(high)
            for left, right in itertools.pairwise(cuts):
                total += max(m.mpf(0), m.quad(excess, [left, right]))
        best = max(best, total)
    return best


def scanned(low: Any, high: Any) -> list[Any]:
    """Points inside (low, high), close together near finite ends."""
    shares = [m.mpf(k) / 60 for k in range(1, 60)] + [m.mpf(2) ** -k for k in range(7, 40)]
    if low == -m.inf:
        return sorted(high - (1 / s - 1) for s in shares)
    if high == m.inf:
        return sorted(low + (1 / s - 1) for s in shares)
    return sorted({*(low + (high - low) * s for s in shares), *(high - (high - low) * s for s in shares)})


def bisected(function: Callable[[Any], Any], low: Any, high: Any) -> Any:
    sign = function(low) > 0
    for _ in range(140):
        middle = (low + high) / 2
        low, high = (middle, high) if (function(middle) > 0) == sign else (low, middle)
    return (low + high) / 2


def near(enclosure: Enclosure, value: Any, digits: int) -> bool:
    low, high = (m.mpf(end) for end in enclosure.bounds(40))
    return bool(abs(value - (low + high) / 2) <= (high - low) + m.mpf(10) ** -digits * (abs(value) + m.mpf(10) ** -12))


@pytest.mark.slow
@each_law
@given(eps=st.fractions("1/50", 4, max_denominator=50), shift=st.fractions("1/5", 5, max_denominator=20))
@settings(max_examples=2)
def test_the_profile_is_the_definition(law: Any, eps: Fraction, shift: Fraction) -> None:
    noise = getattr(dv, law[0])(1, **law[1], sensitivity=shift)
    assert near(noise.delta(eps, digits=25), divergence(law, q(eps), q(shift)), 17)
    assert near(noise.delta(-eps, digits=25), 1 - m.exp(-q(eps)) * (1 - divergence(law, q(eps), q(shift))), 17)
    assert near(noise.delta(0, digits=25), divergence(law, m.mpf(0), q(shift)), 17)


def test_the_check_by_definition_sees_a_wrong_profile() -> None:
    law = next(law for law in LAWS if law[0] == "StudentT")
    wrong = dv.StudentT(1, "2", sensitivity="3/2")
    assert not near(wrong.delta("1/4", digits=25), divergence(law, q("1/4"), q("3/2")), 17)


@each_law
@given(eps=st.fractions(-2, 6, max_denominator=20), shift=st.fractions("1/10", 8, max_denominator=20), share=st.integers(1, 99))
@settings(max_examples=20)
def test_no_smaller_shift_is_worse(law: Any, eps: Fraction, shift: Fraction, share: int) -> None:
    family = getattr(dv, law[0])
    larger = family(1, **law[1], sensitivity=shift).delta(eps, digits=20)
    smaller = family(1, **law[1], sensitivity=shift * Fraction(share, 100)).delta(eps, digits=20)
    assert smaller.exact_lower <= larger.exact_upper


@each_law
@pytest.mark.parametrize("order", [1, 2, 3])
def test_moments_are_the_integrals(law: Any, order: int) -> None:
    name, shape, f, kinks, reach = law
    noise = getattr(dv, name)(1, **shape)
    if name == "StudentT" and order >= q(shape["nu"]):
        assert noise.mean_absolute_moment(order).is_infinite
        return
    if name == "Staircase":
        gamma = q(shape["gamma"])
        ends = [m.mpf(0), *(gamma + k for k in range(400))]
        value = 2 * sum(
            f((a + b) / 2) * (b ** (order + 1) - a ** (order + 1)) / (order + 1) for a, b in itertools.pairwise(ends)
        )
    else:
        ends = sorted({m.mpf(0), *(m.mpf(k) for k in kinks if abs(k) < reach)})
        low = -m.mpf(8) if name == "Gumbel" else -m.mpf(reach)
        middle = [m.mpf(1)] if reach > 1 else []
        value = m.quad(lambda x: abs(x) ** order * f(x), [low, *ends, *middle, m.mpf(reach)])
    assert near(noise.mean_absolute_moment(order, digits=25), value, 15)


# Twins and conventions.


@given(
    epsilon=st.fractions("1/100", 20, max_denominator=100),
    delta=st.sampled_from(["1e-200", "1e-9", "0.001", "0.4", "0.97"]),
)
@settings(max_examples=12)
def test_p_1_is_laplace_and_p_2_is_gaussian_noise(epsilon: Fraction, delta: str) -> None:
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "sensitivity": "7/5", "digits": 25}
    laplace, gaussian = dv.Laplace.bound(**asked), dv.Gaussian.bound(**asked)
    for family in (dv.Subbotin, dv.GeneralizedGaussian):
        assert family.bound(**asked, p=1).overlaps(laplace)
        assert family(2, 1).delta(epsilon).overlaps(dv.Laplace(2).delta(epsilon))
        assert family(2, 1).epsilon(delta).overlaps(dv.Laplace(2).epsilon(delta))
    assert dv.Subbotin.bound(**asked, p=2).overlaps(gaussian)
    assert dv.Subbotin(3, 2).epsilon(delta).overlaps(dv.Gaussian(3).epsilon(delta))
    with working_precision(200):
        root = arb(dv.GeneralizedGaussian.bound(**asked, p=2).bounds(30)[0]) / arb(2).sqrt()
        assert abs(root / arb(gaussian.bounds(30)[0]) - 1) < arb(10) ** -24


@given(p=st.fractions("1/3", 12, max_denominator=12), epsilon=st.fractions("1/10", 5, max_denominator=10))
@settings(max_examples=12)
def test_both_conventions_are_the_same_noise(p: Fraction, epsilon: Fraction) -> None:
    noise = dv.Subbotin("3/4", p)
    other = noise.generalized_gaussian_scale(digits=40)
    for end in (other.exact_lower, other.exact_upper):
        delta = Fraction(dv.GeneralizedGaussian(end, p).delta(epsilon, digits=30).decimal())
        assert abs(delta - Fraction(noise.delta(epsilon, digits=30).decimal())) < Fraction(1, 10**25)
    variance = m.mpf(noise.variance(digits=30).decimal())
    assert near(dv.GeneralizedGaussian(other.exact_lower, p).variance(digits=25), variance, 20)
    back = dv.GeneralizedGaussian(other.exact_lower, p).subbotin_scale(digits=30)
    assert abs(back.exact_lower - Fraction(3, 4)) < Fraction(1, 10**28)


def test_conversion_is_exact_where_it_is_rational_and_refused_elsewhere() -> None:
    assert dv.Subbotin(3, "1/2").to_generalized_gaussian() == dv.GeneralizedGaussian("3/4", "1/2")
    assert dv.GeneralizedGaussian("3/4", "1/2").to_subbotin() == dv.Subbotin(3, "1/2")
    assert dv.Subbotin(3, 1, sensitivity=7).to_generalized_gaussian() == dv.GeneralizedGaussian(3, 1, sensitivity=7)
    assert dv.Subbotin(3, "1/2").generalized_gaussian_scale() == Fraction(3, 4)
    with pytest.raises(InputError, match="no rational number"):
        dv.Subbotin(3, 2).to_generalized_gaussian()
    assert dv.Subbotin(3, 2).generalized_gaussian_scale(digits=12).decimal() == "4.24264068712"


@given(base=st.fractions("1/50", 50, max_denominator=50), power=st.fractions(-4, 4, max_denominator=6))
def test_rational_powers(base: Fraction, power: Fraction) -> None:
    found = rational_power(fmpq(base.numerator, base.denominator), fmpq(power.numerator, power.denominator))
    if found is None:
        with working_precision(200):
            value = arb(fmpq(base.numerator, base.denominator)) ** arb(fmpq(power.numerator, power.denominator))
            assert not value.is_exact()
    else:
        assert found**power.denominator == fmpq(base.numerator, base.denominator) ** power.numerator


# Pure DP: where the loss is bounded, delta is exactly 0 from its largest value on.


@pytest.mark.parametrize(
    ("make", "limit"),
    [
        (lambda: dv.GeneralizedGaussian("1/4", "1/2"), 2),  # (D/b)^(1/2)
        (lambda: dv.Subbotin(1, "1/2", sensitivity=4), 4),  # (D/s)^p/p
        (lambda: dv.GeneralizedGaussian(8, "2/3", sensitivity=1), Fraction(1, 4)),
        (lambda: dv.HyperbolicSecant(7, sensitivity=3), Fraction(3, 7)),
        (lambda: dv.Staircase(2, "3/10", "1/2", sensitivity=5), Fraction(9, 10)),
        (lambda: dv.GeneralizedGaussian(2, 1, sensitivity=3), Fraction(3, 2)),
    ],
)
def test_rational_ties_are_exact(make: Any, limit: Any) -> None:
    noise = make()
    assert noise.delta(limit).is_exact
    assert noise.delta(limit) == 0
    assert noise.delta(limit - Fraction(1, 10**25)) > 0
    assert noise.epsilon(0).is_exact
    assert noise.epsilon(0) == limit
    assert abs(noise.epsilon(0, arithmetic="mpmath") - q(Fraction(limit))) < m.mpf(10) ** -28
    shape = {name: value for name, value in noise.exact_parameters.items() if name != "scale"}
    least = type(noise).bound(epsilon=limit, sensitivity=noise.sensitivity, **shape)
    assert least.is_exact
    assert least == noise.scale if not isinstance(noise, dv.Staircase) else least <= noise.scale


def test_irrational_ties_are_told_apart() -> None:
    noise = dv.StudentT(1, 3)
    limit = noise.epsilon(0, digits=40)
    assert not limit.is_exact
    assert noise.delta(limit.exact_upper) == 0
    assert noise.delta(limit.exact_lower) > 0
    assert (
        dv.StudentT.bound(epsilon=limit.exact_upper, nu=3, digits=20).lower
        <= 1
        <= dv.StudentT.bound(epsilon=limit.exact_lower, nu=3, digits=20).upper
    )
    assert near(limit, 4 * m.asinh(1 / (2 * m.sqrt(3))), 38)
    sharp = dv.GeneralizedGaussian(1, "1/2", sensitivity=2)
    assert near(sharp.epsilon(0, digits=30), m.sqrt(2), 28)


def test_rational_cases_of_student_noise_at_epsilon_0() -> None:
    assert dv.StudentT(1, 1, sensitivity=2).delta(0) == Fraction(1, 2)
    assert dv.StudentT(1, 2, sensitivity=1).delta(0) == Fraction(1, 3)
    assert dv.StudentT(1, 2, sensitivity=1).epsilon("1/3") == 0
    assert dv.StudentT.bound(epsilon=0, delta="1/2", nu=1) == Fraction(1, 2)
    assert dv.StudentT.bound(epsilon=0, delta="1/3", nu=2) == 1
    assert near(dv.StudentT.bound(epsilon=0, delta="1/4", nu=1, digits=25), 1 / (2 * m.tan(m.pi / 8)), 22)
    assert near(dv.StudentT.bound(epsilon=0, delta="1/4", nu=2, digits=25), m.sqrt((1 - q("1/16")) * 2), 22)


# What each family is known for.


def test_uniform_noise_is_exact() -> None:
    noise = dv.Uniform(2, sensitivity=3)
    for epsilon in (0, 1, 500):
        assert noise.delta(epsilon) == Fraction(3, 4)
        assert noise.delta(epsilon).is_exact
    assert noise.delta(-1, digits=20).decimal() == "0.90803013970713941960"  # 1 - e^-1/4
    assert dv.Uniform(1, sensitivity=5).delta(-3) == 1
    assert dv.Uniform.bound(epsilon=1, delta="1/3", sensitivity=2) == 3
    assert noise.epsilon("3/4") == 0
    with pytest.raises(ImpossibleRequest, match=r"only one neighbour can produce have probability 0\.75"):
        noise.epsilon("0.7499")
    with pytest.raises(ImpossibleRequest, match="bounded"):
        dv.Uniform.bound(epsilon=1, delta=0)
    assert noise.tail_probability("1.5") == Fraction(1, 4)
    assert noise.tail_probability(2) == 0
    assert noise.tail_bound(0) == 2
    assert noise.tail_bound("1/4") == Fraction(3, 2)
    assert noise.fisher_information().is_infinite


def test_triangular_noise_has_an_infimum_that_no_epsilon_reaches() -> None:
    noise = dv.Triangular(1, sensitivity="1/2")
    with pytest.raises(ImpossibleRequest, match="no finite epsilon"):
        noise.epsilon("1/8")
    with pytest.raises(ImpossibleRequest, match="only one neighbour"):
        noise.epsilon("0.124")
    assert near(noise.epsilon("0.126", digits=25), -m.log1p(-q("1/4") / q("0.252")), 22)
    assert near(noise.epsilon("0.3", digits=25), -m.log(q("2.25") / q("1.4") - 1), 22)
    assert dv.Triangular(1, sensitivity=3).delta(7) == 1
    for epsilon, delta in (("1/2", "1/10"), ("1/2", "3/5"), ("0", "1/5"), ("3", "1e-9")):
        scale = dv.Triangular.bound(epsilon=epsilon, delta=delta, sensitivity="7/3", digits=30)
        at = dv.Triangular(scale.exact_upper, sensitivity="7/3")
        assert near(at.delta(epsilon, digits=25), q(delta), 20)
    assert noise.tail_bound("1/8", digits=20).decimal(15) == "0.646446609406726"  # 1 - 1/sqrt(8)


@given(epsilon=st.fractions("1/50", 8, max_denominator=50), power=st.integers(1, 40))
@settings(max_examples=12)
def test_the_published_truncated_laplace_mechanism_is_tight(epsilon: Fraction, power: int) -> None:
    delta = Fraction(1, 2**power)
    noise = dv.TruncatedLaplace.published(epsilon=epsilon, delta=delta, sensitivity="7/3")
    assert noise.scale == Fraction(7, 3) / epsilon
    assert noise.delta(epsilon, digits=25).exact_lower <= delta
    shorter = dv.TruncatedLaplace(noise.scale, math.nextafter(noise.cutoff, 0), sensitivity="7/3")
    assert shorter.delta(epsilon, digits=25).exact_upper >= delta
    with working_precision(200):
        stated = ((arb(fmpq(epsilon.numerator, epsilon.denominator)).expm1()) / (2 * arb(fmpq(1, 2**power)))).log1p()
        found = dv.TruncatedLaplace.cutoff_for(epsilon=epsilon, delta=delta, digits=30)
        assert abs(stated - arb(found.bounds(35)[0])) < arb(10) ** -27


def test_truncated_laplace_borders() -> None:
    with pytest.raises(ImpossibleRequest, match="published cutoff"):
        dv.TruncatedLaplace.cutoff_for(epsilon=1, delta="0.6")
    assert dv.TruncatedLaplace.cutoff_for(epsilon="3/2", delta="1/2") == Fraction(3, 2)
    assert dv.TruncatedLaplace(1, 2, sensitivity=2).delta(3) == Fraction(1, 2)
    assert dv.TruncatedLaplace(1, 2, sensitivity=2).epsilon("1/2") == 2
    assert dv.TruncatedLaplace.bound(epsilon=5, delta="1/2", cutoff=2, sensitivity=2) == 1
    assert dv.TruncatedLaplace(1, 2, sensitivity=4).delta(3) == 1
    assert dv.TruncatedLaplace(1, 2, sensitivity="39/10").delta(3) < 1
    with pytest.raises(ImpossibleRequest, match="no finite epsilon"):
        dv.TruncatedLaplace(1, 2, sensitivity=2).epsilon("0.499")


@given(
    step=st.fractions("1/10", 3, max_denominator=10),
    gamma=st.fractions("1/20", 1, max_denominator=20),
    d=st.fractions("1/10", 6, max_denominator=12),
    eps=st.fractions(0, 8, max_denominator=7),
)
@settings(max_examples=20)
def test_staircase_masses_by_summing_cell_by_cell(step: Fraction, gamma: Fraction, d: Fraction, eps: Fraction) -> None:
    noise = dv.Staircase(1, step, gamma, sensitivity=d)

    def stair(x: Fraction) -> int:
        return math.floor(abs(x) + 1 - gamma)

    reach = 12 + math.ceil(60 / step)
    jumps = {side * (gamma + k) for k in range(reach) for side in (1, -1)}
    edges = sorted(jumps | {jump + d for jump in jumps} | {Fraction(0), d})
    total = m.mpf(0)
    fall = m.exp(-q(step))
    height = (1 - fall) / (2 * (q(gamma) + (1 - q(gamma)) * fall))
    for low, high in itertools.pairwise(edges):
        middle = (low + high) / 2
        p, r = fall ** stair(middle - d), fall ** stair(middle)
        total += q(high - low) * height * max(m.mpf(0), p - m.exp(q(eps)) * r)
    assert near(noise.delta(eps, digits=25), total, 15)


@pytest.mark.parametrize("cost", ["squared", "absolute"])
@pytest.mark.parametrize("step", ["1/100", "1", "5"])
def test_the_optimal_gamma_is_the_best(cost: str, step: str) -> None:
    best = dv.Staircase.optimal(epsilon=step, sensitivity=3, cost=cost)
    assert best.delta(step) == 0
    assert best.step == Fraction(step)
    order = 2 if cost == "squared" else 1

    def error(gamma: float) -> Fraction:
        return dv.Staircase(3, step, gamma, sensitivity=3).mean_absolute_moment(order, digits=30).exact_upper

    assert error(best.gamma) <= min(error(best.gamma * 0.999), error(best.gamma * 1.001))
    with pytest.raises(InputError, match="cost"):
        dv.Staircase.optimal_gamma(step=1, cost="other")
    with pytest.raises(InputError, match=r"\(0, 1\]"):
        dv.Staircase(1, 1, "1.1")


def test_at_the_published_parameters_the_staircase_beats_laplace_noise() -> None:
    for epsilon in ("1/2", "1", "3"):
        assert dv.Staircase.optimal(epsilon=epsilon).mean_squared_error() < dv.Laplace.calibrate(epsilon=epsilon).variance()
    least = dv.Staircase.bound(epsilon="5/2", step="1/2", gamma="1/3", sensitivity=2)
    assert least == Fraction(2, 5)
    with pytest.raises(ImpossibleRequest, match=r"largest loss of 0\.25"):
        dv.Staircase.bound(epsilon="1/4", step="1/2", gamma="1/3")


def test_gumbel_noise_is_not_centred() -> None:
    noise = dv.Gumbel(2)
    assert near(noise.mean(digits=25), 2 * m.euler, 23)
    assert near(noise.variance(digits=25), 4 * m.pi**2 / 6, 23)
    assert near(noise.mean_squared_error(digits=25), 4 * (m.pi**2 / 6 + m.euler**2), 23)
    assert near(noise.moment(3, digits=25), 8 * (2 * m.zeta(3) + m.euler * m.pi**2 / 2 + m.euler**3), 22)
    bound = noise.tail_bound("1/10", digits=25).exact_upper
    assert abs(noise.tail_probability(bound, digits=30).exact_upper - Fraction(1, 10)) < Fraction(1, 10**20)
    assert noise.fisher_information() == Fraction(1, 4)


def test_fisher_informations_are_known_or_infinite() -> None:
    assert dv.Subbotin(2, 2).fisher_information() == Fraction(1, 4)
    assert dv.GeneralizedGaussian(1, 2).fisher_information() == 2
    assert dv.HyperbolicSecant(1).fisher_information() == Fraction(1, 2)
    assert dv.StudentT(1, 5).fisher_information() == Fraction(3, 4)
    assert dv.GeneralizedGaussian(1, "1/2").fisher_information().is_infinite
    assert dv.Staircase(1, 1, 1).fisher_information().is_infinite
    f = power_law("4", m.mpf(1))
    value = 2 * m.quad(lambda x: 16 * x**6 * f(x), [0, 1, 6])
    assert near(dv.GeneralizedGaussian(1, 4).fisher_information(digits=25), value, 20)


# Probabilistic DP.


@given(
    p=st.fractions(1, 12, max_denominator=6),
    epsilon=st.fractions("1/50", 6, max_denominator=50),
    delta=st.sampled_from(["1e-100", "1e-6", "0.01", "0.3", "0.5", "0.8"]),
)
@settings(max_examples=16)
def test_the_pairwise_bound_is_where_the_loss_tail_passes_delta(p: Fraction, epsilon: Fraction, delta: str) -> None:
    for family in (dv.GeneralizedGaussian, dv.Subbotin):
        asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "p": p, "sensitivity": "5/3", "digits": 30}
        least = family.bound_probabilistic(**asked, reading="pairwise")
        eps, level = fmpq(epsilon.numerator, epsilon.denominator), Fraction(delta)
        for scale, sign in ((least.exact_lower * Fraction(999, 1000), 1), (least.exact_upper * Fraction(1001, 1000), -1)):
            with working_precision(160):
                tail = family(scale, p, sensitivity="5/3").dominating_pair().loss_tail(eps)
                tail = arb(tail) if isinstance(tail, fmpq) else tail
                assert (tail - arb(fmpq(level.numerator, level.denominator))) * sign >= 0
        if level < Fraction(1, 2):
            double = family.bound_probabilistic(**{**asked, "delta": 2 * level}, reading="union")
            assert double.overlaps(least)


def test_probabilistic_refusals_and_exact_cases() -> None:
    ask = dv.GeneralizedGaussian.bound_probabilistic
    assert ask(epsilon="1/10", delta="0.001", p=1) == 10
    assert ask(epsilon=1, delta=0, p=1) == 1
    assert ask(epsilon=8, delta="1/2", p=3, reading="pairwise") == Fraction(1, 2)
    with pytest.raises(ImpossibleRequest, match="delta = 0"):
        ask(epsilon=1, delta=0, p=2)
    with pytest.raises(ImpossibleRequest, match="epsilon = 0"):
        ask(epsilon=0, delta="0.1", p=2)
    with pytest.raises(InputError, match=r"'union'.*'pairwise'"):
        ask(epsilon=1, delta="0.1", p=2, reading="both")
    with pytest.raises(NotCovered, match="p < 1"):
        ask(epsilon=1, delta="0.1", p="1/2")


# The dominating pair.


@each_law
@given(eps=st.fractions("1/50", 3, max_denominator=50), shift=st.fractions("1/5", 3, max_denominator=20))
@settings(max_examples=3)
def test_the_pair_has_the_profile_and_the_tail_of_the_loss(law: Any, eps: Fraction, shift: Fraction) -> None:
    name, shape, *_ = law
    noise = getattr(dv, name)("1/3", **shape, sensitivity=shift / 3)
    (pair,) = noise.dominating_pairs()
    both = [pair] if getattr(pair, "is_symmetric", False) else [pair, pair.reversed()]
    size = fmpq(eps.numerator, eps.denominator)
    with working_precision(120):
        for at in (size, -size):
            found = [arb(one.hockey_stick(at)) for one in both]
            largest = found[0] if len(found) == 1 else found[0].max(found[1])
            assert abs(largest - ball(noise.delta(Fraction(int(at.p), int(at.q)), digits=30))) < arb(10) ** -25
        for one in both:
            # H(a) - H(b) is the integral of e^t Q(L > t) from a to b: e^a Q(L > a) >= (H(a) - H(b))/(b - a).
            step = fmpq(1, 1000)
            fall = (arb(one.hockey_stick(size)) - arb(one.hockey_stick(size + step))) / arb(step)
            q_above = arb(one.loss_tail(size)) - arb(one.hockey_stick(size))  # e^eps Q(L > eps)
            q_later = arb(one.loss_tail(size + step)) - arb(one.hockey_stick(size + step))
            assert fall <= q_above * arb(step).exp() + arb(10) ** -20
            assert fall >= q_later * (-arb(step)).exp() - arb(10) ** -20
            assert arb(one.loss_tail(-size)) - arb(one.loss_tail(size)) + arb(10) ** -25 >= 0
            assert one.loss_limit() >= 0 if isinstance(one.loss_limit(), fmpq) else not one.loss_limit() < 0


@pytest.mark.slow
@pytest.mark.parametrize("law", [law for law in LAWS if law[0] not in BOUNDED], ids=lambda law: law[0])
def test_power_moments_and_mean_losses_are_the_integrals(law: Any) -> None:
    name, shape, f, kinks, reach = law
    noise = getattr(dv, name)(1, **shape, sensitivity="6/5")
    d = q("6/5")
    pair = noise.dominating_pairs()[0]
    p, r = (f, lambda x: f(x - d)) if name == "Gumbel" else (lambda x: f(x - d), f)
    if name == "Staircase":
        gamma = q(shape["gamma"])
        ends = sorted({side * (gamma + k) + move for k in range(reach) for side in (1, -1) for move in (0, d)} | {m.mpf(0), d})

        def total(g: Any) -> Any:
            return sum((b - a) * g((a + b) / 2) for a, b in itertools.pairwise(ends))
    else:
        far = m.mpf(reach)
        low, high = (-m.mpf(5), m.mpf(120)) if name == "Gumbel" else (-far, far if far == m.inf else far + d)
        inner = sorted({*(m.mpf(k) for k in kinks), *(k + d for k in kinks), m.mpf(0), d, -m.mpf(2), d + 2})

        def total(g: Any) -> Any:
            return m.quad(g, [low, *inner, high])

    with working_precision(100):
        a = m.mpf(5) / 4
        value = total(lambda x: p(x) ** a * r(x) ** (1 - a) if p(x) > 0 and r(x) > 0 else m.mpf(0))
        assert abs(arb(pair.power_moment(fmpq(5, 4))) - arb(m.nstr(value, 30))) < arb(10) ** -12
        mean = total(lambda x: p(x) * m.log(p(x) / r(x)) if p(x) > 0 and r(x) > 0 else m.mpf(0))
        assert abs(arb(pair.mean_loss()) - arb(m.nstr(mean, 30))) < arb(10) ** -11
        square = total(lambda x: p(x) * m.log(p(x) / r(x)) ** 2 if p(x) > 0 and r(x) > 0 else m.mpf(0))
        assert abs(arb(pair.loss_variance()) - arb(m.nstr(square - mean**2, 30))) < arb(10) ** -10


def _chernoff_integrand(f: Any, d: Any, order: Any, x: Any) -> Any:
    return f(x - d) ** order * f(x) ** (1 - order)


def test_pairs_of_bounded_noise_have_infinite_losses() -> None:
    triangle, uniform = lambda x: max(m.mpf(0), 1 - abs(x)), lambda x: m.mpf(1) / 2
    for noise, f in (
        (dv.Uniform(1), uniform),
        (dv.Triangular(1, sensitivity="1/3"), triangle),
        (dv.Triangular(1, sensitivity="4/3"), triangle),
        (dv.TruncatedLaplace(1, 2), truncated("2")),
        (dv.TruncatedLaplace(1, "3/4"), truncated("3/4")),
    ):
        d = q(str(noise.shift))
        pair = noise.dominating_pair()
        with working_precision(100):
            assert pair.loss_limit() == arb.pos_inf()
            assert pair.mean_loss() == arb.pos_inf()
            assert pair.power_moment(fmpq(2)) == arb.pos_inf()
            a = q(str(noise.reach))
            for order in (Fraction(1, 2), Fraction(1, 3)):
                integrand = partial(_chernoff_integrand, f, d, q(order))
                value = m.quad(integrand, sorted({d - a, *(k for k in (m.mpf(0), d) if d - a < k < a), a}))
                found = arb(pair.power_moment(fmpq(order.numerator, order.denominator)))
                assert abs(found - arb(m.nstr(value, 30))) < arb(10) ** -20


def test_staircase_atoms_add_up() -> None:
    pair = dv.Staircase(1, "1/2", "1/3", sensitivity="27/10").dominating_pair()
    with working_precision(100):
        atoms = pair.loss_atoms()
        assert [x for x, _, _ in atoms] == [fmpq(k, 2) for k in range(3, -4, -1)]
        for total in (sum((arb(p) for _, p, _ in atoms), arb(0)), sum((arb(r) for _, _, r in atoms), arb(0))):
            assert abs(total - 1) < arb(10) ** -25
        for x, p, r in atoms:
            assert abs(arb(p) - arb(x).exp() * arb(r)) < arb(10) ** -25
    with pytest.raises(NotCovered, match="values"):
        dv.Staircase(1, "1/2", "1/3", sensitivity=10**6).dominating_pair().loss_atoms()


def ball(enclosure: Enclosure) -> arb:
    low, high = enclosure.bounds(40)
    return arb(low).union(arb(high))


# What is stated is what would have been derived.


def test_the_stated_threshold_of_the_hyperbolic_secant_is_where_the_loss_passes_epsilon() -> None:
    noise = dv.HyperbolicSecant(1)
    with working_precision(120):
        for eps, d in ((fmpq(1, 3), fmpq(2)), (fmpq(-1), fmpq(3, 2)), (fmpq(0), fmpq(5))):
            t = noise.threshold(BALLS, arb(eps), arb(d))
            loss = noise.log_density(BALLS, t - arb(d)) - noise.log_density(BALLS, t)
            assert abs(loss - arb(eps)) < arb(10) ** -30
            profile = noise.profile(BALLS, arb(eps), arb(d))
            whole = dv.HyperbolicSecant(1, sensitivity=Fraction(int(d.p), int(d.q)))
            assert abs(profile - ball(whole.delta(Fraction(int(eps.p), int(eps.q)), digits=30))) < arb(10) ** -28


@each_law
@given(x=st.fractions(-4, 4, max_denominator=30))
@settings(max_examples=5)
def test_the_stated_cdf_is_the_integral_of_the_density(law: Any, x: Fraction) -> None:
    name, shape, f, kinks, reach = law
    noise = getattr(dv, name)(1, **shape)
    if name == "Staircase":
        kinks = [side * (q(shape["gamma"]) + k) for k in range(reach) for side in (1, -1)]
        ends = [*sorted(k for k in kinks if k < q(x)), q(x)]
        value = sum((b - a) * f((a + b) / 2) for a, b in itertools.pairwise(ends))
    else:
        low = -m.mpf(6) if name == "Gumbel" else -m.mpf(reach)
        inner = sorted(m.mpf(k) for k in {*kinks, -1, 0} if low < k < q(x))
        value = m.mpf(0) if q(x) <= low else m.quad(f, [low, *inner, q(x)])
    with working_precision(120):
        found = noise.cdf(BALLS, arb(fmpq(x.numerator, x.denominator)))
        assert abs(found - arb(m.nstr(value, 30))) < arb(10) ** -15
    assert abs(noise.cdf(MultiprecisionArithmetic(30), q(x)) - value) < m.mpf(10) ** -15


def test_refusals_name_what_is_wrong() -> None:
    for call, words in (
        (lambda: dv.Subbotin(1), "needs p"),
        (lambda: dv.Subbotin(1, 0), "p = 0"),
        (lambda: dv.Subbotin.bound(epsilon=1, delta=0, p=2), "delta = 0: the privacy loss of Subbotin noise is unbounded"),
        (lambda: dv.Subbotin(1, "1.5").epsilon(0), "unbounded"),
        (lambda: dv.Subbotin.bound(epsilon=0, delta=0, p="1/2"), "epsilon = 0 and delta = 0"),
        (lambda: dv.StudentT(1, 0), "nu = 0"),
        (lambda: dv.StudentT(1, 3).moment(5), "not defined"),
        (lambda: dv.Gumbel(1).epsilon(0), "unbounded"),
        (lambda: dv.Gumbel(1).derive(), "no derivation yet: the engine derives profiles of symmetric densities"),
        (lambda: dv.Gumbel(1).delta(1, arithmetic="floats"), "'arb'.*'mpmath'"),
    ):
        with pytest.raises(InputError, match=words):
            call()


def test_losses_are_symbols() -> None:
    for name, shape, _, _, _ in LAWS:
        loss = getattr(dv, name)(2, **shape, sensitivity=3).privacy_loss
        assert {str(symbol) for symbol in loss.free_symbols} <= {"x"}
        assert not loss.atoms(__import__("sympy").Float)
