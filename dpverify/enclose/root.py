"""Certified roots of monotone functions: found by Newton steps that nobody need trust, proved by two signs.

The value is returned as a ball [x - r, x + r] such that the function was certainly below the target at one end and
certainly above at the other.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, fmpq

from dpverify.arithmetic.precision import working_precision
from dpverify.enclose.decide import LARGEST_PRECISION, is_above

Function = Callable[[arb], arb]

_STEPS = 40


def positive_root(
    value: Function, slope: Function, target: fmpq, *, increasing: bool, bits: int, start: float | None = None
) -> arb:
    """The x > 0 with value(x) = target, to a relative radius of 2^-bits.

    `value` must be positive and monotone on x > 0 in the stated direction; the certificate rests on that and on nothing
    else. `slope` (its derivative) and `start` only make it quick. Raises PrecisionError when signs stay undecided.
    """
    if start is not None and 0.0 < start < float("inf"):
        found = _newton(value, slope, target, arb(start), increasing, bits)
        if found is not None:
            return found
    low, high = _bracket(value, target, increasing)
    for tolerance in (8, 30):
        low, high = _bisect(value, target, increasing, low, high, tolerance)
        found = _newton(value, slope, target, ((low + high) / 2).mid(), increasing, bits)
        if found is not None:
            return found
    low, high = _bisect(value, target, increasing, low, high, bits + 1)
    with working_precision(2 * bits + 64):
        return low.union(high)


def _newton(value: Function, slope: Function, target: fmpq, x: arb, increasing: bool, bits: int) -> arb | None:
    """Newton's method on log value(x) - log target, then the certificate; None if it does not settle."""
    precision = bits + 40
    for _ in range(_STEPS):
        if precision > LARGEST_PRECISION:
            return None
        with working_precision(precision):
            level = arb(target)
            here = value(x)
            log_slope = slope(x) / here
            # The step is as accurate as `here` times this factor; without the bits, no step can be certified.
            steepness = abs(log_slope * x)
            lost = _lost_bits(here, steepness)
            if lost is None:
                precision *= 2
                continue
            if lost + bits + 4 > precision:
                precision = lost + bits + 40
                continue
            step = (here / level).log() / log_slope
            following = (x - step).mid()
            if not following > 0:
                return None
            x, settled = following, abs(step) < abs(x) * arb(2) ** -(bits // 2 + 6)
            if not settled:
                continue
            radius = (x * arb(2) ** -(bits + 1)).mid()
            low, high = (x - radius).mid(), (x + radius).mid()
            if _proved(value, level, low, high, increasing):
                return low.union(high)
            precision += 32
    return None


def _lost_bits(here: arb, steepness: arb) -> int | None:
    """How many of the working bits are lost in `value` and in dividing by its slope; None if all are."""
    accuracy = int(here.rel_accuracy_bits())
    if accuracy < 8 or not steepness > 0:
        return None
    flatness = max(0, -_exponent(steepness))
    from flint import ctx

    return int(ctx.prec) - accuracy + flatness


def _exponent(x: arb) -> int:
    mantissa, exponent = x.mid().man_exp()
    return int(exponent) + int(abs(mantissa)).bit_length()


def _proved(value: Function, level: arb, low: arb, high: arb, increasing: bool) -> bool:
    under, over = (low, high) if increasing else (high, low)
    return bool(value(under) < level) and bool(value(over) > level)


def _is_below_root(value: Function, target: fmpq, x: arb, increasing: bool) -> bool:
    """Whether x is certainly left of the root, at whatever precision it takes to be certain."""
    above = is_above(lambda: value(x), target, what=lambda: f"the function at x = {x.str(10)}")
    return above is not increasing


def _bracket(value: Function, target: fmpq, increasing: bool) -> tuple[arb, arb]:
    """Two probes around the root, a factor of two apart, by galloping."""
    exponent, stride = 0, 1
    left = _is_below_root(value, target, _probe(0), increasing)
    while True:
        following = exponent + (stride if left else -stride)
        if _is_below_root(value, target, _probe(following), increasing) is not left:
            low, high = sorted((exponent, following))
            break
        exponent, stride = following, 2 * stride
    while high - low > 1:
        middle = (low + high) // 2
        if _is_below_root(value, target, _probe(middle), increasing):
            low = middle
        else:
            high = middle
    return _probe(low), _probe(high)


_ODD = arb(0.7390851332151607)
"""Round numbers may be roots themselves, where no sign is ever certain; multiples of this are not."""


def _probe(exponent: int) -> arb:
    return _ODD * arb(2) ** exponent


def _bisect(value: Function, target: fmpq, increasing: bool, low: arb, high: arb, bits: int) -> tuple[arb, arb]:
    """Narrow a bracket until high - low <= low * 2^-bits."""
    with working_precision(2 * bits + 64):
        while high - low > low * arb(2) ** -bits:
            middle = ((low + high) / 2).mid()
            if _is_below_root(value, target, middle, increasing):
                low = middle
            else:
                high = middle
    return low, high
