"""From Renyi, zero-concentrated and Gaussian DP: guarantees about the pair as a whole."""

from __future__ import annotations

from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.powers import exact_power
from dpverify.enclose.decide import is_above
from dpverify.enclose.refine import enclose
from dpverify.enclose.root import positive_root
from dpverify.errors import ImpossibleRequest
from dpverify.guarantees import ZCDP, ConcentratedDP, GaussianDP, RenyiDP
from dpverify.notions import renyi_conversion, renyi_exact
from dpverify.notions._checks import checked_epsilon
from dpverify.notions._conversion import Conversion, Wish, arb_of, curve_point, exactly, safe, same, to_fmpq, to_fraction
from dpverify.notions.gaussian_dp import gaussian_profile

_ZERO = fmpq(0)


def renyi_to_approx(given: RenyiDP, wish: Wish) -> Conversion:
    solved = wish.one_of_epsilon_and_delta("ApproxDP")
    if solved == "delta":
        found = renyi_exact.delta_from_renyi(given.order, given.epsilon, wish.epsilon, digits=wish.digits)
        other = checked_epsilon(wish.epsilon)
    else:
        found = renyi_exact.epsilon_from_renyi(given.order, given.epsilon, wish.delta, digits=wish.digits)
        other = renyi_conversion.some_delta(wish.delta)
    because = "the worst pair has two outcomes (Asoodeh et al. 2021); for a formula, see Canonne, Kamath and Steinke 2020"
    return curve_point(given, found, other, solved, tight=True, because=because)


def renyi_to_renyi(given: RenyiDP, wish: Wish) -> Conversion:
    order = wish.chosen_order()
    if order > to_fmpq(given.order):
        raise ImpossibleRequest(f"order = {order}: a larger order may be infinite when order {given.order} is not.")
    because = "the Renyi divergence does not fall as the order grows"
    return same(
        given, RenyiDP(order=to_fraction(order), epsilon=given.epsilon), because, wish, tight=order == to_fmpq(given.order)
    )


def zcdp_to_renyi(given: ZCDP, wish: Wish) -> Conversion:
    order = wish.chosen_order()
    return same(given, given.at(to_fraction(order)), "the definition; Gaussian noise attains it", wish)


def zcdp_to_approx(given: ZCDP, wish: Wish) -> Conversion:
    solved = wish.one_of_epsilon_and_delta("ApproxDP")
    if solved == "delta":
        found = renyi_conversion.delta_from_zcdp(given.rho, wish.epsilon, digits=wish.digits)
        other = checked_epsilon(wish.epsilon)
    else:
        found = renyi_conversion.epsilon_from_zcdp(given.rho, wish.delta, digits=wish.digits)
        other = renyi_conversion.some_delta(wish.delta)
    because = "the best order of Canonne, Kamath and Steinke 2020, Proposition 12"
    return curve_point(given, found, other, solved, tight=False, because=because)


def zcdp_to_concentrated(given: ZCDP, wish: Wish) -> Conversion:
    exact = exact_power(2 * to_fmpq(given.rho), fmpq(1, 2))
    tau = enclose(
        lambda bits: (2 * arb_of(given.rho)()).sqrt() if exact is None else exact, wish.digits, what=lambda: f"tau from {given}"
    )
    return Conversion(
        given=given,
        guarantee=ConcentratedDP(epsilon=given.rho, tau=safe(tau)),
        values={"epsilon": exactly(to_fmpq(given.rho), wish), "tau": tau},
        tight=False,
        because="order 1 bounds the mean; E e^((a - 1) L) <= e^((a - 1) a rho) at the best order a gives"
        " P(L > rho + x) <= e^(-x^2/(4 rho))",
    )


def gaussian_to_approx(given: GaussianDP, wish: Wish) -> Conversion:
    solved = wish.one_of_epsilon_and_delta("ApproxDP")
    because = "the profile of the pair N(mu, 1), N(0, 1)"
    mu = to_fmpq(given.mu)
    if solved == "delta":
        other = checked_epsilon(wish.epsilon)
        found = _gaussian_delta(mu, other, wish)
    else:
        other = renyi_conversion.some_delta(wish.delta)
        found = _gaussian_epsilon(mu, other, wish)
    return curve_point(given, found, other, solved, tight=True, because=because)


def _gaussian_delta(mu: fmpq, eps: fmpq, wish: Wish) -> Enclosure:
    return enclose(
        lambda bits: gaussian_profile(BALLS, arb(eps), arb(mu)) if mu > 0 else _ZERO,
        wish.digits,
        what=lambda: f"delta at epsilon = {brief(eps)} of {mu}-GDP",
        within=(0, 1),
    )


def _gaussian_epsilon(mu: fmpq, level: fmpq, wish: Wish) -> Enclosure:
    def profile(eps: arb) -> arb:
        return gaussian_profile(BALLS, eps, arb(mu))

    if mu == 0 or not is_above(lambda: profile(arb(0)), level, what=lambda: f"delta(0) of {mu}-GDP"):
        return exactly(_ZERO, wish)

    def value(bits: int) -> arb:
        return positive_root(
            profile,
            lambda eps: -eps.exp() * BALLS.normal_cdf(-arb(mu) / 2 - eps / arb(mu)),
            level,
            increasing=False,
            bits=bits,
        )

    return enclose(value, wish.digits, what=lambda: f"epsilon at delta = {brief(level)} of {mu}-GDP")


def gaussian_to_zcdp(given: GaussianDP, wish: Wish) -> Conversion:
    return same(given, ZCDP(rho=given.mu**2 / 2), "the divergences of N(mu, 1) and N(0, 1): order mu^2/2", wish)


def gaussian_to_renyi(given: GaussianDP, wish: Wish) -> Conversion:
    return same(given, ZCDP(rho=given.mu**2 / 2).at(to_fraction(wish.chosen_order())), "order mu^2/2, as for N(mu, 1)", wish)
