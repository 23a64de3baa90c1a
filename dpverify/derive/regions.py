"""Coordinates in which a formula with a kink has none, and in which every variable is a positive or a free symbol.

A region is a piece of the domain that is written through symbols of known sign. A statement about all x is proved
region by region; the regions of one family cover the domain up to their common borders, and continuity (checked in the
first step of a derivation) carries an inequality or an identity over to the borders.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import sympy

from dpverify.derive import notation

_x = sympy.Symbol("x", real=True)
_d = sympy.Symbol("d", positive=True)
_eps = sympy.Symbol("epsilon", real=True)
_a, _b, _y = (sympy.Symbol(name, positive=True) for name in "aby")

Rates = dict[sympy.Symbol, sympy.Expr]
"""How fast each symbol of a region moves when one variable of the formula moves and the others stand still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A piece of the domain; the variables that a step needs are expressions in the region's symbols."""

    words: str
    """Which piece, with formulas in back quotes."""
    x: sympy.Expr = None
    epsilon: sympy.Expr = None
    delta: sympy.Expr = None
    d: sympy.Expr = None
    along: dict[str, Rates] = field(default_factory=dict)
    back: dict[sympy.Symbol, sympy.Expr] = field(default_factory=dict)
    """What the symbols of the region are in terms of the variables."""

    def derivative(self, expression: sympy.Expr, variable: str) -> sympy.Expr:
        """The partial derivative by "x", "epsilon" or "d" of an expression in the region's symbols."""
        return sympy.Add(*(rate * sympy.diff(expression, symbol) for symbol, rate in self.along[variable].items()))


LINE = (Region(words="for every real `x`", x=_x, along={"x": {_x: sympy.Integer(1)}}, back={_x: notation.x}),)
"""All x at once."""

POSITIVE_HALF = Region(words="for `x > 0`", x=_a, along={"x": {_a: sympy.Integer(1)}}, back={_a: notation.x})

HALVES = (POSITIVE_HALF, Region(words="for `x < 0`", x=-_a, along={"x": {_a: sympy.Integer(-1)}}, back={_a: -notation.x}))
"""The line, broken at 0, where a symmetric density may have its kink."""

PLANE = (
    Region(
        words="for every real `x`",
        x=_x,
        d=_d,
        along={"x": {_x: sympy.Integer(1)}},
        back={_x: notation.x, _d: notation.d},
    ),
)
"""All x and all d > 0 at once."""

STRIPS = (
    Region(
        words="for `x > d`",
        x=_d + _a,
        d=_d,
        along={"x": {_a: sympy.Integer(1)}},
        back={_a: notation.x - notation.d, _d: notation.d},
    ),
    Region(
        words="for `0 < x < d`",
        x=_a,
        d=_a + _b,
        along={"x": {_a: sympy.Integer(1), _b: sympy.Integer(-1)}},
        back={_a: notation.x, _b: notation.d - notation.x},
    ),
    Region(
        words="for `x < 0`",
        x=-_a,
        d=_d,
        along={"x": {_a: sympy.Integer(-1)}},
        back={_a: -notation.x, _d: notation.d},
    ),
)
"""All x and all d > 0, broken where x or x - d is 0."""

REQUESTS = Region(
    words="for `epsilon >= 0` and `0 < delta < 1`",
    epsilon=sympy.Symbol("epsilon", nonnegative=True),
    delta=_y / (1 + _y),
    d=_d,
    back={_y: notation.delta / (1 - notation.delta)},
)
"""What a bound can be asked for."""


def losses(slope: int | None) -> Region:
    """The epsilons at which the threshold is finite: all of them, or, where the loss is bounded, |epsilon| < slope d.

    In the second case a = (slope d + epsilon)/2 and b = (slope d - epsilon)/2 are the two positive coordinates.
    """
    if slope is None:
        one = sympy.Integer(1)
        return Region(words="for every real `epsilon`", epsilon=_eps, d=_d, along={"epsilon": {_eps: one}, "d": {_d: one}})
    half = sympy.Rational(1, 2)
    return Region(
        words=f"for `|epsilon| < {times_d(slope)}`",
        epsilon=_a - _b,
        d=(_a + _b) / slope,
        along={"epsilon": {_a: half, _b: -half}, "d": {_a: half * slope, _b: half * slope}},
        back={_a: half * (slope * notation.d + notation.epsilon), _b: half * (slope * notation.d - notation.epsilon)},
    )


def positive_losses(slope: int | None) -> Region:
    """The same for epsilon > 0: there `slope d - epsilon = 2 b` and epsilon are positive coordinates."""
    eps = sympy.Symbol("epsilon", positive=True)
    if slope is None:
        return Region(words="for every `epsilon > 0`", epsilon=eps, d=_d)
    return Region(
        words=f"for `0 < epsilon < {times_d(slope)}`",
        epsilon=eps,
        d=(eps + 2 * _b) / slope,
        back={_b: sympy.Rational(1, 2) * (slope * notation.d - notation.epsilon)},
    )


def times_d(slope: int) -> str:
    """`slope d` as it is written."""
    return "d" if slope == 1 else f"{slope} d"
