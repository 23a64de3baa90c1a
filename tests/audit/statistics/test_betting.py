import itertools
import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.audit.statistics.betting import (
    Bet,
    PairCounts,
    average_delta_lower,
    average_epsilon_lower,
    average_log_capital,
    log_capital,
    needed_log_capital,
    rough_log_capital,
)
from dpverify.errors import InputError


def pairs(both: int, first: int, second: int, neither: int) -> PairCounts:
    return PairCounts(both=both, first=first, second=second, neither=neither)


def multinomial(counts: tuple[int, ...], chances: tuple[float, ...]) -> float:
    ways = math.factorial(sum(counts))
    for c in counts:
        ways //= math.factorial(c)
    return ways * math.prod(chance**c for chance, c in zip(chances, counts, strict=True))


def splits(total: int, parts: int) -> list[tuple[int, ...]]:
    return [c for c in itertools.product(range(total + 1), repeat=parts) if sum(c) == total]


def bound_of_one(counts: PairCounts, *, delta: float, alpha: float) -> float:
    """The bound of a bettor who puts everything on one event."""
    return average_epsilon_lower([Bet(share=1.0, pairs=counts, epsilon=0.0, delta=delta)], alpha)


CLAIMS = [(0.0, 0.0), (0.0, 0.1), (1.0, 0.0), (1.0, 0.05), (3.0, 0.3)]


@pytest.mark.parametrize(("epsilon", "delta"), CLAIMS)
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("size", [1, 6])
def test_the_capital_of_pairs_is_at_most_1_in_expectation_under_the_claim(
    epsilon: float, delta: float, share: float, size: int
) -> None:
    q = share * (1 - delta) * math.exp(-epsilon)
    p = math.exp(epsilon) * q + delta
    independent = (p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q))
    comonotone = (q, p - q, 0.0, 1 - p)  # the pairing does not matter
    for chances in (independent, comonotone):
        mean = sum(
            multinomial(c, chances) * math.exp(log_capital(pairs(*c), epsilon=epsilon, delta=delta)) for c in splits(size, 4)
        )
        assert mean <= 1 + 1e-9


def test_just_beyond_the_claim_the_capital_grows_in_expectation() -> None:
    # the same sum under a violation: the expectation is no accident of an idle bettor
    p, q = 0.9, 0.1
    chances = (p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q))
    mean = sum(multinomial(c, chances) * math.exp(log_capital(pairs(*c), epsilon=1.0, delta=0.0)) for c in splits(12, 4))
    assert mean > 1.2


COUNT = st.integers(0, 5000)


@given(COUNT, COUNT, COUNT, COUNT, st.sampled_from([0.0, 1e-4, 0.1]), st.floats(0, 4), st.floats(0, 2))
def test_capital_falls_as_epsilon_rises(
    both: int, first: int, second: int, neither: int, delta: float, epsilon: float, more: float
) -> None:
    counts = pairs(both, first, second, neither)
    before = log_capital(counts, epsilon=epsilon, delta=delta)
    assert log_capital(counts, epsilon=epsilon + more, delta=delta) <= before + 0.01  # small terms are left out of the sum


@given(COUNT, COUNT, COUNT, st.sampled_from([0.0, 1e-4, 0.1]), st.sampled_from([0.05, 1e-3]))
def test_the_running_bound_is_where_the_capital_passes(
    first: int, second: int, neither: int, delta: float, alpha: float
) -> None:
    counts = pairs(0, first, second, neither)
    bound = bound_of_one(counts, delta=delta, alpha=alpha)
    if bound > 0:
        assert log_capital(counts, epsilon=bound, delta=delta) >= -math.log(alpha)
    assert log_capital(counts, epsilon=bound + 0.01, delta=delta) < -math.log(alpha)


def test_before_the_first_draw_nothing_is_known() -> None:
    assert -0.1 <= log_capital(pairs(0, 0, 0, 0), epsilon=0.0, delta=0.0) <= 0
    assert -2 <= log_capital(pairs(0, 0, 0, 0), epsilon=2.0, delta=0.1) <= 0  # large stakes could lose all, and count as lost
    assert bound_of_one(pairs(0, 0, 0, 0), delta=0.0, alpha=0.01) == 0.0
    with pytest.raises(InputError):
        pairs(-1, 0, 0, 0)
    with pytest.raises(InputError):
        bound_of_one(pairs(0, 0, 0, 0), delta=0.0, alpha=0.0)


