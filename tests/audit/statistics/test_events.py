import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpverify.audit.statistics.binomial import lower, upper
from dpverify.audit.statistics.events import (
    Counts,
    Design,
    approximate_epsilon_lower,
    delta_lower,
    epsilon_lower,
    p_value,
    rejects,
)
from dpverify.errors import InputError

LOG_2 = math.nextafter(math.log(2), 1)
"""A double with e^x >= 2, so that p = 2 q + delta satisfies the claim exactly."""
assert math.exp(LOG_2) >= 2


def mass(trials: int, p: Fraction) -> list[Fraction]:
    """Pr(Bin(trials, p) = 0), ..., Pr(Bin(trials, p) = trials), exactly."""
    return [math.comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(trials + 1)]


def rejection_probability(rejected: Callable[[int, int], bool], n1: int, n2: int, p: Fraction, q: Fraction) -> Fraction:
    """The probability that independent Bin(n1, p) and Bin(n2, q) counts are rejected, exactly."""
    xs, ys = mass(n1, p), mass(n2, q)
    return sum((px * py for x, px in enumerate(xs) for y, py in enumerate(ys) if rejected(x, y)), Fraction(0))


def edge(ratio: Fraction, delta: Fraction, steps: int) -> list[tuple[Fraction, Fraction]]:
    """Pairs (p, q) with p = ratio q + delta <= 1, q at `steps` even steps and at some very small values."""
    top = min(Fraction(1), (1 - delta) / ratio)
    qs = [top * k / steps for k in range(steps + 1)] + [top / 10**k for k in (2, 3, 4)]
    return [(ratio * q + delta, q) for q in qs]


def at(hits: int, draws: int, other_hits: int, other_draws: int) -> Counts:
    return Counts(hits=hits, draws=draws, other_hits=other_hits, other_draws=other_draws)


@cache
def joint(x: int, n1: int, y: int, n2: int, epsilon: float, delta: float, alpha: float) -> bool:
    return rejects(at(x, n1, y, n2), epsilon=epsilon, delta=delta, alpha=alpha, design="fixed")


@pytest.mark.parametrize(
    ("n1", "n2", "epsilon", "ratio", "delta", "alpha"),
    [
        (9, 9, LOG_2, 2, "0", 0.1),
        (12, 7, LOG_2, 2, "1/16", 0.1),
        (8, 11, 0.0, 1, "0", 0.05),
        (10, 10, 0.0, 1, "1/4", 0.05),
        (7, 12, LOG_2, 2, "1/1024", 0.3),
        (16, 14, LOG_2, 2, "1/2", 0.02),
    ],
)
def test_the_joint_test_has_its_level_everywhere_on_the_edge(
    n1: int, n2: int, epsilon: float, ratio: int, delta: str, alpha: float
) -> None:
    def rejected(x: int, y: int) -> bool:
        return joint(x, n1, y, n2, epsilon, float(Fraction(delta)), alpha)

    sizes = [rejection_probability(rejected, n1, n2, p, q) for p, q in edge(Fraction(ratio), Fraction(delta), 24)]
    assert max(sizes) <= Fraction(alpha)
    assert max(sizes) >= Fraction(alpha) / 5  # and it is no test that never speaks


def test_the_joint_test_has_its_level_inside_the_claim_too() -> None:
    def rejected(x: int, y: int) -> bool:
        return joint(x, 9, y, 9, LOG_2, 0.0, 0.1)

    for i, j in itertools.product(range(11), repeat=2):
        p, q = Fraction(i, 10), Fraction(j, 10)
        if p <= 2 * q:
            assert rejection_probability(rejected, 9, 9, p, q) <= Fraction(1, 10)


def test_a_test_at_twice_the_level_is_caught_by_the_enumeration() -> None:
    def rejected(x: int, y: int) -> bool:
        return joint(x, 9, y, 9, LOG_2, 0.0, 0.2)

    sizes = [rejection_probability(rejected, 9, 9, p, q) for p, q in edge(Fraction(2), Fraction(0), 24)]
    assert max(sizes) > Fraction(1, 10)


