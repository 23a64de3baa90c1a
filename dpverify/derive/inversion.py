"""Steps 10 and 11: from (epsilon, delta) back to the shift or epsilon, and from the shift to the scale."""

from __future__ import annotations

import sympy

from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.arithmetic.symbols import SYMBOLS
from dpverify.derive import notation, proofs, regions, second_look
from dpverify.derive.formulas import Formulas, symbolic, told
from dpverify.derive.notation import NOTATION
from dpverify.derive.regions import REQUESTS, times_d
from dpverify.derive.steps import Check, Statement, Step

_BELOW = "for `d > 0` and `0 < delta < delta(0)`"


def inversion(formulas: Formulas) -> Step:
    """The shift and epsilon at which delta is a given number: in closed form where the family states one."""
    has_shift = formulas.noise.shift_for(SYMBOLS, REQUESTS.epsilon, REQUESTS.delta) is not None
    has_epsilon = formulas.noise.epsilon_for(SYMBOLS, REQUESTS.delta, REQUESTS.d) is not None
    for_d = _closed_shift(formulas) if has_shift else _root_in_d()
    for_epsilon = _closed_epsilon(formulas) if has_epsilon else _root_in_epsilon()
    return Step(
        name="inversion",
        statement=(for_d[0], for_epsilon[0]),
        explanation=(
            "For a given epsilon one d has the profile delta, and for a given d one epsilon does, because delta is strictly "
            "monotone in both (step 9)" + ("." if has_shift and has_epsilon else "; where no formula is stated, it is a root.")
        ),
        check=Check.IDENTITY if has_shift or has_epsilon else Check.DEDUCTION,
        how=(*for_d[1], *for_epsilon[1]),
        also=_look_at_inverse(formulas) if has_shift else "",
    )


def scale(formulas: Formulas) -> Step:
    """s = sensitivity / d."""
    name, sensitivity = sympy.Symbol(formulas.noise.scale_name), notation.sensitivity
    statements = [Statement(relation=sympy.Eq(name, sensitivity / notation.d, evaluate=False))]
    slope = formulas.noise.loss_slope
    if slope is not None:
        pure = slope * sensitivity / notation.epsilon
        statements.append(Statement(relation=sympy.Eq(name, pure, evaluate=False), where="for `epsilon > 0` and `delta = 0`"))
    closed = least_scale(formulas)
    if closed is not None:
        statements.append(Statement(relation=sympy.Eq(name, closed, evaluate=False), where=REQUESTS.words))
    return Step(
        name="scale",
        statement=tuple(statements),
        explanation=(
            "An output `y = s x` of the noise `s X` has the loss `L(x)` with `d = sensitivity/s`, so the profile depends on "
            "the two through d only; it increases with d, so the least s that satisfies `(epsilon, delta)` belongs to the d of "
            "step 10" + ("." if slope is None else f", or, for `delta = 0`, to `{times_d(slope)} = epsilon` (step 8).")
        ),
        check=Check.DEDUCTION,
        how=(
            "By substitution: at `y` the density of `s X` is `f(y/s)/s`, so the loss between this noise about the sensitivity "
            "and about 0 is `log f(x - d) - log f(x)` with `x = y/s`.",
        ),
    )


def least_scale(formulas: Formulas) -> sympy.Expr | None:
    """sensitivity / d in the symbols epsilon, delta and sensitivity, or None where there is no closed form."""
    shift = formulas.noise.shift_for(NOTATION, notation.epsilon, notation.delta)
    return None if shift is None else notation.sensitivity / shift


def _closed_shift(formulas: Formulas) -> tuple[Statement, list[str]]:
    region, slope = REQUESTS, formulas.noise.loss_slope
    shift = symbolic(formulas.noise.shift_for, region.epsilon, region.delta)
    proofs.defined(shift)
    margin = shift if slope is None else slope * shift - region.epsilon
    inside = proofs.nonnegative(margin, strictly=True)
    outcome = proofs.zero(symbolic(formulas.profile, region.epsilon, shift) - region.delta)
    condition = "d > 0" if slope is None else f"{times_d(slope)} - epsilon > 0"
    stated = formulas.noise.shift_for(NOTATION, notation.epsilon, notation.delta)
    return Statement(relation=sympy.Eq(notation.d, stated, evaluate=False), where=region.words), [
        f"`{condition}`, so that step 7 applies: {told(inside, region)}.",
        f"`delta(epsilon, d) - delta = 0` at this d: {told(outcome, region)}.",
    ]


def _closed_epsilon(formulas: Formulas) -> tuple[Statement, list[str]]:
    request, losses = REQUESTS, regions.positive_losses(formulas.noise.loss_slope)
    there = symbolic(formulas.noise.epsilon_for, request.delta, request.d)
    forth = proofs.zero(symbolic(formulas.profile, there, request.d) - request.delta)
    attained = symbolic(formulas.profile, losses.epsilon, losses.d)
    back = symbolic(formulas.noise.epsilon_for, attained, losses.d)
    proofs.defined(back)
    outcome = proofs.zero(back - losses.epsilon)
    stated = formulas.noise.epsilon_for(NOTATION, notation.delta, notation.d)
    return Statement(relation=sympy.Eq(notation.epsilon, stated, evaluate=False), where=_BELOW), [
        f"The formula for epsilon, at `delta = delta(e, d)`, gives `e`: {told(outcome, losses)}; every delta between 0 and "
        "`delta(0)` is such a value, so this also decides between the branches of any root in it.",
        f"`delta(epsilon, d) - delta = 0` at this epsilon: {forth.told(request.back)}, for `d > 0` and `0 < delta < 1`, "
        "wherever that epsilon is real.",
    ]


def _root_in_d() -> tuple[Statement, list[str]]:
    where = f"for exactly one `d > 0`, {REQUESTS.words.replace('for', 'given', 1)}"
    return Statement(relation=_attained(), where=where), [
        "A root d exists, because delta changes by at most `f(0)` per unit of d: `delta(epsilon) <= delta(0) = 2 F(d/2) - 1 <= "
        "d f(0)` is small for small d, and the event `x > d/2` shows `delta(epsilon) >= 1 - (1 + e^epsilon) F(-d/2)`, which is "
        "near 1 for large d (step 2). It is unique by step 9."
    ]


def _root_in_epsilon() -> tuple[Statement, list[str]]:
    where = f"for exactly one `epsilon > 0`, {_BELOW.replace('for', 'given', 1)}"
    return Statement(relation=_attained(), where=where), [
        "A root epsilon exists: `delta(epsilon)` falls continuously from `delta(0)`, and `delta(epsilon) <= P(L > epsilon)`, "
        "which falls to 0 because L is finite everywhere. It is unique by step 9."
    ]


def _attained() -> sympy.Eq:
    return sympy.Eq(notation.profile(notation.epsilon, notation.d), notation.delta, evaluate=False)


def _look_at_inverse(formulas: Formulas) -> str:
    def miss(m: Arithmetic, eps: Value, delta: Value) -> Value:
        return formulas.profile(m, eps, formulas.noise.shift_for(m, eps, delta)) - delta

    return second_look.vanishes(miss, second_look.requests())
