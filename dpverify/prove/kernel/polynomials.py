"""Exact polynomials with rational coefficients in generators, which are just names.

A monomial maps generators to rational exponents (roots and reciprocals of positive quantities need no division then); a
polynomial maps monomials to coefficients other than 0. Two polynomials are equal exactly if they are equal as dictionaries.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from dpverify.prove.kernel.terms import Rejected

Monomial: TypeAlias = "tuple[tuple[str, Fraction], ...]"
Polynomial: TypeAlias = "dict[Monomial, Fraction]"

MOST_MONOMIALS = 6_000
UNIT: Monomial = ()


def constant(value: Fraction) -> Polynomial:
    """A number as a polynomial."""
    return {UNIT: value} if value else {}


def generator(name: str, exponent: Fraction = Fraction(1)) -> Polynomial:
    """A power of one generator."""
    return {((name, exponent),): Fraction(1)}


def add(p: Polynomial, q: Polynomial, factor: Fraction = Fraction(1)) -> Polynomial:
    """p + factor q."""
    result = dict(p)
    for monomial, coefficient in q.items():
        value = result.get(monomial, Fraction(0)) + factor * coefficient
        if value:
            result[monomial] = value
        else:
            result.pop(monomial, None)
    return result


def multiply(p: Polynomial, q: Polynomial) -> Polynomial:
    """p q. Raises Rejected when the product is out of proportion."""
    if len(p) * len(q) > MOST_MONOMIALS**2 // 100:
        raise Rejected("a polynomial grew out of proportion")
    result: Polynomial = {}
    for left, a in p.items():
        for right, b in q.items():
            monomial = join(left, right)
            value = result.get(monomial, Fraction(0)) + a * b
            if value:
                result[monomial] = value
            else:
                result.pop(monomial, None)
    if len(result) > MOST_MONOMIALS:
        raise Rejected("a polynomial grew out of proportion")
    return result


def scale(p: Polynomial, factor: Fraction) -> Polynomial:
    """factor p, for a factor other than 0."""
    return {monomial: coefficient * factor for monomial, coefficient in p.items()}


def join(left: Monomial, right: Monomial) -> Monomial:
    """The product of two monomials."""
    if not left or not right:
        return left or right
    exponents = dict(left)
    for name, exponent in right:
        exponents[name] = exponents.get(name, Fraction(0)) + exponent
    return tuple(sorted((name, exponent) for name, exponent in exponents.items() if exponent))


def raised(monomial: Monomial, exponent: Fraction) -> Monomial:
    """A power of a monomial."""
    return tuple((name, power * exponent) for name, power in monomial) if exponent else UNIT


def power(p: Polynomial, exponent: int) -> Polynomial:
    """p to a non-negative integer power."""
    result = constant(Fraction(1))
    for _ in range(exponent):
        result = multiply(result, p)
    return result


def text(p: Polynomial) -> str:
    """A canonical spelling: equal text means equal polynomials."""
    return " + ".join(
        f"{coefficient}" + "".join(f"*{name}^{exponent}" for name, exponent in monomial)
        for monomial, coefficient in sorted(p.items())
    )
