"""The least scale of noise on several coordinates, each with a sensitivity of its own.

For fixed noise y in units of the scale the loss sum c (|y_k + t D_k|^p - |y_k|^p) is convex in t = 1/scale and 0 at t = 0; so
where it exceeds an epsilon >= 0 it does so for every larger t, and the probability that it does falls as the scale grows. For
approximate DP more noise is post-processing of less. Hence one scale at which all of this changes, found in doubles (`_rough`)
and proved by two certified signs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number, to_exact
from dpverify.arithmetic.precision import working_precision
from dpverify.compose import _transforms
from dpverify.compose.power_law import PowerLawProduct
from dpverify.enclose.effort import limited_effort
from dpverify.enclose.refine import BITS_PER_DIGIT, check_digits, enclose
from dpverify.errors import ImpossibleRequest, InputError, NotCovered, PrecisionError
from dpverify.mechanisms._parameters import checked_delta, checked_epsilon, checked_sensitivity
from dpverify.mechanisms._power_law import PowerLawNoise

NOTIONS = ("approximate", "pairwise", "union")
_STEPS = 60
_PROOFS = 8
_EFFORT = 8
"""In those of a single number: a value here is an integral of products of integrals."""
_ROUGHLY = 1e-10
_GUARD = 26
_CLOSE = 1.001
"""Scales up to this multiple of the least certified one are not looked at."""
_SLOPE_ERROR = 2.0**-16
"""About the relative error of the slope that doubles give."""


def least_scale(
    family: type[PowerLawNoise],
    *,
    sensitivities: Sequence[Number],
    epsilon: Number,
    delta: Number,
    p: Number,
    notion: str = "approximate",
    digits: int = 10,
) -> Enclosure:
    """The least scale that independent noise on every coordinate needs, coordinate k moving by at most `sensitivities[k]`.

    `family`: GeneralizedGaussian or Subbotin; `p`: a whole number of at least 1. `notion`: "approximate" for
    (epsilon, delta)-DP; "pairwise" for P(loss > epsilon) <= delta against one neighbour; "union" for the same against the worst
    neighbour, which is the condition of [Liu 2019, Corollary 7] with its exponents put right:
    P(sum c ((|y| + D/scale)^p - |y|^p) > epsilon) <= delta. Returns an Enclosure of `digits` digits, exact or by a closed form
    where there is one; its `.upper` is a scale that satisfies the claim. Raises ImpossibleRequest where no scale will do,
    NotCovered where the answer lies below what the law of the sum is certified for, and PrecisionError.
    """
    if notion not in NOTIONS:
        raise InputError(f"notion = {notion!r}: choose {', '.join(NOTIONS[:-1])} or {NOTIONS[-1]}.")
    moves = tuple(checked_sensitivity(one) for one in sensitivities)
    if not moves:
        raise InputError("sensitivities = (): give one for each coordinate.")
    eps, exact_delta, exact_p = checked_epsilon(epsilon), checked_delta(delta), to_exact(p, "p")
    check_digits(digits)
    if exact_p.q != 1 or exact_p < 1:
        raise NotCovered(f"p = {exact_p}: the law of a sum of losses is certified for whole numbers p >= 1; give one.")
    closed = _closed(family, moves, eps, exact_delta, exact_p, notion, digits)
    if closed is not None:
        return closed
    if exact_delta == 0:
        raise ImpossibleRequest("delta = 0: the privacy loss is unbounded for p > 1; give delta > 0, or use p = 1.")
    if eps == 0:
        raise NotCovered("epsilon = 0: the law of a sum of losses is certified for epsilon > 0; give epsilon > 0.")
    return _Search(family, moves, eps, exact_delta, exact_p, notion).found(digits)


def _closed(
    family: type[PowerLawNoise], moves: tuple[fmpq, ...], eps: fmpq, delta: fmpq, p: fmpq, notion: str, digits: int
) -> Enclosure | None:
    """One coordinate; p = 1 under the largest loss, which is the sum of all d; p = 2, which is one coordinate at the length."""
    if p == 1 and notion == "union" and eps > 0:
        return Enclosure(sum(moves, fmpq(0)) * family.weight(p) / eps, digits=digits)
    alone = len(moves) == 1
    if not alone and (p != 2 or notion == "union"):
        return None
    request: dict[str, Any] = {"epsilon": eps, "delta": delta, "p": p, "sensitivity": moves[0] if alone else 1}
    if notion != "approximate":
        request["reading"] = notion

    def asked(many: int) -> Enclosure:
        solve = family.bound if notion == "approximate" else family.bound_probabilistic
        found: Enclosure = solve(digits=many, **request)
        return found

    if alone:
        return asked(digits)
    length = sum((move * move for move in moves), fmpq(0))

    def value(bits: int) -> arb:
        unit = asked(max(digits, int(bits / BITS_PER_DIGIT)))
        return arb(length).sqrt() * _ball(unit.exact_lower).union(_ball(unit.exact_upper))

    return enclose(value, digits, what=lambda: f"the scale for sensitivities {', '.join(map(str, moves))}")


def _ball(number: Fraction) -> arb:
    return arb(fmpq(number.numerator, number.denominator))


class _Search:
    """The root of probability(scale) = delta."""

    def __init__(
        self, family: type[PowerLawNoise], moves: tuple[fmpq, ...], eps: fmpq, delta: fmpq, p: fmpq, notion: str
    ) -> None:
        self.family, self.moves, self.eps, self.delta, self.p, self.notion = family, moves, eps, delta, p, notion

    def found(self, digits: int) -> Enclosure:
        bits = int(digits * BITS_PER_DIGIT) + 4
        with limited_effort(times=_EFFORT, digits=digits), working_precision(bits + _GUARD):
            low, high = self._bracket(bits)
            return Enclosure(low.union(high), digits=digits)

    def _bracket(self, bits: int) -> tuple[arb, arb]:
        """Certified: too small a scale, and one that is enough."""
        x, slope = self._start()
        width = arb(2) ** -(bits + 1)
        for _ in range(_PROOFS):
            step = (self._value(x).log() - arb(self.delta).log()) / slope
            x = (x * (-step.mid()).exp()).mid()
            if not abs(step) * _SLOPE_ERROR < width:
                continue
            low, high = (x * (1 - width)).mid(), (x * (1 + width)).mid()
            if self._value(low) > arb(self.delta) and self._value(high) < arb(self.delta):
                return low, high
        raise PrecisionError(
            f"the scale at epsilon = {self.eps}, delta = {self.delta} could not be told to {bits} bits; ask for fewer digits.",
            reached=0,
        )

    def _product(self, x: fmpq) -> PowerLawProduct:
        return PowerLawProduct(coordinates=tuple((self.family(x, self.p, sensitivity=move), 1) for move in self.moves))

    def _value(self, x: arb) -> arb:
        pair = self._product(x.fmpq())
        found = {
            "approximate": pair.hockey_stick,
            "pairwise": pair.loss_tail,
            "union": pair.disclosure_tail,
        }[self.notion](self.eps)
        return arb(found)

    # Where to start, in doubles.

    def _start(self) -> tuple[arb, arb]:
        """(scale, d log probability/d log scale), to some digits."""
        goal = math.log(int(self.delta.p)) - math.log(int(self.delta.q))
        least = self._least()
        high = max(2 * least, float(arb(max(self.moves) / self.eps)))
        while (value := self._rough(high)) > goal:
            high = 2 * high
        low = high
        while value <= goal:
            high, low = low, max(low / 2, least + (low - least) / 2)
            value, before = self._rough(low), value
            if value < before or low < least * _CLOSE:
                raise NotCovered(
                    f"epsilon = {self.eps}, delta = {self.delta}: the scale lies near or below {low:.3g}, where the law of the"
                    " sum of these losses is not certified; move the request away from the extreme."
                )
        below, above = math.log(low), math.log(high)
        under, over = self._rough(low) - goal, self._rough(high) - goal
        x, side = above, 0
        for _ in range(_STEPS):
            x = below + (above - below) * under / (under - over)
            value = self._rough(math.exp(x)) - goal
            if abs(value) < _ROUGHLY:
                break
            if value > 0:
                below, under = x, value
                over = over / 2 if side > 0 else over
                side = 1
            else:
                above, over = x, value
                under = under / 2 if side < 0 else under
                side = -1
        near = math.exp(x)
        slope = (self._rough(near * 1.003) - self._rough(near / 1.003)) / (2 * math.log(1.003))
        return arb(near), arb(slope)

    def _least(self) -> float:
        """Below this scale the law of the sum has no certificate: the corners lie beyond epsilon."""
        p = int(self.p.p)
        if self.notion != "union" and p % 2 == 0:
            return 0.0
        powers = sum((move**p for move in self.moves), fmpq(0)) * self.family.weight(self.p) / self.eps
        return float(arb(powers) ** arb(fmpq(1, p)))

    def _rough(self, scale: float) -> float:
        """log of the probability, in doubles."""
        from dpverify.compose import _rough

        pair = self._product(fmpq(*scale.as_integer_ratio()))
        of: Callable[..., Any] = _transforms.largest if self.notion == "union" else _transforms.signed
        with working_precision(53):
            found = pair.transforms(of)
        limit = sum(float(one.limit) for one in found)
        value = _rough.exceeding(found, float(arb(self.eps)) - limit, pair.turn(), weighted=self.notion == "approximate")
        if math.isnan(value):
            raise PrecisionError(
                f"epsilon = {self.eps}, delta = {self.delta}: the scale is out of reach of the search here; move the request"
                " away from the extreme.",
                reached=0,
            )
        return math.log(value) if value > 0 else -math.inf
