"""The first two steps: the density, and that the stated distribution function is its own."""

from __future__ import annotations

from collections.abc import Callable

import sympy

from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.derive import notation, proofs, second_look
from dpverify.derive.formulas import Formulas, symbolic, told
from dpverify.derive.notation import NOTATION, tidy
from dpverify.derive.proofs import Outcome
from dpverify.derive.regions import HALVES, LINE, POSITIVE_HALF, Region
from dpverify.derive.special import assumptions
from dpverify.derive.steps import Check, Statement, Step

_ZERO = sympy.Integer(0)
(_LINE,) = LINE


def density(formulas: Formulas) -> Step:
    """log f is even, continuous and concave."""

    def asymmetry(m: Arithmetic, x: Value) -> Value:
        return formulas.log_density(m, -x) - formulas.log_density(m, x)

    def even(region: Region) -> Outcome:
        proofs.defined(symbolic(formulas.log_density, region.x))
        return proofs.zero(symbolic(asymmetry, region.x))

    def concave(region: Region) -> Outcome:
        slope = region.derivative(symbolic(formulas.log_density, region.x), "x")
        return proofs.nonnegative(-region.derivative(slope, "x"))

    if not formulas.has_kink:
        proofs.defined(symbolic(formulas.log_density, _LINE.x))
    how = [
        f"`f(-x) = f(x) > 0`: {formulas.on_line(even)}.",
        f"`-(log f)'' >= 0`: {formulas.on_line(concave)}.",
    ]
    if formulas.has_kink:
        _require_continuity(formulas.log_density)
        proofs.nonnegative(-_jump_of_slope(formulas))
        how.append("At the kink 0, by substitution: log f is continuous, and its slope falls.")
    x, f = notation.x, notation.density
    log_f = tidy(formulas.log_density(NOTATION, x))
    return Step(
        name="density",
        statement=(
            Statement(relation=sympy.Eq(sympy.log(f(x)), log_f, evaluate=False)),
            Statement(relation=sympy.Eq(f(-x), f(x), evaluate=False)),
        ),
        explanation="The noise, in units of its scale, has the density f, which is symmetric and log-concave.",
        check=Check.IDENTITY,
        how=tuple(how),
        also=second_look.vanishes(asymmetry, second_look.lines()),
        assumptions=assumptions(symbolic(formulas.log_density, POSITIVE_HALF.x)),
    )


def distribution(formulas: Formulas) -> Step:
    """F is an antiderivative of f that runs from 0 to 1."""

    def excess(m: Arithmetic, x: Value) -> Value:
        return formulas.cdf(m, x) + formulas.cdf(m, -x) - 1

    def antiderivative(region: Region) -> Outcome:
        value = symbolic(formulas.cdf, region.x)
        proofs.defined(value)
        return proofs.zero(region.derivative(value, "x") - symbolic(formulas.density, region.x))

    def complementary(region: Region) -> Outcome:
        return proofs.zero(symbolic(excess, region.x))

    if not formulas.has_kink:
        proofs.defined(symbolic(formulas.cdf, _LINE.x))
    how = [
        f"`F'(x) = f(x)`: {formulas.on_line(antiderivative)}.",
        f"`F(x) + F(-x) = 1`: {formulas.on_line(complementary)}.",
        f"`F(-x) > 0`: {_positive_tail(formulas)}.",
        f"`F(-x) <= f(x)/(2 f(0))`: {_tail_bound(formulas)}.",
        f"`f(x) < f(0)`: {_fall(formulas)}.",
    ]
    if formulas.has_kink:
        _require_continuity(formulas.cdf)
        how.append("At the kink 0, by substitution: F is continuous.")
    x, f, cdf, rho = notation.x, notation.density, notation.distribution, notation.rho
    return Step(
        name="cdf",
        statement=(
            Statement(relation=sympy.Eq(cdf(x), formulas.cdf(NOTATION, x), evaluate=False)),
            Statement(relation=sympy.Eq(sympy.Derivative(cdf(x), x), f(x), evaluate=False)),
            Statement(relation=sympy.Eq(cdf(x) + cdf(-x), 1, evaluate=False)),
            Statement(relation=sympy.Gt(cdf(-x), 0, evaluate=False), where="for `x > 0`"),
            Statement(relation=sympy.Le(cdf(-x), f(x) / (2 * f(0)), evaluate=False), where="for `x > 0`"),
            Statement(relation=sympy.Le(f(x) / f(0), rho**x, evaluate=False), where="for `x >= 1`, with `rho = f(1)/f(0) < 1`"),
        ),
        explanation=(
            "F grows at the rate f; `0 < F(-x) <= rho^x/2` (beyond 1 the concave `log f` stays below its chord from 0 to 1) "
            "falls below every positive number, and `F(x) = 1 - F(-x)`: so F runs from 0 to 1, f integrates to 1, and F is its "
            "distribution function."
        ),
        check=Check.DIFFERENTIATION,
        how=tuple(how),
        also=second_look.accumulates(formulas.cdf, formulas.density),
        assumptions=assumptions(symbolic(formulas.cdf, POSITIVE_HALF.x)),
    )


def _fall(formulas: Formulas) -> str:
    """log f(0) - log f(x) > 0 for x > 0."""
    difference = symbolic(formulas.log_density, _ZERO) - symbolic(formulas.log_density, POSITIVE_HALF.x)
    return told(proofs.nonnegative(difference, strictly=True), POSITIVE_HALF)


def _positive_tail(formulas: Formulas) -> str:
    """F(-x) > 0 for x > 0. Without it, F could run from below 0 to above 1, and f have a mass above 1."""
    return told(proofs.nonnegative(symbolic(formulas.cdf, -POSITIVE_HALF.x), strictly=True), POSITIVE_HALF)


def _tail_bound(formulas: Formulas) -> str:
    """f(x)/(2 f(0)) - F(-x) >= 0 for x > 0, special functions replaced by what they do not exceed."""
    x = POSITIVE_HALF.x
    ratio = sympy.exp(symbolic(formulas.log_density, x) - symbolic(formulas.log_density, _ZERO))
    difference, used = proofs.majorised(ratio / 2 - symbolic(formulas.cdf, -x))
    trusted = [f"`{proofs.shown(one.xreplace(POSITIVE_HALF.back))} <= {proofs.shown(bound.xreplace(POSITIVE_HALF.back))}`"
               for one, bound in used]  # fmt: skip
    given = f", given {' and '.join(trusted)}" if trusted else ""
    return told(proofs.nonnegative(difference), POSITIVE_HALF) + given


def _require_continuity(formula: Callable[..., Value]) -> None:
    """Both one-sided expressions, continued to 0, and the value at 0 itself must agree."""
    middle = symbolic(formula, _ZERO)
    for region in HALVES:
        end = _at_zero(symbolic(formula, region.x), region)
        proofs.defined(end)
        proofs.zero(end - middle)


def _jump_of_slope(formulas: Formulas) -> sympy.Expr:
    """(log f)'(0+) - (log f)'(0-)."""
    above, below = (_at_zero(region.derivative(symbolic(formulas.log_density, region.x), "x"), region) for region in HALVES)
    return above - below


def _at_zero(expression: sympy.Expr, region: Region) -> sympy.Expr:
    (distance,) = region.along["x"]
    return expression.subs(distance, 0)
