"""Certified sums of e^{-x^2 / (2 v)} over the integers x, and over those from k on.

Whole sums come from Poisson's summation formula or term by term, whichever has the fewer terms. Sums from k on are added
term by term with a geometric bound on the rest, or by Euler and Maclaurin's formula, whose remainder is bounded through
Cauchy's estimate of a high derivative. Everything runs at the working precision in force and returns a ball.
"""

from __future__ import annotations

import math

from flint import arb, ctx, fmpq, fmpz

from dpverify.arithmetic.balls import BALLS
from dpverify.enclose.effort import spend

_FEWEST_TERMS = 250
"""Up to so many terms are added one by one, whatever the precision."""

_TERMS_A_BIT = 4
"""Beyond this many terms a bit, x/v < 1/5 and v > 10 bits hold, and Euler and Maclaurin's formula reaches the precision."""


_STEP_OF_EULER_MACLAURIN, _TERMS_AN_EVALUATION = 7, 5
"""What a step of the formula costs, and how many terms cost as much as one, in evaluations (`enclose.effort`)."""


def whole(v: fmpq, shift: fmpq | int = 0) -> arb:
    """The sum of e^{-(x - shift)^2 / (2 v)} over all integers x."""
    shift = fmpq(shift)
    part = shift - shift.floor()
    if v > fmpq(1, 6):
        width = 2 * arb.pi() ** 2 * arb(v)
        return _root(v) * (1 + 2 * _alternating(width, arb(part)))
    # The largest term is at least e^{-1/(8 v)}; what lies beyond the radius is smaller by 2^-bits.
    radius = 2 + math.isqrt(int(2 * v * (ctx.prec + 8)))
    total = sum((_term(v, x - part) for x in range(-radius, radius + 1)), arb(0))
    # Two sides, each below a geometric series whose ratio is less than 1/2.
    return total + _between_zero_and(4 * _term(v, fmpq(radius)))


def _alternating(width: arb, phase: arb) -> arb:
    """The sum of e^{-width n^2} cos(2 pi n phase) over n >= 1, for width > 3."""
    total, n = arb(0), 1
    small = arb(2) ** -(ctx.prec + 8)
    while True:
        size = (-width * n * n).exp()
        if not size > small:
            return total + _symmetric(2 * size)
        total += size * (2 * n * phase).cos_pi()
        n += 1


def second_moment(v: fmpq) -> arb:
    """The sum of x^2 e^{-x^2 / (2 v)} over all integers x: 2 v^2 times the derivative of the whole sum in v."""
    if v > fmpq(1, 6):
        width = 2 * arb.pi() ** 2 * arb(v)
        total, n = arb(0), 1
        small = arb(2) ** -(ctx.prec + 8)
        while True:
            factor = 2 * width * n * n
            size = (-width * n * n).exp()
            if not size * factor > small:
                # Later terms fall faster than by half: the exponent grows by more than 9, the factor by at most 4.
                return arb(v) * _root(v) * (1 + 2 * (total + _symmetric(2 * size * (1 + factor))))
            total += size * (1 - factor)
            n += 1
    total, x = arb(0), 1
    while True:
        size = _term(v, fmpq(x)) * x * x
        if not size > _term(v, fmpq(1)) * arb(2) ** -(ctx.prec + 8):
            return 2 * (total + _between_zero_and(2 * size))
        total += size
        x += 1


def upper(v: fmpq, k: int, growth: fmpq | int = 0) -> arb:
    """e^growth times the sum of e^{-x^2 / (2 v)} over the integers x >= k. The exponents are added exactly."""
    if k <= 0:
        return arb(fmpq(growth)).exp() * whole(v) - upper(v, 1 - k, growth)
    return arb(growth - fmpq(k) ** 2 / (2 * v)).exp() * _ratio(v, k)


def _ratio(v: fmpq, k: int) -> arb:
    """The sum from k >= 1 on, divided by its first term."""
    bits = ctx.prec + 8
    terms = _terms_needed(v, k, bits)
    if terms <= max(_FEWEST_TERMS, _TERMS_A_BIT * bits):
        return _term_by_term(v, k, bits)
    return _euler_maclaurin(v, k, bits)


