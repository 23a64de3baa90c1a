"""The K-norm mechanism with the p-norm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flint import fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.arithmetic.powers import exact_power
from dpverify.enclose.refine import check_digits, enclose
from dpverify.errors import ImpossibleRequest, InputError, NotCovered, shown
from dpverify.mechanisms import _domain, _k_norm
from dpverify.mechanisms._mechanism import Engine, Mechanism, unknown_arithmetic
from dpverify.mechanisms._parameters import ChoiceParameter, Parameter, WholeParameter, scale_parameter
from dpverify.mechanisms.laplace import Laplace

if TYPE_CHECKING:
    from dpverify.arithmetic.exact import Number
    from dpverify.mechanisms._domain import Reach
    from dpverify.notions.pair import DominatingPair
    from dpverify.samplers.sampler import Sampler

_HALF, _ONE, _TWO = fmpq(1, 2), fmpq(1), fmpq(2)


class _NormExponent(Parameter):
    """p >= 1, so that there is a norm."""

    __slots__ = ()

    def checked(self, value: Number) -> fmpq:
        p: fmpq = super().checked(value)
        if p < 1:
            raise InputError(
                f"p = {shown(value, str)}: below 1 the triangle inequality fails, and with it the mechanism; give p >= 1."
            )
        return p


class KNorm(Mechanism):
    """Release x with density proportional to exp(-|x - true answer|_p / scale) on the whole of R^dimension: pure DP.

    It is the exponential mechanism with utility -|x - t|_p. The level is exactly Delta_p/scale, Delta_p the largest p-norm
    distance of neighbouring true answers: the triangle inequality, attained at x = t. `adjacency` says what `sensitivity` is:
    "norm": Delta_p itself; "box": one bound a coordinate, Delta_p = (sum_k D_k^p)^(1/p); "l2": a Euclidean distance,
    Delta_p = D max(1, dimension^(1/p - 1/2)). `condition` = "exponential" is the general analysis of the exponential mechanism,
    2 Delta_p/epsilon, whose factor 2 is unnecessary because the normaliser does not depend on t. In one dimension this is
    Laplace noise, and delta > 0 is answered too. The mechanism is R g/|g|_p with R a gamma number of shape `dimension` and g
    independent with density ~ exp(-|x|^p).
    [M. Hardt & K. Talwar, "On the Geometry of Differential Privacy" (2010)]
    """

    __slots__ = ()
    name = "k-norm"
    scale = scale_parameter()
    p = _NormExponent("p", meaning="exponent of the norm, p >= 1", typical=("1", "4"), is_scale=False)
    dimension = WholeParameter("r", meaning="number of coordinates; default: 1", typical=("1", "10"), least=1)
    dimension.default = 1
    adjacency = ChoiceParameter(
        "A",
        meaning="what the sensitivity bounds, the p-norm distance, each coordinate, or the Euclidean distance",
        choices=("norm", _domain.BOX, _domain.BALL),
        default="norm",
    )
    condition = ChoiceParameter(
        "C", meaning="the condition for privacy, exact or sufficient", choices=("exact", "exponential"), default="exact"
    )

    @property
    def reach(self) -> Reach:
        """How far neighbouring true answers may be apart."""
        found: Any = self.exact_sensitivity
        return found  # type: ignore[no-any-return]

    @property
    def sensitivity(self) -> Any:
        """The sensitivity as it was given."""
        return self.reach.as_given()

    @property
    def times(self) -> int:
        """2 under the general analysis of the exponential mechanism, else 1."""
        return 2 if self.exact_parameters["condition"] == "exponential" else 1

    def __hash__(self) -> int:
        return hash((type(self), str(sorted(self.exact_parameters.items())), str(self.reach)))

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)

    def exact_norm(self, within: Reach) -> fmpq | None:
        """Delta_p, where it is found to be rational."""
        p, count = self.exact_parameters["p"], int(self.exact_parameters["dimension"].p)
        if within.radius_squared is not None:
            growth = exact_power(fmpq(count), max(2 / p - 1, fmpq(0)))
            return None if growth is None else exact_power(within.radius_squared * growth, _HALF)
        shifts = self._shifts(within)
        largest = max(shifts)
        powers = [exact_power(shift / largest, p) for shift in shifts]
        total = [power for power in powers if power is not None]
        root = exact_power(sum(total, fmpq(0)), 1 / p) if len(total) == len(shifts) else None
        return None if root is None else largest * root

    def norm_on(self, m: Arithmetic, within: Reach) -> Value:
        """Delta_p on an arithmetic."""
        p, count = self.exact_parameters["p"], int(self.exact_parameters["dimension"].p)
        if within.radius_squared is not None:
            growth = m.power(m.rational(count), m.exact(max(1 / p - _HALF, fmpq(0))))
            return m.sqrt(m.exact(within.radius_squared)) * growth
        powers = (m.power(m.exact(shift), m.exact(p)) for shift in self._shifts(within))
        return m.power(sum(powers, m.rational(0)), m.exact(1 / p))

    def mean_squared_error(self, *, coordinate: int | None = None, digits: int = 15) -> Enclosure:
        """E |release - true answer|^2 (of one `coordinate`, or summed over all), the same for every true answer:
        scale^2 r (r + 1) Gamma(3/p) Gamma(r/p) / (Gamma(1/p) Gamma((r + 2)/p)) a coordinate, r = dimension."""
        p, r, scale = self.exact_parameters["p"], self.exact_parameters["dimension"], self.exact_parameters["scale"]
        if coordinate is not None and not (isinstance(coordinate, int) and 0 <= coordinate < r):
            raise InputError(f"coordinate = {coordinate!r}: there are {r}; give a whole number from 0 to {r - 1}.")
        factor = scale**2 * r * (r + 1) * (r if coordinate is None else 1)
        if r == 1:  # Laplace noise
            return Enclosure(factor, digits=check_digits(digits))
        if (2 / p).q == 1:
            for step in range(int((2 / p).p)):
                factor *= (1 / p + step) / (r / p + step)
            return Enclosure(factor, digits=check_digits(digits))

        def value(bits: int) -> Any:
            above, below = (BALLS.gamma(BALLS.exact(a)) for a in (3 / p, 1 / p))
            wide, narrow = (BALLS.gamma(BALLS.exact(a)) for a in ((r + 2) / p, r / p))
            return BALLS.exact(factor) * above * narrow / (below * wide)

        return enclose(value, check_digits(digits), what=lambda: f"the mean squared error of {self!r}")

    def variance(self, *, coordinate: int | None = None, digits: int = 15) -> Enclosure:
        """The variance of the release, summed over coordinates or of one: the noise has mean 0."""
        return self.mean_squared_error(coordinate=coordinate, digits=digits)

    def dominating_pairs(self) -> tuple[DominatingPair, ...]:
        """In one dimension those of Laplace noise; refused in several, where the worst direction depends on epsilon."""
        if self.exact_parameters["dimension"] == 1:
            return self.as_laplace().dominating_pairs()
        raise NotCovered(
            "KNorm has no dominating pair in several dimensions: which direction is worst depends on epsilon. Ask it for"
            " epsilon(0), or use dimension = 1."
        )

    def as_laplace(self) -> Laplace:
        """In one dimension, the same mechanism."""
        norm = self.exact_norm(self.reach)
        if norm is None:
            raise NotCovered("sensitivity: in one dimension a rational number is needed; give a decimal above it.")
        return Laplace(self.exact_parameters["scale"], sensitivity=self.times * norm)

    def sampler(self) -> Sampler:
        """Releases R g/|g|_p in double precision. See `samplers.sampler` for what the label means."""
        return _k_norm.sampler(self)

    def neighbours(self) -> tuple[Any, Any]:
        """Two true answers as far apart in the p-norm as neighbours can be."""
        return _k_norm.neighbours(self)

    @classmethod
    def _engine(cls, arithmetic: str) -> Engine:
        if arithmetic == "arb":
            return _k_norm
        if arithmetic == "mpmath":  # imported only when it is asked for
            from dpverify.mechanisms import _k_norm_second_opinion

            return _k_norm_second_opinion
        raise unknown_arithmetic(arithmetic)

    @classmethod
    def expression(cls, solved: str) -> str:
        norm = "Delta_p, the largest p-norm distance of neighbouring true answers"
        if solved == "delta":
            return f"0 if epsilon >= Delta_p/scale, {norm}"
        return f"Delta_p/{'epsilon' if solved == 'scale' else 'scale'}, {norm}"

    def _shifts(self, within: Reach) -> tuple[fmpq, ...]:
        """The coordinates of a shift whose p-norm is the largest."""
        assert within.shifts is not None
        if self.exact_parameters["adjacency"] == "norm":
            return within.shifts
        return within.for_each(int(self.exact_parameters["dimension"].p)) or ()

    def _checked_sensitivity(self, value: Any) -> Any:
        adjacency, count = self.exact_parameters["adjacency"], int(self.exact_parameters["dimension"].p)
        found = _domain.reach(value, _domain.BALL if adjacency == _domain.BALL else _domain.BOX)
        allowed = (1,) if adjacency == "norm" else (1, count)
        if found.shifts is not None and len(found.shifts) not in allowed:
            raise InputError(
                f"sensitivity = {value!r}: with adjacency = {adjacency!r} and dimension = {count} it has {allowed[-1]}"
                " number(s); adjacency = 'box' takes one a coordinate."
            )
        return found

    def _refuse_impossible_bound(self, eps: fmpq, delta: fmpq) -> None:
        self._refuse_impossible_epsilon(delta)
        if eps == 0 and delta == 0:
            raise ImpossibleRequest("epsilon = 0 and delta = 0: no noise hides everything; give epsilon > 0.")

    def _refuse_impossible_epsilon(self, delta: fmpq) -> None:
        if delta > 0 and self.exact_parameters["dimension"] > 1:
            raise _k_norm.not_covered(f"delta = {brief(delta)}")
