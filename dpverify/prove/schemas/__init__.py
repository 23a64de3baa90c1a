"""Schemas: each turns an author's data into the obligations that imply a claim. They own the logic and belong to what must be
trusted.

A list of true statements does not imply a claim; why these obligations do is told in the `argument` of the schema, and what
they imply is written by its `states`: no author's words stand between. Standard library only.
"""

from __future__ import annotations

from dpverify.prove.schemas import (
    accepted,
    accuracy,
    additive,
    bounded,
    criteria,
    events,
    exponents,
    finite,
    graphs,
    inequalities,
    logconcave,
    shapes,
    tails,
    variances,
)
from dpverify.prove.schemas.parts import Schema

SCHEMAS: dict[str, Schema] = {
    "half-line": logconcave.HALF_LINE,
    "scaling": logconcave.SCALING,
    "vanishing delta": logconcave.VANISHING,
    "pointwise": logconcave.POINTWISE,
    "privacy profile": additive.PROFILE,
    "sufficient condition": criteria.SUFFICIENT,
    "insufficient condition": criteria.INSUFFICIENT,
    "unneeded condition": criteria.UNNEEDED,
    "post-hoc bound": criteria.AFTERWARDS,
    "bounded exponent": exponents.BOUNDED,
    "bounded exponent, exhibited": exponents.EXHIBITED,
    "unbounded exponent": exponents.UNBOUNDED,
    "norm noise": exponents.NORM,
    "tail event": tails.TAIL,
    "expansion event": tails.EXPANSION,
    "dependence of the scale": tails.DEPENDENCE,
    "order of scales": tails.ORDERS,
    "shapes": shapes.SHAPES,
    "sum over coordinates": shapes.SUMS,
    "noise moved to the bounds": bounded.MOVED,
    "truncated Gaussian": bounded.GAUSSIAN,
    "truncated Gaussian in a box": bounded.BALL,
    "variance that is accepted": accepted.ACCEPTED,
    "truncated noise at its edge": bounded.EDGE,
    "truncated generalized Gaussian": bounded.ORDER,
    "variance comparison": variances.COMPARISON,
    "variance reversal": variances.REVERSAL,
    "printed variance": variances.PRINTED,
    "truncated Gaussian error": accuracy.ERRORS,
    "projected Gaussian, more accurate": accuracy.PROJECTION,
    "projected Gaussian, less accurate": accuracy.BOUNDED_BETTER,
    "order against the Gaussian": accuracy.ORDER,
    "loose variance": accuracy.LOOSE,
    "edges of a graph": graphs.EDGES,
    "event": events.EVENT,
    "counting event": events.COUNT,
    "finite mechanism": finite.FINITE,
    "inequality": inequalities.INEQUALITY,
    "counterexample": inequalities.COUNTEREXAMPLE,
}
