"""The adapters on the released libraries. Each needs an environment of its own: .ci/adapters makes them and runs this file.

A true claim is refuted with a probability of at most 1e-6 a test; what draws from the operating system's generator cannot be
seeded, so that is how often a run may be red by chance.
"""

from __future__ import annotations

import importlib
import sys
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest

import dpverify as dv
from dpverify.adapters import INSTALL
from dpverify.guarantees import Verdict


def library(name: str) -> Any:
    package = name.partition(".")[0]
    return pytest.importorskip(name, reason=f"SKIPPED: {package} is not installed here: {INSTALL[package]}; see .ci/adapters")


def stays(thing: Any, **options: Any) -> None:
    assert dv.assert_private(thing, **{"samples": 5000, **options}).verdict is Verdict.NOT_REFUTED


class TestOpenDP:
    @pytest.fixture
    def dp(self) -> Any:
        library("opendp")
        prelude = importlib.import_module("opendp.prelude")
        prelude.enable_features("contrib")
        return prelude

    def test_max_divergence(self, dp: Any) -> None:
        floats = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)
        stays(floats, inputs=(0.0, 1.0), distance=1.0)
        whole = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=2.0)
        stays(whole, inputs=(0, 1))

    def test_a_claim_that_it_does_not_make_is_refuted(self, dp: Any) -> None:
        whole = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=0.5)
        with pytest.raises(dv.PrivacyViolation):
            dv.assert_private(whole, inputs=(0, 1), epsilon=1, samples=5000)

    def test_curves(self, dp: Any) -> None:
        gaussian = dp.m.make_gaussian(dp.atom_domain(T=int), dp.absolute_distance(T=float), scale=2.0)
        stays(gaussian, inputs=(0, 1), distance=1.0, delta="1e-4")
        profile = dp.c.make_zCDP_to_approxDP(gaussian)
        stays(profile, inputs=(0, 1), distance=1.0, delta="1e-4")
        stays(dp.c.make_fix_delta(profile, 1e-4), inputs=(0, 1), distance=1.0)


class TestDiffprivlib:
    def test_the_float_leak_of_laplace_is_found_by_default(self) -> None:
        mechanisms = library("diffprivlib.mechanisms")
        with pytest.raises(dv.PrivacyViolation) as raised:
            dv.assert_private(mechanisms.Laplace(epsilon=1, sensitivity=1), inputs=(0.0, 1.0), samples=100_000)
        diagnosis = raised.value.outcome.diagnosis
        assert diagnosis is not None
        assert diagnosis.rule == "DP003"

    def test_on_the_reals_it_is_not_refuted(self) -> None:
        mechanisms = library("diffprivlib.mechanisms")
        stays(mechanisms.Laplace(epsilon=1, sensitivity=1), inputs=(0.0, 1.0), outputs="reals", samples=20_000)

    def test_integers(self) -> None:
        mechanisms = library("diffprivlib.mechanisms")
        stays(mechanisms.Geometric(epsilon=1, sensitivity=1), inputs=(0, 1), samples=20_000)
        stays(mechanisms.GaussianDiscrete(epsilon=0.5, delta=1e-2, sensitivity=1), inputs=(0, 1))


class TestAccounting:
    def test_events(self) -> None:
        accounting = library("dp_accounting")
        gaussian = accounting.GaussianDpEvent(2.0)
        sampled = accounting.SelfComposedDpEvent(accounting.PoissonSampledDpEvent(0.2, gaussian), 3)
        stays(sampled, delta="1e-3", samples=20_000)
        stays(accounting.ComposedDpEvent([gaussian, accounting.LaplaceDpEvent(3.0)]), delta="1e-3", samples=20_000)

    def test_a_distribution(self) -> None:
        distributions = library("dp_accounting.pld.privacy_loss_distribution")
        stays(distributions.from_laplace_mechanism(1.0), delta="1e-3", samples=20_000)
        stays(distributions.from_gaussian_mechanism(2.0), delta="1e-3", samples=20_000)

    def test_a_claim_that_it_does_not_make_is_refuted(self) -> None:
        accounting = library("dp_accounting")
        with pytest.raises(dv.PrivacyViolation):
            dv.assert_private(accounting.LaplaceDpEvent(1.0), epsilon="1/2", delta="1e-3", samples=20_000)


class TestPythonDP:
    def test_algorithms(self) -> None:
        laplacian = library("pydp.algorithms.laplacian")
        stays(laplacian.Count(epsilon=1.0, dtype="int"), inputs=([1] * 3, [1] * 4), samples=20_000)
        total = laplacian.BoundedSum(epsilon=1.0, lower_bound=0, upper_bound=5, dtype="int")
        stays(total, inputs=([5, 1], [5, 1, 5]), samples=20_000)

    def test_numerical_mechanisms(self) -> None:
        numerical = library("pydp.algorithms.numerical_mechanisms")
        stays(numerical.LaplaceMechanism(epsilon=1.0, sensitivity=1.0), inputs=(0.0, 1.0), samples=50_000)


class TestTumult:
    def test_noise(self) -> None:
        library("tmlt.core")
        noise = importlib.import_module("tmlt.core.measurements.noise_mechanisms")
        stays(noise.AddGeometricNoise(1), inputs=(0, 1))
        stays(noise.AddDiscreteGaussianNoise(4), inputs=(0, 1), delta="1e-4")

    def test_a_claim_that_it_does_not_make_is_refuted(self) -> None:
        library("tmlt.core")
        noise = importlib.import_module("tmlt.core.measurements.noise_mechanisms")
        with pytest.raises(dv.PrivacyViolation):
            dv.assert_private(noise.AddGeometricNoise(1), inputs=(0, 1), epsilon="1/2", samples=5000)


@cache
def accountants() -> Any:
    """The accountants of opacus. They read nothing of PyTorch; where that is absent, they are loaded without the package's
    front door, which imports it, and without its optimizers, whose name they only mention in a type."""
    found = find_spec("opacus")
    if found is None or found.submodule_search_locations is None:
        pytest.skip(f"SKIPPED: opacus is not installed here: {INSTALL['opacus']}; see .ci/adapters")
    if find_spec("torch") is None:
        front, optimizers = ModuleType("opacus"), ModuleType("opacus.optimizers")
        front.__path__, front.__spec__ = list(found.submodule_search_locations), found
        optimizers.DPOptimizer = object  # type: ignore[attr-defined]
        sys.modules.update({"opacus": front, "opacus.optimizers": optimizers})
    return importlib.import_module("opacus.accountants")


class TestOpacus:
    @pytest.mark.parametrize("kind", ["RDPAccountant", "PRVAccountant"])
    def test_a_history(self, kind: str) -> None:
        accountant = getattr(accountants(), kind)()
        for _ in range(5):
            accountant.step(noise_multiplier=1.5, sample_rate=0.1)
        stays(accountant, delta="1e-3", samples=20_000)

    def test_two_stages(self) -> None:
        accountant = accountants().RDPAccountant()
        for noise, rate in ((2.0, 1.0), (1.5, 0.2), (1.5, 0.2)):
            accountant.step(noise_multiplier=noise, sample_rate=rate)
        assert len(accountant.history) == 2
        stays(accountant, delta="1e-3", samples=20_000)

    def test_a_claim_that_it_does_not_make_is_refuted(self) -> None:
        accountant = accountants().RDPAccountant()
        accountant.step(noise_multiplier=1.0, sample_rate=0.5)
        with pytest.raises(dv.PrivacyViolation):
            dv.assert_private(accountant, epsilon="1/4", delta="1e-3", samples=20_000)
