"""From pure DP to the other notions.

The worst pair is randomized response, P = (e^e, 1)/(1 + e^e) and Q its mirror image: every pair whose loss stays within
+-e is a randomisation of it, and no notion here grows under a randomisation. So every step is tight.
"""

from __future__ import annotations

from flint import arb, fmpq

from dpverify.arithmetic.decimals import brief
from dpverify.enclose.refine import enclose
from dpverify.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from dpverify.notions._checks import checked_delta, checked_epsilon
from dpverify.notions._conversion import Conversion, Wish, arb_of, curve_point, exactly, safe, same, to_fmpq, to_fraction

_ZERO = fmpq(0)


def pure_to_approx(given: PureDP, wish: Wish) -> Conversion:
    e = to_fmpq(given.epsilon)
    if wish.epsilon is None and wish.delta is None:
        return same(given, ApproxDP(epsilon=given.epsilon, delta=0), "a loss that never exceeds epsilon", wish)
    solved = wish.one_of_epsilon_and_delta("ApproxDP")
    if solved == "delta":
        eps = checked_epsilon(wish.epsilon)

        def delta(bits: int) -> arb | fmpq:
            return _ZERO if eps >= e else (arb(e).exp() - arb(eps).exp()) / (1 + arb(e).exp())

        found = enclose(delta, wish.digits, what=lambda: f"delta at epsilon = {brief(eps)} from {given}", within=(0, 1))
        return curve_point(given, found, eps, solved, tight=True, because="randomized response is the worst pair")
    level = checked_delta(wish.delta)

    def epsilon(bits: int) -> arb | fmpq:
        inside = arb(e).exp() - arb(level) * (1 + arb(e).exp())
        return arb(e) if level == 0 else inside.max(arb(1)).log()

    found = exactly(e, wish) if level == 0 else enclose(epsilon, wish.digits, what=lambda: f"epsilon at delta = {brief(level)}")
    return curve_point(given, found, level, solved, tight=True, because="randomized response is the worst pair")


def pure_to_zcdp(given: PureDP, wish: Wish) -> Conversion:
    e = arb_of(given.epsilon)
    found = enclose(
        lambda bits: e() * (e() / 2).tanh() if given.epsilon else _ZERO, wish.digits, what=lambda: f"rho from {given}"
    )
    return Conversion(
        given=given,
        guarantee=ZCDP(rho=safe(found)),
        values={"rho": found},
        tight=True,
        because="rho = epsilon tanh(epsilon/2) <= epsilon^2/2: the mean loss of randomized response, where log of its power"
        " moment, log cosh((order - 1/2) epsilon) up to a constant, is concave in (order - 1/2)^2",
    )


def pure_to_renyi(given: PureDP, wish: Wish) -> Conversion:
    order, e = wish.chosen_order(), to_fmpq(given.epsilon)

    def value(bits: int) -> arb | fmpq:
        if e == 0:
            return _ZERO
        # cosh((a - 1/2) e)/cosh(e/2) = e^{(a - 1) e} (1 + e^{-(2a - 1) e})/(1 + e^{-e})
        excess = (-arb((2 * order - 1) * e)).exp().log1p() - (-arb(e)).exp().log1p()
        return arb(e) + excess / arb(order - 1)

    found = enclose(value, wish.digits, what=lambda: f"the Renyi divergence of order {order} from {given}")
    return Conversion(
        given=given,
        guarantee=RenyiDP(order=to_fraction(order), epsilon=safe(found)),
        values={"epsilon": found},
        tight=True,
        because="the divergence of randomized response",
    )


def pure_to_gaussian(given: PureDP, wish: Wish) -> Conversion:
    e = arb_of(given.epsilon)

    def value(bits: int) -> arb | fmpq:
        if given.epsilon == 0:
            return _ZERO
        # 2 Phi^{-1}(e^e/(1 + e^e)), from the smaller tail: Phi(-mu/2) = 1/(1 + e^e)
        return 2 * arb(2).sqrt() * (2 / (1 + e().exp())).erfcinv()

    found = enclose(value, wish.digits, what=lambda: f"mu from {given}")
    return Conversion(
        given=given,
        guarantee=GaussianDP(mu=safe(found)),
        values={"mu": found},
        tight=True,
        because="the corner of the trade-off function of randomized response, at level 1/(1 + e^epsilon)",
    )
