"""Noise from the integers: discrete Laplace, truncated geometric, discrete Gaussian."""

from __future__ import annotations

import csv
import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest
from flint import arb, fmpq
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.precision import working_precision
from dpverify.errors import ImpossibleRequest, InputError, PrecisionError
from dpverify.mechanisms import _gaussian_sums as sums
from dpverify.mechanisms import by_name, names
from dpverify.mechanisms._discrete import IntegerNoise
from dpverify.notions import trade_off

FAMILIES: list[Any] = [family for family in map(by_name, names()) if issubclass(family, IntegerNoise)]
each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)

TABLE = Path(__file__).parent.parent / "reference" / "discrete_noise.csv"


def shape_of(family: Any, sensitivity: int = 1) -> dict[str, Any]:
    """Shape parameters that allow this sensitivity."""
    return {parameter.name: 3 * sensitivity for parameter in family.parameters if not parameter.is_scale}


def member(family: Any, scale: Any, sensitivity: int = 1) -> Any:
    return family(**{family.scale_name: scale}, **shape_of(family, sensitivity), sensitivity=sensitivity)


def decimals(low: str, high: str) -> st.SearchStrategy[str]:
    powers = st.floats(math.log10(float(low)), math.log10(float(high)))
    return powers.map(lambda power: f"{10**power:.6e}")


def sizes(largest: int) -> st.SearchStrategy[int]:
    """Whole numbers, uniform in the logarithm."""
    return st.floats(0, math.log10(largest)).map(lambda power: int(10**power))


def is_pure(family: Any) -> bool:
    return family.name != "discrete-gaussian"


def between(enclosure: Enclosure) -> arb:
    low, high = enclosure.bounds(60)
    return arb(low).union(arb(high))


# Reference rows.


def rows() -> list[dict[str, str]]:
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def answer(row: dict[str, str], digits: int = 45) -> Enclosure:
    params = json.loads(row["params"])
    if row["mechanism"] == "discrete-laplace":
        params = {"scale": 1 / Fraction(params["a"])}
    found: Enclosure = by_name(row["mechanism"])(**params, sensitivity=row["sensitivity"]).delta(row["epsilon"], digits=digits)
    return found


def meets(enclosure: Enclosure, printed: str) -> bool:
    """Whether the enclosure shares a point with the printed value plus or minus one unit of its last digit."""
    mantissa, _, exponent = printed.partition("e")
    with working_precision(400):
        unit = arb(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
        value = arb(mantissa) * arb(10) ** int(exponent or 0)
        return enclosure.overlaps(Enclosure((value - unit).union(value + unit), digits=40))


@pytest.mark.parametrize(("mechanism", "count"), [("discrete-laplace", 42), ("discrete-gaussian", 56)])
def test_every_reference_row_is_met(mechanism: str, count: int) -> None:
    chosen = [row for row in rows() if row["mechanism"] == mechanism]
    assert len(chosen) == count
    for row in chosen:
        found = answer(row)
        if row["value"] == "0":
            assert found.is_exact, row
            assert found.exact_lower == 0, row
        else:
            assert meets(found, row["value"]), row


def test_a_value_that_is_wrong_in_its_last_digits_is_not_met() -> None:
    row = next(row for row in rows() if row["value"].startswith("0.4621171545"))
    assert meets(answer(row), row["value"])
    assert not meets(answer(row), row["value"][:-2] + str((int(row["value"][-2]) + 5) % 10) + row["value"][-1])


# The profile against its definition.


def weights(family: Any, scale: Fraction, reach: int) -> dict[int, Any]:
    """Probabilities of the noise by their definition, on |x| <= reach."""
    size = mpmath.mpf(scale.numerator) / scale.denominator
    raw = {
        x: mpmath.exp(-abs(x) / size) if is_pure(family) else mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * size**2))
        for x in range(-reach, reach + 1)
    }
    whole = mpmath.fsum(raw.values())
    return {x: value / whole for x, value in raw.items()}


