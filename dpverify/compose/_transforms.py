"""The moment generating function M(s) = E_P e^{s L} of one privacy loss L, for complex s: Taylor series with proven errors.

Noise with density ~ exp(-|y|^p), p a whole number, moved by d: L = |y + d|^p - |y|^p with y drawn from the noise. M is a sum of
integrals of exp(alpha(z) + s beta(z)), alpha and beta polynomials, over legs that start where the density may have a corner:

- odd p: z = y from 0, z = -d - y from 0, and x = -y from 0 to d between them; e^{s d^p} is factored out of all three;
- even p, nothing has a corner: z = +-(y + d/2) from 0;
- the loss to the worse of both neighbours, (|y| + d)^p - |y|^p: z = |y| from 0, twice; e^{s d^p} is factored out.

A leg to infinity may be turned into the complex plane by any angle below pi/(2p): exp(alpha) falls there like exp(-|z|^p), and
the integral stays what it is. Turned well, the integrand does not grow with s. Each leg is cut into panels of Gauss-Legendre
nodes. With |f| <= m on the ellipse around a panel whose half axes add up to r half lengths, n nodes are wrong by at most
64/15 m r^(-2n)/(1 - r^-2) half lengths [L. N. Trefethen, "Is Gauss Quadrature Better than Clenshaw-Curtis?", SIAM Review
2008, Theorem 4.5]; m is a ball evaluation. The k-th Taylor coefficient at s0 in units of h is the integral of
exp(alpha + s0 beta) (h beta)^k/k!, and (h|beta|)^k/k! <= e^{h |beta|} bounds all of them at once.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from flint import acb, acb_mat, acb_poly, arb, ctx

from dpverify.enclose.effort import spend
from dpverify.errors import PrecisionError

_RATIO = 4
"""r, the half axes of the ellipse around a panel added up, in half lengths of the panel."""
_FINEST = 12
"""Halvings of a panel of unit length, at most."""
_FARTHEST = 10_000.0
_ROUGHLY = 1e-4
"""What does not matter to a bound, as a share of it."""
_FARTHER = 1.4
"""How far a leg may be turned, in the angle that the outer contour asks for."""
_FEW = 8
_WORTH = 0.5
"""By how much the peak of an exponent must fall for a leg to be turned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """The integral of exp(alpha(z) + s beta(z)) over a ray from 0, or over [0, end]; coefficients from the lowest power up."""

    alpha: tuple[arb, ...]
    beta: tuple[arb, ...]
    angles: tuple[float, ...]
    """How far the ray may be turned."""
    outer: float = 0.0
    """How far it is turned so that no |e^{s beta}| grows as s moves outward on the contour."""
    end: arb | None = None
    _panels: dict[Any, _Panel] = field(default_factory=dict, compare=False, repr=False)

    def series(self, s: acb, step: acb, h: float, terms: int, goal: arb) -> acb_poly:
        """The Taylor coefficients at s in units of `step`, |step| = h, each within about `goal`."""
        angle, _ = self._best_angle(s, h)
        angle, reach, error = self._reach(s, h, goal / 8, angle)
        total = acb_mat(terms, 1)
        share = goal / (8 * max(1, math.ceil(reach)))
        pending = self._pieces(reach, 1.0)
        while pending:
            low, high, level = pending.pop()
            panel = self._panel(angle, low, high)
            small = _top(panel.segment, s, h) * panel.length
            if small < share:
                error += small
                continue
            nodes, missed = panel.enough(s, h, share)
            if nodes is None:
                if level == _FINEST:
                    raise _refused()
                middle = (low + high) / 2
                pending += [(low, middle, level + 1), (middle, high, level + 1)]
                continue
            kept, left_out = panel.kept(s, h, terms, share)
            error += missed + left_out
            total += panel.summed(s, nodes, kept, terms)
        scale, uncertain, coefficients = acb(1), acb(arb(0, error.upper()), arb(0, error.upper())), []
        for k in range(terms):
            coefficients.append(total[k, 0] * scale + uncertain)
            scale *= step / (k + 1)
        return acb_poly(coefficients)

    def bound(self, s: acb, radius: float, *, outer: bool = False) -> arb:
        """An upper bound on |the integral| for every s within `radius` of a point; `outer`: from the leg turned so that it
        stays one when s moves outward on the contour."""
        angle, peak = (self.outer, self._peak(s, radius, self.outer)) if outer else self._best_angle(s, radius)
        rough = arb(peak).exp() * _ROUGHLY
        angle, reach, total = self._reach(s, radius, rough, angle)
        pending = self._pieces(reach, 0.5 if self.end is None else 1.0)
        while pending:
            low, high, level = pending.pop()
            panel = self._panel(angle, low, high)
            alpha, beta = panel.segment
            exponent = (alpha + s * beta).real + radius * abs(beta)
            size = exponent.upper().exp().upper() * panel.length
            if level == _FINEST or exponent.rad() < 1 or size < rough:
                total += size
            else:
                middle = (low + high) / 2
                pending += [(low, middle, level + 1), (middle, high, level + 1)]
        return total.upper()

    def _pieces(self, reach: float, length: float) -> list[tuple[float, float, int]]:
        count = max(1, math.ceil(reach / length))
        return [(k * length, (k + 1) * length, 0) for k in range(count)]

    def _panel(self, angle: float, low: float, high: float) -> _Panel:
        key = (angle, low, high, int(ctx.prec))
        if key not in self._panels:
            self._panels[key] = _Panel(self, angle, low, high)
        return self._panels[key]

    def _reach(self, s: acb, h: float, goal: arb, angle: float | None = None) -> tuple[float, float, arb]:
        """(angle, length of the leg in whole panels, bound on what lies beyond)."""
        if self.end is not None:
            return 0.0, 1.0, arb(0)
        angle = self._best_angle(s, 0.0)[0] if angle is None else angle
        reach = 1.0
        while reach < _FARTHEST:
            beyond = self._beyond(s, h, angle, arb(reach))
            if beyond is not None and beyond < goal:
                return angle, reach, beyond
            reach += 1.0 if reach < 16 else math.ceil(reach / 8)
        raise _refused()

    def _best_angle(self, s: acb, radius: float) -> tuple[float, float]:
        """That of the lowest peak, and the peak; any angle is right."""
        peaks = [self._peak(s, radius, angle) for angle in self.angles]
        chosen = 0
        for k, peak in enumerate(peaks):
            if peak < peaks[chosen] - _WORTH:
                chosen = k
        return self.angles[chosen], peaks[chosen]

    def _peak(self, s: acb, radius: float, angle: float) -> float:
        """The largest exponent on a few points, in doubles."""
        if self.end is not None:
            return 0.0
        middle = complex(s.mid())
        turned = [cmath.exp(1j * angle * k) for k in range(len(self.alpha))]
        beta = [float(one) for one in self.beta] + [0.0] * (len(self.alpha) - len(self.beta))
        exponent = [
            float(a) * t.real + b * (middle * t).real + abs(b) * radius
            for a, b, t in zip(self.alpha, beta, turned, strict=True)
        ]
        return max(_value(exponent, 0.0 if k == 0 else 1e-3 * 1.35**k) for k in range(42))

    def _beyond(self, s: acb, h: float, angle: float, reach: arb) -> arb | None:
        """A bound on the integral of |e^{alpha + s beta}| e^{h |beta|} beyond `reach` R, or None.

        There Re(alpha + s beta) + h|beta| <= c_0 + sum c_k z^k - z^p cos(p angle), and each z^k, k < p, is at most
        (z/R)^p R^k: so the exponent is at most c_0 - kappa z^p, and the integral e^{c_0 - kappa R^p}/(kappa p R^(p - 1)).
        """
        p = len(self.alpha) - 1
        size, constant = arb(0), arb(0)
        for k in range(p):
            turn = acb(0, arb(angle) * k).exp()
            above = self.alpha[k] * turn.real
            if k < len(self.beta):
                above += (s * turn).real * self.beta[k] + abs(self.beta[k]) * h
            above = above.upper()
            if k == 0:
                constant = above
            elif above > 0:
                size += above * reach**k
        kappa = -self.alpha[p] * acb(0, arb(angle) * p).exp().real - size / reach**p
        if not kappa > 0:
            return None
        found: arb = ((constant - kappa * reach**p).exp() / (kappa * p * reach ** (p - 1))).upper()
        return found


