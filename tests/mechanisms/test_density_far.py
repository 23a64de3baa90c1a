"""Stated densities far out, and moved: what was refused before it was cut into pieces and led by its leading power."""

from __future__ import annotations

import mpmath
import pytest

import dpverify as dv
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