@each_family
@given(scale=st.fractions("1/5", 6, max_denominator=20), d=st.integers(1, 5), epsilon=st.fractions(-4, 8, max_denominator=10))
@settings(max_examples=16)
def test_the_profile_is_the_sum_of_positive_parts(family: Any, scale: Fraction, d: int, epsilon: Fraction) -> None:
    """The definition, summed in mpmath over all the outputs that matter; for the clamped law over the clamped outputs."""
    with mpmath.workdps(60):
        law = weights(family, scale, int(70 * scale if not is_pure(family) else 140 * scale) + 60)
        largest = shape_of(family, d).get("largest")
        growth = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        for start in [0] if largest is None else range(largest - d + 1):
            laws: list[dict[int, Any]] = [{}, {}]
            for which, centre in ((0, start + d), (1, start)):
                for x, mass in law.items():
                    z = centre + x if largest is None else min(max(centre + x, 0), largest)
                    laws[which][z] = laws[which].get(z, mpmath.mpf(0)) + mass
            p, q = laws
            direct = mpmath.fsum(max(mpmath.mpf(0), p.get(z, 0) - growth * q.get(z, 0)) for z in p.keys() | q.keys())
            stated = member(family, scale, d).delta(epsilon, digits=30)
            assert abs(mpmath.mpf(stated.decimal(30)) - direct) < mpmath.mpf(10) ** -28 * max(1, growth)


@each_family
@given(
    scale=decimals("1e-1", "1e3"),
    d=st.integers(1, 40),
    points=st.lists(st.fractions(-9, 9, max_denominator=64), min_size=3, max_size=3, unique=True),
)
@settings(max_examples=16)
def test_the_profile_falls_and_is_convex_in_exp_epsilon(family: Any, scale: str, d: int, points: list[Fraction]) -> None:
    low, middle, high = sorted(points)
    first, second, third = (member(family, scale, d).delta(point, digits=30) for point in (low, middle, high))
    assert first.exact_upper >= second.exact_lower
    assert second.exact_upper >= third.exact_lower
    a, b, c = (Fraction(math.exp(float(point))) for point in (low, middle, high))
    assume(b - a > c / 10**9)
    assume(c - b > c / 10**9)
    chord = (first.exact_upper * (c - b) + third.exact_upper * (b - a)) / (c - a)
    assert second.exact_lower <= chord + Fraction(1, 10**12)


@each_family
@given(scale=decimals("1e-1", "1e3"), d=st.integers(1, 40), epsilon=st.fractions(-9, 9, max_denominator=64))
@settings(max_examples=16)
def test_the_reflection_identity(family: Any, scale: str, d: int, epsilon: Fraction) -> None:
    noise = member(family, scale, d)
    here, mirrored = noise.delta(epsilon, digits=40), noise.delta(-epsilon, digits=40)
    with working_precision(200):
        factor = (-arb(fmpq(epsilon.numerator, epsilon.denominator))).exp()
        assert (1 - factor + factor * between(here)).overlaps(between(mirrored))


@each_family
@given(scale=decimals("1e-1", "1e4"), d=sizes(10**6), epsilon=decimals("1e-6", "20"), more=st.integers(16, 60))
@settings(max_examples=16)
def test_enclosures_nest_with_precision(family: Any, scale: str, d: int, epsilon: str, more: int) -> None:
    noise = member(family, scale, d)
    wide, narrow = noise.delta(epsilon), noise.delta(epsilon, digits=more)
    assert narrow.overlaps(wide)
    assert narrow.exact_upper - narrow.exact_lower <= max(wide.exact_upper - wide.exact_lower, Fraction(1, 10**10000))


@each_family
@given(scale=decimals("1e-1", "1e4"), d=sizes(10**6), delta=decimals("1e-300", "0.9"))
@settings(max_examples=24)
def test_epsilon_is_the_inverse_of_delta(family: Any, scale: str, d: int, delta: str) -> None:
    noise = member(family, scale, d)
    epsilon = noise.epsilon(delta, digits=30)
    assert noise.delta(epsilon.exact_upper, digits=40).exact_lower <= Fraction(delta)
    if epsilon.exact_upper > 0:
        assert noise.delta(epsilon.exact_lower, digits=40).exact_upper >= Fraction(delta)
    else:
        assert epsilon.is_exact


# The least scale.


def at_most(family: Any, scale: float, epsilon: str, delta: str, d: int) -> bool:
    """Whether delta(epsilon) is certainly at most delta at this scale; False: certainly above it."""
    noise = member(family, scale, d)
    for digits in (20, 60, 200, 900):
        found = noise.delta(epsilon, digits=digits)
        if found.exact_upper <= Fraction(delta):
            return True
        if found.exact_lower > Fraction(delta):
            return False
    raise AssertionError("not told apart at 900 digits")


