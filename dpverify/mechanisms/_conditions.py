"""When a bounded mechanism is eps-DP: the exact requirement, and the sufficient conditions of the papers under their names.

Each function gives a `Requirement` on theta, in units of the longest side: "the loss as a function of theta is at most eps".
The exact ones are derived in `_gains`. The others, with theta = 1/b^p and lengths L_k, shifts D_k:

- "liu": eps = 2 theta sum_k [(L_k + D_k)^p - L_k^p], whole p. [Liu 2019, Equation (7); the factor 2 is derived]
- "exponential": eps = 2 theta Delta_u, the exponential mechanism with utility -|x - t|_p^p.
  Delta_u = sum_k [L_k^p - (L_k - D_k)^p] for p >= 1 and sum_k D_k^p for p < 1; on a ball, the maximum over its shifts.
- "utility": eps = theta Delta_u, p >= 2. Sufficient since M is concave with M(0) = 0, so M(l) <= M(c) + M(l - c) and the
  logarithm in g(c) is never positive. For p = 2 on a ball of radius D: sigma^2 = D (|L| - D/2)/eps.
- "chen-hale": eps = (|L| + D/2) D/sigma^2 + log max_c prod_k C_k(c_k)/C_k(0), |c| <= D. [Chen & Hale 2022, Theorem 1 in one
  dimension, Theorem 2 in several; D is the radius, and the Euclidean norm of the shifts for a box]. Their fixed point is
  unique: the right side falls as sigma grows (`_gains`), and it is enclosed as a root instead of iterated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, fmpq

from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.arithmetic.powers import exact_power
from dpverify.errors import NotCovered
from dpverify.mechanisms._gains import (
    FlatGain,
    InflatedGain,
    NormaliserGain,
    TruncatedGain,
    UtilityGain,
    power_drop,
)
from dpverify.mechanisms._power_kernel import PowerKernel
from dpverify.mechanisms._requirements import AtShifts, OverBall, OverWindows, Proportional, Requirement

_ZERO, _HALF, _ONE, _TWO = fmpq(0), fmpq(1, 2), fmpq(1), fmpq(2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A domain and the neighbours in it, in units of the longest side: `shifts` for a box, `radius_squared` for a ball."""

    p: fmpq
    lengths: tuple[fmpq, ...]
    shifts: tuple[fmpq, ...] | None
    radius_squared: fmpq | None

    def simplified(self) -> Setting:
        """A ball whose worst shifts are known: one coordinate, or the whole domain, becomes a box."""
        if self.radius_squared is None:
            return self
        if self.radius_squared == sum((length**2 for length in self.lengths), _ZERO):
            return Setting(p=self.p, lengths=self.lengths, shifts=self.lengths, radius_squared=None)
        radius = exact_power(self.radius_squared, _HALF)
        if len(self.lengths) == 1 and radius is not None:
            return Setting(p=self.p, lengths=self.lengths, shifts=(radius,), radius_squared=None)
        return self

    @property
    def ball(self) -> fmpq:
        assert self.radius_squared is not None
        return self.radius_squared


def truncated(setting: Setting) -> Requirement:
    """The exact loss of the truncated law. Raises NotCovered for balls on which the gains are not known to be concave."""
    p, lengths = setting.p, setting.lengths
    if setting.shifts is not None:
        if p >= 1 and setting.shifts == lengths:
            return powers(p, [(_ONE, length) for length in lengths])
        return _truncated_at(p, lengths, setting.shifts)
    if p < 1 and _even(setting) is not None and 4 * setting.ball <= len(lengths) * min(lengths) ** 2:
        return _truncated_at(p, lengths, _even(setting) or ())
    if p <= 1:
        return OverBall(FlatGain, p, lengths, lengths, setting.ball)
    if p == 2:
        return OverBall(TruncatedGain, p, lengths, lengths, setting.ball)
    if p > 2 and 4 * setting.ball <= min(lengths) ** 2:
        # The gains are known to be concave up to half the lengths, and no shift is longer than that.
        return OverBall(TruncatedGain, p, lengths, tuple(length / 2 for length in lengths), setting.ball)
    raise NotCovered(
        f"adjacency = 'l2' with p = {p}: the worst shifts on a ball are certified for p <= 1, for p = 2, and for p > 2 as long"
        " as the sensitivity is at most half the shortest side; use adjacency = 'box' with the same number for every"
        " coordinate, which is safe."
    )


def inflated(setting: Setting) -> Requirement:
    """The exact loss of noise whose mass outside the domain is moved to its bounds."""
    p, lengths = setting.p, setting.lengths
    if p <= 1:
        if setting.shifts is not None:
            return powers(p, [(_ONE, shift) for shift in setting.shifts])
        return _even_powers(p, lengths, setting.ball)
    if setting.shifts is not None:
        return AtShifts(InflatedGain, p, lengths, setting.shifts)
    return OverBall(InflatedGain, p, lengths, lengths, setting.ball)


