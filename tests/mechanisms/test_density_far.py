"""Stated densities far out, and moved: what was refused before it was cut into pieces and led by its leading power."""

from __future__ import annotations

import mpmath
import pytest
import sympy

import dpverify as dv
from dpverify.mechanisms._density_forms import inverted_form
from dpverify.mechanisms._density_text import X
from dpverify.notions import loss, renyi


def test_a_mass_far_out_is_found() -> None:
    """exp(-x^4) at x near 47 falls by e within a millionth."""
    noise = dv.CustomNoise(1, "~exp(-x**4)", sensitivity=42)
    found, known = noise.epsilon("1e-190"), dv.GeneralizedGaussian(1, 4, sensitivity=42).epsilon("1e-190")
    assert found.overlaps(known)


@pytest.mark.parametrize("density", ["~1/(1+x**4)", "~(1+x**2)*exp(-x**2)", "~exp(-cosh(x))"])
def test_moved_densities_have_tails(density: str) -> None:
    """The square of a moved one over the one itself, by quadrature."""
    m = mpmath.mp.clone()
    m.dps = 25
    f = {
        "~1/(1+x**4)": lambda x: 1 / (1 + x**4),
        "~(1+x**2)*exp(-x**2)": lambda x: (1 + x * x) * m.exp(-x * x),
        "~exp(-cosh(x))": lambda x: m.exp(-m.cosh(x)),
    }[density]
    d, reach = m.mpf(1) / 5, m.inf if "1/(" in density else 8
    ends = [-reach, -2, 0, d, 2, reach]
    total = m.quad(f, ends)
    known = m.log(m.quad(lambda x: f(x - d) ** 2 / f(x), ends) / total)
    found = renyi.divergence(dv.CustomNoise(1, density, sensitivity="1/5"), 2)
    assert abs(m.mpf(found.decimal(15)) - known) < m.mpf(10) ** -15


def test_the_mean_loss_of_a_moved_exponential() -> None:
    noise = dv.CustomNoise(1, "~exp(-x**4)", sensitivity="3/2")
    known = loss.of(dv.GeneralizedGaussian(1, 4, sensitivity="3/2").dominating_pair()).mean()
    assert loss.of(noise.dominating_pair()).mean().overlaps(known)


@pytest.mark.parametrize("order", ["16", "1000", "22.16823"])
def test_high_orders_of_a_rational_density(order: str) -> None:
    """Powers stay powers: multiplied out, the one of order 1,000 is a polynomial of degree 4,000."""
    m = mpmath.mp.clone()
    m.dps = 25
    a, d = m.mpf(order), m.mpf(2) / 5
    ends = [-m.inf, -10, *(m.mpf(k) / 8 for k in range(-40, 41)), 10, m.inf]
    moment = m.quad(lambda x: ((1 + x**4) / (1 + (x - d) ** 4)) ** a / (1 + x**4), ends) / m.quad(
        lambda x: 1 / (1 + x**4), ends
    )
    found = renyi.divergence(dv.CustomNoise(1, "~1/(1+x**4)", sensitivity="2/5"), order)
    assert abs(m.mpf(found.decimal(15)) - m.log(moment) / (a - 1)) < m.mpf(10) ** -15


@pytest.mark.parametrize(
    ("body", "inverted"),
    [
        ((1 + X**4) ** -3, X**10 * (1 + X**4) ** -3),
        (2 * (3 + X**2) ** sympy.Rational(-5, 2), 2 * X**3 * (3 * X**2 + 1) ** sympy.Rational(-5, 2)),
        ((1 + X**2) / (1 + X**6), X**2 * (X**2 + 1) / (X**6 + 1)),
    ],
)
def test_a_tail_as_an_integral_that_ends_at_0(body: sympy.Expr, inverted: sympy.Expr) -> None:
    found = inverted_form(body)
    assert found is not None
    assert sympy.simplify(found - inverted) == 0
    assert found.subs(X, sympy.Rational(1, 7)) == sympy.simplify(49 * body.subs(X, 7))


@pytest.mark.parametrize(
    "body",
    [
        (1 + X**2) ** sympy.Rational(-7, 3),  # the integrand has a root at 0
        1 / (1 + sympy.Abs(X) ** 3),
        (2 - X**2) ** sympy.Rational(-3, 2),  # no real number far out
        1 / (1 + X),  # an infinite integral
        sympy.exp(-(X**2)),
    ],
)
def test_no_such_integral(body: sympy.Expr) -> None:
    assert inverted_form(body) is None


@pytest.mark.parametrize(("delta", "sensitivity"), [("6.6e-69", 24), ("1e-250", "1/7")])
def test_the_second_opinion_on_a_small_delta(delta: str, sensitivity: str) -> None:
    """The quadrature knows absolute errors alone: what it integrates has to be near 1."""
    noise = dv.CustomNoise(1, "~exp(-abs(x)-x**2)", sensitivity=sensitivity)
    opinion, certified = noise.epsilon(delta, arithmetic="mpmath"), noise.epsilon(delta)
    assert abs(opinion / mpmath.mpf(certified.decimal(15)) - 1) < 1e-14


def test_the_second_opinion_on_a_heavy_tail_far_out() -> None:
    noise = dv.CustomNoise("1/1000", "~1/(1+x**4)", sensitivity=100)
    opinion, certified = noise.delta(1, arithmetic="mpmath"), noise.delta(1)
    with mpmath.workdps(30):
        assert abs(opinion - mpmath.mpf(certified.decimal(20))) < mpmath.mpf(10) ** -16


def test_a_threshold_far_beyond_the_shift_is_found_soon() -> None:
    """There two slopes of log f nearly cancel. Taken apart, 20,000 boxes did not do."""
    noise = dv.CustomNoise("1.236117e-6", "~1/(1+x**4)", sensitivity="6.727078e-04")
    assert (
        dv.CustomNoise.bound(density="~1/(1+x**4)", epsilon="2.892303e-04", delta="0.427195", sensitivity="6.727078e-04").upper
        > 1e-5
    )
    assert noise.delta("2.892303e-04").lower > 0.99
