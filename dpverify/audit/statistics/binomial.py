"""Exact one-sided confidence bounds for a probability (Clopper and Pearson 1934), certified and rounded outward.

A float Newton iteration finds the place, one certified evaluation and one tangent give the bound. The tangent is a proof: as
a function of log p the logarithm of Pr(Bin(n, p) >= k) is concave (it is the distribution function of a log-concave
density), so it lies below each of its tangents, and where the tangent reaches log alpha the tail is at most alpha.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from flint import arb

from dpverify.arithmetic.enclosure import arb_above
from dpverify.arithmetic.precision import working_precision
from dpverify.audit.statistics import tails
from dpverify.audit.statistics.counts import check, whole
from dpverify.errors import InputError


def lower(successes: int, trials: int, alpha: float) -> float:
    """The exact lower confidence bound for p at level 1 - alpha: the p with Pr(Bin(n, p) >= k) = alpha, rounded down.

    `successes` = k, 0 <= k <= n = `trials`; 0 < alpha < 1. Statistical at level alpha: whatever the true p, the bound
    exceeds it with probability at most alpha. Certified: never above the exact root, and below it by a few units in
    the last place. Some 100 us for any n, up to 20 ms for large n where alpha is near one half.
    0.0 when k = 0. Raises InputError for counts or levels outside these domains.
    """
    successes, trials = _checked(successes, trials, alpha)
    if successes == 0:
        return 0.0
    start, _ = _root(successes, trials, alpha)
    with working_precision(tails.working_bits(trials)):
        p = arb(start)
        step = _tangent_step(successes, trials, p, 1 - p, alpha)
        return max(0.0, -arb_above(-(p * step.exp()).lower()))


def upper(successes: int, trials: int, alpha: float) -> float:
    """The exact upper confidence bound for p at level 1 - alpha: the p with Pr(Bin(n, p) <= k) = alpha, rounded up.

    `successes` = k, 0 <= k <= n = `trials`; 0 < alpha < 1. Guarantees and errors as for `lower`; 1.0 when k = n.
    """
    successes, trials = _checked(successes, trials, alpha)
    if successes == trials:
        return 1.0
    _, start = _root(trials - successes, trials, alpha)
    with working_precision(tails.working_bits(trials)):
        p = arb(start)
        step = _tangent_step(trials - successes, trials, 1 - p, p, alpha)
        return min(1.0, arb_above((p - (1 - p) * step.expm1()).upper()))


def _checked(successes: int, trials: int, alpha: float) -> tuple[int, int]:
    successes, trials = whole(successes, "successes"), whole(trials, "trials")
    if not 0 <= successes <= trials:
        raise InputError(f"{successes} of {trials}: a count of successes lies between 0 and the number of trials.")
    check(alpha=alpha)
    return successes, trials


def _tangent_step(k: int, n: int, p: arb, q: arb, alpha: float) -> arb:
    """How far log p may move from here before the tangent of log Pr(Bin(n, p) >= k) passes log alpha."""
    first = tails.probability(k, n, p, q)
    if tails.beyond_the_mean(k, n, p):
        x = tails.fraction(k, n, p, _bits_that_show(k, n))
        tail, slope = first * q / x, k * x / q
    else:
        tail = tails.upper_tail(k, n, p, q)
        slope = k * first / tail
    return (arb(alpha).log() - tail.log()) / slope


def _bits_that_show(k: int, n: int) -> int:
    """A relative error e of the tail moves the root by a part e/sqrt(k): what is below a quarter of an ulp is left out."""
    return 56 - min(k, n - k + 1).bit_length() // 2


def _root(k: int, n: int, alpha: float) -> tuple[float, float]:
    """(p, 1 - p) in doubles with Pr(Bin(n, p) >= k) near alpha. Heuristic: what is returned is certified afterwards.

    Newton on log Pr as a function of log(p/(1-p)) keeps both p and 1 - p accurate however near to 0 or 1 they are.
    The logarithm is concave in that argument too, so that Newton comes from the left and cannot run away.
    """
    with working_precision(tails.working_bits(n)):
        constant = float(tails.log_choose(n, k))
    target = math.log(alpha)
    logit = max(-700.0, min(700.0, _start(k, n, alpha, constant)))
    for _ in range(60):
        log_p, log_q = -math.log1p(math.exp(-logit)), -math.log1p(math.exp(logit))
        p, q = math.exp(log_p), math.exp(log_q)
        log_first = constant + k * log_p + (n - k) * log_q
        if (n + 1) * p < (k + 1) * (1 - 1e-9):
            x = _float_fraction(k, n, p)
            log_tail, slope = log_first + log_q - math.log(x), k * x
        else:
            rest = n - k + 1
            other = math.exp(log_first + math.log(k * q / (rest * _float_fraction(rest, n, q))))
            tail = max(1 - other, 1e-17)
            log_tail, slope = math.log(tail), k * math.exp(log_first) * q / tail
        miss = target - log_tail
        logit = max(-700.0, min(700.0, logit + (max(-2.0, min(2.0, miss / slope)) if slope > 0 else -2.0)))
        if abs(miss) < 1e-8 + 1e-15 * constant:
            break
    return math.exp(-math.log1p(math.exp(-logit))), math.exp(-math.log1p(math.exp(logit)))


def _start(k: int, n: int, alpha: float, constant: float) -> float:
    """The Wilson-Hilferty approximation to the ratio of two gamma variables, or what C(n, k) p^k <= alpha leaves."""
    z = -NormalDist().inv_cdf(alpha)
    a, b = 1 / (9 * k), 1 / (9 * (n - k + 1))
    inside = a * (1 - b) ** 2 + b * (1 - a) ** 2 - a * b * z * z
    below = (1 - b) ** 2 - b * z * z
    log_p = min((math.log(alpha) - constant) / k, -1e-12)
    floor = log_p - math.log(-math.expm1(log_p))
    if inside < 0 or below <= 0:
        return floor
    root = ((1 - a) * (1 - b) - z * math.sqrt(inside)) / below
    return max(floor, 3 * math.log(root) + math.log(k / (n - k + 1))) if root > 0 else floor


def _float_fraction(k: int, n: int, p: float) -> float:
    terms = tails.terms_needed(k, n, p, 32)
    middle = k + 2 * terms + 1
    x = 1 - (k + terms) * (n + 1 + terms) * p / ((middle - 1) * middle)
    for m in range(terms - 1, -1, -1):
        middle -= 2
        b = (m + 1) * (n - k - m) * p / (middle * (middle + 1))
        x = 1 - (k + m) * (n + 1 + m) * p / ((middle - 1) * middle) / (1 + b / x)
    return x
