"""The counts that the tests of this package read, and what they assume of how the draws were made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import index
from typing import Literal, SupportsIndex, TypeAlias

from dpverify.errors import InputError

Design: TypeAlias = Literal["random-side", "fixed"]
"""How the number of draws on each side came about.

"random-side": a fair coin decided, independently for each trial, from which input the output was drawn; in other words
`draws` was drawn as Binomial(draws + other_draws, 1/2) before sampling, independently of every output.
"fixed": both numbers were set beforehand (equal, say). Whatever is valid for "fixed" is valid for "random-side" as well:
given the coins, the two counts of hits are the binomials of a fixed design.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How often one event S happened on each side: `hits` of `draws` outputs of M(D), `other_hits` of `other_draws` of M(D').

    The claim under test in this direction is P(S) <= e^epsilon Q(S) + delta, with P and Q the laws of M(D) and M(D').
    Raises InputError unless 0 <= hits <= draws and 0 <= other_hits <= other_draws.
    """

    hits: int
    draws: int
    other_hits: int
    other_draws: int

    def __post_init__(self) -> None:
        for name in ("hits", "draws", "other_hits", "other_draws"):
            object.__setattr__(self, name, whole(getattr(self, name), name))  # NumPy integers would overflow in silence
        for hits, draws in ((self.hits, self.draws), (self.other_hits, self.other_draws)):
            if not 0 <= hits <= draws:
                raise InputError(f"{hits} hits of {draws} draws: hits are counted among the draws; look which number is which.")


def whole(value: SupportsIndex, name: str) -> int:
    """The value as a Python integer; InputError for anything else, floats included."""
    try:
        return index(value)
    except TypeError:
        raise InputError(f"{name} = {value!r}: a count is an integer.") from None


def check(*, delta: float = 0.0, alpha: float = 0.5, epsilon: float = 0.0) -> None:
    """Raises InputError unless 0 <= delta <= 1, 0 < alpha < 1 and 0 <= epsilon < inf."""
    if not 0 <= delta <= 1:
        raise InputError(f"delta = {delta}: it is a probability, between 0 and 1.")
    if not 0 < alpha < 1:
        raise InputError(f"alpha = {alpha}: the probability of an error lies strictly between 0 and 1; 0.001 is usual.")
    if not 0 <= epsilon < math.inf:
        raise InputError(f"epsilon = {epsilon}: a finite number >= 0 is needed.")
