"""The effort of a question: counted, shared by what is asked within it, and the same on every machine."""

from __future__ import annotations

from typing import Any

import pytest
from flint import arb

from dpverify.arithmetic.multiprecision import MultiprecisionArithmetic
from dpverify.arithmetic.precision import working_precision
from dpverify.enclose import effort
from dpverify.enclose.effort import limited_effort, spend
from dpverify.enclose.integral import integral
from dpverify.enclose.maximum import maximum
from dpverify.enclose.refine import enclose
from dpverify.enclose.second_opinion import settled
from dpverify.errors import NotCovered, PrecisionError


def spent_until_refused(**options: int) -> int:
    with working_precision(256), limited_effort(**options):
        for count in range(10_000):
            try:
                spend()
            except PrecisionError:
                return count
    raise AssertionError("nothing was refused")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "LARGEST_EFFORT", 100)


def test_an_evaluation_is_twice_as_dear_at_256_bits() -> None:
    assert spent_until_refused() == 50


def test_more_digits_and_more_patience_allow_more() -> None:
    assert spent_until_refused(digits=150) == 500
    assert spent_until_refused(times=3) == 150
    assert spent_until_refused(digits=3) == 50


def test_without_a_question_nothing_counts() -> None:
    for _ in range(1000):
        spend(1000)


def test_a_block_within_a_block_shares_its_count() -> None:
    with working_precision(256), limited_effort():
        for _ in range(4):
            with limited_effort(times=100):
                spend(10)
        with pytest.raises(PrecisionError), limited_effort():
            spend(11)


def test_a_new_question_starts_anew() -> None:
    for _ in range(3):
        assert spent_until_refused() == 50


def test_a_question_of_many_integrals_is_refused_whatever_each_of_them_costs() -> None:
    def value(bits: int) -> arb:
        return sum((integral(lambda m, x: m.exp(-x), [arb(0), arb(1)]) for _ in range(100)), arb(0))

    with pytest.raises(PrecisionError, match="effort"):
        enclose(value, 15, what=lambda: "a hundred integrals")


def test_a_search_for_a_maximum_counts_its_intervals() -> None:
    seen = []

    def at(x: arb) -> arb:
        seen.append(x)
        return arb(1)

    with working_precision(160), limited_effort(), pytest.raises(PrecisionError, match="effort"):
        maximum(at, lambda low, high: 1 + (high - low), [arb(0), arb(1)], bits=60, known=arb(0), what=lambda: "a flat top")
    assert 1 <= len(seen) <= 10


def test_a_cheap_question_is_answered_within_the_effort() -> None:
    found = enclose(lambda bits: arb(2).sqrt(), 15, what=lambda: "a root")
    assert found.lower <= 2**0.5 <= found.upper


def test_an_evaluation_may_name_its_own_precision() -> None:
    with working_precision(4096), limited_effort():
        for _ in range(50):
            spend(bits=256)
        with pytest.raises(PrecisionError, match="is spent"):
            spend(bits=256)


def test_a_second_opinion_counts_what_mpmath_evaluates() -> None:
    def endless(m: MultiprecisionArithmetic) -> object:
        while True:
            m.exp(m.rational(1))

    with pytest.raises(PrecisionError, match=r"^the answer: no second opinion, because the effort of 100 evaluations is spent"):
        settled(endless, 15, what="the answer")


@pytest.mark.parametrize("series", [lambda m, x: m.gamma_upper(x, x), lambda m, x: m.hurwitz_zeta(1 + x, x)])
def test_series_are_dearer(series: Any) -> None:
    counts: list[float] = []
    m = MultiprecisionArithmetic(20, lambda evaluations, bits: counts.append(evaluations))
    m.exp(m.rational(1))
    series(m, m.rational(1, 3))
    assert counts[1] >= 40 * counts[0]


def test_a_series_that_mpmath_gives_up_is_a_named_error() -> None:
    def given_up(m: MultiprecisionArithmetic) -> object:
        raise ValueError("hypsum() failed to converge")

    with pytest.raises(PrecisionError, match=r"the answer: no second opinion, because mpmath gives up \(hypsum"):
        settled(given_up, 15, what="the answer")


def test_a_refusal_keeps_its_kind() -> None:
    def refused(m: MultiprecisionArithmetic) -> object:
        raise NotCovered("no such thing")

    with pytest.raises(NotCovered, match="no such thing"):
        settled(refused, 15, what="the answer")
