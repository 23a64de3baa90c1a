"""`plot()` and the display in notebooks. Fixed seeds; a true claim is refuted with a probability of at most 1e-3 an audit, and
none of the audits here is of a true claim but `sound`, whose seed is fixed.
"""

from __future__ import annotations

import builtins
import dataclasses
import re
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest

import dpverify as dv
from dpverify.errors import InputError, MissingDependency, NotCovered
from dpverify.gate.claims import AnalyticClaim, SampledClaim
from dpverify.gate.decide import decide
from dpverify.guarantees import Verdict
from dpverify.report.shapes import height, limit, limit_of
from dpverify.verdict import Triangulation

if TYPE_CHECKING:
    from collections.abc import Iterator


SKIPPED = "SKIPPED: matplotlib is not installed: pip install 'dpverify[report]'"


def leaky(data: Any, rng: Any, size: int) -> Any:
    return np.rint(data + rng.laplace(0, 0.5, size))


def rounded(data: Any, rng: Any, size: int) -> Any:
    return np.rint(data + rng.laplace(0, 1, size))


def words(data: Any, rng: Any, size: int) -> Any:
    return [f"<{'yes' if bit else 'no'}>" for bit in rng.random(size) < (0.9 if data else 0.1)]


@pytest.fixture(scope="module")
def result() -> dv.AuditResult:
    return dv.audit(leaky, inputs=(10, 11), epsilon=1, samples=20_000, seed=7)


@pytest.fixture
def axes() -> Iterator[Any]:
    figure = pytest.importorskip("matplotlib.figure", reason=SKIPPED)
    return figure.Figure().subplots()


def labels(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


class TestMechanisms:
    def test_a_profile_is_drawn_around_the_certified_numbers(self, axes: Any) -> None:
        mechanism = dv.Laplace(scale=2)
        assert mechanism.plot(axes=axes, points=16) is axes
        (region,) = axes.collections
        path = region.get_paths()[0]
        for epsilon in (0.1, 0.2, 0.37):
            delta = mechanism.delta(epsilon).upper
            assert path.contains_point((epsilon, delta), radius=1e-4) or path.contains_point((epsilon, delta), radius=-1e-4)
            assert not path.contains_point((epsilon, 2 * delta))
        assert axes.get_yscale() == "log"
        assert labels(axes) == ["least delta that holds"]

    def test_a_profile_of_nothing_but_zeros(self, axes: Any) -> None:
        dv.Laplace(scale=2).plot(axes=axes, reach=5, points=8)
        assert axes.get_ylim()[0] > 0

    def test_a_trade_off_function(self, axes: Any) -> None:
        dv.Gaussian(sigma=1).plot("trade-off", axes=axes, points=12)
        assert labels(axes) == ["perfect privacy", "least miss rate of any test"]

    @pytest.mark.parametrize(("mechanism", "curves"), [(dv.Gaussian(sigma=1), 1), (dv.Gumbel(scale=1), 2)], ids=["one", "two"])
    def test_a_loss_in_either_order(self, mechanism: Any, curves: int, axes: Any) -> None:
        mechanism.plot("loss", axes=axes, points=8)
        assert len(axes.collections) == len(labels(axes)) == curves

    def test_a_loss_without_quantiles_is_drawn_as_far_as_the_profile(self, axes: Any) -> None:
        dv.Uniform(scale="0.5").plot("loss", axes=axes, points=4)
        assert len(axes.collections) == 1
        dv.Uniform(scale="0.5").plot("loss", axes=axes, points=4, reach=3)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"kind": "profil"}, "choose one of 'profile', 'trade-off', 'loss'"),
            ({"kind": None}, "kind = None"),
            ({"kind": "trade-off", "reach": 2}, "leave it out"),
            ({"axes": "here"}, "axes of matplotlib are needed"),
            ({"points": 0}, "points = 0"),
        ],
    )
    def test_what_cannot_be_drawn_is_said(self, arguments: dict[str, Any], words: str) -> None:
        with pytest.raises(InputError, match=words):
            dv.Gaussian(sigma=1).plot(**arguments)

    def test_what_is_not_certified_is_not_drawn(self, axes: Any) -> None:
        bounded = dv.BoundedLaplace(scale=1, lower=0, upper=1)
        with pytest.raises(NotCovered):
            bounded.plot("loss", axes=axes)


