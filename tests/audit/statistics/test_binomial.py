import csv
import math
from fractions import Fraction
from pathlib import Path

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.arithmetic.precision import working_precision
from dpverify.audit.statistics import tails
from dpverify.audit.statistics.binomial import lower, upper
from dpverify.errors import InputError

REFERENCE = list(csv.DictReader(Path(__file__).with_name("binomial_bounds.csv").read_text().splitlines()))
LEVELS = st.sampled_from([0.95, 0.6, 0.3, 0.05, 1e-3, 1e-6, 1e-12])


def exact_tail(successes: int, trials: int, p: Fraction) -> Fraction:
    return sum((math.comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(successes, trials + 1)), Fraction(0))


@st.composite
def counts(draw: st.DrawFn, most: int) -> tuple[int, int]:
    trials = draw(st.integers(1, most))
    return draw(st.integers(0, trials)), trials


@pytest.mark.parametrize("row", REFERENCE, ids=lambda r: f"{r['side']}-{r['successes']}-{r['trials']}-{r['alpha']}")
def test_bounds_equal_the_reference_to_the_last_places(row: dict[str, str]) -> None:
    bound = {"lower": lower, "upper": upper}[row["side"]](int(row["successes"]), int(row["trials"]), float(row["alpha"]))
    relative = float((Fraction(bound) - Fraction(row["value"])) / Fraction(row["value"]))
    outward = -relative if row["side"] == "lower" else relative
    assert -2e-16 <= outward <= 1e-15  # the double alpha is not the decimal one, hence the first bound


def test_the_reference_would_notice_the_library_fault_it_was_made_for() -> None:
    # scipy.stats.beta.ppf 1.17.1 has answered 1520/N for k = 1000, N = 2e8 at level .05
    row = next(
        r for r in REFERENCE if (r["successes"], r["trials"], r["alpha"], r["side"]) == ("1000", "200000000", "0.05", "lower")
    )
    assert round(float(row["value"]) * 2e8, 2) == 948.56
    assert abs(1520 / 2e8 / float(row["value"]) - 1) > 0.5


@given(counts(60), LEVELS)
def test_lower_satisfies_its_equation_and_its_neighbours_do_not(pair: tuple[int, int], alpha: float) -> None:
    successes, trials = pair
    bound = lower(successes, trials, alpha)
    if successes == 0:
        assert bound == 0.0
        return
    assert exact_tail(successes, trials, Fraction(bound)) <= Fraction(alpha)
    above = bound
    for _ in range(4):
        above = math.nextafter(above, 1.0)
    assert exact_tail(successes, trials, Fraction(above)) > Fraction(alpha)


@given(counts(60), LEVELS)
def test_upper_satisfies_its_equation_and_its_neighbours_do_not(pair: tuple[int, int], alpha: float) -> None:
    successes, trials = pair
    bound = upper(successes, trials, alpha)
    if successes == trials:
        assert bound == 1.0
        return
    below = bound
    for _ in range(4):
        below = math.nextafter(below, 0.0)
    if bound < 1:
        assert 1 - exact_tail(successes + 1, trials, Fraction(bound)) <= Fraction(alpha)
    assert 1 - exact_tail(successes + 1, trials, Fraction(below)) > Fraction(alpha)


@settings(max_examples=16)
@given(counts(10**9), LEVELS)
def test_bounds_of_large_counts_are_certified_by_another_algorithm(pair: tuple[int, int], alpha: float) -> None:
    # the regularised incomplete beta function of Arb is a hypergeometric series: slow here, and independent of `tails`
    successes, trials = pair
    low, high = lower(successes, trials, alpha), upper(successes, trials, alpha)
    assert 0 <= low <= 1
    assert 0 <= high <= 1
    assert alpha > 0.5 or low <= successes / trials <= high
    with working_precision(300):
        if successes:
            assert flint.arb(low).beta_lower(successes, trials - successes + 1, 1) <= flint.arb(alpha)
        if successes < trials:
            rest = (1 - flint.arb(high)).beta_lower(trials - successes, successes + 1, 1)
            assert high == 1 or rest <= flint.arb(alpha)


@given(counts(10**6), LEVELS)
def test_bounds_are_monotone(pair: tuple[int, int], alpha: float) -> None:
    successes, trials = pair
    if successes < trials:
        assert lower(successes, trials, alpha) <= lower(successes + 1, trials, alpha)
        assert upper(successes, trials, alpha) <= upper(successes + 1, trials, alpha)
    assert lower(successes, trials, alpha / 2) <= lower(successes, trials, alpha)
    assert upper(successes, trials, alpha / 2) >= upper(successes, trials, alpha)


def test_corners() -> None:
    assert (lower(0, 0, 0.05), upper(0, 0, 0.05)) == (0.0, 1.0)
    assert (lower(0, 10**9, 0.05), upper(10**9, 10**9, 0.05)) == (0.0, 1.0)
    assert 0 < lower(1, 10**9, 1e-300) < 1e-308
    assert upper(0, 1, 1e-300) == 1.0
    assert lower(np.int64(3), np.int64(10**6), 0.05) == lower(3, 10**6, 0.05)


@pytest.mark.parametrize("call", [(-1, 5, 0.1), (6, 5, 0.1), (1, 5, 0.0), (1, 5, 1.0), (1, 5, math.nan), (1.0, 5, 0.1)])
def test_numbers_outside_their_domain_are_refused(call: tuple[int, int, float]) -> None:
    for bound in (lower, upper):
        with pytest.raises(InputError):
            bound(*call)


@given(counts(80), st.fractions(min_value="1/1000", max_value="999/1000", max_denominator=1000))
def test_tails_enclose_the_exact_sum(pair: tuple[int, int], p: Fraction) -> None:
    successes, trials = pair
    exact = exact_tail(successes, trials, p)
    with working_precision(tails.working_bits(trials)):
        ball = flint.arb(flint.fmpq(p.numerator, p.denominator))
        tail = tails.upper_tail(successes, trials, ball, 1 - ball)
        assert tail.contains(flint.arb(flint.fmpq(exact.numerator, exact.denominator)))
        assert tail.rad() < 1e-12


def test_a_cut_of_the_continued_fraction_encloses_wherever_it_is_made() -> None:
    with working_precision(200):
        p = flint.arb("0.05")
        whole = tails._cut_fraction(60, 800, p, 740)
        for terms in (0, 1, 2, 5, 20, 100):
            cut = tails._cut_fraction(60, 800, p, terms)
            assert cut.overlaps(whole)
            assert cut.rad() >= whole.rad()
