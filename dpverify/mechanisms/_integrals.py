"""Expectations under additive noise that no family states in closed form: rigorous integrals with bounded tails.

Everything is in units of the scale; y is the noise as P sees it, so that P has density f(y), Q has f(y + d) and the privacy
loss is psi(y + d) - psi(y). The pieces break at the kinks y = 0 and y = -d. Beyond +-Y the tails are bounded by

- the largest loss where it is bounded, and P(|y| > Y) = 2 F(-Y);
- the degree k of `tail_degree` otherwise. With h = psi - psi(0) it gives h(y + d) <= (1 + d/Y)^k h(y) on y >= Y, and
  convexity gives h' >= h(Y)/Y there, so that the integral of e^{-h/2} beyond Y is at most 2 Y e^{-h(Y)/2} / h(Y).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flint import acb, arb, ctx, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.complex_balls import PLAIN
from dpverify.arithmetic.derivatives import DerivativeArithmetic, Dual
from dpverify.arithmetic.precision import working_precision
from dpverify.enclose.integral import Integrand, integral
from dpverify.errors import NotCovered, PrecisionError

if TYPE_CHECKING:
    from dpverify.mechanisms._additive import AdditiveNoise

_DOUBLINGS = 2000
"""Tails that fall like a small power take many."""
_SLACK = 8
"""Bits of the working precision that the tails may cost."""
_TOWERING = 30
"""How much the logarithm of an integrand must vary for a peak to be looked for."""
_LOWEST = arb(-(10**12))
"""What counts as the logarithm of 0."""


def power_moment(noise: AdditiveNoise, order: fmpq) -> arb:
    """E_P e^{(order - 1) L}, for an order > 0."""

    def integrand(m: Any, y: acb) -> acb:
        return m.exp(_centred(m, exponent, y))

    def exponent(m: Any, y: Any) -> Any:
        p, q = noise.log_density(m, y), noise.log_density(m, y + m.exact(noise.shift))
        return m.exact(order) * p + m.exact(1 - order) * q

    def tails(reach: arb) -> arb:
        excess = abs(arb(order - 1))
        d, largest = arb(noise.shift), noise.loss_bound(BALLS)
        if largest is not None:
            return 2 * noise.cdf(BALLS, -reach) * BALLS.exp(excess * largest)
        growth = excess * _growth(noise, reach)
        if not growth < fmpq(1, 2):
            return arb.pos_inf()
        # Left of -Y the integrand is at most p + q; right of Y the exponent is at most -psi(0) - h/2.
        return noise.cdf(BALLS, -reach) + noise.cdf(BALLS, d - reach) + _half_rate(noise, reach)

    return _over_the_line(noise, integrand, tails, what=f"the Renyi divergence of order {order} of {noise!r}")


def mean_loss(noise: AdditiveNoise) -> arb:
    """E_P L."""
    return _loss_moment(noise, 1)


def loss_variance(noise: AdditiveNoise) -> arb:
    """E_P L^2 - (E_P L)^2."""
    return _loss_moment(noise, 2) - _loss_moment(noise, 1) ** 2


def score_variance(noise: AdditiveNoise) -> arb:
    """E psi'(X)^2. Both halves of the line give the same."""

    def integrand(m: Any, x: acb) -> acb:
        derivative: Any = DerivativeArithmetic(m)
        log_density: Dual = noise.log_density(derivative, Dual(x, acb(1)))
        return 2 * log_density.slope**2 * m.exp(log_density.value)

    def tails(reach: arb) -> arb:
        if noise.loss_slope is not None:
            return 2 * noise.cdf(BALLS, -reach) * noise.loss_slope**2
        # psi' <= k h / x, and h^2 e^{-h} <= (16/e^2) e^{-h/2}.
        rate = arb(_degree(noise)) / reach
        return 2 * rate**2 * 16 * arb(-2).exp() * _half_rate(noise, reach)

    return _over_the_line(noise, integrand, tails, what=f"the Fisher information of {noise!r}", half=True)


def _loss_moment(noise: AdditiveNoise, power: int) -> arb:
    """E_P L^power, for power 1 or 2."""

    def integrand(m: Any, y: acb) -> acb:
        p, q = noise.log_density(m, y), noise.log_density(m, y + m.exact(noise.shift))
        return m.exp(p) * (p - q) ** power

    def tails(reach: arb) -> arb:
        largest = noise.loss_bound(BALLS)
        if largest is not None:
            return 2 * noise.cdf(BALLS, -reach) * largest**power
        # |L| <= growth * h on the right and <= h on the left; h e^{-h} <= (2/e) e^{-h/2}, h^2 e^{-h} <= (16/e^2) e^{-h/2}.
        peak = 2 * arb(-1).exp() if power == 1 else 16 * arb(-2).exp()
        return (1 + _growth(noise, reach) ** power) * peak * _half_rate(noise, reach)

    return _over_the_line(noise, integrand, tails, what=f"the mean privacy loss of {noise!r}")