class _Panel:
    """One panel of a leg: balls around it and around its ellipse, and its nodes."""

    __slots__ = ("_ellipse", "_matrices", "_middle", "_nodes", "_powers", "_turn", "half", "leg", "length", "segment")

    def __init__(self, leg: Leg, angle: float, low: float, high: float) -> None:
        unit = arb(1) if leg.end is None else leg.end
        self.leg, self._turn = leg, acb(0, arb(angle)).exp()
        self._middle, self.half = unit * (arb(low) + high) / 2, unit * (arb(high) - low) / 2
        self.length = 2 * self.half
        self.segment = self._around(acb(arb(0, self.half.upper())))
        self._ellipse: tuple[acb, acb] | None = None
        self._nodes: dict[int, tuple[tuple[acb, acb, acb], ...]] = {}
        self._powers: dict[int, list[list[acb]]] = {}
        self._matrices: dict[tuple[int, int], acb_mat] = {}

    def _around(self, offset: acb) -> tuple[acb, acb]:
        """alpha and beta on a ball around the panel, by the mean value form."""
        middle, spread = self._turn * self._middle, self._turn * offset
        alpha, beta = (
            _at(one, middle) + _at(_derivative(one), middle + spread) * spread for one in (self.leg.alpha, self.leg.beta)
        )
        return alpha, beta

    @property
    def ellipse(self) -> tuple[acb, acb]:
        """alpha and beta on a ball around the ellipse."""
        if self._ellipse is None:
            r = arb(_RATIO)
            wide, tall = (self.half * (r + sign / r) / 2 for sign in (1, -1))
            self._ellipse = self._around(acb(arb(0, wide.upper()), arb(0, tall.upper())))
        return self._ellipse

    def enough(self, s: acb, h: float, share: arb) -> tuple[int | None, arb]:
        """(how many nodes are wrong by less than `share`, by how much); (None, _) if too many."""
        r = arb(_RATIO)
        bound = _top(self.ellipse, s, h) * self.half * arb(64) / 15 / (1 - r**-2)
        for count in _counts():
            missed = (bound * r ** (-2 * count)).upper()
            if missed < share:
                return count, missed
        return None, bound

    def kept(self, s: acb, h: float, terms: int, share: arb) -> tuple[int, arb]:
        """(how many Taylor coefficients matter here, bound on each of the others)."""
        beta = abs(self.segment[1]).upper() * h
        if h == 0 or terms <= _FEW:
            return terms, arb(0)
        size = _top(self.segment, s, 0.0) * self.length
        for count in range(_FEW, terms, _FEW):
            left_out = (size * beta**count / arb(count).fac()).upper()
            if beta < count and left_out < share:
                return count, left_out
        return terms, arb(0)

    def summed(self, s: acb, count: int, kept: int, terms: int) -> acb_mat:
        """The sum over the nodes of weight e^{alpha + s beta} beta^k, k < `kept`, and zeros up to `terms`."""
        spend(count)
        column = acb_mat([[(alpha + s * beta).exp() * weight] for alpha, beta, weight in self.nodes(count)])
        found = self._rows(count, kept) * column
        return found if kept == terms else acb_mat(terms, 1, [*found.entries(), *(acb(0) for _ in range(terms - kept))])

    def nodes(self, count: int) -> tuple[tuple[acb, acb, acb], ...]:
        """(alpha, beta, weight) at each node."""
        if count not in self._nodes:
            points = [(self._turn * (self._middle + self.half * x), w) for x, w in _legendre(count, int(ctx.prec))]
            self._nodes[count] = tuple(
                (_at(self.leg.alpha, z), _at(self.leg.beta, z), self._turn * self.half * w) for z, w in points
            )
        return self._nodes[count]

    def _rows(self, count: int, kept: int) -> acb_mat:
        """The powers of beta at the nodes."""
        key = (count, kept)
        if key not in self._matrices:
            betas = [beta for _, beta, _ in self.nodes(count)]
            rows = self._powers.setdefault(count, [[acb(1)] * count])
            while len(rows) < kept:
                rows.append([power * beta for power, beta in zip(rows[-1], betas, strict=True)])
            self._matrices[key] = acb_mat(rows[:kept])
        return self._matrices[key]


