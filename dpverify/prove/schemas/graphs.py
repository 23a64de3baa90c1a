"""How far the algebraic connectivity of a graph moves when edges change."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpverify.prove.kernel.statements import Range, Relation
from dpverify.prove.kernel.terms import Rejected, call, substitute
from dpverify.prove.schemas.parts import ONE, REAL, ZERO, Data, Schema, cited, forall, obligation
from dpverify.prove.schemas.reading import exact

if TYPE_CHECKING:
    from dpverify.prove.kernel.certificate import Obligation

TWO, THREE = Fraction(2), Fraction(3)


def _edges(data: Data) -> tuple[Obligation, ...]:
    data.fields("edges")
    table = data.part("edges", "bound", "vertices")
    data.reader.require_free(("du", "dv", "k", "a", "m", "b"))
    bound, vertices = data.reader.term(table["bound"]), exact(table["vertices"])
    if vertices.denominator != 1 or vertices < 4:
        raise Rejected("at least four vertices are needed")
    from_one = Range(ONE)
    others = call("+", call("-", "du", ONE), call("-", "dv", ONE), ONE)
    degrees = forall(
        {"du": from_one, "dv": from_one, "k": from_one}, "<=", call("+", "du", "dv"), bound, Relation("<=", others, "k")
    )
    path = call("+", call("^", call("-", "a", "m"), TWO), call("^", call("-", "b", "m"), TWO))
    length = call("+", *(call("^", name, TWO) for name in ("a", "m", "b")))
    values = dict.fromkeys(("a", "m", "b"), REAL)
    rest = call("-", call("*", THREE, length), path)
    squares = call("+", call("^", call("+", "a", "m", "b"), TWO), call("^", call("-", "a", "b"), TWO))
    at = {"a": ONE, "m": -TWO, "b": ONE}
    attained = call("-", vertices, call("/", substitute(path, at), substitute(length, at)))
    return (
        cited(1, "Weyl: adding a graph Laplacian moves lambda_2 by at most its largest eigenvalue"),
        cited(2, "Anderson & Morley: the largest Laplacian eigenvalue is at most the largest d_u + d_v over edges uv"),
        obligation("degrees of one edge", degrees),
        obligation("what the path takes is at most 3", forall(values, "=", rest, squares)),
        obligation("and 3 at one vector", forall({}, "=", attained, vertices - THREE)),
        obligation("which sums to 0", forall({}, "=", call("+", *at.values()), ZERO)),
        obligation("the bound at two edges", forall({}, "=", substitute(bound, {"k": TWO}), THREE)),
    )


EDGES = Schema(
    build=_edges,
    states=lambda data: (
        "Changing k edges of a graph moves lambda_2 of its Laplacian by at most {bound}; on {vertices} vertices and for k = 2 "
        "that is attained, by removing two adjacent edges, those of one vertex, from the complete graph.".format_map(
            data.table["edges"]
        )
    ),
    argument="""\
lambda_2 moves by at most the largest eigenvalue of the Laplacian of the changed edges (cited), which is at most the largest
sum of the degrees of two of its neighbours (cited). Over an edge uv of a graph with k edges only uv is counted twice. The
Laplacian of the complete graph on n vertices is n |x|^2 on vectors that sum to 0. Removing the path subtracts (a - m)^2 +
(b - m)^2, which is 3 (a^2 + m^2 + b^2) less two squares, and equal to it at a = b = 1, m = -2: so lambda_2 falls from n to
n - 3.""",
)
