"""The privacy profile of discrete Laplace noise and its inverses, which everything built on that noise shares.

With r = e^{-1/s} the noise is P(x) = (1 - r)/(1 + r) r^|x|, and the loss of the noise moved by D is (2 x - D)/s on
0 <= x <= D and +-D/s beyond. For -D/s <= epsilon < D/s the worst event is {x >= t}, t = floor((epsilon s + D)/2) + 1, a
number from 1 to D, and
    delta(epsilon) = 1 - (r^{D + 1 - t} + e^epsilon r^t) / (1 + r).
The noise of scale s' > s is that of scale s plus independent noise (the generating function of the geometric law with r'
is that with r times a mixture of 1 and the former), so delta falls as s grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.enclose.decide import is_above, whole_part
from dpverify.enclose.refine import enclose
from dpverify.enclose.root import positive_root
from dpverify.errors import NotCovered
from dpverify.mechanisms._discrete import certified_delta

if TYPE_CHECKING:
    from mpmath import mpf


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplacePair:
    """P: discrete Laplace noise of scale s moved by D. Q: the noise."""

    is_symmetric: ClassVar[bool] = True

    scale: fmpq
    shift: int

    def hockey_stick(self, eps: fmpq) -> arb | fmpq:
        limit = self.loss_limit()
        if eps >= limit:
            return fmpq(0)
        if eps <= -limit:
            return -BALLS.expm1(arb(eps))
        value: arb = profile(BALLS, eps, self.scale, self.shift)
        return value

    def loss_tail(self, eps: fmpq) -> arb | fmpq:
        limit = self.loss_limit()
        if eps >= limit:
            return fmpq(0)
        if eps < -limit:
            return fmpq(1)
        return 1 - self._power(self.shift + 1 - threshold(eps, self.scale, self.shift)) / (1 + self._power(1))

    def loss_limit(self) -> fmpq:
        return self.shift / self.scale

    def power_moment(self, order: fmpq) -> arb | fmpq:
        if order == 1:
            return fmpq(1)
        d, r = self.shift, self._power(1)
        # Below 0, from D on, and between: q^(1 - order) p^order = r^(order D + (1 - 2 order) x) at 0 < x < D.
        outside = (self._power(order * d) + self._power((1 - order) * d)) / (1 - r)
        ratio = 1 - 2 * order
        if ratio == 0:
            inside = (d - 1) * self._power(order * d)
        else:
            inside = (self._power(order * d + ratio) - self._power(order * d + ratio * d)) / (1 - self._power(ratio))
        return (outside + inside) * (1 - r) / (1 + r)

    def mean_loss(self) -> arb | fmpq:
        """(E |X + D| - E |X|)/s."""
        r = self._power(1)
        return (arb(self.shift) + 2 * r * BALLS.expm1(-arb(self.loss_limit())) / (1 - r * r)) / arb(self.scale)

    def reversed(self) -> Self:
        return self

    def loss_quantile(self, tail: fmpq) -> fmpq:
        """The least x with P(L > x) <= tail. For k from 1 to D, P(L > (D - 2 k)/s) = 1 - r^k/(1 + r)."""

        def steps() -> arb:
            return -arb(self.scale) * BALLS.log((1 + self._power(1)) * arb(1 - tail))

        k = min(max(whole_part(steps, what=lambda: f"the loss that {self!r} exceeds with probability {tail}"), 0), self.shift)
        return (self.shift - 2 * k) / self.scale

    def loss_atoms(self) -> tuple[tuple[fmpq, arb, arb], ...]:
        """(x, P(L = x), Q(L = x)) in decreasing order of x. Raises NotCovered where there are too many to list."""
        d = self.shift
        if d > LARGEST_TABLE:
            raise NotCovered(f"{self!r}: a loss of {d + 1} values is not listed; measure the answer in larger units.")
        end, inside = 1 / (1 + self._power(1)), (1 - self._power(1)) / (1 + self._power(1))
        far = end * self._power(d)
        between = ((d - 2 * k, inside * self._power(k), inside * self._power(d - k)) for k in range(1, d))
        steps = [(d, end, far), *between, (-d, far, end)]
        return tuple((fmpq(step) / self.scale, p, q) for step, p, q in steps)

    def zcdp_rho(self) -> arb | fmpq:
        """The mean loss: the log of the power moment is concave in (order - 1/2)^2.

        With t = (order - 1/2)/s the moment is a multiple of 2 cosh(D t)/(1 - r) + sum over 0 < x < D of cosh((D - 2 x) t),
        which at t = i u is ((2/(1 - r) - 1) cos(D u) sin u + sin(D u) cos u)/sin u. That vanishes where
        tan(D u) = -(1 + r)/(1 - r) tan u, D times in [0, pi) as the branches of the tangents cross, which are all zeros that
        a trigonometric polynomial of this degree can have. So in t^2 the moment is entire of order 1/2 with negative zeros
        only: a product of factors 1 + t^2/c, c > 0.
        """
        return self.mean_loss()

    def _power(self, exponent: fmpq | int) -> arb:
        """r^exponent."""
        return BALLS.exp(arb(-exponent / self.scale))


LARGEST_TABLE = 20_000
"""Values of the loss that are listed."""


def threshold(eps: fmpq, scale: fmpq, d: int) -> int:
    """The least integer whose loss exceeds eps, for -d/s <= eps < d/s."""
    return int(((eps * scale + d) / 2).floor()) + 1


def profile(m: Arithmetic, eps: fmpq, scale: fmpq, d: int) -> Value:
    """delta(eps) for -d/s <= eps < d/s: (-expm1(eps - t/s) - r expm1(-(d - t)/s)) / (1 + r), a sum of positive terms."""
    t = threshold(eps, scale, d)
    r = m.exp(m.exact(-1 / scale))
    return -(m.expm1(m.exact(eps - t / scale)) + r * m.expm1(m.exact(fmpq(t - d) / scale))) / (1 + r)


# The engine for "arb".


def delta(noise: Any, eps: fmpq, digits: int) -> Enclosure:
    """delta(eps)."""
    return certified_delta(noise, eps, digits)


def epsilon(noise: Any, exact_delta: fmpq, digits: int) -> Enclosure:
    """The least epsilon >= 0."""
    pair: DiscreteLaplacePair = noise.pair()
    if exact_delta == 0:
        return Enclosure(pair.loss_limit(), digits=digits)
    if not is_above(lambda: arb(pair.hockey_stick(fmpq(0))), exact_delta, what=lambda: f"delta(0) of {noise!r}"):
        return Enclosure(fmpq(0), digits=digits)
    steps = whole_part(lambda: -arb(pair.scale) * BALLS.log1p(arb(-exact_delta)), what=lambda: f"epsilon of {noise!r}")
    return enclose(
        lambda bits: epsilon_on_piece(BALLS, exact_delta, pair.scale, pair.shift, steps),
        digits,
        what=lambda: f"epsilon of {noise!r} at delta = {brief(exact_delta)}",
    )


def epsilon_on_piece(m: Arithmetic, exact_delta: fmpq, scale: fmpq, d: int, steps: int) -> Value:
    """The eps with delta(eps) = delta, where the threshold is t = d - steps.

    At the end of that piece, eps = (2 t - d)/s, delta is 1 - r^steps; at its beginning 1 - r^{steps + 1}.
    """
    r, level = m.exp(m.exact(-1 / scale)), m.exact(1 - exact_delta)
    return m.exact((d - steps) / scale) + m.log(level + r * (level - m.exp(m.exact(-steps / scale))))


def scale(noise: Any, eps: fmpq, exact_delta: fmpq, sensitivity: fmpq, digits: int) -> Enclosure:
    """The least scale, for a possible request."""
    d = int(sensitivity.p)
    if exact_delta == 0:
        return Enclosure(d / eps, digits=digits)

    def what() -> str:
        return f"scale at epsilon = {brief(eps)}, delta = {brief(exact_delta)}"

    t = _threshold_at_scale(eps, exact_delta, d, what)

    def value(bits: int) -> arb:
        if d == 1:
            return _scale_for_one(BALLS, eps, exact_delta)
        return 1 / positive_root(
            lambda a: complement(BALLS, a, eps, d, t),
            lambda a: _slope(a, eps, d, t),
            1 - exact_delta,
            increasing=False,
            bits=bits,
            start=_start(eps, exact_delta, d),
        )

    return enclose(value, digits, what=what)


def _threshold_at_scale(eps: fmpq, exact_delta: fmpq, d: int, what: Any) -> int:
    """The threshold at the scale that is sought. At the scale (2 t - d)/eps, where threshold t gives way to t + 1,
    delta is 1 - e^{-(d - t) eps/(2 t - d)}; that is at most the delta asked for from t = d (eps + l)/(eps + 2 l) on, with
    l = -log(1 - delta)."""
    if eps == 0:
        return d // 2 + 1

    def turn() -> arb:
        level = -BALLS.log1p(arb(-exact_delta))
        return d * (arb(eps) + level) / (arb(eps) + 2 * level)

    return whole_part(turn, what=what) + 1


def complement(m: Arithmetic, a: Value, eps: fmpq, d: int, t: int) -> Value:
    """1 - delta(eps) at scale 1/a, for the threshold t: falls as a grows, whatever t from 1 to d."""
    return (m.exp(-a * (d + 1 - t)) + m.exp(m.exact(eps) - a * t)) / (1 + m.exp(-a))


def _slope(a: arb, eps: fmpq, d: int, t: int) -> arb:
    one, two, r = BALLS.exp(-a * (d + 1 - t)), BALLS.exp(arb(eps) - a * t), BALLS.exp(-a)
    return (r * (one + two) / (1 + r) - (d + 1 - t) * one - t * two) / (1 + r)


def _start(eps: fmpq, exact_delta: fmpq, d: int) -> float | None:
    """The reciprocal scale of Laplace noise on the reals; only speed depends on it."""
    try:
        return float(arb((arb(eps) - 2 * BALLS.log1p(arb(-exact_delta))) / d))
    except OverflowError:
        return None


def _scale_for_one(m: Arithmetic, eps: fmpq, exact_delta: fmpq) -> Value:
    """For d = 1: 1/(-log r) with r = (1 - delta)/(delta + e^eps), as 1 + (expm1(eps) + 2 delta)/(1 - delta) = 1/r."""
    return 1 / m.log1p((m.expm1(m.exact(eps)) + m.exact(2 * exact_delta)) / m.exact(1 - exact_delta))


class SecondOpinion:
    """The engine for "mpmath": the same pieces, found by bisection, and plain roots."""

    @staticmethod
    def delta(noise: Any, eps: fmpq, digits: int) -> mpf:
        """delta(eps) to about `digits` digits."""
        from dpverify.enclose.second_opinion import settled

        pair: DiscreteLaplacePair = noise.pair()
        limit = pair.loss_limit()

        def value(m: Any) -> Any:
            if eps >= limit:
                return m.rational(0)
            if eps <= -limit:
                return -m.expm1(m.exact(eps))
            t = threshold(eps, pair.scale, pair.shift)
            one = m.exp(m.exact(-fmpq(pair.shift + 1 - t) / pair.scale))
            return 1 - (one + m.exp(m.exact(eps - t / pair.scale))) / (1 + m.exp(m.exact(-1 / pair.scale)))

        return settled(value, digits, what=f"delta of {noise!r}")

    @staticmethod
    def epsilon(noise: Any, exact_delta: fmpq, digits: int) -> mpf:
        """The least epsilon >= 0 to about `digits` digits."""
        from dpverify.enclose.second_opinion import positive_root as mp_root
        from dpverify.enclose.second_opinion import settled

        pair: DiscreteLaplacePair = noise.pair()

        def value(m: Any) -> Any:
            if exact_delta == 0:
                return m.exact(pair.loss_limit())
            level = m.exact(exact_delta)

            def at(eps: Any) -> Any:
                mantissa, exponent = eps.man_exp
                exact = fmpq(int(mantissa)) * fmpq(2) ** int(exponent)
                return m.rational(0) if exact >= pair.loss_limit() else profile(m, exact, pair.scale, pair.shift)

            return m.rational(0) if at(m.rational(0)) <= level else mp_root(m, at, level, increasing=False)

        return settled(value, digits, what=f"epsilon of {noise!r}")

    @staticmethod
    def scale(noise: Any, eps: fmpq, exact_delta: fmpq, sensitivity: fmpq, digits: int) -> mpf:
        """The least scale to about `digits` digits."""
        from dpverify.enclose.second_opinion import positive_root as mp_root
        from dpverify.enclose.second_opinion import settled

        d = int(sensitivity.p)

        def value(m: Any) -> Any:
            if exact_delta == 0:
                return m.exact(d / eps)
            level = m.exact(1 - exact_delta)

            def at(a: Any) -> Any:
                # Beyond the scale at which delta is 0 the last piece goes on falling, above 1.
                return complement(m, a, eps, d, min(int(m.context.floor((m.exact(eps) / a + d) / 2)) + 1, d))

            return 1 / mp_root(m, at, level, increasing=False)

        return settled(value, digits, what="scale")
