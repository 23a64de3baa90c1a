"""Tails of the binomial distribution as Arb balls: rigorous, and quick for a trillion trials as for ten.

Two facts carry this module. The upper tail is its first term times a continued fraction (the one of the regularised
incomplete beta function), here with 0 <= B and 0 < A < 1 throughout, on the side of the mean where it is used:

    Pr(Bin(n, p) >= k) = C(n, k) p^k (1-p)^(n-k+1) / x_0,     x_m = 1 - A_m / (1 + B_{m+1} / x_{m+1}),
    A_m = (k+m)(n+1+m) p / ((k+2m)(k+2m+1)),    B_{m+1} = (m+1)(n-k-m) p / ((k+2m+1)(k+2m+2)).

A_m falls with m, so A_0 = (n+1) p / (k+1) < 1 gives 1 - A_m <= x_m <= 1 for every m, by induction from m = n - k, where B
vanishes and the fraction ends. Cutting it anywhere and putting the ball [1 - A_m, 1] in the place of the rest is
therefore an enclosure. How many terms close that ball depends on the number of standard deviations between the mean
and k, and hardly on n. Beyond the mean the other tail is taken.

No bounds, no tests and no doubles live here.
"""

from __future__ import annotations

import math

from flint import arb

MOST_TERMS = 4096
"""A cap on the work near the mean, where the ball closes slowly: cut here it may be wide, and is still right."""


def working_bits(trials: int) -> int:
    """Bits at which a tail of `trials` trials keeps about 64 correct ones: the logarithms of factorials cancel."""
    return 112 + 2 * trials.bit_length()


def log_choose(trials: int, successes: int) -> arb:
    """The natural logarithm of the binomial coefficient C(trials, successes), as a ball."""
    if successes in (0, trials):
        return arb(0)
    return arb(trials + 1).lgamma() - arb(successes + 1).lgamma() - arb(trials - successes + 1).lgamma()


def probability(successes: int, trials: int, p: arb, q: arb) -> arb:
    """Pr(Bin(trials, p) = successes) as a ball, for 0 < p < 1 and q = 1 - p."""
    return (log_choose(trials, successes) + successes * p.log() + (trials - successes) * q.log()).exp()


def upper_tail(successes: int, trials: int, p: arb, q: arb) -> arb:
    """Pr(Bin(trials, p) >= successes) as a ball, for 0 < p < 1 and q = 1 - p (both given, so that neither loses digits)."""
    if successes <= 0:
        return arb(1)
    if successes > trials:
        return arb(0)
    if beyond_the_mean(successes, trials, p):
        return probability(successes, trials, p, q) * q / fraction(successes, trials, p)
    rest = trials - successes + 1
    return 1 - probability(rest, trials, q, p) * p / fraction(rest, trials, q)


def beyond_the_mean(successes: int, trials: int, p: arb) -> bool:
    """Whether the fraction may be used for the upper tail at `successes`: A_0 < 1, with certainty.

    Where it may not, it may for the lower tail: not A_0 < 1 means p > k/(n+1), up to rounding, which is the same
    condition with room to spare for the complementary tail.
    """
    return bool((trials + 1) * p < successes + 1 - arb(2) ** -20)


def fraction(successes: int, trials: int, p: arb, bits: int = 62) -> arb:
    """The x_0 of the module docstring to about `bits` bits, where `beyond_the_mean` holds."""
    last = trials - successes
    terms = terms_needed(successes, trials, float(p), bits)
    while True:
        value = _cut_fraction(successes, trials, p, terms)
        if terms >= min(last, MOST_TERMS) or value.rel_accuracy_bits() >= bits - 3:
            return value
        terms = min(last, terms + terms // 2 + 4, MOST_TERMS)


def terms_needed(successes: int, trials: int, p: float, bits: int) -> int:
    """An estimate: near the mean x_m behaves like the continued fraction of the normal tail at z, in units of sqrt(spread).

    There exp(-2 z sqrt(2 m)) of the width of the first ball is left after m terms; that ball is about as wide as 1.
    """
    gap = 1 - (trials + 1) * p / (successes + 1)
    spread = max((trials - successes) * p / ((successes + 1) * (successes + 2)), 1e-300)
    needed = (bits - 0.5 * math.log2(spread)) / max(gap / math.sqrt(spread), 1e-3)
    return min(4 + int(0.075 * needed * needed), trials - successes, MOST_TERMS)


def _cut_fraction(successes: int, trials: int, p: arb, terms: int) -> arb:
    k, n = successes, trials
    below = 1 - p * ((k + terms) * (n + 1 + terms)) / ((k + 2 * terms) * (k + 2 * terms + 1))
    x = below if terms == n - k else below.union(arb(1))
    middle = k + 2 * terms + 1
    for m in range(terms - 1, -1, -1):
        middle -= 2
        b = p * ((m + 1) * (n - k - m)) / (middle * (middle + 1))
        x = 1 - p * ((k + m) * (n + 1 + m)) / ((middle - 1) * middle) / (1 + b / x)
    return x
