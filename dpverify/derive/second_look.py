"""Defence in depth: what has been proved by symbols is evaluated once more, by Arb balls at random rational points.

The formulas are the very same (the residual is written against the arithmetic interface), the machinery is another one.
A disagreement is an error; agreement is recorded beside the proof and never counts as one. Kind: *heuristic*.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.arithmetic.precision import working_precision
from dpverify.derive.algebra import NotProved

Point = tuple[fmpq, ...]

_POINTS = 8
_BITS = 256
_RADIUS_BITS = 100
_SEED = 2022


def lines() -> Iterator[Point]:
    """Points (x,)."""
    return ((_between(draw, -6, 6),) for draw in _draws())


def planes() -> Iterator[Point]:
    """Points (x, d), d > 0."""
    return ((_between(draw, -6, 6), _between(draw, 0, 4)) for draw in _draws())


def losses(slope: int | None) -> Iterator[Point]:
    """Points (epsilon, d) with d > 0 and, where the loss is bounded, |epsilon| < slope d."""
    for draw in _draws():
        d = _between(draw, 0, 4)
        yield _between(draw, -1, 1) * (d * slope if slope is not None else 6), d


def requests() -> Iterator[Point]:
    """Points (epsilon, delta) that a bound can be asked for."""
    return ((_between(draw, 0, 5), _between(draw, 0, 1)) for draw in _draws())


def vanishes(residual: Callable[..., Value], points: Iterator[Point]) -> str:
    """Evaluate `residual(m, *point)` on balls; each must contain 0 and be narrow. Returns a sentence; raises NotProved."""
    count = 0
    with working_precision(_BITS):
        for count, point in enumerate(points, start=1):  # noqa: B007 - the last count is what is reported
            ball = residual(BALLS, *map(arb, point))
            if not (ball.contains(0) and ball.rad() < arb(2) ** -_RADIUS_BITS):
                where = ", ".join(map(str, point))
                raise NotProved(f"the residual is {ball.str(10)} at the point ({where})")
    return f"Arb balls of radius below `2^(-{_RADIUS_BITS})` contain 0 at {count} random rational points."


def accumulates(cdf: Callable[[Arithmetic, Value], Value], density: Callable[[Arithmetic, Value], Value]) -> str:
    """Check h f(x + h) < F(x + h) - F(x) < h f(x) on balls, for x > 0, h > 0 and a density that falls there."""
    count = 0
    with working_precision(_BITS):
        for count, draw in enumerate(_draws(), start=1):  # noqa: B007 - the last count is what is reported
            x, h = arb(_between(draw, 0, 6)), arb(_between(draw, 0, 1)) / 16
            gain = cdf(BALLS, x + h) - cdf(BALLS, x)
            if not h * density(BALLS, x + h) < gain < h * density(BALLS, x):
                raise NotProved(f"F gains {gain.str(10)} from x = {x.str(10)} to x + {h.str(10)}: no mean of f there")
    return f"Arb balls certify `h f(x + h) < F(x + h) - F(x) < h f(x)` at {count} random points `x, h > 0`."


def _draws() -> Iterator[random.Random]:
    draw = random.Random(_SEED)
    return (draw for _ in range(_POINTS))


def _between(draw: random.Random, low: int, high: int) -> fmpq:
    """A rational strictly between, never 0."""
    steps = 2 * 499 + 1  # odd, so that the middle of a symmetric interval is not hit
    return fmpq(low) + fmpq(high - low) * fmpq(draw.randrange(1, steps), steps)
