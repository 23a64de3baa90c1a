"""`Mechanism`: the public face that every mechanism shares.

Declared parameters, construction from exact numbers, and the questions delta, epsilon, bound, calibrate and solve, whose
input is checked here. How a family answers them is its engine's business: `_engine` names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from flint import fmpq

from dpverify.arithmetic.exact import Number, to_exact
from dpverify.enclose.refine import check_digits
from dpverify.errors import ImpossibleRequest, InputError, shown
from dpverify.mechanisms._parameters import Parameter, as_given, checked_delta, checked_epsilon, checked_sensitivity
from dpverify.showing import notebook, plotted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpverify.arithmetic.enclosure import Enclosure
    from dpverify.notions.pair import DominatingPair
    from dpverify.samplers.sampler import Sampler


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

    def _repr_html_(self) -> str:
        return notebook(self, "solved")


class Engine(Protocol):
    """What answers the three questions about checked, possible requests (a module of functions will do)."""

    def delta(self, mechanism: Any, eps: fmpq, digits: int) -> Any:
        """delta(eps)."""

    def epsilon(self, mechanism: Any, delta: fmpq, digits: int) -> Any:
        """The least epsilon >= 0."""

    def scale(self, mechanism: Any, eps: fmpq, delta: fmpq, sensitivity: fmpq, digits: int) -> Any:
        """The least scale; `mechanism` supplies formulas and shape, its own scale is ignored."""


class Mechanism:
    """A mechanism of the catalogue: declared parameters, and a sensitivity that says how far neighbours are apart."""

    name: ClassVar[str]
    """How the command line calls it: lower case with hyphens."""
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    scale_name: ClassVar[str]
    """The name of the parameter that is solved for; more of it is more private."""

    __slots__ = ("exact_parameters", "exact_sensitivity")
    exact_parameters: dict[str, Any]
    exact_sensitivity: fmpq

    # What a family states.

    @classmethod
    def _engine(cls, arithmetic: str) -> Engine:
        """The engine for "arb" or "mpmath"; `unknown_arithmetic` for anything else."""
        raise NotImplementedError

    @classmethod
    def expression(cls, solved: str) -> str:
        """The formula for "epsilon", "delta" or the scale as text that needs no SymPy."""
        raise NotImplementedError

    def dominating_pairs(self) -> tuple[DominatingPair, ...]:
        """The pairs of output laws from which every notion is computed: the mechanism is no worse than their supremum."""
        raise NotImplementedError

    def sampler(self) -> Sampler:
        """The mechanism as code: f(data, rng, size) returns `size` independent releases of the true answer `data`.

        `.exactness` says whether it follows the law to the last bit. It can be handed to `audit` as it is.
        """
        raise NotImplementedError

    def neighbours(self) -> tuple[Any, Any]:
        """Two true answers of neighbouring datasets, as far apart as the sensitivity lets them be: data for `sampler`."""
        return 0, self.sensitivity

    def _checked_sensitivity(self, value: Number) -> fmpq:
        """`value` as an exact sensitivity of this mechanism, or an InputError."""
        return checked_sensitivity(value)

    def _refuse_impossible_bound(self, eps: fmpq, delta: fmpq) -> None:
        """Raise ImpossibleRequest where no scale gives (eps, delta)."""

    def _refuse_impossible_epsilon(self, delta: fmpq) -> None:
        """Raise ImpossibleRequest where no epsilon gives this delta."""

    # What follows from it.

    def __init_subclass__(cls) -> None:
        declared = tuple(value for value in vars(cls).values() if isinstance(value, Parameter))
        if declared:
            cls.parameters = declared
            (cls.scale_name,) = (parameter.name for parameter in declared if parameter.is_scale)

    def __init__(self, *values: Number, sensitivity: Number = 1, **named: Number) -> None:
        exact = _assigned(type(self), values, named)
        object.__setattr__(self, "exact_parameters", exact)
        object.__setattr__(self, "exact_sensitivity", self._checked_sensitivity(sensitivity))

    @classmethod
    def typical_shapes(cls) -> tuple[dict[str, str], ...]:
        """Values for all parameters but the scale: the low and the high ends of what is typical. One empty dictionary where
        the scale is the only parameter."""
        shape = [parameter for parameter in cls.parameters if not parameter.is_scale]
        if not shape:
            return ({},)
        return tuple({parameter.name: parameter.typical[end] for parameter in shape} for end in (0, 1))

    compared_shapes: ClassVar[tuple[dict[str, Any], ...] | None] = None
    """The shapes at which `compare` looks at the family; () leaves it out. None: the one shape of a family that needs none."""

    @classmethod
    def contenders(
        cls, *, epsilon: Number, delta: Number, sensitivity: Number
    ) -> Iterator[tuple[str, Callable[[], Mechanism]]]:
        """What this family enters into a comparison at (epsilon, delta): (shape in words, how to make the member)."""
        shapes = cls.compared_shapes
        if shapes is None:
            open_ones = [one for one in cls.parameters if not one.is_scale and one.default is None]
            shapes = () if open_ones else ({},)
        for shape in shapes:
            words = ", ".join(f"{name} = {value}" for name, value in shape.items())
            yield words, partial(cls.calibrate, epsilon=epsilon, delta=delta, sensitivity=sensitivity, **shape)

    @property
    def sensitivity(self) -> Any:
        """The sensitivity D, as a double where one is exactly it, else as a Fraction."""
        return as_given(self.exact_sensitivity)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; make a new one with {name}={value!r}.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; {name} stays.")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.exact_parameters == other.exact_parameters and self.exact_sensitivity == other.exact_sensitivity

    def __hash__(self) -> int:
        key = tuple((name, str(value)) for name, value in sorted(self.exact_parameters.items()))
        return hash((type(self), key, int(self.exact_sensitivity.p), int(self.exact_sensitivity.q)))

    def __copy__(self) -> Self:
        return self  # nothing in it can change

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        for name, value in state[1].items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        values = [(one.name, one.shown(self.exact_parameters[one.name])) for one in self.parameters]
        listed = [f"{name}={_written(value)}" for name, value in (*values, ("sensitivity", self.sensitivity))]
        return f"{type(self).__name__}({', '.join(listed)})"

    def _repr_html_(self) -> str:
        return notebook(self, "mechanism")

    def plot(self, kind: str = "profile", *, axes: Any = None, points: int | None = None, reach: Any = None) -> Any:
        """Draw what is certain of the mechanism; needs matplotlib (the extra `report`).

        kind    "profile": delta(epsilon); "trade-off": the least miss rate of any test between two neighbours against its
                false-alarm rate; "loss": the distribution function of the privacy loss, in either order where they differ
        axes    matplotlib axes to draw on; None: new ones
        points  places at which a number is certified, 96 unless given
        reach   how far a profile or a loss is drawn, in nats; None: as far as it matters

        Returns the axes. What is filled contains the curve everywhere, between the places too: *enclosure*. Raises
        MissingDependency without matplotlib, InputError, and NotCovered where nothing is certified.
        """
        return plotted(self, "of_mechanism", kind, {"axes": axes, "points": points, "reach": reach})

    def delta(self, epsilon: Number, *, digits: int = 15, arithmetic: str = "arb") -> Any:
        """delta(epsilon) = sup over events S of P(S) - e^epsilon Q(S), neighbours at distance `sensitivity`.

        `epsilon`: any real, in nats. Returns an Enclosure to `digits` digits (exactly 0 where it is 0), or with
        arithmetic="mpmath" an mpf without a certificate. Raises InputError, PrecisionError.
        """
        eps = to_exact(epsilon, "epsilon")
        return self._engine(arithmetic).delta(self, eps, check_digits(digits))

    def epsilon(self, delta: Number, *, digits: int = 15, arithmetic: str = "arb") -> Any:
        """The least epsilon >= 0 with delta(epsilon) <= delta, in nats.

        `delta`: 0 <= delta < 1. Returns an Enclosure (exactly 0 where no epsilon is needed); its `.upper` is the safe
        double. With arithmetic="mpmath" an mpf without a certificate. Raises ImpossibleRequest where no epsilon will do.
        """
        exact = checked_delta(delta)
        self._refuse_impossible_epsilon(exact)
        return self._engine(arithmetic).epsilon(self, exact, check_digits(digits))

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
        eps, exact_delta = checked_epsilon(epsilon), checked_delta(delta)
        member = _unit(cls, shape)
        exact_sensitivity = member._checked_sensitivity(sensitivity)
        member._refuse_impossible_bound(eps, exact_delta)
        return cls._engine(arithmetic).scale(member, eps, exact_delta, exact_sensitivity, check_digits(digits))

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


def _written(value: Any) -> str:
    """A parameter as it may be handed in again: 1/3 as text, since without quotes it would be the double below it."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_written, value))})"
    if isinstance(value, (int, float, str)):
        return repr(value)
    return repr(shown(fmpq(value.numerator, value.denominator), str)) if hasattr(value, "numerator") else repr(str(value))


