"""For each mechanism of the catalogue, what an outsider computes from its definition (`independent`, `independent_finite`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import independent
import independent_finite as finite
from independent import CannotTell, Law
from mpmath import mp, mpf


def exactly(value: Any) -> Any:
    """A decimal text, a double, a fraction or a number of mpmath at the precision in force."""
    if isinstance(value, mpf):
        return value
    number = Fraction(value)
    return mpf(number.numerator) / number.denominator


class Outsider:
    """The interface: everything at a given scale, sensitivity and epsilon, as (value, estimated error)."""

    law: Law | None = None

    def positive(self, scale: Any, sensitivity: Any, eps: Any) -> tuple[Any, Any]:
        """The integral or sum of max(p - e^eps q, 0)."""
        raise NotImplementedError

    def mass(self, scale: Any, sensitivity: Any, eps: Any) -> tuple[Any, Any]:
        """P(loss > eps)."""
        raise CannotTell("no independent route")

    def largest(self, scale: Any, sensitivity: Any) -> Any:
        """The supremum of the loss."""
        raise CannotTell("no independent route")

    def renyi(self, scale: Any, sensitivity: Any, order: Any) -> tuple[Any, Any]:
        """The Renyi divergence; Kullback-Leibler at order 1."""
        raise CannotTell("no independent route")

    def outcomes(self, scale: Any, sensitivity: Any) -> list[tuple[Any, Any, Any]]:
        """(weight, log p, log q) of every outcome, where they are few; a stretch with constant densities is one."""
        raise CannotTell("no independent route")


class Continuous(Outsider):
    """Noise with a density."""

    def __init__(self, law: Law, factor: Any = 1) -> None:
        self.law = law
        self.factor = factor

    def positive(self, scale: Any, sensitivity: Any, eps: Any) -> tuple[Any, Any]:
        return independent.hockey_stick(self.law, sensitivity / scale, eps)

    def mass(self, scale: Any, sensitivity: Any, eps: Any) -> tuple[Any, Any]:
        return independent.mass_above(self.law, sensitivity / scale, eps)

    def largest(self, scale: Any, sensitivity: Any) -> Any:
        return independent.largest_loss(self.law, sensitivity / scale)

    def renyi(self, scale: Any, sensitivity: Any, order: Any) -> tuple[Any, Any]:
        return independent.renyi(self.law, sensitivity / scale, order)


class Stairs(Outsider):
    """The staircase density, stair by stair."""

    def __init__(self, step: str, gamma: str) -> None:
        self.step, self.gamma = Fraction(step), Fraction(gamma)

    def _pieces(self, scale: Any, sensitivity: Any, *, every: bool = False) -> list[tuple[Any, int, int]]:
        """(width, stair of P, stair of Q), of every piece or of those where the stairs differ."""
        d = Fraction(sensitivity) / Fraction(scale)
        count = int(85 / self.step + d) + 3
        if count > 30_000:
            raise CannotTell("too many stairs")
        edges = [self.gamma + k for k in range(count)]
        places = sorted({sign * edge + move for edge in edges for sign in (1, -1) for move in (0, d)})

        def stair(x: Fraction) -> int:
            return int((abs(x) + 1 - self.gamma) // 1)

        found = []
        for a, b in itertools.pairwise(places):
            middle = (a + b) / 2
            here, there = stair(middle), stair(middle - d)
            if every or here != there:  # elsewhere the loss is 0
                found.append((exactly(b - a), there, here))
        return found

    def renyi(self, scale: Any, sensitivity: Any, order: Any) -> tuple[Any, Any]:
        """A sum over the pieces; beyond the last one both densities fall alike."""
        return finite.by_terms(self.outcomes(scale, sensitivity), order)

    def outcomes(self, scale: Any, sensitivity: Any) -> list[tuple[Any, Any, Any]]:
        step, height = exactly(self.step), self._height()
        return [(height * width, -step * i, -step * j) for width, i, j in self._pieces(scale, sensitivity, every=True)]

    def edges(self) -> list[tuple[Any, Any, Any]]:
        """(low, high, density) of the stairs on the right half line."""
        count = int(120 / self.step) + 3
        if count > 30_000:
            raise CannotTell("too many stairs")
        places = [mpf(0), *(exactly(self.gamma + k) for k in range(count))]
        return [(a, b, self._height() * mp.exp(-exactly(self.step) * k)) for k, (a, b) in enumerate(itertools.pairwise(places))]

    def _height(self) -> Any:
        fall, gamma = mp.exp(-exactly(self.step)), exactly(self.gamma)
        return (1 - fall) / (2 * (gamma + (1 - gamma) * fall))

    def positive(self, scale: Any, sensitivity: Any, eps: Any) -> tuple[Any, Any]:
        step = exactly(self.step)
        gain = lru_cache(lambda rise: -mp.expm1(eps - step * rise))
        height = lru_cache(lambda stair: mp.exp(-step * stair))
        total = mp.fsum(
            width * height(i) * gain(j - i) for width, i, j in self._pieces(scale, sensitivity) if step * (j - i) > eps
        )
        return self._height() * total, self._height() * total * mpf(10) ** -40

    def mass(self, scale: Any, sensitivity: Any, eps: Any) -> tuple[Any, Any]:
        step = exactly(self.step)
        total = mp.fsum(width * mp.exp(-step * i) for width, i, j in self._pieces(scale, sensitivity) if step * (j - i) > eps)
        return self._height() * total, self._height() * total * mpf(10) ** -40

    def largest(self, scale: Any, sensitivity: Any) -> Any:
        return exactly(self.step) * max(j - i for _, i, j in self._pieces(scale, sensitivity))


class Whole(Outsider):
    """Noise on the whole numbers."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def _both(self, scale: Any, sensitivity: Any, eps: Any) -> tuple[Any, Any]:
        s, shift = exactly(scale), int(Fraction(sensitivity))
        if self.kind == "laplace":
            return finite.whole_numbers(lambda k: finite.geometric_tail(s, k), lambda x: -abs(x) / s, shift, eps)
        return finite.whole_numbers(lambda k: finite.gaussian_tail(s, k), lambda x: -(mpf(x) ** 2) / (2 * s * s), shift, eps)

    def positive(self, scale: Any, sensitivity: Any, eps: Any) -> tuple[Any, Any]:
        value = self._both(scale, sensitivity, eps)[0]
        return value, abs(value) * mpf(10) ** -31

    def mass(self, scale: Any, sensitivity: Any, eps: Any) -> tuple[Any, Any]:
        value = self._both(scale, sensitivity, eps)[1]
        return value, abs(value) * mpf(10) ** -31

    def largest(self, scale: Any, sensitivity: Any) -> Any:
        return exactly(sensitivity) / exactly(scale) if self.kind == "laplace" else mp.inf

    def renyi(self, scale: Any, sensitivity: Any, order: Any) -> tuple[Any, Any]:
        return finite.by_terms(self.outcomes(scale, sensitivity, order), order)

    def outcomes(self, scale: Any, sensitivity: Any, order: Any = 1) -> list[tuple[Any, Any, Any]]:
        """Number by number; of discrete Laplace noise everything beyond both centres at once, as its loss is the same."""
        s, shift = exactly(scale), int(Fraction(sensitivity))
        reach = 0 if self.kind == "laplace" else int(16 * s * mp.sqrt(max(order, 1)) + shift * (abs(order) + 1)) + 2
        if reach + shift > 20_000:
            raise CannotTell("too many terms")
        tail = finite.geometric_tail if self.kind == "laplace" else finite.gaussian_tail
        total = mp.log(2 * tail(s, 1) + 1)

        def weight(x: int) -> Any:
            return (-abs(x) / s if self.kind == "laplace" else -(mpf(x) ** 2) / (2 * s * s)) - total

        found = [(mpf(1), weight(x - shift), weight(x)) for x in range(-reach, shift + reach + 1)]
        if self.kind == "laplace":
            group = mp.exp(-1 / s) / -mp.expm1(-1 / s)  # everything below 0, and everything above the shift
            found += [(group, *found[0][1:]), (group, *found[-1][1:])]
        return found


