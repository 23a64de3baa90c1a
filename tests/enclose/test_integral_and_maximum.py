"""Certified integrals and maxima of one number: right, honest about their width, and never without end."""

from __future__ import annotations

from typing import Any

import pytest
from flint import acb, arb
from hypothesis import given
from hypothesis import strategies as st

from dpverify.arithmetic.precision import working_precision
from dpverify.enclose import integral as integrals
from dpverify.enclose import maximum as maxima
from dpverify.enclose.integral import integral
from dpverify.enclose.maximum import maximum
from dpverify.errors import PrecisionError


@given(center=st.integers(-8, 8), power=st.integers(0, 4))
def test_polynomials_times_exponentials(center: int, power: int) -> None:
    """The integral of (x - c)^n e^-x over [0, 30] against its closed form by parts."""
    with working_precision(120):
        found = integral(lambda m, x: (x - center) ** power * m.exp(-x), [arb(0), arb(1), arb(30)])

        def primitive(x: arb) -> arb:
            total, term = arb(0), (x - center) ** power
            for order in range(power + 1):
                total += term
                term = term * (power - order) / (x - center) if not (x - center).contains(0) else arb(0)
            return -(-x).exp() * total

        if center not in (0, 30):
            assert found.overlaps(primitive(arb(30)) - primitive(arb(0)))


def test_a_kink_at_an_end_is_no_trouble_and_inside_a_piece_is_not_lost() -> None:
    with working_precision(90):
        split = integral(lambda m, x: m.exp(-m.abs(x)), [arb(-1), arb(0), arb(2)])
        inside = integral(lambda m, x: m.exp(-m.abs(x)), [arb(-1), arb(2)])
        exact = 2 - (-arb(1)).exp() - (-arb(2)).exp()
        assert split.overlaps(exact)
        assert inside.overlaps(exact)
        assert split.rad() < arb(2) ** -80


def test_tiny_integrals_are_known_relatively() -> None:
    with working_precision(90):
        found = integral(lambda m, x: m.exp(-1000 - x), [arb(0), arb(1)])
        assert found.rel_accuracy_bits() > 70


def test_an_exception_in_the_integrand_is_not_swallowed() -> None:
    def broken(m: Any, x: acb) -> acb:
        raise ZeroDivisionError("in the formula")

    with pytest.raises(ZeroDivisionError, match="in the formula"):
        integral(broken, [arb(0), arb(1)])


def test_an_integral_that_will_not_close_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integrals, "LARGEST_EFFORT", 50)
    with pytest.raises(PrecisionError, match="50 evaluations"):
        integral(lambda m, x: (x * x * 10**9).sin(), [arb(0), arb(9)])


def square_well(center: arb) -> tuple[Any, Any]:
    """1 - (x - c)^2 with its mean-value bound."""

    def at(x: arb) -> arb:
        return 1 - (x - center) ** 2

    def bound(low: arb, high: arb) -> arb:
        middle = ((low + high) / 2).mid()
        return at(middle) + abs(2 * (low.union(high) - center)) * (high - low) / 2

    return at, bound


@given(share=st.fractions("1/100", "99/100", max_denominator=100))
def test_a_maximum_inside_is_found_to_the_bit(share: Any) -> None:
    with working_precision(160):
        at, bound = square_well(arb(share.numerator) / share.denominator)
        found = maximum(at, bound, [arb(0), arb(1)], bits=60, known=arb(0), what=lambda: "a well")
        assert found.overlaps(arb(1))
        assert found.rad() < arb(2) ** -58


def test_a_maximum_at_a_jump_is_found() -> None:
    """x below 2/3, 0 above: the supremum is approached and not attained."""
    with working_precision(160):
        jump = arb(2) / 3
        found = maximum(
            lambda x: x if x < jump else arb(0),
            lambda low, high: high if low < jump else arb(0),
            [arb(0), arb(1)],
            bits=50,
            known=arb(0),
            what=lambda: "a jump",
        )
        assert found.overlaps(jump)
        assert found.rad() < arb(2) ** -48


def test_a_loose_bound_is_given_up_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maxima, "LARGEST_EFFORT", 100)
    with working_precision(160), pytest.raises(PrecisionError, match="a flat top"):
        maximum(
            lambda x: arb(1),
            lambda low, high: 1 + (high - low),
            [arb(0), arb(1)],
            bits=60,
            known=arb(0),
            what=lambda: "a flat top",
        )


def test_a_low_precision_gives_a_wider_ball_that_still_holds() -> None:
    with working_precision(24):
        at, bound = square_well(arb(1) / 3)
        found = maximum(at, bound, [arb(0), arb(1)], bits=60, known=arb(0), what=lambda: "a well")
        assert found.overlaps(arb(1))
