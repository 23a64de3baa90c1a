"""Intervals of decimals, rounded outward, and the functions of the kernel on them.

Each operation runs once rounding down and once rounding up, in `decimal` contexts of the given number of digits. `decimal`
rounds + - * / correctly in either direction; its exp, ln and sqrt are correct to half a unit in the last place whatever the
direction, so their results are moved one further unit outward. What is not in `decimal` is computed here, with its error bound
proved in the docstring. Nothing knows about terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from functools import lru_cache
from typing import TYPE_CHECKING

from dpverify.prove.kernel.terms import Rejected

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

ZERO, ONE = Decimal(0), Decimal(1)
LARGEST_ARGUMENT = Decimal(100_000)


def _context(digits: int, rounding: str) -> Context:
    return Context(
        prec=digits, rounding=rounding, Emin=-99_999_999, Emax=99_999_999, traps=[InvalidOperation, DivisionByZero, Overflow]
    )


@dataclass(frozen=True, slots=True)
class Interval:
    """All reals from `low` to `high`."""

    low: Decimal
    high: Decimal

    def __contains__(self, value: Decimal) -> bool:
        return self.low <= value <= self.high


class Arithmetic:
    """Interval arithmetic with a fixed number of decimal digits. Raises Rejected where a function is not defined."""

    __slots__ = ("digits", "down", "up")

    def __init__(self, digits: int) -> None:
        self.digits = digits
        self.down = _context(digits, ROUND_FLOOR)
        self.up = _context(digits, ROUND_CEILING)

    def exact(self, value: Fraction) -> Interval:
        above, below = Decimal(value.numerator), Decimal(value.denominator)
        return Interval(self.down.divide(above, below), self.up.divide(above, below))

    def add(self, a: Interval, b: Interval) -> Interval:
        return Interval(self.down.add(a.low, b.low), self.up.add(a.high, b.high))

    def negate(self, a: Interval) -> Interval:
        return Interval(a.high.copy_negate(), a.low.copy_negate())

    def multiply(self, a: Interval, b: Interval) -> Interval:
        if a.low >= 0 and b.low >= 0:
            return Interval(self.down.multiply(a.low, b.low), self.up.multiply(a.high, b.high))
        ends = [(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        return Interval(min(self.down.multiply(x, y) for x, y in ends), max(self.up.multiply(x, y) for x, y in ends))

    def divide(self, a: Interval, b: Interval) -> Interval:
        if b.low <= 0 <= b.high:
            raise Rejected("division by an interval that holds zero")
        return self.multiply(a, Interval(self.down.divide(ONE, b.high), self.up.divide(ONE, b.low)))

    def power(self, a: Interval, exponent: int) -> Interval:
        """Integer powers; an even power of an interval around zero starts at 0."""
        if exponent < 0:
            return self.divide(Interval(ONE, ONE), self.power(a, -exponent))
        if a.low < 0 and exponent % 2 == 0:
            a = Interval(max(ZERO, a.low, a.high.copy_negate()), max(a.low.copy_negate(), a.high))
        result = Interval(ONE, ONE)
        while exponent:
            if exponent % 2:
                result = self.multiply(result, a)
            a, exponent = self.multiply(a, a), exponent // 2
        return result

    def _outward(self, function: Callable[[Context, Decimal], Decimal], a: Interval) -> Interval:
        """An increasing function of `decimal`, whose error is below one unit in the last place, at both ends."""
        return Interval(self.down.next_minus(function(self.down, a.low)), self.up.next_plus(function(self.up, a.high)))

    def exp(self, a: Interval) -> Interval:
        if max(a.low.copy_abs(), a.high.copy_abs()) > LARGEST_ARGUMENT:
            raise Rejected("exp of a number beyond 100000")
        result = self._outward(Context.exp, a)
        return Interval(max(ZERO, result.low), result.high)

    def log(self, a: Interval) -> Interval:
        if a.low <= 0:
            raise Rejected("log of an interval that is not positive")
        return self._outward(Context.ln, a)

    def sqrt(self, a: Interval) -> Interval:
        if a.low < 0:
            raise Rejected("sqrt of an interval that reaches below zero")
        result = self._outward(Context.sqrt, a)
        return Interval(max(ZERO, result.low), result.high)

    def gamma(self, a: Interval) -> Interval:
        """Gamma(a) at a point a > 0 (an interval that holds one rational)."""
        return gamma(a, self.digits)

    def pi(self) -> Interval:
        """Gamma(1/2)^2."""
        half = Interval(Decimal("0.5"), Decimal("0.5"))
        return self.power(gamma(half, self.digits), 2)

    def upper_gamma(self, a: Interval, x: Interval) -> Interval:
        """Q(a, x) = Gamma(a, x)/Gamma(a), which falls with x, so that each end of `x` gives one end."""
        if x.low < 0:
            raise Rejected("gammaq of an interval that reaches below zero")
        low, high = upper_gamma(a, x.high, self.digits), upper_gamma(a, x.low, self.digits)
        return Interval(max(ZERO, low.low), min(ONE, high.high))

    def normal_cdf(self, x: Interval) -> Interval:
        """Phi, an increasing function, at both ends."""
        return Interval(self._normal_cdf_at(x.low).low, self._normal_cdf_at(x.high).high)

    def _normal_cdf_at(self, x: Decimal) -> Interval:
        """Phi(-y) = Q(1/2, y^2/2)/2 for y >= 0, and Phi(y) = 1 - Phi(-y)."""
        half = Interval(Decimal("0.5"), Decimal("0.5"))
        point = Interval(x.copy_abs(), x.copy_abs())
        tail = self.multiply(half, self.upper_gamma(half, self.multiply(half, self.multiply(point, point))))
        return tail if x <= 0 else self.add(Interval(ONE, ONE), self.negate(tail))

    def binomial_tail(self, m: int, k: int, a: Interval) -> Interval:
        """P(Binomial(m, a) >= k) = sum_{j >= k} C(m, j) a^j (1 - a)^(m - j).

        It increases with a, so that each end of `a` gives one end. The terms are non-negative: sums lose nothing.
        """
        if a.low < 0 or a.high > 1:
            raise Rejected("tail of something that is no probability")
        return Interval(self._tail_at(m, k, a.low).low, min(ONE, self._tail_at(m, k, a.high).high))

    def _tail_at(self, m: int, k: int, a: Decimal) -> Interval:
        if a in (0, 1):  # every trial fails or every trial succeeds
            certain = ONE if k <= 0 or (a == 1 and k <= m) else ZERO
            return Interval(certain, certain)
        success = Interval(a, a)
        failure = self.add(Interval(ONE, ONE), self.negate(success))
        odds = self.divide(success, failure)
        term, total = self.power(failure, m), Interval(ZERO, ZERO)
        for j in range(m + 1):
            if j >= k:
                total = self.add(total, term)
            ratio = self.divide(Interval(Decimal(m - j), Decimal(m - j)), Interval(Decimal(j + 1), Decimal(j + 1)))
            term = self.multiply(self.multiply(term, odds), ratio)
        return total


def _series(a: Interval, x: Decimal, digits: int) -> Interval:
    """S = sum_{n >= 0} x^n / (a (a+1) ... (a+n)), so that the lower incomplete gamma function is x^a e^-x S.

    All terms are positive, so the partial sum rounded down is a lower bound. After term n the ratio of neighbours is at most
    r = x/(a+n+1); as soon as r <= 1/2 what is left out is at most the term itself (r/(1-r) <= 1), and it is added on top.
    """
    down, up = _context(digits, ROUND_FLOOR), _context(digits, ROUND_CEILING)
    term_low, term_high = down.divide(ONE, a.high), up.divide(ONE, a.low)
    low, high, n = term_low, term_high, 0
    tolerance = Decimal(1).scaleb(-digits)
    while True:
        n += 1
        term_low = down.divide(down.multiply(term_low, x), up.add(a.high, Decimal(n)))
        term_high = up.divide(up.multiply(term_high, x), down.add(a.low, Decimal(n)))
        low, high = down.add(low, term_low), up.add(high, term_high)
        if up.multiply(x, Decimal(2)) <= n and term_high <= up.multiply(high, tolerance):
            return Interval(low, up.add(high, term_high))


def _prefactor(a: Interval, x: Decimal, arithmetic: Arithmetic) -> Interval:
    """x^a e^-x for x > 0."""
    point = Interval(x, x)
    exponent = arithmetic.add(arithmetic.multiply(a, arithmetic.log(point)), arithmetic.negate(point))
    return arithmetic.exp(exponent)


def _tail_factor(a: Interval, x: Decimal, arithmetic: Arithmetic) -> Interval:
    """Bounds c with Gamma(a, x) = c x^a e^-x, for x > max(a - 1, 0).

    Gamma(a, x) = x^(a-1) e^-x I with I = int_0^inf (1 + s/x)^(a-1) e^-s ds. From 0 <= log(1 + s/x) <= s/x the integrand lies
    between e^-s and e^(-s (1 - (a-1)/x)), in this order for a >= 1 and in the other for a < 1, so that I lies between 1 and
    x/(x + 1 - a).
    """
    one = Interval(ONE, ONE)
    point = Interval(x, x)
    ends = (
        arithmetic.divide(one, point),
        arithmetic.divide(one, arithmetic.add(point, arithmetic.add(one, arithmetic.negate(a)))),
    )
    return Interval(min(end.low for end in ends), max(end.high for end in ends))


@lru_cache(maxsize=256)
def gamma(a: Interval, digits: int) -> Interval:
    """Gamma(a) = lower(a, N) + Gamma(a, N), with N so large that the second part, bounded by `_tail_factor`, hardly matters."""
    if a.low <= 0 or a.high > 1000:
        raise Rejected("gamma is offered for arguments above 0 and up to 1000")
    arithmetic = Arithmetic(digits + 10)
    split = Decimal(int(3 * digits + 3 * a.high + 20))
    rest = _tail_factor(a, split, arithmetic)
    whole = arithmetic.add(_series(a, split, digits + 10), Interval(ZERO, max(ZERO, rest.high)))
    return arithmetic.multiply(_prefactor(a, split, arithmetic), whole)


@lru_cache(maxsize=4096)
def upper_gamma(a: Interval, x: Decimal, digits: int) -> Interval:
    """Q(a, x) at a point x >= 0: 1 - x^a e^-x S/Gamma(a), or beyond x = 600 the bounds of `_tail_factor`.

    Subtracting from 1 costs about x/log(10) digits, which are added to the working precision beforehand.
    """
    if a.low <= 0 or a.high > 1000:
        raise Rejected("gammaq is offered for orders above 0 and up to 1000")
    if x == 0:
        return Interval(ONE, ONE)
    large = x > 600 and x > 2 * a.high
    arithmetic = Arithmetic(digits + 20 + (0 if large else int(x) // 2))
    scaled = arithmetic.divide(_prefactor(a, x, arithmetic), gamma(a, arithmetic.digits))
    if large:
        return arithmetic.multiply(scaled, _tail_factor(a, x, arithmetic))
    lower = arithmetic.multiply(scaled, _series(a, x, arithmetic.digits))
    return arithmetic.add(Interval(ONE, ONE), arithmetic.negate(lower))