class Chosen(Outsider):
    """Mechanisms that select a candidate: the best event over all gaps between two candidates."""

    CDFS: dict[str, Callable[[Any], Any]] = {  # noqa: RUF012 - a table
        # P(report the first of two), its score being higher by x scales
        "logistic": lambda x: 1 / (1 + mp.exp(-x)),
        "laplace": lambda x: mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2,
        "difference": lambda x: (2 - x) * mp.exp(x) / 4 if x < 0 else 1 - (2 + x) * mp.exp(-x) / 4,
    }

    LAWS: dict[str, Callable[[Any], Any]] = {  # noqa: RUF012 - a table
        "logistic": lambda x: -abs(x) - 2 * mp.log1p(mp.exp(-abs(x))),
        "laplace": lambda x: -abs(x),
        "difference": lambda x: mp.log1p(abs(x)) - abs(x),
    }

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.law = Law(log_density=self.LAWS[kind])

    def renyi(self, scale: Any, sensitivity: Any, order: Any) -> tuple[Any, Any]:
        """Of the noise that dominates."""
        return independent.renyi(self.law, 2 * exactly(sensitivity) / exactly(scale), order)

    def positive(self, scale: Any, sensitivity: Any, eps: Any) -> tuple[Any, Any]:
        eta = 2 * exactly(sensitivity) / exactly(scale)
        value = finite.over_gaps(self.CDFS[self.kind], eta, eps)
        error = mpf(10) ** (20 - mp.dps)
        return (value, value * mpf(10) ** -31) if value > error * mpf(10) ** 31 else (mpf(0), error * mpf(10) ** 31)

    def mass(self, scale: Any, sensitivity: Any, eps: Any) -> tuple[Any, Any]:
        """The largest P(report the first) whose loss exceeds eps, over all gaps x: the loss falls with x."""
        eta = 2 * exactly(sensitivity) / exactly(scale)
        cdf = self.CDFS[self.kind]

        def exceeds(x: Any) -> bool:
            return bool(mp.log(cdf(x + eta) / cdf(x)) > eps + (eps + eta) * mpf(10) ** (20 - mp.dps))

        low = high = -eta
        step = mpf(1)
        while not exceeds(low):
            low, step = low - step, 2 * step
            if step > 10**4:
                return mpf(0), mpf(0)
        step = mpf(1)
        while exceeds(high):
            high, step = high + step, 2 * step
            if step > 10**6:
                raise CannotTell("the loss exceeds eps at every gap")
        for _ in range(130):
            middle = (low + high) / 2
            low, high = (middle, high) if exceeds(middle) else (low, middle)
        value = cdf(low + eta)
        return value, value * mpf(10) ** -32 * (1 + eta)

    def largest(self, scale: Any, sensitivity: Any) -> Any:
        eta = 2 * exactly(sensitivity) / exactly(scale)
        cdf = self.CDFS[self.kind]
        x = mpf(-1000) - 2 * eta
        return mp.log(cdf(x + eta) / cdf(x)) if self.kind != "difference" else eta


