"""Profiles of noise with a stated density by mpmath: another quadrature and another root search, without a certificate."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from flint import arb

from dpverify.arithmetic.precision import working_precision
from dpverify.mechanisms._density import Density

_STEPS = 400


def total(m: Any, law: Density) -> Any:
    """The integral of f."""
    store: dict[tuple[str, int], Any] = law.__dict__.setdefault("_store_of_second_opinion", {})
    key = ("total", m.context.dps)
    if key not in store:
        store[key] = _quad(m, law, None, None)
    return store[key]


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
    inner = {m.exact(kink) for kink in (*law.kinks, law.middle)}
    if any(tail.rate is None for tail in law.right_tails):  # a power falls as much from 1 to 16 as from there to 256
        farthest = max(m.abs(end) for end in (low, high, m.rational(1)) if not m.context.isinf(end))
        inner |= {start + side * m.rational(16**k) for k in range(_cuts(m, farthest)) for side in (1, -1)}
    points = [low, *sorted(point for point in inner if low < point < high), high]
    return sum((_between(m, law, *ends) for ends in pairwise(points)), m.rational(0))


def _cuts(m: Any, farthest: Any) -> int:
    return max(0, int(m.context.mag(farthest)) // 4 + 1)


def _between(m: Any, law: Density, low: Any, high: Any) -> Any:
    """The integral between two kinks, of f over a height of it: the quadrature knows absolute errors alone. An infinite piece
    is measured by how far out it starts."""
    context = m.context
    if context.isinf(high) or context.isinf(low):
        start, side = (low, 1) if context.isinf(high) else (high, -1)
        width = max(m.rational(1), m.abs(start))
        height = law.value(m, start + side * width)
        return context.quad(lambda t: law.value(m, start + side * width * t) / height, [0, context.inf]) * height * width
    height = max(law.value(m, place) for place in (low, (low + high) / 2, high)) or m.rational(1)
    return context.quad(lambda x: law.value(m, x) / height, [low, high]) * height


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
    """Where the loss exceeds eps. For a log-concave density by bisection; else from the certified search, the ends of which are
    then found anew."""

    def gap(x: Any) -> Any:
        m.count()
        return law.log_value(m, x - d) - law.log_value(m, x) - eps

    if law.is_log_concave:
        return [(_threshold(m, law, gap, d), None)]
    from dpverify.mechanisms._density_profile import intervals

    with working_precision(m.context.prec):  # at rising precision, so that a stretch that was not decided shows
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