def test_the_p_value_is_one_on_the_whole_sample_space() -> None:
    n, delta = 8, Fraction(1, 16)
    p_values = {(x, y): p_value(at(x, n, y, n), epsilon=LOG_2, delta=float(delta)) for x in range(n + 1) for y in range(n + 1)}
    for p, q in edge(Fraction(2), delta, 16):
        xs, ys = mass(n, p), mass(n, q)
        reached = Fraction(0)
        for (x, y), value in sorted(p_values.items(), key=lambda item: item[1]):
            reached += xs[x] * ys[y]
            later = [v for v in p_values.values() if v <= value]
            if len(later) == sum(v < value for v in p_values.values()) + 1:  # not in the middle of a tie
                assert reached <= Fraction(value)


@pytest.mark.parametrize(("epsilon", "ratio"), [(0.0, 1), (LOG_2, 2)])
def test_the_conditional_test_has_its_level_when_a_coin_chose_the_sides(epsilon: float, ratio: int) -> None:
    total, alpha = 12, 0.1
    rejected = {(x, y): rejects(at(x, 6, y, 6), epsilon=epsilon, delta=0, alpha=alpha) for x in range(7) for y in range(7)} | {
        (x, y): rejects(at(x, x, y, total - x), epsilon=epsilon, delta=0, alpha=alpha)
        for x in range(total + 1)
        for y in range(total + 1 - x)
    }
    largest = Fraction(0)
    for p, q in edge(Fraction(ratio), Fraction(0), 12):
        size = Fraction(0)
        for n1 in range(total + 1):
            coin = Fraction(math.comb(total, n1), 2**total)
            size += coin * rejection_probability(lambda x, y: rejected[x, y], n1, total - n1, p, q)
        largest = max(largest, size)
        assert size <= Fraction(alpha)
    assert largest >= Fraction(alpha) / 5


def test_the_better_of_two_tests_at_full_level_breaks_the_level_and_a_split_does_not() -> None:
    # 30 hits under theta = 1/2: the fixed-size test rejects at 20 or more, the bettor whenever his capital passes 1/alpha
    hits, alpha = 30, float(sum(mass(30, Fraction(1, 2))[20:]))

    def either(fixed_alpha: float, bet_alpha: float) -> Fraction:
        going, gone = {0: Fraction(1)}, Fraction(0)
        for done in range(1, hits + 1):
            after: dict[int, Fraction] = {}
            for x, chance in going.items():
                for new in (x, x + 1):
                    after[new] = after.get(new, Fraction(0)) + chance / 2
            going = {}
            for x, chance in after.items():
                # theta uniform on [1/2, 1] against 1/2: the integral of (2 theta)^x (2 (1 - theta))^y, twice
                capital = mpmath.betainc(x + 1, done - x + 1, 0.5, 1) * 2 ** (done + 1)
                if capital >= 1 / bet_alpha:
                    gone += chance
                else:
                    going[x] = chance
        last = (
            c for x, c in going.items() if rejects(at(x, 2 * hits, hits - x, 2 * hits), epsilon=0, delta=0, alpha=fixed_alpha)
        )
        return gone + sum(last, Fraction(0))

    assert either(alpha * 1.0001, alpha) > Fraction(alpha) * Fraction(101, 100)
    assert either(0.9 * alpha, 0.1 * alpha) <= Fraction(alpha)


def counts_of(most: int) -> st.SearchStrategy[Counts]:
    @st.composite
    def build(draw: st.DrawFn) -> Counts:
        n1, n2 = draw(st.integers(1, most)), draw(st.integers(1, most))
        return at(draw(st.integers(0, n1)), n1, draw(st.integers(0, n2)), n2)

    return build()


DELTAS = st.sampled_from([0.0, 1e-6, 1e-3, 0.05])
ALPHAS = st.sampled_from([0.1, 0.01, 1e-3, 1e-6])


@settings(max_examples=16)
@given(counts_of(3000), DELTAS, ALPHAS)
def test_decision_and_bound_agree(counts: Counts, delta: float, alpha: float) -> None:
    bound = epsilon_lower(counts, delta=delta, alpha=alpha, design="fixed")
    assert 0 <= bound < math.inf
    if bound > 0:
        assert rejects(counts, epsilon=bound, delta=delta, alpha=alpha, design="fixed")
        assert rejects(counts, epsilon=bound / 2, delta=delta, alpha=alpha, design="fixed")
    assert not rejects(counts, epsilon=bound + 0.01, delta=delta, alpha=alpha, design="fixed")