def _top(where: tuple[acb, acb], s: acb, h: float) -> arb:
    """The largest |e^{alpha + s beta}| e^{h |beta|} on a ball."""
    alpha, beta = where
    exponent = (alpha + s * beta).real.upper()
    if h:
        exponent += abs(beta).upper() * h
    return exponent.exp().upper()


def _at(coefficients: tuple[arb, ...], z: acb) -> acb:
    found = acb(0)
    for one in reversed(coefficients):
        found = found * z + one
    return found


def _derivative(coefficients: tuple[arb, ...]) -> tuple[arb, ...]:
    return tuple(k * one for k, one in enumerate(coefficients))[1:]


def _value(coefficients: list[float], z: float) -> float:
    found = 0.0
    for one in reversed(coefficients):
        found = found * z + one
    return found


def _counts() -> tuple[int, ...]:
    """Numbers of nodes to choose from, which suit the working precision."""
    most = int(ctx.prec) // 3 + 8
    return tuple(most * share // 4 for share in (1, 2, 3, 4))


@lru_cache(maxsize=32)
def _legendre(count: int, precision: int) -> tuple[tuple[arb, arb], ...]:
    return tuple(arb.legendre_p_root(count, k, weight=True) for k in range(count))


def _refused() -> PrecisionError:
    return PrecisionError(
        "the law of a sum of privacy losses is out of reach of the quadrature here; move the request away from the extreme.",
        reached=0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """e^{-s limit} M(s) for one coordinate: (how often, leg), divided by `normaliser`."""

    limit: arb
    spread: arb
    """About how far the loss reaches: p d."""
    legs: tuple[tuple[int, Leg], ...]
    normaliser: arb

    def series(self, s: acb, step: acb, h: float, terms: int, goal: arb) -> acb_poly:
        """Its Taylor coefficients at s in units of `step`, |step| = h."""
        share = goal * self.normaliser / (2 * len(self.legs))
        total = acb_poly([0])
        for often, leg in self.legs:
            total += leg.series(s, step, h, terms, share) * often
        return total * (1 / self.normaliser)

    def value(self, s: acb) -> acb:
        """To a few digits, as a rule."""
        return self.series(s, acb(0), 0.0, 1, self.bound(s, 0.0) * _ROUGHLY)[0]

    def bound(self, s: acb, radius: float, *, outer: bool = False) -> arb:
        """An upper bound on its size for every s within `radius` of a point."""
        total = sum((often * leg.bound(s, radius, outer=outer) for often, leg in self.legs), arb(0))
        return (total / self.normaliser).upper()


def signed(p: int, d: arb, turn: float) -> Transform:
    """Of the loss against one neighbour."""
    forth = (0.0, turn / 2, turn, _FARTHER * turn)
    back = tuple(-angle for angle in forth)
    if p % 2 == 0:
        ahead, behind = _moved(p, d / 2), _moved(p, -d / 2)
        odd = tuple(2 * one if k % 2 else arb(0) for k, one in enumerate(ahead[:p]))
        ahead_leg = Leg(alpha=_negative(behind), beta=odd, angles=forth, outer=turn)
        back_leg = Leg(alpha=_negative(ahead), beta=_negative(odd), angles=back)
        return Transform(limit=arb(0), spread=p * d, legs=((1, ahead_leg), (1, back_leg)), normaliser=_normaliser(p))
    power, moved = d**p, _moved(p, d)
    rest = (arb(0), *moved[1:p])
    plain = (*(arb(0) for _ in range(p)), arb(-1))
    mirrored = tuple(one * (-1) ** k for k, one in enumerate(moved))  # (d - x)^p
    between = tuple(one - (power if k == 0 else 0) - (1 if k == p else 0) for k, one in enumerate(mirrored))
    legs = (
        (1, Leg(alpha=plain, beta=rest, angles=forth, outer=turn)),
        (1, Leg(alpha=_negative(moved), beta=(-2 * power, *_negative(rest[1:])), angles=back)),
        (1, Leg(alpha=plain, beta=between, angles=(0.0,), end=d)),
    )
    return Transform(limit=power, spread=p * d, legs=legs, normaliser=_normaliser(p))


def largest(p: int, d: arb, turn: float) -> Transform:
    """Of the loss against the worse of both neighbours, (|y| + d)^p - |y|^p."""
    plain = (*(arb(0) for _ in range(p)), arb(-1))
    leg = Leg(alpha=plain, beta=(arb(0), *_moved(p, d)[1:p]), angles=(0.0, turn / 2, turn, _FARTHER * turn), outer=turn)
    return Transform(limit=d**p, spread=p * d, legs=((2, leg),), normaliser=_normaliser(p))


def _moved(p: int, h: arb) -> tuple[arb, ...]:
    """(z + h)^p."""
    return tuple(math.comb(p, k) * h ** (p - k) for k in range(p + 1))


def _negative(values: tuple[arb, ...]) -> tuple[arb, ...]:
    return tuple(-one for one in values)


def _normaliser(p: int) -> arb:
    return 2 * (1 + 1 / arb(p)).gamma()
