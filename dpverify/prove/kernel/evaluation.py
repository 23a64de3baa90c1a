"""Terms on boxes: evaluation with outward rounding, and a sharper form that uses derivatives.

A term that is evaluated to an interval is defined on the whole box: every function refuses arguments outside its domain.
"""

from __future__ import annotations

from decimal import Decimal, DecimalException
from fractions import Fraction
from typing import TYPE_CHECKING

from dpverify.prove.kernel.calculus import derivative
from dpverify.prove.kernel.intervals import Arithmetic, Interval
from dpverify.prove.kernel.terms import Call, Rejected, Term, free

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Box = dict[str, Interval]
TWO = Interval(Decimal(2), Decimal(2))
MOST_TRIALS = 5_000
LARGEST_EXPONENT = 5_000


def evaluate(term: Term, box: Mapping[str, Interval], arithmetic: Arithmetic) -> Interval:
    """An interval that holds the term's value at every point of the box. Raises Rejected where that is not certain."""
    try:
        return _evaluate(term, box, arithmetic)
    except DecimalException as error:
        raise Rejected(f"decimal arithmetic refused: {type(error).__name__}") from error


def _evaluate(term: Term, box: Mapping[str, Interval], m: Arithmetic) -> Interval:
    if isinstance(term, Fraction):
        return m.exact(term)
    if isinstance(term, str):
        if term not in box:
            raise Rejected(f"the variable {term} has no value here")
        return box[term]
    if term.head == "tail":
        return m.binomial_tail(*_binomial(term), _evaluate(term.args[2], box, m))
    if term.head == "^" and isinstance(term.args[1], Fraction) and term.args[1].denominator == 1:
        if abs(term.args[1]) > LARGEST_EXPONENT:
            raise Rejected("an exponent is too large")
        return m.power(_evaluate(term.args[0], box, m), term.args[1].numerator)
    values = [_evaluate(argument, box, m) for argument in term.args]
    return _apply(term.head, values, m)


def _apply(head: str, values: list[Interval], m: Arithmetic) -> Interval:
    direct: dict[str, Callable[..., Interval]] = {"/": m.divide, "exp": m.exp, "log": m.log, "sqrt": m.sqrt, "pi": m.pi}
    direct |= {"Phi": m.normal_cdf, "gamma": m.gamma, "gammaq": m.upper_gamma}
    match head:
        case "+":
            total = values[0]
            for value in values[1:]:
                total = m.add(total, value)
            return total
        case "*":
            total = values[0]
            for value in values[1:]:
                total = m.multiply(total, value)
            return total
        case "-":
            return m.negate(values[0]) if len(values) == 1 else m.add(values[0], m.negate(values[1]))
        case "^":
            return m.exp(m.multiply(values[1], m.log(values[0])))
        case "phi":
            half_square = m.divide(m.power(values[0], 2), TWO)
            return m.divide(m.exp(m.negate(half_square)), m.sqrt(m.multiply(TWO, m.pi())))
        case "erfc":  # erfc(x) = 2 Phi(-sqrt(2) x)
            return m.multiply(TWO, m.normal_cdf(m.negate(m.multiply(m.sqrt(TWO), values[0]))))
        case _:
            return direct[head](*values)


def _binomial(term: Call) -> tuple[int, int]:
    m, k = term.args[:2]
    if not (isinstance(m, Fraction) and isinstance(k, Fraction) and m.denominator == k.denominator == 1):
        raise Rejected("tail needs whole numbers")
    if not 0 <= m <= MOST_TRIALS or not 0 <= k <= MOST_TRIALS:
        raise Rejected("tail has too many trials")
    return int(m), int(k)


def refined(term: Term, box: Box, arithmetic: Arithmetic) -> Interval:
    """As `evaluate`, with a lower end that is sharper on small boxes: monotone variables at an end, the mean-value form else.

    For x, c in the box, f(x) = f(c) + sum_i f_i(z) (x_i - c_i) with z on the segment between them; where f_i has one sign, the
    least value lies on a face of variable i. The term was evaluated on the whole box first, so it is defined there.
    """
    m = arithmetic
    whole = evaluate(term, box, m)
    below, slopes = dict(box), {}
    for name in sorted(free(term)):
        slope = evaluate(derivative(term, name), box, m)
        if slope.low >= 0:
            below[name] = Interval(box[name].low, box[name].low)
        elif slope.high <= 0:
            below[name] = Interval(box[name].high, box[name].high)
        else:
            slopes[name] = slope
    return Interval(max(whole.low, _mean_value(term, below, slopes, m).low), whole.high)


def _mean_value(term: Term, box: Box, slopes: Mapping[str, Interval], m: Arithmetic) -> Interval:
    centre = dict(box)
    for name in slopes:
        middle = m.down.divide(m.down.add(box[name].low, box[name].high), TWO.low)
        centre[name] = Interval(middle, middle)
    total = evaluate(term, centre, m)
    for name, slope in slopes.items():
        total = m.add(total, m.multiply(slope, m.add(box[name], m.negate(centre[name]))))
    return total
