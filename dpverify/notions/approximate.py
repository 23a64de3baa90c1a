"""Approximate DP from dominating pairs: the privacy profile, its inverse, and the total variation distance."""

from __future__ import annotations

from flint import arb, fmpq

from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number, to_exact
from dpverify.enclose.decide import is_above
from dpverify.enclose.refine import check_digits, enclose
from dpverify.enclose.root import positive_root
from dpverify.errors import ImpossibleRequest
from dpverify.notions._checks import checked_delta
from dpverify.notions.pair import Ball, DominatingPair, Source, largest, pairs_of


def profile(source: Source, epsilon: Number, *, digits: int = 15) -> Enclosure:
    """delta(epsilon) = sup over pairs, orders and events S of P(S) - e^epsilon Q(S), for every real epsilon (nats)."""
    eps, pairs = to_exact(epsilon, "epsilon"), pairs_of(source)
    return enclose(
        lambda bits: largest(pair.hockey_stick(eps) for pair in pairs),
        check_digits(digits),
        what=lambda: f"delta of {source!r} at epsilon = {brief(eps)}",
        within=(0, 1),
    )


def total_variation(source: Source, *, digits: int = 15) -> Enclosure:
    """sup over events S of P(S) - Q(S), which is delta(0)."""
    return profile(source, 0, digits=digits)


def least_epsilon(source: Source, delta: Number, *, digits: int = 15) -> Enclosure:
    """The least epsilon >= 0 (nats) with delta(epsilon) <= delta, for 0 <= delta < 1.

    Exactly 0 where no epsilon is needed. Raises ImpossibleRequest at a delta that the loss beyond every bound exceeds.
    """
    exact, pairs = checked_delta(delta), pairs_of(source)
    if exact == 0:
        return _loss_limit(source, pairs, check_digits(digits))
    if not exceeds(lambda: largest(pair.hockey_stick(fmpq(0)) for pair in pairs), exact, source):
        return Enclosure(fmpq(0), digits=check_digits(digits))
    _require_reached(source, pairs, exact)

    def value(bits: int) -> arb:
        return positive_root(
            lambda eps: arb(largest(pair.hockey_stick(eps.fmpq()) for pair in pairs)),
            lambda eps: -_steepest(pairs, eps.fmpq()),
            exact,
            increasing=False,
            bits=bits,
        )

    return enclose(value, check_digits(digits), what=lambda: f"epsilon of {source!r} at delta = {brief(exact)}")


def exceeds(evaluate: object, target: fmpq, source: Source) -> bool:
    """Whether a ball or exact value is above `target`; ties are decided where the value is exact."""
    first: Ball = evaluate()  # type: ignore[operator]
    if isinstance(first, fmpq):
        return bool(first > target)
    return is_above(lambda: arb(evaluate()), target, what=lambda: f"a probability of {source!r}")  # type: ignore[operator]


_FAR = (2**6, 2**10, 2**14, 2**18)
"""Where the loss of an unbounded pair is looked at; e^(2^18) is more than any mechanism is asked for."""


def _require_reached(source: Source, pairs: tuple[DominatingPair, ...], delta: fmpq) -> None:
    """Raise ImpossibleRequest where even a huge epsilon leaves more than `delta`: a search would not end."""
    for far in _FAR:
        if not exceeds(lambda: largest(pair.hockey_stick(fmpq(far)) for pair in pairs), delta, source):  # noqa: B023
            return
    raise ImpossibleRequest(
        f"delta = {delta}: the privacy loss of {source!r} exceeds every epsilon up to {_FAR[-1]} with more than this"
        " probability; give a larger delta."
    )


def _loss_limit(source: Source, pairs: tuple[DominatingPair, ...], digits: int) -> Enclosure:
    if not arb(largest(pair.loss_limit() for pair in pairs)).is_finite():
        raise ImpossibleRequest(f"delta = 0: the privacy loss of {source!r} is unbounded; give delta > 0.")
    return enclose(
        lambda bits: largest([fmpq(0), *(pair.loss_limit() for pair in pairs)]),
        digits,
        what=lambda: f"largest loss of {source!r}",
    )


def _steepest(pairs: tuple[DominatingPair, ...], eps: fmpq) -> arb:
    """e^eps Q(L > eps) = P(L > eps) - delta(eps) of the pair that gives the supremum; only speed depends on it."""
    chosen = max(pairs, key=lambda pair: float(arb(pair.hockey_stick(eps))))
    return arb(chosen.loss_tail(eps)) - arb(chosen.hockey_stick(eps))