@each_family
@given(epsilon=decimals("1e-12", "500"), delta=decimals("1e-300", "0.999") | st.just("0"), d=sizes(10**9))
@example(epsilon="5.000000e+01", delta="1.000000e-06", d=1)
@example(epsilon="2.000000e+00", delta="1.200000e-01", d=1)
@example(epsilon="1.000000e-12", delta="1.000000e-300", d=1)
@settings(max_examples=16)
def test_the_calibrated_double_is_the_least_that_satisfies(family: Any, epsilon: str, delta: str, d: int) -> None:
    assume(is_pure(family) or delta != "0")
    found = family.calibrate(epsilon=epsilon, delta=delta, sensitivity=d, **shape_of(family, d))
    scale = getattr(found, family.scale_name)
    assert at_most(family, scale, epsilon, delta, d)
    assert not at_most(family, math.nextafter(scale, 0), epsilon, delta, d)


@each_family
@given(epsilon=decimals("1e-2", "20"), delta=decimals("1e-9", "0.6"), d=st.integers(1, 6), share=st.floats(0.001, 0.999))
@settings(max_examples=24)
def test_no_smaller_scale_satisfies(family: Any, epsilon: str, delta: str, d: int, share: float) -> None:
    least = family.bound(epsilon=epsilon, delta=delta, sensitivity=d, **shape_of(family, d)).lower
    assert not at_most(family, share * least, epsilon, delta, d)


HUMP = fmpq(*(0.64).as_integer_ratio())
"""Near the top of the hump that delta(2) has beyond sigma = 1/2."""


def test_delta_of_the_discrete_gaussian_is_not_monotone_in_sigma() -> None:
    family = by_name("discrete-gaussian")
    assert family("0.5").delta(2) < Fraction("0.11")
    assert family("0.64").delta(2) > Fraction("0.153")
    least = family.bound(epsilon=2, delta="0.12")
    assert least < Fraction(1, 2)
    assert not at_most(family, 0.64, "2", "0.12", 1)
    # From just above 1/2 the least sigma that satisfies is found beyond the hump.
    from dpverify.mechanisms._discrete_gaussian import least_sigma

    beyond = least_sigma(fmpq(2), fmpq(12, 100), 1, 15, beyond=HUMP)
    assert Fraction("0.7") < Fraction(beyond.decimal(10)) < Fraction("0.8")
    assert at_most(family, beyond.upper, "2", "0.12", 1)
    assert not at_most(family, math.nextafter(beyond.upper, 0), "2", "0.12", 1)


def test_a_dip_narrower_than_a_double_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpverify.mechanisms import _discrete_gaussian as engine

    family = by_name("discrete-gaussian")
    told = engine.satisfies
    first = family.calibrate(epsilon=2, delta="0.12").sigma
    monkeypatch.setattr(engine, "satisfies", lambda sigma, *rest: sigma > fmpq(1, 2) and told(sigma, *rest))
    monkeypatch.setattr(engine, "least_sigma", _from_the_hump(engine.least_sigma))
    assert family.calibrate(epsilon=2, delta="0.12").sigma > 0.7 > first


def _from_the_hump(found: Any) -> Any:
    """`least_sigma` that starts from a point on the hump whenever it is asked to go on."""

    def search(*asked: Any, beyond: fmpq | None = None) -> Any:
        return found(*asked, beyond=None if beyond is None else HUMP)

    return search


@given(epsilon=decimals("1e-3", "5"), delta=decimals("1e-9", "0.9"), d=st.integers(1, 8))
@settings(max_examples=12)
def test_more_noise_is_more_private_for_the_discrete_laplace(epsilon: str, delta: str, d: int) -> None:
    family = by_name("discrete-laplace")
    least = family.bound(epsilon=epsilon, delta=delta, sensitivity=d)
    for factor in ("1.001", "1.1", "2", "50"):
        assert at_most(family, least.upper * float(factor), epsilon, delta, d)


# Second opinions.


def near(enclosure: Enclosure, value: Any) -> bool:
    middle = (enclosure.exact_lower + enclosure.exact_upper) / 2
    mantissa, exponent = value.man_exp
    return abs(Fraction(int(mantissa)) * Fraction(2) ** int(exponent) - middle) <= abs(middle) * Fraction(1, 10**18)


