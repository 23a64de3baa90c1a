"""The second opinion on discrete Gaussian noise: plain sums in mpmath, added term by term. No certificate.

Only for sums of moderately many terms; a larger request is refused by name.
"""

from __future__ import annotations

import math
from typing import Any

from flint import fmpq
from mpmath import mpf

from dpverify.arithmetic.exact import float_above
from dpverify.arithmetic.multiprecision import MultiprecisionArithmetic
from dpverify.enclose.effort import limited_effort
from dpverify.enclose.second_opinion import counted, positive_root, settled
from dpverify.errors import PrecisionError

_MOST_TERMS = 4_000
_TERMS_AS_EXPONENTIAL = 4
"""How many terms, each a few products, cost as much as an exponential."""

_STEP = 1.02
"""The least sigma is looked for from below in steps of this factor: a dip of delta narrower than that may be missed."""

_COARSE_DIGITS = 25
_HALVES = 40
"""Where delta falls steeply, only a narrow bracket is nearly straight."""


def delta(noise: Any, eps: fmpq, digits: int) -> mpf:
    """delta(eps) to about `digits` digits."""
    pair = noise.pair()
    return settled(lambda m: _profile(m, pair.v, pair.shift, eps), digits, what=f"delta of {noise!r}")


def epsilon(noise: Any, exact_delta: fmpq, digits: int) -> mpf:
    """The least epsilon >= 0 to about `digits` digits."""
    pair = noise.pair()

    def value(m: MultiprecisionArithmetic) -> Any:
        level = m.exact(exact_delta)
        if _profile(m, pair.v, pair.shift, fmpq(0)) <= level:
            return m.rational(0)
        return positive_root(m, lambda eps: _profile(m, pair.v, pair.shift, _exactly(eps)), level, increasing=False)

    return settled(value, digits, what=f"epsilon of {noise!r}")


def scale(noise: Any, eps: fmpq, exact_delta: fmpq, sensitivity: fmpq, digits: int) -> mpf:
    """The least sigma to about `digits` digits."""
    with limited_effort(digits=digits):
        return _scale(eps, exact_delta, int(sensitivity.p), digits)


def _scale(eps: fmpq, exact_delta: fmpq, d: int, digits: int) -> mpf:
    coarse = counted(_COARSE_DIGITS)

    def violates(m: MultiprecisionArithmetic, sigma: fmpq) -> bool:
        return bool(_profile(m, sigma * sigma, d, eps) > m.exact(exact_delta))

    high = fmpq(d, 8)
    while not violates(coarse, high):
        high /= 2
    step = fmpq(*_STEP.as_integer_ratio())
    while violates(coarse, high):
        low, high = high, fmpq(*float_above(high * step).as_integer_ratio())
    for _ in range(_HALVES):
        middle = (low + high) / 2
        low, high = (middle, high) if violates(coarse, middle) else (low, middle)

    def value(m: MultiprecisionArithmetic) -> Any:
        def gap(sigma: mpf) -> Any:
            return _profile(m, _exactly(sigma) ** 2, d, eps) / m.exact(exact_delta) - 1

        return m.context.findroot(gap, (m.exact(low), m.exact(high)), solver="anderson", verify=False)

    return settled(value, digits, what="sigma")


def _exactly(value: mpf) -> fmpq:
    mantissa, exponent = value.man_exp
    return fmpq(int(mantissa)) * fmpq(2) ** int(exponent)


def _profile(m: MultiprecisionArithmetic, v: fmpq, d: int, eps: fmpq) -> Any:
    """The sum of max(0, P(x) - e^eps Q(x)) from the threshold on."""
    t = int((eps * v / d + fmpq(d, 2)).floor()) + 1
    whole = 2 * _sum_from(m, v, 1) + 1
    first = _sum_from(m, v, t - d) if t > d else whole - _sum_from(m, v, 1 - t + d)
    second = _sum_from(m, v, t) if t > 0 else whole - _sum_from(m, v, 1 - t)
    return (first - m.exp(m.exact(eps)) * second) / whole


def _sum_from(m: MultiprecisionArithmetic, v: fmpq, k: int) -> Any:
    """The sum of e^{-x^2/(2 v)} over x >= k >= 1, to the working precision relative to its first term."""
    terms = _terms(v, k, m.context.dps + 5)
    if not terms <= _MOST_TERMS:
        raise PrecisionError(
            f"the second opinion adds its sums term by term, and one at sigma^2 = {float_above(v):.3g} has more than "
            f"{_MOST_TERMS} terms; ask for fewer digits or a smaller sigma, or rely on the certified answer.",
            reached=0,
        )
    m.count(terms / _TERMS_AS_EXPONENTIAL)
    term = m.exp(m.exact(-(fmpq(k) ** 2) / (2 * v)))
    factor, step = m.exp(m.exact(-fmpq(2 * k + 1) / (2 * v))), m.exp(m.exact(-1 / v))
    total = term
    for _ in range(int(terms) + 2):
        term = term * factor
        total = total + term
        factor = factor * step
    return total


def _terms(v: fmpq, k: int, digits: int) -> float:
    """How many terms the sum from k on has to so many digits; infinity where floats do not reach so far."""
    try:
        start, reach = float(k), 2 * float_above(v) * digits * math.log(10)
    except OverflowError:
        return 1.0 if fmpq(k) > v * digits else math.inf
    return reach / (start + math.sqrt(start * start + reach)) if start * start < math.inf else 1.0
