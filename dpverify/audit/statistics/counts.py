"""The counts that the tests of this package read, and what they assume of how the draws were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

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
        for hits, draws in ((self.hits, self.draws), (self.other_hits, self.other_draws)):
            if not 0 <= hits <= draws:
                raise InputError(f"{hits} hits of {draws} draws: hits are counted among the draws; check which number is which.")
