"""Steps 7 to 9: the stated profile, where it applies, and how it changes with the shift and with epsilon."""

from __future__ import annotations

import sympy

from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.derive import notation, proofs, regions, second_look
from dpverify.derive.formulas import Formulas, symbolic, told
from dpverify.derive.notation import NOTATION
from dpverify.derive.proofs import Outcome
from dpverify.derive.regions import Region, times_d
from dpverify.derive.steps import Check, Statement, Step


def profile(formulas: Formulas) -> Step:
    """The profile that the family states equals F(d - t) - e^epsilon F(-t)."""
    region = regions.losses(formulas.noise.loss_slope)

    def error(m: Arithmetic, eps: Value, d: Value) -> Value:
        return formulas.profile(m, eps, d) - formulas.half_line(m, eps, d)

    proofs.defined(symbolic(formulas.profile, region.epsilon, region.d))
    outcome = proofs.zero(symbolic(error, region.epsilon, region.d))
    stated = formulas.profile(NOTATION, notation.epsilon, notation.d)
    return Step(
        name="profile",
        statement=(Statement(relation=_profile_is(stated), where=region.words),),
        explanation="With F and t put in, the value of step 6 is the privacy profile in closed form.",
        check=Check.IDENTITY,
        how=(f"`delta(epsilon) - (F(d - t) - e^epsilon F(-t)) = 0`: {told(outcome, region)}.",),
        also=second_look.vanishes(error, second_look.losses(formulas.noise.loss_slope)),
    )


def loss_range(formulas: Formulas) -> Step:
    """What happens beyond the losses that occur."""
    slope = formulas.noise.loss_slope
    if slope is None:
        return _unbounded()

    def below_largest(region: Region) -> Outcome:
        return proofs.nonnegative(slope * region.d - symbolic(formulas.loss, region.x, region.d))

    largest, epsilon = times_d(slope), notation.epsilon
    return Step(
        name="range",
        statement=(
            Statement(relation=sympy.Le(notation.loss(notation.x), slope * notation.d, evaluate=False)),
            Statement(relation=_profile_is(sympy.Integer(0)), where=f"for `epsilon >= {times_d(slope)}`"),
            Statement(relation=_profile_is(1 - sympy.exp(epsilon)), where=f"for `epsilon <= -{times_d(slope)}`"),
        ),
        explanation=(
            f"The supremum of L is {largest}: L never exceeds it, and takes every value between -{largest} and "
            f"{largest} (step 5). From there on no event has `P(S) > e^epsilon Q(S)`; and since L is at least "
            f"-{largest} (step 3), for epsilon below that the best event is everything, of probability 1 under both."
        ),
        check=Check.INEQUALITY,
        how=(f"`{times_d(slope)} - L(x) >= 0`: {formulas.on_plane(below_largest)}.",),
    )


def envelope(formulas: Formulas) -> Step:
    """delta increases with d and decreases with epsilon; its rates are simple."""
    region = regions.losses(formulas.noise.loss_slope)
    value = symbolic(formulas.profile, region.epsilon, region.d)

    def rate_in_d(m: Arithmetic, eps: Value, d: Value) -> Value:
        return formulas.density(m, d - formulas.threshold(m, eps, d))

    def rate_in_epsilon(m: Arithmetic, eps: Value, d: Value) -> Value:
        return -m.exp(eps) * formulas.cdf(m, -formulas.threshold(m, eps, d))

    outcomes = [
        proofs.zero(region.derivative(value, variable) - symbolic(rate, region.epsilon, region.d))
        for variable, rate in (("d", rate_in_d), ("epsilon", rate_in_epsilon))
    ]
    t, d, epsilon, delta = notation.t, notation.d, notation.epsilon, notation.profile(notation.epsilon, notation.d)
    falling = -sympy.exp(epsilon) * notation.distribution(-t)
    return Step(
        name="envelope",
        statement=(
            Statement(
                relation=sympy.Eq(sympy.Derivative(delta, d), notation.density(d - t), evaluate=False), where=region.words
            ),
            Statement(relation=sympy.Eq(sympy.Derivative(delta, epsilon), falling, evaluate=False), where=region.words),
        ),
        explanation=(
            "`f > 0` and `F > 0`, so delta strictly increases with d, which makes neighbours that are the full sensitivity "
            "apart the worst ones, and strictly decreases with epsilon: each of the two is determined by the other and delta."
        ),
        check=Check.DIFFERENTIATION,
        how=(
            f"`d delta/d d - f(d - t) = 0`: {told(outcomes[0], region)}.",
            f"`d delta/d epsilon + e^epsilon F(-t) = 0`: {told(outcomes[1], region)}.",
        ),
    )


def _unbounded() -> Step:
    positive = sympy.Gt(notation.profile(notation.epsilon), 0, evaluate=False)
    return Step(
        name="range",
        statement=(Statement(relation=positive, where="for every real `epsilon`"),),
        explanation=(
            "The privacy loss is unbounded, since it takes every real value (step 5); from where it is `epsilon + 1` on it "
            "stays above epsilon (step 4), on a half line of positive probability: no finite epsilon gives `delta = 0`."
        ),
        check=Check.DEDUCTION,
        how=("`L(t) = epsilon` was proved for every real epsilon, with a real t (step 5).",),
    )


def _profile_is(value: sympy.Expr) -> sympy.Eq:
    return sympy.Eq(notation.profile(notation.epsilon), value, evaluate=False)
