"""Profiles of noise with a stated density by mpmath: another quadrature and another root search, without a certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb

from dpverify.arithmetic.precision import working_precision
from dpverify.mechanisms._density import Density

_STEPS = 400


def total(m: Any, law: Density) -> Any:
    """The integral of f."""
    return _quad(m, law, None, None)


def profile(m: Any, law: Density, eps: Any, d: Any) -> Any:
    """The larger of both orders of the pair at eps >= 0."""
    values = [_one_order(m, side, eps, d) for side in ((law,) if law.is_even else (law, law.mirrored))]
    return max(values)


def _one_order(m: Any, law: Density, eps: Any, d: Any) -> Any:
    whole = total(m, law)
    value = m.rational(0)
    for low, high in _event(m, law, eps, d):
        p = _quad(m, law, low - d, None if high is None else high - d)
        q = _quad(m, law, low, high)
        value += (p - m.exp(eps) * q) / whole
    return value


def _quad(m: Any, law: Density, low: Any, high: Any) -> Any:
    """The integral of f from low to high (None: as far as the support goes)."""
    start = m.exact(law.middle)
    if low is None:
        low = -_reach(m, law.mirrored, -start) if law.low is None else m.exact(law.low)
    elif law.low is not None:
        low = max(low, m.exact(law.low))
    if high is None:
        high = _reach(m, law, max(low, start)) if law.high is None else m.exact(law.high)
    elif law.high is not None:
        high = min(high, m.exact(law.high))
    if low >= high:
        return m.rational(0)
    inner = [m.exact(kink) for kink in (*law.kinks, law.middle)]
    points = [low, *sorted(point for point in inner if low < point < high), high]
    return m.context.quad(lambda x: law.value(m, x), points)


def _reach(m: Any, law: Density, start: Any) -> Any:
    """Where to stop: a point right of which the density is negligible beside what it is at `start`; infinity where it falls
    like a power. Exponentials further out could fill the memory."""
    if any(tail.rate is None for tail in law.right_tails):
        return m.context.inf
    goal = law.log_value(m, start) - (m.context.dps + 30) * m.log(m.rational(10))
    step = m.rational(1)
    while law.log_value(m, start + step) > goal:
        step *= m.rational(5, 4)
    return start + step


def _event(m: Any, law: Density, eps: Any, d: Any) -> list[tuple[Any, Any]]:
    """Where the loss exceeds eps. For a log-concave density by bisection; else from the certified search at low precision, the
    ends of which are then found anew."""

    def gap(x: Any) -> Any:
        return law.log_value(m, x - d) - law.log_value(m, x) - eps

    if law.is_log_concave:
        return [(_threshold(m, law, gap, d), None)]
    from dpverify.mechanisms._density_profile import intervals

    with working_precision(64):
        region = intervals(law, arb(m.context.nstr(eps, 25)), arb(m.context.nstr(d, 25)))
    found = []
    for low, high in region.intervals:
        ends = [None if end is None else m.context.mpf(end.str(20, radius=False)) for end in (low, high)]
        found.append(tuple(None if end is None else _polished(m, gap, end) for end in ends))
    return found  # type: ignore[return-value]


def _polished(m: Any, gap: Callable[[Any], Any], start: Any) -> Any:
    """A root of the gap near `start`, or `start` where there is none (an end of the support)."""
    try:
        root = m.context.findroot(gap, (start, start + abs(start) * m.context.mpf(10) ** -12), solver="secant", verify=False)
    except (ValueError, ZeroDivisionError, TypeError):
        return start
    return root if abs(root - start) < abs(start) * m.context.mpf(10) ** -6 else start


def _threshold(m: Any, law: Density, gap: Callable[[Any], Any], d: Any) -> Any:
    """The point where the non-decreasing gap passes 0, or the end of the common support towards which it does not."""
    low = None if law.low is None else m.exact(law.low) + d
    high = None if law.high is None else m.exact(law.high)
    if low is not None and high is not None and low >= high:
        return low
    start = m.exact(law.middle) + d / 2 if low is None or high is None else (low + high) / 2
    left, right, step = (start if low is None else low), (start if high is None else high), m.rational(1)
    while low is None and gap(left) >= 0:
        left, step = left - step, 2 * step
    step = m.rational(1)
    while high is None and gap(right) <= 0:
        right, step = right + step, 2 * step
    for _ in range(_STEPS):
        middle = (left + right) / 2
        if not left < middle < right or right - left <= abs(middle) * m.context.eps:
            break
        left, right = (left, middle) if gap(middle) > 0 else (middle, right)
    return (left + right) / 2
