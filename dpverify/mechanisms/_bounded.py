"""`BoundedOutput`: what mechanisms share whose outputs stay within a box, and which are pure DP by their own analysis.

The kernel is e^{-theta |x/L|^p} with L the longest side of the domain; a family says how its scale is related to theta:
theta = L^p / (weight scale^degree). Requirements and conditions speak of theta (`_requirements`, `_conditions`), so each is
written once for all families.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.arithmetic.powers import exact_power
from dpverify.enclose.refine import check_digits, enclose
from dpverify.errors import ImpossibleRequest, InputError, NotCovered
from dpverify.mechanisms import _bounded_engine, _conditions, _domain
from dpverify.mechanisms._mechanism import Engine, Mechanism, Solved, unknown_arithmetic
from dpverify.mechanisms._parameters import ChoiceParameter, Parameter, as_given, checked_epsilon
from dpverify.mechanisms._power_kernel import PowerKernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpverify.arithmetic.exact import Number
    from dpverify.mechanisms._domain import Domain, Reach
    from dpverify.mechanisms._requirements import Requirement
    from dpverify.notions.pair import DominatingPair

EXACT = "exact"


def condition_parameter(choices: tuple[str, ...]) -> ChoiceParameter:
    """By which condition the mechanism is taken to be private."""
    return ChoiceParameter(
        "C", meaning="the condition for privacy, exact or sufficient", choices=(EXACT, *choices), default=EXACT
    )


def exponent_parameter() -> Parameter:
    """The exponent p > 0 of the kernel."""
    return Parameter("p", meaning="exponent of the kernel, any p > 0", typical=("1/2", "4"), is_scale=False)


class BoundedOutput(Mechanism):
    """A true answer in a box, released within the same box. `sensitivity` bounds each coordinate, or the Euclidean distance."""

    level_text: ClassVar[str]
    """The exact pure-DP level in one coordinate, as text."""
    power_text: ClassVar[str] = "scale^p"
    """b^p in terms of the scale, as text."""

    __slots__ = ("domain",)
    domain: Domain

    # What a family states.

    @property
    def exact_p(self) -> fmpq:
        """The exponent of the kernel."""
        found: fmpq = self.exact_parameters["p"]
        return found

    @staticmethod
    def exact_requirement(setting: _conditions.Setting) -> Requirement:
        """The exact loss as a function of theta."""
        raise NotImplementedError

    @property
    def weight(self) -> int:
        return 1

    @property
    def degree(self) -> fmpq:
        return self.exact_p

    def squared_error(self, kernel: PowerKernel, below: fmpq, above: fmpq) -> arb:
        """E(Y - t)^2 at a true answer that far from the ends, in units of the longest side."""
        raise NotImplementedError

    def offset(self, kernel: PowerKernel, below: fmpq, above: fmpq) -> arb:
        """E Y - t."""
        raise NotImplementedError

    def worst_end(self, kernel: PowerKernel, length: fmpq, bits: int) -> arb:
        """The largest E(Y - t)^2 over all true answers."""
        raise NotImplementedError

    # What follows from it.

    def __init__(self, *values: Number, sensitivity: Any = None, **named: Any) -> None:
        """`sensitivity` (default 1) is compared with the domain now where it is given, and in any case before it is used."""
        super().__init__(*values, sensitivity=1 if sensitivity is None else sensitivity, **named)
        if sensitivity is not None:
            self.domain.check(self.reach)

    @property
    def reach(self) -> Reach:
        """How far neighbouring true answers may be apart."""
        found: Any = self.exact_sensitivity
        return found  # type: ignore[no-any-return]

    @property
    def sensitivity(self) -> Any:
        """The sensitivity as it was given: a number, one a coordinate, or "sqrt(q)"."""
        return self.reach.as_given()

    @property
    def is_exact(self) -> bool:
        """Whether the exact condition is in force, not a sufficient one."""
        return bool(self.exact_parameters["condition"] == EXACT)

    def __hash__(self) -> int:
        key = tuple((name, str(value)) for name, value in sorted(self.exact_parameters.items()))
        return hash((type(self), key, str(self.reach)))

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)

    def requirement(self, within: Reach | None = None) -> Requirement:
        """What `condition` asks of theta, for this sensitivity or another."""
        return self._required(self.exact_parameters["condition"], within or self.reach)

    def _required(self, condition: str, within: Reach) -> Requirement:
        self.domain.check(within)
        longest = self.domain.longest
        shifts = within.for_each(self.domain.dimensions)
        squared = within.radius_squared
        setting = _conditions.Setting(
            p=self.exact_p,
            lengths=self.domain.relative_lengths(),
            shifts=None if shifts is None else tuple(shift / longest for shift in shifts),
            radius_squared=None if squared is None else squared / longest**2,
        )
        simplified = setting.simplified()
        return self.exact_requirement(simplified) if condition == EXACT else _conditions.SUFFICIENT[condition](simplified)

    # theta and the scale.

    def theta(self) -> arb:
        """theta of this member, at the working precision."""
        found: arb = self.theta_on(BALLS)
        return found

    def theta_on(self, m: Arithmetic) -> Value:
        scale = self.exact_parameters[self.scale_name]
        exact = self.exact_theta(fmpq(1))
        if exact is not None:
            return m.exact(exact)
        p, degree, longest = self.exact_p, self.degree, self.domain.longest
        if p == degree:
            return m.power(m.exact(longest / scale), m.exact(p)) / self.weight
        return m.power(m.exact(longest), m.exact(p)) / (self.weight * m.power(m.exact(scale), m.exact(degree)))

    def exact_theta(self, unit: fmpq) -> fmpq | None:
        """theta unit^p, where it is found to be rational."""
        scale, p, degree, longest = self.exact_parameters[self.scale_name], self.exact_p, self.degree, self.domain.longest
        if p == degree:
            power = exact_power(unit * longest / scale, p)
            return None if power is None else power / self.weight
        above, below = exact_power(unit * longest, p), exact_power(scale, degree)
        return None if above is None or below is None else above / (self.weight * below)

    def scale_of(self, m: Arithmetic, theta: Value) -> Value:
        """The scale that has this theta."""
        p, degree, longest = self.exact_p, self.degree, m.exact(self.domain.longest)
        inverse = 1 / (self.weight * theta)
        root = m.sqrt(inverse) if degree == 2 else inverse if degree == 1 else m.power(inverse, m.exact(1 / degree))
        return root * (longest if p == degree else m.power(longest, m.exact(p / degree)))

    def exact_scale(self, theta: fmpq, unit: fmpq) -> fmpq | None:
        """The scale at which theta unit^p is this rational, where it is found to be rational too."""
        p, degree = self.exact_p, self.degree
        root = exact_power(1 / (self.weight * theta), 1 / degree)
        side = exact_power(unit * self.domain.longest, p / degree)
        return None if root is None or side is None else root * side

    # The public questions.

    @classmethod
    def looseness(cls, *, epsilon: Number, condition: str, sensitivity: Any = 1, digits: int = 15, **shape: Any) -> Enclosure:
        """By how much a sufficient condition asks for more noise than the exact one: the ratio of scale^degree, that is of
        b^p, of sigma^2, or of the temperature.

        `epsilon` > 0 in nats; `condition`, `sensitivity` and the shape as for `bound`. Returns an Enclosure of a number >= 1.
        """
        eps = checked_epsilon(epsilon)
        member = cls(**{cls.scale_name: 1, **shape, "condition": condition}, sensitivity=sensitivity)
        member._refuse_impossible_bound(eps, fmpq(0))
        if condition == EXACT:
            return Enclosure(fmpq(1), digits=check_digits(digits))
        exact = member._required(EXACT, member.reach)
        return _bounded_engine.looseness(exact, member.requirement(), eps, check_digits(digits))

    def mean_squared_error(self, *, at: Any = None, coordinate: int | None = None, digits: int = 15) -> Enclosure:
        """E |release - true answer|^2, in squared units of the answer.

        `at`: the true answer, within the domain (a number, or one a coordinate); where it is left out, the largest value over
        all true answers. `coordinate`: one coordinate, counted from 0, alone; else the sum over all.
        """
        return self._moment(at, coordinate, digits, self.squared_error, f"the mean squared error of {self!r}")

    def variance(self, *, at: Any = None, coordinate: int | None = None, digits: int = 15) -> Enclosure:
        """The variance of the release, summed over coordinates (or of one `coordinate`), at the true answer `at`; where it is
        left out, at the lower end of the domain."""

        def around_mean(kernel: PowerKernel, below: fmpq, above: fmpq) -> arb:
            offset = self.offset(kernel, below, above)
            return self.squared_error(kernel, below, above) - offset * offset

        place = self.domain.low if at is None else at
        return self._moment(place, coordinate, digits, around_mean, f"the variance of {self!r}")

    def _moment(
        self,
        at: Any,
        coordinate: int | None,
        digits: int,
        moment: Callable[[PowerKernel, fmpq, fmpq], arb],
        what: str,
    ) -> Enclosure:
        place = None if at is None else self.domain.point(at)
        longest, lengths = self.domain.longest, self.domain.lengths
        chosen = range(self.domain.dimensions) if coordinate is None else (self._checked_coordinate(coordinate),)

        def value(bits: int) -> arb:
            kernel = PowerKernel(BALLS, self.exact_p, self.theta())
            total = arb(0)
            for k in chosen:
                if place is None:
                    total += self.worst_end(kernel, lengths[k] / longest, bits)
                else:
                    below = place[k] - self.domain.low[k]
                    total += moment(kernel, below / longest, (lengths[k] - below) / longest)
            return total * arb(longest) ** 2

        return enclose(value, check_digits(digits), what=lambda: what)

    def _checked_coordinate(self, coordinate: int) -> int:
        count = self.domain.dimensions
        if isinstance(coordinate, bool) or not isinstance(coordinate, int) or not 0 <= coordinate < count:
            raise InputError(f"coordinate = {coordinate!r}: the domain has {count}; give a whole number from 0 to {count - 1}.")
        return coordinate

    @classmethod
    def solve(
        cls,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        sensitivity: Any = 1,
        digits: int = 15,
        **parameters: Any,
    ) -> Solved:
        """As for every mechanism; the formula says where a sufficient condition is in force."""
        solved = super().solve(epsilon=epsilon, delta=delta, sensitivity=sensitivity, digits=digits, **parameters)
        condition = parameters.get("condition")
        if condition in (None, EXACT):
            return solved
        level = _conditions.LEVEL_TEXT[condition].format(power=cls.power_text)
        return replace(solved, expression=_about(solved.solved, f"{level}, D = sensitivity, L = upper - lower"))

    def neighbours(self) -> tuple[Any, Any]:
        """Two true answers as far apart as the sensitivity lets them be, next to the end of the domain where that is worst
        (inside it there may be a worse pair for 1 < p < 2)."""
        domain, shifts = self.domain, self.reach.for_each(self.domain.dimensions)
        if shifts is None:
            squared = self.reach.radius_squared
            diagonal = sum((length**2 for length in domain.lengths), fmpq(0))
            factor = min(math.sqrt(float(arb(squared / diagonal))), 1.0) * (1 - 2**-50)
            shifts = tuple(length * fmpq(*factor.as_integer_ratio()) for length in domain.lengths)
        if self.exact_p > 1:
            return as_given(tuple(b - d for b, d in zip(domain.high, shifts, strict=True))), as_given(domain.high)
        return as_given(domain.low), as_given(tuple(a + d for a, d in zip(domain.low, shifts, strict=True)))

    def dominating_pairs(self) -> tuple[DominatingPair, ...]:
        """Refused: every pair of true answers has a profile of its own, and none is the worst at every epsilon."""
        raise NotCovered(
            f"{type(self).__name__} has no finite set of dominating pairs: which true answers are worst depends on epsilon."
            " Ask it for epsilon(0), its pure-DP level; an unbounded mechanism followed by clamping keeps every other notion."
        )

    @classmethod
    def expression(cls, solved: str) -> str:
        return _about(solved, f"sum over coordinates of {cls.level_text}, D = sensitivity, L = upper - lower")

    @classmethod
    def _engine(cls, arithmetic: str) -> Engine:
        if arithmetic == "arb":
            return _bounded_engine
        if arithmetic == "mpmath":  # imported only when it is asked for
            from dpverify.mechanisms import _bounded_second_opinion

            return _bounded_second_opinion
        raise unknown_arithmetic(arithmetic)

    def _checked_sensitivity(self, value: Any) -> Any:
        object.__setattr__(self, "domain", _domain.domain(self.exact_parameters["lower"], self.exact_parameters["upper"]))
        return _domain.reach(value, self.exact_parameters["adjacency"])

    def _refuse_impossible_bound(self, eps: fmpq, delta: fmpq) -> None:
        if delta > 0:
            raise _bounded_engine.not_covered(self, f"delta = {brief(delta)}")
        if eps == 0:
            raise ImpossibleRequest(
                "epsilon = 0 and delta = 0: only an output that does not depend on the true answer satisfies that; give"
                " epsilon > 0."
            )

    def _refuse_impossible_epsilon(self, delta: fmpq) -> None:
        if delta > 0:
            raise _bounded_engine.not_covered(self, f"delta = {brief(delta)}")


def _about(solved: str, level: str) -> str:
    """How the formula for a quantity reads, where epsilon has this level."""
    if solved == "epsilon":
        return level
    return f"0 if epsilon >= {level}" if solved == "delta" else f"the {solved} with epsilon = {level}"