def unknown_arithmetic(arithmetic: str) -> InputError:
    """The error for an arithmetic that no engine has."""
    return InputError(f"arithmetic = {arithmetic!r}: choose 'arb' (certified) or 'mpmath' (second opinion).")


def _unit(cls: type[Mechanism], shape: dict[str, Any]) -> Mechanism:
    """The family member whose scale is the unit and whose sensitivity is 1: formulas and shape, no width."""
    try:
        return _cached_unit(cls, **shape)  # type: ignore[arg-type]  # a class is hashable whatever its instances are
    except TypeError:  # a shape that is no number may be unhashable; the constructor says what is wrong with it
        return cls(**{cls.scale_name: _scale_unit(cls), **shape})


@lru_cache(maxsize=1024, typed=True)
def _cached_unit(cls: type[Mechanism], **shape: Any) -> Mechanism:
    return cls(**{cls.scale_name: _scale_unit(cls), **shape})


def _scale_unit(cls: type[Mechanism]) -> Any:
    return next(parameter.unit for parameter in cls.parameters if parameter.is_scale)


def _one_unknown(missing: list[str], scale: str) -> str:
    if not missing:
        return f"epsilon, delta and {scale} are all given: leave one out, and it is solved for."
    hint = " (delta = 0 asks for pure DP)" if "delta" in missing else ""
    return f"{' and '.join(missing)} are missing: give all but one of epsilon, delta and {scale}{hint}."


def _assigned(cls: type[Mechanism], values: tuple[Number, ...], named: dict[str, Number]) -> dict[str, Any]:
    """Match what was handed to the constructor with the declared parameters, in the order of declaration."""
    names = [parameter.name for parameter in cls.parameters]
    shown = [one.name if one.default is None else f"{one.name}={one.default!r}" for one in cls.parameters]
    call = f"{cls.__name__}({', '.join(shown)}, sensitivity=1)"
    if len(values) > len(names):
        raise InputError(f"{cls.__name__} takes {len(names)} parameter(s) by position, not {len(values)}; write {call}.")
    given = dict(zip(names, values, strict=False))
    for name, value in named.items():
        if name not in names or name in given:
            what = "given twice" if name in given else "not a parameter"
            raise InputError(f"{name} is {what} of {cls.__name__}; write {call}.")
        given[name] = value
    for parameter in cls.parameters:
        if parameter.default is not None:
            given.setdefault(parameter.name, parameter.default)
    missing = [name for name in names if name not in given]
    if missing:
        raise InputError(f"{cls.__name__} needs {' and '.join(missing)}; write {call}.")
    return {parameter.name: parameter.checked(given[parameter.name]) for parameter in cls.parameters}
