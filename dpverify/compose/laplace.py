"""Any number of Laplace releases, of any widths: the exact law of the total privacy loss.

For one release with d = sensitivity/scale let m be the measure sqrt(p q), pushed forward by the loss: atoms e^{-d/2}/2 at +-d
and the density e^{-d/2}/4 between. Its transform is e^{-d/2} ((1 + w) e^{d z} + (1 - w) e^{-d z})/2 with w = 1/(2z), so
that of a product is a sum of terms c(w) e^{x z}, c a polynomial, over the sums x of all +-d. A term e^{x z}/z^j is the density
(x - l)^{j - 1}/(j - 1)! on l < x (an atom at x for j = 0). Integrated against dP = e^{l/2} dm over the losses above epsilon,
with y = x - epsilon > 0,

    delta:      e^{epsilon/2} G_j(y),  G_j(y) = sum over n of 4^-n y^{j + 2n + 1}/(j + 2n + 1)!
    P(L > eps): e^{epsilon/2} E_j(y),  E_j(y) = sum over n of 2^-n y^{j + n}/(j + n)!

Both obey recursions from the highest j downward that add positive numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from flint import arb, arb_mat, ctx, fmpq, fmpz_poly

from dpverify.errors import NotCovered
from dpverify.mechanisms.laplace import Laplace

LARGEST = 1_500_000
"""Coefficients that the transform of a product may have; about what takes a few seconds."""


def product(counted: Sequence[tuple[Laplace, int]]) -> LaplaceProduct:
    """Releases of the same width are counted together."""
    counts: dict[fmpq, int] = {}
    for noise, count in counted:
        counts[noise.shift] = counts.get(noise.shift, 0) + count
    size = math.prod(count + 1 for count in counts.values()) * (sum(counts.values()) + 1)
    if size > LARGEST:
        raise NotCovered(
            f"the exact law of the loss of these Laplace releases has {size} coefficients, more than {LARGEST}; give most of"
            " them the same width, or compose a Renyi or zCDP guarantee."
        )
    return LaplaceProduct(shifts=tuple(sorted(counts.items(), reverse=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceProduct:
    """Independent Laplace noise in every coordinate; `shifts` are (d, how many coordinates move by d scales)."""

    is_symmetric: ClassVar[bool] = True

    shifts: tuple[tuple[fmpq, int], ...]

    def hockey_stick(self, eps: fmpq) -> arb | fmpq:
        return fmpq(0) if eps >= self.loss_limit() else self._integrated(eps, parity=2)

    def loss_tail(self, eps: fmpq) -> arb | fmpq:
        limit = self.loss_limit()
        if eps >= limit:
            return fmpq(0)
        return fmpq(1) if eps < -limit else self._integrated(eps, parity=1)

    def loss_limit(self) -> fmpq:
        return sum((d * count for d, count in self.shifts), fmpq(0))

    def power_moment(self, order: fmpq) -> arb | fmpq:
        return arb(self.log_power_moment(order)).exp()

    def mean_loss(self) -> arb:
        return self._sum(lambda pair: pair.mean_loss())

    def reversed(self) -> Self:
        return self

    def log_power_moment(self, order: fmpq) -> arb:
        return self._sum(lambda pair: pair.log_power_moment(order))

    def loss_variance(self) -> arb:
        return self._sum(lambda pair: pair.loss_variance())

    def zcdp_rho(self) -> arb:
        """The log of each factor's power moment is concave in (order - 1/2)^2, and so is their sum."""
        return self.mean_loss()

    def _sum(self, of_one: Callable[[Any], Any]) -> arb:
        """What adds up over the releases."""
        pairs = ((Laplace(1, sensitivity=d).dominating_pair(), count) for d, count in self.shifts)
        return sum((arb(of_one(pair)) * count for pair, count in pairs), arb(0))

    def _terms(self, above: fmpq) -> dict[fmpq, fmpz_poly]:
        """c(w) for each x > above; the powers of 1/2 and e^{-d/2} are left out."""
        terms = {fmpq(0): fmpz_poly([1])}
        rest = self.loss_limit()
        for d, count in self.shifts:
            rest -= d * count
            grown: dict[fmpq, fmpz_poly] = {}
            for down, factor in enumerate(_binomials(count)):
                step = d * (count - 2 * down)
                # Where even the other coordinates at their largest stay below, so does every smaller x.
                lasting = [(x, c) for x, c in terms.items() if x + step + rest > above]
                if not lasting:
                    break
                for x, c in lasting:
                    grown[x + step] = grown.get(x + step, _NONE) + c * factor
            terms = grown
        return {x: c for x, c in terms.items() if x > above}

    def _integrated(self, eps: fmpq, *, parity: int) -> arb:
        """The sum over all terms of c(w) applied to G (parity 2) or E (parity 1)."""
        total = arb(0)
        for x, c in self._terms(eps).items():
            coefficients = c.coeffs()
            kernel = _kernel(arb(x - eps), len(coefficients), parity)
            column = [[value * half] for value, half in zip(kernel, _halves(len(kernel)), strict=True)]
            total += (arb_mat([[arb(one) for one in coefficients]]) * arb_mat(column))[0, 0]
        count = sum(count for _, count in self.shifts)
        return total * ((arb(eps) - arb(self.loss_limit())) / 2).exp() / 2**count


_PLUS, _MINUS, _NONE = fmpz_poly([1, 1]), fmpz_poly([1, -1]), fmpz_poly([0])


def _binomials(count: int) -> Iterator[fmpz_poly]:
    """binom(count, j) (1 + w)^(count - j) (1 - w)^j for j = 0, 1, ..."""
    factor = _PLUS**count
    for down in range(count + 1):
        yield factor
        if down < count:
            factor = (factor * (count - down) // _PLUS) * _MINUS // (down + 1)


def _halves(length: int) -> Iterator[arb]:
    """2^-j for j = 0, 1, ..."""
    value, half = arb(1), arb(1) / 2
    for _ in range(length):
        yield value
        value *= half


def _kernel(y: arb, length: int, parity: int) -> list[arb]:
    """G_0 .. G_{length - 1} (parity 2) or E_0 .. (parity 1) at y > 0."""
    first = parity - 1  # the power of y that the series of index 0 starts with
    top = length + parity
    powers = [arb(1)]
    for n in range(1, top + first + 1):
        powers.append(powers[-1] * y / n)
    values = [arb(0)] * (top + parity)
    for j in range(top, top + parity):
        values[j] = _series(y, j + first, parity)
    for j in range(top - 1, -1, -1):
        values[j] = powers[j + first] + values[j + parity] / 2**parity
    return values[:length]


def _series(y: arb, start: int, parity: int) -> arb:
    """sum over n of 2^{-parity n} y^{start + parity n}/(start + parity n)!, with its tail bounded by a geometric one."""
    tiny = arb(2) ** -(int(ctx.prec) + 4)
    term = y**start / arb(start).fac() if start else arb(1)
    total, n = arb(0), start
    while True:
        total += term
        ratio = arb(1)
        for step in range(1, parity + 1):
            ratio *= y / (2 * (n + step))
        term, n = term * ratio, n + parity
        if ratio < fmpq(1, 2) and term < total * tiny:
            return total + term * arb(1, 1)
