"""The three exact checks: an expression vanishes, has a sign, is defined. Each says in words how it came out.

A check that does not come out raises `NotProved` with what is left: "not proved" is a failure, never a shrug. Nothing
is sampled and nothing is rounded here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

import sympy

from dpverify.derive.algebra import NONNEGATIVE, POSITIVE, Generators, NotProved
from dpverify.derive.special import FACTS

_LONGEST = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A proof that came out."""

    generators: tuple[sympy.Expr, ...]
    """What the residual or difference is a rational function of, beside the symbols of its region."""
    verdict: str
    """A sentence with {} for the generators."""
    without_generators: str
    """The sentence for the case that there are none."""

    def told(self, back: dict[sympy.Symbol, sympy.Expr]) -> str:
        """In words, with the symbols of the region replaced by what they are."""
        names = [
            f"`{shown(sympy.powsimp(sympy.factor(generator.xreplace(back), deep=True)))}`" for generator in self.generators
        ]
        return self.verdict.format(", ".join(names)) if names else self.without_generators


def resolved(expression: sympy.Expr) -> sympy.Expr:
    """`expression` with every |y| and sign(y) replaced by what it is, given the sign of y. Raises NotProved."""
    found = expression.atoms(sympy.Abs, sympy.sign)
    while found:
        inner = min(found, key=sympy.count_ops)
        inside = inner.args[0]
        table = Generators()
        sign = table.sign(table.rewrite(inside))
        absolute = isinstance(inner, sympy.Abs)
        if sign is None or (not absolute and abs(sign) == NONNEGATIVE):
            raise NotProved(f"the sign of {shown(inside)} is not decided")
        direction = (sign > 0) - (sign < 0)
        expression = expression.xreplace({inner: inside * direction if absolute else sympy.Integer(direction)})
        found = expression.atoms(sympy.Abs, sympy.sign)
    return expression


def zero(expression: sympy.Expr) -> Outcome:
    """Prove that `expression` vanishes identically. Raises NotProved."""
    table = Generators()
    expression = resolved(expression)
    if table.numerator(table.rewrite(expression)) == 0:
        return _vanished("the residual", table)
    if not expression.has(sympy.log):
        raise NotProved(f"the residual {shown(expression)} does not vanish identically")
    defined(expression)  # a logarithm of a negative number could hide a multiple of 2 pi i
    times, ratio = _exponentiated(expression)
    table = Generators()
    if table.numerator(table.rewrite(ratio - 1)) != 0:
        raise NotProved(f"the residual {shown(expression)} does not vanish identically")
    return _vanished(f"`e^({_times(times)}residual) - 1`", table)


def nonnegative(expression: sympy.Expr, *, strictly: bool = False) -> Outcome:
    """Prove `expression` >= 0 (or > 0) for all admissible symbols. Raises NotProved."""
    expression = resolved(expression)
    accepted = (POSITIVE,) if strictly else (POSITIVE, NONNEGATIVE, 0)
    table = Generators()
    value = table.rewrite(expression)
    if table.sign(value) in accepted:
        return _signed("the difference", table, value)
    if expression.has(sympy.log):
        defined(expression)
        times, ratio = _exponentiated(expression)
        table = Generators()
        value = table.rewrite(ratio - 1)
        if table.sign(value) in accepted:
            return _signed(f"`e^({_times(times)}difference) - 1`", table, value)
    raise NotProved(f"{shown(expression)} {'>' if strictly else '>='} 0 was not shown")


def defined(expression: sympy.Expr) -> None:
    """Prove that `expression` is a finite real number for all admissible symbols: logarithms of positive numbers, even roots of
    non-negative ones, no division by zero. Raises NotProved."""
    if expression.has(sympy.zoo, sympy.nan, sympy.oo, sympy.I):
        raise NotProved(f"{shown(expression)} is not a real number")
    for part in sympy.preorder_traversal(expression):
        if isinstance(part, sympy.log):
            _require(part.args[0], (POSITIVE,), f"the logarithm of {shown(part.args[0])}")
        elif part.is_Pow and not isinstance(part, sympy.exp):
            base, exponent = part.args
            if exponent.is_Integer and exponent < 0:
                _require(base, (POSITIVE, -POSITIVE), f"division by {shown(base)}")
            elif not exponent.is_Integer:
                accepted = (POSITIVE,) if exponent.is_negative is not False else (POSITIVE, NONNEGATIVE, 0)
                _require(base, accepted, f"a root of {shown(base)}")


def majorised(expression: sympy.Expr) -> tuple[sympy.Expr, list[tuple[sympy.Expr, sympy.Expr]]]:
    """A lower bound of `expression`, made by replacing each special function with a trusted upper bound of it.

    Each must occur linearly, with a coefficient that is proved to be <= 0 and an argument that is proved to lie where
    the bound holds.
    Returns the lower bound, and each function with the bound that replaced it.
    """
    used = []
    for atom in sorted(expression.atoms(*FACTS), key=sympy.default_sort_key):
        facts = FACTS[type(atom)]
        bound = facts.tail_bound(*atom.args)
        nonnegative(atom.args[0])
        if facts.largest is not None:
            nonnegative(facts.largest - atom.args[0])
        place = sympy.Symbol("place", real=True)
        coefficient = sympy.diff(expression.xreplace({atom: place}), place)
        if coefficient.has(place):
            raise NotProved(f"{atom} does not occur linearly in {shown(expression)}")
        nonnegative(-coefficient)
        expression = expression.xreplace({atom: bound})
        used.append((atom, bound))
    return expression, used


def shown(expression: sympy.Expr) -> str:
    """An expression for a message: cut where it is long."""
    text = str(expression).replace("**", "^")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"


def _require(expression: sympy.Expr, accepted: tuple[int, ...], what: str) -> None:
    table = Generators()
    if table.sign(table.rewrite(resolved(expression))) not in accepted:
        raise NotProved(f"{what} is not shown to be allowed")


def _exponentiated(expression: sympy.Expr) -> tuple[int, sympy.Expr]:
    """n and e^(n expression), where n clears the denominators of the coefficients of the logarithms."""
    terms = sympy.Add.make_args(sympy.expand(expression, log=False, power_exp=False, power_base=False))
    factors = [term.as_coeff_Mul() for term in terms]
    times = lcm(*(int(factor.q) for factor, rest in factors if isinstance(rest, sympy.log)))
    return times, sympy.exp(times * expression)


def _times(times: int) -> str:
    return "" if times == 1 else f"{times} * "


def _vanished(subject: str, table: Generators) -> Outcome:
    return Outcome(
        generators=tuple(table.generators()),
        verdict=f"{subject} is a rational function of {{}} whose numerator is 0",
        without_generators=f"{subject} cancels to 0",
    )


def _signed(subject: str, table: Generators, value: sympy.Expr) -> Outcome:
    times = " (some after multiplication by a positive polynomial)" if table.multiplied else ""
    factors = f"{subject} factors into polynomials with coefficients of one sign{times}"
    return Outcome(
        generators=tuple(table.generators(shifted=True)),
        verdict=f"{factors} in the positive quantities {{}}",
        without_generators=f"{subject} is {value}" if value.is_Rational else factors,
    )
