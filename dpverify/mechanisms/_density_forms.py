"""Densities as expressions: their parts, logarithms and limits, and what their form alone shows. No number is computed here."""

from __future__ import annotations

import sympy
from flint import fmpq

from dpverify.errors import InputError
from dpverify.mechanisms._density_text import X

_LONGEST_PROOF = 400
"""Operations in an expression beyond which exact algebra is not tried: it might take minutes."""
_LONGEST_NUMBER = 400
"""The same for the bits of one number: polynomials with long coefficients are slow to factor."""


def logarithm(body: sympy.Expr) -> sympy.Expr:
    """log(body), taken apart where the parts are positive."""
    if isinstance(body, sympy.exp):
        return body.args[0]
    if body.is_Mul and not any(part.is_Number and part < 0 for part in body.args):
        return sympy.Add(*(logarithm(part) for part in body.args))
    if body.is_Pow and is_positive(body.args[0]):
        return body.args[1] * logarithm(body.args[0])
    return sympy.log(body)


def is_positive(expression: sympy.Expr) -> bool:
    """Whether the form of the expression alone shows that it is >= 0 for every real x (and not 0 everywhere)."""
    if expression.is_Number:
        return bool(expression > 0)
    if expression.is_Symbol:
        return bool(expression.is_positive)
    if expression in (sympy.pi, sympy.E) or isinstance(expression, (sympy.exp, sympy.cosh, sympy.sech, sympy.erfc, sympy.Abs)):
        return True
    if expression.is_Add or expression.is_Mul:
        return all(is_positive(part) for part in expression.args)
    if expression.is_Pow:
        base, exponent = expression.args
        return is_positive(base) or (exponent.is_Integer and int(exponent) % 2 == 0)
    return isinstance(expression, sympy.gamma) and is_positive(expression.args[0])


def has_no_zero(expression: sympy.Expr) -> bool:
    """Whether the form of the expression alone shows that it is > 0 for every real x."""
    if expression.is_Add:
        return is_positive(expression) and any(has_no_zero(part) for part in expression.args)
    if expression.is_Mul:
        return all(has_no_zero(part) for part in expression.args)
    if expression.is_Pow and not isinstance(expression, sympy.exp):
        return has_no_zero(expression.args[0])
    return is_positive(expression) and not isinstance(expression, sympy.Abs)


def support_of(expression: sympy.Expr) -> tuple[sympy.Expr, fmpq | None, fmpq | None]:
    """(formula, low, high) of Piecewise((formula, interval), (0, True)), or of a formula on the whole line."""
    if not expression.has(sympy.Piecewise):
        return expression, None, None
    shape = "write Piecewise((formula, (x >= a) & (x <= b)), (0, True))"
    if not isinstance(expression, sympy.Piecewise) or len(expression.args) != 2 or expression.args[1][0] != 0:
        raise InputError(f"density: only a support may be given by Piecewise; {shape}.")
    body, condition = expression.args[0]
    interval = condition.as_set()
    if not isinstance(interval, sympy.Interval) or expression.args[1][1] != sympy.true:
        raise InputError(f"density: the support {condition} is no interval; {shape}.")
    ends: list[fmpq | None] = []
    for end in (interval.start, interval.end):
        if end.is_infinite:
            ends.append(None)
        elif end.is_Rational:
            ends.append(rational(end))
        else:
            raise InputError(f"density: the support ends at {end}, which is not rational; {shape}.")
    return body, ends[0], ends[1]


def mirrored_form(expression: sympy.Expr) -> sympy.Expr:
    body, low, high = support_of(expression)
    turned = body.xreplace({X: -X})
    if low is None and high is None:
        return turned
    inside = [-sympy.Rational(str(high)) <= X] if high is not None else []
    inside += [-sympy.Rational(str(low)) >= X] if low is not None else []
    return sympy.Piecewise((turned, sympy.And(*inside)), (0, True))


def inverted_form(body: sympy.Expr) -> sympy.Expr | None:
    """f(1/x)/x^2, which is f(t) |dt/dx| at t = 1/x, where it is smooth at x = 0 and f is a product of powers of rational
    functions; else None. Powers stay powers: multiplied out, one of a high order would fill the memory.

    A rational function of degree n is t^n r(1/t), and r(0) is neither 0 nor infinite.
    """
    degree: sympy.Expr = sympy.Integer(-2)
    factors = []
    for factor in sympy.Mul.make_args(body):
        base, exponent = factor.as_base_exp()
        if not base.has(X) and not exponent.has(X):
            factors.append(factor)
            continue
        if not (exponent.is_Rational and base.is_rational_function(X)) or is_long(base):
            return None
        above, below = (sympy.Poly(part, X) for part in sympy.fraction(sympy.cancel(sympy.together(base))))
        leading = above.LC() / below.LC()
        if not (exponent.is_Integer or leading.is_positive):
            return None
        degree -= (above.degree() - below.degree()) * exponent
        factors.append((_reversed(above) / _reversed(below)) ** exponent)
    if not (degree.is_Integer and degree >= 0):
        return None
    return sympy.Mul(X**degree, *factors)


def _reversed(polynomial: sympy.Poly) -> sympy.Expr:
    """t^n p(1/t)."""
    terms: sympy.Expr = sympy.Add(*(value * X ** (polynomial.degree() - power) for (power,), value in polynomial.terms()))
    return terms


def limit_at_infinity(slope: sympy.Expr) -> sympy.Expr | None:
    """The limit of (log f)' at infinity where it is a rational function of x, or of e^x: by degrees alone. None: not known."""
    above, below = sympy.fraction(sympy.cancel(sympy.together(slope)))
    if above.is_polynomial(X) and below.is_polynomial(X):
        return _ratio_at_infinity(sympy.Poly(above, X), sympy.Poly(below, X))
    grown = sympy.Symbol("v", positive=True)
    expanded = sympy.expand(slope.rewrite(sympy.exp), power_exp=True)
    places = {
        part: grown ** part.args[0].coeff(X) for part in expanded.atoms(sympy.exp) if part.args[0] == part.args[0].coeff(X) * X
    }
    if not all(part.args[0].coeff(X).is_Integer for part in places):
        return None
    rational = expanded.xreplace(places)
    if rational.has(X):
        return None
    above, below = sympy.fraction(sympy.cancel(sympy.together(rational)))
    if not (above.is_polynomial(grown) and below.is_polynomial(grown)):
        return None
    return _ratio_at_infinity(sympy.Poly(above, grown), sympy.Poly(below, grown))


def _ratio_at_infinity(above: sympy.Poly, below: sympy.Poly) -> sympy.Expr:
    if above.degree() > below.degree():
        return sympy.oo * sympy.sign(above.LC() / below.LC())
    found: sympy.Expr = above.LC() / below.LC() if above.degree() == below.degree() else sympy.Integer(0)
    return found


def rational(number: sympy.Rational) -> fmpq:
    return fmpq(int(number.p), int(number.q))


def is_long(expression: sympy.Expr) -> bool:
    """Whether exact algebra might take minutes."""
    numbers = (max(abs(int(n.p)), int(n.q)) for n in expression.atoms(sympy.Rational))
    return bool(sympy.count_ops(expression) > _LONGEST_PROOF) or any(n.bit_length() > _LONGEST_NUMBER for n in numbers)
