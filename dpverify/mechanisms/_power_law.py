"""Noise with density ~ exp(-c |x|^p), in units of its scale: `GeneralizedGaussian` (c = 1) and `Subbotin` (c = 1/p).

With Q(a, x) the regularised upper incomplete gamma function, P(X > x) = Q(1/p, c x^p)/2 for x >= 0. The density is symmetric
and unimodal, so the worst shift is the sensitivity for every p > 0 (`_unimodal`), and the profile is P(S - d) - e^eps P(S)
for the event S on which the loss exceeds eps (`_power_law_event`): a half line for p >= 1, an interval about d for p < 1.

- p = 1 is Laplace noise, and is answered by its closed forms.
- p > 1: log-concave; the loss is unbounded.
- p < 1: the loss is at most c d^p (|x|^p obeys the triangle inequality, with equality at x = d): pure DP at
  scale = sensitivity (c/eps)^(1/p).

For rational d and p the limit c d^p is compared with epsilon exactly: it is either a rational that is found, or irrational.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, ClassVar

from flint import arb, ctx, fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number, rational_power
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.arithmetic.text import TEXT, Text
from dpverify.enclose.refine import check_digits, enclose
from dpverify.errors import InputError
from dpverify.mechanisms import _power_law_moment, _probabilistic
from dpverify.mechanisms._event import Event
from dpverify.mechanisms._parameters import Parameter
from dpverify.mechanisms._power_law_event import PowerLawLoss
from dpverify.mechanisms._unimodal import Exactly, UnimodalNoise
from dpverify.mechanisms.laplace import Laplace

_ONE, _TWO = fmpq(1), fmpq(2)
_LAPLACE = Laplace(1)


def exponent_parameter() -> Parameter:
    """The exponent p > 0 of the density."""
    return Parameter("p", meaning="exponent of the density, any p > 0", typical=("1/2", "4"), is_scale=False)


class PowerLawNoise(UnimodalNoise):
    """Noise with density ~ exp(-c |x/scale|^p); a family states c."""

    __slots__ = ()
    no_derivation = "the point where its loss passes epsilon is no closed formula of p"
    weight_text: ClassVar[str]
    """c as text, empty where it is 1."""

    @staticmethod
    def weight(p: fmpq) -> fmpq:
        """c, exactly."""
        raise NotImplementedError

    @property
    def exact_p(self) -> fmpq:
        found: fmpq = self.exact_parameters["p"]
        return found

    @property
    def exact_weight(self) -> fmpq:
        return self.weight(self.exact_p)

    # The law.

    def log_density(self, m: Arithmetic, x: Value) -> Value:
        p = self.exact_p
        power = m.abs(x) if p == 1 else x * x if p == 2 else m.power(m.abs(x), m.exact(p))
        return -m.exact(self.exact_weight) * power - self._log_normaliser(m)

    def cdf(self, m: Arithmetic, x: Value) -> Value:
        p, c = self.exact_p, self.exact_weight
        if p == 2:
            return m.normal_cdf(x * m.sqrt(m.exact(2 * c)))
        if p == 1:
            return _LAPLACE.cdf(m, x)
        a, size = m.exact(1 / p), m.exact(c) * m.power(m.abs(x), m.exact(p))
        if m.name in ("arb", "mpmath"):  # on numbers, the tail that is small is the one that is computed
            tail = m.gamma_upper(a, size) / 2
            return 1 - tail if x > 0 else tail
        return (1 + m.sign(x) * m.gamma_lower(a, size)) / 2

    def absolute_moment(self, m: Arithmetic, order: int) -> Value:
        """c^(-order/p) Gamma((order + 1)/p)/Gamma(1/p); a rational number of m where order/p is whole."""
        p, c = self.exact_p, self.exact_weight
        steps = order / p
        power = rational_power(c, -steps)
        if steps.q == 1 and power is not None:
            for step in range(int(steps.p)):
                power *= 1 / p + step
            return m.exact(power)
        ratio = m.gamma(m.exact((order + 1) / p)) / m.gamma(m.exact(1 / p))
        return ratio * (m.power(m.exact(c), m.exact(-steps)) if power is None else m.exact(power))

    def normaliser(self, *, digits: int = 15) -> Enclosure:
        """The integral of exp(-c |x/scale|^p): 2 scale Gamma(1 + 1/p) c^(-1/p)."""
        p, c, scale = self.exact_p, self.exact_weight, self.exact_scale
        power = rational_power(c, -1 / p)
        if p.p == 1 and power is not None:
            return Enclosure(2 * scale * math.factorial(int(p.q)) * power, digits=check_digits(digits))
        return enclose(
            lambda bits: arb(scale) * _log_normaliser_ball(p, c).exp(),
            check_digits(digits),
            what=lambda: f"the normaliser of {self!r}",
        )

    # The loss and the profile.

    def loss_limit(self, d: fmpq) -> Exactly | None:
        p, c = self.exact_p, self.exact_weight
        if p > 1:
            return None
        power = rational_power(d, p)
        return c * power if power is not None else lambda m: m.exact(c) * m.power(m.exact(d), m.exact(p))

    def shift_at_limit(self, eps: fmpq) -> Exactly:
        p, c = self.exact_p, self.exact_weight
        if p > 1 or eps == 0:
            return fmpq(0)
        power = rational_power(eps / c, 1 / p)
        return power if power is not None else lambda m: m.power(m.exact(eps / c), m.exact(1 / p))

    def event(self, m: Arithmetic, eps: Value, d: Value, *, fully: bool) -> Event | None:
        if eps == 0:
            return Event(low=d / 2)
        return PowerLawLoss(p=self.exact_p, c=self.exact_weight).event(m, eps, d, fully=fully)

    def log_moment(self, order: fmpq) -> arb | None:
        if self.exact_p <= 1:
            return None
        normaliser = _log_normaliser_ball(self.exact_p, self.exact_weight)
        return _power_law_moment.log_moment(self.exact_p, self.exact_weight, self.shift, order, normaliser)

    @property
    def tail_degree(self) -> fmpq:
        return self.exact_p

    def score_variance(self, m: Arithmetic) -> Value:
        """c^(2/p) p^2 Gamma(2 - 1/p)/Gamma(1/p) for p > 1/2."""
        p, c = self.exact_p, self.exact_weight
        power = rational_power(c, 2 / p)
        if power is not None and p in (1, 2):  # Gamma(1)/Gamma(1) = 1, Gamma(3/2)/Gamma(1/2) = 1/2
            return m.exact(power * p)
        weight = m.power(m.exact(c), m.exact(2 / p)) if power is None else m.exact(power)
        return weight * m.exact(p * p) * m.gamma(m.exact(2 - 1 / p)) / m.gamma(m.exact(1 / p))

    @property
    def against_gaussian(self) -> str | None:
        # psi' is c p x^(p - 1) on x > 0.
        return None if self.exact_p < 1 else "heavier" if self.exact_p < _TWO else "lighter" if self.exact_p > _TWO else None

    def fisher_information(self, *, digits: int = 15) -> Enclosure:
        """E psi'(X)^2 / scale^2; infinite for p <= 1/2, where the peak is too sharp."""
        if 2 * self.exact_p <= 1:
            return Enclosure.infinity(digits=check_digits(digits))
        return super().fisher_information(digits=digits)

    def dominating_pair(self) -> Any:
        """That of Laplace noise for p = 1, whose loss has atoms, and that of Gaussian noise for p = 2."""
        if self.exact_p == 1:
            return Laplace(self.exact_scale, sensitivity=self.exact_sensitivity).dominating_pair()
        if self.exact_p == _TWO:
            from dpverify.notions.gaussian_pair import GaussianNoisePair

            return GaussianNoisePair(mu_squared=2 * self.exact_weight * self.shift**2)
        return super().dominating_pair()

    def exact_delta(self, m: Arithmetic, eps: fmpq, d: fmpq) -> Value | None:
        return _LAPLACE.profile(m, m.exact(eps), m.exact(d)) if self.exact_p == 1 else None

    def exact_shift(self, m: Arithmetic, eps: fmpq, delta: fmpq) -> Value | None:
        return _LAPLACE.shift_for(m, m.exact(eps), m.exact(delta)) if self.exact_p == 1 else None

    def exact_epsilon(self, m: Arithmetic, delta: fmpq, d: fmpq) -> Value | None:
        return _LAPLACE.epsilon_for(m, m.exact(delta), m.exact(d)) if self.exact_p == 1 else None

    # Probabilistic DP.

    @classmethod
    def bound_probabilistic(  # type: ignore[override]  # here p is asked for by name
        cls,
        *,
        epsilon: Number,
        delta: Number,
        p: Number,
        sensitivity: Number = 1,
        reading: str = "union",
        digits: int = 15,
    ) -> Enclosure:
        """The least scale at which P(loss > epsilon) <= delta, for p >= 1: sensitivity / ((eps/c + u^p)^(1/p) - u).

        `reading`: "union", where the loss is that to the worse of both neighbours, P(|X| > u) = delta [Liu 2019, Corollary 8];
        "pairwise", where it is the signed loss to one neighbour, P(X > u) = delta. `epsilon` >= 0 in nats, 0 <= `delta` < 1.
        Returns an Enclosure (exact where it is rational); its `.upper` is the least double that satisfies the claim.
        Probabilistic DP implies (epsilon, delta)-DP; it is not closed under post-processing.
        Raises ImpossibleRequest where no scale will do, NotCovered for p < 1.
        """
        member = cls(1, p, sensitivity=sensitivity)
        return _probabilistic.scale(member, epsilon, delta, reading, check_digits(digits))

    # How it is written.

    @classmethod
    def expression(cls, solved: str) -> str:
        c = cls.weight_text
        tail = f"F(-x) = {TEXT.gamma_upper(Text('1/p'), Text(f'{c}x^p'))}/2 for x >= 0, F(x) = 1 - F(-x)"
        low, high = f"{c}(|t|^p - |t - d|^p) = epsilon", f"d = sensitivity/{cls.scale_name}"
        event = f"t the root of {low} above d/2; for p < 1 there are two roots, and F(d - t) is a difference between them"
        profile = "F(d - t) - exp(epsilon)*F(-t)"
        if solved == "delta":
            return f"{profile}, {event}; {tail}; {high}"
        what = "the least epsilon >= 0" if solved == "epsilon" else f"the least {cls.scale_name}"
        return f"{what} with {profile} <= delta, {event}; {tail}; {high}"

    def _log_normaliser(self, m: Arithmetic) -> Value:
        """log(2 Gamma(1 + 1/p) c^(-1/p))."""
        p, c = self.exact_p, self.exact_weight
        if m.name == "arb":
            return _log_normaliser_ball(p, c)
        return m.log(2 * m.gamma(m.exact(1 + 1 / p))) - m.log(m.exact(c)) * m.exact(1 / p)


