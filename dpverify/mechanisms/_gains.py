"""What a shift of one coordinate gains: concave functions g(c) of the shift c, for one theta.

A coordinate has length l <= 1 (in units of the longest), p the exponent of its kernel. For shifts of exactly c, the largest
log-ratio of output densities is

- truncated law, p >= 2:   g(c) = theta (l^p - (l - c)^p) + log[M(l) / (M(c) + M(l - c))]
- truncated law, p <= 1:   g(c) = theta c^p - log[M(l) / (M(c) + M(l - c))]
- inflated bounds, p >= 1: g(c) = log Q(l - c) - log Q(l),   Q(x) = 1 - M(x)
- inflated bounds, p < 1:  g(c) = theta c^p

(1 < p < 2 needs a search: `_window`.) Why:

1. Let C(t) be the normaliser at true value t, k = log C, h(t) = theta t^p + k(t). For p >= 1, |x - s'|^p - |x - s|^p does not
   increase with x for s < s' (convexity), so the largest log-ratio is at x = 0, h(s') - h(s); its mirror image gives the
   same set of values. h increases: with u = l - t < t, e^{-theta u^p} - e^{-theta t^p} = int_u^t p theta y^{p-1} e^{-theta y^p}
   dy <= p theta t^{p-1} C(t) (up to the factor of C), so k' >= -p theta t^{p-1}. Hence the whole shift is worst.
2. p >= 2: h is convex on [l/2, l], since h = log int exp(theta (t^p - |t - y|^p)) dy and each exponent is convex in t as long
   as |t - y| <= t, that is for t >= l/2. And h'(l - t) <= h'(t) there: with a = l - t that is
   (t^{p-1} - a^{p-1}) C(t) >= 2 int_a^t y^{p-1} e^{-theta y^p} dy; the right side is at most
   (t^{p-1} + a^{p-1}) int_a^t e^{-theta y^p} (a decreasing weight against an increasing function, and a convex function
   against its chord), and the rest is (t^{p-1} - a^{p-1}) a >= a^{p-1} (t - a). Together, h'(u) <= h'(v) whenever u <= v,
   u + v >= l; pairing s + x with l - x then gives h(s + c) - h(s) <= h(l) - h(l - c): the worst pair is (l - c, l).
   For p = 2, h is convex everywhere (h is the log of a Laplace transform): g'(c) = h'(l - c) decreases, g is concave on [0, l].
   For p > 2 that holds for c <= l/2.
3. p = 1: h is concave (k is), so h(s + c) - h(s) is largest at s = 0: g(c) = h(c) - h(0), concave.
4. p < 1: |x - s'|^p - |x - s|^p <= |s' - s|^p, with equality at x = s, and k(s + c) - k(s) is largest at s = 0.
   g is concave, but need not increase: beyond l/2 the second term falls.
5. Inflated bounds: the mass at 0 is Q/2 of the true value. For p >= 1 the noise is log-concave: log Q is concave, so its fall
   over c is largest at the far end, g'(c) is the hazard rate at l - c, and g is concave. The hazard rate is at least
   p theta t^{p-1}, so the interior is never worse. For p < 1 the tail is log-convex, all signs turn, and the interior is worst:
   theta c^p, at x = s.

6. Every g increases with theta, so each exact level has one least scale.
   Truncated, p >= 1: h'(t) does, for every t. For t >= l/2, h'(t) = p theta (t^{p-1} - W), W the mean of y^{p-1} 1[y > l - t]
   under the law on [-(l - t), t]; that function and |y|^p both increase with |y|, so W falls as theta grows, and t^{p-1} >= W.
   For t < l/2, with r = theta^{1/p} and u = l - t, h'(t) = r [p (rt)^{p-1} + S],
   S = (e^{-(rt)^p} - e^{-(ru)^p})/(G(rt) + G(ru)), G(x) = int_0^x e^{-y^p} dy: r S falls, per unit of log r, at most at the
   rate r p (rt)^p e^{-(rt)^p}/(G(rt) + G(ru)), which is at most r p (rt)^{p-1}/2, while the first term grows at the rate
   r p^2 (rt)^{p-1}.
   Truncated, p <= 1: the derivative is c^p + E|x|^p at true value 0 less E|x|^p at true value c, and the first mean is the
   larger one: E[|x|^p, |x| <= y] grows with y, and the second is a mean of two with y = c and y = l - c.
   Inflated: theta^{1/p} times the standard hazard rate at theta^{1/p} t, and both factors increase.
"""

from __future__ import annotations

from flint import fmpq

from dpverify.arithmetic.interface import Value
from dpverify.mechanisms._power_kernel import Place, PowerKernel


