"""Noise whose density the user states."""

from __future__ import annotations

from typing import Any, ClassVar

import sympy
from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.enclose.effort import limited_effort
from dpverify.enclose.refine import check_digits, enclose
from dpverify.enclose.root import positive_root
from dpverify.errors import ImpossibleRequest, NotCovered
from dpverify.mechanisms import _additive, _density_profile, _density_second_opinion, _unimodal_engine
from dpverify.mechanisms._density import Density, density_of, expectation
from dpverify.mechanisms._density_forms import logarithm
from dpverify.mechanisms._density_pair import DensityPair
from dpverify.mechanisms._density_text import X
from dpverify.mechanisms._event import Measured
from dpverify.mechanisms._mechanism import Engine
from dpverify.mechanisms._parameters import Parameter, scale_parameter
from dpverify.mechanisms._unimodal import Exactly, UnimodalNoise

_ZERO = fmpq(0)
_ATTEMPTS = 2
_PROFILE = "the integral of max(0, f(x - d) - exp(epsilon)*f(x)) (or the same for f(-x)), d = sensitivity/scale"
_PATIENCE = 3
"""Times the usual effort: most evaluations are under an integral, and cost it several."""


class Integrated(_unimodal_engine.Certified):
    """The certified engine, with a limit on the effort of one question."""

    def delta(self, noise: Any, eps: fmpq, digits: int) -> Any:
        """delta(eps)."""
        with limited_effort(times=_PATIENCE):
            return super().delta(noise, eps, digits)

    def epsilon(self, noise: Any, delta: fmpq, digits: int) -> Any:
        """The least epsilon."""
        with limited_effort(times=_PATIENCE):
            return super().epsilon(noise, delta, digits)

    def scale(self, noise: Any, eps: fmpq, delta: fmpq, sensitivity: fmpq, digits: int) -> Any:
        """The least scale."""
        with limited_effort(times=_PATIENCE):
            return super().scale(noise, eps, delta, sensitivity, digits)


_INTEGRATED = Integrated(attempts=_ATTEMPTS)


class DensityParameter(Parameter):
    """A density in one variable."""

    __slots__ = ()

    def checked(self, value: Any) -> Density:
        """`value` as a proved density."""
        return density_of(value)