def _over_the_line(
    noise: AdditiveNoise, integrand: Integrand, tails: Callable[[arb], arb], *, what: str, half: bool = False
) -> arb:
    """The integral of `integrand` over the line (or its right half). `tails(Y)` bounds what lies beyond +-Y, Y >= d + 1.

    The piece that seems to hold most comes first, so that the others are integrated no better than they matter; where a peak
    towers over that piece, the peak comes before its flanks.
    """
    d = arb(noise.shift)
    reach = (d + 1).upper()
    pieces = [(arb(0), reach)] if half else [(-reach, -d), (-d, arb(0)), (arb(0), reach)]
    sized = [(_seeming_size(integrand, *piece), piece) for piece in pieces]
    mass = sum((size for size, _ in sized), arb(0))
    for _ in range(_DOUBLINGS):
        if _bounded(tails, reach) < mass * arb(2) ** (_SLACK - int(ctx.prec)):
            break
        further = (2 * reach).upper()
        pieces = [(reach, further)] if half else [(reach, further), (-further, -reach)]
        outer = [(_seeming_size(integrand, *piece), piece) for piece in pieces]
        mass += sum((size for size, _ in outer), arb(0))
        sized += outer
        reach = further
    else:
        raise PrecisionError(
            f"{what}: its tails do not vanish within reach; move the request away from the extreme.", reached=0
        )
    sized.sort(key=lambda pair: _SortByBall(pair[0]))
    total, goal = arb(0), None
    for low, high in (*_peak_first(integrand, *sized[0][1]), *(piece for _, piece in sized[1:])):
        total += integral(integrand, [low, high], within=goal)
        goal = abs(total).upper() * arb(2) ** -int(ctx.prec)
    if not total.is_finite():
        raise NotCovered(f"{what}: the density cannot be followed off the real line, so it is not integrated here.")
    return total + _bounded(tails, reach).upper() * arb(0, 1)


def _peak_first(integrand: Integrand, low: arb, high: arb) -> list[tuple[arb, arb]]:
    """The piece as it is; or cut into a peak that is much narrower and rings around it, each four times as wide as the one
    before. Nothing that is returned rests on where the cuts are."""

    def height(x: arb) -> arb:
        value = abs(integrand(PLAIN, acb(x)).real).mid()
        return value.log().mid() if value > 0 and value.is_finite() else _LOWEST

    seen = [height((low + (high - low) * share / 8).mid()) for share in (1, 3, 5, 7)]
    if all(abs(one - seen[0]) < _TOWERING for one in seen):
        return [(low, high)]
    left, right = low, high
    for _ in range(int(ctx.prec)):
        third = (right - left) / 3
        first, second = (left + third).mid(), (right - third).mid()
        left, right = (left, second) if height(first) > height(second) else (first, right)
    place, width = ((left + right) / 2).mid(), (high - low).mid()
    for _ in range(int(ctx.prec)):
        beside = [x for x in ((place - width).mid(), (place + width).mid()) if low < x < high]
        if beside and all(height(place) - height(x) < 1 for x in beside):
            break
        width = (width / 2).mid()
    found, near, far = [], place, place
    while near > low or far < high:
        before, after = (place - width).mid().max(low), (place + width).mid().min(high)
        found += [(before, after)] if near == far else [(a, b) for a, b in ((before, near), (far, after)) if a < b]
        near, far, width = before, after, 4 * width
    return found


def _bounded(tails: Callable[[arb], arb], reach: arb) -> arb:
    with working_precision(2 * int(ctx.prec) + 64):  # a cdf is as a rule good to an absolute error only
        return tails(reach)


def _seeming_size(integrand: Integrand, low: arb, high: arb) -> arb:
    """The largest of a few values times the width. Nothing that is returned rests on it."""
    width = high - low
    values = (abs(integrand(PLAIN, acb((low + width * share / 8).mid())).real) for share in (1, 3, 5, 7))
    return max((value.mid() for value in values if value.is_finite()), default=arb(0)) * width.mid()


class _SortByBall:
    """The larger ball first; balls have no order that sorting knows."""

    def __init__(self, size: arb) -> None:
        self.size = size

    def __lt__(self, other: _SortByBall) -> bool:
        return bool(self.size > other.size)


def _centred(m: Any, function: Callable[[Any, Any], Any], y: acb) -> acb:
    """f(c) + f'(y) (y - c) on a wide y with middle c: two large terms that nearly cancel do so in the slope as well."""
    plain = function(m, y)
    if plain.is_finite() and plain.real.rad() < 1:
        return plain
    middle = y.mid()
    here, slope = function(m, middle), function(DerivativeArithmetic(m), Dual(y, acb(1))).slope
    found = here + slope * (y - middle)
    return found if found.is_finite() else plain


def _degree(noise: AdditiveNoise) -> fmpq:
    degree = noise.tail_degree
    if degree is None:
        raise NotCovered(
            f"{noise!r}: the privacy loss is unbounded and the family states no tail_degree, so the tails of the integral"
            " are not bounded; no certified value is known here."
        )
    return degree


def _growth(noise: AdditiveNoise, reach: arb) -> arb:
    """(1 + d/Y)^k - 1, for which L <= growth * h right of Y."""
    return (1 + arb(noise.shift) / reach) ** arb(_degree(noise)) - 1


def _half_rate(noise: AdditiveNoise, reach: arb) -> arb:
    """A bound on the integral of f(0) e^{-h/2} beyond Y."""
    middle, end = noise.log_density(BALLS, arb(0)), noise.log_density(BALLS, reach)
    height = middle - end
    return BALLS.exp(middle - height / 2) * 2 * reach / height
