"""The exact test of P(S) <= e^epsilon Q(S) when a fair coin chose the side of every trial.

Why it has level alpha. The trials are independent; each takes side D or D' with probability 1/2 and then falls in S with
probability P(S) or Q(S). So each trial is, independently of the others, a hit on side D with probability P(S)/2, a hit on
side D' with probability Q(S)/2, or no hit. Given that h trials hit, the number of them on side D is therefore exactly
Bin(h, theta), theta = P(S) / (P(S) + Q(S)), and the claim says theta <= e^epsilon / (1 + e^epsilon), whatever Q(S) is. The
upper tail of a binomial rises with theta, so that

    p-value = Pr(Bin(h, e^epsilon / (1 + e^epsilon)) >= hits)

exceeds no level too often given any h, hence at all. The total number of trials must not depend on the outputs; the numbers
of draws on each side do not enter. They must have come from the coin: with both fixed beforehand the count given h is not
binomial (it is Fisher's noncentral hypergeometric), and this test is not the one to use.
"""

from __future__ import annotations

from flint import arb

from dpverify.arithmetic.enclosure import arb_above
from dpverify.arithmetic.precision import working_precision
from dpverify.audit.statistics import tails
from dpverify.audit.statistics.binomial import upper


def side_epsilon_lower(hits: int, other_hits: int, alpha: float) -> float:
    """The least epsilon that the test does not reject at level alpha, rounded down; 0.0 where nothing is shown.

    log(theta/(1 - theta)) at the exact lower confidence bound for theta; 1 - theta is bounded from above, which keeps its
    digits when theta is near 1.
    """
    if hits == 0:
        return 0.0
    other_share = upper(other_hits, hits + other_hits, alpha)
    if other_share >= 0.5:
        return 0.0
    with working_precision(128):
        share = arb(other_share)
        return max(0.0, -arb_above(-((1 - share) / share).log().lower()))


def side_p_value(hits: int, other_hits: int, epsilon: float) -> float:
    """Pr(Bin(hits + other_hits, e^epsilon/(1 + e^epsilon)) >= hits), rounded up."""
    with working_precision(tails.working_bits(hits + other_hits)):
        return min(1.0, arb_above(_tail(hits, other_hits, epsilon).upper()))


def side_rejects(hits: int, other_hits: int, epsilon: float, alpha: float) -> bool:
    """Whether the p-value is at most alpha, with certainty."""
    with working_precision(tails.working_bits(hits + other_hits)):
        return bool(_tail(hits, other_hits, epsilon) <= arb(alpha))


def _tail(hits: int, other_hits: int, epsilon: float) -> arb:
    other = 1 / (1 + arb(epsilon).exp())
    return tails.upper_tail(hits, hits + other_hits, 1 - other, other)
