"""Evaluate at rising precision until the digits asked for are guaranteed."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.precision import working_precision
from dpverify.enclose.effort import limited_effort
from dpverify.errors import InputError, PrecisionError

BITS_PER_DIGIT = 3.3219280948873626
LARGEST_DIGITS = 10_000
_GUARD = 24
"""Bits beyond the digits: they keep a straddled double, and with it a second evaluation, rare."""


def check_digits(digits: int) -> int:
    """`digits` as it is, or an InputError."""
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= LARGEST_DIGITS:
        raise InputError(f"digits = {digits!r}: ask for a whole number of digits from 1 to {LARGEST_DIGITS}.")
    return digits


def goal_bits(digits: int) -> int:
    """The relative accuracy, in bits, that guarantees `digits` digits and, as a rule, the safe double."""
    return max(int(digits * BITS_PER_DIGIT) + 4, 54 + _GUARD)


def enclose(
    evaluate: Callable[[int], arb | fmpq],
    digits: int,
    *,
    what: Callable[[], str],
    within: tuple[int, int] | None = None,
    attempts: int | None = None,
) -> Enclosure:
    """The value of `evaluate` to `digits` guaranteed digits, with a decided least double above it.

    `evaluate(bits)` runs at working precision `bits` + guard and returns a ball that contains the value, or the exact
    value (+infinity included). `within` is a closed interval that is known to contain it (a probability lies in (0, 1)).
    `attempts`: how often a value with the digits may be evaluated anew for the sake of the least double; None: until it is
    decided. Where values may be doubles exactly and no precision shows it, it should be given; `decides_upper` then says how
    it came out.
    Raises PrecisionError, naming `what()`, when precision runs out or the effort is spent (`enclose.effort`).
    """
    with limited_effort(digits=digits):
        return _enclosed(evaluate, digits, what, within, attempts)


def _enclosed(
    evaluate: Callable[[int], arb | fmpq],
    digits: int,
    what: Callable[[], str],
    within: tuple[int, int] | None,
    attempts: int | None,
) -> Enclosure:
    bits = goal_bits(digits)
    needed = int(digits * BITS_PER_DIGIT) + 2
    largest = 30_000 + 8 * bits
    reached = 0
    good: Enclosure | None = None
    while bits <= largest:
        with working_precision(bits + 16):
            try:
                value = evaluate(bits)
            except PrecisionError:
                if good is None:
                    raise
                return good
            if isinstance(value, arb) and value.is_exact() and _is_moderate(value):
                value = value.fmpq()
            if isinstance(value, fmpq):
                return Enclosure(value, digits=digits)
            if value == arb.pos_inf():
                return Enclosure.infinity(digits=digits)
            enclosure = Enclosure(value, digits=digits, within=within)
            accuracy = int(value.rel_accuracy_bits())
            if accuracy >= needed:
                if enclosure.decides_upper or attempts == 0:
                    return enclosure
                if attempts is not None:
                    good, attempts = enclosure, attempts - 1
        reached = max(reached, int(accuracy / BITS_PER_DIGIT))
        bits = max(2 * bits, bits + needed - accuracy) if accuracy > -bits else 2 * bits
    raise PrecisionError(
        f"{what()}: {reached} of {digits} digits were reached at {largest} bits of working precision; "
        "ask for fewer digits, or move the request away from the extreme.",
        reached=reached,
    )


def _is_moderate(value: arb) -> bool:
    """Whether an exact ball is small enough to be written as a fraction."""
    return bool(value == 0) or bool(arb(2) ** -2000 < abs(value) < arb(2) ** 2000)
