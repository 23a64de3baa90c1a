"""Answers for unimodal noise: the same questions put to Arb balls (certified) and to mpmath (second opinion).

Exact comparisons choose the branch. A parameter that is no closed formula is the root of a monotone function: of the shift
beyond the largest one whose loss never exceeds epsilon, where delta is 0, or of the distance of epsilon from the largest
loss. So the function is positive and monotone on the whole positive half line, and a root can be as near to these limits
as a tiny delta makes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flint import arb, ctx, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.enclose.decide import is_above
from dpverify.enclose.refine import enclose
from dpverify.enclose.root import positive_root

if TYPE_CHECKING:
    from dpverify.mechanisms._event import Measured
    from dpverify.mechanisms._unimodal import Exactly, UnimodalNoise

_ZERO, _ONE = fmpq(0), fmpq(1)
_SPARE = 30
"""Bits of working precision beyond an accuracy, at which a lack of accuracy is no longer the precision's fault."""


class Curve:
    """`measured` along one variable, remembered, so that a value and a slope at the same point cost one evaluation."""

    def __init__(self, at: Callable[[Value], Measured], slope: Callable[[Measured, Value], Value]) -> None:
        self._at = at
        self._slope = slope
        self._point: Value = None
        self._precision = 0
        self._measured: Any = None

    def value(self, x: Value) -> Value:
        return self._measure(x).value

    def slope(self, x: Value) -> Value:
        return self._slope(self._measure(x), x)

    def _measure(self, x: Value) -> Measured:
        if x is not self._point or self._precision != ctx.prec:
            self._measured = self._at(x)
            self._point, self._precision = x, int(ctx.prec)
        found: Measured = self._measured
        return found


class Engine:
    """The three questions; subclasses say in which arithmetic, how a value is settled and how a root is found."""

    def settle(self, evaluate: Callable[[Arithmetic, int], Value], digits: int, what: Callable[[], str], **more: Any) -> Any:
        """The value of `evaluate(m, bits)` to `digits` digits."""
        raise NotImplementedError

    def root(self, m: Arithmetic, curve: Curve, target: fmpq, *, increasing: bool, bits: int, start: float | None) -> Value:
        """The x > 0 at which the curve passes through the target."""
        raise NotImplementedError

    # delta

    def delta(self, noise: UnimodalNoise, eps: fmpq, digits: int) -> Any:
        """delta(eps), for every real eps: by reflection where it is negative."""
        size, d = abs(eps), noise.shift
        inner = _ZERO if reaches(noise.loss_limit(d), size, noise) else noise.exact_delta(BALLS, size, d)
        if isinstance(inner, fmpq) and (eps >= 0 or inner == 1):
            return self.settle(lambda m, bits: inner, digits, lambda: "")

        def value(m: Arithmetic, bits: int) -> Value:
            forward = m.exact(inner) if isinstance(inner, fmpq) else value_at(noise, m, size, d)
            return forward if eps >= 0 else m.exp(m.exact(eps)) * forward - m.expm1(m.exact(eps))

        return self.settle(value, digits, lambda: f"delta of {noise!r} at epsilon = {brief(eps)}", within=(0, 1))

    # epsilon

    def epsilon(self, noise: UnimodalNoise, delta: fmpq, digits: int) -> Any:
        """The least epsilon >= 0, for a delta at which there is one."""
        d = noise.shift
        limit = noise.loss_limit(d)
        what = f"epsilon of {noise!r} at delta = {brief(delta)}"
        if delta == 0 and limit is not None:
            return self.settle(lambda m, bits: limit if isinstance(limit, fmpq) else as_value(m, limit), digits, lambda: what)
        if covers(noise, delta, d):
            return self.settle(lambda m, bits: _ZERO, digits, lambda: what)

        def value(m: Arithmetic, bits: int) -> Value:
            closed = noise.exact_epsilon(m, delta, d)
            if closed is not None:
                return closed
            if limit is None:
                curve = Curve(lambda eps: noise.measured(m, eps, m.exact(d)), lambda found, _: found.by_epsilon)
                start = noise.epsilon_start(delta, d)
                return self.root(m, curve, delta, increasing=False, bits=bits, start=start)
            # The limit is computed anew at each evaluation: a root is sought at a higher working precision than the answer.
            curve = Curve(
                lambda z: noise.measured(m, as_value(m, limit) / (1 + z), m.exact(d)),
                lambda found, z: -found.by_epsilon * as_value(m, limit) / (1 + z) ** 2,
            )
            return as_value(m, limit) / (1 + self.root(m, curve, delta, increasing=True, bits=bits, start=None))

        return self.settle(value, digits, lambda: what)

    # scale

    def scale(self, noise: UnimodalNoise, eps: fmpq, delta: fmpq, sensitivity: fmpq, digits: int) -> Any:
        """The least scale, for a possible request."""
        at_limit = noise.shift_at_limit(eps)
        what = f"{noise.scale_name} at epsilon = {brief(eps)}, delta = {brief(delta)}"
        if delta == 0:
            if isinstance(at_limit, fmpq):
                return self.settle(lambda m, bits: sensitivity / at_limit, digits, lambda: what)
            return self.settle(lambda m, bits: m.exact(sensitivity) / as_value(m, at_limit), digits, lambda: what)
        remembered: list[arb] = []

        def value(m: Arithmetic, bits: int) -> Value:
            closed = noise.exact_shift(m, eps, delta)
            if closed is not None:
                return sensitivity / closed if isinstance(closed, fmpq) else m.exact(sensitivity) / closed
            start = noise.shift_start(eps, delta) if isinstance(at_limit, fmpq) and at_limit == 0 else None

            def beyond() -> Value:
                curve = Curve(
                    lambda u: noise.measured(m, m.exact(eps), as_value(m, at_limit) + u), lambda found, _: found.by_shift
                )
                return self.root(m, curve, delta, increasing=True, bits=bits, start=start)

            base = as_value(m, at_limit)
            return m.exact(sensitivity) / (base + self.reuse(remembered, base, beyond, bits))

        return self.settle(value, digits, lambda: what)

    def reuse(self, remembered: list[arb], base: Value, find: Callable[[], Value], bits: int) -> Value:
        """An earlier root where its own accuracy is not what the answer lacks; else a new one."""
        return find()