def liu(setting: Setting) -> Requirement:
    """[Liu 2019, Equation (7)]. Raises NotCovered for a ball or a p that is not whole."""
    p = setting.p
    if p.q != 1:
        raise NotCovered(f"condition = 'liu' with p = {p}: Equation (7) is printed for whole p; use 'exact' or 'exponential'.")
    if setting.shifts is None:
        raise NotCovered("condition = 'liu' bounds each coordinate; use adjacency = 'box', or condition = 'exact'.")
    degree = int(p.p)
    factor = sum(
        ((length + d) ** degree - length**degree for length, d in zip(setting.lengths, setting.shifts, strict=True)), _ZERO
    )
    return Proportional(factor=2 * factor, unit=_ONE, p=p, multiple=None)


def exponential(setting: Setting) -> Requirement:
    """Twice the range of the utility."""
    return utility_range(setting, 2)


def utility(setting: Setting) -> Requirement:
    """Once the range of the utility, p >= 2. Raises NotCovered below, where it is not sufficient in general."""
    if setting.p < 2:
        raise NotCovered(
            f"condition = 'utility' with p = {setting.p}: without the factor 2 it is proved for p >= 2 only, and false at p"
            " = 1; use 'exponential' or 'exact'."
        )
    return utility_range(setting, 1)


def chen_hale(setting: Setting) -> Requirement:
    """[Chen & Hale 2022, Theorems 1 and 2]; p = 2, theta = 1/(2 sigma^2)."""
    squared = setting.radius_squared if setting.shifts is None else sum((d**2 for d in setting.shifts), _ZERO)
    assert squared is not None
    diagonal = sum((length**2 for length in setting.lengths), _ZERO)

    def extra(m: Arithmetic) -> Value:
        return 2 * m.sqrt(m.exact(diagonal * squared)) + m.exact(squared)

    caps = tuple(length / 2 for length in setting.lengths)
    radius = exact_power(squared, _HALF)
    if len(caps) == 1 and radius is not None:
        return AtShifts(NormaliserGain, setting.p, setting.lengths, (min(radius, caps[0]),), extra)
    return OverBall(NormaliserGain, setting.p, setting.lengths, caps, squared, extra)


def utility_range(setting: Setting, times: int) -> Requirement:
    """`times` Delta_u theta."""
    p, lengths = setting.p, setting.lengths
    shifts = setting.shifts if setting.shifts is not None else _even(setting) if p > 1 else None
    if p <= 1:
        if shifts is not None:
            return powers(p, [(fmpq(times), shift) for shift in shifts])
        return _even_powers(p, lengths, setting.ball, times)
    if shifts is not None:
        return _drops(p, lengths, shifts, times)
    if p == 2:
        # max of sum c (2 l - c) on a sphere of radius r: the shift points along the diagonal, r (2 |l| - r).
        squared, diagonal = setting.ball, sum((length**2 for length in lengths), _ZERO)
        root = exact_power(squared * diagonal, _HALF)
        if root is not None:
            return Proportional(factor=times * (2 * root - squared), unit=_ONE, p=p, multiple=None)
        return Proportional(
            factor=None, unit=_ONE, p=p, multiple=lambda m: times * (2 * m.sqrt(m.exact(squared * diagonal)) - m.exact(squared))
        )
    largest = OverBall(UtilityGain, p, lengths, lengths, setting.ball)

    def multiple(m: Any) -> Value:
        return times * (largest.value(arb(1)) if m.name == "arb" else largest.opinion(m, m.rational(1)))

    return Proportional(factor=None, unit=_ONE, p=p, multiple=multiple)


SUFFICIENT: dict[str, Callable[[Setting], Requirement]] = {
    "liu": liu,
    "exponential": exponential,
    "utility": utility,
    "chen-hale": chen_hale,
}
"""The sufficient conditions by the names that a mechanism's `condition` gives them."""


LEVEL_TEXT: dict[str, str] = {
    "liu": "2*sum over coordinates of ((L + D)^p - L^p)/{power}",
    "exponential": "2*Delta_u/{power}, Delta_u = sum over coordinates of (L^p - (L - D)^p)"
    " (p < 1: of D^p; adjacency l2: the largest)",
    "utility": "Delta_u/{power}, Delta_u = sum over coordinates of (L^p - (L - D)^p) (adjacency l2: the largest)",
    "chen-hale": "(|L| + D/2)*D/sigma^2 + log(the largest product over coordinates of (Phi((L - c)/sigma) + Phi(c/sigma) - 1)"
    "/(Phi(L/sigma) - 1/2), shifts c of Euclidean norm at most D)",
}
"""The level of each sufficient condition as text; `power` is b^p in the terms of the mechanism's own scale."""


