"""From Renyi divergences to approximate DP.

A divergence of order a that is at most r gives, for every epsilon,
delta <= e^{(a - 1)(r - epsilon)} (1 - 1/a)^a / (a - 1).
[C. Canonne, G. Kamath, T. Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Proposition 12]

With a curve of orders the least of these holds. For zCDP (r = a rho) its minimum over a > 1 is certified: the derivative of
the logarithm increases, so it has one zero, which is enclosed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flint import arb, fmpq

from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number
from dpverify.enclose.refine import check_digits, enclose
from dpverify.enclose.root import positive_root
from dpverify.errors import ImpossibleRequest
from dpverify.notions._checks import above_one, checked_delta, checked_epsilon, not_negative


def delta_from_renyi(order: Number, divergence: Number, epsilon: Number, *, digits: int = 15) -> Enclosure:
    """The delta that one order gives: min(1, e^{(a - 1)(r - epsilon)} (1 - 1/a)^a / (a - 1)); a > 1, r >= 0, epsilon >= 0."""
    a, r, eps = above_one(order, "order"), not_negative(divergence, "divergence"), checked_epsilon(epsilon)
    return enclose(
        lambda bits: delta_formula(a, arb(r), eps).min(arb(1)),
        check_digits(digits),
        what=lambda: f"delta at epsilon = {brief(eps)} from a Renyi divergence of {r} at order {a}",
    )


def epsilon_from_renyi(order: Number, divergence: Number, delta: Number, *, digits: int = 15) -> Enclosure:
    """The epsilon that one order gives: max(0, r + log(1 - 1/a) - (log delta + log a)/(a - 1)), for 0 < delta < 1."""
    a, r, exact = above_one(order, "order"), not_negative(divergence, "divergence"), some_delta(delta)
    return enclose(
        lambda bits: epsilon_formula(a, arb(r), exact).max(arb(0)),
        check_digits(digits),
        what=lambda: f"epsilon at delta = {exact} from a Renyi divergence of {r} at order {a}",
    )


def delta_formula(order: fmpq, divergence: arb, eps: fmpq) -> arb:
    """The formula of this module, in balls."""
    rest = arb(order - 1)
    return (rest * (divergence - arb(eps)) + arb(order) * (-1 / arb(order)).log1p()).exp() / rest


def epsilon_formula(order: fmpq, divergence: arb, delta: fmpq) -> arb:
    """The same, solved for epsilon."""
    return divergence + (-1 / arb(order)).log1p() - (arb(delta) * arb(order)).log() / arb(order - 1)


def delta_from_zcdp(rho: Number, epsilon: Number, *, digits: int = 15) -> Enclosure:
    """The least delta that the conversion gives for rho-zCDP at `epsilon`, over all orders; exactly 0 where rho is.

    The logarithm of the bound at a = 1 + b, (b + 1) b rho - b epsilon - log b + (b + 1) log(b/(b + 1)), has the derivative
    (2b + 1) rho - epsilon + log(b/(b + 1)), which increases from -infinity to +infinity.
    """
    exact, eps = not_negative(rho, "rho"), checked_epsilon(epsilon)
    if exact == 0:
        return Enclosure(fmpq(0), digits=check_digits(digits))
    slack = eps - exact

    def rise(b: arb) -> arb:
        """e to the derivative; it passes 1 at the minimum."""
        return (2 * b * arb(exact) - arb(slack)).exp() * b / (1 + b)

    def value(bits: int) -> arb:
        b = positive_root(rise, lambda b: rise(b) * (2 * arb(exact) + 1 / (b * (1 + b))), fmpq(1), increasing=True, bits=bits)
        exponent = (b + 1) * b * arb(exact) - b * arb(eps) - (1 + b) * (1 / b).log1p()
        return exponent.exp() / b

    return enclose(
        value, check_digits(digits), what=lambda: f"delta at epsilon = {brief(eps)} from {exact}-zCDP", within=(0, 1)
    )


def epsilon_from_zcdp(rho: Number, delta: Number, *, digits: int = 15) -> Enclosure:
    """The least epsilon that the conversion gives for rho-zCDP at `delta`, over all orders; exactly 0 where rho is.

    The bound at a = 1 + b, (1 + b) rho - log(1 + 1/b) - log((1 + b) delta)/b, has the derivative
    rho + log((1 + b) delta)/b^2, whose sign is that of rho b^2 + log(1 + b) + log delta, which increases.
    """
    exact, level = not_negative(rho, "rho"), some_delta(delta)
    if exact == 0:
        return Enclosure(fmpq(0), digits=check_digits(digits))

    def rise(b: arb) -> arb:
        return (arb(exact) * b * b).exp() * (1 + b)

    def value(bits: int) -> arb:
        b = positive_root(rise, lambda b: rise(b) * (2 * arb(exact) * b + 1 / (1 + b)), 1 / level, increasing=True, bits=bits)
        found = (1 + b) * arb(exact) - (1 / b).log1p() - ((1 + b) * arb(level)).log() / b
        return found.max(arb(0))

    return enclose(value, check_digits(digits), what=lambda: f"epsilon at delta = {level} from {exact}-zCDP")


def rho_for(epsilon: Number, delta: Number, *, digits: int = 15) -> Enclosure:
    """The largest rho for which `delta_from_zcdp` is at most delta: what a zCDP budget may be for (epsilon, delta)-DP.

    `epsilon` >= 0, 0 < `delta` < 1. Its `.lower` is the safe double. The bound at the best order increases with rho.
    """
    eps, level = checked_epsilon(epsilon), some_delta(delta)

    def value(bits: int) -> arb:
        # At the best order both log bound = log delta and derivative = 0 hold; eliminating rho leaves one equation in b:
        # rho = (eps + log(1 + 1/b)) / (2b + 1) from the second, put into the first.
        def rho_at(b: arb) -> arb:
            return (arb(eps) + (1 / b).log1p()) / (2 * b + 1)

        def bound(b: arb) -> arb:
            exponent = (b + 1) * b * rho_at(b) - b * arb(eps) - (1 + b) * (1 / b).log1p()
            return exponent.exp() / b

        def slope(b: arb) -> arb:
            return -bound(b) * b * (b + 1) * (2 * rho_at(b) + 1 / (b * (b + 1))) / (2 * b + 1)

        return rho_at(positive_root(bound, slope, level, increasing=False, bits=bits))

    return enclose(value, check_digits(digits), what=lambda: f"the zCDP budget for epsilon = {brief(eps)}, delta = {level}")


def best_order(cost: Callable[[fmpq], float]) -> fmpq:
    """An order > 1 at which a unimodal cost (in floating point) is about least. Nothing that is claimed rests on it."""
    low, high = -40.0, 40.0  # of log(order - 1)
    inner, outer = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    left, right = cost(_order(inner)), cost(_order(outer))
    for _ in range(60):
        if left <= right:
            high, outer, right = outer, inner, left
            inner = high - _GOLDEN * (high - low)
            left = cost(_order(inner))
        else:
            low, inner, left = inner, outer, right
            outer = low + _GOLDEN * (high - low)
            right = cost(_order(outer))
    return _order((low + high) / 2)


_GOLDEN = 0.6180339887498949


def _order(x: float) -> fmpq:
    """1 + e^x to 24 bits: a short rational, so that what is computed at it stays quick."""
    mantissa, exponent = math.frexp(math.exp(x))
    return 1 + fmpq(round(mantissa * 2**24)) * fmpq(2) ** (exponent - 24)


def some_delta(value: Number) -> fmpq:
    """0 < delta < 1."""
    number = checked_delta(value)
    if number == 0:
        raise ImpossibleRequest("delta = 0: a bound on a Renyi divergence of finite order never gives pure DP; give delta > 0.")
    return number
