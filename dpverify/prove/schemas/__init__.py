"""Schemas: each turns an author's data into the obligations that imply a claim. They own the logic and belong to what must be
trusted.

A list of true statements does not imply a claim; why these obligations do is told in the `argument` of the schema. Standard
library only.
"""

from __future__ import annotations

from dpverify.prove.schemas import additive, arguments, events, finite, inequalities
from dpverify.prove.schemas.parts import Schema

SCHEMAS: dict[str, Schema] = {
    "privacy profile": additive.PROFILE,
    "calibration": additive.CALIBRATION,
    "event": events.EVENT,
    "counting event": events.COUNT,
    "finite mechanism": finite.FINITE,
    "argument": arguments.ARGUMENT,
    "exhibit": arguments.EXHIBIT,
    "refuting argument": arguments.REFUTATION,
    "inequality": inequalities.INEQUALITY,
    "counterexample": inequalities.COUNTEREXAMPLE,
}