def powers(p: fmpq, terms: Sequence[tuple[fmpq, fmpq]]) -> Proportional:
    """sum_i coefficient_i base_i^p theta, exact in units of the largest base where its ratios to the others allow it."""
    unit = max(base for _, base in terms)
    found = [(coefficient, exact_power(base / unit, p)) for coefficient, base in terms]
    exact = [coefficient * power for coefficient, power in found if power is not None]
    if len(exact) == len(terms):
        return Proportional(factor=sum(exact, _ZERO), unit=unit, p=p, multiple=None, terms=tuple(terms))

    def multiple(m: Arithmetic) -> Value:
        return sum((m.exact(coefficient) * m.power(m.exact(base), m.exact(p)) for coefficient, base in terms), m.rational(0))

    return Proportional(factor=None, unit=_ONE, p=p, multiple=multiple, terms=tuple(terms))


def _truncated_at(p: fmpq, lengths: Sequence[fmpq], shifts: Sequence[fmpq]) -> Requirement:
    if p >= 2:
        return AtShifts(TruncatedGain, p, lengths, shifts)
    if p > 1:
        return OverWindows(p, lengths, shifts)
    if p == 1 or all(2 * shift <= length for shift, length in zip(shifts, lengths, strict=True)):
        return AtShifts(FlatGain, p, lengths, shifts)
    return Together(
        tuple(
            AtShifts(FlatGain, p, [length], [shift])
            if 2 * shift <= length
            # The largest gain over all shifts up to this one: a ball in one dimension.
            else OverBall(FlatGain, p, [length], [shift], shift**2)
            for length, shift in zip(lengths, shifts, strict=True)
        )
    )


class Together:
    """The sum of several requirements."""

    proportional = False
    factor = None
    unit = _ONE

    def __init__(self, parts: tuple[Requirement, ...]) -> None:
        self._parts = parts

    def value(self, theta: arb) -> arb:
        return sum((part.value(theta) for part in self._parts), arb(0))

    def slope(self, theta: arb) -> arb:
        return sum((part.slope(theta) for part in self._parts), arb(0))

    def start(self, epsilon: float) -> float:
        return 1 / sum(1 / part.start(epsilon) for part in self._parts)

    def opinion(self, m: Any, theta: Any) -> Any:
        return sum((part.opinion(m, theta) for part in self._parts), m.rational(0))


def _even(setting: Setting) -> tuple[fmpq, ...] | None:
    """Equal shifts, where symmetry makes them the worst of a ball (concave gains, equal sides) and they are rational."""
    lengths = setting.lengths
    if min(lengths) != max(lengths):
        return None
    share = exact_power(setting.ball / len(lengths), _HALF)
    return None if share is None else (share,) * len(lengths)


def _even_powers(p: fmpq, lengths: Sequence[fmpq], radius_squared: fmpq, times: int = 1) -> Requirement:
    """times * max sum_k c_k^p on a ball, 0 < p <= 1: shorter sides are used up whole, the others share the rest evenly."""
    left, rest = radius_squared, sorted(lengths)
    used: list[fmpq] = []
    while rest and rest[0] ** 2 * len(rest) <= left:
        used.append(rest.pop(0))
        left -= used[-1] ** 2
    terms = [(fmpq(times), length) for length in used]
    if rest:
        share = exact_power(left / len(rest), _HALF)
        if share is None:
            count, square = len(rest), left / len(rest)
            whole = exact_power(square, p / 2)
            if whole is not None and not terms:
                return Proportional(factor=times * count * whole, unit=_ONE, p=p, multiple=None)

            def multiple(m: Arithmetic) -> Value:
                total = count * m.power(m.exact(square), m.exact(p / 2))
                return times * sum((m.power(m.exact(length), m.exact(p)) for length in used), total)

            return Proportional(factor=None, unit=_ONE, p=p, multiple=multiple)
        terms.append((fmpq(times * len(rest)), share))
    return powers(p, terms)


def _drops(p: fmpq, lengths: Sequence[fmpq], shifts: Sequence[fmpq], times: int) -> Requirement:
    """times * sum_k [l_k^p - (l_k - c_k)^p], p >= 1."""
    if tuple(shifts) == tuple(lengths):
        return powers(p, [(fmpq(times), length) for length in lengths])
    exact = [(exact_power(length, p), exact_power(length - shift, p)) for length, shift in zip(lengths, shifts, strict=True)]
    drops = [above - below for above, below in exact if above is not None and below is not None]
    if len(drops) == len(exact):
        return Proportional(factor=times * sum(drops, _ZERO), unit=_ONE, p=p, multiple=None)

    def multiple(m: Arithmetic) -> Value:
        kernel = PowerKernel(m, p, m.rational(1))
        parts = (power_drop(kernel, length, shift) for length, shift in zip(lengths, shifts, strict=True))
        return times * sum(parts, m.rational(0))

    return Proportional(factor=None, unit=_ONE, p=p, multiple=multiple)
