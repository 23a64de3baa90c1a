"""Sums c_1 e^{a_1} + ... + c_n e^{a_n} with rational c and a: numbers whose sign can be decided, ties included.

By the theorem of Lindemann and Weierstrass, exponentials of distinct rationals are linearly independent over the rationals.
So such a sum is 0 only if all its coefficients are, once equal exponents are joined; otherwise precision enough shows its
sign. Two such sums have a rational quotient only if their coefficients are proportional.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flint import arb, fmpq

from dpverify.arithmetic.precision import working_precision
from dpverify.errors import PrecisionError

LARGEST_PRECISION = 1 << 18


class ExponentialSum:
    """An exact sum of rational multiples of exponentials of rationals. Immutable."""

    __slots__ = ("terms",)
    terms: dict[fmpq, fmpq]
    """exponent -> coefficient, none of them 0."""

    def __init__(self, terms: Mapping[fmpq, fmpq | int] | Iterable[tuple[fmpq, fmpq | int]] = ()) -> None:
        joined: dict[fmpq, fmpq] = {}
        for exponent, coefficient in terms.items() if isinstance(terms, Mapping) else terms:
            joined[exponent] = joined.get(exponent, fmpq(0)) + coefficient
        self.terms = {exponent: coefficient for exponent, coefficient in joined.items() if coefficient != 0}

    @classmethod
    def rational(cls, value: fmpq | int) -> ExponentialSum:
        """A rational number."""
        return cls({fmpq(0): fmpq(value)})

    @classmethod
    def exp(cls, exponent: fmpq) -> ExponentialSum:
        """e^exponent."""
        return cls({exponent: fmpq(1)})

    def __add__(self, other: ExponentialSum) -> ExponentialSum:
        return ExponentialSum([*self.terms.items(), *other.terms.items()])

    def __sub__(self, other: ExponentialSum) -> ExponentialSum:
        return self + -other

    def __neg__(self) -> ExponentialSum:
        return ExponentialSum({exponent: -coefficient for exponent, coefficient in self.terms.items()})

    def __mul__(self, other: ExponentialSum | fmpq | int) -> ExponentialSum:
        if not isinstance(other, ExponentialSum):
            return ExponentialSum({exponent: coefficient * other for exponent, coefficient in self.terms.items()})
        return ExponentialSum((a + b, c * d) for a, c in self.terms.items() for b, d in other.terms.items())

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExponentialSum):
            return NotImplemented
        return self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __repr__(self) -> str:
        shown = [f"{coefficient}*exp({exponent})" for exponent, coefficient in sorted(self.terms.items())]
        return " + ".join(shown) or "0"

    def ball(self) -> arb:
        """A ball that contains the value, at the working precision."""
        return sum((arb(exponent).exp() * arb(coefficient) for exponent, coefficient in self.terms.items()), arb(0))

    def sign(self) -> int:
        """-1, 0 or 1, certain."""
        coefficients = self.terms.values()
        if all(coefficient > 0 for coefficient in coefficients):
            return 1 if self.terms else 0
        if all(coefficient < 0 for coefficient in coefficients):
            return -1
        bits = 64
        while bits <= LARGEST_PRECISION:
            with working_precision(bits):
                value = self.ball()
                if value > 0:
                    return 1
                if value < 0:
                    return -1
            bits *= 2
        raise PrecisionError(f"the sign of {self!r} needs more than {LARGEST_PRECISION} bits.", reached=0)

    def over(self, other: ExponentialSum) -> fmpq | arb:
        """The quotient by a sum that is not 0: exact where it is rational, else a ball."""
        if not self.terms:
            return fmpq(0)
        if self.terms.keys() == other.terms.keys():
            quotients = {self.terms[exponent] / coefficient for exponent, coefficient in other.terms.items()}
            if len(quotients) == 1:
                return quotients.pop()
        return self.ball() / other.ball()


def total(sums: Iterable[ExponentialSum]) -> ExponentialSum:
    """The sum of several."""
    return ExponentialSum(term for one in sums for term in one.terms.items())
