"""The adapters on stand-ins for the libraries' objects: which claim is read, what is drawn, what is refused.

The released libraries themselves are tested in test_libraries.py, each in an environment of its own.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpverify as dv
from dpverify.adapters import _HOME, INSTALL, adapt, library_of
from dpverify.errors import InputError
from dpverify.guarantees import Verdict

RNG = np.random.Generator(np.random.PCG64(5))


def imported(module: str, name: str, **members: Any) -> Any:
    """An object whose type comes from a module of this name."""
    return type(name, (), {"__module__": module, **members})()


def opendp(measure: str, loss: Any) -> Any:
    def read(self: Any, distance: Any) -> Any:
        if isinstance(distance, str):
            raise TypeError("inferred type is String. See the pages")
        return loss

    return imported("opendp.mod", "Measurement", output_measure=measure, map=read, __call__=lambda self, data: int(data) + 7)


class Profile:
    def epsilon(self, delta: float) -> float:
        return -math.log(delta)


class TestOpenDP:
    def test_max_divergence(self) -> None:
        adapted = adapt(opendp("MaxDivergence", 1.5))
        assert (adapted.epsilon, adapted.delta) == (1.5, 0)
        assert adapted.mechanism(3, 2) == [10, 10]
        assert "MaxDivergence" in adapted.source

    def test_approximate(self) -> None:
        adapted = adapt(opendp("Approximate(MaxDivergence)", (1.5, 1e-6)))
        assert (adapted.epsilon, adapted.delta) == (1.5, 1e-6)

    def test_zero_concentrated(self) -> None:
        adapted = adapt(opendp("ZeroConcentratedDivergence", 0.125), delta="1e-6")
        expected = dv.convert(dv.ZCDP(rho=0.125), dv.ApproxDP, delta="1e-6").guarantee
        assert adapted.epsilon == expected.epsilon

    def test_approximately_zero_concentrated_spends_its_own_delta_first(self) -> None:
        measurement = opendp("Approximate(ZeroConcentratedDivergence)", (0.125, 1e-7))
        rest = Fraction("1e-6") - Fraction(1e-7)
        expected = dv.convert(dv.ZCDP(rho=0.125), dv.ApproxDP, delta=rest).guarantee
        adapted = adapt(measurement, delta="1e-6")
        assert (adapted.epsilon, adapted.delta) == (expected.epsilon, "1e-6")
        with pytest.raises(InputError, match="give a larger delta"):
            adapt(measurement, delta="1e-8")

    def test_a_profile(self) -> None:
        assert adapt(opendp("SmoothedMaxDivergence", Profile()), delta="1e-2").epsilon == -math.log(1e-2)

    @pytest.mark.parametrize("measure", ["ZeroConcentratedDivergence", "SmoothedMaxDivergence"])
    def test_a_curve_needs_a_delta(self, measure: str) -> None:
        with pytest.raises(InputError, match="say at which, with delta="):
            adapt(opendp(measure, 1))

    def test_what_cannot_be_read(self) -> None:
        with pytest.raises(InputError, match="RenyiDivergence"):
            adapt(opendp("RenyiDivergence", 1))
        with pytest.raises(InputError, match=r"distance = 'far'.*\(inferred type is String\)"):
            adapt(opendp("MaxDivergence", 1), distance="far")
        with pytest.raises(InputError, match="a Transformation"):
            adapt(imported("opendp.mod", "Transformation"))


class TestOthers:
    def test_diffprivlib(self) -> None:
        mechanism = imported(
            "diffprivlib.mechanisms.x", "Laplace", epsilon=2.0, delta=0.0, randomise=staticmethod(lambda value: value + 1)
        )
        adapted = adapt(mechanism)
        assert (adapted.epsilon, adapted.delta, adapted.mechanism(0, 3)) == (2.0, 0.0, [1, 1, 1])
        with pytest.raises(InputError, match="Budget"):
            adapt(imported("diffprivlib.accountant", "Budget"))

    def test_python_dp(self) -> None:
        count = imported("pydp.algorithms", "Count", epsilon=1.0, delta=None, quick_result=staticmethod(len))
        assert (adapt(count).epsilon, adapt(count).delta, adapt(count).mechanism([1, 2], 1)) == (1.0, 0, [2])
        noise = imported("pydp", "GaussianMechanism", epsilon=1.0, delta=1e-5, add_noise=staticmethod(lambda value: value))
        assert (adapt(noise).delta, adapt(noise).mechanism(4, 1)) == (1e-5, [4])
        with pytest.raises(InputError, match="Partition"):
            adapt(imported("pydp.algorithms", "Partition"))

    def tmlt(self, measure: str, loss: Any) -> Any:
        return imported(
            "tmlt.core.measurements",
            "AddNoise",
            output_measure=type(measure, (), {})(),
            privacy_function=staticmethod(lambda distance: loss),
            __call__=lambda self, data: data,
        )

    def test_tmlt(self) -> None:
        import sympy

        exact = type("ExactNumber", (), {"expr": sympy.Rational(1, 3)})()
        assert (adapt(self.tmlt("PureDP", exact)).epsilon, adapt(self.tmlt("PureDP", 2)).epsilon) == ("1/3", "2")
        approximate = adapt(self.tmlt("ApproxDP", (exact, exact)))
        assert (approximate.epsilon, approximate.delta) == ("1/3", "1/3")
        rho = adapt(self.tmlt("RhoZCDP", exact), delta="1e-6")
        assert rho.epsilon == dv.convert(dv.ZCDP(rho="1/3"), dv.ApproxDP, delta="1e-6").guarantee.epsilon
        assert rho.mechanism(5, 2) == [5, 5]
        irrational = type("ExactNumber", (), {"expr": sympy.sqrt(2)})()
        for thing in (self.tmlt("PureDP", irrational), self.tmlt("OtherDP", 1), imported("tmlt.core", "Nothing")):
            with pytest.raises(InputError):
                adapt(thing)

    def test_opacus(self) -> None:
        def accountant(history: Any) -> Any:
            return imported("opacus.accountants", "RDPAccountant", history=history, get_epsilon=lambda self, delta: 3 + delta)

        adapted = adapt(accountant([(1.0, 0.5, 2), (2.0, 1, 1)]), delta="1e-5")
        assert (adapted.epsilon, adapted.delta, adapted.inputs) == (3.00001, 1e-5, (0, 1))
        present, absent = (adapted.mechanism(data, RNG, 4000) for data in (1, 0))
        assert present.mean() > 0 > absent.mean()  # the mean log likelihood ratio, 8 deviations and more from 0
        for history in ([], [(1.0, 0.5)], [(0, 0.5, 1)], [(1.0, 2, 1)], None):
            with pytest.raises(InputError, match="history"):
                adapt(accountant(history), delta=0.1)


def event(name: str, **members: Any) -> Any:
    return imported("dp_accounting.dp_event", f"{name}DpEvent", **members)


class Accountant:
    """Claims what it was told to."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon
        self.events: list[Any] = []

    def compose(self, one: Any) -> None:
        self.events.append(one)

    def get_epsilon(self, delta: float) -> float:
        return self.epsilon