@each_family
@given(epsilon=decimals("1e-1", "6"), delta=decimals("1e-9", "0.8"), d=st.integers(1, 6), scale=decimals("0.2", "9"))
@settings(max_examples=12)
def test_the_second_opinion_agrees(family: Any, epsilon: str, delta: str, d: int, scale: str) -> None:
    asked = {"epsilon": epsilon, "delta": delta, "sensitivity": d, **shape_of(family, d)}
    assert near(family.bound(**asked, digits=20), family.bound(**asked, digits=20, arithmetic="mpmath"))
    noise = member(family, scale, d)
    for value in (epsilon, "-0.5", "0", "40"):
        assert near(noise.delta(value, digits=20), noise.delta(value, digits=20, arithmetic="mpmath"))
    assert near(noise.epsilon(delta, digits=20), noise.epsilon(delta, digits=20, arithmetic="mpmath"))


def test_second_opinions_on_pure_dp_and_on_nothing() -> None:
    laplace, gaussian = by_name("discrete-laplace"), by_name("discrete-gaussian")
    assert near(laplace.bound(epsilon="1/3", sensitivity=2), laplace.bound(epsilon="1/3", sensitivity=2, arithmetic="mpmath"))
    assert near(laplace(3).epsilon(0), laplace(3).epsilon(0, arithmetic="mpmath"))
    assert near(laplace(3).delta(-1), laplace(3).delta(-1, arithmetic="mpmath"))
    for family in (laplace, gaussian):
        assert family(50).epsilon("0.5", arithmetic="mpmath") == 0
        with pytest.raises(InputError, match=r"'arb'.*'mpmath'"):
            family(1).delta(1, arithmetic="floats")
    with pytest.raises(PrecisionError, match="term by term"):
        gaussian(10**6).delta(1, arithmetic="mpmath")


# Ties, refusals, moments.


@pytest.mark.parametrize("name", ["discrete-laplace", "truncated-geometric"])
def test_ties_are_exact(name: str) -> None:
    family = by_name(name)
    noise = member(family, 7, 3)
    assert noise.delta("3/7") == 0
    assert noise.delta("3/7").is_exact
    assert noise.epsilon(0) == Fraction(3, 7)
    assert family.bound(epsilon="3/7", sensitivity=3, **shape_of(family, 3)) == 7
    assert noise.delta(Fraction(3, 7) - Fraction(1, 10**30)) > 0
    assert noise.delta(Fraction(-3, 7), digits=30).overlaps(noise.delta(Fraction(-3, 7) - Fraction(1, 10**40), digits=30))


@each_family
def test_requests_that_cannot_be_answered(family: Any) -> None:
    shape = shape_of(family)
    for wrong in ("1/2", "2.5", "1e-9"):
        with pytest.raises(InputError, match=r"adds integers to a whole-number answer.*give \d"):
            family.bound(epsilon=1, delta="1e-6", sensitivity=wrong, **shape)
    with pytest.raises(InputError, match="nothing to protect"):
        family.bound(epsilon=1, delta="1e-6", sensitivity=0, **shape)
    with pytest.raises(ImpossibleRequest, match=r"delta = 0.*give"):
        family.bound(epsilon=0, delta=0, **shape)
    if not is_pure(family):
        with pytest.raises(ImpossibleRequest, match=r"unbounded.*discrete Laplace"):
            member(family, 1).epsilon(0)


def test_the_truncated_geometric_keeps_to_its_counts() -> None:
    family = by_name("truncated-geometric")
    with pytest.raises(InputError, match=r"sensitivity = 4: counts from 0 to 3.*at most largest"):
        family(1, 3, sensitivity=4)
    with pytest.raises(InputError, match="at most largest"):
        family.bound(epsilon=1, largest=3, sensitivity=4)
    with pytest.raises(InputError, match="whole number"):
        family(1, "2.5")
    with pytest.raises(InputError, match="mean_squared_error"):
        family(1, 3).variance()
    assert family(1, 3).largest == 3
    assert repr(family(1, 3)) == "TruncatedGeometric(scale=1.0, largest=3, sensitivity=1.0)"


