"""What is done to a release afterwards, and which guarantee survives it.

Rounding and clamping are functions of the output alone, so every guarantee that speaks of probabilities of events, or of
divergences, survives them. A guarantee that speaks of the privacy loss of single outputs does not: clamping gathers many
outputs of small probability into one. Rejection (drawing again until the output lies within bounds) is no function of the
output: it divides by the probability of being accepted, which depends on the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from flint import arb, fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number, to_exact
from dpverify.enclose.refine import check_digits, enclose
from dpverify.enclose.root import positive_root
from dpverify.errors import ImpossibleRequest, InputError, NotCovered
from dpverify.guarantees import ConcentratedDP, Guarantee, ProbabilisticDP, PureDP, RandomDP
from dpverify.notions._conversion import to_fraction
from dpverify.notions.approximate import exceeds
from dpverify.notions.pair import Ball, largest, pairs_of

if TYPE_CHECKING:
    from dpverify.mechanisms._mechanism import Mechanism

Exact: TypeAlias = Any
"""A number as it is handed in; kept as a Fraction."""

_LOST = (
    "{given} does not survive {what}: outputs that are rarely bad, each within delta, may be joined into one that is bad with"
    " a larger probability. {remedy}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """Round to the nearest multiple of `step` > 0 (to counts: step 1); ties upward. Exact."""

    step: Exact = 1

    def __post_init__(self) -> None:
        step = to_exact(self.step, "step")
        if step <= 0:
            raise InputError(f"step = {self.step}: give a number > 0.")
        object.__setattr__(self, "step", to_fraction(step))

    def __call__(self, output: Number) -> Fraction:
        step: Fraction = self.step
        return math.floor(to_fraction(to_exact(output, "output")) / step + Fraction(1, 2)) * step

    def after(self, given: Guarantee) -> Guarantee:
        """The guarantee that is left. Raises ImpossibleRequest where it does not survive."""
        return _after_a_function(given, "rounding")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clamping:
    """Replace outputs below `low` by it, and those above `high` by that. Also called boundary-inflated truncation."""

    low: Exact
    high: Exact

    def __post_init__(self) -> None:
        _set_bounds(self)

    def __call__(self, output: Number) -> Fraction:
        kept: Fraction = max(self.low, min(self.high, to_fraction(to_exact(output, "output"))))
        return kept

    def after(self, given: Guarantee) -> Guarantee:
        """The guarantee that is left. Raises ImpossibleRequest where it does not survive."""
        return _after_a_function(given, "clamping")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Throw outputs outside of [low, high] away and draw again, with the same data, until one lies within."""

    low: Exact
    high: Exact

    def __post_init__(self) -> None:
        _set_bounds(self)

    def after(self, given: Guarantee) -> Guarantee:
        """The guarantee that is left: from epsilon-DP no more than 2 epsilon, since the probability of acceptance may differ
        by a factor e^epsilon as well. Raises ImpossibleRequest for every other kind."""
        if isinstance(given, PureDP):
            return PureDP(epsilon=2 * given.epsilon)
        raise ImpossibleRequest(
            f"{given} does not survive rejection: the release is divided by a probability of acceptance, which depends on the"
            " data. Clamp instead, or use a mechanism whose bounded outputs are part of its calibration."
        )

    def realised_epsilon(self, mechanism: Mechanism, *, digits: int = 15) -> Enclosure:
        """The pure epsilon of Laplace noise of scale b whose outputs outside of [low, high] are drawn again, true answers
        lying within: D/b + log((2 - e^{-D/b} - e^{-(L - D)/b}) / (1 - e^{-L/b})), L = high - low and D <= L the sensitivity.

        Exact: the normaliser Z(s) of true answer s is log-concave, so Z(s + D)/Z(s) is largest at the edge s = low, where the
        output low has the largest ratio of densities as well. Raises NotCovered for other noise: its worst true answer may lie
        inside, and the bounded mechanisms of the catalogue search for it.
        """
        from dpverify.mechanisms.laplace import Laplace

        if not isinstance(mechanism, Laplace):
            raise NotCovered(
                f"{mechanism!r}: only for Laplace noise is the worst true answer of rejection known in closed form; for others"
                " see the truncated mechanisms of the catalogue."
            )
        width, sensitivity, scale = to_exact(self.high - self.low, "width"), mechanism.exact_sensitivity, mechanism.exact_scale
        if sensitivity > width:
            raise InputError(
                f"sensitivity = {sensitivity}: within bounds {width} apart, answers cannot differ by more than that."
            )
        d, length = sensitivity / scale, width / scale

        def value(bits: int) -> arb:
            far, near = (-arb(length - d)).expm1(), (-arb(d)).expm1()
            return arb(d) + ((far + near) / (-arb(length)).expm1()).log()

        return enclose(value, check_digits(digits), what=lambda: f"epsilon of {mechanism!r} after rejection")


