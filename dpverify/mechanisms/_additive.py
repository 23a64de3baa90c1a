"""`AdditiveNoise`: what every mechanism "answer + scale * X" with symmetric log-concave X has in common.

A family states its formulas in units of the scale, once, against the arithmetic interface; this base class turns them
into certified numbers, second opinions, arrays, text and derivations.

Source of the general facts: S. Vinterbo, "Differential Privacy for Symmetric Log-Concave Mechanisms" (AISTATS 2022),
Lemmas 1 and 2. With d = sensitivity / scale, cdf F and the threshold t(epsilon, d) at which the privacy loss passes
epsilon,  delta(epsilon) = F(d - t) - e^epsilon F(-t),  for every real epsilon; it depends on sensitivity and scale
through d only and increases with d.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from flint import fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number, to_exact
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.enclose.refine import check_digits
from dpverify.errors import ImpossibleRequest, InputError
from dpverify.mechanisms import _certified, _expressions
from dpverify.mechanisms._parameters import Parameter, as_given, checked_delta, checked_epsilon, checked_sensitivity

if TYPE_CHECKING:
    import numpy as np
    import sympy
    from numpy.typing import ArrayLike, NDArray

    from dpverify.derive.steps import Derivation
    from dpverify.mechanisms._pair import DominatingPair


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """The answer to "which one is missing": the quantity solved for, its enclosure and its formula as text."""

    mechanism: str
    solved: str
    enclosure: Enclosure
    expression: str

    @property
    def safe_double(self) -> float:
        """The least double that satisfies the claim (for a scale) or bounds the quantity from above."""
        return self.enclosure.upper


class AdditiveNoise:
    """Noise `scale * X` added to a number that moves by at most `sensitivity` between neighbouring datasets."""

    name: ClassVar[str]
    """How the command line calls it: lower case with hyphens."""
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    scale_name: ClassVar[str]
    """The name of the parameter that the noise is proportional to."""
    loss_slope: ClassVar[int | None] = None
    """psi'(infinity) of the density e^{-psi}: the privacy loss never exceeds d times this. None where it is unbounded."""

    __slots__ = ("exact_parameters", "exact_sensitivity")
    exact_parameters: dict[str, fmpq]
    exact_sensitivity: fmpq

    # What a family states. All in units of the scale; m is the arithmetic.

    def log_density(self, m: Arithmetic, x: Value) -> Value:
        """log f(x)."""
        raise NotImplementedError

    def cdf(self, m: Arithmetic, x: Value) -> Value:
        """F(x)."""
        raise NotImplementedError

    def threshold(self, m: Arithmetic, eps: Value, d: Value) -> Value:
        """t = sup{x : psi(x) - psi(x - d) <= eps}, where it is finite."""
        raise NotImplementedError

    def profile(self, m: Arithmetic, eps: Value, d: Value) -> Value:
        """F(d - t) - e^eps F(-t), where t is finite. A family may state a stabler form."""
        t = self.threshold(m, eps, d)
        return self.cdf(m, d - t) - m.exp(eps) * self.cdf(m, -t)

    def shift_for(self, m: Arithmetic, eps: Value, delta: Value) -> Value | None:
        """The d at which profile(eps, d) = delta, in closed form; None where there is none."""
        return None

    def epsilon_for(self, m: Arithmetic, delta: Value, d: Value) -> Value | None:
        """The eps at which profile(eps, d) = delta, in closed form; None where there is none."""
        return None

    def absolute_moment(self, m: Arithmetic, order: int) -> Value:
        """E |X|^order, for a positive integer order."""
        raise NotImplementedError

    def shift_guess(self, eps: float, log_delta: float) -> float | None:
        """A double near `shift_for`; only speed depends on it."""
        return None

    def epsilon_guess(self, log_delta: float, d: float) -> float | None:
        """A double near `epsilon_for`; only speed depends on it."""
        return None

    # Construction.

    def __init_subclass__(cls) -> None:
        cls.parameters = tuple(value for value in vars(cls).values() if isinstance(value, Parameter))
        (cls.scale_name,) = (parameter.name for parameter in cls.parameters if parameter.is_scale)

    def __init__(self, *values: Number, sensitivity: Number = 1, **named: Number) -> None:
        exact = _assigned(type(self), values, named)
        object.__setattr__(self, "exact_parameters", exact)
        object.__setattr__(self, "exact_sensitivity", checked_sensitivity(sensitivity))

    @property
    def exact_scale(self) -> fmpq:
        return self.exact_parameters[self.scale_name]

    @property
    def sensitivity(self) -> Any:
        """The sensitivity D, as a double where one is exactly it, else as a Fraction."""
        return as_given(self.exact_sensitivity)

    @property
    def shift(self) -> fmpq:
        """d = sensitivity / scale, exactly."""
        return self.exact_sensitivity / self.exact_scale

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; make a new one with {name}={value!r}.")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.exact_parameters == other.exact_parameters and self.exact_sensitivity == other.exact_sensitivity

    def __hash__(self) -> int:
        key = tuple((name, int(q.p), int(q.q)) for name, q in sorted(self.exact_parameters.items()))
        return hash((type(self), key, int(self.exact_sensitivity.p), int(self.exact_sensitivity.q)))

    def __repr__(self) -> str:
        shown = [f"{name}={as_given(value)!s}" for name, value in self.exact_parameters.items()]
        return f"{type(self).__name__}({', '.join([*shown, f'sensitivity={self.sensitivity!s}'])})"

    # The privacy profile and its inverses.

    def delta(self, epsilon: Number, *, digits: int = 15, arithmetic: str = "arb") -> Any:
        """delta(epsilon) = sup over events S of P(S) - e^epsilon Q(S), neighbours at distance `sensitivity`.

        `epsilon`: any real, in nats. Returns an Enclosure to `digits` digits (exactly 0 where it is 0), or with
        arithmetic="mpmath" an mpf without a certificate. Raises InputError, PrecisionError.
        """
        eps = to_exact(epsilon, "epsilon")
        return _engine(arithmetic).delta(self, eps, check_digits(digits))

    def epsilon(self, delta: Number, *, digits: int = 15, arithmetic: str = "arb") -> Any:
        """The least epsilon >= 0 with delta(epsilon) <= delta, in nats.

        `delta`: 0 <= delta < 1. Returns an Enclosure (exactly 0 where no epsilon is needed); its `.upper` is the safe
        double. With arithmetic="mpmath" an mpf without a certificate. Raises ImpossibleRequest where no epsilon will do.
        """
        exact = checked_delta(delta)
        self._refuse_impossible_epsilon(exact)
        return _engine(arithmetic).epsilon(self, exact, check_digits(digits))

    @classmethod
    def bound(
        cls,
        *,
        epsilon: Number,
        delta: Number = 0,
        sensitivity: Number = 1,
        digits: int = 15,
        arithmetic: str = "arb",
        **shape: Any,
    ) -> Any:
        """The least scale at which the mechanism is (epsilon, delta)-DP.

        `epsilon` >= 0 in nats, 0 <= `delta` < 1, `sensitivity` > 0. Returns an Enclosure, in the units of the sensitivity;
        its `.upper` is the least double that satisfies the claim. With arithmetic="mpmath" an mpf without a certificate.
        Raises ImpossibleRequest where no scale will do.
        """
        if cls.scale_name in shape:
            raise InputError(f"{cls.scale_name} is what bound solves for; leave it out, or ask for delta or epsilon instead.")
        eps, exact_delta, exact_sensitivity = checked_epsilon(epsilon), checked_delta(delta), checked_sensitivity(sensitivity)
        member = _unit(cls, **shape)  # type: ignore[arg-type]  # a class is hashable whatever its instances are
        member._refuse_impossible_bound(eps, exact_delta)
        return _engine(arithmetic).scale(member, eps, exact_delta, exact_sensitivity, check_digits(digits))

    @classmethod
    def calibrate(cls, *, epsilon: Number, delta: Number = 0, sensitivity: Number = 1, **shape: Any) -> Self:
        """The mechanism at the least double of its scale that satisfies (epsilon, delta): certified to satisfy it, while
        the double below it is certified not to. Arguments and errors as for `bound`."""
        least = cls.bound(epsilon=epsilon, delta=delta, sensitivity=sensitivity, **shape).upper
        name = cls.scale_name
        if least == float("inf"):
            raise ImpossibleRequest(
                f"the least {name} is beyond the largest double; scale the sensitivity down, or use bound()."
            )
        return cls(**{name: least, **shape}, sensitivity=sensitivity)

    @classmethod
    def solve(
        cls,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        sensitivity: Number = 1,
        digits: int = 15,
        **parameters: Any,
    ) -> Solved:
        """Whichever one of epsilon, delta and the scale is missing (None), from the other two.

        Shape parameters must be given. Returns a `Solved`; raises InputError unless exactly one is missing.
        """
        scale = cls.scale_name
        given = {name: value for name, value in parameters.items() if value is not None}
        missing = [name for name, value in (("epsilon", epsilon), ("delta", delta), (scale, given.get(scale))) if value is None]
        if len(missing) != 1:
            raise InputError(_one_unknown(missing, scale))
        if missing == ["delta"]:
            enclosure = cls(**given, sensitivity=sensitivity).delta(epsilon, digits=digits)
        elif missing == ["epsilon"]:
            enclosure = cls(**given, sensitivity=sensitivity).epsilon(delta, digits=digits)
        else:
            enclosure = cls.bound(epsilon=epsilon, delta=delta, sensitivity=sensitivity, digits=digits, **given)
        return Solved(mechanism=cls.name, solved=missing[0], enclosure=enclosure, expression=cls.expression(missing[0]))

    @classmethod
    def expression(cls, solved: str) -> str:
        """The formula for "epsilon", "delta" or the scale as text that needs no SymPy, made by running it."""
        return _expressions.of(cls, solved)

    def _refuse_impossible_bound(self, eps: fmpq, delta: fmpq) -> None:
        if delta > 0 or (self.loss_slope is not None and eps > 0):
            return
        if self.loss_slope is None:
            why = (
                f"the privacy loss of {type(self).__name__} noise is unbounded, so no finite {self.scale_name} gives delta = 0"
            )
            raise ImpossibleRequest(f"delta = 0: {why}; give delta > 0, or use Laplace noise for pure DP.")
        raise ImpossibleRequest("epsilon = 0 and delta = 0: no noise hides everything; give epsilon > 0 or delta > 0.")

    def _refuse_impossible_epsilon(self, delta: fmpq) -> None:
        if delta == 0 and self.loss_slope is None:
            why = f"the privacy loss of {type(self).__name__} noise is unbounded, so no finite epsilon gives delta = 0"
            raise ImpossibleRequest(f"delta = 0: {why}; give delta > 0.")

    # Symbols, arrays, moments.

    @property
    def privacy_loss(self) -> sympy.Expr:
        """log p(x)/q(x) as a SymPy expression in x: p is the output density at true answer `sensitivity`, q at 0."""
        from dpverify.mechanisms import _symbolic

        return _symbolic.privacy_loss(self)

    def derive(self) -> Derivation:
        """The checked derivation of the privacy profile from the density. Raises DerivationError if a check fails."""
        from dpverify.mechanisms import _symbolic

        return _symbolic.derivation(self)

    def dominating_pair(self) -> DominatingPair:
        """The pair (noise moved by the sensitivity, noise) whose hockey-stick divergence is delta(epsilon) everywhere."""
        from dpverify.mechanisms._pair import DominatingPair

        return DominatingPair(noise=self)

    def profile_array(self, epsilons: ArrayLike) -> NDArray[np.float64]:
        """delta at each epsilon, in double precision (kind of exactness: *heuristic*), for plots and tables."""
        from dpverify.mechanisms import _arrays

        return _arrays.profile(self, epsilons)

    def moment(self, order: int, *, digits: int = 15) -> Enclosure:
        """E Z^order of the noise Z, for an integer order >= 1 (exactly 0 for odd orders, by symmetry)."""
        if _checked_order(order) % 2:
            return Enclosure(fmpq(0), digits=check_digits(digits))
        return self.mean_absolute_moment(order, digits=digits)

    def mean_absolute_moment(self, order: int, *, digits: int = 15) -> Enclosure:
        """E |Z|^order of the noise Z, for an integer order >= 1."""
        return _certified.absolute_moment(self, _checked_order(order), check_digits(digits))

    def variance(self, *, digits: int = 15) -> Enclosure:
        """E Z^2 of the noise Z, which is its mean squared error."""
        return self.mean_absolute_moment(2, digits=digits)


