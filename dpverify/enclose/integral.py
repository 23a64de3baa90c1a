"""Certified integrals of piecewise analytic functions over finite pieces.

The pieces must not contain a kink in their interior; what is left out beyond the last end is the caller's to bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from flint import acb, arb, ctx

from dpverify.arithmetic.complex_balls import ANALYTIC, PLAIN
from dpverify.enclose.effort import spend
from dpverify.errors import PrecisionError

Integrand = Callable[[Any, acb], acb]
"""f(m, x), m being complex balls. Where m is `ANALYTIC` the answer must not be finite unless f is analytic on x."""

LARGEST_EFFORT = 15_000
"""Evaluations of one integral before giving up."""

_COST = 3
"""What an evaluation costs, in those of a simple function."""

_NO_ABSOLUTE_GOAL = -(10**7)
"""As a power of two. Integrals may be as small as they like: only the relative error counts."""


def integral(integrand: Integrand, ends: Sequence[arb], *, within: arb | None = None) -> arb:
    """The integral of a real function over [ends[0], ends[-1]], split at every end; a ball at the working precision.

    The first piece is enclosed to about the working precision relative to its own size, the others relative to the sum so far;
    or all of them to a radius of about `within`. So the first piece should hold a fair share, and no sign change. Raises
    PrecisionError when the effort is spent, that of this integral or of the whole question (`enclose.effort`).
    """

    count, failure = 0, None

    def evaluate(x: acb, analytic: bool) -> acb:
        nonlocal count, failure
        count += 1
        if count <= LARGEST_EFFORT and failure is None:
            try:
                spend(_COST)
                return integrand(ANALYTIC if analytic else PLAIN, x)
            except Exception as error:  # it would not find its way through the integrator
                failure = error
        return acb(arb.nan(), arb.nan())

    goal = arb(2) ** -int(ctx.prec)
    absolute = arb(2) ** _NO_ABSOLUTE_GOAL if within is None else within
    total = arb(0)
    for low, high in pairwise(ends):
        total += acb.integral(evaluate, acb(low), acb(high), rel_tol=goal, abs_tol=absolute).real
        if failure is not None:
            raise failure
        if count > LARGEST_EFFORT:
            raise PrecisionError(
                f"an integral did not close within {LARGEST_EFFORT} evaluations; move the request away from the extreme.",
                reached=0,
            )
        if within is None:
            absolute = absolute.max(abs(total).mid() * goal)
    return total
