"""The normal form of terms, and what can be read off it: that a term vanishes, or that it has a sign.

A term becomes a quotient of two polynomials in *generators*: variables, e^m for monomials m, logarithms, roots, and values of
special functions, which are opaque. Every rule used on the way is an identity of real numbers wherever the term is defined, and
whatever must be positive or non-zero for that is shown at once, from the signs of the generators, or the term is rejected. So a
term that passes is defined for all admissible values of its variables.

Signs come from coefficients: a polynomial whose coefficients are all non-negative, in non-negative generators, is non-negative.
Where e^m has a non-negative exponent m, the polynomial is first rewritten in g = e^(m/N) - 1 >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial, floor, lcm
from typing import TYPE_CHECKING, TypeAlias

from dpverify.prove.kernel import polynomials as poly
from dpverify.prove.kernel.evaluation import evaluate
from dpverify.prove.kernel.intervals import Arithmetic
from dpverify.prove.kernel.polynomials import UNIT, Monomial, Polynomial
from dpverify.prove.kernel.terms import Call, Rejected, Term, free

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST_POWER = 40
LARGEST_TRIAL_DIVISOR = 1000
DIGITS_OF_CONSTANTS = 50

Quotient: TypeAlias = "tuple[Polynomial, Polynomial]"
"""Numerator and denominator; the denominator is positive for all admissible values."""


@dataclass(frozen=True, slots=True)
class Generator:
    """What stands behind a name."""

    sign: int | None  # 1 positive, 0 non-negative, None unknown
    value: Term | None = None  # the same as a term, if no variable occurs in it
    base: Polynomial | None = None  # of a root: the generator is this polynomial, and carries fractional exponents
    logarithm: Quotient | None = None  # of e^(m/d): m/d
    inside: Quotient | None = None  # of log(q): q
    rise: int | None = None  # 1 if it is above 1, 0 if it is at least 1, None if neither is known


class Algebra:
    """Normal forms under given signs of the variables (1 positive, 0 non-negative, None unknown)."""

    def __init__(self, signs: Mapping[str, int | None]) -> None:
        self._signs = signs
        self._generators: dict[str, Generator] = {}

    # Normal forms.

    def normal(self, term: Term) -> Quotient:
        """The term as numerator and denominator. Raises Rejected where it is not shown to be defined."""
        if isinstance(term, Fraction):
            return poly.constant(term), poly.constant(Fraction(1))
        if isinstance(term, str):
            if term not in self._signs:
                raise Rejected(f"the variable {term} is not declared")
            return self._new(term, Generator(self._signs[term]))
        args = term.args
        match term.head:
            case "+" | "-" if len(args) > 1:
                total = self.normal(args[0])
                for argument in args[1:]:
                    total = self._add(total, self.normal(argument), Fraction(1 if term.head == "+" else -1))
                return total
            case "-":
                return self._add((poly.constant(Fraction(0)), poly.constant(Fraction(1))), self.normal(args[0]), Fraction(-1))
            case "+":
                return self.normal(args[0])
            case "*":
                product = self.normal(args[0])
                for argument in args[1:]:
                    product = self._multiply(product, self.normal(argument))
                return product
            case "/":
                return self._multiply(self.normal(args[0]), self._inverse(self.normal(args[1])))
            case "^" if isinstance(args[1], Fraction):
                return self._power(self.normal(args[0]), args[1])
            case "^":
                return self._exp(self._multiply(self.normal(args[1]), self._log(self.normal(args[0]))))
            case "sqrt":
                return self._power(self.normal(args[0]), Fraction(1, 2))
            case "exp":
                return self._exp(self.normal(args[0]))
            case "log":
                return self._log(self.normal(args[0]))
            case "phi":  # e^(-x^2/2) (2 pi)^(-1/2)
                square = self._power(self.normal(args[0]), Fraction(2))
                half = self._exp((poly.scale(square[0], Fraction(-1, 2)), square[1]))
                two_pi = poly.multiply(poly.constant(Fraction(2)), self.normal(Call("pi", ()))[0])
                return self._multiply(half, self._power((two_pi, poly.constant(Fraction(1))), Fraction(-1, 2)))
            case "Phi":
                return self._normal_cdf(self.normal(args[0]))
            case "erfc":  # 2 Phi(-sqrt(2) x)
                root = self._power(self.normal(Fraction(2)), Fraction(1, 2))
                value = self._normal_cdf(self._negated(self._multiply(root, self.normal(args[0]))))
                return poly.scale(value[0], Fraction(2)), value[1]
            case "gamma" if isinstance(args[0], Fraction) and args[0].denominator == 1 and 1 <= args[0] <= LARGEST_POWER:
                return self.normal(Fraction(factorial(int(args[0]) - 1)))
            case _:
                return self._opaque(term)

    def _opaque(self, term: Call) -> Quotient:
        """A function that nothing is used of except that it lies above 0 (gamma, pi) or is a probability."""
        arguments = [self.normal(argument) for argument in term.args]
        if term.head == "gamma" and not self.has_sign(arguments[0][0], strictly=True):
            raise Rejected("gamma of something not shown to be positive")
        if term.head == "gammaq" and not (
            self.has_sign(arguments[0][0], strictly=True) and self.has_sign(arguments[1][0], strictly=False)
        ):
            raise Rejected("gammaq outside a > 0, x >= 0")
        if term.head == "tail":
            raise Rejected("tail is evaluated only")
        name = f"{term.head}[{' ; '.join(self._spelt(argument) for argument in arguments)}]"
        return self._new(name, Generator(1, None if free(term) else term))

    def _new(self, name: str, generator: Generator, exponent: Fraction = Fraction(1)) -> Quotient:
        self._generators[name] = generator
        return poly.generator(name, exponent), poly.constant(Fraction(1))

    def _spelt(self, quotient: Quotient) -> str:
        return f"{poly.text(quotient[0])} / {poly.text(quotient[1])}"

    def _add(self, a: Quotient, b: Quotient, factor: Fraction) -> Quotient:
        if a[1] == b[1]:
            return poly.add(a[0], b[0], factor), a[1]
        return poly.add(self._product(a[0], b[1]), self._product(b[0], a[1]), factor), self._product(a[1], b[1])

    def _negated(self, a: Quotient) -> Quotient:
        return poly.scale(a[0], Fraction(-1)), a[1]

    def _multiply(self, a: Quotient, b: Quotient) -> Quotient:
        for one, two in ((a, b), (b, a)):  # what cancels up to a number
            if one[0] and len(one[0]) == len(two[1]):
                ratio = one[0][max(one[0])] / two[1][max(two[1])]
                if one[0] == poly.scale(two[1], ratio):
                    return poly.scale(two[0], ratio), one[1]
        return self._product(a[0], b[0]), self._product(a[1], b[1])

    def _product(self, p: Polynomial, q: Polynomial) -> Polynomial:
        """The product, with every root^k, k >= 1, replaced by what it is the root of."""
        product = poly.multiply(p, q)
        for name in {name for monomial in product for name, _ in monomial if self._generators[name].base is not None}:
            base = self._generators[name].base
            assert base is not None
            reduced: Polynomial = {}
            for monomial, coefficient in product.items():
                exponent = dict(monomial).get(name, Fraction(0))
                rest = poly.join(monomial, ((name, -Fraction(floor(exponent))),)) if exponent >= 1 else monomial
                piece = {rest: coefficient}
                reduced = poly.add(reduced, self._product(piece, poly.power(base, floor(exponent))) if exponent >= 1 else piece)
            product = reduced
        return product

    def _inverse(self, a: Quotient) -> Quotient:
        above, below = a
        if self.has_sign(poly.scale(above, Fraction(-1)), strictly=True):
            above, below = poly.scale(above, Fraction(-1)), poly.scale(below, Fraction(-1))
        elif not self.has_sign(above, strictly=True):
            raise Rejected(f"division by {poly.text(above)[:200]}, which is not shown to be other than 0")
        if len(above) == 1:
            ((monomial, coefficient),) = above.items()
            if all(self._generators[name].base is None for name, _ in monomial):
                inverse = {poly.raised(monomial, Fraction(-1)): 1 / coefficient}
                return self._product(below, inverse), poly.constant(Fraction(1))
        return below, above

    def _power(self, a: Quotient, exponent: Fraction) -> Quotient:
        if abs(exponent) > LARGEST_POWER:
            raise Rejected("an exponent is too large")
        if exponent.denominator == 1:
            base = a if exponent >= 0 else self._inverse(a)
            result = self.normal(Fraction(1))
            for _ in range(abs(exponent.numerator)):
                result = self._multiply(result, base)
            return result
        if not self.has_sign(a[0], strictly=exponent < 0):
            raise Rejected(f"a root of {poly.text(a[0])[:200]}, which is not shown to be admissible")
        return self._multiply(self._root(a[0], exponent), self._root(a[1], -exponent))

    def _root(self, p: Polynomial, exponent: Fraction) -> Quotient:
        """p^exponent for p >= 0 (p > 0 if exponent < 0) and an exponent that is no integer."""
        if not p:
            return self.normal(Fraction(0))
        one = poly.constant(Fraction(1))
        content = _content(p)
        result: Quotient = (one, one)
        for prime, multiplicity in _factors(content):
            result = self._multiply(result, self._prime_power(prime, multiplicity * exponent))
        p = poly.scale(p, 1 / content)
        if len(p) > 1:
            p, common = self._without_common(p)
            result = self._multiply(result, self._root({common: Fraction(1)}, exponent))
        elif all(self._generators[name].sign is not None for name, _ in next(iter(p))):
            (monomial,) = p
            for name, times in monomial:
                base = self._generators[name].base
                value = times * exponent
                if base is None:
                    result = self._multiply(result, (poly.generator(name, value), one))
                else:
                    result = self._multiply(result, self._split(name, base, value))
            return result
        name = f"root[{poly.text(p)}]"
        sign = 1 if self.has_sign(p, strictly=True) else 0
        self._generators[name] = Generator(sign, self._closed((p, one)), base=p, rise=self._excess(p))
        return self._multiply(result, self._split(name, p, exponent))

    def _prime_power(self, prime: int, exponent: Fraction) -> Quotient:
        name = f"root[{prime}]"
        self._generators[name] = Generator(1, Fraction(prime), base=poly.constant(Fraction(prime)), rise=1)
        return self._split(name, poly.constant(Fraction(prime)), exponent)

    def _split(self, name: str, base: Polynomial, exponent: Fraction) -> Quotient:
        """base^exponent as root^fraction base^whole, so that the exponent of a root stays in [0, 1)."""
        whole = floor(exponent)
        one = poly.constant(Fraction(1))
        root = poly.generator(name, exponent - whole) if exponent != whole else one
        if whole >= 0:
            return self._product(root, poly.power(base, whole)), one
        return root, poly.power(base, -whole)

    def _exp(self, a: Quotient) -> Quotient:
        """e^(sum c m / d) = prod (e^(m/d))^c, and e^(c log q) = q^c."""
        lead = a[1][max(a[1])]
        above, below = poly.scale(a[0], 1 / lead), poly.scale(a[1], 1 / lead)
        result = self.normal(Fraction(1))
        for monomial, coefficient in above.items():
            inside = self._generators[monomial[0][0]].inside if len(monomial) == 1 and monomial[0][1] == 1 else None
            if inside is not None and below == poly.constant(Fraction(1)):
                result = self._multiply(result, self._power(inside, coefficient))
                continue
            single: Quotient = ({monomial: Fraction(1)}, below)
            name = f"exp[{self._spelt(single)}]"
            value = self._closed(single)
            known = Generator(
                1, None if value is None else Call("exp", (value,)), logarithm=single, rise=self._sign_of(monomial)
            )
            result = self._multiply(result, self._new(name, known, coefficient))
        return result

    def _log(self, a: Quotient) -> Quotient:
        if not self.has_sign(a[0], strictly=True):
            raise Rejected(f"log of {poly.text(a[0])[:200]}, which is not shown to be positive")
        return self._add(self._log_of(a[0]), self._log_of(a[1]), Fraction(-1))

    def _log_of(self, p: Polynomial) -> Quotient:
        """The logarithm of a positive polynomial, split along its content and, if it is a monomial, its factors."""
        total = self.normal(Fraction(0))
        content = _content(p)
        for prime, multiplicity in _factors(content):
            value = Call("log", (Fraction(prime),))
            base = (poly.constant(Fraction(prime)), poly.constant(Fraction(1)))
            total = self._add(total, self._new(f"log[{prime}]", Generator(1, value, inside=base)), Fraction(multiplicity))
        p, monomial = self._without_common(poly.scale(p, 1 / content))
        if p != poly.constant(Fraction(1)):
            total = self._add(total, self._log_generator(p), Fraction(1))
        for name, times in monomial:
            known = self._generators[name]
            if known.base is not None:
                value_of = self._log_of(known.base)
            else:
                value_of = known.logarithm or self._log_generator(poly.generator(name))
            total = self._add(total, value_of, times)
        return total

    def _without_common(self, p: Polynomial) -> tuple[Polynomial, Monomial]:
        """p as a polynomial times a monomial in positive generators, in the one way that leaves no common factor."""
        names = {name for monomial in p for name, _ in monomial if self._generators[name].sign == 1}
        least = {name: min(dict(monomial).get(name, Fraction(0)) for monomial in p) for name in names}
        common = tuple(sorted((name, exponent) for name, exponent in least.items() if exponent))
        return poly.multiply(p, {poly.raised(common, Fraction(-1)): Fraction(1)}), common

    def _log_generator(self, p: Polynomial) -> Quotient:
        one = poly.constant(Fraction(1))
        value = self._closed((p, one))
        closed = None if value is None else Call("log", (value,))
        return self._new(f"log[{poly.text(p)}]", Generator(self._excess(p), closed, inside=(p, one)))

    def _normal_cdf(self, a: Quotient) -> Quotient:
        """Phi in a canonical form: the leading coefficient is positive, by Phi(-x) = 1 - Phi(x)."""
        if not a[0]:
            return self.normal(Fraction(1, 2))
        lead = a[1][max(a[1])]
        a = poly.scale(a[0], 1 / lead), poly.scale(a[1], 1 / lead)
        if a[0][max(a[0])] < 0:
            return self._add(self.normal(Fraction(1)), self._normal_cdf(self._negated(a)), Fraction(-1))
        value = self._closed(a)
        return self._new(f"Phi[{self._spelt(a)}]", Generator(1, None if value is None else Call("Phi", (value,))))

    # Signs.

    def has_sign(self, p: Polynomial, *, strictly: bool) -> bool:
        """Whether p >= 0 (or p > 0) can be read off its coefficients for all admissible values."""
        return self._reads(p, strictly) or self._reads(self._lifted(p), strictly)

    def _reads(self, p: Polynomial, strictly: bool) -> bool:
        grouped: dict[Monomial, Polynomial] = {}
        for monomial, coefficient in p.items():
            part = self._variable_part(monomial)
            rest = poly.join(monomial, poly.raised(part, Fraction(-1)))
            grouped.setdefault(part, {})[rest] = coefficient
        positive = not strictly
        for part, group in grouped.items():
            sign = self._sign_of(part)
            if sign is None or not self._is_positive(group):
                return False
            positive = positive or sign == 1
        return positive

    def _is_positive(self, group: Polynomial) -> bool:
        """Whether a polynomial without variables is certainly above 0: exactly if it is a number, else by its interval."""
        if set(group) == {UNIT}:
            return group[UNIT] > 0
        value = self._closed((group, poly.constant(Fraction(1))))
        assert value is not None
        return evaluate(value, {}, Arithmetic(DIGITS_OF_CONSTANTS)).low > 0

    def _sign_of(self, monomial: Monomial) -> int | None:
        """1, 0 or None for a monomial with coefficient 1."""
        sign = 1
        for name, exponent in monomial:
            known = self._generators[name].sign
            if known is None and exponent.denominator == 1 and exponent.numerator % 2 == 0:
                known = 0
            if known is None:
                return None
            sign = min(sign, known)
        return sign

    def _excess(self, p: Polynomial) -> int | None:
        """1 if p - 1 is shown to be positive, 0 if non-negative, else None."""
        rest = poly.add(p, poly.constant(Fraction(-1)))
        return 1 if self._reads(rest, True) else 0 if self._reads(rest, False) else None

    def _lifted(self, p: Polynomial) -> Polynomial:
        """p times a positive factor, rewritten in g = generator^(1/N) - 1 >= 0 for the generators that are at least 1."""
        names = {name for monomial in p for name, _ in monomial if self._rises(name)}
        for name in sorted(names):
            exponents = [dict(monomial).get(name, Fraction(0)) for monomial in p]
            least, whole = min(exponents), lcm(*(exponent.denominator for exponent in exponents))
            if (max(exponents) - least) * whole > LARGEST_POWER:
                return p
            lifted = f"excess[{name} {whole}]"
            self._generators[lifted] = Generator(self._generators[name].rise)
            result: Polynomial = {}
            for monomial, coefficient in p.items():
                exponent = dict(monomial).get(name, Fraction(0))
                rest = poly.join(monomial, ((name, -exponent),)) if exponent else monomial
                times = int((exponent - least) * whole)
                expanded = {((lifted, Fraction(k)),) if k else UNIT: Fraction(comb(times, k)) for k in range(times + 1)}
                result = poly.add(result, poly.multiply({rest: coefficient}, expanded))
            p = result
        return p

    def _rises(self, name: str) -> bool:
        return self._generators[name].rise is not None and self._generators[name].value is None

    def _variable_part(self, monomial: Monomial) -> Monomial:
        return tuple((name, exponent) for name, exponent in monomial if self._generators[name].value is None)

    def _closed(self, a: Quotient) -> Term | None:
        """The quotient as a term, if no variable occurs in it."""
        if any(self._variable_part(monomial) for p in a for monomial in p):
            return None
        above, below = (self._written(p) for p in a)
        return Call("/", (above, below))

    def _written(self, p: Polynomial) -> Term:
        pieces: list[Term] = [Fraction(0)]
        for monomial, coefficient in p.items():
            factors: list[Term] = [coefficient]
            for name, exponent in monomial:
                value = self._generators[name].value
                assert value is not None
                factors.append(Call("^", (value, exponent)))
            pieces.append(Call("*", tuple(factors)))
        return Call("+", tuple(pieces))


def _content(p: Polynomial) -> Fraction:
    """A positive number that is taken out of a polynomial, so that multiples of it look alike."""
    return abs(p[max(p)])


def _factors(content: Fraction) -> list[tuple[int, int]]:
    """(prime, exponent) pairs whose product is the content; what small primes leave over counts as one prime."""
    found = []
    for number, direction in ((content.numerator, 1), (content.denominator, -1)):
        rest = number
        for prime in range(2, LARGEST_TRIAL_DIVISOR):
            times = 0
            while rest % prime == 0:
                rest, times = rest // prime, times + 1
            if times:
                found.append((prime, direction * times))
            if rest == 1:
                break
        if rest > 1:
            found.append((rest, direction))
    return found