class Distribution:
    """A privacy-loss distribution with losses -1, 0, 1 (and infinity), as dp_accounting keeps it."""

    __module__ = "dp_accounting.pld"

    def __init__(self, epsilon: float) -> None:
        self._pmf_remove = self
        self._probs = [0.2, 0.3, 0.4]  # the rest is at infinity
        self._lower_loss, self._discretization = -1, 1.0
        self.epsilon = epsilon

    def to_dense_pmf(self) -> Any:
        return self

    def get_epsilon_for_delta(self, delta: float) -> float:
        return self.epsilon


class TestAccounting:
    def adapted(self, one: Any, epsilon: float = 1.0) -> Any:
        return adapt(one, delta="0.01", accountant=lambda: Accountant(epsilon))

    def test_what_is_drawn(self) -> None:
        gaussian, laplace = event("Gaussian", noise_multiplier=2.0), event("Laplace", noise_multiplier=1.0)
        both = event("Composed", events=[gaussian, event("SelfComposed", event=laplace, count=3)])
        outputs = self.adapted(both).mechanism(1, RNG, 4000)
        assert outputs.shape == (4000, 4)
        assert np.allclose(outputs.mean(axis=0), 1, atol=0.25)
        assert np.allclose(outputs.std(axis=0), [2, 2**0.5, 2**0.5, 2**0.5], rtol=0.2)
        sampled = self.adapted(event("PoissonSampled", sampling_probability=0.25, event=gaussian))
        assert abs(sampled.mechanism(1, RNG, 40_000).mean() - 0.25) < 0.08
        assert abs(sampled.mechanism(0, RNG, 40_000).mean()) < 0.08

    def test_a_true_and_a_false_claim(self) -> None:
        laplace = event("Laplace", noise_multiplier=1.0)
        for epsilon, verdict in ((1.0, Verdict.NOT_REFUTED), (0.5, Verdict.REFUTED)):
            adapted = adapt(laplace, delta="1e-3", accountant=lambda epsilon=epsilon: Accountant(epsilon))
            result = dv.audit(
                adapted.mechanism, inputs=adapted.inputs, epsilon=adapted.epsilon, delta="1e-3", samples=30_000, alpha=1e-6
            )
            assert result.verdict is verdict
        assert adapted.mechanism.__name__ == "dp_accounting LaplaceDpEvent"

    def test_a_distribution_against_its_own_number(self) -> None:
        # At epsilon = 0.5 its delta is 0.4 (1 - e^-0.5) + 0.1 = 0.257, at 1.1 it is 0.1.
        options: dict[str, Any] = {"delta": 0.15, "samples": 30_000}
        assert dv.assert_private(Distribution(1.1), **options).verdict is Verdict.NOT_REFUTED
        with pytest.raises(dv.PrivacyViolation):
            dv.assert_private(Distribution(0.5), **options)

    def test_what_cannot_be_read(self) -> None:
        laplace = event("Laplace", noise_multiplier=1.0)
        for thing, message in (
            (event("ZC", rho=1), "nothing is drawn"),
            (event("SelfComposed", event=laplace, count=10**9), "use fewer"),
            (imported("dp_accounting", "Accountant"), "a privacy-loss distribution is needed"),
        ):
            with pytest.raises(InputError, match=message):
                self.adapted(thing)
        with pytest.raises(InputError, match="say at which"):
            adapt(laplace)
        with pytest.raises(InputError, match="no finite epsilon"):
            self.adapted(laplace, epsilon=math.inf)


class TestClaims:
    def test_an_object_states_its_claim(self) -> None:
        coin = imported("diffprivlib.x", "Coin", epsilon=0.5, delta=0.0, randomise=lambda self, data: RNG.random() < 0.2 + data)
        with pytest.raises(dv.PrivacyViolation, match="diffprivlib Coin does not satisfy epsilon ="):
            dv.assert_private(coin, inputs=(0, 0.6), samples=5000)
        assert dv.assert_private(coin, inputs=(0, 0.6), epsilon=5, samples=5000).epsilon == 5

    def test_what_is_missing_is_said(self) -> None:
        coin = imported("diffprivlib.x", "Coin", epsilon=0.5, delta=0.0, randomise=lambda self, data: data)
        with pytest.raises(InputError, match="inputs are missing"):
            dv.assert_private(coin)
        with pytest.raises(InputError, match="epsilon is missing"):
            dv.assert_private(lambda data, rng, size: data, inputs=(0, 1))
        with pytest.raises(InputError, match="comes from none of diffprivlib"):
            adapt(3)

    def test_every_library_has_a_file_and_an_install_line(self) -> None:
        assert set(_HOME) == set(INSTALL)
        assert library_of(3) is None
