"""Derivations: every family has one, every wrong formula is caught at a named step, and what is printed can be read."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import sympy
from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.precision import working_precision
from dpverify.derive import second_look
from dpverify.derive.additive import derive
from dpverify.derive.algebra import NotProved
from dpverify.derive.formulas import Formulas
from dpverify.derive.loss import half_line, monotone, privacy_loss
from dpverify.derive.profile import envelope
from dpverify.derive.steps import Check, Derivation
from dpverify.errors import DerivationError
from dpverify.mechanisms import by_name, names
from dpverify.mechanisms._additive import AdditiveNoise
from dpverify.mechanisms.gaussian import Gaussian
from dpverify.mechanisms.hyperbolic_secant import HyperbolicSecant
from dpverify.mechanisms.laplace import Laplace
from dpverify.mechanisms.logistic import Logistic

STEPS = [
    *("density", "cdf", "privacy loss", "monotone likelihood ratio", "threshold", "half line"),
    *("profile", "range", "envelope", "inversion", "scale"),
]
FAMILIES: list[Any] = [
    family for family in map(by_name, names()) if issubclass(family, AdditiveNoise) and family.no_derivation is None
]
each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)

_derived: dict[str, Derivation] = {}


def typical(family: Any) -> Any:
    """A member of the family at the upper ends of its typical parameters."""
    return family(**{parameter.name: parameter.typical[1] for parameter in family.parameters}, sensitivity="7/3")


def derivation_of(family: Any) -> Derivation:
    if family.name not in _derived:
        _derived[family.name] = typical(family).derive()
    return _derived[family.name]


class Altered:
    """The formulas of a family with some of them replaced: `log_density=lambda m, x: ...`."""

    def __init__(self, family: Any, **replaced: Any) -> None:
        self._noise = family(1)
        self._replaced = replaced

    def __getattr__(self, name: str) -> Any:
        if name in self._replaced:
            return self._replaced[name]
        if name == "profile":  # it must see the altered cdf and threshold where the family leaves it to the default
            stated = type(self._noise).profile
            return (lambda m, eps, d: stated(self, m, eps, d)) if stated is AdditiveNoise.profile else self._noise.profile  # type: ignore[arg-type]
        return getattr(self._noise, name)


# Every family.


@each_family
def test_every_family_has_a_derivation(family: Any) -> None:
    derivation = derivation_of(family)
    assert [step.name for step in derivation.steps] == STEPS
    assert derivation.mechanism == family.name
    assert len(derivation.assumptions) >= 4
    for step in derivation.steps:
        assert step.statement
        assert step.explanation.endswith(".")
        assert isinstance(step.check, Check)
        assert step.how
        assert all(sentence.endswith(".") for sentence in step.how)


@each_family
def test_the_derived_formula_is_the_certified_number(family: Any) -> None:
    derivation, noise = derivation_of(family), typical(family)
    d = sympy.Rational(str(noise.shift))
    largest = 5 if noise.loss_slope is None else noise.loss_slope * Fraction(str(noise.shift))
    for part in ("-4/5", "-1/3", "0", "1/7", "9/10"):
        epsilon = Fraction(part) * largest
        value = derivation.formula.subs({"epsilon": sympy.Rational(str(epsilon)), "d": d})
        certified = noise.delta(epsilon, digits=30)
        assert abs(sympy.N(value, 40) - sympy.Rational(str(certified.exact_lower))) <= sympy.Rational(1, 10**28)


@each_family
def test_the_derived_scale_is_the_certified_bound(family: Any) -> None:
    derivation = derivation_of(family)
    place = {"epsilon": sympy.Rational(1, 3), "delta": sympy.Rational(1, 1000), "sensitivity": sympy.Rational(7, 3)}
    if derivation.scale is None:
        assert typical(family).shift_for(BALLS, arb(1), arb(fmpq(1, 10))) is None
        return
    shape = {parameter.name: parameter.typical[1] for parameter in family.parameters if not parameter.is_scale}
    bound = family.bound(epsilon="1/3", delta="1/1000", sensitivity="7/3", digits=30, **shape)
    assert abs(sympy.N(derivation.scale.subs(place), 40) - sympy.Rational(str(bound.exact_lower))) <= sympy.Rational(1, 10**26)


@each_family
def test_the_privacy_loss_is_exact_and_in_the_units_of_the_output(family: Any) -> None:
    noise = typical(family)
    loss = noise.privacy_loss
    assert loss.free_symbols == {sympy.Symbol("x")}
    assert not loss.atoms(sympy.Float)
    for point in (fmpq(-17, 5), fmpq(1, 9), fmpq(40, 3)):
        with working_precision(200):
            scale, sensitivity = arb(noise.exact_scale), arb(noise.exact_sensitivity)
            p = noise.log_density(BALLS, (arb(point) - sensitivity) / scale)
            q = noise.log_density(BALLS, arb(point) / scale)
            expected = sympy.Float((p - q).str(50, radius=False), 50)
        assert abs(sympy.N(loss.subs("x", sympy.Rational(str(point))), 50) - expected) < 10**-45


def test_a_double_in_the_privacy_loss_means_exactly_that_double() -> None:
    loss = Gaussian(1, sensitivity=0.1).privacy_loss
    assert loss.coeff(sympy.Symbol("x")) == sympy.Rational(*(0.1).as_integer_ratio())


@each_family
def test_no_step_rests_on_machinery_that_has_been_wrong(family: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a derivation must not call this")

    for name in ("limit", "integrate", "simplify", "Limit", "Integral", "solve", "lambdify"):
        monkeypatch.setattr(sympy, name, refuse)
    monkeypatch.setattr(sympy.Expr, "limit", refuse)
    monkeypatch.setattr(sympy.Expr, "integrate", refuse)
    monkeypatch.setattr(sympy.Expr, "simplify", refuse)
    with pytest.raises(AssertionError):
        sympy.limit(1, sympy.Symbol("x"), 0)
    assert len(typical(family).derive().steps) == len(STEPS)


# Families that are declared the same way, and that the engine has never heard of.


def steep(family: Any, k: int) -> dict[str, Callable[..., Any]]:
    """The family with k X' = X: the same shape, k times as steep."""
    base = family(1)
    return {
        "name": "steep",
        "loss_slope": None if base.loss_slope is None else k * base.loss_slope,
        "log_density": lambda m, x: base.log_density(m, k * x) + m.log(m.rational(k)),
        "cdf": lambda m, x: base.cdf(m, k * x),
        "threshold": lambda m, eps, d: base.threshold(m, eps, k * d) / k,
        "profile": lambda m, eps, d: base.profile(m, eps, k * d),
        "shift_for": lambda m, eps, delta: None if (d := base.shift_for(m, eps, delta)) is None else d / k,
        "epsilon_for": lambda m, delta, d: base.epsilon_for(m, delta, k * d),
    }