def largest_clamped_atom(source: Any, epsilon: Number, *, digits: int = 15) -> Enclosure:
    """The largest probability that clamping at one bound can gather in one output whose privacy loss is at least epsilon.

    If it exceeds delta, probabilistic (epsilon, delta)-DP does not survive clamping. A half line of probability m under P has
    probability T(1 - m) under Q, T being the trade-off function, so m is the root of m = e^epsilon T(1 - m): the loss
    log(m / T(1 - m)) falls as m grows. `epsilon` > 0 and below the largest loss. For pairs with a monotone loss.
    """
    eps, pairs = to_exact(epsilon, "epsilon"), pairs_of(source)
    if eps <= 0:
        raise InputError(f"epsilon = {epsilon}: give a number > 0; at 0 any half line will do.")
    if not all(hasattr(pair, "trade_off") for pair in pairs):
        raise NotCovered(f"{source!r}: its trade-off function is known through its profile only; no atom is certified here.")
    limit = largest(pair.loss_limit() for pair in pairs)
    if isinstance(limit, fmpq) and eps >= limit:
        raise ImpossibleRequest(f"epsilon = {epsilon}: no loss exceeds {limit}, so clamping cannot break this guarantee.")

    def value(bits: int) -> Ball:
        return largest(_atom(pair, eps, bits) for pair in pairs)

    return enclose(value, check_digits(digits), what=lambda: f"the largest clamped atom of {source!r} at {eps}", within=(0, 1))


def breaks_probabilistic(source: Any, given: ProbabilisticDP, *, digits: int = 15) -> bool:
    """Whether clamping some mechanism with this pair at some bound breaks the guarantee, certified: the atom exceeds delta."""
    level = to_exact(given.delta, "delta")
    return exceeds(lambda: _ball(largest_clamped_atom(source, given.epsilon, digits=digits)), level, source)


def _ball(enclosure: Enclosure) -> arb:
    low, high = enclosure.bounds()
    return arb(low).union(arb(high))


def _atom(pair: Any, eps: fmpq, bits: int) -> arb:
    """The root, found in the odds m/(1 - m): the loss of the half line falls through epsilon."""

    def ratio(odds: arb) -> arb:
        exact = odds.fmpq()
        mass = exact / (1 + exact)
        return arb(mass) / arb(pair.trade_off(1 - mass)) * (-arb(eps)).exp()

    odds = positive_root(ratio, lambda odds: -ratio(odds) / odds, fmpq(1), increasing=False, bits=bits)
    return odds / (1 + odds)


def _after_a_function(given: Guarantee, what: str) -> Guarantee:
    if isinstance(given, ProbabilisticDP) and given.delta > 0:
        remedy = "The approximate DP that it implies does: convert to ApproxDP first."
        raise ImpossibleRequest(_LOST.format(given=given, what=what, remedy=remedy))
    if isinstance(given, ConcentratedDP):
        raise ImpossibleRequest(_LOST.format(given=given, what=what, remedy="What it implies by ApproxDP does."))
    if isinstance(given, RandomDP):
        return RandomDP(guarantee=_after_a_function(given.guarantee, what), failure=given.failure, law=given.law)
    return given


def _set_bounds(bounded: Clamping | Rejection) -> None:
    low, high = to_exact(bounded.low, "low"), to_exact(bounded.high, "high")
    if low >= high:
        raise InputError(f"low = {bounded.low}, high = {bounded.high}: give low < high.")
    object.__setattr__(bounded, "low", to_fraction(low))
    object.__setattr__(bounded, "high", to_fraction(high))
