"""From approximate, probabilistic and mean-concentrated DP: guarantees about the tail of the privacy loss."""

from __future__ import annotations

from flint import arb, fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.enclose.refine import enclose
from dpverify.errors import ImpossibleRequest
from dpverify.guarantees import ApproxDP, ConcentratedDP, ProbabilisticDP, PureDP
from dpverify.notions import renyi_conversion
from dpverify.notions._checks import checked_delta, checked_epsilon
from dpverify.notions._conversion import Conversion, Wish, curve_point, exactly, same, to_fmpq

_ZERO = fmpq(0)


def approx_to_pure(given: ApproxDP, wish: Wish) -> Conversion:
    if given.delta > 0:
        raise ImpossibleRequest(f"{given}: with probability delta > 0 the loss may be infinite, so no pure guarantee follows.")
    return same(given, PureDP(epsilon=given.epsilon), "delta = 0 is pure DP", wish)


def approx_to_probabilistic(given: ApproxDP, wish: Wish) -> Conversion:
    """E (1 - e^{eps - L})_+ <= delta gives P(L > eps') (1 - e^{eps - eps'}) <= delta; a loss that is eps' or 0 attains it."""
    if given.delta == 0:
        return same(given, ProbabilisticDP(epsilon=given.epsilon, delta=0), "delta = 0 is pure DP", wish)
    eps, level = to_fmpq(given.epsilon), to_fmpq(given.delta)
    solved = wish.one_of_epsilon_and_delta("ProbabilisticDP")
    because = "P(L > eps') <= delta/(1 - e^(epsilon - eps')); pairwise reading, and lost again by post-processing"
    if solved == "delta":
        wanted = checked_epsilon(wish.epsilon)
        if wanted <= eps:
            raise ImpossibleRequest(
                f"epsilon = {wish.epsilon}: {given} allows any probability of a loss just above {eps}; give a larger epsilon."
            )
        found = enclose(
            lambda bits: arb(level) / -arb(eps - wanted).expm1(), wish.digits, what=lambda: f"P(L > {wanted}) from {given}"
        )
        if not found.upper < 1:
            raise ImpossibleRequest(
                f"epsilon = {wish.epsilon}: P(L > epsilon) < 1 does not follow from {given}; give a larger one."
            )
    else:
        wanted = checked_delta(wish.delta)
        if wanted <= level:
            raise ImpossibleRequest(f"delta = {wish.delta}: {given} gives only a larger probability; give more than {level}.")
        found = enclose(
            lambda bits: arb(eps) - (-arb(level / wanted)).log1p(), wish.digits, what=lambda: f"the loss exceeded at {wanted}"
        )
    return curve_point(given, found, wanted, solved, tight=True, because=because, to=ProbabilisticDP)


def probabilistic_to_approx(given: ProbabilisticDP, wish: Wish) -> Conversion:
    return same(
        given,
        ApproxDP(epsilon=given.epsilon, delta=given.delta),
        "P(S) <= P(S, L <= epsilon) + delta <= e^epsilon Q(S) + delta; the reverse fails, however small delta is",
        wish,
    )


def probabilistic_to_pure(given: ProbabilisticDP, wish: Wish) -> Conversion:
    if given.delta > 0:
        raise ImpossibleRequest(f"{given}: with probability delta > 0 the loss may be infinite, so no pure guarantee follows.")
    return same(given, PureDP(epsilon=given.epsilon), "delta = 0 is pure DP", wish)


def concentrated_to_probabilistic(given: ConcentratedDP, wish: Wish) -> Conversion:
    solved = wish.one_of_epsilon_and_delta("ProbabilisticDP")
    found, other = _point(given, solved, wish)
    because = "the definition: P(L > epsilon + a) <= e^(-a^2/(2 tau^2)); pairwise reading"
    return curve_point(given, found, other, solved, tight=True, because=because, to=ProbabilisticDP)


def concentrated_to_approx(given: ConcentratedDP, wish: Wish) -> Conversion:
    solved = wish.one_of_epsilon_and_delta("ApproxDP")
    found, other = _point(given, solved, wish)
    because = "through probabilistic DP: P(L > epsilon + a) <= e^(-a^2/(2 tau^2))"
    return curve_point(given, found, other, solved, tight=False, because=because)


def _point(given: ConcentratedDP, solved: str, wish: Wish) -> tuple[Enclosure, fmpq]:
    eps, tau = to_fmpq(given.epsilon), to_fmpq(given.tau)
    if solved == "epsilon":
        level = renyi_conversion.some_delta(wish.delta)
        root = enclose(
            lambda bits: arb(eps) + arb(tau) * (-2 * arb(level).log()).sqrt(), wish.digits, what=lambda: f"epsilon at {level}"
        )
        return root, level
    wanted = checked_epsilon(wish.epsilon)
    if wanted <= eps or tau == 0:
        if wanted < eps or tau > 0:
            raise ImpossibleRequest(
                f"epsilon = {wish.epsilon}: {given} says nothing of losses up to {eps}; give a larger epsilon."
            )
        return exactly(_ZERO, wish), wanted
    exponent = (wanted - eps) ** 2 / (2 * tau**2)
    return enclose(lambda bits: (-arb(exponent)).exp(), wish.digits, what=lambda: f"delta at {wanted}"), wanted
