"""Plain floating-point starting points for the bounded Gaussian. Only speed depends on them.

With x = sqrt(theta), a shift c of a coordinate of length l gains
g(c) = x^2 c (2 l - c) + log[erf(l x) / (erf(c x) + erf((l - c) x))].
"""

from __future__ import annotations

import math
from collections.abc import Sequence

_STEPS = 30
_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_SMALL = 0.03
"""Up to this l x the logarithm is summed as a series: its terms would cancel."""


def at_shifts(lengths: Sequence[float], shifts: Sequence[float], epsilon: float) -> float:
    """The theta at which the gains of all coordinates add up to epsilon."""
    theta = epsilon / sum(c * (2 * length - c) for length, c in zip(lengths, shifts, strict=True))
    for _ in range(_STEPS):
        loss = slope = 0.0
        x = math.sqrt(theta)
        for length, c in zip(lengths, shifts, strict=True):
            value, pull = _gain(x, length, c)
            loss += value
            slope += pull
        step = math.log(loss / epsilon) * loss / slope
        theta = max(theta - step, theta / 8)
        if abs(step) <= 1e-9 * theta:
            break
    return theta


def over_ball(lengths: Sequence[float], radius_squared: float, epsilon: float) -> tuple[float, list[float], float]:
    """(theta, shifts, multiplier) at which the largest sum of gains over the ball is epsilon."""
    shifts = _scaled(lengths, lengths, radius_squared)
    theta = at_shifts(lengths, shifts, epsilon)
    multiplier = 0.0
    for _ in range(_STEPS):
        x = math.sqrt(theta)
        before = theta
        shifts, multiplier = _shared(x, lengths, shifts, radius_squared)
        theta = at_shifts(lengths, shifts, epsilon)
        if abs(theta - before) <= 1e-14 * theta:
            break
    return theta, shifts, multiplier


def _shared(x: float, lengths: Sequence[float], start: Sequence[float], radius_squared: float) -> tuple[list[float], float]:
    """Shifts with g'(c) = 2 mu c (or at their lengths, where the slope is still larger) and squares that add up, and mu."""
    shifts = list(start)
    mu = max(_slopes(x, length, c)[0] / (2 * c) for length, c in zip(lengths, shifts, strict=True) if c > 0)
    for _ in range(_STEPS):
        excess, pull, moves = -radius_squared, 0.0, []
        for k, (length, c) in enumerate(zip(lengths, shifts, strict=True)):
            slope, bend = _slopes(x, length, c)
            rest, stiff = slope - 2 * mu * c, bend - 2 * mu
            if c >= length and rest >= 0:
                excess += length * length
                continue
            moves.append((k, c - rest / stiff, 2 * c / stiff))
            excess += c * (c - 2 * rest / stiff)
            pull += 2 * c * (2 * c / stiff)
        if not pull:
            break
        change = -excess / pull
        change = max(change, -mu / 2)
        largest = abs(change) / mu
        for k, target, per_mu in moves:
            c = min(max(target + per_mu * change, shifts[k] / 8), lengths[k])
            largest = max(largest, abs(c - shifts[k]) / c)
            shifts[k] = c
        mu += change
        if largest <= 1e-13:
            break
    return _scaled(shifts, lengths, radius_squared), mu


def _scaled(shifts: Sequence[float], lengths: Sequence[float], radius_squared: float) -> list[float]:
    """The shifts times a factor that puts them on the sphere, each at most its length."""
    scaled = list(shifts)
    for _ in range(len(scaled)):
        held = sum(c * c for c, length in zip(scaled, lengths, strict=True) if c >= length)
        free = sum(c * c for c, length in zip(scaled, lengths, strict=True) if c < length)
        if not free or radius_squared <= held:
            factor = math.sqrt(radius_squared / (held + free)) if held + free > radius_squared else 1.0
            return [c * factor for c in scaled]
        factor = math.sqrt((radius_squared - held) / free)
        following = [c if c >= length else min(c * factor, length) for c, length in zip(scaled, lengths, strict=True)]
        if all(a < length or b >= length for a, b, length in zip(following, scaled, lengths, strict=True)):
            return following
        scaled = following
    return scaled


def _gain(x: float, length: float, c: float) -> tuple[float, float]:
    """g(c) and its derivative by theta."""
    rest = length - c
    drop = c * (2 * length - c)
    if length * x < _SMALL:
        # log[erf(l x)/(l x)] less log of the mean of the others, each 1 - y^2/3 + y^4/10 with y^2 = theta t^2.
        theta = x * x
        second = (length**3 - c**3 - rest**3) / (3 * length)
        fourth = (length**5 - c**5 - rest**5) / (10 * length)
        outer, inner = -theta * length**2 / 3, -theta * (c**3 + rest**3) / (3 * length)
        log = -theta * second + theta**2 * fourth - (outer * outer - inner * inner) / 2
        return theta * drop + log, drop + log / theta
    whole, parts = math.erf(length * x), math.erf(c * x) + math.erf(rest * x)
    slope = _TWO_OVER_ROOT_PI / (2 * x)
    log_slope = length * math.exp(-((length * x) ** 2)) / whole
    log_slope -= (c * math.exp(-((c * x) ** 2)) + rest * math.exp(-((rest * x) ** 2))) / parts
    return x * x * drop + math.log(whole / parts), drop + slope * log_slope


def _slopes(x: float, length: float, c: float) -> tuple[float, float]:
    """g'(c) and g''(c)."""
    t = length - c
    rate = x * _TWO_OVER_ROOT_PI
    near, far = math.exp(-((t * x) ** 2)), math.exp(-((c * x) ** 2))
    inner = math.erf(t * x) + math.erf(c * x)
    slope = (
        rate * near * -math.expm1(x * x * (t - c) * (t + c)) if t < c else rate * far * math.expm1(-x * x * (t - c) * (t + c))
    )
    slope /= inner
    bend = -rate * 2 * x * x * (t * near + c * far) / inner - slope * slope
    return 2 * x * x * t + slope, -2 * x * x - bend
