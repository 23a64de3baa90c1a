"""Plain floating-point starting points for the Gaussian, through the Mills ratio. Only speed depends on them.

With a = eps/d - d/2, b = eps/d + d/2 and the Mills ratio R(x) = (1 - Phi(x))/phi(x):
delta = phi(a) (R(a) - R(b)), since e^eps phi(b) = phi(a); and d(delta)/dd = phi(a).
"""

from __future__ import annotations

import math

_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)
_ROOT_HALF_PI = math.sqrt(math.pi / 2)
_STEPS = 60
_FAR = 25.0
"""Beyond this e^{x^2/2} erfc(x/sqrt 2) nears overflow, and a short continued fraction is accurate."""


def shift(eps: float, log_delta: float) -> float | None:
    """The d at which delta(eps) = e^log_delta, by Newton's method on log delta; None if it does not settle."""
    tail = math.sqrt(max(0.0, -2 * log_delta))
    d = 2 * eps / (math.sqrt(tail * tail + 2 * eps) + tail) if eps > 0 else 0.0
    d = max(d, math.exp(log_delta)) or math.ulp(0.0)
    for _ in range(_STEPS):
        gap = _gap(eps, d)
        step = (_log_phi(eps / d - d / 2) + math.log(gap) - log_delta) * gap
        d = d - step if step < d / 2 else d / 2
        if abs(step) <= 1e-9 * d:
            return d
    return None


def epsilon(log_delta: float, d: float) -> float | None:
    """The eps at which delta(eps) = e^log_delta, by Newton's method on log delta; None if it does not settle."""
    eps = d * (d / 2 + math.sqrt(max(0.0, -2 * log_delta)))
    for _ in range(_STEPS):
        gap = _gap(eps, d)
        step = (_log_phi(eps / d - d / 2) + math.log(gap) - log_delta) * gap / _mills(eps / d + d / 2)
        eps = eps + step if eps + step > 0 else eps / 2
        if abs(step) <= 1e-9 * eps:
            return eps
    return None


def _log_phi(x: float) -> float:
    return -0.5 * x * x - _LOG_ROOT_2PI


def _gap(eps: float, d: float) -> float:
    """R(a) - R(b): by subtraction, or for close a and b by the derivative R'(c) = c R(c) - 1 at their middle."""
    middle = eps / d
    if d < 1e-4 * (1 + middle):
        return d * _complement(middle)
    return _mills(middle - d / 2) - _mills(middle + d / 2)


def _mills(x: float) -> float:
    if x < _FAR:
        return _ROOT_HALF_PI * math.exp(x * x / 2) * math.erfc(x / math.sqrt(2))
    return 1.0 / (x + _fraction(x))


def _complement(x: float) -> float:
    """1 - x R(x) without cancellation, for x >= 0."""
    if x < _FAR:
        return 1.0 - x * _mills(x)
    tail = _fraction(x)
    return tail / (x + tail)


def _fraction(x: float) -> float:
    """The continued fraction 1/(x + 2/(x + 3/(x + ...))), for x >= _FAR."""
    value = x
    for k in range(9, 0, -1):
        value = x + k / value
    return value - x