@pytest.mark.parametrize("k", [2, 3])
@each_family
def test_a_steeper_family_is_derived_without_new_code(family: Any, k: int) -> None:
    derivation = derive(Altered(family, **steep(family, k)))
    assert derivation.mechanism == "steep"
    if family.loss_slope is not None:
        assert f"L(x) <= {k}*d" in derivation.text()
        assert f"0 for epsilon >= {k} d" in derivation.summary


@each_family
def test_what_a_family_leaves_out_is_not_missed(family: Any) -> None:
    def default(m: Any, eps: Any, d: Any) -> Any:
        t = family(1).threshold(m, eps, d)
        return family(1).cdf(m, d - t) - m.exp(eps) * family(1).cdf(m, -t)

    bare = Altered(family, profile=default, shift_for=lambda *_: None, epsilon_for=lambda *_: None)
    derivation = derive(bare)
    assert derivation.scale is None
    assert "for exactly one d > 0" in derivation.text()
    assert derivation.steps[STEPS.index("inversion")].check is Check.DEDUCTION


# Wrong formulas. Each is wrong in one way, and the step that catches it is named.


def two(m: Any) -> Any:
    return m.rational(2)


def too_heavy(factor: int) -> dict[str, Any]:
    """`factor` times the Laplace density, with the antiderivative that has F(x) + F(-x) = 1."""
    return {
        "log_density": lambda m, x: Laplace(1).log_density(m, x) + m.log(m.rational(factor, 10)),
        "cdf": lambda m, x: m.rational(1, 2) + (Laplace(1).cdf(m, x) - m.rational(1, 2)) * m.rational(factor, 10),
    }


def other_root(m: Any, eps: Any, delta: Any) -> Any:
    """The logistic shift with the other sign of the root: it solves the same quadratic equation."""
    root = m.sqrt(delta * (delta * m.exp(-eps) - m.expm1(-eps)))
    return eps + 2 * (m.log1p(-root) - m.log1p(-delta))


