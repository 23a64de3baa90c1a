"""The truncated Laplace mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar, Self

from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.enclose.decide import is_above
from dpverify.enclose.refine import check_digits, enclose
from dpverify.errors import ImpossibleRequest
from dpverify.mechanisms._bounded_support import BoundedSupportNoise
from dpverify.mechanisms._parameters import Parameter, checked_delta, checked_epsilon, checked_sensitivity, scale_parameter

_ONE, _HALF = fmpq(1), fmpq(1, 2)


class TruncatedLaplace(BoundedSupportNoise):
    """Add Laplace noise conditioned to |noise| <= cutoff * scale; the density is proportional to exp(-|x/scale|) there.

    With a = cutoff, d = sensitivity/scale, for eps >= 0:
    - eps < d and eps < 2a - d:  delta = (1 - e^((eps - d)/2) + e^-a (e^eps - 1)/2) / (1 - e^-a);
    - else the probability of outputs that only one neighbour produces: (e^d - 1) / (2 (e^a - 1)) for d <= a,
      1/2 + (1 - e^(a - d)) / (2 (1 - e^-a)) for a <= d <= 2a, and 1 beyond.
    The mechanism as it was published has scale = sensitivity/epsilon and the least cutoff: see `published`. `bound` and
    `calibrate` look for the least scale at a given cutoff.
    [Q. Geng, W. Ding, R. Guo, S. Kumar, "Tight Analysis of Privacy and Utility Tradeoff in Approximate Differential Privacy",
    AISTATS 2020]
    """

    __slots__ = ()
    name = "truncated-laplace"
    scale = scale_parameter()
    cutoff = Parameter("a", meaning="largest size of the noise, in units of the scale", typical=("2", "15"), is_scale=False)

    texts: ClassVar[dict[str, str]] = {
        "delta": "(1 - exp((epsilon - d)/2) + exp(-cutoff)*expm1(epsilon)/2)/(1 - exp(-cutoff)) "
        "if epsilon < min(d, 2*cutoff - d); else the probability that the noise exceeds cutoff*scale - sensitivity; "
        "d = sensitivity/scale",
        "epsilon": "2*log(c/(exp(-d/2) + sqrt(exp(-d) - c*exp(-cutoff)))), c = 2 - exp(-cutoff) - 2*delta*(1 - exp(-cutoff)), "
        "d = sensitivity/scale; 0 if delta >= delta(0)",
        "scale": "sensitivity/d, d = log1p(2*delta*expm1(cutoff)) if that is at most min(epsilon, cutoff); else "
        "epsilon - 2*log1p(exp(-cutoff)*expm1(epsilon)/2 - delta*(1 - exp(-cutoff))) "
        "if that is at most 2*cutoff - epsilon; else cutoff - log1p(-(2*delta - 1)*(1 - exp(-cutoff)))",
    }

    @property
    def reach(self) -> fmpq:
        found: fmpq = self.exact_parameters["cutoff"]
        return found

    def log_density(self, m: Arithmetic, x: Value) -> Value:
        return -m.abs(x) - m.log(-2 * m.expm1(-m.exact(self.reach)))

    def cdf_within(self, m: Arithmetic, x: Value) -> Value:
        """(e^x - e^-a) / (2 (1 - e^-a)) for x <= 0, 1 - F(-x) above."""
        a = m.exact(self.reach)
        if m.name in ("arb", "mpmath", "float"):
            tail = m.exp(-a) * m.expm1(a - m.abs(x)) / (-2 * m.expm1(-a))
            return 1 - tail if x > 0 else tail
        return (1 + m.sign(x) * m.expm1(-m.abs(x)) / m.expm1(-a)) / 2

    # The profile and its inverses.

    def least_delta(self, m: Arithmetic, d: fmpq) -> Value | fmpq:
        a = self.reach
        if d >= 2 * a:
            return _ONE
        if d == a:
            return _HALF
        if d < a:
            return m.expm1(m.exact(d)) / (2 * m.expm1(m.exact(a)))
        return m.rational(1, 2) + m.expm1(m.exact(a - d)) / (2 * m.expm1(m.exact(-a)))

    def exact_delta(self, m: Arithmetic, eps: fmpq, d: fmpq) -> Value | fmpq:
        a = self.reach
        if eps >= d or eps >= 2 * a - d:
            return self.least_delta(m, d)
        inside = -2 * m.expm1(m.exact((eps - d) / 2)) + m.exp(m.exact(-a)) * m.expm1(m.exact(eps))
        return inside / (-2 * m.expm1(m.exact(-a)))

    def exact_shift(self, m: Arithmetic, eps: fmpq, delta: fmpq) -> Value | fmpq:
        """The three pieces of delta as a function of d, inverted; they meet at d = eps and d = 2a - eps."""
        a = self.reach
        cut = m.exact(a)
        is_below_last = eps < a and _exceeds(lambda: self.least_delta(BALLS, 2 * a - eps), delta)
        if is_below_last and (eps == 0 or not _exceeds(lambda: self.least_delta(BALLS, eps), delta)):
            inside = m.exact(delta) * m.expm1(-cut) + m.exp(-cut) * m.expm1(m.exact(eps)) / 2
            return m.exact(eps) - 2 * m.log1p(inside)
        if delta == _HALF:
            return a
        if delta < _HALF:
            return m.log1p(m.exact(2 * delta) * m.expm1(cut))
        return cut - m.log1p(m.exact(2 * delta - 1) * m.expm1(-cut))

    def exact_epsilon(self, m: Arithmetic, delta: fmpq, d: fmpq) -> Value | fmpq:
        """The first piece of delta is quadratic in e^(eps/2)."""
        a = self.reach
        if d == a and delta == _HALF:
            return a
        cut, half = m.exp(m.exact(-a)), m.exp(m.exact(-d / 2))
        rest = 2 - cut + m.exact(2 * delta) * m.expm1(m.exact(-a))
        return 2 * m.log(rest / (half + m.sqrt(half * half - cut * rest)))

    def tail_masses(self, m: Arithmetic, eps: fmpq, *, inclusive: bool) -> tuple[Value | fmpq, Value | fmpq]:
        """{L > eps} is x > (eps + d)/2 up to the end of the support, and what only the moved noise reaches; L = d has the
        probability of d <= x <= a."""
        a, d = self.reach, self.shift
        end = (eps + d) / 2
        if eps > d or (eps == d and not inclusive) or end >= a:
            return self.least_delta(m, d), fmpq(0)
        return self.cdf(m, m.exact(d - end)), self.cdf(m, m.exact(-end))

    def common_moment(self, m: Arithmetic, order: fmpq) -> Value:
        """The exponent -order |x - d| - (1 - order) |x| is linear on each side of 0 and of d."""
        a, d = self.reach, self.shift
        base, more = m.exp(m.exact(-order * d)), 2 * order - 1
        total = m.rational(0)
        if d < a:  # left of 0 and right of d
            total = -base * m.expm1(m.exact(d - a)) - m.exp(m.exact((order - 1) * d)) * m.expm1(m.exact(d - a))
        low, high = max(fmpq(0), d - a), min(d, a)
        if more == 0:
            total += base * m.exact(high - low)
        else:
            total += base * m.exp(m.exact(more * low)) * m.expm1(m.exact(more * (high - low))) / m.exact(more)
        return total / (-2 * m.expm1(m.exact(-a)))

    def absolute_moment(self, m: Arithmetic, order: int) -> Value:
        """order! P(order + 1, a) / (1 - e^-a)."""
        a = m.exact(self.reach)
        return math.factorial(order) * m.gamma_lower(m.rational(order + 1), a) / -m.expm1(-a)

    def upper_quantile(self, m: Arithmetic, tail: Value) -> Value:
        a = m.exact(self.reach)
        return a - m.log1p(-2 * tail * m.expm1(-a) * m.exp(a))

    # The published mechanism.

    @classmethod
    def cutoff_for(cls, *, epsilon: Number, delta: Number, digits: int = 15) -> Enclosure:
        """The least cutoff at which scale = sensitivity/epsilon gives (epsilon, delta): log(1 + (e^epsilon - 1)/(2 delta)).

        `epsilon` > 0 in nats, 0 < `delta` <= 1/2. Returns an Enclosure; its `.upper` is the least double that satisfies the
        claim. Raises ImpossibleRequest elsewhere.
        """
        eps, exact_delta = checked_epsilon(epsilon), checked_delta(delta)
        if eps == 0 or not 0 < exact_delta <= _HALF:
            raise ImpossibleRequest(
                f"epsilon = {epsilon}, delta = {delta}: the published cutoff needs epsilon > 0 and 0 < delta <= 1/2; "
                "ask bound for the least scale at a cutoff instead."
            )
        if exact_delta == _HALF:
            return Enclosure(eps, digits=check_digits(digits))
        return enclose(
            lambda bits: (arb(eps).expm1() / arb(2 * exact_delta)).log1p(),
            check_digits(digits),
            what=lambda: f"the cutoff at epsilon = {brief(eps)}, delta = {brief(exact_delta)}",
        )

    @classmethod
    def published(cls, *, epsilon: Number, delta: Number, sensitivity: Number = 1) -> Self:
        """The mechanism as published: scale = sensitivity/epsilon exactly, and the least double that will do as cutoff.

        Arguments and errors as for `cutoff_for`.
        """
        cutoff = cls.cutoff_for(epsilon=epsilon, delta=delta).upper
        scale = checked_sensitivity(sensitivity) / checked_epsilon(epsilon)
        return cls(scale, cutoff, sensitivity=sensitivity)

    @classmethod
    def contenders(cls, *, epsilon: Number, delta: Number, sensitivity: Number) -> Iterator[tuple[str, Callable[[], Self]]]:
        """The published mechanism."""
        published = partial(cls.published, epsilon=epsilon, delta=delta, sensitivity=sensitivity)
        yield "scale = sensitivity/epsilon, least cutoff", published


def _exceeds(value: object, delta: fmpq) -> bool:
    """Whether a border value of delta is above the delta that is asked for."""
    found = value()  # type: ignore[operator]
    if isinstance(found, fmpq):
        return bool(found > delta)
    return is_above(value, delta, what=lambda: "a border of the profile")  # type: ignore[arg-type]
