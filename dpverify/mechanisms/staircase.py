"""The staircase mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Self

from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number, to_exact
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.enclose.decide import is_above
from dpverify.enclose.refine import check_digits, enclose
from dpverify.errors import InputError, NotCovered, shown
from dpverify.mechanisms._parameters import Parameter, checked_epsilon, positive, scale_parameter
from dpverify.mechanisms._unimodal import Exactly, UnimodalNoise
from dpverify.mechanisms._unimodal_pair import StaircasePair

_ZERO, _ONE = fmpq(0), fmpq(1)
_MOST_ATOMS = 10_000


class FractionParameter(Parameter):
    """A share in (0, 1]."""

    __slots__ = ()

    def checked(self, value: Number) -> fmpq:
        """`value` as an exact rational in (0, 1]."""
        number = positive(value, self.name, "it is the share of a stair")
        if number > 1:
            raise InputError(f"{self.name} = {shown(value, str)}: it is the share of a stair; give a number in (0, 1].")
        return number


class Staircase(UnimodalNoise):
    """Add noise whose density falls in stairs of width `scale`, each e^-step of the one before; the first ends at gamma scale.

    In units of the scale the density at x is A e^(-step l(x)), l(x) = floor(|x| + 1 - gamma) being the stair,
    A = (1 - e^-step) / (2 (gamma + (1 - gamma) e^-step)). The loss is step (l(x) - l(x - d)), d = sensitivity/scale, at most
    step ceil(d): pure DP at scale = sensitivity / floor(epsilon/step). With step = epsilon and scale = sensitivity it is the
    mechanism as published, whose gamma is chosen for the least error: see `optimal`.
    [Q. Geng, P. Viswanath, "The Optimal Noise-Adding Mechanism in Differential Privacy", IEEE Transactions on Information
    Theory 2016]

    delta(eps) is exact: the event is {l(x) - l(x - d) >= m}, m = floor(eps/step) + 1, whose masses are finite sums of
    geometric series. The density is symmetric and unimodal, so the worst shift is the sensitivity (`_unimodal`).
    """

    __slots__ = ()
    name = "staircase"
    scale = scale_parameter(meaning="width of a stair")
    step = Parameter("h", meaning="fall of the log density from stair to stair", typical=("1/2", "2"), is_scale=False)
    gamma = FractionParameter("gamma", meaning="end of the first stair, in widths", typical=("1/3", "3/4"), is_scale=False)
    texts: ClassVar[dict[str, str]] = {
        "delta": "P - exp(epsilon)*Q, P and Q the probabilities that the noise moved by the sensitivity, and the noise, lie "
        "where the loss is at least step*(floor(epsilon/step) + 1); 0 if epsilon >= step*ceil(sensitivity/scale)",
        "epsilon": "log((P - delta)/Q) between multiples of step; step*ceil(sensitivity/scale) if delta = 0",
        "scale": "the least scale with delta(epsilon) <= delta; sensitivity/floor(epsilon/step) if delta = 0",
    }
    no_derivation = "its density is a step function, and the engine differentiates"

    @property
    def exact_step(self) -> fmpq:
        found: fmpq = self.exact_parameters["step"]
        return found

    @property
    def exact_gamma(self) -> fmpq:
        found: fmpq = self.exact_parameters["gamma"]
        return found

    # The law.

    def log_density(self, m: Arithmetic, x: Value) -> Value:
        gamma, step = m.exact(self.exact_gamma), m.exact(self.exact_step)
        return m.log(self._height(m)) - step * m.floor(m.abs(x) + 1 - gamma)

    def cdf(self, m: Arithmetic, x: Value) -> Value:
        """P(X > y) for y >= 0, on stair n: A (e^(-step n) (gamma + n - y) + e^(-step (n + 1)) / (1 - e^-step))."""
        gamma, size = m.exact(self.exact_gamma), m.abs(x)
        stair = m.floor(size + 1 - gamma)
        tail = self._height(m) * self._fall(m, stair) * (gamma + stair - size + self._later(m))
        if m.name in ("arb", "mpmath", "float"):
            return 1 - tail if x > 0 else tail
        return (1 + m.sign(x) * (1 - 2 * tail)) / 2

    def absolute_moment(self, m: Arithmetic, order: int) -> Value:
        """2A (1 - r)/(k + 1) sum over n >= 0 of (n + gamma)^(k + 1) r^n with r = e^-step, by parts over the stairs; the powers
        of n are summed through falling factorials: sum of n (n - 1) ... (n - i + 1) r^n = i! r^i / (1 - r)^(i + 1)."""
        gamma, rate = m.exact(self.exact_gamma), m.exp(-m.exact(self.exact_step))
        rest = -m.expm1(-m.exact(self.exact_step))
        total = m.rational(0)
        for power, falling in enumerate(_stirling(order + 1)):
            inner = sum((count * math.factorial(i) * (rate / rest) ** i for i, count in enumerate(falling)), m.rational(0))
            total += math.comb(order + 1, power) * gamma ** (order + 1 - power) * inner
        return 2 * self._height(m) * total / (order + 1)

    def _height(self, m: Arithmetic) -> Value:
        """A."""
        gamma, step = m.exact(self.exact_gamma), m.exact(self.exact_step)
        return -m.expm1(-step) / (2 * (gamma + (1 - gamma) * m.exp(-step)))

    def _fall(self, m: Arithmetic, stairs: Any) -> Value:
        """e^(-step stairs)."""
        if isinstance(stairs, fmpq):
            return m.exp(-m.exact(self.exact_step * stairs))
        return m.exp(-m.exact(self.exact_step) * stairs)

    def _later(self, m: Arithmetic) -> Value:
        """The mass of all later stairs, over that of a stair whose mass is 1 a unit: r + r^2 + ... = r/(1 - r), r = e^-step."""
        step = m.exact(self.exact_step)
        return m.exp(-step) / -m.expm1(-step)

    # The profile.

    def loss_limit(self, d: fmpq) -> Exactly:
        return self.exact_step * _ceiling(d)

    def shift_at_limit(self, eps: fmpq) -> Exactly:
        return fmpq((eps / self.exact_step).floor())

    def exact_delta(self, m: Arithmetic, eps: fmpq, d: fmpq) -> Value:
        p, q = self._masses(m, self._stairs(eps), d)
        return p - m.exp(m.exact(eps)) * q

    def exact_shift(self, m: Arithmetic, eps: fmpq, delta: fmpq) -> Value:
        """delta is linear in d between borders (where an end of the event or of a stair meets another), so d is interpolated
        between the two borders that enclose delta."""

        def is_beyond(d: fmpq) -> bool:
            return is_above(lambda: self.exact_delta(BALLS, eps, d), delta, what=lambda: f"delta at a border of {self!r}")

        first = fmpq((eps / self.exact_step).floor())  # delta is 0 up to here
        low = first + _last_below(lambda whole: not is_beyond(first + whole))
        borders = [low, *sorted(low + share for share in self._borders()), low + 1]
        while len(borders) > 2:
            middle = len(borders) // 2
            borders = borders[: middle + 1] if is_beyond(borders[middle]) else borders[middle:]
        left, right = borders
        at_left = m.rational(0) if left == first else self.exact_delta(m, eps, left)
        at_right = self.exact_delta(m, eps, right)
        return m.exact(left) + m.exact(right - left) * (m.exact(delta) - at_left) / (at_right - at_left)

    def exact_epsilon(self, m: Arithmetic, delta: fmpq, d: fmpq) -> Value:
        """Between multiples of the step the event does not change: delta = P - e^eps Q."""

        def is_above_at(stairs: int) -> bool:
            eps = self.exact_step * stairs
            if stairs >= _ceiling(d):
                return False
            return is_above(lambda: self.exact_delta(BALLS, eps, d), delta, what=lambda: f"delta at a step of {self!r}")

        p, q = self._masses(m, _last_below(is_above_at) + 1, d)
        return m.log((p - m.exact(delta)) / q)

    def tail_masses(self, m: Arithmetic, eps: fmpq, *, inclusive: bool) -> tuple[Value, Value]:
        stairs = int((eps / self.exact_step).ceil()) if inclusive else self._stairs(eps)
        return self._masses(m, stairs, self.shift)

    def loss_atoms(self) -> tuple[tuple[fmpq, Value, Value], ...]:
        """(x, P(L = x), Q(L = x)) in decreasing order of x. Raises NotCovered where there are more than 10,000."""
        d, most = self.shift, int(self.shift.ceil())
        if 2 * most + 1 > _MOST_ATOMS:
            raise NotCovered(f"{self!r}: the loss takes {2 * most + 1} values, more than the {_MOST_ATOMS} that are summed.")
        beyond = [(arb(0), arb(0)), *(self._masses(BALLS, stairs, d) for stairs in range(most, 0, -1))]
        above = [
            (self.exact_step * stairs, p - p_above, q - q_above)
            for stairs, ((p_above, q_above), (p, q)) in zip(range(most, 0, -1), pairwise(beyond), strict=True)
        ]
        p_most, q_most = beyond[-1]
        middle = (_ZERO, 1 - p_most - q_most, 1 - p_most - q_most)
        return (*above, middle, *((-x, q, p) for x, p, q in reversed(above)))

    def power_moment(self, order: fmpq) -> Value:
        return sum((arb(p) * arb((order - 1) * x).exp() for x, p, _ in self.loss_atoms()), arb(0))

    def expected_loss(self) -> Value:
        return sum((arb(p) * arb(x) for x, p, _ in self.loss_atoms()), arb(0))

    def dominating_pair(self) -> Any:
        return StaircasePair(noise=self)

    def _stairs(self, eps: fmpq) -> int:
        """m: the least number of stairs whose loss exceeds eps."""
        return int((eps / self.exact_step).floor()) + 1

    def _masses(self, m: Arithmetic, stairs: int, d: fmpq) -> tuple[Value, Value]:
        """P and Q of {l(x) - l(x - d) >= stairs}, for 1 <= stairs <= ceil(d).

        Left of d the event is d - y < x < d, where y ends the stairs n of d - x with l(d - y) - n >= stairs. Right of d it
        holds everything if stairs <= floor(d); else the stretches of length d - floor(d) right of each gamma + k.
        """
        gamma, whole = self.exact_gamma, fmpq(d.floor())
        part = d - whole
        y = self._left_end(stairs, d)
        p = m.rational(1, 2) - self._tail(m, y)
        q = self._tail(m, d - y) - self._tail(m, d)
        if stairs <= whole:
            return p + m.rational(1, 2), q + self._tail(m, d)
        if part > 0:
            stretches = self._height(m) * (m.exact(min(part, gamma)) + m.exact(part) * self._later(m))
            p, q = p + stretches, q + stretches * self._fall(m, whole + 1)
        return p, q

    def _left_end(self, stairs: int, d: fmpq) -> fmpq:
        """The largest y >= 0 with l(d - y') - l(y') >= stairs for all y' < y.

        On stair n of y, gamma + n - 1 <= y < gamma + n, the condition is y <= d + 1 - gamma - stairs - n.
        """
        gamma = self.exact_gamma
        n = fmpq(((d + 2 - 2 * gamma - stairs) / 2).floor())  # the last stair on which some y satisfies it
        return max(_ZERO, min(gamma + max(n, _ZERO), d + 1 - gamma - stairs - max(n, _ZERO)))

    def _tail(self, m: Arithmetic, x: fmpq) -> Value:
        """P(X > x), exactly placed."""
        gamma = self.exact_gamma
        size = abs(x)
        stair = fmpq((size + 1 - gamma).floor())
        tail = self._height(m) * self._fall(m, stair) * (m.exact(gamma + stair - size) + self._later(m))
        return tail if x >= 0 else 1 - tail

    def _borders(self) -> set[fmpq]:
        """Where, within a unit of d, delta stops being linear in d."""
        double = 2 * self.exact_gamma
        return {share for share in (self.exact_gamma, double - fmpq(double.floor())) if 0 < share < 1}

    def fisher_information(self, *, digits: int = 15) -> Enclosure:
        """Infinite: the density has jumps."""
        return Enclosure.infinity(digits=check_digits(digits))

    # The published mechanism.

    @staticmethod
    def optimal_gamma(*, step: Number, cost: str = "squared", digits: int = 15) -> Enclosure:
        """The gamma of the least error. With b = e^-step:

        `cost` "absolute", E|noise|: 1/(1 + e^(step/2)); "squared", E noise^2:
        -b/(1 - b) + (b - 2b^2 + 2b^4 - b^5)^(1/3) / (2^(1/3) (1 - b)^2). Any gamma keeps the privacy.
        """
        size = positive(step, "step", "a staircase falls")
        if cost not in ("absolute", "squared"):
            raise InputError(f"cost = {cost!r}: choose 'absolute' (E|noise|) or 'squared' (E noise^2).")

        def value(bits: int) -> arb:
            b = (-arb(size)).exp()
            if cost == "absolute":
                return 1 / (1 + (arb(size) / 2).exp())
            rest = -(-arb(size)).expm1()  # b - 2b^2 + 2b^4 - b^5 = b (1 - b)^3 (1 + b)
            return (b * (1 + b) / 2) ** (arb(1) / 3) / rest - b / rest

        return enclose(value, check_digits(digits), what=lambda: f"the optimal gamma at step {size}")

    @classmethod
    def optimal(cls, *, epsilon: Number, sensitivity: Number = 1, cost: str = "squared") -> Self:
        """The published mechanism: step = epsilon, scale = sensitivity, gamma the least double not below the optimum."""
        eps = checked_epsilon(epsilon)
        gamma = cls.optimal_gamma(step=eps, cost=cost).upper
        return cls(to_exact(sensitivity, "sensitivity"), eps, gamma, sensitivity=sensitivity)

    @classmethod
    def contenders(cls, *, epsilon: Number, delta: Number, sensitivity: Number) -> Iterator[tuple[str, Callable[[], Self]]]:
        """The published mechanism, which makes no use of delta."""
        yield "step = epsilon, best gamma", partial(cls.optimal, epsilon=epsilon, sensitivity=sensitivity)


def _ceiling(x: fmpq) -> fmpq:
    return fmpq(x.ceil())


def _last_below(holds: Callable[[int], bool]) -> int:
    """The largest whole n >= 0 up to which `holds` is true; it is true at 0 and false from somewhere on."""
    high = 1
    while holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _stirling(largest: int) -> list[list[int]]:
    """Stirling numbers of the second kind: n^j is the sum over i of row[j][i] times the falling factorial of n of length i."""
    rows = [[1]]
    for j in range(1, largest + 1):
        before = rows[-1]
        rows.append([(before[i - 1] if i > 0 else 0) + i * (before[i] if i < len(before) else 0) for i in range(j + 1)])
    return rows
