"""The exact approximate DP of one Renyi order: every pair with a divergence of at most r at order a has it, some pair no more.

By data processing the worst pair has two outcomes: delta(epsilon) is the largest p - e^epsilon q over 0 <= q <= p <= 1 with
g = p^a q^(1 - a) + (1 - p)^a (1 - q)^(1 - a) <= M = e^{(a - 1) r}. g is convex, so for each p there is a least q(p), which is
convex, and p - e^epsilon q(p) is concave: its maximum lies where the slope 1 - e^epsilon q'(p) changes sign, and under the
tangents on both sides.
[S. Asoodeh, J. Liao, F. Calmon, O. Kosut, L. Sankar, "Three Variants of Differential Privacy: Lossless Conversion and
Applications" (2021)]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import arb, ctx, fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number
from dpverify.arithmetic.precision import working_precision
from dpverify.enclose.refine import check_digits, enclose
from dpverify.enclose.root import positive_root
from dpverify.notions._checks import above_one, checked_epsilon, not_negative
from dpverify.notions.renyi_conversion import some_delta


def delta_from_renyi(order: Number, divergence: Number, epsilon: Number, *, digits: int = 15) -> Enclosure:
    """The least delta that follows from a divergence of at most `divergence` >= 0 at `order` > 1, at `epsilon` >= 0."""
    ball = _Ball(order=above_one(order, "order"), divergence=not_negative(divergence, "divergence"))
    eps = checked_epsilon(epsilon)
    if ball.divergence == 0:
        return Enclosure(fmpq(0), digits=check_digits(digits))
    return enclose(
        lambda bits: ball.delta(arb(eps), bits),
        check_digits(digits),
        what=lambda: f"delta at epsilon = {eps} from a Renyi divergence of {divergence} at order {order}",
        within=(0, 1),
    )


def epsilon_from_renyi(order: Number, divergence: Number, delta: Number, *, digits: int = 15) -> Enclosure:
    """The least epsilon >= 0 that follows at `delta`, 0 < delta < 1: the largest log((p - delta)/q(p)) over p > delta."""
    ball = _Ball(order=above_one(order, "order"), divergence=not_negative(divergence, "divergence"))
    level = some_delta(delta)
    if ball.divergence == 0:
        return Enclosure(fmpq(0), digits=check_digits(digits))
    return enclose(
        lambda bits: ball.ratio(level, bits).log().max(arb(0)),
        check_digits(digits),
        what=lambda: f"epsilon at {level} from a Renyi divergence of {divergence} at order {order}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ball:
    """The pairs (p, q) of probabilities whose divergence is at most what is given."""

    order: fmpq
    divergence: fmpq

    def delta(self, eps: arb, bits: int) -> arb:
        """max p - e^eps q."""
        with working_precision(2 * bits + 64):
            growth, corner = eps.exp(), self._corner()
            if 1 - growth * corner[1] > 0:
                return 1 - growth * corner[0]

            def score(p: fmpq) -> tuple[arb, arb]:
                q, slope = self._least_q(p)
                return arb(p) - growth * q, 1 - growth * slope

            def over(low: fmpq, high: fmpq) -> arb:
                """Under both tangents."""
                (left, rise), (right, fall) = score(low), score(high)
                return (left + rise * arb(high - low)).min(right - fall * arb(high - low))

            return _highest(score, over, fmpq(0), bits).max(arb(0))

    def ratio(self, delta: fmpq, bits: int) -> arb:
        """max (p - delta)/q(p) over p > delta. As q is convex, the ratio rises up to its maximum and falls from there."""
        with working_precision(2 * bits + 64):
            corner = self._corner()
            if corner[0] - corner[1] * arb(1 - delta) > 0:
                return arb(1 - delta) / corner[0]

            def score(p: fmpq) -> tuple[arb, arb]:
                q, slope = self._least_q(p)
                return arb(p - delta) / q, q - slope * arb(p - delta)

            def over(low: fmpq, high: fmpq) -> arb:
                """With a tangent in place of q, which lies over it, the ratio is monotone."""
                (left, rise), (right, fall) = self._least_q(low), self._least_q(high)
                width = arb(high - low)
                under_left, under_right = left + rise * width, right - fall * width
                bound = arb(high - delta) / under_left
                return bound.min(arb(low - delta) / under_right) if under_right > 0 else bound

            return _highest(score, over, delta, bits)

    def _corner(self) -> tuple[arb, arb]:
        """(q(1), q'(1))."""
        q = (-arb(self.divergence)).exp()
        return q, q * arb(self.order / (self.order - 1))

    def _least_q(self, p: fmpq) -> tuple[arb, arb]:
        """(q(p), q'(p)), through the excess x of p/q over 1, in which g - 1 rises from 0 to infinity."""
        a, one = arb(self.order), arb(p)

        def excess(x: arb) -> arb:
            outside = (1 - one / (1 + x)) / (1 - one)
            moment = one * (1 + x) ** arb(self.order - 1) + (1 - one) * outside ** arb(1 - self.order)
            return (moment - 1) / arb((self.order - 1) * self.divergence).expm1()

        def slope(x: arb) -> arb:
            outside = (1 - one) / (1 - one / (1 + x))
            fall = (a - 1) * ((1 + x) ** a - outside**a)
            return fall * one / (1 + x) ** 2 / arb((self.order - 1) * self.divergence).expm1()

        x = positive_root(excess, slope, fmpq(1), increasing=True, bits=int(ctx.prec) - 16)
        inside, outside = 1 + x, (1 - one) / (1 - one / (1 + x))
        return one / inside, a * (inside ** (a - 1) - outside ** (a - 1)) / ((a - 1) * (inside**a - outside**a))


def _highest(score: Callable[[fmpq], tuple[arb, arb]], over: Callable[[fmpq, fmpq], arb], least: fmpq, bits: int) -> arb:
    """The maximum over (least, 1) of a function with (value, something with the sign of its slope), which changes sign once;
    `over` bounds it between points on both sides. As good as the working precision allows."""
    low = high = (1 + least) / 2
    stride = 1
    if score(low)[1] > 0:
        while score(high)[1] > 0:
            low, high = high, 1 - (1 - high) / 2
    else:
        while not score(low)[1] > 0:  # the maximum may lie at 10^-1000; halve ever faster
            low, high, stride = least + (low - least) / 2**stride, low, 2 * stride
    while True:
        under, above = score(low)[0].max(score(high)[0]), over(low, high)
        if above - under < abs(under) * arb(2) ** -bits or not under.rad() < abs(above).upper() * arb(2) ** -bits:
            return under.union(above)
        spread = ((high - least) / (low - least)).floor()
        middle = least + (low - least) * 2 ** (int(spread).bit_length() // 2) if spread > 4 else (low + high) / 2
        sign = score(middle)[1]
        if not (sign > 0 or sign < 0):  # level with the top, as far as can be told
            return score(middle)[0].union(under).union(above)
        low, high = (middle, high) if sign > 0 else (low, middle)
