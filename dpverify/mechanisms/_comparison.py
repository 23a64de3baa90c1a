"""Which noise is best at (epsilon, delta): every mechanism that adds noise to a number, at its least scale.

The families say themselves at which shapes they enter (`Mechanism.contenders`); nothing is listed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpverify.arithmetic.exact import Number
from dpverify.errors import DpverifyError, UndecidedError
from dpverify.mechanisms import by_name, names
from dpverify.mechanisms._parameters import checked_delta, checked_epsilon, checked_sensitivity

if TYPE_CHECKING:
    from fractions import Fraction

    from dpverify.arithmetic.enclosure import Enclosure


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A mechanism at the least double of its scale that satisfies the claim, and its mean squared error there; or the reason
    why there is none."""

    mechanism: str
    shape: str
    scale_name: str
    member: Any
    error: Enclosure | None
    status: str
    reason: str | None

    @property
    def scale(self) -> Any:
        """The calibrated scale, None where there is none."""
        return None if self.member is None else getattr(self.member, self.scale_name)

    @property
    def ends(self) -> tuple[Fraction | float, Fraction | float]:
        """The mean squared error, bounded from above and from below: what is ranked."""
        assert self.error is not None
        if self.error.is_infinite:
            return float("inf"), float("inf")
        return self.error.exact_upper, self.error.exact_lower


def entries(epsilon: Number, delta: Number, sensitivity: Number) -> list[Callable[[int], Contender]]:
    """What is to be computed, one call with a number of digits a row. Raises InputError for numbers that make no sense."""
    request = {
        "epsilon": checked_epsilon(epsilon),
        "delta": checked_delta(delta),
        "sensitivity": checked_sensitivity(sensitivity),
    }
    return list(_entries(request))


def ranked(contenders: list[Contender]) -> list[Contender]:
    """The least mean squared error first; those without one last. Doubles would not do: errors may be beyond them."""
    answered = [one for one in contenders if one.error is not None]
    refused = [one for one in contenders if one.error is None]
    return [*sorted(answered, key=lambda one: (one.ends, one.mechanism, one.shape)), *refused]


def ranks(answered: list[Contender]) -> list[int]:
    """The place of each in a ranking. Errors that are not told apart at these digits, or are equal, share the first place."""
    places: list[int] = []
    for place, one in enumerate(answered, start=1):
        shared = place > 1 and one.ends[1] <= answered[place - 2].ends[0]
        places.append(places[-1] if shared else place)
    return places


def _entries(request: dict[str, Any]) -> Iterator[Callable[[int], Contender]]:
    for name in names():
        family: Any = by_name(name)
        if hasattr(family, "mean_squared_error"):
            for shape, make in family.contenders(**request):
                yield _entry(family, shape, make)


def _entry(family: Any, shape: str, make: Callable[[], Any]) -> Callable[[int], Contender]:
    def compute(digits: int) -> Contender:
        row = {"mechanism": family.name, "shape": shape, "scale_name": family.scale_name}
        try:
            member = make()
            error = member.mean_squared_error(digits=digits)
        except DpverifyError as refusal:
            status = "undecided" if isinstance(refusal, UndecidedError) else "refused"
            return Contender(**row, member=None, error=None, status=status, reason=str(refusal))
        return Contender(**row, member=member, error=error, status="certified", reason=None)

    return compute