WRONG: list[tuple[str, Any, dict[str, Any]]] = [
    ("density", Laplace, {"log_density": lambda m, x: -m.abs(x) + x / 10 - m.log(two(m))}),
    ("density", Logistic, {"log_density": lambda m, x: -x - 3 * m.log1p(m.exp(-x))}),
    ("density", Gaussian, {"log_density": lambda m, x: x * x / 2 - m.log(2 * m.pi()) / 2}),
    ("density", Gaussian, {"log_density": lambda m, x: -m.log(1 + x * x) - m.log(m.pi())}),  # Cauchy: not log-concave
    ("density", Laplace, {"log_density": lambda m, x: m.abs(x) - x * x - m.log(two(m))}),  # its slope rises at 0 only
    ("density", Laplace, {"log_density": lambda m, x: -m.abs(x) + m.sign(x) ** 2 - m.log(two(m))}),  # a hole at 0
    ("density", Gaussian, {"log_density": lambda m, x: -m.log(m.exp(x) + m.exp(-x) - 3)}),  # no real number near 0
    ("cdf", Laplace, {"log_density": lambda m, x: -m.abs(x) - m.log(m.rational(3))}),
    ("cdf", Gaussian, {"log_density": lambda m, x: -x * x / 2 - m.log(m.pi()) / 2}),
    ("cdf", Logistic, {"cdf": lambda m, x: 1 / (1 + m.exp(x))}),
    ("cdf", Logistic, {"cdf": lambda m, x: 1 / (1 + m.exp(-x)) + m.rational(1, 10**30)}),
    ("cdf", Laplace, {"cdf": lambda m, x: (1 - m.sign(x) * m.expm1(-m.abs(x)) + m.sign(x) / 5) / 2}),  # jumps at 0
    ("cdf", Laplace, too_heavy(9)),
    ("cdf", Laplace, too_heavy(11)),
    ("cdf", Gaussian, {"cdf": lambda m, x: m.normal_cdf(2 * x)}),
    ("cdf", HyperbolicSecant, {"cdf": lambda m, x: 2 * m.atan(m.exp(2 * x)) / m.pi()}),
    ("cdf", HyperbolicSecant, {"cdf": lambda m, x: 1 - 2 * m.atan(m.exp(x)) / m.pi()}),
    ("threshold", HyperbolicSecant, {"threshold": lambda m, eps, d: m.log(m.expm1(eps + d)) - m.log(-m.expm1(eps - d))}),
    ("threshold", Laplace, {"threshold": lambda m, eps, d: (eps - d) / 2}),
    ("threshold", Laplace, {"threshold": lambda m, eps, d: eps / 2 + d / 3}),
    ("threshold", Gaussian, {"threshold": lambda m, eps, d: d / 2 - eps / d}),
    ("threshold", Logistic, {"threshold": lambda m, eps, d: m.log(m.expm1((eps + d) / 2)) - m.log(m.expm1((d - eps) / 2))}),
    ("threshold", Laplace, {"loss_slope": 2}),
    ("threshold", Logistic, {"loss_slope": 2}),
    ("threshold", Laplace, {"loss_slope": None}),
    ("threshold", Logistic, {"loss_slope": None}),
    ("threshold", Laplace, {"loss_slope": 0}),
    ("threshold", Laplace, {"loss_slope": -1}),
    ("threshold", Laplace, {"loss_slope": True}),
    (
        "profile",
        Gaussian,
        {"profile": lambda m, eps, d: m.normal_cdf(d / 2 - eps / d) - m.exp(eps) * m.normal_cdf(d / 2 + eps / d)},
    ),
    ("profile", Laplace, {"profile": lambda m, eps, d: m.expm1((eps - d) / 2)}),
    ("profile", Laplace, {"profile": lambda m, eps, d: -m.expm1((eps - d) / 2) * 2}),
    ("profile", Laplace, {"profile": lambda m, eps, d: -m.expm1(eps - d)}),
    ("profile", Logistic, {"profile": lambda m, eps, d: m.expm1((eps - d) / 2) ** 2 / m.expm1(d)}),
    ("profile", Logistic, {"profile": lambda m, eps, d: m.sqrt(m.expm1((eps - d) / 2) ** 4) / (eps - eps)}),
    ("range", Laplace, {**steep(Laplace, 3), "loss_slope": 2}),
    ("range", Logistic, {**steep(Logistic, 2), "loss_slope": 1}),
    ("range", Gaussian, {"loss_slope": 1}),
    ("inversion", Laplace, {"shift_for": lambda m, eps, delta: eps - m.log1p(-delta)}),
    ("inversion", Laplace, {"shift_for": lambda m, eps, delta: -eps - 2 * m.log1p(-delta)}),
    ("inversion", Logistic, {"shift_for": other_root}),
    ("inversion", Laplace, {"epsilon_for": lambda m, delta, d: d + m.log1p(-delta)}),
    ("inversion", Logistic, {"epsilon_for": lambda m, delta, d: d + 2 * m.log1p(m.sqrt(-delta * m.expm1(-d)))}),
    ("inversion", Gaussian, {"epsilon_for": lambda m, delta, d: d * m.sqrt(2 * m.log(5 / (4 * delta)))}),
    ("inversion", Gaussian, {"shift_for": lambda m, eps, delta: m.sqrt(2 * m.log(5 / (4 * delta))) / eps}),
]