class Respondent(Outsider):
    """Randomized response: the sum over the outcomes."""

    def __init__(self, values: int) -> None:
        self.values = values

    def _laws(self, flip: Any) -> list[tuple[Any, Any]]:
        flip = exactly(flip)
        truth, other = 1 - flip, flip / (self.values - 1)
        return [(truth, other), (other, truth), *[(other, other)] * min(self.values - 2, 1)]

    def positive(self, scale: Any, sensitivity: Any, eps: Any) -> tuple[Any, Any]:
        value = mp.fsum(max(p - mp.exp(eps) * q, mpf(0)) for p, q in self._laws(scale))
        return value, mpf(10) ** (5 - mp.dps) * mp.exp(eps)

    def mass(self, scale: Any, sensitivity: Any, eps: Any) -> tuple[Any, Any]:
        value = mp.fsum(p for p, q in self._laws(scale) if p > mp.exp(eps) * q)
        return value, value * mpf(10) ** -40

    def largest(self, scale: Any, sensitivity: Any) -> Any:
        return max(mp.log(p / q) for p, q in self._laws(scale))

    def renyi(self, scale: Any, sensitivity: Any, order: Any) -> tuple[Any, Any]:
        return finite.by_terms(self.outcomes(scale, sensitivity), order)

    def outcomes(self, scale: Any, sensitivity: Any) -> list[tuple[Any, Any, Any]]:
        widths = [mpf(1), mpf(1), mpf(self.values - 2)]
        return [(n, mp.log(p), mp.log(q)) for n, (p, q) in zip(widths, self._laws(scale), strict=False)]


# The laws.


def _student_turning(nu: Any) -> Callable[[Any], tuple[Any, ...]]:
    return lambda d: ((d - mp.sqrt(d * d + 4 * nu)) / 2, (d + mp.sqrt(d * d + 4 * nu)) / 2)


def _quartic_turning(d: Any) -> tuple[Any, ...]:
    """Where x^3 (1 + (x - d)^4) = (x - d)^3 (1 + x^4): symmetric about d/2; with y = x - d/2 a cubic in y^2."""
    h = d / 2
    # (y+h)^3 (1+(y-h)^4) - (y-h)^3 (1+(y+h)^4) = 6 h y^2 + 2 h^3 - 2 h (y^2 - h^2)^3 / 1
    # since (y+h)^3 (y-h)^3 ((y-h) - (y+h)) = -2 h (y^2 - h^2)^3
    roots = mp.polyroots([1, -3 * h * h, 3 * h**4 - 3, -(h**6) - h * h], maxsteps=500, extraprec=400)
    found = [mp.re(root) for root in roots if abs(mp.im(root)) < mpf(10) ** -20 * (1 + abs(root)) and mp.re(root) > 0]
    return tuple(h + sign * mp.sqrt(root) for root in found for sign in (1, -1))


