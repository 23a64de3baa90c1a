"""Whether an outsider (`outsiders`) agrees with an answer: confirmed, bounded from one side, undecided, or wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import independent
from drawn_requests import Request
from independent import CannotTell
from independent_finite import polygon_mu, polygon_trade_off
from mpmath import mp, mpf
from outsiders import Stairs, bounded_level, exactly

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.mechanisms._bounded import BoundedOutput
from dpverify.mechanisms._selection import Selection

DIGITS = 15

CONFIRMED, ONE_SIDED, UNDECIDED, WRONG = "confirmed", "one-sided", "undecided", "wrong"


def within(answer: Any, value: Any, error: Any) -> str:
    """Whether an enclosure holds an independent value."""
    if isinstance(answer, Enclosure) and answer.is_infinite:
        return CONFIRMED if mp.isinf(value) else WRONG
    low, high = ends(answer)
    slack = 10 * error + abs(value) * mpf(10) ** -29
    if low == high and value == low:
        return CONFIRMED
    if low - slack <= value <= high + slack:
        return CONFIRMED if error <= abs(value) * mpf(10) ** -28 or value == low == high else UNDECIDED
    return WRONG


def ends(answer: Any) -> tuple[Any, Any]:
    """Both ends of an answer; a second opinion is good to its digits."""
    if isinstance(answer, Enclosure):
        return exactly(answer.exact_lower), exactly(answer.exact_upper)
    slack = abs(answer) * mpf(10) ** -(DIGITS - 1)
    return mpf(answer) - slack, mpf(answer) + slack


def least(answer: Any, excess: Callable[[Any], tuple[Any, Any]]) -> str:
    """Whether the least parameter lies within an enclosure: `excess` (value, error), which falls, is not positive at the upper
    end, and not negative at the lower one. A least safe double: positive at the double below it."""
    if isinstance(answer, Enclosure):
        low, high = answer.exact_lower, answer.exact_upper
        if low == high:
            low = low * (1 - Fraction(1, 10**20))
    elif isinstance(answer, (int, float)):
        low, high = Fraction(math.nextafter(answer, 0)), Fraction(answer)
    else:
        low, high = Fraction(str(mpf(answer) * (1 - mpf(10) ** -14))), Fraction(str(mpf(answer) * (1 + mpf(10) ** -14)))
    value, error = excess(high)
    if value > 10 * error:
        return WRONG
    found = CONFIRMED if value < -10 * error or error == 0 or answer_is_exact(answer) else UNDECIDED
    if low <= 0:
        return found
    value, error = excess(low)
    if value < -10 * error:
        return WRONG
    return found if value > 10 * error else UNDECIDED


def answer_is_exact(answer: Any) -> bool:
    """Whether the upper end is the answer itself."""
    return answer.is_exact if isinstance(answer, Enclosure) else isinstance(answer, (int, float))


def judged(request: Request, answer: Any) -> str:
    """What the outsider says about an answer."""
    question = request.question
    if issubclass(request.family, BoundedOutput):
        return _judged_bounded(request, answer)
    who, distance = request.outsider(), request.distance()
    scale = request.at(request.scale) if request.scale else None
    eps, delta = exactly(request.epsilon), exactly(request.delta)
    of = request.extra.get("of", question)
    if of == "delta":
        return within(answer, *who.positive(scale, distance, eps))
    if question == "total variation":
        return within(answer, *who.positive(scale, distance, mpf(0)))
    if question == "probability":
        return within(answer, *who.mass(scale, distance, eps))
    if question == "loss cdf":
        if who.law is None:
            value, error = who.mass(scale, distance, eps)
            return within(answer, 1 - value, error)
        d = (2 * distance if issubclass(request.family, Selection) else distance) / exactly(scale)
        return within(answer, *independent.mass_above(who.law, d, eps, below=True))
    if of == "epsilon":
        return least(answer, lambda e: _excess(who, scale, distance, exactly(e), delta))
    if question in ("bound", "calibrate"):
        if request.name == "custom-noise" and isinstance(answer, float):
            return _custom_double(request, answer, who, distance, eps, delta)
        return least(answer, lambda s: _excess(who, request.at(s), distance, eps, delta))
    if question == "bound probabilistic":
        return least(answer, lambda s: _mass_excess(who, request.at(s), distance, eps, delta))
    if question == "least probabilistic epsilon":
        return least(answer, lambda e: _mass_excess(who, scale, distance, exactly(e), delta))
    if question == "renyi":
        return within(answer, *who.renyi(scale, distance, exactly(request.extra["order"])))
    if question == "mean loss":
        return within(answer, *who.renyi(scale, distance, mpf(1)))
    if question == "rho":
        return _judged_rho(answer, lambda order: who.renyi(scale, distance, order))
    if issubclass(request.family, Selection):
        distance = 2 * distance
        scale = exactly(scale)
    if who.law is None:
        return _judged_outcomes(request, answer, who, scale, distance)
    return _judged_noise(request, answer, who.law, distance / scale, scale)


def _judged_outcomes(request: Request, answer: Any, who: Any, scale: Any, distance: Any) -> str:
    """Questions about laws that are sums over few outcomes."""
    if request.question == "trade-off":
        value = polygon_trade_off(who.outcomes(scale, distance), exactly(request.extra["level"]))
        return within(answer, value, value * mpf(10) ** -30 + mpf(10) ** -58)
    if request.question == "mu":
        if answer.is_infinite:
            return CONFIRMED if mp.isinf(who.largest(scale, distance)) else WRONG
        value = polygon_mu(who.outcomes(scale, distance))
        if value > ends(answer)[1] * (1 + mpf(10) ** -27):
            return WRONG
        return CONFIRMED if value >= ends(answer)[0] * (1 - mpf(10) ** -27) else ONE_SIDED
    if isinstance(who, Stairs) and request.question in ("variance", "tail probability"):
        scale = exactly(scale)
        if request.question == "variance":
            value = scale**2 * mp.fsum(2 * height * (b**3 - a**3) / 3 for a, b, height in who.edges())
        else:
            bound = exactly(request.extra["bound"]) / scale
            value = mp.fsum(2 * height * (b - max(a, bound)) for a, b, height in who.edges() if b > bound)
        return within(answer, value, value * mpf(10) ** -32)
    raise CannotTell("no independent route for this question")


def _excess(who: Any, scale: Any, distance: Any, eps: Any, delta: Any) -> tuple[Any, Any]:
    if delta == 0:
        largest = who.largest(scale, distance)
        return largest - eps, (largest + eps) * mpf(10) ** -35
    value, error = who.positive(scale, distance, eps)
    return value - delta, error + delta * mpf(10) ** -35


def _mass_excess(who: Any, scale: Any, distance: Any, eps: Any, delta: Any) -> tuple[Any, Any]:
    if delta == 0:
        return _excess(who, scale, distance, eps, delta)
    value, error = who.mass(scale, distance, eps)
    return value - delta, error + delta * mpf(10) ** -35


def _custom_double(request: Request, answer: float, who: Any, distance: Any, eps: Any, delta: Any) -> str:
    """Integrals do not show that a value is a double: the answer may be the second least one."""
    value, error = _excess(who, request.at(answer), distance, eps, delta)
    below = math.nextafter(math.nextafter(answer, 0), 0)
    under, doubt = _excess(who, request.at(below), distance, eps, delta)
    if value > 10 * error or under < -10 * doubt:
        return WRONG
    return CONFIRMED if under > 10 * doubt else UNDECIDED


def _judged_noise(request: Request, answer: Any, law: Any, d: Any, scale: Any) -> str:
    question = request.question
    if question == "variance":
        if request.name == "gumbel" or request.shape.get("density") == "exp(-x-exp(-x))":
            return within(answer, scale**2 * mp.pi**2 / 6, mpf(0))
        if answer.is_infinite:
            return CONFIRMED if law.heavy and float(request.shape.get("nu", 9)) <= 2 else WRONG
        value, error = independent.moment(law, 2)
        return within(answer, scale**2 * value, scale**2 * error)
    if question == "tail probability":
        bound = exactly(request.extra["bound"]) / scale
        above, below = independent.upper_mass(law, bound), independent.upper_mass(law.mirrored(), bound)
        return within(answer, above[0] + below[0], above[1] + below[1])
    if question == "trade-off":
        if law.turning(mpf(1)):
            raise CannotTell("the best tests are no half lines")
        level = exactly(request.extra["level"])
        value = independent.trade_off(law, d, level)
        if not law.symmetric:  # the convex envelope of two: under both, and above every chord of the profile
            under = [1 - independent.hockey_stick(law, d, e)[0] - mp.exp(e) * level for e in (-d / 2, mpf(0), d / 2)]
            low, high = ends(answer)
            return ONE_SIDED if max(under) <= high and low <= value else WRONG
        return within(answer, value, value * mpf(10) ** -30)
    return _judged_mu(answer, law, d)


def _judged_rho(answer: Any, divergence: Callable[[Any], tuple[Any, Any]]) -> str:
    """rho is the largest divergence over the order, which tends to the mean loss at order 1: never below a sample, and
    confirmed where it is that mean loss."""
    mean = divergence(mpf(1))
    if within(answer, *mean) == CONFIRMED:
        return CONFIRMED
    samples = [divergence(order)[0] / order for order in (mpf(5) / 4, mpf(2), mpf(6))]
    if answer.is_infinite:
        return CONFIRMED if mp.inf in samples or mp.isinf(mean[0]) else ONE_SIDED
    return WRONG if max(*samples, mean[0]) > ends(answer)[1] * (1 + mpf(10) ** -28) else ONE_SIDED


def _judged_mu(answer: Any, law: Any, d: Any) -> str:
    """mu is the largest gap of normal quantiles over half lines: never below a sample, and confirmed where one reaches it."""

    def normal(x: Any) -> Any:
        above, below = independent.upper_mass(law, x)[0], independent.upper_mass(law.mirrored(), -x)[0]
        tail = min(above, below)
        if tail < mpf(10) ** -25:
            return None
        return (1 if above < below else -1) * mp.sqrt(2) * mp.erfinv(1 - 2 * tail)

    if answer.is_infinite:
        return CONFIRMED if mp.isinf(independent.renyi(law, d, mpf(1))[0]) else ONE_SIDED

    found = []
    for x in (d / 2, d / 2 + mpf(1) / 3, d / 2 + 2):
        high, low = normal(x), normal(x - d)
        if high is not None and low is not None:
            found.append(high - low)
    if not found:
        raise CannotTell("no quantiles so far out")
    if max(found) > ends(answer)[1] * (1 + mpf(10) ** -27):
        return WRONG
    low, high = ends(answer)
    return CONFIRMED if low * (1 - mpf(10) ** -27) <= max(found) else ONE_SIDED


def _judged_bounded(request: Request, answer: Any) -> str:
    eps = exactly(request.epsilon)

    def level(scale: Any) -> tuple[Any, Any]:
        return bounded_level(request.name, request.shape, scale, request.sensitivity)

    if request.question == "epsilon":
        return within(answer, *level(request.scale))
    if request.question == "delta":  # answered where it is 0
        value, error = level(request.scale)
        return WRONG if value - error > eps or answer.exact_upper > 0 else CONFIRMED

    def excess(scale: Any) -> tuple[Any, Any]:
        value, error = level(scale)
        return value - eps, error

    return least(answer, excess)