class CustomNoise(UnimodalNoise):
    """Add noise scale * X, where X has a density that you state: CustomNoise(scale, density, sensitivity=1).

    `density` is a SymPy expression in one variable, or text such as "exp(-abs(x))/2"; a bounded support is written
    sympy.Piecewise((formula, (x >= a) & (x <= b)), (0, True)). It may use + - * / and powers, exp, log, sqrt, Abs (of a x + b),
    cosh, sinh, tanh, sech, atan, erf, erfc, pi and e; numbers must be exact. `proportional_to` (in text a leading ~)
    normalises.

    Proved when it is made, or refused by name: that it is never negative, that its tails vanish, and that it integrates to 1
    (by rigorous integration, to 30 digits; what is computed is divided by the integral). `properties` says what else is
    proved. The profile is certified where the density is log-concave, or symmetric and unimodal, so that the worst shift is
    the sensitivity (`_unimodal`); elsewhere `pair_delta` answers for one given shift. All masses are enclosed by rigorous
    integration. Integrals never show that a value is exactly a double: there `.upper` may be the next double above, and
    `calibrate` give the double above the least one (`Enclosure.decides_upper` tells).
    """

    __slots__ = ()
    name = "custom-noise"
    scale = scale_parameter()
    density = DensityParameter(
        "f",
        meaning="density of the noise over its scale, a formula in x",
        typical=("sech(x)/pi", "~exp(-x**4)"),
        is_scale=False,
    )
    no_derivation = "its profile is enclosed by integration, without a closed form"
    texts: ClassVar[dict[str, str]] = {
        "delta": "the integral of max(0, f(x - d) - exp(epsilon)*f(x)), f the density, d = sensitivity/scale; where f is not "
        "symmetric the larger of that and the same for f(-x)",
        "epsilon": f"the least epsilon >= 0 with delta(epsilon) <= delta, delta(epsilon) {_PROFILE}",
        "scale": f"the least scale with delta(epsilon) <= delta, delta(epsilon) {_PROFILE}",
    }

    @classmethod
    def _engine(cls, arithmetic: str) -> Engine:
        return _INTEGRATED if arithmetic == "arb" else super()._engine(arithmetic)

    @property
    def law(self) -> Density:
        """The density, with what is proved of it."""
        found: Density = self.exact_parameters["density"]
        return found

    @staticmethod
    def proportional_to(density: Any) -> Density:
        """A density that is to be divided by its integral. Raises as the constructor does."""
        return density_of(density, is_proportional=True)

    @property
    def properties(self) -> dict[str, str]:
        """What is known of the density: "symmetric", "log-concave", "unimodal"; "proved", "not shown", or for log-concavity
        also "refuted"."""
        law = self.law
        concave = {True: "proved", False: "refuted", None: "not shown"}[law.is_log_concave]
        unimodal = law.is_symmetric_unimodal or law.is_log_concave
        return {
            "symmetric": "proved" if law.is_even else "not shown",
            "log-concave": concave,
            "unimodal": "proved" if unimodal else "not shown",
        }

    # The law.

    def log_density(self, m: Arithmetic, x: Value) -> Value:
        return self.law.log_value(m, x) - m.log(self._total(m))

    def cdf(self, m: Arithmetic, x: Value) -> Value:
        if m.name != "arb":
            raise NotCovered(f"{self!r}: its cdf is enclosed by integration, on balls only.")
        law = self.law
        middle = x.mid()
        value = law.mirrored.upper((-middle).mid()) / law.total()
        if x.rad() > 0:
            value += arb(0, 1) * (x.rad() * law.value(BALLS, x).abs_upper() / law.total()).upper()
        return value

    def _total(self, m: Arithmetic) -> Value:
        if m.name == "arb":
            return self.law.total()
        return _density_second_opinion.total(m, self.law)

    # The profile.

    def _require_worst_shift(self) -> None:
        if not (self.law.is_log_concave or self.law.is_symmetric_unimodal):
            raise NotCovered(
                f"{self.law}: it is not shown to be log-concave, nor symmetric and unimodal, so the worst shift need not be "
                "the sensitivity; pair_delta answers for a given shift."
            )

    def loss_limit(self, d: fmpq) -> Exactly | None:
        """Where the loss is bounded by the limit of its slope, on both sides."""
        law = self.law
        steepest = law.steepest_loss, law.mirrored.steepest_loss
        if not law.is_log_concave or steepest[0] is None or steepest[1] is None:
            return None
        return d * max(steepest[0], steepest[1])

    def shift_at_limit(self, eps: fmpq) -> Exactly:
        slope = self.loss_limit(fmpq(1))
        return eps / slope if isinstance(slope, fmpq) and slope > 0 else _ZERO

    def exact_delta(self, m: Arithmetic, eps: fmpq, d: fmpq) -> fmpq | None:
        """0 where no loss exceeds eps, 1 where the supports are disjoint."""
        self._require_worst_shift()
        return _density_profile.certain(self.law, eps, d)

    def measured(self, m: Arithmetic, eps: Value, d: Value) -> Measured:
        return _density_profile.measured(m, self.law, eps, d)

    def exact_shift(self, m: Arithmetic, eps: fmpq, delta: fmpq) -> Value:
        self._require_worst_shift()
        return _density_profile.shift(m, self, eps, delta)

    def exact_epsilon(self, m: Arithmetic, delta: fmpq, d: fmpq) -> Value:
        return _density_profile.epsilon(m, self, delta, d)

    def pair_delta(self, shift: Number, epsilon: Number, *, digits: int = 15) -> Enclosure:
        """The larger hockey-stick divergence, over both orders, of the noise and the noise moved by `shift` (in units of the
        answer). For any density; where the worst shift is not known it is a lower bound of the profile."""
        from dpverify.arithmetic.exact import to_exact
        from dpverify.mechanisms._parameters import positive

        eps, d = to_exact(epsilon, "epsilon"), positive(shift, "shift", "it is a distance") / self.exact_scale
        return _density_profile.pair_delta(self.law, eps, d, check_digits(digits))

    def _refuse_impossible_bound(self, eps: fmpq, delta: fmpq) -> None:
        if delta > 0:
            return
        if eps == 0:
            raise ImpossibleRequest("epsilon = 0 and delta = 0: no noise hides everything; give epsilon > 0 or delta > 0.")
        if self.loss_limit(fmpq(1)) is None:
            raise self._no_limit()

    def _refuse_impossible_epsilon(self, delta: fmpq) -> None:
        self._require_worst_shift()
        if delta == 0 and self.loss_limit(self.shift) is None:
            raise self._no_limit()
        _density_profile.refuse_below_plateau(self.law, delta, self.shift)

    def _no_limit(self) -> ImpossibleRequest | NotCovered:
        if self.law.low is not None or self.law.high is not None:
            return ImpossibleRequest("delta = 0: the support ends, so some outputs give the answer away; give delta > 0.")
        return NotCovered(f"delta = 0: the largest loss of {self.law} is infinite or not known; give delta > 0.")

    @property
    def privacy_loss(self) -> sympy.Expr:
        """log p(x)/q(x) in x, on the common support."""
        scale, sensitivity = (sympy.Rational(int(q.p), int(q.q)) for q in (self.exact_scale, self.exact_sensitivity))
        log_density = logarithm(self.law.body)
        loss = log_density.xreplace({X: (X - sensitivity) / scale}) - log_density.xreplace({X: X / scale})
        return sympy.expand(loss, log=False, power_exp=False, power_base=False).xreplace({X: sympy.Symbol("x")})

    # Moments.

    def mean_absolute_moment(self, order: int, *, digits: int = 15) -> Enclosure:
        checked = _additive.checked_order(order)
        return self._moment(checked, 1, digits)

    def moment(self, order: int, *, digits: int = 15) -> Enclosure:
        checked = _additive.checked_order(order)
        if checked % 2 and self.law.is_even:
            return Enclosure(_ZERO, digits=check_digits(digits))
        return self._moment(checked, -1 if checked % 2 else 1, digits)

    def variance(self, *, digits: int = 15) -> Enclosure:
        """E Z^2 - (E Z)^2."""
        if self.law.is_even:
            return self._moment(2, 1, digits)

        def value(bits: int) -> arb:
            return (_raw(self.law, 2, 1) - _raw(self.law, 1, -1) ** 2) * arb(self.exact_scale) ** 2

        return enclose(value, check_digits(digits), what=lambda: f"the variance of {self!r}", attempts=_ATTEMPTS)

    def mean_squared_error(self, *, digits: int = 15) -> Enclosure:
        """E Z^2; the noise need not be centred."""
        return self._moment(2, 1, digits)

    def tail_probability(self, bound: Number, *, digits: int = 15) -> Enclosure:
        """P(|Z| > bound), both tails; `bound` >= 0, in units of the answer. Raises InputError."""
        size = _additive.checked_bound(bound) / self.exact_scale
        with limited_effort():
            return enclose(
                lambda bits: self._outside(arb(size)),
                check_digits(digits),
                what=lambda: f"P(|noise| > {bound}) of {self!r}",
                within=(0, 1),
                attempts=_ATTEMPTS,
            )

    def tail_bound(self, probability: Number, *, digits: int = 15) -> Enclosure:
        """The least bound with P(|Z| > bound) <= probability, in units of the answer, for 0 < probability <= 1."""
        exact = _additive.checked_probability(probability)
        if exact == 1:
            return Enclosure(_ZERO, digits=check_digits(digits))
        with limited_effort():
            return enclose(
                lambda bits: self._bound(exact, bits) * arb(self.exact_scale),
                check_digits(digits),
                what=lambda: f"the bound that the noise of {self!r} exceeds at {probability}",
                attempts=_ATTEMPTS,
            )

    def _outside(self, x: arb) -> arb:
        """P(|X| > x), for x >= 0."""
        law, middle = self.law, x.mid()
        value = (law.upper(middle) + law.mirrored.upper(middle)) / law.total()
        return value if x.rad() == 0 else value + arb(0, 1) * (x.rad() * self._both(x)).upper()

    def _both(self, x: arb) -> arb:
        """At least f(x) + f(-x), on a ball."""
        law = self.law
        return (law.value(BALLS, x).abs_upper() + law.value(BALLS, -x).abs_upper()) / law.total()

    def _bound(self, probability: fmpq, bits: int) -> arb:
        return positive_root(self._outside, lambda x: -self._both(x), probability, increasing=False, bits=bits)

    def fisher_information(self, *, digits: int = 15) -> Enclosure:
        """E ((log f)'(X))^2 / scale^2. Raises NotCovered where the density has kinks or ends."""
        law = self.law
        if law.kinks or law.low is not None or law.high is not None:
            raise NotCovered(f"{law}: the Fisher information is enclosed here for densities without kinks and ends only.")
        slope = law.pieces[0].log_slope
        with limited_effort():
            return enclose(
                lambda bits: expectation(law, slope**2) / law.total() / arb(self.exact_scale) ** 2,
                check_digits(digits),
                what=lambda: f"the Fisher information of {self!r}",
                attempts=_ATTEMPTS,
            )

    def _moment(self, order: int, sign: int, digits: int) -> Enclosure:
        with limited_effort(times=_PATIENCE):
            return self._limited_moment(order, sign, digits)

    def _limited_moment(self, order: int, sign: int, digits: int) -> Enclosure:
        return enclose(
            lambda bits: _raw(self.law, order, sign) * arb(self.exact_scale) ** order,
            check_digits(digits),
            what=lambda: f"moment {order} of {self!r}",
            attempts=_ATTEMPTS,
        )

    def dominating_pair(self) -> Any:
        self._require_worst_shift()
        return DensityPair(noise=self)


def _raw(law: Density, order: int, sign: int) -> arb:
    """The integral of x^order f over x > 0, plus `sign` times that of f(-x), over the integral of f."""
    right = law.upper(arb(0), order)
    left = right if law.is_even else law.mirrored.upper(arb(0), order)
    return (right + sign * left) / law.total()
