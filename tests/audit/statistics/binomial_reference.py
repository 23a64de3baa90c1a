"""Writes binomial_bounds.csv: exact one-sided binomial bounds to 30 digits, computed by another road than the package's.

Run: python tests/audit/statistics/binomial_reference.py
mpmath at 90 digits sums the terms of the tail one by one from the largest, and secants on the logarithm of the tail find p.
"""

from __future__ import annotations

import csv
from pathlib import Path

import mpmath

PATH = Path(__file__).with_name("binomial_bounds.csv")
DIGITS = 90
ROWS = [
    ("lower", 1, 10, "0.05"),
    ("lower", 10, 10, "0.001"),
    ("lower", 7, 12, "0.5"),
    ("lower", 999, 1000, "0.001"),
    ("lower", 20, 1000000, "1e-9"),
    ("lower", 1000, 50000000, "0.05"),
    ("lower", 1000, 200000000, "0.05"),
    ("lower", 1000, 200000000, "0.001"),
    ("lower", 1001, 200000000, "0.05"),
    ("lower", 250000, 1000000, "0.025"),
    ("lower", 1000000, 1000000000, "0.001"),
    ("lower", 999999990, 1000000000, "0.01"),
    ("upper", 0, 10, "0.05"),
    ("upper", 5, 12, "0.5"),
    ("upper", 0, 1000000000, "0.001"),
    ("upper", 3, 1000000, "1e-9"),
    ("upper", 1000, 200000000, "0.05"),
    ("upper", 250000, 1000000, "0.025"),
    ("upper", 1000000, 1000000000, "0.001"),
    ("upper", 999, 1000, "0.001"),
]


def log_tail(successes: int, trials: int, p: mpmath.mpf) -> mpmath.mpf:
    """log Pr(Bin(trials, p) >= successes)."""
    q = 1 - p
    log_first = (
        mpmath.loggamma(trials + 1)
        - mpmath.loggamma(successes + 1)
        - mpmath.loggamma(trials - successes + 1)
        + successes * mpmath.log(p)
        + (trials - successes) * mpmath.log(q)
    )
    odds, term, total, j = p / q, mpmath.mpf(1), mpmath.mpf(1), successes
    while j < trials:
        term *= (trials - j) * odds / (j + 1)
        j += 1
        total += term
        if term < total * mpmath.mpf(10) ** -60:
            break
    return log_first + mpmath.log(total)


def bound(side: str, successes: int, trials: int, alpha: str) -> mpmath.mpf:
    """The bound: for "upper" the tail of the complementary count is solved for 1 - p."""
    k = successes if side == "lower" else trials - successes
    target = mpmath.log(mpmath.mpf(alpha))
    share = mpmath.mpf(k) / trials
    spread = mpmath.sqrt(max(share * (1 - share), mpmath.mpf(1) / trials) / trials)
    guesses = [min(max(share - z * spread, share / 10**z), 1 - spread) for z in (2, 3)]

    def excess(logit: mpmath.mpf) -> mpmath.mpf:
        return log_tail(k, trials, 1 / (1 + mpmath.exp(-logit))) - target

    before, logit = (mpmath.log(g / (1 - g)) for g in guesses)
    value_before, value = excess(before), excess(logit)
    while abs(logit - before) > mpmath.mpf(10) ** -40:
        before, logit = logit, logit - value * (logit - before) / (value - value_before)
        value_before, value = value, excess(logit)
    return 1 / (1 + mpmath.exp(-logit)) if side == "lower" else 1 / (1 + mpmath.exp(logit))


def main() -> None:
    """Writes the file beside this one."""
    mpmath.mp.dps = DIGITS
    origin = f"sum of the tail and secants, mpmath at {DIGITS} digits"
    with PATH.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["side", "successes", "trials", "alpha", "value", "origin"])
        for side, successes, trials, alpha in ROWS:
            value = mpmath.nstr(bound(side, successes, trials, alpha), 30, strip_zeros=False, min_fixed=0, max_fixed=0)
            writer.writerow([side, successes, trials, alpha, value, origin])


if __name__ == "__main__":
    main()