@pytest.mark.parametrize(("scale", "largest"), [("2", 5), ("0.3", 3), ("50", 7), ("3", 100), ("1", 1), ("4", 8), ("1e9", 10)])
def test_the_clamped_error_is_the_largest_over_all_counts(scale: str, largest: int) -> None:
    found = by_name("truncated-geometric")(scale, largest).mean_squared_error(digits=20)
    with mpmath.workdps(60):
        r = mpmath.exp(-1 / mpmath.mpf(scale))

        def one_side(a: int) -> Any:  # sum of min(x, a)^2 P(x), x >= 1, with P(X >= a) = r^a/(1 + r)
            inner = mpmath.fsum(x**2 * r**x * (1 - r) / (1 + r) for x in range(1, a))
            return inner + a**2 * r**a / (1 + r)

        direct = max(one_side(i) + one_side(largest - i) for i in range(largest + 1))
        assert abs(mpmath.mpf(found.decimal(20)) / direct - 1) < mpmath.mpf(10) ** -18


@pytest.mark.parametrize("name", ["discrete-laplace", "discrete-gaussian"])
@pytest.mark.parametrize("scale", ["1/20", "1/4", "2/5", "1/2", "1", "3", "10"])
def test_variances_are_the_sums(name: str, scale: str) -> None:
    family = by_name(name)
    found = family(scale).variance(digits=25)
    assert family(scale).mean_squared_error(digits=25).overlaps(found)
    with mpmath.workdps(60):
        law = weights(family, Fraction(scale), int(150 * Fraction(scale)) + 30)
        direct = mpmath.fsum(x * x * mass for x, mass in law.items())
        assert abs(mpmath.mpf(found.decimal(25)) / direct - 1) < mpmath.mpf(10) ** -23


@each_family
def test_expressions_are_text_and_solve_finds_what_is_missing(family: Any) -> None:
    for solved in ("epsilon", "delta", family.scale_name):
        assert "sensitivity" in family.expression(solved)
    solved = family.solve(epsilon=1, delta="1e-6", **shape_of(family))
    assert solved.solved == family.scale_name
    assert family.solve(epsilon=1, **{family.scale_name: 2}, **shape_of(family)).solved == "delta"


# The dominating pairs.


@each_family
@given(scale=st.fractions("1/3", 5, max_denominator=12), d=st.integers(1, 4), order=st.fractions("1/4", 5, max_denominator=6))
@settings(max_examples=10)
def test_the_pair_answers_for_its_laws(family: Any, scale: Fraction, d: int, order: Fraction) -> None:
    (pair,) = member(family, scale, d).dominating_pairs()
    assert pair.reversed() is pair
    exact = fmpq(order.numerator, order.denominator)
    with mpmath.workdps(60), working_precision(150):
        law = weights(family, scale, int(120 * scale * (1 + order)) + 80)
        alpha = mpmath.mpf(order.numerator) / order.denominator
        ratio = {x: (law[x - d], law[x]) for x in law if x - d in law}

        def close(ball: Any, direct: Any) -> bool:
            return bool(abs(arb(ball) - arb(mpmath.nstr(direct, 50))) < arb(10) ** -20 * (1 + abs(arb(ball))))

        moment = mpmath.fsum(p**alpha * q ** (1 - alpha) for p, q in ratio.values() if p > 0 and q > 0)
        assert close(pair.power_moment(exact), moment)
        assert pair.power_moment(fmpq(1)) == 1
        assert close(pair.mean_loss(), mpmath.fsum(p * mpmath.log(p / q) for p, q in ratio.values()))
        for eps in (fmpq(1, 3), fmpq(-1, 2), fmpq(0), fmpq(50), fmpq(-50)):
            level = mpmath.mpf(int(eps.p)) / int(eps.q) + mpmath.mpf(10) ** -40
            tail = mpmath.fsum(p for p, q in ratio.values() if mpmath.log(p / q) > level)
            assert close(pair.loss_tail(eps), tail)


@each_family
@given(scale=decimals("0.3", "40"), d=st.integers(1, 9), tail=decimals("1e-30", "0.999"))
@settings(max_examples=16)
def test_the_loss_quantile_is_the_least_loss_with_so_small_a_tail(family: Any, scale: str, d: int, tail: str) -> None:
    (pair,) = member(family, scale, d).dominating_pairs()
    exact = fmpq(*map(int, Fraction(tail).as_integer_ratio()))
    found = pair.loss_quantile(exact)
    with working_precision(300):
        assert pair.loss_tail(found) < arb(exact)
        assert arb(pair.loss_tail(found - fmpq(1, 10**9))) > arb(exact)