class TestResults:
    @pytest.mark.parametrize(
        ("kind", "first"),
        [
            ("trade-off", "excluded by the claim"),
            ("power", "normal approximation"),
            ("laws", "witness: "),
            ("capital", "capital"),
        ],
    )
    def test_pictures(self, kind: str, first: str, result: dv.AuditResult, axes: Any) -> None:
        assert result.plot(kind, axes=axes, mechanism=leaky, inputs=(10, 11)) is axes
        assert labels(axes)[0].startswith(first)

    def test_counts_alone_are_enough_for_some(self, result: dv.AuditResult, axes: Any) -> None:
        result.plot(axes=axes)
        assert "tested events that refute" in labels(axes)
        assert "measured on outputs of the picture" not in labels(axes)
        with pytest.raises(InputError, match="give mechanism= and inputs="):
            result.plot("laws", axes=axes)
        with pytest.raises(InputError, match="give both"):
            result.plot("laws", axes=axes, mechanism=leaky)

    def test_categories_have_names(self, axes: Any) -> None:
        dv.audit(words, inputs=(0, 1), epsilon=1, samples=1000).plot("laws", axes=axes, mechanism=words, inputs=(0, 1), seed=3)
        assert sorted(text.get_text() for text in axes.get_xticklabels()) == ["'<no>'", "'<yes>'"]

    def test_a_mechanism_that_cannot_be_drawn_from(self, result: dv.AuditResult, axes: Any) -> None:
        def failing(data: Any, rng: Any, size: int) -> Any:
            raise ValueError("no noise")

        with pytest.raises(InputError, match="no outputs could be drawn"):
            result.plot("laws", axes=axes, mechanism=failing, inputs=(10, 11))

    def test_an_audit_without_power_has_no_picture_of_it(self, axes: Any) -> None:
        def same(data: Any, rng: Any, size: int) -> Any:
            return np.zeros(size)

        blind = dv.audit(same, inputs=(0, 1), epsilon=1, samples=200)
        assert blind.detectable_epsilon == float("inf")
        with pytest.raises(InputError, match="the audit had none"):
            blind.plot("power", axes=axes)

    def test_the_limit_of_a_curve_is_that_of_all_its_points(self) -> None:
        found = dv.audit(leaky, inputs=(10, 11), claim=dv.GaussianDP(mu=1), samples=2000)
        around = limit_of(found)
        for level in (0.01, 0.2, 0.6):
            mu = dv.Gaussian(sigma=1).delta  # 1-GDP is what this has: its trade-off function lies on or above the limit
            assert height(around, level) <= _gaussian_trade_off(level) + 1e-3
            assert height(around, level) >= height(limit(1.0, mu(1).upper), level) - 1e-2

    def test_the_limit_is_never_above_the_claim(self) -> None:
        for epsilon, delta in ((0.0, 0.0), (1.0, 0.0), (1.0, 1e-6), (700.0, 0.5)):
            corners = limit(epsilon, delta)
            assert corners[0][1] <= 1 - delta
            at = corners[1][0]
            assert at * (1 + np.exp(min(epsilon, 700))) <= (1 - delta) * (1 + 1e-15)


def _gaussian_trade_off(level: float) -> float:
    from statistics import NormalDist

    normal = NormalDist()
    return normal.cdf(normal.inv_cdf(1 - level) - 1)