@given(st.integers(0, 5000), st.integers(0, 5000), ALPHAS)
def test_decision_and_bound_agree_for_the_conditional_test(hits: int, other_hits: int, alpha: float) -> None:
    counts = at(hits, 10**5, other_hits, 10**5)
    bound = epsilon_lower(counts, delta=0, alpha=alpha)
    if bound > 0:
        assert rejects(counts, epsilon=bound, delta=0, alpha=alpha)
        assert p_value(counts, epsilon=bound, delta=0) <= alpha * (1 + 1e-9)
    assert not rejects(counts, epsilon=bound + 1e-9, delta=0, alpha=alpha)


@settings(max_examples=15)
@given(counts_of(2000), DELTAS, ALPHAS, st.sampled_from([0.0, 0.5, 2.0]))
def test_delta_bound_and_decision_agree(counts: Counts, delta: float, alpha: float, epsilon: float) -> None:
    bound = delta_lower(counts, epsilon=epsilon, alpha=alpha)
    assert 0 <= bound <= counts.hits / counts.draws
    if bound > 0:  # the two order the counts by different statistics, so they agree up to a part of the distance only
        point = counts.hits / counts.draws - math.exp(epsilon) * counts.other_hits / counts.other_draws
        assert bound < point
        assert p_value(counts, epsilon=epsilon, delta=bound * 0.5, design="fixed") <= 1.5 * alpha


@settings(max_examples=12)
@given(counts_of(2000), DELTAS, ALPHAS)
def test_bounds_rise_with_hits_and_fall_with_the_others(counts: Counts, delta: float, alpha: float) -> None:
    assume(counts.hits < counts.draws and counts.other_hits < counts.other_draws)
    more = at(counts.hits + 1, counts.draws, counts.other_hits, counts.other_draws)
    worse = at(counts.hits, counts.draws, counts.other_hits + 1, counts.other_draws)
    bound = epsilon_lower(counts, delta=delta, alpha=alpha, design="fixed")
    slack = 1e-3  # the search stops within a part 1e-4 of the level
    assert epsilon_lower(more, delta=delta, alpha=alpha, design="fixed") >= bound - slack
    assert epsilon_lower(worse, delta=delta, alpha=alpha, design="fixed") <= bound + slack
    assert epsilon_lower(counts, delta=delta, alpha=alpha / 10, design="fixed") <= bound + slack
    assert epsilon_lower(counts, delta=delta + 0.01, alpha=alpha, design="fixed") <= bound + slack


@pytest.mark.parametrize(
    ("counts", "delta"),
    [
        (at(300, 10**6, 100, 10**6), 1e-5),
        (at(40, 10**6, 1, 10**6), 1e-5),
        (at(3000, 10**6, 1000, 10**6), 1e-3),
        (at(5000, 10**4, 1839, 10**4), 0.0),
    ],
)
@pytest.mark.parametrize("alpha", [0.05, 1e-3])
def test_the_joint_test_gains_on_a_pair_of_intervals(counts: Counts, delta: float, alpha: float) -> None:
    pair = math.log(
        (lower(counts.hits, counts.draws, alpha / 2) - delta) / upper(counts.other_hits, counts.other_draws, alpha / 2)
    )
    bound = epsilon_lower(counts, delta=delta, alpha=alpha, design="fixed")
    point = math.log((counts.hits / counts.draws - delta) / (counts.other_hits / counts.other_draws))
    assert pair + 0.01 < bound < point


def test_known_bounds_at_expected_counts() -> None:
    # Laplace, epsilon = 1, the event x > 1 with 10^4 draws a side: .939 by two intervals, .955 by the conditional test
    laplace = at(5000, 10**4, 1839, 10**4)
    assert round(epsilon_lower(laplace, delta=0, alpha=0.05), 3) == 0.955
    # Gaussian calibrated to (1, 1e-5), audited at delta = 1e-5 with 10^6 a side: .768 by two intervals
    gaussian = at(649, 10**6, 246, 10**6)
    assert epsilon_lower(gaussian, delta=1e-5, alpha=0.05) > 0.82


def test_without_other_hits_the_conditional_bound_has_a_closed_form() -> None:
    for hits, alpha in ((5, 0.05), (100, 1e-3), (10**6, 1e-9)):
        bound = epsilon_lower(at(hits, 10**7, 0, 10**7), delta=0, alpha=alpha)
        assert bound == pytest.approx(-math.log(math.expm1(-math.log(alpha) / hits)), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-5, 1e-3])