@pytest.mark.parametrize(
    ("step", "family", "replaced"), WRONG, ids=[f"{i}-{step}-{f.name}" for i, (step, f, _) in enumerate(WRONG)]
)
def test_a_wrong_formula_fails_at_the_step_that_it_breaks(step: str, family: Any, replaced: dict[str, Any]) -> None:
    with pytest.raises(DerivationError) as refusal:
        derive(Altered(family, **replaced))
    message = str(refusal.value)
    assert message.startswith(f"{replaced.get('name', family.name)}: the step {step!r} is not proved: ")
    assert refusal.value.exit_code == 4


def test_the_message_of_a_wrong_formula_shows_what_is_left() -> None:
    with pytest.raises(
        DerivationError, match=re.escape("does not vanish identically; correct the formulas that gaussian states.")
    ):
        derive(Altered(Gaussian, threshold=lambda m, eps, d: eps / d + d / 2 + m.rational(1, 10**30)))


def test_a_formula_that_is_missing_is_named() -> None:
    with pytest.raises(DerivationError, match="'threshold' is not proved: the family states no formula"):
        derive(Altered(Laplace, threshold=AdditiveNoise.threshold.__get__(Laplace(1))))


def test_what_sympy_cannot_treat_is_a_step_that_is_not_proved() -> None:
    def hopeless(*_: Any) -> Any:
        raise sympy.PolynomialError("piecewise generators")

    with pytest.raises(DerivationError, match=r"'profile' is not proved: what is left is no rational function \(piecewise"):
        derive(Altered(Laplace, profile=hopeless))


def test_a_rewritten_formula_is_shown_only_if_it_is_proved_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = monotone(Formulas(noise=Gaussian(1))).statement[0].relation
    monkeypatch.setattr(sympy, "factor", lambda expression, **_: expression - 1)
    assert monotone(Formulas(noise=Gaussian(1))).statement[0].relation == shown


CAUCHY = Altered(Gaussian, log_density=lambda m, x: -m.log(1 + x * x) - m.log(m.pi()))
LOPSIDED = Altered(Gaussian, log_density=lambda m, x: -x * x / 2 + x * x * x)


@pytest.mark.parametrize(
    ("step", "noise"),
    [
        (monotone, CAUCHY),
        (privacy_loss, LOPSIDED),
        (half_line, Altered(Logistic, cdf=lambda m, x: 1 / (1 + m.exp(-x)) / 2)),
        (envelope, Altered(Laplace, profile=lambda m, eps, d: -m.expm1((eps - d) / 3))),
    ],
    ids=["monotone", "privacy loss", "half line", "envelope"],
)
def test_steps_that_earlier_ones_would_protect_can_fail_by_themselves(step: Callable[[Formulas], Any], noise: Any) -> None:
    with pytest.raises(NotProved):
        step(Formulas(noise=noise))


# The second look.


def test_a_residual_that_is_tiny_everywhere_is_caught_by_the_second_look() -> None:
    with pytest.raises(NotProved, match="at the point"):
        second_look.vanishes(lambda m, x: m.rational(1, 10**40) * x, second_look.lines())


def test_a_second_look_through_a_blurred_glass_is_refused() -> None:
    blurred = arb(0, 1)
    with pytest.raises(NotProved, match="at the point"):
        second_look.vanishes(lambda m, x: blurred, second_look.lines())


def test_a_distribution_that_does_not_gain_its_density_is_caught_by_the_second_look() -> None:
    laplace = Formulas(noise=Laplace(1))
    assert "certify" in second_look.accumulates(laplace.cdf, laplace.density)
    with pytest.raises(NotProved, match="no mean of f"):
        second_look.accumulates(lambda m, x: laplace.cdf(m, x) * 2, laplace.density)