class Certified(Engine):
    """On Arb balls. `attempts` as in `enclose`."""

    def __init__(self, attempts: int | None = None) -> None:
        self._attempts = attempts

    def settle(self, evaluate: Callable[[Arithmetic, int], Value], digits: int, what: Callable[[], str], **more: Any) -> Any:
        return enclose(lambda bits: evaluate(BALLS, bits), digits, what=what, attempts=self._attempts, **more)

    def root(self, m: Arithmetic, curve: Curve, target: fmpq, *, increasing: bool, bits: int, start: float | None) -> Value:
        return positive_root(curve.value, curve.slope, target, increasing=increasing, bits=bits, start=start)

    def reuse(self, remembered: list[arb], base: Value, find: Callable[[], Value], bits: int) -> Value:
        if remembered:
            accuracy = int((base + remembered[0]).rel_accuracy_bits())
            if accuracy >= bits or accuracy + _SPARE > int(ctx.prec):
                return remembered[0]
        remembered[:] = [find()]
        return remembered[0]


class SecondOpinion(Engine):
    """On mpmath's numbers, without a certificate."""

    def settle(self, evaluate: Callable[[Arithmetic, int], Value], digits: int, what: Callable[[], str], **more: Any) -> Any:
        from dpverify.enclose.second_opinion import settled

        def value(m: Any) -> Any:
            found = evaluate(m, 0)
            return m.exact(found) if isinstance(found, fmpq) else found

        return settled(value, digits, what=what())

    def root(self, m: Any, curve: Curve, target: fmpq, *, increasing: bool, bits: int, start: float | None) -> Value:
        from dpverify.enclose import second_opinion

        return second_opinion.positive_root(m, curve.value, m.exact(target), increasing=increasing)


def hockey_stick(noise: UnimodalNoise, eps: fmpq) -> arb | fmpq:
    """delta(eps) for every real eps at the working precision, exact where it is rational."""
    size = abs(eps)
    inner = _ZERO if reaches(noise.loss_limit(noise.shift), size, noise) else noise.exact_delta(BALLS, size, noise.shift)
    if inner is None:
        inner = noise.measured(BALLS, arb(size), arb(noise.shift)).value
    if eps >= 0 or (isinstance(inner, fmpq) and inner == 1):
        return inner
    return arb(eps).exp() * inner - arb(eps).expm1()


def value_at(noise: UnimodalNoise, m: Arithmetic, eps: fmpq, d: fmpq) -> Value:
    """The profile at a rational request with eps >= 0 below the largest loss."""
    closed = noise.exact_delta(m, eps, d)
    if closed is None:
        return noise.measured(m, m.exact(eps), m.exact(d)).value
    return m.exact(closed) if isinstance(closed, fmpq) else closed


def as_value(m: Arithmetic, number: Exactly) -> Value:
    """A limit as a value of m."""
    return m.exact(number) if isinstance(number, fmpq) else number(m)


def reaches(limit: Exactly | None, eps: fmpq, noise: UnimodalNoise) -> bool:
    """Whether no privacy loss exceeds eps."""
    if limit is None:
        return False
    if isinstance(limit, fmpq):
        return bool(eps >= limit)
    return not is_above(lambda: limit(BALLS), eps, what=lambda: f"the largest loss of {noise!r}")


def covers(noise: UnimodalNoise, delta: fmpq, d: fmpq) -> bool:
    """Whether delta(0) <= delta, so that no epsilon is needed."""
    closed = noise.exact_delta(BALLS, _ZERO, d)
    if isinstance(closed, fmpq):
        return bool(closed <= delta)
    return not is_above(lambda: value_at(noise, BALLS, _ZERO, d), delta, what=lambda: f"delta(0) of {noise!r}")


CERTIFIED, SECOND_OPINION = Certified(), SecondOpinion()
