"""Steps 3 to 6: the privacy loss, that it increases, where it passes epsilon, and the best event that this gives."""

from __future__ import annotations

import sympy

from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.derive import notation, proofs, regions, second_look
from dpverify.derive.algebra import NotProved
from dpverify.derive.formulas import Formulas, symbolic, told
from dpverify.derive.notation import NOTATION, tidy
from dpverify.derive.proofs import Outcome
from dpverify.derive.regions import PLANE, STRIPS, Region
from dpverify.derive.steps import Check, Statement, Step


def privacy_loss(formulas: Formulas) -> Step:
    """L(x) = log f(x - d) - log f(x), odd about d/2."""

    def oddness(m: Arithmetic, x: Value, d: Value) -> Value:
        return formulas.loss(m, d - x, d) + formulas.loss(m, x, d)

    def odd(region: Region) -> Outcome:
        return proofs.zero(symbolic(oddness, region.x, region.d))

    x, d, loss, f = notation.x, notation.d, notation.loss, notation.density
    definition = sympy.log(f(x - d)) - sympy.log(f(x))
    return Step(
        name="privacy loss",
        statement=(
            Statement(relation=sympy.Eq(loss(x), definition, evaluate=False)),
            Statement(relation=sympy.Eq(loss(x), tidy(formulas.loss(NOTATION, x, d)), evaluate=False)),
            Statement(relation=sympy.Eq(loss(d - x), -loss(x), evaluate=False)),
        ),
        explanation=(
            "L is the log-ratio of the densities of P (noise about d) and Q (noise about 0); the reflection of x about `d/2` "
            "exchanges P and Q, so it does not matter which of two neighbours comes first."
        ),
        check=Check.IDENTITY,
        how=(f"`L(d - x) + L(x) = 0`: {formulas.on_plane(odd)}.",),
        also=second_look.vanishes(oddness, second_look.planes()),
    )


def monotone(formulas: Formulas) -> Step:
    """L does not decrease: the likelihood ratio is monotone."""

    def increasing(region: Region) -> Outcome:
        return proofs.nonnegative(region.derivative(symbolic(formulas.loss, region.x, region.d), "x"))

    how = [f"`L'(x) >= 0`: {formulas.on_plane(increasing)}."]
    pieces = STRIPS if formulas.has_kink else PLANE
    if formulas.has_kink:
        how.append("L is continuous at `x = 0` and `x = d`, because log f is (step 1).")
    rate = sympy.Derivative(notation.loss(notation.x), notation.x)
    rates = [Statement(relation=sympy.Eq(rate, _rate(formulas, piece), evaluate=False), where=piece.words) for piece in pieces]
    return Step(
        name="monotone likelihood ratio",
        statement=(
            *rates,
            Statement(relation=sympy.Ge(rate, 0, evaluate=False)),
        ),
        explanation="The larger the output, the more it speaks for P: L is continuous and its slope is never negative.",
        check=Check.INEQUALITY,
        how=tuple(how),
    )


def threshold(formulas: Formulas) -> Step:
    """L(t) = epsilon."""
    _require_slope(formulas.noise.loss_slope)
    region = regions.losses(formulas.noise.loss_slope)

    def miss(m: Arithmetic, eps: Value, d: Value) -> Value:
        return formulas.loss(m, formulas.threshold(m, eps, d), d) - eps

    proofs.defined(symbolic(formulas.threshold, region.epsilon, region.d))
    outcome = proofs.zero(symbolic(miss, region.epsilon, region.d))
    t, epsilon, d = notation.t, notation.epsilon, notation.d
    return Step(
        name="threshold",
        statement=(
            Statement(relation=sympy.Eq(t, tidy(formulas.threshold(NOTATION, epsilon, d)), evaluate=False)),
            Statement(relation=sympy.Eq(notation.loss(t), epsilon, evaluate=False), where=region.words),
        ),
        explanation="At the output t, which is a real number, the privacy loss is exactly epsilon.",
        check=Check.IDENTITY,
        how=(f"`L(t) - epsilon = 0`: {told(outcome, region)}.",),
        also=second_look.vanishes(miss, second_look.losses(formulas.noise.loss_slope)),
    )


def half_line(formulas: Formulas) -> Step:
    """delta(epsilon) = F(d - t) - e^epsilon F(-t)."""
    region = regions.losses(formulas.noise.loss_slope)

    def gap(m: Arithmetic, eps: Value, d: Value) -> Value:
        t = formulas.threshold(m, eps, d)
        exceeded = (1 - formulas.cdf(m, t - d)) - m.exp(eps) * (1 - formulas.cdf(m, t))
        return exceeded - formulas.half_line(m, eps, d)

    outcome = proofs.zero(symbolic(gap, region.epsilon, region.d))
    t, d, epsilon, cdf = notation.t, notation.d, notation.epsilon, notation.distribution
    events = (1 - cdf(t - d)) - sympy.exp(epsilon) * (1 - cdf(t))
    value = cdf(d - t) - sympy.exp(epsilon) * cdf(-t)
    return Step(
        name="half line",
        statement=(
            Statement(relation=sympy.Eq(notation.profile(epsilon), events, evaluate=False), where=region.words),
            Statement(relation=sympy.Eq(notation.profile(epsilon), value, evaluate=False), where=region.words),
        ),
        explanation=(
            "By steps 4 and 5 the density of P is at least `e^epsilon` times that of Q above t and at most that below t, so no "
            "event S has a larger `P(S) - e^epsilon Q(S)` than the half line `x > t` (Neyman and Pearson); step 2 turns its "
            "two probabilities into values of F."
        ),
        check=Check.DEDUCTION,
        how=(f"`(1 - F(t - d)) - e^epsilon (1 - F(t)) = F(d - t) - e^epsilon F(-t)`: {told(outcome, region)}.",),
        also=second_look.vanishes(gap, second_look.losses(formulas.noise.loss_slope)),
    )


def _require_slope(slope: int | None) -> None:
    if slope is not None and (isinstance(slope, bool) or not isinstance(slope, int) or slope < 1):
        raise NotProved(f"loss_slope is {slope!r}, and the slope of a bounded loss is a positive integer (None: unbounded)")


def _rate(formulas: Formulas, region: Region) -> sympy.Expr:
    """L'(x) as it is shown: factored, if that is proved to be the same and is no longer."""
    plain = region.derivative(symbolic(formulas.loss, region.x, region.d), "x")
    factored = sympy.factor(sympy.expand(plain, power_exp=True))
    try:
        proofs.zero(factored - plain)
    except NotProved:
        factored = plain
    shortest = min(plain, factored, key=sympy.count_ops)
    return shortest.xreplace(region.back)
