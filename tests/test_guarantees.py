"""The notions as values: what they accept, and what implies what outright."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.errors import InputError
from dpverify.guarantees import (
    ZCDP,
    ApproxDP,
    ConcentratedDP,
    GaussianDP,
    ProbabilisticDP,
    PureDP,
    RandomDP,
    RenyiDP,
    Verdict,
)

numbers = st.fractions(0, 10, max_denominator=20)
shares = st.fractions(0, "19/20", max_denominator=20)
guarantees = st.one_of(
    st.builds(PureDP, epsilon=numbers),
    st.builds(ApproxDP, epsilon=numbers, delta=shares),
    st.builds(ProbabilisticDP, epsilon=numbers, delta=shares, union=st.booleans()),
    st.builds(ConcentratedDP, epsilon=numbers, tau=numbers),
    st.builds(RenyiDP, order=st.fractions("21/20", 10, max_denominator=20), epsilon=numbers),
    st.builds(ZCDP, rho=numbers),
    st.builds(GaussianDP, mu=numbers),
)


@pytest.mark.parametrize("given", [0.1, "0.1", "1/10", Decimal("0.1"), Fraction(1, 10)])
def test_parameters_are_exact(given: Any) -> None:
    expected = Fraction(0.1) if isinstance(given, float) else Fraction(1, 10)
    assert PureDP(epsilon=given).epsilon == expected


def test_guarantees_are_values() -> None:
    assert ApproxDP(epsilon=1, delta="1e-6") == ApproxDP(epsilon="1", delta=Fraction(1, 10**6))
    assert len({ZCDP(rho=1), ZCDP(rho="1"), ZCDP(rho=2)}) == 2
    assert str(ApproxDP(epsilon=1, delta="1/4")) == "ApproxDP(epsilon=1, delta=1/4)"
    with pytest.raises(AttributeError):
        PureDP(epsilon=1).epsilon = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: PureDP(epsilon=-1), "epsilon = -1"),
        (lambda: PureDP(epsilon="one"), "'one'"),
        (lambda: PureDP(epsilon=float("inf")), "finite"),
        (lambda: ApproxDP(epsilon=1, delta=1), "less than 1"),
        (lambda: ProbabilisticDP(epsilon=1, delta="1.5"), "less than 1"),
        (lambda: RenyiDP(order=1, epsilon=1), "above 1"),
        (lambda: RandomDP(guarantee=PureDP(epsilon=1), failure="0.1", law=" "), "law"),
        (lambda: RandomDP(guarantee="pure", failure="0.1", law="i.i.d."), "ApproxDP"),  # type: ignore[arg-type]
        (lambda: RandomDP(guarantee=PureDP(epsilon=1), failure=1, law="i.i.d."), "less than 1"),
    ],
)
def test_what_is_no_guarantee_is_refused(make: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make()


@given(one=guarantees)
def test_every_guarantee_implies_itself(one: Any) -> None:
    assert one.implies(one)


@given(one=guarantees, two=guarantees, three=guarantees)
def test_implication_is_transitive(one: Any, two: Any, three: Any) -> None:
    if one.implies(two) and two.implies(three):
        assert one.implies(three)


@pytest.mark.parametrize(
    ("strong", "weak"),
    [
        (PureDP(epsilon=1), ApproxDP(epsilon=1, delta=0)),
        (PureDP(epsilon=1), ZCDP(rho="1/2")),
        (PureDP(epsilon=1), RenyiDP(order=3, epsilon="3/2")),
        (PureDP(epsilon=1), ProbabilisticDP(epsilon=1, delta=0, union=True)),
        (PureDP(epsilon=1), ConcentratedDP(epsilon="1/2", tau=1)),
        (ApproxDP(epsilon=1, delta=0), PureDP(epsilon=1)),
        (ProbabilisticDP(epsilon=1, delta="1e-6"), ApproxDP(epsilon=1, delta="1e-6")),
        (ProbabilisticDP(epsilon=1, delta="1e-6", union=True), ProbabilisticDP(epsilon=1, delta="1e-6")),
        (ProbabilisticDP(epsilon=1, delta=0), ProbabilisticDP(epsilon=1, delta=0, union=True)),
        (ZCDP(rho=1), RenyiDP(order=4, epsilon=4)),
        (ZCDP(rho=2), ConcentratedDP(epsilon=2, tau=2)),
        (RenyiDP(order=4, epsilon=1), RenyiDP(order=2, epsilon=1)),
        (GaussianDP(mu=2), ZCDP(rho=2)),
        (GaussianDP(mu=2), RenyiDP(order=3, epsilon=6)),
    ],
)
def test_who_implies_whom(strong: Any, weak: Any) -> None:
    assert strong.implies(weak)


@pytest.mark.parametrize(
    ("weak", "strong"),
    [
        (ApproxDP(epsilon=1, delta="1e-9"), PureDP(epsilon=1)),
        (ApproxDP(epsilon=1, delta="1e-6"), ProbabilisticDP(epsilon=1, delta="1e-6")),
        (ProbabilisticDP(epsilon=1, delta="1e-6"), ProbabilisticDP(epsilon=1, delta="1e-6", union=True)),
        (ZCDP(rho="1/2"), PureDP(epsilon=1)),
        (ZCDP(rho=2), GaussianDP(mu=2)),
        (ZCDP(rho=1), ConcentratedDP(epsilon=1, tau="1.4")),
        (RenyiDP(order=2, epsilon=1), RenyiDP(order=4, epsilon=1)),
        (PureDP(epsilon=1), PureDP(epsilon="0.999")),
        (ConcentratedDP(epsilon=1, tau=1), ApproxDP(epsilon=9, delta="0.9")),
    ],
)
def test_who_does_not(weak: Any, strong: Any) -> None:
    assert not weak.implies(strong)


def test_a_statement_about_random_data_implies_only_its_like() -> None:
    claim = RandomDP(guarantee=ApproxDP(epsilon=1, delta=0), failure="0.1", law="records drawn independently from N(0, 1)")
    weaker = RandomDP(guarantee=ApproxDP(epsilon=2, delta="0.1"), failure="0.2", law=claim.law)
    elsewhere = RandomDP(guarantee=ApproxDP(epsilon=1, delta=0), failure="0.1", law="records drawn from a census")
    assert claim.implies(weaker)
    assert not weaker.implies(claim)
    assert not claim.implies(elsewhere)
    assert not claim.implies(ApproxDP(epsilon=1, delta=0))


def test_the_words_of_a_verdict() -> None:
    assert [verdict.value for verdict in Verdict] == ["proved", "refuted", "not refuted", "undecided"]


def test_a_guarantee_of_many_digits_is_shown_short() -> None:
    assert str(ZCDP(rho="1e-5000")) == "ZCDP(rho=<Fraction that cannot be shown>)"
    assert str(ZCDP(rho="1e-4000")).endswith("(4,003 characters))")
