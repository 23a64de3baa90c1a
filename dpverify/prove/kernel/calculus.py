"""Symbolic differentiation. The result is not simplified beyond dropping zeros and ones."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from dpverify.prove.kernel.terms import Call, Rejected, Term, free

ZERO, ONE, TWO = Fraction(0), Fraction(1), Fraction(2)


@lru_cache(maxsize=2048)
def derivative(term: Term, name: str) -> Term:
    """d term / d name, wherever the term is differentiable. Raises Rejected where the kernel knows no rule."""
    if name not in free(term):
        return ZERO
    if isinstance(term, str):
        return ONE
    assert isinstance(term, Call)  # a number has no variables
    args = term.args
    slopes = [derivative(argument, name) for argument in args]
    match term.head:
        case "+":
            return plus(*slopes)
        case "-":
            return minus(*slopes)
        case "*":
            return plus(*(times(*args[:i], slope, *args[i + 1 :]) for i, slope in enumerate(slopes)))
        case "/":
            return minus(over(slopes[0], args[1]), over(times(args[0], slopes[1]), times(args[1], args[1])))
        case "^" if isinstance(args[1], Fraction):
            return times(args[1], Call("^", (args[0], args[1] - 1)), slopes[0])
        case "^":
            return times(term, plus(times(slopes[1], Call("log", (args[0],))), over(times(args[1], slopes[0]), args[0])))
        case "exp":
            return times(term, slopes[0])
        case "log":
            return over(slopes[0], args[0])
        case "sqrt":
            return over(slopes[0], times(TWO, term))
        case "phi":
            return times(Fraction(-1), args[0], term, slopes[0])
        case "Phi":
            return times(Call("phi", args), slopes[0])
        case "erfc":  # -2/sqrt(pi) e^(-x^2)
            kernel = Call("exp", (times(Fraction(-1), args[0], args[0]),))
            return over(times(Fraction(-2), kernel, slopes[0]), Call("sqrt", (Call("pi", ()),)))
        case "gammaq" if name not in free(args[0]):  # -x^(a-1) e^-x / Gamma(a)
            power = Call("exp", (minus(times(minus(args[0], ONE), Call("log", (args[1],))), args[1]),))
            return over(times(Fraction(-1), power, slopes[1]), Call("gamma", (args[0],)))
        case _:
            raise Rejected(f"{term.head} is not differentiated with respect to {name}")


def plus(*terms: Term) -> Term:
    """The sum without its zeros."""
    kept = [term for term in terms if term != 0]
    return ZERO if not kept else kept[0] if len(kept) == 1 else Call("+", tuple(kept))


def minus(*terms: Term) -> Term:
    """The negative of one term, or the difference of two."""
    if len(terms) == 1:
        return times(Fraction(-1), terms[0])
    return terms[0] if terms[1] == 0 else minus(terms[1]) if terms[0] == 0 else Call("-", terms)


def times(*terms: Term) -> Term:
    """The product without its ones."""
    kept = [term for term in terms if term != 1]
    if 0 in kept:
        return ZERO
    return ONE if not kept else kept[0] if len(kept) == 1 else Call("*", tuple(kept))


def over(above: Term, below: Term) -> Term:
    """The quotient."""
    return ZERO if above == 0 else Call("/", (above, below))