@lru_cache(maxsize=1024, typed=True)
def _unit(cls: type[AdditiveNoise], **shape: Any) -> AdditiveNoise:
    """The family member with scale 1 and sensitivity 1: formulas and shape, no width."""
    return cls(**{cls.scale_name: 1, **shape})


def _engine(arithmetic: str) -> Any:
    """The module that answers in this arithmetic; mpmath is imported only when it is asked for."""
    if arithmetic == "arb":
        return _certified
    if arithmetic == "mpmath":
        from dpverify.mechanisms import _second_opinion

        return _second_opinion
    raise InputError(f"arithmetic = {arithmetic!r}: choose 'arb' (certified) or 'mpmath' (second opinion).")


def _checked_order(order: int) -> int:
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise InputError(f"order = {order!r}: a moment needs a whole number of at least 1.")
    return order


def _one_unknown(missing: list[str], scale: str) -> str:
    if not missing:
        return f"epsilon, delta and {scale} are all given: leave one out, and it is solved for."
    hint = " (delta = 0 asks for pure DP)" if "delta" in missing else ""
    return f"{' and '.join(missing)} are missing: give all but one of epsilon, delta and {scale}{hint}."


def _assigned(cls: type[AdditiveNoise], values: tuple[Number, ...], named: dict[str, Number]) -> dict[str, fmpq]:
    """Match what was handed to the constructor with the declared parameters, in the order of declaration."""
    names = [parameter.name for parameter in cls.parameters]
    call = f"{cls.__name__}({', '.join(names)}, sensitivity=1)"
    if len(values) > len(names):
        raise InputError(f"{cls.__name__} takes {len(names)} parameter(s) by position, not {len(values)}; write {call}.")
    given = dict(zip(names, values, strict=False))
    for name, value in named.items():
        if name not in names or name in given:
            what = "given twice" if name in given else "not a parameter"
            raise InputError(f"{name} is {what} of {cls.__name__}; write {call}.")
        given[name] = value
    missing = [name for name in names if name not in given]
    if missing:
        raise InputError(f"{cls.__name__} needs {' and '.join(missing)}; write {call}.")
    return {parameter.name: parameter.checked(given[parameter.name]) for parameter in cls.parameters}
