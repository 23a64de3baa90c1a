"""A density between two of its kinks, where it is smooth: integrals in a variable that smooths roots at an end, and the
places and boxes on which something is proved of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sympy
from flint import acb, arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.enclose.effort import spend
from dpverify.enclose.integral import integral
from dpverify.mechanisms._density_text import X
from dpverify.mechanisms._density_tree import Function, compiled

_LARGEST_DEGREE = 12
_BOXES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The density between two kinks, with every |.| written out; an end of None is infinite."""

    low: fmpq | None
    high: fmpq | None
    body: sympy.Expr
    log_slope: sympy.Expr
    slope: Function
    """(log f)' as a function."""
    bend: Function
    """(log f)'' as a function."""

    @property
    def smooth(self) -> tuple[Smoothed | None, Smoothed | None]:
        """The piece in a variable that smooths the roots at its low and at its high end, where there are any."""
        return _smoothed_at(self, self.low, 1), _smoothed_at(self, self.high, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoothed:
    """A piece in the variable t, x = kink +- t^degree."""

    kink: fmpq
    side: int
    degree: int
    function: Function
    """The density times |dx/dt|."""

    def integral(self, low: arb, high: arb, order: int, within: arb) -> arb:
        """The integral of x^order times the density over [low, high]."""
        kink = arb(self.kink)
        far = (high - kink) if self.side > 0 else (kink - low)
        near = (low - kink) if self.side > 0 else (kink - high)

        def integrand(m: Any, t: acb) -> acb:
            spend()
            value: acb = self.function(m, t)
            return value * (m.exact(self.kink) + self.side * t**self.degree) ** order if order else value

        root = arb(1) / self.degree
        ends = [arb(0) if not near > 0 else near**root, far**root]
        return integral(integrand, ends, within=within)


@lru_cache(maxsize=256)
def _smoothed_at(piece: Piece, end: fmpq | None, side: int) -> Smoothed | None:
    powers = [part for part in piece.body.atoms(sympy.Pow) if part.args[1].is_Rational and not part.args[1].is_Integer]
    degree = math.lcm(*(int(part.args[1].q) for part in powers)) if powers else 1
    if end is None or not 1 < degree <= _LARGEST_DEGREE:
        return None
    t = sympy.Symbol("t", positive=True)
    place = sympy.Rational(int(end.p), int(end.q)) + side * t**degree
    if not any(part.args[0].xreplace({X: place}).subs(t, 0) == 0 for part in powers):
        return None
    there = piece.body.xreplace(
        {part: sympy.powdenest(sympy.expand(part.args[0].xreplace({X: place})) ** part.args[1]) for part in powers}
    )
    body = there.xreplace({X: place}) * degree * t ** (degree - 1)
    return Smoothed(kink=end, side=side, degree=degree, function=compiled(body.xreplace({t: X})))


def is_positive_on(function: Function, low: arb, high: arb) -> bool:
    """Whether balls on boxes show function > 0 on [low, high]."""
    waiting, seen = [(low, high)], 0
    while waiting:
        left, right = waiting.pop()
        seen += 1
        if seen > _BOXES:
            return False
        value = function(BALLS, left.union(right))
        if value > 0:
            continue
        middle = ((left + right) / 2).mid()
        if function(BALLS, middle) <= 0 or not left < middle < right:
            return False
        waiting += [(left, middle), (middle, right)]
    return True


def places(piece: Piece) -> Iterator[sympy.Expr]:
    """x on the piece, in a positive symbol."""
    a = sympy.Symbol("a", positive=True)
    low, high = (None if end is None else sympy.Rational(int(end.p), int(end.q)) for end in (piece.low, piece.high))
    if low is None and high is None:
        yield a
        yield -a
    elif high is None:
        yield low + a
    elif low is None:
        yield high - a
    else:
        yield (low + high * a) / (1 + a)


def samples(piece: Piece) -> list[fmpq]:
    """Points of the piece where a counterexample is looked for."""
    low, high = piece.low, piece.high
    if low is not None and high is not None:
        return [low + (high - low) * fmpq(k, 16) for k in range(1, 16)]
    steps = [fmpq(k, 4) for k in range(1, 33)] + [fmpq(k) for k in (10, 15, 20, 40)]
    if low is not None:
        return [low + step for step in steps]
    if high is not None:
        return [high - step for step in steps]
    return [sign * step for step in steps for sign in (1, -1)]


def slope_at(piece: Piece, end: fmpq | None, side: int) -> arb:
    """The one-sided (log f)' at an end of the piece: written in the distance from it, so that its powers combine."""
    away = sympy.Symbol("a", positive=True)
    assert end is not None
    there = piece.log_slope.xreplace({X: sympy.Rational(int(end.p), int(end.q)) + side * away})
    found: arb = compiled(there.xreplace({away: X}))(BALLS, arb(0))
    return found
