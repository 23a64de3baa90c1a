"""Group privacy: what a guarantee for neighbours says of datasets `size` steps apart.

A mechanism of the catalogue needs none of this: asked at `size` times its sensitivity, it answers exactly.
"""

from __future__ import annotations

from flint import arb, fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.enclose.refine import check_digits, enclose
from dpverify.errors import ImpossibleRequest, InputError
from dpverify.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP
from dpverify.notions._conversion import Conversion, safe, to_fmpq


def for_groups(given: Guarantee, size: int, *, digits: int = 15) -> Conversion:
    """The guarantee of the same kind between datasets `size` >= 1 steps apart.

    - PureDP: size epsilon. ZCDP: size^2 rho. GaussianDP: size mu. All three are attained.
    - ApproxDP: (size epsilon, delta (e^{size epsilon} - 1)/(e^epsilon - 1)).
    - RenyiDP, by halving the order for each doubling of the size, rounded up to 2^c: order/2^c >= 2, epsilon 3^c.
      [I. Mironov, "Renyi Differential Privacy" (2017), Proposition 2]

    Raises ImpossibleRequest for kinds that are not closed under triangles, and where the result would say nothing.
    """
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise InputError(f"size = {size!r}: a whole number of at least 1 is needed.")
    check_digits(digits)
    if isinstance(given, PureDP):
        return _exact(given, PureDP(epsilon=size * given.epsilon), True, "losses add along the path", digits)
    if isinstance(given, ZCDP):
        return _exact(given, ZCDP(rho=size**2 * given.rho), True, "Bun and Steinke 2016, Proposition 1.9", digits)
    if isinstance(given, GaussianDP):
        return _exact(given, GaussianDP(mu=size * given.mu), True, "Dong, Roth and Su 2022, Theorem 3", digits)
    if isinstance(given, ApproxDP):
        return _approximate(given, size, digits)
    if isinstance(given, RenyiDP):
        return _renyi(given, size, digits)
    raise ImpossibleRequest(
        f"{given}: no guarantee of this kind follows for groups; convert it to ApproxDP or ZCDP first, or ask the mechanism"
        f" at {size} times its sensitivity."
    )


def _approximate(given: ApproxDP, size: int, digits: int) -> Conversion:
    eps, delta = to_fmpq(given.epsilon), to_fmpq(given.delta)

    def value(bits: int) -> arb | fmpq:
        if eps == 0 or delta == 0:
            return delta * size
        return arb(delta) * (arb(size * eps)).expm1() / arb(eps).expm1()

    found = enclose(value, digits, what=lambda: f"delta for groups of {size} from {given}")
    if not found.upper < 1:
        raise ImpossibleRequest(f"size = {size}: for groups of this size {given} says nothing (delta >= 1).")
    return Conversion(
        given=given,
        guarantee=ApproxDP(epsilon=size * given.epsilon, delta=safe(found)),
        values={"epsilon": Enclosure(size * eps, digits=digits), "delta": found},
        tight=False,
        because="P(S) <= e^epsilon P'(S) + delta, along the path",
    )


def _renyi(given: RenyiDP, size: int, digits: int) -> Conversion:
    doublings = (size - 1).bit_length()
    order = given.order / 2**doublings
    if doublings and order < 2:
        raise ImpossibleRequest(
            f"size = {size}: the order {given.order} would be halved to {order}, below 2; give a Renyi guarantee of an order of"
            f" at least {2 ** (doublings + 1)}."
        )
    found = RenyiDP(order=order, epsilon=given.epsilon * 3**doublings)
    return _exact(given, found, doublings == 0, "Mironov 2017, Proposition 2", digits)


def _exact(given: Guarantee, found: Guarantee, tight: bool, because: str, digits: int) -> Conversion:
    names = [name for name in ("epsilon", "rho", "mu", "order") if hasattr(found, name)]
    values = {name: Enclosure(to_fmpq(getattr(found, name)), digits=digits) for name in names}
    return Conversion(given=given, guarantee=found, values=values, tight=tight, because=because)