def test_a_blatant_violation_is_settled_by_few_draws() -> None:
    assert log_capital(pairs(0, 40, 0, 0), epsilon=0.1, delta=0.0) > -math.log(1e-4)


def test_expected_counts_settle_the_case_that_was_measured_before() -> None:
    # true epsilon 1 against a claim of .9 at alpha = 1e-3: about 10,000 pairs
    n = 12_000
    p, q = 0.5, 0.5 * math.exp(-1)
    counts = pairs(*(round(n * c) for c in (p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q))))
    assert log_capital(counts, epsilon=0.9, delta=0.0) >= -math.log(1e-3)
    assert 0.9 <= bound_of_one(counts, delta=0.0, alpha=1e-3) < 1


def bet(share: float, counts: PairCounts, epsilon: float = 1.0, delta: float = 0.0) -> Bet:
    return Bet(share=share, pairs=counts, epsilon=epsilon, delta=delta)


COUNTS = st.builds(pairs, *[st.integers(0, 400)] * 4)


@given(COUNTS, COUNTS, st.floats(0.01, 0.99), st.floats(0, 3), st.sampled_from([0.0, 1e-5, 0.1]))
def test_the_average_of_capitals_is_that(
    one: PairCounts, other: PairCounts, share: float, epsilon: float, delta: float
) -> None:
    capitals = [log_capital(counts, epsilon=epsilon, delta=delta) for counts in (one, other)]
    exact = mpmath.log(share * mpmath.exp(capitals[0]) + (1 - share) * mpmath.exp(capitals[1]))
    bets = [bet(share, one, epsilon, delta), bet(1 - share, other, epsilon, delta)]
    found = average_log_capital(bets)
    assert found <= exact + 1e-12
    assert found == pytest.approx(float(exact), abs=1e-9)
    assert rough_log_capital(bets) == pytest.approx(found, abs=1e-3)


def test_one_bet_is_a_capital_of_its_own() -> None:
    counts = pairs(10, 200, 40, 750)
    assert average_log_capital([bet(1.0, counts)]) == pytest.approx(log_capital(counts, epsilon=1.0, delta=0.0), abs=1e-9)


@given(COUNTS, COUNTS, st.sampled_from([0.0, 1e-4]), st.sampled_from([0.05, 1e-6]))
def test_the_bound_of_bets_is_where_they_stop_refuting(one: PairCounts, other: PairCounts, delta: float, alpha: float) -> None:
    bets = [bet(0.75, one, 0.0, delta), bet(0.25, other, 0.0, delta)]
    found = average_epsilon_lower(bets, alpha)
    needed = needed_log_capital(alpha)
    above = [bet(each.share, each.pairs, found + 1e-4, delta) for each in bets]
    assert average_log_capital(above) < needed or found == 0
    if found > 0:
        assert average_log_capital([bet(each.share, each.pairs, found, delta) for each in bets]) >= needed


@given(COUNTS, COUNTS, st.sampled_from([0.0, 1.0]), st.sampled_from([0.05, 1e-6]))
def test_the_bound_on_delta_is_where_bets_stop_refuting(
    one: PairCounts, other: PairCounts, epsilon: float, alpha: float
) -> None:
    def at(delta: float) -> list[Bet]:
        return [bet(0.75, one, epsilon, delta), bet(0.25, other, epsilon, delta)]

    found = average_delta_lower(at(0.0), alpha)
    needed = needed_log_capital(alpha)
    assert 0 <= found < 1
    assert average_log_capital(at(min(found + 1e-4, 1.0))) < needed or found == 0
    if found > 0:
        assert average_log_capital(at(found)) >= needed


@pytest.mark.parametrize("shares", [(), (0.0, 1.0), (-0.1, 0.5), (0.7, 0.4)])
def test_shares_of_more_than_there_is_are_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="shares of"):
        average_log_capital([bet(share, pairs(1, 2, 3, 4)) for share in shares])


def test_all_is_lost_where_every_bet_is() -> None:
    assert average_log_capital([bet(1.0, pairs(0, 0, 1, 0), 40.0)]) <= 0