def test_the_discrete_gaussian_pair_knows_its_concentration() -> None:
    (pair,) = by_name("discrete-gaussian")("1/2", sensitivity=3).dominating_pairs()
    assert pair.zcdp_rho() == pair.mean_loss() == 18
    assert pair.loss_limit() == arb.pos_inf()
    assert pair.log_power_moment(fmpq(4, 3)) == fmpq(4, 9) * 18
    with working_precision(100):
        for order in (fmpq(3, 2), fmpq(11, 10), fmpq(7)):
            assert not arb(pair.log_power_moment(order)) / arb(order * (order - 1)) > 18 + arb(10) ** -20
        assert abs(pair.loss_variance() / (144 * sums.second_moment(fmpq(1, 4)) / sums.whole(fmpq(1, 4))) - 1) < arb(10) ** -20


# Sums.


def direct_sum(v: Fraction, start: int | None, shift: Fraction = Fraction(0)) -> Any:
    size, offset = mpmath.mpf(v.numerator) / v.denominator, mpmath.mpf(shift.numerator) / shift.denominator
    reach = int(mpmath.sqrt(size * 400)) + abs(start or 0) + 12
    first = -reach if start is None else start
    return mpmath.fsum(mpmath.exp(-((x - offset) ** 2) / (2 * size)) for x in range(first, reach + abs(first)))


@given(
    v=st.fractions("1/400", 3000, max_denominator=400),
    k=st.integers(-30, 400),
    bits=st.sampled_from([64, 120, 300]),
    shift=st.fractions(0, 3, max_denominator=9),
)
@settings(max_examples=24)
def test_sums_over_the_integers(v: Fraction, k: int, bits: int, shift: Fraction) -> None:
    exact = fmpq(v.numerator, v.denominator)
    with mpmath.workdps(90):
        pairs = [
            (lambda: sums.upper(exact, k), direct_sum(v, k)),
            (lambda: sums.whole(exact, fmpq(shift.numerator, shift.denominator)), direct_sum(v, None, shift)),
        ]
        for compute, direct in pairs:
            with working_precision(bits):
                ball = compute()
            assert ball.rel_accuracy_bits() > bits - 48
            with working_precision(400):
                assert ball.overlaps(arb(mpmath.nstr(direct, 80)) * (1 + arb(0, arb(10) ** -70)))


@pytest.mark.parametrize("v", [10**4, 10**6, 10**14, 10**40])
@pytest.mark.parametrize("bits", [80, 400, 1500])
def test_long_sums_agree_at_different_precisions(v: int, bits: int) -> None:
    root = math.isqrt(v)
    for k in (1, root // 2, 5 * root, 30 * root):
        with working_precision(bits):
            coarse = sums.upper(fmpq(v), k)
        with working_precision(2 * bits):
            fine, following = sums.upper(fmpq(v), k), sums.upper(fmpq(v), k + 1)
            assert coarse.overlaps(fine)
            assert coarse.rel_accuracy_bits() > bits - 48
            assert (fine - following).overlaps(arb(-(fmpq(k) ** 2) / (2 * v)).exp())


def test_a_remainder_that_is_left_out_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above fails when Euler and Maclaurin's formula is cut off without its remainder."""
    monkeypatch.setattr(sums, "_remainder", lambda *given: arb(0))
    with working_precision(200):
        cut = sums.upper(fmpq(4000), 100)
    monkeypatch.undo()
    with working_precision(300):
        assert not cut.overlaps(sums.upper(fmpq(4000), 100))


def test_families_are_found() -> None:
    assert {family.name for family in FAMILIES} >= {"discrete-laplace", "discrete-gaussian", "truncated-geometric"}
    assert all(a.name < b.name for a, b in itertools.pairwise(FAMILIES))


def test_a_question_that_would_take_minutes_is_refused_by_name() -> None:
    noise = by_name("discrete-gaussian")(11_498_970, sensitivity=10**9)
    with pytest.raises(PrecisionError, match=r"the effort of .* is spent"):
        trade_off.trade_off(noise, "0.227030")
