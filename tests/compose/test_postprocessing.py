"""What survives rounding, clamping and rejection, and what breaks."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dv
from dpverify.compose.postprocessing import Clamping, Rejection, Rounding, breaks_probabilistic, largest_clamped_atom
from dpverify.errors import ImpossibleRequest, InputError, NotCovered
from dpverify.guarantees import ZCDP, ApproxDP, ConcentratedDP, GaussianDP, ProbabilisticDP, PureDP, RandomDP, RenyiDP

SURVIVORS = (
    PureDP(epsilon=1),
    ApproxDP(epsilon=1, delta="1e-6"),
    RenyiDP(order=2, epsilon=1),
    ZCDP(rho=1),
    GaussianDP(mu=1),
    ProbabilisticDP(epsilon=1, delta=0),
    RandomDP(guarantee=ApproxDP(epsilon=1, delta=0), failure="0.1", law="i.i.d. records"),
)


@pytest.mark.parametrize("step", [Rounding(), Clamping(low=0, high=10)])
def test_functions_of_the_output_keep_what_speaks_of_events(step: Any) -> None:
    for claim in SURVIVORS:
        assert step.after(claim) == claim
    for lost in (ProbabilisticDP(epsilon=1, delta="0.1"), ConcentratedDP(epsilon=1, tau=1)):
        with pytest.raises(ImpossibleRequest, match="ApproxDP"):
            step.after(lost)
        with pytest.raises(ImpossibleRequest, match="ApproxDP"):
            step.after(RandomDP(guarantee=lost, failure="0.1", law="i.i.d. records"))


def test_rejection_keeps_next_to_nothing() -> None:
    step = Rejection(low=0, high=2)
    assert step.after(PureDP(epsilon=1)) == PureDP(epsilon=2)
    for claim in SURVIVORS[1:]:
        with pytest.raises(ImpossibleRequest, match="the data"):
            step.after(claim)


def test_the_maps_themselves() -> None:
    assert [Rounding()(x) for x in ("2.5", "-2.5", "2.4999")] == [3, -2, 2]
    assert Rounding(step="1/10")("0.26") == Fraction(3, 10)
    assert [Clamping(low="-1", high=1)(x) for x in (-7, "1/2", 9)] == [-1, Fraction(1, 2), 1]


def test_clamping_breaks_the_probabilistic_guarantee_of_gaussian_noise() -> None:
    """The noise that Corollary 8 asks for at (0.1, 0.01) gathers .0129 of its mass in one output with a loss of 0.1."""
    noise = dv.Gaussian(dv.Gaussian.bound_probabilistic(epsilon="0.1", delta="0.01").upper)
    atom = largest_clamped_atom(noise, "0.1")
    assert atom.lower > 0.0128
    assert breaks_probabilistic(noise, ProbabilisticDP(epsilon="0.1", delta="0.01"))
    assert not breaks_probabilistic(noise, ProbabilisticDP(epsilon="0.1", delta="0.02"))
    assert noise.delta("0.1").upper < 0.01


@given(shift=st.fractions("1/20", 3, max_denominator=20), share=st.fractions("1/20", "19/20", max_denominator=20))
@settings(max_examples=12)
def test_the_atom_has_exactly_that_loss(shift: Fraction, share: Fraction) -> None:
    noise = dv.Logistic(1, sensitivity=shift)
    mass = largest_clamped_atom(noise, shift * share).upper
    odds = mass / (1 - mass)  # of the half line under P; under Q its threshold lies `shift` further out
    other = 1 / (1 + math.exp(float(shift)) / odds)
    assert math.log(mass / other) == pytest.approx(float(shift * share), abs=1e-9)


def test_rejection_breaks_pure_dp() -> None:
    found = Rejection(low=0, high=2).realised_epsilon(dv.Laplace(1))
    assert found.decimal(16) == "1.379885493041722"
    assert found.upper < 2


@given(
    scale=st.fractions("1/5", 5, max_denominator=10),
    s=st.fractions(0, 1, max_denominator=20),
    y=st.fractions(0, 2, max_denominator=20),
)
def test_no_true_answer_and_output_have_a_larger_loss(scale: Fraction, s: Fraction, y: Fraction) -> None:
    """Over all true answers s, s + 1 within [0, 2] and outputs y there."""
    b = float(scale)

    def density(output: float, answer: float) -> float:
        inside = 1 - math.exp(-answer / b) / 2 - math.exp(-(2 - answer) / b) / 2
        return math.exp(-abs(output - answer) / b) / inside

    bound = Rejection(low=0, high=2).realised_epsilon(dv.Laplace(scale)).upper
    assert math.log(density(float(y), float(s)) / density(float(y), float(s) + 1)) <= bound + 1e-12
    assert math.log(density(0, 0) / density(0, 1)) == pytest.approx(bound, abs=1e-9)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Rounding(step=0), "step = 0"),
        (lambda: Clamping(low=1, high=1), "low < high"),
        (lambda: Rejection(low=2, high=1), "low < high"),
        (lambda: Rejection(low=0, high=1).realised_epsilon(dv.Laplace(1, sensitivity=2)), "differ"),
        (lambda: Rejection(low=0, high=1).realised_epsilon(dv.Gaussian(1)), "Laplace"),
        (lambda: largest_clamped_atom(dv.Gaussian(1), 0), "> 0"),
        (lambda: largest_clamped_atom(dv.Laplace(1), 1), "no loss exceeds"),
    ],
)
def test_what_cannot_be_answered_is_explained(make: Any, said: str) -> None:
    with pytest.raises((InputError, ImpossibleRequest, NotCovered), match=said):
        make()
