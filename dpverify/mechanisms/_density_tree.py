"""SymPy expressions as functions on numbers: an explicit walk of the tree, which rounds nothing that the arithmetic does not.

`compiled` runs on any arithmetic that offers exp, log, sqrt, abs, power, atan and normal_cdf (balls, complex balls, mpmath).
`range_beyond` evaluates on [start, infinity), with ends that may be infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
from flint import arb, fmpq

from dpverify.errors import InputError
from dpverify.mechanisms._density_text import X

SHIFT = sympy.Symbol("d", positive=True)
"""The distance d that the noise is moved by."""

Function = Callable[[Any, Any], Any]
"""f(m, x)."""


def compiled(expression: sympy.Expr) -> Function:
    """The expression, which must be known (`_density_text.require_known`), as a function of the arithmetic and of x; where it
    contains SHIFT too, of the arithmetic and of (x, d)."""
    if expression == X:
        return lambda m, x: x[0] if type(x) is tuple else x
    if expression == SHIFT:
        return lambda m, x: x[1]
    if expression.is_Rational:
        number = fmpq(int(expression.p), int(expression.q))
        return lambda m, x: m.exact(number)
    if expression == sympy.pi:
        return lambda m, x: m.pi()
    if expression == sympy.E:
        return lambda m, x: m.exp(m.rational(1))
    parts = [compiled(part) for part in expression.args]
    if expression.is_Add:
        return lambda m, x: _folded([part(m, x) for part in parts], lambda a, b: a + b)
    if expression.is_Mul:
        return lambda m, x: _folded([part(m, x) for part in parts], lambda a, b: a * b)
    if isinstance(expression, sympy.exp):
        return lambda m, x: m.exp(parts[0](m, x))
    if expression.is_Pow:
        return _power(expression, parts)
    known = _FUNCTIONS.get(expression.func)
    if known is None:
        raise InputError(f"density: {expression.func.__name__} is not known here.")
    return lambda m, x: known(m, parts[0](m, x))


def _power(expression: sympy.Expr, parts: list[Function]) -> Function:
    exponent = expression.args[1]
    if exponent.is_Integer:
        power = int(exponent)
        return lambda m, x: _integer_power(parts[0](m, x), power)
    if exponent.has(X):  # a^b = e^(b log a)
        return lambda m, x: m.exp(parts[1](m, x) * m.log(parts[0](m, x)))
    return lambda m, x: m.power(parts[0](m, x), parts[1](m, x))


def _integer_power(x: Any, power: int) -> Any:
    if isinstance(x, arb) and power > 0 and x.mid() == 0:  # a ball around 0 has no power in Arb's own view
        largest = x.abs_upper() ** power if x != 0 else arb(0)
        return largest.union(arb(0) if power % 2 == 0 else -largest)
    return x**power


def _folded(values: list[Any], join: Callable[[Any, Any], Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = join(total, value)
    return total


_FUNCTIONS: dict[Any, Callable[[Any, Any], Any]] = {
    sympy.log: lambda m, x: m.log(x),
    sympy.Abs: lambda m, x: m.abs(x),
    sympy.cosh: lambda m, x: (m.exp(x) + m.exp(-x)) / 2,
    sympy.sinh: lambda m, x: (m.exp(x) - m.exp(-x)) / 2,
    sympy.tanh: lambda m, x: 1 - 2 / (1 + m.exp(2 * x)),
    sympy.sech: lambda m, x: 2 / (m.exp(x) + m.exp(-x)),
    sympy.atan: lambda m, x: m.atan(x),
    sympy.erfc: lambda m, x: 2 * m.normal_cdf(-x * m.sqrt(m.rational(2))),
    sympy.erf: lambda m, x: 1 - 2 * m.normal_cdf(-x * m.sqrt(m.rational(2))),
    sympy.gamma: lambda m, x: m.gamma(x),
}


# On [start, infinity).


class Unbounded(Exception):
    """An expression of the form infinity - infinity, 0/0 or the like."""


Interval = tuple[arb, arb]
"""Closed, of extended reals: the ends are exact or infinite balls."""

_INFINITY = arb.pos_inf()


def range_beyond(expression: sympy.Expr, start: arb) -> Interval:
    """An interval that holds the values of the expression at all x >= start. Raises Unbounded."""
    if expression == X:
        return start.lower(), _INFINITY
    if not expression.has(X):
        from dpverify.arithmetic.balls import BALLS

        value = compiled(expression)(BALLS, None)
        return _checked(value.lower(), value.upper())
    inner = [range_beyond(part, start) for part in expression.args]
    if expression.is_Add:
        return _checked(_folded([low for low, _ in inner], lambda a, b: a + b).lower(),
                        _folded([high for _, high in inner], lambda a, b: a + b).upper())  # fmt: skip
    if expression.is_Mul:
        whole: Interval = _folded(inner, _product)
        return whole
    if isinstance(expression, sympy.exp):
        return _monotone(inner[0], lambda x: x.exp(), arb(0), _INFINITY)
    if expression.is_Pow:
        return _interval_power(inner[0], expression.args[1])
    if isinstance(expression, sympy.Abs):
        return _size(inner[0])
    if isinstance(expression, sympy.tanh):
        return _monotone(inner[0], lambda x: x.tanh(), arb(-1), arb(1))
    if isinstance(expression, sympy.sinh):
        return _monotone(inner[0], lambda x: x.sinh(), -_INFINITY, _INFINITY)
    if isinstance(expression, sympy.log):
        if not inner[0][0] > 0:
            raise Unbounded
        return _monotone(inner[0], lambda x: x.log(), -_INFINITY, _INFINITY)
    if isinstance(expression, sympy.atan):
        return _monotone(inner[0], lambda x: x.atan(), -arb.pi() / 2, arb.pi() / 2)
    if isinstance(expression, sympy.cosh):
        return _monotone(_size(inner[0]), lambda x: x.cosh(), arb(1), _INFINITY)
    if isinstance(expression, sympy.sech):
        low, high = _monotone(_size(inner[0]), lambda x: -x.sech(), arb(-1), arb(0))
        return -high, -low
    raise Unbounded


def _checked(low: arb, high: arb) -> Interval:
    if low.is_nan() or high.is_nan():
        raise Unbounded
    return low, high


def _monotone(inside: Interval, function: Callable[[arb], arb], least: arb, most: arb) -> Interval:
    """The image under an increasing function, whose limits at -infinity and infinity are `least` and `most`."""
    low, high = inside
    return _checked(
        (function(low) if low.is_finite() else least if low < 0 else most).lower(),
        (function(high) if high.is_finite() else most if high > 0 else least).upper(),
    )


def _size(inside: Interval) -> Interval:
    low, high = inside
    if low >= 0:
        return low, high
    if high <= 0:
        return -high, -low
    return arb(0), high.max(-low)


def _product(left: Interval, right: Interval) -> Interval:
    """Of finite numbers, so that 0 times an end at infinity is 0."""
    ends = [arb(0) if a == 0 or b == 0 else a * b for a in left for b in right]
    low, high = ends[0].lower(), ends[0].upper()
    for end in ends[1:]:
        low, high = low.min(end.lower()), high.max(end.upper())
    return _checked(low, high)


def _interval_power(inside: Interval, exponent: sympy.Expr) -> Interval:
    if exponent.has(X):
        raise Unbounded
    from dpverify.arithmetic.balls import BALLS

    if exponent.is_Integer and int(exponent) % 2 == 0:
        inside = _size(inside)
    if exponent.is_Integer and int(exponent) > 0:
        power = int(exponent)
        return _monotone(inside, lambda x: x**power, -_INFINITY, _INFINITY)
    low, high = inside
    if exponent.is_Integer and high < 0:  # an odd negative power
        back, front = _interval_power((-high, -low), exponent)
        return -front, -back
    if low < 0:
        raise Unbounded
    power_value = compiled(exponent)(BALLS, None)
    if power_value > 0:
        return _monotone(inside, lambda x: arb(0) if x == 0 else x**power_value, arb(0), _INFINITY)
    if not power_value < 0:
        raise Unbounded
    falling = _monotone(inside, lambda x: -_INFINITY if x == 0 else -(x**power_value), -_INFINITY, arb(0))
    return -falling[1], -falling[0]
