"""Expressions as rational functions of generators: the normal form that every exact check is made in.

exp(q m), for a rational q and a monomial m in the symbols, becomes the power q of one positive symbol that stands for
exp(m); a root becomes a symbol r with the relation r^q = radicand; a logarithm or a special function that remains
becomes a symbol of its own. If the rational function vanishes, so does the expression. The converse is not needed:
whatever is not proved is refused.

No knowledge of privacy lives here. `proofs.py` says what is to be proved.
"""

from __future__ import annotations

from math import gcd, lcm

import sympy

from dpverify.derive.special import FACTS

POSITIVE, NONNEGATIVE, ZERO, NONPOSITIVE, NEGATIVE = 2, 1, 0, -1, -2
"""Signs. The product of two of them that are not zero is strict only if both are."""

_LARGEST_POWER, _LARGEST_TERMS = 4, 40
"""How far positive multipliers are tried."""


class NotProved(Exception):
    """An exact check that did not come out, and what is left. It becomes a DerivationError where the step is known."""


class Generators:
    """The table of generators of one proof. It grows while expressions are rewritten."""

    __slots__ = ("_at_least_one", "_meanings", "_relations", "_symbols", "multiplied")

    def __init__(self) -> None:
        self._symbols: dict[sympy.Expr, sympy.Symbol] = {}
        self._meanings: dict[sympy.Symbol, sympy.Expr] = {}
        self._relations: list[tuple[sympy.Symbol, int, sympy.Expr]] = []
        self._at_least_one: dict[sympy.Symbol, bool] = {}  # and whether strictly
        self.multiplied = False  # whether a sign was found with the help of a positive multiplier

    # Rewriting.

    def rewrite(self, expression: sympy.Expr) -> sympy.Expr:
        """`expression` in terms of generators. Raises NotProved where it holds something that this form cannot hold."""
        if expression.is_Rational or expression.is_Symbol:
            return expression
        if expression is sympy.pi:
            return self._generator(expression, positive=True)
        if expression is sympy.E:
            return self._exponential(sympy.Integer(1))
        if expression.is_Add or expression.is_Mul:
            return expression.func(*map(self.rewrite, expression.args))
        if isinstance(expression, sympy.exp):
            return self._exponential(expression.args[0])
        if expression.is_Pow:
            return self._rewritten_power(*expression.args)
        if isinstance(expression, sympy.log):
            return self._generator(sympy.log(sympy.expand(expression.args[0])), real=True)
        if type(expression) in FACTS:
            return self._special(expression)
        if expression.is_Float:
            raise NotProved(f"the formula holds the float {expression}; write m.rational(above, below)")
        raise NotProved(f"no exact rule is known for {expression}")

    def _exponential(self, exponent: sympy.Expr) -> sympy.Expr:
        product = sympy.Integer(1)
        for term in sympy.Add.make_args(_expanded(exponent)):
            factor, monomial = term.as_coeff_Mul()
            if isinstance(monomial, sympy.log):
                product *= self.power(self.rewrite(monomial.args[0]), factor)
            elif factor != 0:
                symbol = self._generator(sympy.exp(monomial), **({"positive": True} if monomial.is_real else {}))
                if monomial.is_nonnegative:
                    self._at_least_one[symbol] = bool(monomial.is_positive)
                product *= symbol**factor
        return product

    def _rewritten_power(self, base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
        if not exponent.is_Rational:
            return self._exponential(exponent * sympy.log(base))
        if base.is_Integer and base > 0 and not exponent.is_Integer:
            return self._root(base, exponent.q) ** exponent.p
        return self.power(self.rewrite(base), exponent)

    def power(self, base: sympy.Expr, exponent: sympy.Rational) -> sympy.Expr:
        """A rational power of a rewritten expression; roots are principal."""
        if exponent.is_Integer:
            return base**exponent
        forward, back = self._whole_powers(base)
        constant, factors = sympy.Integer(1), []
        for part, direction in zip(sympy.fraction(sympy.cancel(base.xreplace(forward))), (1, -1), strict=True):
            content, found = sympy.factor_list(part)
            constant *= content**direction
            factors += [(factor, direction * multiplicity) for factor, multiplicity in found]
        signs = [self._polynomial_sign(factor) for factor, _ in factors]
        if None in signs:
            return self._root(base, exponent.q) ** exponent.p
        result = sympy.Integer(1)
        for (factor, multiplicity), sign in zip(factors, signs, strict=True):
            flip = -1 if sign is not None and sign < 0 else 1
            constant *= sympy.Integer(flip) ** multiplicity
            result *= self._positive_power((flip * factor).xreplace(back), multiplicity * exponent)
        if constant < 0:
            return self._root(base, exponent.q) ** exponent.p
        return result * self.rewrite(sympy.sympify(constant) ** exponent)

    def _positive_power(self, base: sympy.Expr, exponent: sympy.Rational) -> sympy.Expr:
        single = base.is_Symbol or (base.is_Pow and base.base.is_Symbol)
        if single and base.is_nonnegative:
            return base**exponent
        whole = sympy.floor(exponent)
        rest = exponent - whole
        return base**whole * (self._root(base, rest.q) ** rest.p if rest else 1)

    def _root(self, radicand: sympy.Expr, order: int) -> sympy.Symbol:
        key = sympy.Pow(radicand, sympy.Rational(1, order), evaluate=False)
        if key not in self._symbols:
            sign = self.sign(radicand)
            assumed = {POSITIVE: {"positive": True}, NONNEGATIVE: {"nonnegative": True}, ZERO: {"nonnegative": True}}
            symbol = self._generator(key, **({} if sign is None else assumed.get(sign, {})))
            self._relations.append((symbol, order, radicand))
        return self._symbols[key]

    def _special(self, expression: sympy.Expr) -> sympy.Expr:
        if isinstance(expression, sympy.atan):
            return self._arctangent(expression.args[0])
        normal = expression.func(*map(_expanded, expression.args))
        if type(normal) is not type(expression):  # an identity such as erfc(-z) = 2 - erfc(z) was applied
            return self.rewrite(normal)
        return self._generator(normal, positive=True)

    def _arctangent(self, argument: sympy.Expr) -> sympy.Expr:
        """Of z and 1/z, whose arctangents add up to pi/2 for z > 0, one is chosen; of e^y and e^-y that with the minus sign."""
        size = self.rewrite(argument)
        if self.sign(size) != POSITIVE:
            raise NotProved(f"no exact rule is known for the arctangent of {argument}, which is not proved to be positive")
        if size == 1:
            return self.rewrite(sympy.pi) / 4
        normal, other = (sympy.factor(sympy.cancel(one)) for one in (self.meaning(size), 1 / self.meaning(size)))
        if isinstance(argument, sympy.exp):
            normal, other = sympy.exp(_expanded(argument.args[0])), sympy.exp(_expanded(-argument.args[0]))
            is_other = not argument.args[0].could_extract_minus_sign()
        else:
            is_other = sympy.default_sort_key(other) < sympy.default_sort_key(normal)
        if is_other:
            return self.rewrite(sympy.pi) / 2 - self._generator(sympy.atan(other), positive=True)
        return self._generator(sympy.atan(normal), positive=True)

    def _generator(self, meaning: sympy.Expr, **assumed: bool) -> sympy.Symbol:
        if meaning not in self._symbols:
            symbol = sympy.Symbol(f"u{len(self._symbols) + 1}", **assumed)
            self._symbols[meaning] = symbol
            self._meanings[symbol] = meaning
        return self._symbols[meaning]

    # Deciding.

    def numerator(self, expression: sympy.Expr) -> sympy.Expr:
        """The numerator of a rewritten expression, reduced modulo the relations; the expression vanishes if this is 0."""
        return self._fraction(expression)[0]

    def sign(self, expression: sympy.Expr) -> int | None:
        """The sign of a rewritten expression for all admissible values of the symbols, or None where it is not decided."""
        above, below = self._fraction(expression)
        one, other = self._product_sign(above), self._product_sign(below)
        if one is None or other not in (POSITIVE, NEGATIVE):
            return None
        return _product(one, other)

    def _product_sign(self, polynomial: sympy.Expr) -> int | None:
        constant, factors = sympy.factor_list(polynomial)
        total = _sign_of_number(constant)
        for factor, multiplicity in factors:
            sign = self._polynomial_sign(factor)
            if multiplicity % 2 == 0:
                sign = NONNEGATIVE if sign is None else abs(sign)
            if sign is None:
                return None
            total = _product(total, sign)
        return total

    def _fraction(self, expression: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
        """Numerator and denominator as polynomials, reduced modulo the relations, the latest first."""
        forward, _ = self._whole_powers(expression)
        fraction = sympy.fraction(sympy.together(expression.xreplace(forward)))
        for symbol, order, radicand in reversed(self._relations):
            if any(part.has(symbol) for part in fraction):
                above, below = (_lowered(part, symbol, order, radicand.xreplace(forward)) for part in fraction)
                if sympy.expand(below) == 0:
                    raise NotProved(f"a denominator of {self.meaning(expression)} vanishes")
                fraction = sympy.fraction(sympy.together(above / below))
        return tuple(map(sympy.expand, fraction))

    def _whole_powers(self, expression: sympy.Expr) -> tuple[dict[sympy.Symbol, sympy.Expr], dict[sympy.Symbol, sympy.Expr]]:
        """Replacements that turn symbols whose fractional powers occur into powers of their roots; and the way back."""
        orders: dict[sympy.Symbol, int] = {}
        for where in (expression, *(radicand for _, _, radicand in self._relations)):
            for power in where.atoms(sympy.Pow):
                if power.base.is_Symbol and power.exp.is_Rational and power.exp.q != 1:
                    orders[power.base] = lcm(orders.get(power.base, 1), int(power.exp.q))
        forward, back = {}, {}
        for symbol, order in orders.items():
            sort = {"positive": True} if symbol.is_positive else {"nonnegative": True}
            root = sympy.Symbol(f"{symbol.name}_{order}", **sort)
            forward[symbol] = root**order
            back[root] = symbol ** sympy.Rational(1, order)
            if symbol in self._at_least_one:
                self._at_least_one[root] = self._at_least_one[symbol]
        return forward, back

    def _polynomial_sign(self, polynomial: sympy.Expr) -> int | None:
        """The sign of a polynomial whose coefficients all have one sign, once u >= 1 is written u = 1 + (u - 1).

        Where they do not, a positive multiplier may help (Polya): u^2 - u + 1 times 1 + u is u^3 + 1, and u^4 - u^2 + 1 times
        1 + u^2 is u^6 + 1.
        """
        shifts = {
            symbol: 1 + sympy.Symbol(f"{symbol.name}-1", **{"positive" if strictly else "nonnegative": True})
            for symbol, strictly in self._at_least_one.items()
            if polynomial.has(symbol)
        }
        shifted = polynomial.xreplace(shifts)
        symbols = sorted(shifted.free_symbols, key=lambda symbol: symbol.name)
        if not symbols:
            return _sign_of_number(shifted)
        terms = sympy.Poly(shifted, *symbols)
        sign = _sign_of_terms(terms)
        positive = [symbol for symbol in symbols if symbol.is_positive]
        if sign is None and positive and len(terms.terms()) <= _LARGEST_TERMS:
            step = gcd(*(exponent for exponents in terms.monoms() for exponent in exponents))  # a polynomial in u^step
            powers = sum(symbol**step for symbol in positive)
            multiplier = sympy.Poly(powers + (0 if terms.is_homogeneous else 1), *symbols)
            for _ in range(_LARGEST_POWER):
                terms *= multiplier
                sign = _sign_of_terms(terms)
                if sign is not None:
                    self.multiplied = True
                    break
        return sign

    # Telling.

    def meaning(self, expression: sympy.Expr) -> sympy.Expr:
        """A rewritten expression in its own symbols again."""
        meant = expression
        while meant.free_symbols & self._meanings.keys():
            meant = meant.xreplace(self._meanings)
        return meant

    def generators(self, *, shifted: bool = False) -> list[sympy.Expr]:
        """What the generators stand for, in the order of their first use; with `shifted`, u - 1 for those that are >= 1."""
        ones = {symbol: int(shifted and symbol in self._at_least_one) for symbol in self._meanings}
        return [self.meaning(meaning) - ones[symbol] for symbol, meaning in self._meanings.items()]


def _sign_of_terms(polynomial: sympy.Poly) -> int | None:
    """The sign of a polynomial each of whose terms has the same one, for all values of its symbols; None otherwise."""
    strict, directions = False, set()
    for exponents, coefficient in polynomial.terms():
        used = [(symbol, exponent) for symbol, exponent in zip(polynomial.gens, exponents, strict=True) if exponent]
        if not all(symbol.is_nonnegative or (symbol.is_real and exponent % 2 == 0) for symbol, exponent in used):
            return None
        directions.add(bool(coefficient > 0))
        strict = strict or all(symbol.is_positive for symbol, _ in used)
    if len(directions) > 1:
        return None
    return (POSITIVE if strict else NONNEGATIVE) * (1 if directions.pop() else -1)


def _lowered(polynomial: sympy.Expr, symbol: sympy.Symbol, order: int, radicand: sympy.Expr) -> sympy.Expr:
    """`polynomial` with symbol^order replaced by the radicand, exactly (a remainder would change the sign)."""
    terms = sympy.Poly(polynomial, symbol).terms()
    lowered = (value * symbol ** (power % order) * radicand ** (power // order) for (power,), value in terms)
    return sympy.Add(*lowered)


def _expanded(expression: sympy.Expr) -> sympy.Expr:
    return sympy.expand(expression, log=False, power_exp=False, power_base=False)


def _sign_of_number(number: sympy.Rational) -> int:
    return POSITIVE if number > 0 else NEGATIVE if number < 0 else ZERO


def _product(one: int, other: int) -> int:
    direction = one * other
    strict = abs(one) == POSITIVE and abs(other) == POSITIVE
    return 0 if direction == 0 else (POSITIVE if strict else NONNEGATIVE) * (1 if direction > 0 else -1)
