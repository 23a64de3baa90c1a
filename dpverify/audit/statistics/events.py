"""Tests and bounds for one event S from its counts: the public face of this package.

The claim in one direction is P(S) <= e^epsilon Q(S) + delta. With delta = 0 and a random side the test is the exact
conditional one (`conditional`); otherwise it is the exact joint one (`joint`, `inversion`). Both are decided with certified
arithmetic. Nothing is computed here: each function checks its numbers and says which test answers.
"""

from __future__ import annotations

from dpverify.audit.statistics.conditional import side_epsilon_lower, side_p_value, side_rejects
from dpverify.audit.statistics.counts import Counts, Design, check
from dpverify.audit.statistics.inversion import joint_delta_lower, joint_epsilon_lower, joint_p_value, joint_rejects
from dpverify.audit.statistics.power import detectable_epsilon
from dpverify.audit.statistics.ranking import approximate_epsilon_lower
from dpverify.errors import InputError

__all__ = [
    "Counts",
    "Design",
    "approximate_epsilon_lower",
    "delta_lower",
    "detectable_epsilon",
    "epsilon_lower",
    "p_value",
    "rejects",
]


def epsilon_lower(counts: Counts, *, delta: float, alpha: float, design: Design = "random-side") -> float:
    """A lower confidence bound for the epsilon that this event needs at this delta: the least that is not rejected.

    `delta` in [0, 1], a double at least as large as the claimed one; `alpha` in (0, 1); `design` as in `Design`: pass
    "fixed" unless the sides came from a fair coin. Statistical at level alpha: if (epsilon, delta) holds, the bound exceeds
    epsilon with probability at most alpha. Always finite; 0.0 where nothing is shown. Certified and rounded down; the
    joint test stops within a part 3e-2 of the level. Raises InputError for numbers outside their domains.
    """
    check(delta=delta, alpha=alpha)
    if _conditional(counts, delta, design):
        return side_epsilon_lower(counts.hits, counts.other_hits, alpha)
    return joint_epsilon_lower(counts, delta=delta, alpha=alpha)


def rejects(counts: Counts, *, epsilon: float, delta: float, alpha: float, design: Design = "random-side") -> bool:
    """Whether this event refutes the claim (epsilon, delta) at level alpha, with certainty in every step of arithmetic.

    Parameters and errors as for `epsilon_lower`, `epsilon` >= 0 in nats. True wherever epsilon <= epsilon_lower(...) > 0.
    Statistical at level alpha: where the claim holds it is True with probability at most alpha.
    """
    check(delta=delta, alpha=alpha, epsilon=epsilon)
    if _conditional(counts, delta, design):
        return side_rejects(counts.hits, counts.other_hits, epsilon, alpha)
    return joint_rejects(counts, epsilon=epsilon, delta=delta, alpha=alpha)


def delta_lower(counts: Counts, *, epsilon: float, alpha: float, design: Design = "random-side") -> float:
    """A lower confidence bound for the delta that this event needs at this epsilon: the least that is not rejected.

    It is the joint test in either design. Parameters, guarantee and errors as for `epsilon_lower`.
    """
    check(alpha=alpha, epsilon=epsilon)
    _conditional(counts, 1.0, design)
    return joint_delta_lower(counts, epsilon=epsilon, alpha=alpha)


def p_value(counts: Counts, *, epsilon: float, delta: float, design: Design = "random-side") -> float:
    """A p-value of the claim (epsilon, delta), rounded up: where the claim holds, Pr(p_value <= a) <= a for every a.

    Parameters and errors as for `rejects`. With delta = 0 and a random side it is <= alpha exactly where `rejects` is True.
    The joint test orders the counts by the claim here and by alpha there: the two differ by a few percent of alpha, and where
    alpha is tiny and counts are one-sided this p-value may be several times larger. Both are valid.
    """
    check(delta=delta, epsilon=epsilon)
    if _conditional(counts, delta, design):
        return side_p_value(counts.hits, counts.other_hits, epsilon)
    return joint_p_value(counts, epsilon=epsilon, delta=delta)


def _conditional(counts: Counts, delta: float, design: Design) -> bool:
    """Whether the conditional test answers. It is not valid for a split that no fair coin makes, and that is refused."""
    if design not in ("random-side", "fixed"):
        raise InputError(f'design = {design!r}: it is "random-side" or "fixed".')
    if design == "fixed" or delta > 0:
        return False
    total = counts.draws + counts.other_draws
    if (counts.draws - counts.other_draws) ** 2 > 81 * total:
        raise InputError(
            f"{counts.draws} draws on one side and {counts.other_draws} on the other do not come from a fair coin for each"
            ' trial (nine standard deviations off). Draw the side of each trial by a coin, or pass design="fixed".'
        )
    return True
