"""Numbers as they come in: exact rationals.

An int, a Fraction, a Decimal, an exact SymPy number or text ("0.1", "1e-6", "1/3") is taken at its word; a float means
exactly that double. Everything becomes a `flint.fmpq`. No rounding happens here, except to a neighbouring double in
`float_above` and `float_below`, which say so in their names.
"""

from __future__ import annotations

import copyreg
import math
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from flint import fmpq, fmpz

from dpverify.errors import InputError, shown

if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction

Number: TypeAlias = "int | float | Fraction | Decimal | str | Any"
"""What a caller may hand in: int, float, Fraction, Decimal, text, or an exact SymPy or NumPy number."""

LARGEST_EXPONENT = 100_000
"""Text such as 1e-1000000000 would take gigabytes to hold exactly; beyond 10^+-100000 it is refused."""

_DECIMAL = re.compile(r"([+-]?)(\d+(?:_\d+)*)?(?:\.(\d*))?(?:[eE]([+-]?\d{1,19}))?", re.ASCII)
_FORMS = "write an integer, a decimal such as 0.1 or 1e-6, or a fraction such as 1/3"


def to_exact(value: Any, name: str) -> fmpq:
    """The exact rational value of `value` (a `Number`); `name` is what error messages call it.

    Raises InputError for text that is no number, NaN, infinities, booleans, inexact or irrational SymPy numbers.
    """
    kind = type(value)
    if kind is fmpq:
        return value
    if kind is int:
        return fmpq(value)
    if kind is float:
        if not math.isfinite(value):
            raise InputError(f"{name} = {shown(value, str)}: it must be a finite number; {_FORMS}.")
        return fmpq(*value.as_integer_ratio())
    if kind is str:
        return _from_text(value, name)
    return _from_object(value, name)


def _from_text(text: str, name: str) -> fmpq:
    above, slash, below = text.strip().partition("/")
    number = _from_decimal(above, text, name)
    if not slash:
        return number
    divisor = _from_decimal(below, text, name)
    if divisor == 0:
        raise InputError(f"{name} = {shown(text)}: division by zero; {_FORMS}.")
    return number / divisor


def _from_decimal(part: str, text: str, name: str) -> fmpq:
    match = _DECIMAL.fullmatch(part.strip())
    if match is None or not (match[2] or match[3]):
        raise InputError(f"{name} = {shown(text)}: this text is not a finite number; {_FORMS}.")
    sign, whole, decimals, exponent = match.groups(default="")
    if len(whole) + len(decimals) > LARGEST_EXPONENT:
        raise InputError(f"{name}: a number of {len(text)} characters is refused; shorten it to {LARGEST_EXPONENT} digits.")
    digits = fmpq(fmpz((whole + decimals).replace("_", "")))
    power = int(exponent or 0) - len(decimals)
    if abs(power) > LARGEST_EXPONENT:
        raise InputError(
            f"{name} = {shown(text)}: an exponent beyond 10^+-{LARGEST_EXPONENT} is refused; use a less extreme number."
        )
    scaled = digits * fmpq(10**power) if power >= 0 else digits / fmpq(10**-power)
    return -scaled if sign == "-" else scaled


def _from_object(value: Any, name: str) -> fmpq:
    if isinstance(value, bool) or value is None:
        raise InputError(f"{name} = {shown(value)}: a number is needed; {_FORMS}.")
    if getattr(value, "is_Float", False):
        raise InputError(
            f"{name} = {shown(value, str)}: a SymPy Float is not exact; pass sympy.Rational, a Python float or text."
        )
    if getattr(value, "is_finite", None) is False or _is_nan(value):
        raise InputError(f"{name} = {shown(value, str)}: it must be a finite number; {_FORMS}.")
    ratio = getattr(value, "as_integer_ratio", None)
    if ratio is None:
        return _from_other(value, name)
    try:
        above, below = ratio()
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        raise InputError(f"{name} = {shown(value)}: it must be a finite rational number ({error}); {_FORMS}.") from None
    return fmpq(int(above), int(below))


def _is_nan(value: Any) -> bool:
    try:
        return bool(value != value)
    except (TypeError, ValueError, ArithmeticError):
        return True


def _from_other(value: Any, name: str) -> fmpq:
    """Objects without as_integer_ratio: NumPy integers, flint integers and mpmath numbers."""
    if hasattr(value, "__index__"):
        try:
            return fmpq(value.__index__())
        except TypeError:  # a NumPy array has the method, whatever it holds
            raise InputError(f"{name} = {shown(value)}: one number is needed, not {type(value).__name__}; {_FORMS}.") from None
    if hasattr(value, "_mpf_") and hasattr(value, "man_exp"):
        mantissa, exponent = value.man_exp
        if not math.isfinite(value):
            raise InputError(f"{name} = {shown(value, str)}: it must be a finite number; {_FORMS}.")
        return fmpq(int(mantissa)) * fmpq(2) ** int(exponent)
    if getattr(value, "is_Rational", False):
        return fmpq(int(value.p), int(value.q))
    if hasattr(value, "exact_upper"):
        raise InputError(
            f"{name} = {shown(value)}: an enclosure is two numbers; give its .upper or its .lower, whichever side is safe."
        )
    raise InputError(f"{name} = {shown(value)}: a rational number is needed, not {type(value).__name__}; {_FORMS}.")


_LARGEST_POWER = 1 << 21
"""Bits of a rational power beyond which no number that `to_exact` lets in can equal it."""


def rational_power(base: fmpq, exponent: fmpq) -> fmpq | None:
    """base^exponent where that is a rational number (base > 0), else None.

    Also None where it has more than two million bits: no number that is handed in is equal to it.
    """
    power, degree = int(exponent.p), int(exponent.q)
    above, below = _root(base.p, degree), _root(base.q, degree)
    if above is None or below is None:
        return None
    if power * max(int(above).bit_length(), int(below).bit_length()) > _LARGEST_POWER and not above == below == 1:
        return None
    root = fmpq(above, below)
    return root**power if power >= 0 else 1 / root**-power


def _root(number: fmpz, degree: int) -> fmpz | None:
    """The whole number whose `degree`-th power is `number` >= 1, if there is one."""
    if number == 1 or degree == 1:
        return number
    if degree >= int(number).bit_length():
        return None
    root = number.root(degree)
    return root if root**degree == number else None


def float_above(value: fmpq) -> float:
    """The least double that is >= `value` (inf beyond the largest double)."""
    try:
        nearest = int(value.p) / int(value.q)
    except OverflowError:
        return math.inf if value > 0 else -math.nextafter(math.inf, 0)
    return nearest if fmpq(*nearest.as_integer_ratio()) >= value else math.nextafter(nearest, math.inf)


def float_below(value: fmpq) -> float:
    """The largest double that is <= `value` (-inf below the most negative double)."""
    return -float_above(-value) or 0.0


def is_double(value: fmpq) -> bool:
    """Whether a double holds `value` exactly."""
    return float_above(value) == float_below(value)


def _taken_apart(value: fmpq) -> tuple[Any, ...]:
    return fmpq, (int(value.p), int(value.q))


copyreg.pickle(fmpq, _taken_apart)  # flint leaves this out, and mechanisms travel between processes
