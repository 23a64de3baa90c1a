"""The run's probability of error: how it is split, and the run that is under way.

The probability that a run refutes any true claim is at most the run's alpha (union bound): half of it is split evenly over
the declared claims; the other half evenly over tests, and within a test the k-th assertion takes 1/(k (k + 1)) of the
test's part, which sums to no more than the part however many there are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpverify.errors import InputError, shown

if TYPE_CHECKING:
    from dpverify.gate.outcome import Outcome

ALPHA = "1e-6"
"""The probability that a run refutes any true claim, unless the user says otherwise."""


def share(alpha: float, parts: int) -> float:
    """The part of each of `parts` equals."""
    return alpha / max(parts, 1)


def share_of_assertion(alpha: float, number: int) -> float:
    """The part of a test's alpha that its assertion of this number, counted from 1, may spend."""
    return alpha / (number * (number + 1))


def seed_of(run: int, name: str) -> int:
    """The seed of one claim, from the seed of the run and the name of the claim: independent of the order of claims."""
    import hashlib

    return int.from_bytes(hashlib.sha256(f"{run}:{name}".encode()).digest()[:6])


def random_seed() -> int:
    """A fresh seed for a run, short enough to be typed again."""
    import secrets

    return secrets.randbelow(10**9)


def seconds_of(words: str, name: str) -> float:
    """A time as users write it: 90, 90s, 5m or 1.5h. Raises InputError."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([smh]?)", words.strip())
    if match is None or not 0 < float(match[1]) < 10**7:
        raise InputError(f"{name} = {shown(words)}: a time such as 90, 90s, 5m or 1h is needed, more than 0.")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def alpha_of(words: str, name: str) -> float:
    """A probability of error as users write it. Raises InputError."""
    from dpverify.arithmetic.exact import float_below, to_exact

    exact = to_exact(words, name)
    if not 1e-90 <= float_below(exact) < 1:
        raise InputError(f"{name} = {shown(words)}: a probability in (0, 1) is needed, from 1e-90 on; {ALPHA} is usual.")
    return float_below(exact)


def seed_from(words: str, name: str) -> int:
    """A seed as users write it: a whole number, or "random" for a fresh one. Raises InputError."""
    if words.strip() == "random":
        return random_seed()
    if not re.fullmatch(r"\d{1,18}", words.strip(), re.ASCII):
        raise InputError(f"{name} = {shown(words)}: a whole number, 0 or more, is needed, or the word random.")
    return int(words)


@dataclass(slots=True)
class Run:
    """The run under way: what assertions inside tests may spend, and where their outcomes go.

    `alpha` is the part of one test. `seconds` says how long the next check may take; None for no limit.
    """

    seed: int
    alpha: float
    seconds: Callable[[], float | None] = lambda: None
    keep: Callable[[Outcome], Outcome] = lambda outcome: outcome
    assertions: int = 0

    def next_alpha(self) -> float:
        """What the next assertion of the test may spend."""
        self.assertions += 1
        return share_of_assertion(self.alpha, self.assertions)


current: list[Run] = []
"""The run whose test is under way, last. Assertions in any thread must find it, so it is no context variable."""