@lru_cache(maxsize=64)
def _cached(above: int, below: int, weight_above: int, weight_below: int, precision: int) -> arb:
    p, c = fmpq(above, below), fmpq(weight_above, weight_below)
    return (2 * arb(1 + 1 / p).gamma()).log() - arb(c).log() * arb(1 / p)


def _log_normaliser_ball(p: fmpq, c: fmpq) -> arb:
    """At the working precision; remembered, since it is the same in every density."""
    return _cached(int(p.p), int(p.q), int(c.p), int(c.q), int(ctx.prec))


def converted_scale(noise: PowerLawNoise, direction: int, digits: int) -> Enclosure:
    """scale p^(direction/p): from one convention to the other."""
    p, scale = noise.exact_p, noise.exact_scale
    power = rational_power(p, direction / p)
    if power is not None:
        return Enclosure(scale * power, digits=check_digits(digits))
    return enclose(
        lambda bits: arb(scale) * arb(p) ** arb(direction / p), check_digits(digits), what=lambda: f"the scale of {noise!r}"
    )


def converted(noise: PowerLawNoise, family: type[PowerLawNoise], direction: int) -> Any:
    """The same noise in the other convention, where its scale is rational."""
    power = rational_power(noise.exact_p, direction / noise.exact_p)
    if power is None:
        raise InputError(
            f"{noise!r}: p^({direction}/p) is no rational number, so no {family.__name__} has exactly this noise; "
            f"take an end of the enclosure of its scale, or ask {type(noise).__name__} itself."
        )
    return family(noise.exact_scale * power, noise.exact_p, sensitivity=noise.exact_sensitivity)