def _terms_needed(v: fmpq, k: int, bits: int) -> float:
    """About how many terms are larger than 2^-bits of the first: n with (2 k n + n^2)/(2 v) = bits log 2."""
    try:
        width, start = float(arb(v)), float(k)
        reach = 2 * width * bits * math.log(2)
        return reach / (start + math.sqrt(start * start + reach))
    except OverflowError:
        return math.inf if fmpq(k) < v else 1.0


def _term_by_term(v: fmpq, k: int, bits: int) -> arb:
    total = term = arb(1)
    factor, step = arb(-fmpq(2 * k + 1) / (2 * v)).exp(), arb(-1 / v).exp()
    small = arb(2) ** -bits
    spend(int(_terms_needed(v, k, bits)) // _TERMS_AN_EVALUATION + 1)
    while True:
        term = term * factor
        if not term > small:
            # The quotients of successive terms fall, so the rest is below a geometric series.
            return total + _between_zero_and(term / (1 - factor))
        total += term
        factor = factor * step


def _euler_maclaurin(v: fmpq, k: int, bits: int) -> arb:
    """Integral + half the first term - sum of B_2j/(2j)! f^(2j-1)(k), for f(x) = e^{-x^2 / (2 v)}, divided by f(k).

    f^(n)(x) = (-1)^n v^(-n/2) He_n(x / sqrt v) f(x), He the Hermite polynomials of probability.
    """
    sigma = arb(v).sqrt()
    u = arb(fmpq(k)) / sigma
    integral = _root(v) * BALLS.normal_cdf(-u) * arb(fmpq(k) ** 2 / (2 * v)).exp()
    total = integral + arb(1) / 2
    small = integral * arb(2) ** -bits
    before, here = arb(1), u  # He_0, He_1
    power, factorial, order = 1 / sigma, fmpz(1), 1
    best: arb | None = None
    while True:
        spend(_STEP_OF_EULER_MACLAURIN)
        # `here` is He_order for the odd order 2j - 1; the sign (-1)^(2j-1) turns the minus into a plus.
        factorial = factorial * (order + 1)
        total += arb(_bernoulli(order + 1)) / arb(factorial) * power * here
        rest = _remainder(v, k, order + 1)
        if rest < small or (best is not None and not rest < best) or order > 2 * bits:
            return total + _symmetric(rest)
        best = rest
        for _ in range(2):
            before, here = here, u * here - order * before
            order += 1
            power = power / sigma
        factorial = factorial * order


def _bernoulli(n: int) -> fmpq:
    return fmpq.bernoulli(n)


def _remainder(v: fmpq, k: int, order: int) -> arb:
    """A bound on |remainder| / f(k) after the term with B_order.

    |remainder| <= 2 zeta(order) / (2 pi)^order times the integral of |f^(order)| from k on, and |f^(order)(x)| is at most
    order!/rho^order times the largest |f| on a circle of radius rho about x, which is at most
    e^{x rho / v + rho^2 / (2 v)} f(x). The integral of e^{x rho / v} f(x) from k on is e^{rho^2 / (2 v)} times that of f
    from k - rho on.
    """
    start = arb(fmpq(k))
    rho = ((((start * start + 8 * order * arb(v)).sqrt() - start) / 4).mid() + arb(2) ** -64).mid()
    from_earlier = _root(v) * BALLS.normal_cdf((rho - start) / arb(v).sqrt()) * arb(fmpq(k) ** 2 / (2 * v)).exp()
    growth = (rho * rho / arb(v)).exp() * from_earlier
    return (4 * arb(fmpz.fac_ui(order)) / (2 * arb.pi() * rho) ** order * growth).upper()


def _root(v: fmpq) -> arb:
    return (2 * arb.pi() * arb(v)).sqrt()


def _term(v: fmpq, x: fmpq) -> arb:
    return arb(-x * x / (2 * v)).exp()


def _between_zero_and(bound: arb) -> arb:
    return arb(0).union(bound.upper())


def _symmetric(bound: arb) -> arb:
    return arb(0, bound.upper())
