"""Exact rationals and scaled integers as decimal text, with a stated rounding."""

from __future__ import annotations

from flint import fmpq, fmpz

from dpverify.arithmetic.exact import float_above, is_double
from dpverify.errors import shown

_POSITIONAL = range(-5, 21)
"""Powers of ten of the leading digit that are written out; others use scientific notation."""


def terminates(value: fmpq) -> bool:
    """Whether `value` has a finite decimal expansion."""
    rest = int(value.q)
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def brief(value: fmpq) -> str:
    """An exact number as a message shows it: as a decimal where 17 digits or a double are all of it, else as a fraction,
    which loses its middle where it is long."""
    if value == 0:
        return "0"
    power = _leading_power(abs(value)) - 16
    scaled = value / _ten(power)
    if scaled.q == 1:
        return written(int(scaled.p), power)
    return repr(float_above(value)) if is_double(value) else shown(value, str)


def below(value: fmpq, digits: int) -> str:
    """The largest decimal of `digits` significant digits that is <= value."""
    return _scaled(value, digits, upward=False)


def above(value: fmpq, digits: int) -> str:
    """The least decimal of `digits` significant digits that is >= value."""
    return _scaled(value, digits, upward=True)


def nearest(value: fmpq, digits: int) -> str:
    """`value` to `digits` significant digits, the last right to half a unit; trailing zeros are dropped."""
    if value == 0:
        return "0"
    power = _leading_power(abs(value)) - digits + 1
    return written(int((value / _ten(power) + fmpq(1, 2)).floor()), power)


def _scaled(value: fmpq, digits: int, *, upward: bool) -> str:
    if value == 0:
        return "0"
    power = _leading_power(abs(value)) - digits + 1
    scaled = value / _ten(power)
    return written(int(scaled.ceil() if upward else scaled.floor()), power)


def rounded(mantissa: int, power: int, digits: int, *, upward: bool) -> str:
    """mantissa * 10^power rounded outward to `digits` significant digits; `power` may be of any size."""
    excess = len(_digits(mantissa)) - digits
    if excess > 0:
        mantissa = -(-mantissa // 10**excess) if upward else mantissa // 10**excess
        power += excess
    return written(mantissa, power)


def written(mantissa: int, power: int) -> str:
    """mantissa * 10^power as text, positional where that is short, without trailing zeros."""
    if mantissa == 0:
        return "0"
    sign = "-" if mantissa < 0 else ""
    text = _digits(mantissa)
    kept = text.rstrip("0")
    power += len(text) - len(kept)
    leading = power + len(kept) - 1
    if leading not in _POSITIONAL:
        tail = f".{kept[1:]}" if len(kept) > 1 else ""
        return f"{sign}{kept[0]}{tail}e{leading}"
    if power >= 0:
        return sign + kept + "0" * power
    if leading >= 0:
        return f"{sign}{kept[: leading + 1]}.{kept[leading + 1 :]}"
    return f"{sign}0.{'0' * (-leading - 1)}{kept}"


def _digits(number: int) -> str:
    """The decimal digits of |number|. By flint, since Python refuses to write more than 4,300 of them."""
    return str(fmpz(abs(number)))


def _ten(power: int) -> fmpq:
    return fmpq(10**power) if power >= 0 else fmpq(1, 10**-power)


def _leading_power(value: fmpq) -> int:
    """The power of ten of the leading digit of a positive rational."""
    above, under = int(value.p), int(value.q)
    guess = int((above.bit_length() - under.bit_length()) * 0.30102999566398120)
    while _ten(guess) > value:
        guess -= 1
    while _ten(guess + 1) <= value:
        guess += 1
    return guess
