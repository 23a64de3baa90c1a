"""Certified maxima of functions of one number, by branch and bound.

The caller says how to bound the function on an interval. What is returned is proved: no interval is given up before its
bound falls under a value that the function takes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import pairwise

from flint import arb

from dpverify.enclose.effort import spend
from dpverify.errors import PrecisionError

LARGEST_EFFORT = 20_000
"""Intervals examined before giving up."""

_COST = 10
"""What an interval costs, in evaluations of a simple function; values that are integrals count beside."""


def maximum(
    at: Callable[[arb], arb],
    bound: Callable[[arb, arb], arb],
    ends: list[arb],
    *,
    bits: int,
    known: arb,
    what: Callable[[], str],
) -> arb:
    """The supremum of a non-negative function over [ends[0], ends[-1]] (and `known`), to a relative width of 2^-bits.

    `at(x)` encloses the value at an exact x; `bound(low, high)` encloses or exceeds every value on [low, high] (its upper
    end counts). `known` is a lower bound that holds already; the search starts from the pieces between `ends`. Runs at the
    working precision in force, and answers with a wider ball where that is too low. Raises PrecisionError, naming `what()`,
    when the effort is spent, that of this search or of the whole question (`enclose.effort`).
    """
    best = known.lower()
    tolerance = 1 + arb(2) ** -bits
    waiting: list[tuple[float, int, arb, arb, arb]] = []
    settled = best
    count = 0

    def count_one() -> None:
        if count > LARGEST_EFFORT:
            raise PrecisionError(
                f"{what()}: the search for the maximum did not close within {LARGEST_EFFORT} intervals;"
                " ask for fewer digits, or move the request away from the extreme.",
                reached=0,
            )
        spend(_COST)

    def add(low: arb, high: arb) -> None:
        nonlocal count, settled
        count += 1
        over = bound(low, high).upper()
        if over <= best * tolerance:
            settled = settled.max(over)
            return
        key = -float(over) if over.is_finite() else float("-inf")
        heapq.heappush(waiting, (key, count, over, low, high))

    for end in ends:
        count_one()
        best = best.max(at(end).lower()).lower()
    for low, high in pairwise(ends):
        count_one()
        add(low, high)
    while waiting:
        _, _, over, low, high = heapq.heappop(waiting)
        if over <= best * tolerance:
            settled = settled.max(over)
            continue
        count_one()
        middle = ((low + high) / 2).mid()
        if not low < middle < high:
            return best.union(settled.max(over))  # as far as this precision sees
        best = best.max(at(middle).lower()).lower()
        add(low, middle)
        add(middle, high)
    return best.union(settled.max(best))
