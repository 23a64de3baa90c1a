"""Power moments of noise with density C e^(-c |x|^p), p > 1, where they are so large or small that a few nats do not matter.

K = log of the integral of f(y)^a f(y + d)^(1 - a) is log C + log of the integral of e^E, E(y) = -A c |y|^p + B c |y + d|^p with
A = a and B = a - 1. For A > B, and r = (|B|/A)^(1/(p - 1)) with the sign of B,

    sup E = c B d^p (1 - r)^(1 - p),  attained at y = r d/(1 - r).

Proof. For B > 0, E rises up to y = 0: |y| > |y + d| for y < -d, and both terms rise from -d to 0. For y > 0 its slope vanishes
where (y + d)/y = 1/r alone. For B < 0 both terms fall away from [-d, 0], and E is concave there.

- From above: e^E is e^(-s c |y|^p) times an exponential of the same form with A = a - s, and the integral of the first factor
  is s^(-1/p)/C. So K <= sup E(a - s, a - 1) - log(s)/p, for every 0 < s < min(1, a).
- From below: between y and y + h E loses at most M h^2/2, M bounding |E''| there; so K >= log C + sup E - 1/2 + log h for
  h = min(|y|, |y + d|/2, M^(-1/2)), on the side away from -d for B > 0 and towards -d for B < 0, where |y| at most doubles and
  |y + d| grows, or shrinks by at most a half: M = c p (p - 1) 2^|p - 2| (A |y|^(p - 2) + |B| |y + d|^(p - 2)).
"""

from __future__ import annotations

from flint import arb, ctx, fmpq

_SPARED = 24
"""Bits of the working precision that the bounds may cost."""


def log_moment(p: fmpq, c: fmpq, d: fmpq, order: fmpq, log_normaliser: arb) -> arb | None:
    """K as a ball, for p > 1, d > 0 and a positive order other than 1; None where the bounds are too far apart."""
    exponent, shift = arb(p), arb(d)
    others = arb(order - 1)

    def ratio(first: arb) -> arb:
        size = (abs(others) / first) ** (1 / (exponent - 1))
        return size if order > 1 else -size

    def summit(r: arb) -> arb:
        return arb(c) * others * shift**exponent * (1 - r) ** (1 - exponent)

    share = arb(min(fmpq(1), order)) * arb(2) ** -(2 * int(ctx.prec))
    above = summit(ratio(arb(order) - share)) - share.log() / exponent
    r = ratio(arb(order))
    near, far = abs(r) * shift / (1 - r), shift / (1 - r)
    bend = arb(c) * exponent * (exponent - 1) * arb(2) ** abs(exponent - 2)
    bend *= arb(order) * near ** (exponent - 2) + abs(others) * far ** (exponent - 2)
    width = near.min(far / 2).min(1 / bend.sqrt())
    below = summit(r) - log_normaliser - arb(1) / 2 + width.log()
    found = below.union(above)
    return found if found.is_finite() and found.rel_accuracy_bits() >= int(ctx.prec) - _SPARED else None
