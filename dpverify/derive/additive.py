"""The derivation of the privacy profile of additive, symmetric, log-concave noise: the order of the steps, and failure.

The chain follows S. Vinterbo, "Differential Privacy for Symmetric Log-Concave Mechanisms" (AISTATS 2022), Lemmas 1 and 2.
Each step is a function from the family's formulas to a `Step`; it raises `NotProved` where a check does not come out.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy
from sympy.polys.polyerrors import BasePolynomialError

from dpverify.arithmetic.symbols import SYMBOLS
from dpverify.derive import notation
from dpverify.derive.algebra import NotProved
from dpverify.derive.formulas import Formulas
from dpverify.derive.inversion import inversion, least_scale, scale
from dpverify.derive.law import density, distribution
from dpverify.derive.loss import half_line, monotone, privacy_loss, threshold
from dpverify.derive.profile import envelope, loss_range, profile
from dpverify.derive.protocol import NoiseFormulas
from dpverify.derive.steps import Derivation, Statement, Step
from dpverify.errors import DerivationError

_CHAIN: tuple[tuple[str, Callable[[Formulas], Step]], ...] = (
    ("density", density),
    ("cdf", distribution),
    ("privacy loss", privacy_loss),
    ("monotone likelihood ratio", monotone),
    ("threshold", threshold),
    ("half line", half_line),
    ("profile", profile),
    ("range", loss_range),
    ("envelope", envelope),
    ("inversion", inversion),
    ("scale", scale),
)

_SETTING = (
    "The mechanism releases the answer plus {scale} times X; X has the density f and is independent of the data.",
    "The answers on neighbouring datasets differ by at most the sensitivity, and may differ by that much.",
    "x, t and `d = sensitivity/{scale} > 0` are in units of the scale; epsilon is any real number, in nats.",
    "`delta(epsilon)` is the supremum of `P(S) - e^epsilon Q(S)` over all events S and all pairs of neighbours.",
)


def derive(noise: NoiseFormulas) -> Derivation:
    """The checked derivation for a family.

    Every step is proved exactly; DerivationError names the family, the step and what was left over if one is not.
    """
    formulas = Formulas(noise=noise)
    steps = tuple(_checked(noise.name, name, make, formulas) for name, make in _CHAIN)
    trusted = dict.fromkeys(sentence for step in steps for sentence in step.assumptions)
    return Derivation(
        mechanism=noise.name,
        scale_name=noise.scale_name,
        assumptions=(*(sentence.format(scale=noise.scale_name) for sentence in _SETTING), *trusted),
        steps=steps,
        formula=noise.profile(SYMBOLS, notation.epsilon, notation.d),
        profile=tuple(_pieces(steps)),
        scale=least_scale(formulas),
    )


def _pieces(steps: tuple[Step, ...]) -> list[Statement]:
    """The statements that say what delta(epsilon) is, from the steps that settle it."""
    settled = [statement for step in steps if step.name in ("profile", "range") for statement in step.statement]
    value = notation.profile(notation.epsilon)
    return [statement for statement in settled if isinstance(statement.relation, sympy.Eq) and statement.relation.lhs == value]


def _checked(family: str, name: str, make: Callable[[Formulas], Step], formulas: Formulas) -> Step:
    try:
        return make(formulas)
    except NotProved as finding:
        what = str(finding)
    except BasePolynomialError as error:
        what = f"what is left is no rational function ({error})"
    except NotImplementedError:
        what = "the family states no formula for it"
    raise DerivationError(f"{family}: the step {name!r} is not proved: {what}; correct the formulas that {family} states.")