@pytest.mark.parametrize("draws", [1000, 10**6])
@pytest.mark.parametrize("alpha", [0.05, 1e-3, 1e-5])
def test_the_ranking_follows_the_certified_bound(delta: float, draws: int, alpha: float) -> None:
    free = round(2 * draws * delta)
    pairs = [(x + free, y) for x in (12, 60, 400) for y in (0, 1, 2, 30)]
    for x, y in pairs:
        certified = epsilon_lower(at(x, draws, y, draws), delta=delta, alpha=alpha)
        guess = float(approximate_epsilon_lower(x, draws, y, draws, delta=delta, alpha=alpha))
        assert max(guess, 0.0) == pytest.approx(certified, abs=0.06)


def test_the_ranking_takes_arrays_and_knows_when_nothing_is_shown() -> None:
    hits = np.arange(50)
    guess = approximate_epsilon_lower(hits, 10**6, 0, 10**6, delta=2e-5, alpha=1e-3)
    assert guess.shape == (50,)
    assert np.all(np.isneginf(guess[:21]))
    assert np.all(np.diff(guess[40:]) > 0)
    grid = approximate_epsilon_lower(hits[:, None], 10**6, hits[None, :], 10**6, delta=0, alpha=1e-3)
    assert np.all(np.diff(grid[1:], axis=1) < 0)


@pytest.mark.parametrize("design", ["random-side", "fixed"])
def test_corners_show_nothing(design: Design) -> None:
    for counts in (at(0, 0, 0, 0), at(0, 9, 0, 9), at(9, 9, 9, 9), at(0, 10, 3, 10)):
        for delta in (0.0, 0.01, 1.0):
            assert epsilon_lower(counts, delta=delta, alpha=0.01, design=design) == 0.0
            assert not rejects(counts, epsilon=0.0, delta=delta, alpha=0.01, design=design)
            assert p_value(counts, epsilon=0.0, delta=delta, design=design) > 0.4
            assert delta_lower(counts, epsilon=0.0, alpha=0.01, design=design) == 0.0
    assert not rejects(at(10, 10, 0, 10), epsilon=800.0, delta=0.0, alpha=0.01, design="fixed")
    assert not rejects(at(10, 10, 0, 10), epsilon=0.0, delta=0.0, alpha=1e-300, design="fixed")
    assert p_value(at(10, 10, 0, 10), epsilon=800.0, delta=0.0, design="fixed") == 1.0
    assert delta_lower(at(10, 10, 0, 10), epsilon=800.0, alpha=0.01) == 0.0


def test_every_output_on_one_side_only_shows_nearly_everything() -> None:
    counts = at(10**6, 10**6, 0, 10**6)
    assert epsilon_lower(counts, delta=0.0, alpha=1e-3) > 11
    assert epsilon_lower(counts, delta=1e-3, alpha=1e-3) > 11
    assert delta_lower(counts, epsilon=1.0, alpha=1e-3) > 0.9999
    assert p_value(counts, epsilon=1.0, delta=1e-3) < 1e-200


def test_wrong_numbers_are_refused() -> None:
    good = at(5, 10, 1, 10)
    with pytest.raises(InputError, match="counted among the draws"):
        at(11, 10, 0, 10)
    with pytest.raises(InputError, match="integer"):
        Counts(hits=1.5, draws=10, other_hits=0, other_draws=10)  # type: ignore[arg-type]
    for wrong in ({"delta": -0.1}, {"delta": 1.5}, {"alpha": 0.0}, {"alpha": math.nan}):
        with pytest.raises(InputError):
            epsilon_lower(good, **{"delta": 0.0, "alpha": 0.1, **wrong})
    for epsilon in (-1.0, math.inf, math.nan):
        with pytest.raises(InputError):
            rejects(good, epsilon=epsilon, delta=0.0, alpha=0.1)
    with pytest.raises(InputError, match="design"):
        epsilon_lower(good, delta=0.0, alpha=0.1, design="paired")  # type: ignore[arg-type]


def test_a_split_that_no_coin_makes_is_refused() -> None:
    with pytest.raises(InputError, match="fair coin"):
        epsilon_lower(at(5, 1000, 1, 2000), delta=0.0, alpha=0.1)
    assert epsilon_lower(at(500, 1000, 1, 2000), delta=0.0, alpha=0.1, design="fixed") > 1


def test_numpy_counts_do_not_overflow() -> None:
    counts = Counts(hits=np.int32(10**5), draws=np.int32(10**6), other_hits=np.int32(30000), other_draws=np.int32(10**6))
    assert counts == at(100000, 10**6, 30000, 10**6)
    assert epsilon_lower(counts, delta=1e-3, alpha=0.01) > 1.1