class TruncatedGain:
    """g for a truncated law, p >= 2 (concave at least up to half the length; p = 2: everywhere)."""

    increasing = True

    def __init__(self, kernel: PowerKernel, length: fmpq, cap: fmpq) -> None:
        self.kernel = kernel
        self.length = length
        self.cap = cap
        self._whole = kernel.mass(length)

    def value(self, c: Place) -> Value:
        kernel = self.kernel
        rest = _rest(kernel, self.length, c)
        return kernel.theta * power_drop(kernel, self.length, c) + kernel.m.log(
            self._whole / (kernel.mass(c) + kernel.mass(rest))
        )

    def slope(self, c: Place) -> Value:
        """h'(l - c)."""
        t = _rest(self.kernel, self.length, c)
        return _push(self.kernel, t) + log_normaliser_slope(self.kernel, self.length, t)

    def bend(self, c: Place) -> Value:
        """-h''(l - c)."""
        t = _rest(self.kernel, self.length, c)
        kernel = self.kernel
        return -_bow(kernel, t) - log_normaliser_bend(kernel, self.length, t)

    def pull(self, c: Place) -> Value:
        """The derivative by theta."""
        return power_drop(self.kernel, self.length, c) - normaliser_pull(self.kernel, self.length, c)

    def modulus(self) -> Value:
        return self.kernel.m.rational(0)


class FlatGain:
    """g for a truncated law, p <= 1. Increases up to half the length."""

    def __init__(self, kernel: PowerKernel, length: fmpq, cap: fmpq) -> None:
        self.kernel = kernel
        self.length = length
        self.cap = cap
        self.increasing = kernel.p == 1 or 2 * cap <= length
        self._whole = kernel.mass(length)

    def value(self, c: Place) -> Value:
        kernel = self.kernel
        ratio = (kernel.mass(c) + kernel.mass(_rest(kernel, self.length, c))) / self._whole
        return kernel.theta * kernel.power(c) + kernel.m.log(ratio)

    def slope(self, c: Place) -> Value:
        return _push(self.kernel, c) + log_normaliser_slope(self.kernel, self.length, c)

    def bend(self, c: Place) -> Value:
        return _bow(self.kernel, c) + log_normaliser_bend(self.kernel, self.length, c)

    def pull(self, c: Place) -> Value:
        return self.kernel.power(c) + normaliser_pull(self.kernel, self.length, c)

    def modulus(self) -> Value:
        """From the first term: p (1 - p) theta c^{p-2} is least at the cap."""
        return -_bow(self.kernel, self.cap)


class InflatedGain:
    """g for inflated bounds, p >= 1."""

    increasing = True

    def __init__(self, kernel: PowerKernel, length: fmpq, cap: fmpq) -> None:
        self.kernel = kernel
        self.length = length
        self.cap = cap
        self._whole = kernel.m.log(kernel.tail(length))

    def value(self, c: Place) -> Value:
        return self.kernel.m.log(self.kernel.tail(_rest(self.kernel, self.length, c))) - self._whole

    def slope(self, c: Place) -> Value:
        """The hazard rate at l - c."""
        return self._hazard(_rest(self.kernel, self.length, c))

    def bend(self, c: Place) -> Value:
        t = _rest(self.kernel, self.length, c)
        hazard = self._hazard(t)
        return hazard * (_push(self.kernel, t) - hazard)

    def pull(self, c: Place) -> Value:
        """x times the hazard rate at x, over p theta, between l - c and l."""
        t = _rest(self.kernel, self.length, c)
        kernel, whole = self.kernel, self.kernel.m.exact(self.length)
        change = self._hazard(self.length) * whole - self._hazard(t) * (kernel.m.exact(t) if isinstance(t, fmpq) else t)
        return change / (kernel.m.exact(kernel.p) * kernel.theta)

    def modulus(self) -> Value:
        return self.kernel.m.rational(0)

    def _hazard(self, x: Place) -> Value:
        return self.kernel.rate() * self.kernel.bump(x) / self.kernel.tail(x)


class PowerGain:
    """theta c^p, p < 1: inflated bounds."""

    increasing = True

    def __init__(self, kernel: PowerKernel, length: fmpq, cap: fmpq) -> None:
        self.kernel = kernel
        self.cap = cap

    def value(self, c: Place) -> Value:
        return self.kernel.theta * self.kernel.power(c)

    def slope(self, c: Place) -> Value:
        return _push(self.kernel, c)

    def bend(self, c: Place) -> Value:
        return _bow(self.kernel, c)

    def pull(self, c: Place) -> Value:
        return self.kernel.power(c)

    def modulus(self) -> Value:
        return -_bow(self.kernel, self.cap)