def test_the_points_of_the_second_look_lie_where_the_formulas_hold() -> None:
    for epsilon, d in second_look.losses(2):
        assert abs(epsilon) < 2 * d
    assert all(x != 0 for (x,) in second_look.lines())
    assert all(x not in (0, d) and d > 0 for x, d in second_look.planes())
    assert all(epsilon > 0 and 0 < delta < 1 for epsilon, delta in second_look.requests())


# What is printed.


@each_family
def test_the_text_is_for_readers(family: Any) -> None:
    derivation = derivation_of(family)
    text = derivation.text()
    assert text.splitlines()[0] == f"The privacy profile of {family.name} noise, derived from its density"
    assert max(map(len, text.splitlines())) <= 100
    for number, name in enumerate(STEPS, start=1):
        assert f"\n{number}. {name}\n" in text
    assert text.count("Checked by ") == len(STEPS)
    assert not re.search(r"\*\*|`|Eq\(|Abs\(|Derivative|Float", text)
    assert str(derivation) == text
    assert " ".join(derivation.summary.split()) in " ".join(text.split())


def test_the_text_of_the_laplace_profile() -> None:
    text = derivation_of(Laplace).text()
    for line in (
        "log(f(x)) = -|x| - log(2)",
        "L(x) = |x| - |d - x|",
        "L'(x) = 2    for 0 < x < d",
        "t = d/2 + epsilon/2",
        "delta(epsilon) = F(d - t) - F(-t)*exp(epsilon)    for |epsilon| < d",
        "delta(epsilon) = 1 - exp(epsilon/2 - d/2)    for |epsilon| < d",
        "delta(epsilon) = 1 - exp(epsilon)    for epsilon <= -d",
        "d delta(epsilon, d)/d d = f(d - t)    for |epsilon| < d",
        "scale = sensitivity/(epsilon - 2*log(1 - delta))    for epsilon >= 0 and 0 < delta < 1",
    ):
        assert f"\n       {line}\n" in text


def test_the_text_of_the_gaussian_profile() -> None:
    text = derivation_of(Gaussian).text()
    assert "delta(epsilon) = Phi(d/2 - epsilon/d) - Phi(-d/2 - epsilon/d)*exp(epsilon)" in text
    assert "given erfc(sqrt(2)*x/2) <= exp(-x^2/2)" in " ".join(text.split())
    assert "the Gaussian integral" in " ".join(text.split("1. density")[0].split())


@each_family
def test_the_latex_is_well_formed(family: Any) -> None:
    derivation = derivation_of(family)
    latex = derivation.latex()
    assert family.name in latex
    for step in derivation.steps:
        assert rf"\item \textbf{{{step.name}.}}" in latex
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", latex):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    assert latex.count(r"\left") == latex.count(r"\right")
    opened: list[str] = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+\*?)\}", latex):
        if what == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert opened == []
    assert not re.search(r"\*\*|`|sqrt\(|Abs|\\mathrm\{(?:epsilon|delta|sqrt|exp|log)\}", latex)
    for line in latex.splitlines():
        assert len(re.findall(r"(?<!\\)\$", line)) % 2 == 0
    for block in re.findall(r"\\begin\{align\*\}\n(.*?)\n\\end\{align\*\}", latex, re.DOTALL):
        rows = block.split(" \\\\\n")
        assert all(len(re.findall(r"(?<!\\)&", row)) == 1 for row in rows)


def test_the_latex_of_the_logistic_profile() -> None:
    derivation = derivation_of(Logistic)
    profile = (
        r"\delta{\left(\varepsilon \right)} &= \frac{\left(e^{\frac{\varepsilon}{2} - \frac{d}{2}} - 1\right)^{2}}{1 - e^{- d}}"
    )
    assert profile in derivation.latex()
    assert derivation._repr_latex_().startswith(r"$\displaystyle \delta{\left(\varepsilon \right)} = \frac{")


@each_family
def test_the_data_are_strings_and_lists(family: Any) -> None:
    import json

    derivation = derivation_of(family)
    data = json.loads(json.dumps(derivation.to_json()))
    assert data["mechanism"] == family.name
    assert data["summary"] == derivation.summary
    assert [step["name"] for step in data["steps"]] == STEPS
    for step in data["steps"]:
        assert {"name", "statement", "explanation", "check"} <= step.keys()
        assert step["check"] in {kind.value for kind in Check}
        assert len(step["statement"]) == len(step["latex"]) > 0
        assert "`" not in str(step)