class TestWithoutMatplotlib:
    def test_the_message_has_the_install_line(self, monkeypatch: pytest.MonkeyPatch, result: dv.AuditResult) -> None:
        real = builtins.__import__

        def without(name: str, *rest: Any) -> Any:
            if name.partition(".")[0] == "matplotlib":
                raise ImportError(name)
            return real(name, *rest)

        for name in [one for one in sys.modules if one.partition(".")[0] == "matplotlib"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(builtins, "__import__", without)
        for draw in (dv.Gaussian(sigma=1).plot, result.plot):
            with pytest.raises(MissingDependency, match=r"pip install 'dpverify\[report\]'") as raised:
                draw()
            assert raised.value.exit_code == 2

    def test_new_axes_are_made(self, result: dv.AuditResult) -> None:
        matplotlib = pytest.importorskip("matplotlib", reason=SKIPPED)
        matplotlib.use("Agg")
        axes = result.plot("power")
        assert axes.get_title() == "leaky: refuted"
        pyplot = sys.modules["matplotlib.pyplot"]
        pyplot.close(axes.figure)


class TestNotebooks:
    def test_an_enclosure_shows_both_sides(self) -> None:
        text = plain(dv.Gaussian(sigma=2).delta(1))
        assert "0.00682959498311457538 ≤ x ≤ 0.00682959498311457539" in text
        assert "exact 1 " in plain(dv.Laplace(scale=1).epsilon(0))
        assert "∞" in plain(dv.Enclosure.infinity(digits=5))

    def test_a_mechanism_shows_its_parameters_and_formulas(self) -> None:
        text = plain(dv.StudentT(scale="1/3", nu=3, sensitivity=2))
        for part in ("StudentT", "scale 1/3", "nu 3", "sensitivity 2.0", "least scale"):
            assert part in text

    def test_every_mechanism_has_a_display(self) -> None:
        from dpverify.mechanisms import by_name, names

        for name in names():
            family = by_name(name)
            given: dict[str, Any] = {one.name: one.default or one.typical[0] for one in family.parameters}
            if name == "custom-noise":
                given["density"] = "~exp(-x**4)"
            assert family.__name__ in plain(family(**given))

    def test_what_is_solved_for(self) -> None:
        text = plain(dv.Gaussian.solve(epsilon=1, delta="1e-6"))
        assert "sigma of gaussian: 4.22467888932684" in text
        assert "safe double 4.224678889326836" in text

    def test_an_audit_shows_the_verdict_first(self, result: dv.AuditResult) -> None:
        text = plain(result)
        assert text.startswith("refuted claimed epsilon = 1, delta = 0 of leaky")
        assert re.search(r"witness .*output.*: [\d,]+ of [\d,]+ outputs on 1[01], [\d,]+ of [\d,]+ on 1[01]", text)
        assert result._repr_html_().count("<svg") == 2

    def test_an_audit_that_does_not_refute_shows_its_power(self) -> None:
        sound = dv.audit(
            lambda data, rng, size: np.rint(data + rng.laplace(0, 1, size)), inputs=(0, 1), epsilon=1, samples=2000
        )
        assert sound.verdict is Verdict.NOT_REFUTED
        assert "would have been refuted with probability 0.9" in plain(sound)

    def test_ids_are_those_of_the_evidence(self, result: dv.AuditResult) -> None:
        other = dataclasses.replace(result, evidence={**result.evidence, "seed": 8})
        ids = [set(re.findall(r' id="([^"]+)"', one._repr_html_())) for one in (result, result, other)]
        assert ids[0] == ids[1]
        assert not ids[0] & ids[2]

    def test_two_opinions(self, result: dv.AuditResult) -> None:
        law = dv.Laplace(scale=2)
        found = Triangulation(
            verdict=Verdict.REFUTED,
            audit=result,
            told=repr(law),
            certified_delta=law.delta(1),
            certified_epsilon=law.epsilon(0),
            law_violates=False,
            agrees=False,
            events=("output > 11, likelier on inputs[1]",),
        )
        text = plain(found)
        for part in (
            "told Laplace(scale=2.0, sensitivity=1.0)",
            "its epsilon epsilon = 0.5",
            "do not follow that law",
            "output > 11,",
        ):
            assert part in text
        bare = dataclasses.replace(found, told=None, certified_delta=None, certified_epsilon=None, agrees=None)
        assert "told" not in plain(bare).partition("refuted claimed")[0]

    def test_claims_of_a_gate(self) -> None:
        sampled = SampledClaim(name="<leaky>", mechanism=leaky, inputs=(0, 1), epsilon=1, samples=5000)
        stated = AnalyticClaim(name="sum", mechanism="gaussian", parameters={"sigma": "5"}, epsilon=1, delta="1e-6")
        shown = [decide(claim, alpha=1e-6, seed=0) for claim in (sampled, stated)]
        assert "refuted <leaky> claimed epsilon = 1" in plain(shown[0])
        assert "proved sum" in plain(shown[1])


def plain(value: Any) -> str:
    """The words of a display, which is well-formed and carries its look."""
    piece = value._repr_html_()
    text = []
    for part in re.findall(r'<div class="dpverify">.*?</div>(?=<div class="dpverify">|$)', piece, re.DOTALL):
        tree = ElementTree.fromstring(part.replace("<br>", "<br/>"))
        for style in tree.findall(".//style"):
            assert style.text is not None
            assert style.text.count("{") == style.text.count("}")
            style.text = ""
        text.append(" ".join(" ".join(tree.itertext()).split()))
    assert text
    return re.sub(r"\s+", " ", " ".join(text)).replace(" :", ":")
