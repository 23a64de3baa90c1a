"""Pairs of finite laws: every branch decided exactly."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from dpverify.arithmetic.exponentials import ExponentialSum
from dpverify.arithmetic.precision import working_precision
from dpverify.errors import InputError
from dpverify.mechanisms._finite import FiniteLaw, FinitePair, rational_law


def exact(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def real(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


parts = st.integers(0, 6)
laws = st.integers(2, 5).flatmap(lambda n: st.tuples(*(st.lists(parts, min_size=n, max_size=n).filter(any) for _ in range(2))))


def normalised(counts: list[int]) -> list[Fraction]:
    return [Fraction(count, sum(counts)) for count in counts]


def as_pair(counts: tuple[list[int], list[int]]) -> FinitePair:
    p, q = (rational_law([exact(x) for x in normalised(one)]) for one in counts)
    return FinitePair(p=p, q=q)


@given(counts=laws)
def test_at_epsilon_zero_everything_is_rational(counts: Any) -> None:
    p, q = map(normalised, counts)
    found = as_pair(counts).hockey_stick(fmpq(0))
    assert isinstance(found, fmpq)
    assert found == exact(sum((max(Fraction(0), a - b) for a, b in zip(p, q, strict=True)), Fraction(0)))


@given(counts=laws, epsilon=st.fractions(-3, 3, max_denominator=8))
def test_the_hockey_stick_is_the_largest_excess_of_an_event(counts: Any, epsilon: Fraction) -> None:
    p, q = map(normalised, counts)
    with mpmath.workdps(50), working_precision(160):
        growth = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        events = itertools.chain.from_iterable(itertools.combinations(range(len(p)), size) for size in range(len(p) + 1))
        gains = [real(a) - growth * real(b) for a, b in zip(p, q, strict=True)]
        best = max(sum(gains[i] for i in event) for event in events)
        found = arb(as_pair(counts).hockey_stick(exact(epsilon)))
        assert abs(found - arb(mpmath.nstr(mpmath.mpf(best), 45))) < arb(10) ** -40


@given(counts=laws, order=st.fractions("1/4", 4, max_denominator=4))
def test_tails_moments_and_atoms_are_sums_over_outcomes(counts: Any, order: Fraction) -> None:
    p, q = map(normalised, counts)
    pair = as_pair(counts)
    assert pair.reversed().reversed() == pair
    atoms = pair.loss_atoms()
    assert sum((a[1] for a in atoms), fmpq(0)) == sum((a[2] for a in atoms), fmpq(0)) == 1
    ratios = {a / b if b else None for a, b in zip(p, q, strict=True) if a or b}
    assert len(atoms) == len(ratios)
    assert pair.loss_tail(fmpq(0)) == exact(sum((a for a, b in zip(p, q, strict=True) if a > b), Fraction(0)))
    if None in ratios:
        assert pair.loss_limit() == arb.pos_inf()
    if all(b or not a for a, b in zip(p, q, strict=True)):
        with mpmath.workdps(50), working_precision(160):
            alpha = mpmath.mpf(order.numerator) / order.denominator
            terms = [(real(a), real(b)) for a, b in zip(p, q, strict=True) if a]
            moment = mpmath.fsum(a**alpha * b ** (1 - alpha) for a, b in terms)
            mean = mpmath.fsum(a * mpmath.log(a / b) for a, b in terms)
            assert abs(arb(pair.power_moment(exact(order))) - arb(mpmath.nstr(moment, 45))) < arb(10) ** -38
            assert abs(arb(pair.mean_loss()) - arb(mpmath.nstr(mean, 45))) < arb(10) ** -38


def test_an_outcome_that_only_one_law_has() -> None:
    pair = FinitePair(p=rational_law([fmpq(1, 2), fmpq(1, 2), fmpq(0)]), q=rational_law([fmpq(0), fmpq(1, 3), fmpq(2, 3)]))
    assert pair.hockey_stick(fmpq(10**6)) == fmpq(1, 2)
    assert pair.power_moment(fmpq(2)) == arb.pos_inf()
    assert pair.power_moment(fmpq(1)) == 1
    assert not pair.power_moment(fmpq(1, 2)) > 1
    assert pair.mean_loss() == arb.pos_inf()
    assert pair.loss_atoms()[-1][1:] == (0, fmpq(2, 3))
    assert pair.loss_atoms()[-1][0] == arb.neg_inf()


def test_a_tie_between_irrational_numbers_is_no_gain() -> None:
    """p_0/q_0 is e^(2/3) exactly, though neither probability is rational."""
    p = FiniteLaw([ExponentialSum.exp(fmpq(a, 3)) for a in (2, 0, 1)])
    q = FiniteLaw([ExponentialSum.exp(fmpq(a, 3)) for a in (1, 2, 0)])
    pair = FinitePair(p=p, q=q)
    assert pair.order(0, fmpq(1, 3)) == 0
    assert pair.loss_tail(fmpq(1, 3)) == 0
    assert pair.loss_limit() == fmpq(1, 3)
    assert pair.hockey_stick(fmpq(1, 3)) == 0
    with working_precision(200):
        assert pair.hockey_stick(fmpq(1, 3) - fmpq(1, 10**30)) > 0
    assert [loss for loss, _, _ in pair.loss_atoms()] == [fmpq(1, 3), fmpq(-2, 3)]


def test_laws_on_different_outcomes_are_refused() -> None:
    with pytest.raises(InputError, match="2 and 3 outcomes"):
        FinitePair(p=rational_law([fmpq(1, 2)] * 2), q=rational_law([fmpq(1, 3)] * 3))


def test_cumulative_probabilities_leave_out_the_last() -> None:
    law = rational_law([fmpq(1, 2), fmpq(1, 3), fmpq(1, 6)])
    assert law.cumulative() == [fmpq(1, 2), fmpq(5, 6)]
    assert law.probabilities() == [fmpq(1, 2), fmpq(1, 3), fmpq(1, 6)]
