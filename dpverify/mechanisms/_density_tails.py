"""Tails of densities: bounds on the integral of x^k f(x) beyond a point, proved for all points from some start on.

Each additive term f of the density, which must be positive, has (log f)' <= -rate there, so that f falls at least like
e^(-rate x); or x (log f)' <= -degree, so that it falls at least like x^-degree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy
from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.errors import NotCovered, shown
from dpverify.mechanisms._density_forms import is_positive, logarithm
from dpverify.mechanisms._density_text import X
from dpverify.mechanisms._density_tree import Unbounded, compiled, range_beyond

if TYPE_CHECKING:
    from dpverify.mechanisms._density_tree import Function

_REACHES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """One term, from `start` on: a `rate` > 0, or a degree > 1 that may grow: `degrees` holds (from where on, degree)."""

    term: Function
    start: arb
    rate: arb | None = None
    degrees: tuple[tuple[arb, arb], ...] = ()

    def bound(self, x: arb, order: int) -> arb:
        """At least the integral of y^order times the term over y > x, for an exact x >= start; infinite where none is known."""
        here = abs(self.term(BALLS, x)) * x**order
        if self.rate is not None:
            rate = self.rate - order / x
            return here / rate if rate > 0 else arb.pos_inf()
        rest = max((degree for start, degree in self.degrees if start <= x), key=float) - order - 1
        return here * x / rest if rest > 0 else arb.pos_inf()

    def is_finite(self, order: int) -> bool:
        """Whether the integral of y^order times the term is shown to be finite."""
        return self.rate is not None or bool(self.degrees[-1][1] > order + 1)


def tails_of(body: sympy.Expr, kink: fmpq) -> tuple[Tail, ...]:
    """The tails of all terms right of the last kink. Raises NotCovered where one is not bounded."""
    return tuple(_tail(term, kink) for term in _terms(body))


def _terms(body: sympy.Expr) -> list[sympy.Expr]:
    """The additive terms, a constant factor multiplied in; a single one where not all of them are seen to be positive."""
    factor, rest = body.as_independent(X, as_Add=False)
    if rest.is_Add and all(is_positive(term) for term in rest.args):
        return [factor * term for term in rest.args]
    return [body]


def _tail(term: sympy.Expr, kink: fmpq) -> Tail:
    slope = sympy.diff(logarithm(term), X)
    forms = forms_of(slope)
    scaled = [X * form for form in forms]
    degrees: list[tuple[arb, arb]] = []
    start = arb(max(kink, fmpq(0)) + 1)
    for _ in range(_REACHES):
        rate = -steepness(forms, start)[1]
        if rate > 0 and not degrees:
            return Tail(term=compiled(term), start=start, rate=rate)
        degree = -steepness(scaled, start)[1]
        if degree > 1 and (not degrees or degree > degrees[-1][1] + 1):
            degrees.append((start, degree))
        start = 2 * start
    if degrees:
        return Tail(term=compiled(term), start=degrees[0][0], degrees=tuple(degrees))
    raise NotCovered(
        f"density: the tail of {shown(term, str)} is not bounded here; it must fall at least like a power of x above 1."
        " Writing it with exp(-x) rather than exp(x) in denominators, or as a sum of positive terms, may help; so may a"
        " bounded support."
    )


def forms_of(slope: sympy.Expr) -> list[sympy.Expr]:
    """The same function, for large x, in several forms, of which intervals may like one better."""
    return list(dict.fromkeys(_forms(slope)))


def steepness(forms: list[sympy.Expr], start: arb) -> tuple[arb, arb]:
    """An interval that holds the function right of `start`, which all of the forms are."""
    low, high = arb.neg_inf(), arb.pos_inf()
    for form in forms:
        try:
            least, most = range_beyond(form, start)
        except Unbounded:
            continue
        low, high = low.max(least), high.min(most)
    return low, high


def _forms(slope: sympy.Expr) -> Iterator[sympy.Expr]:
    yield slope
    together = sympy.cancel(sympy.together(slope)) if sympy.count_ops(slope) < 400 else slope
    yield together
    yield sympy.expand(_by_leading_powers(together))
    yield _by_leading_powers(sympy.expand(slope))
    yield from _led(together)
    # Over the fastest growing exponential: a rational function of e^-x, whose terms all stay bounded.
    grown = sympy.expand(together.rewrite(sympy.exp))
    above, below = sympy.fraction(sympy.together(grown))
    exponents = [part.args[0].coeff(X) for part in below.atoms(sympy.exp) if part.args[0].coeff(X).is_Rational]
    if exponents and max(exponents) > 0:
        by = sympy.exp(-max(exponents) * X)
        yield sympy.expand(above * by) / sympy.expand(below * by)


def _led(form: sympy.Expr) -> Iterator[sympy.Expr]:
    """A rational function of v = x, or of v = e^x, as v^n times a quotient of polynomials in 1/v, which stay bounded."""
    parts = sympy.fraction(form)
    if all(part.is_polynomial(X) for part in parts):
        yield _quotient(parts, X, X)
        return
    grown = sympy.Dummy("v", positive=True)
    expanded = sympy.expand(form.rewrite(sympy.exp), power_exp=True)
    powers = {part: part.args[0].coeff(X) for part in expanded.atoms(sympy.exp) if part.args[0] == part.args[0].coeff(X) * X}
    if any(not power.is_Integer for power in powers.values()):
        return
    rational = expanded.xreplace({part: grown**power for part, power in powers.items()})
    parts = sympy.fraction(sympy.together(rational))
    if not rational.has(X) and all(part.is_polynomial(grown) for part in parts):
        yield _quotient(parts, grown, sympy.exp(X))


def _quotient(parts: tuple[sympy.Expr, sympy.Expr], variable: sympy.Symbol, meaning: sympy.Expr) -> sympy.Expr:
    """The quotient of two polynomials by their leading powers, with `meaning` for the variable."""
    degree, factors = 0, []
    for part, sign in zip(parts, (1, -1), strict=True):
        polynomial = sympy.Poly(part, variable)
        terms = (value * meaning ** (power - polynomial.degree()) for (power,), value in polynomial.terms())
        factors.append(sympy.Add(*terms) ** sign)
        degree += sign * polynomial.degree()
    found: sympy.Expr = sympy.Mul(meaning**degree, *factors)
    return found


def _by_leading_powers(form: sympy.Expr) -> sympy.Expr:
    """For x > 0: every power of a polynomial as the power of its leading x^n times that of a polynomial in 1/x."""

    def rewritten(base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
        if base == X or not base.is_polynomial(X) or not exponent.is_Rational:
            return base**exponent
        degree = sympy.Poly(base, X).degree()
        return X ** (degree * exponent) * sympy.expand(base / X**degree) ** exponent

    above, below = sympy.fraction(form)
    found: sympy.Expr = (
        above * below**-1 if not below.is_polynomial(X) else above * rewritten(below, sympy.Integer(-1))
    ).replace(
        lambda part: part.is_Pow and part.args[0].is_polynomial(X) and not part.args[1].is_Integer,
        lambda part: rewritten(*part.args),
    )
    return found
