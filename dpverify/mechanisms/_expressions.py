"""The formula behind an answer as plain text, made by running the family's formulas on text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import fmpq

from dpverify.arithmetic.text import TEXT, Text

if TYPE_CHECKING:
    from dpverify.mechanisms._additive import AdditiveNoise

_EPS, _DELTA, _D = Text("epsilon"), Text("delta"), Text("d")


def of(family: type[AdditiveNoise], solved: str) -> str:
    """`solved` is "epsilon", "delta" or the name of the scale."""
    scale = family.scale_name
    noise = family(**{parameter.name: fmpq(1) for parameter in family.parameters})
    where = f"d = sensitivity/{scale}"
    profile = noise.profile(TEXT, _EPS, _D)
    if solved == "delta":
        if noise.loss_slope is None:
            return f"{profile} with {where}"
        limit = noise.loss_slope * _D
        return f"0 if epsilon >= {limit}; 1 - exp(epsilon) if epsilon <= -{limit}; else {profile}; with {where}"
    if solved == "epsilon":
        closed = noise.epsilon_for(TEXT, _DELTA, _D)
        if closed is not None:
            return f"max(0, {closed}) with {where}"
        return f"the least epsilon >= 0 with {profile} <= delta, {where}"
    closed = noise.shift_for(TEXT, _EPS, _DELTA)
    if closed is not None:
        return str(Text("sensitivity") / closed)
    return f"the {scale} with {profile} = delta, {where}"
