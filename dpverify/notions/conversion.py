"""From one guarantee to another: which implies which, and at what loss.

`convert` names the step, says whether it is tight (no smaller value follows from the given guarantee alone) and returns a
guarantee whose parameters are safe: each is the least double that is no smaller than the certified formula. Steps that do
not exist are refused with the reason. What a *mechanism* has is not converted but computed: `notions` asks its pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpverify.arithmetic.exact import Number
from dpverify.enclose.refine import check_digits
from dpverify.errors import ImpossibleRequest, InputError, shown
from dpverify.guarantees import (
    ZCDP,
    ApproxDP,
    ConcentratedDP,
    GaussianDP,
    Guarantee,
    ProbabilisticDP,
    PureDP,
    RandomDP,
    RenyiDP,
)
from dpverify.notions import _from_divergences as divergences
from dpverify.notions import _from_pure as pure
from dpverify.notions import _from_tails as tails
from dpverify.notions._conversion import Conversion as Conversion
from dpverify.notions._conversion import Wish, same


def convert(
    given: Guarantee,
    to: type[Any],
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    order: Number | None = None,
    digits: int = 15,
) -> Conversion:
    """The guarantee of type `to` that follows from `given`.

    given           a guarantee, such as `ZCDP(rho="1/2")`
    to              a type of guarantee, such as `ApproxDP`
    epsilon, delta  which point is meant, where what follows is a curve of (epsilon, delta): one of them, in nats and in (0, 1)
    order           which Renyi order > 1 is meant, where what follows is one for each
    digits          guaranteed significant digits of the parameters

    Returns a Conversion: the guarantee, whether the step is tight, and what it rests on. Its parameters are rounded to the side
    on which it holds. Raises ImpossibleRequest where nothing of the kind follows, InputError where a choice is missing.
    """
    step = _STEPS.get((type(given), to))
    if step is None and type(given) is to and to is not RandomDP:
        return same(
            given, given, "it is that guarantee", Wish(epsilon=None, delta=None, order=None, digits=check_digits(digits))
        )
    if step is None:
        raise ImpossibleRequest(_refusal(given, to))
    return step(given, Wish(epsilon=epsilon, delta=delta, order=order, digits=check_digits(digits)))


_STEPS: dict[tuple[type[Any], type[Any]], Callable[[Any, Wish], Conversion]] = {
    (PureDP, ApproxDP): pure.pure_to_approx,
    (PureDP, ProbabilisticDP): lambda given, wish: same(
        given, ProbabilisticDP(epsilon=given.epsilon, delta=0, union=True), "a loss that never exceeds epsilon", wish
    ),
    (PureDP, ZCDP): pure.pure_to_zcdp,
    (PureDP, RenyiDP): pure.pure_to_renyi,
    (PureDP, GaussianDP): pure.pure_to_gaussian,
    (PureDP, ConcentratedDP): lambda given, wish: _through(given, ZCDP, ConcentratedDP, wish),
    (ApproxDP, PureDP): tails.approx_to_pure,
    (ApproxDP, ProbabilisticDP): tails.approx_to_probabilistic,
    (ProbabilisticDP, ApproxDP): tails.probabilistic_to_approx,
    (ProbabilisticDP, PureDP): tails.probabilistic_to_pure,
    (RenyiDP, ApproxDP): divergences.renyi_to_approx,
    (RenyiDP, RenyiDP): divergences.renyi_to_renyi,
    (ZCDP, RenyiDP): divergences.zcdp_to_renyi,
    (ZCDP, ApproxDP): divergences.zcdp_to_approx,
    (ZCDP, ConcentratedDP): divergences.zcdp_to_concentrated,
    (ConcentratedDP, ProbabilisticDP): tails.concentrated_to_probabilistic,
    (ConcentratedDP, ApproxDP): tails.concentrated_to_approx,
    (GaussianDP, ApproxDP): divergences.gaussian_to_approx,
    (GaussianDP, ZCDP): divergences.gaussian_to_zcdp,
    (GaussianDP, RenyiDP): divergences.gaussian_to_renyi,
    (GaussianDP, ConcentratedDP): lambda given, wish: _through(given, ZCDP, ConcentratedDP, wish),
}


def steps() -> tuple[tuple[str, str], ...]:
    """(from, to) for every step that exists."""
    return tuple((given.__name__, to.__name__) for given, to in _STEPS)


def _through(given: Guarantee, middle: type[Any], to: type[Any], wish: Wish) -> Conversion:
    first = convert(given, middle, digits=wish.digits)
    second = convert(first.guarantee, to, epsilon=wish.epsilon, delta=wish.delta, order=wish.order, digits=wish.digits)
    return Conversion(
        given=given,
        guarantee=second.guarantee,
        values=second.values,
        tight=False,
        because=f"through {middle.__name__}: {first.because}; {second.because}",
    )


_WHY_NOT: dict[type[Any], str] = {
    RandomDP: "it is a statement about data drawn from its law and holds for no dataset in particular",
    ApproxDP: "with probability delta its loss may be infinite, and it fixes one point of the profile only",
    ProbabilisticDP: "with probability delta its loss may be infinite",
    RenyiDP: "one order leaves every larger order free",
    ZCDP: "its losses may have the tails of infinitely many orders, so some events remain more telling",
    ConcentratedDP: "its tail bound says nothing of the outputs on which the loss is far below its mean",
    PureDP: "no such step is known",
    GaussianDP: "its trade-off function bounds probabilities of events, and the law of the loss only through them; go through"
    " ApproxDP",
}


def _refusal(given: Guarantee, to: Any) -> str:
    if type(given) not in _WHY_NOT:
        raise InputError(f"{shown(given)} is no guarantee; give one such as ApproxDP(epsilon=1, delta='1e-6').")
    if to not in _WHY_NOT:
        raise InputError(f"{shown(to)} is no notion to convert to; give one such as ApproxDP.")
    known = [target.__name__ for source, target in _STEPS if source is type(given)]
    ways = f"; from it follow {', '.join(known)}" if known else ""
    return f"{given} gives no {to.__name__}: {_WHY_NOT[type(given)]}{ways}."