def _within(value: Callable[[Any], Any], a: Any) -> Callable[[Any], Any]:
    return lambda x: value(x) if -a <= x <= a else -mp.inf


CUSTOM: dict[str, Callable[[], Law]] = {
    "exp(-abs(x))/2": lambda: Law(log_density=lambda x: -abs(x)),
    "~exp(-x**4)": lambda: Law(log_density=lambda x: -(x**4)),
    "~exp(-abs(x)-x**2)": lambda: Law(log_density=lambda x: -abs(x) - x * x),
    "~(1+x**2)*exp(-x**2)": lambda: Law(log_density=lambda x: mp.log1p(x * x) - x * x),
    "sech(x)/pi": lambda: Law(log_density=lambda x: -abs(x) - mp.log1p(mp.exp(-2 * abs(x)))),
    "~exp(-cosh(x))": lambda: Law(log_density=lambda x: -mp.cosh(x)),
    "~1/(1+x**4)": lambda: Law(log_density=lambda x: -mp.log1p(x**4), turning=_quartic_turning, heavy=True),
    "exp(-x-exp(-x))": lambda: Law(log_density=lambda x: -x - mp.exp(-x), symmetric=False),
}
"""Stated densities, and what an outsider makes of them."""


@lru_cache(maxsize=256)
def outsider(name: str, shape: tuple[tuple[str, Any], ...], dps: int) -> Outsider | None:
    """Who computes independently for this mechanism; `dps` is the precision in force. None: bounded ones have their own."""
    given = dict(shape)
    p = exactly(given["p"]) if "p" in given else None
    if name == "laplace" or name == "k-norm":
        return Continuous(Law(log_density=lambda x: -abs(x)))
    if name == "logistic":
        return Continuous(Law(log_density=lambda x: -abs(x) - 2 * mp.log1p(mp.exp(-abs(x)))))
    if name == "gaussian":
        return Continuous(Law(log_density=lambda x: -x * x / 2))
    if name in ("generalized-gaussian", "subbotin"):
        weight = p if name == "subbotin" else mpf(1)
        return Continuous(Law(log_density=lambda x: -(abs(x) ** p) / weight))
    if name == "hyperbolic-secant":
        return Continuous(CUSTOM["sech(x)/pi"]())
    if name == "gumbel":
        return Continuous(CUSTOM["exp(-x-exp(-x))"]())
    if name == "student-t":
        nu = exactly(given["nu"])
        law = Law(log_density=lambda x: -(nu + 1) / 2 * mp.log1p(x * x / nu), turning=_student_turning(nu), heavy=True)
        return Continuous(law)
    if name == "uniform":
        return Continuous(Law(log_density=_within(lambda x: mpf(0), 1), low=mpf(-1), high=mpf(1)))
    if name == "triangular":
        law = Law(log_density=lambda x: mp.log(1 - abs(x)) if abs(x) < 1 else -mp.inf, low=mpf(-1), high=mpf(1))
        return Continuous(law)
    if name == "truncated-laplace":
        a = exactly(given["cutoff"])
        return Continuous(Law(log_density=_within(lambda x: -abs(x), a), low=-a, high=a))
    if name == "custom-noise":
        return Continuous(CUSTOM[given["density"]]())
    if name == "staircase":
        return Stairs(given["step"], given["gamma"])
    if name in ("discrete-laplace", "truncated-geometric"):
        return Whole("laplace")
    if name == "discrete-gaussian":
        return Whole("gaussian")
    if name in ("exponential-mechanism", "permute-and-flip"):
        return Chosen("logistic" if name == "exponential-mechanism" else "laplace")
    if name == "report-noisy-max":
        return Chosen({"laplace": "difference", "exponential": "laplace", "gumbel": "logistic"}[given["noise"]])
    if name == "randomized-response":
        return Respondent(2)
    if name == "kary-randomized-response":
        return Respondent(int(given["k"]))
    return None


def bounded_level(name: str, shape: dict[str, Any], scale: Any, sensitivity: Any) -> tuple[Any, Any]:
    """(level, estimated error): the exact pure level of a bounded mechanism, by a search over true answers."""
    scale = exactly(scale)
    p = {"bounded-gaussian": mpf(2), "bounded-laplace": mpf(1)}.get(name) or exactly(shape["p"])
    w = {"bounded-gaussian": 2 * scale**2, "bounded-laplace": scale, "exponential-on-box": scale}.get(name) or scale**p
    inflated = name.startswith("boundary")
    lengths = [exactly(one) for one in shape["upper"]]
    parts = [finite.Bounded(p, w, length, inflated=inflated) for length in lengths]
    return finite.on_box(parts, [exactly(one) for one in sensitivity])
