"""Randomized response on k values: report the truth, or with probability `flip` one of the other k - 1 values.

A local randomizer: what is protected is the whole record, so neighbours are any two values and there is no sensitivity.
With p = 1 - flip and q = flip/(k - 1) the worst pair is any two values, and by symmetry all pairs are alike:
    delta(epsilon) = max(0, p - e^epsilon q) + max(0, q - e^epsilon p) + (k - 2) max(0, q - e^epsilon q).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from flint import arb, fmpq

from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number
from dpverify.enclose.refine import enclose
from dpverify.errors import ImpossibleRequest, InputError, shown
from dpverify.mechanisms._discrete import certified_delta
from dpverify.mechanisms._finite import FinitePair, rational_law
from dpverify.mechanisms._mechanism import Engine, Mechanism, unknown_arithmetic
from dpverify.mechanisms._parameters import Parameter, as_given

if TYPE_CHECKING:
    from dpverify.notions.pair import DominatingPair
    from dpverify.samplers.sampler import Sampler


class FlipParameter(Parameter):
    """The probability of reporting something else than the truth."""

    __slots__ = ()
    unit = fmpq(1, 2)

    def __init__(self) -> None:
        meaning = "probability of reporting something else than the truth"
        super().__init__("f", meaning=meaning, typical=("1/100", "1/2"), is_scale=True)


class Response(Mechanism):
    """Randomized response on `values` values. The parameter that is solved for is the flip probability."""

    __slots__ = ()

    def __init__(self, *values: Number, sensitivity: Number = 1, **named: Number) -> None:
        super().__init__(*values, sensitivity=sensitivity, **named)
        most = fmpq(self.values - 1, self.values)
        if self.exact_flip > most:
            flip = shown(as_given(self.exact_flip), str)
            raise InputError(
                f"flip = {flip}: above {most} the report is a lie more often than a blind guess would be; "
                f"give a flip probability of at most {most}."
            )

    @property
    def values(self) -> int:
        """How many values a record can have."""
        raise NotImplementedError

    @property
    def exact_flip(self) -> fmpq:
        """The flip probability."""
        found: fmpq = self.exact_parameters["flip"]
        return found

    def pair(self) -> FinitePair:
        """The laws of the report under two values: outcomes are the first value, the second, and all others together."""
        truth, other = 1 - self.exact_flip, self.exact_flip / (self.values - 1)
        rest = other * (self.values - 2)
        return FinitePair(p=rational_law([truth, other, rest]), q=rational_law([other, truth, rest]), is_symmetric=True)

    def dominating_pairs(self) -> tuple[DominatingPair, ...]:
        return (self.pair(),)

    def neighbours(self) -> tuple[Any, Any]:
        return 0, 1

    def sampler(self) -> Sampler:
        from dpverify.samplers.finite import response

        return response(self.exact_flip, self.values, law=f"the report of {self!r}")

    @classmethod
    def calibrate(cls, *, epsilon: Number, delta: Number = 0, sensitivity: Number = 1, **shape: Any) -> Self:
        least: Enclosure = cls.bound(epsilon=epsilon, delta=delta, sensitivity=sensitivity, **shape)
        blind = cls.bound(epsilon=0, sensitivity=sensitivity, **shape)  # (k - 1)/k, the report of a blind guess
        if blind < least.upper:
            raise ImpossibleRequest(
                f"the least flip probability is no more than {blind.exact_lower}, that of a blind guess, but the least double "
                "that satisfies the claim would be; use bound(), and give the probability as a fraction."
            )
        return super().calibrate(epsilon=epsilon, delta=delta, sensitivity=sensitivity, **shape)

    def _checked_sensitivity(self, value: Number) -> fmpq:
        number = super()._checked_sensitivity(value)
        if number != 1:
            raise InputError(
                f"sensitivity = {shown(value, str)}: {type(self).__name__} protects a whole record, whatever its value; "
                "leave sensitivity out."
            )
        return number

    @classmethod
    def _engine(cls, arithmetic: str) -> Engine:
        if arithmetic == "arb":
            return _Certified
        if arithmetic == "mpmath":  # imported only when it is asked for
            from dpverify.mechanisms import _response_second_opinion

            return _response_second_opinion
        raise unknown_arithmetic(arithmetic)


class _Certified:
    """The engine for "arb"."""

    @staticmethod
    def delta(mechanism: Response, eps: fmpq, digits: int) -> Enclosure:
        """delta(eps)."""
        return certified_delta(mechanism, eps, digits)

    @staticmethod
    def epsilon(mechanism: Response, exact_delta: fmpq, digits: int) -> Enclosure:
        """max(0, log((p - delta)/q))."""
        flip = mechanism.exact_flip
        odds = (1 - flip - exact_delta) * (mechanism.values - 1) / flip
        if odds <= 1:
            return Enclosure(fmpq(0), digits=digits)
        return enclose(
            lambda bits: arb(odds).log(), digits, what=lambda: f"epsilon of {mechanism!r} at delta = {brief(exact_delta)}"
        )

    @staticmethod
    def scale(mechanism: Response, eps: fmpq, exact_delta: fmpq, sensitivity: fmpq, digits: int) -> Enclosure:
        """The flip probability with p - e^eps q = delta."""
        others = mechanism.values - 1
        if eps == 0:
            return Enclosure((1 - exact_delta) * others / (others + 1), digits=digits)

        def value(bits: int) -> arb:
            return arb((1 - exact_delta) * others) / (others + arb(eps).exp())

        return enclose(value, digits, what=lambda: f"flip at epsilon = {brief(eps)}, delta = {brief(exact_delta)}")