class UtilityGain:
    """theta (l^p - (l - c)^p), p >= 1: how far a shift by c moves the utility -theta |x - t|^p, at most. Concave."""

    increasing = True

    def __init__(self, kernel: PowerKernel, length: fmpq, cap: fmpq) -> None:
        self.kernel = kernel
        self.length = length
        self.cap = cap

    def value(self, c: Place) -> Value:
        return self.kernel.theta * power_drop(self.kernel, self.length, c)

    def slope(self, c: Place) -> Value:
        return _push(self.kernel, _rest(self.kernel, self.length, c))

    def bend(self, c: Place) -> Value:
        return -_bow(self.kernel, _rest(self.kernel, self.length, c))

    def pull(self, c: Place) -> Value:
        return power_drop(self.kernel, self.length, c)

    def modulus(self) -> Value:
        return self.kernel.m.rational(0)


class NormaliserGain:
    """log[C(c)/C(0)]: how far a shift by c raises the normaliser of a truncated law. Concave; increases up to l/2, where it is
    largest, so the cap is never above that."""

    increasing = True

    def __init__(self, kernel: PowerKernel, length: fmpq, cap: fmpq) -> None:
        self.kernel = kernel
        self.length = length
        self.cap = min(cap, length / 2)
        self._whole = kernel.mass(length)

    def value(self, c: Place) -> Value:
        kernel = self.kernel
        return kernel.m.log((kernel.mass(c) + kernel.mass(_rest(kernel, self.length, c))) / self._whole)

    def slope(self, c: Place) -> Value:
        return log_normaliser_slope(self.kernel, self.length, c)

    def bend(self, c: Place) -> Value:
        return log_normaliser_bend(self.kernel, self.length, c)

    def pull(self, c: Place) -> Value:
        return normaliser_pull(self.kernel, self.length, c)

    def modulus(self) -> Value:
        return self.kernel.m.rational(0)


def power_drop(kernel: PowerKernel, length: fmpq, c: Place) -> Value:
    """l^p - (l - c)^p, without cancellation for small c."""
    m, p = kernel.m, kernel.p
    if p == 1:
        return m.exact(c) if isinstance(c, fmpq) else c
    if p == 2:
        return m.exact(c * (2 * length - c)) if isinstance(c, fmpq) else c * (2 * m.exact(length) - c)
    if isinstance(c, fmpq):
        if c == length:
            return kernel.power(length)
        return -kernel.power(length) * m.expm1(m.exact(p) * m.log1p(m.exact(-c / length)))
    return -kernel.power(length) * m.expm1(m.exact(p) * m.log1p(-c / m.exact(length)))


def log_normaliser_slope(kernel: PowerKernel, length: fmpq, t: Place) -> Value:
    """k'(t) = rate (e^{-theta t^p} - e^{-theta (l - t)^p}) / C(t)."""
    u = _rest(kernel, length, t)
    difference = kernel.bump_difference(t, u) if _first_is_less(t, u) else -kernel.bump_difference(u, t)
    return kernel.rate() * difference / (kernel.mass(t) + kernel.mass(u))


def log_normaliser_bend(kernel: PowerKernel, length: fmpq, t: Place) -> Value:
    """k''(t); at an end of the interval only for p >= 1."""
    u, p = _rest(kernel, length, t), kernel.p
    slopes = sum(kernel.power(x, p - 1) * kernel.bump(x) for x in (t, u))
    slope = log_normaliser_slope(kernel, length, t)
    return -kernel.rate() * kernel.m.exact(p) * kernel.theta * slopes / (kernel.mass(t) + kernel.mass(u)) - slope * slope


def normaliser_pull(kernel: PowerKernel, length: fmpq, c: Place) -> Value:
    """The derivative of log[(M(c) + M(l - c))/M(l)] by theta."""
    rest = _rest(kernel, length, c)
    inner = kernel.mass(c) + kernel.mass(rest)
    return (kernel.mass_slope(c) + kernel.mass_slope(rest)) / inner - kernel.mass_slope(length) / kernel.mass(length)


def _push(kernel: PowerKernel, t: Place) -> Value:
    """p theta t^{p-1}."""
    return kernel.m.exact(kernel.p) * kernel.theta * kernel.power(t, kernel.p - 1)


def _bow(kernel: PowerKernel, t: Place) -> Value:
    """p (p - 1) theta t^{p-2}."""
    p = kernel.p
    return kernel.m.rational(0) if p == 1 else kernel.m.exact(p * (p - 1)) * kernel.theta * kernel.power(t, p - 2)


def _rest(kernel: PowerKernel, length: fmpq, c: Place) -> Place:
    """l - c."""
    return length - c if isinstance(c, fmpq) else kernel.m.exact(length) - c


def _first_is_less(x: Place, y: Place) -> bool:
    if isinstance(x, fmpq) and isinstance(y, fmpq):
        return bool(x < y)
    return float(x) < float(y)
