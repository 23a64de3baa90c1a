"""`Density`: a density that a user hands in, with what is proved of it.

Everything here is about one real function: where it lives, that it is a density, its tails, whether it is even, log-concave,
unimodal. Each property is proved or not claimed: by exact algebra (`derive.proofs`), or by balls on boxes that cover a
compact interval and by intervals that reach to infinity beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Any

import sympy
from flint import acb, arb, ctx, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.precision import working_precision
from dpverify.derive import proofs
from dpverify.derive.algebra import NotProved
from dpverify.enclose.effort import spend
from dpverify.enclose.integral import integral
from dpverify.errors import ImpossibleRequest, InputError, NotCovered, PrecisionError
from dpverify.mechanisms._density_forms import (
    inverted_form,
    is_long,
    is_positive,
    limit_at_infinity,
    logarithm,
    mirrored_form,
    rational,
    support_of,
)
from dpverify.mechanisms._density_pieces import Piece, samples, slope_at
from dpverify.mechanisms._density_signs import is_never_negative, is_positive_inside
from dpverify.mechanisms._density_tails import Tail, forms_of, tails_of
from dpverify.mechanisms._density_text import X, read, require_known
from dpverify.mechanisms._density_tree import SHIFT, Function, compiled

_CHECK_BITS = 128
_TOLERANCE = arb(10) ** -30
_STEEP = 30
"""How far log f must fall over a stretch, at the rate of its end, for the stretch to be cut."""
_DOUBLINGS = 3000


def _anew(expression: sympy.Expr, is_proportional: bool) -> Density:
    return Density(expression, is_proportional=is_proportional)


class Density:
    """A function f on the line that is proved to be a density, or proportional to one. Made by `density_of`."""

    def __init__(self, expression: sympy.Expr, *, is_proportional: bool) -> None:
        self.expression = expression
        self.is_proportional = is_proportional
        self.body, self.low, self.high = support_of(expression)
        require_known(self.body)
        self._value = compiled(self.body)
        self.log_value = compiled(logarithm(self.body))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Density) and (self.expression, self.is_proportional) == (
            other.expression,
            other.is_proportional,
        )

    def __hash__(self) -> int:
        return hash((self.expression, self.is_proportional))

    def __reduce__(self) -> tuple[Any, ...]:
        return _anew, (self.expression, self.is_proportional)  # what is compiled from the formula is compiled again

    def __str__(self) -> str:
        return f"{'~ ' if self.is_proportional else ''}{self.expression}"

    __repr__ = __str__

    def value(self, m: Any, x: Any) -> Any:
        """f(x)."""
        spend()
        return self._value(m, x)

    @cached_property
    def loss(self) -> Function:
        """log f(x - d) - log f(x) as a function of (x, d), multiplied out so that polynomials do not cancel in numbers."""
        log_f = logarithm(self.body)
        difference = log_f.xreplace({X: X - SHIFT}) - log_f
        return compiled(sympy.expand(difference, log=False, power_exp=False, power_base=False))

    # Where it lives.

    @cached_property
    def kinks(self) -> tuple[fmpq, ...]:
        """Where an |.| of the expression changes sign, inside the support, in increasing order."""
        found = set()
        for part in self.body.atoms(sympy.Abs):
            inside = sympy.Poly(part.args[0], X) if part.args[0].is_polynomial(X) else None
            if inside is None or inside.degree() != 1 or not all(number.is_Rational for number in inside.all_coeffs()):
                raise InputError(f"density: {part} may have kinks that are not found; write |.| of a x + b, a and b rational.")
            slope, shift = inside.all_coeffs()
            found.add(rational(-shift / slope))
        return tuple(sorted(kink for kink in found if self._is_inside(kink)))

    def _is_inside(self, x: fmpq) -> bool:
        return (self.low is None or x > self.low) and (self.high is None or x < self.high)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The density from kink to kink."""
        ends: list[fmpq | None] = [self.low, *self.kinks, self.high]
        return tuple(self._piece(low, high) for low, high in pairwise(ends))

    def _piece(self, low: fmpq | None, high: fmpq | None) -> Piece:
        if low is None or high is None:
            inner = (high - 1) if high is not None else (low + 1) if low is not None else fmpq(1)
        else:
            inner = (low + high) / 2
        at = sympy.Rational(int(inner.p), int(inner.q))
        signs = {part: part.args[0] * sympy.sign(part.args[0].subs(X, at)) for part in self.body.atoms(sympy.Abs)}
        if low is None and high is None:
            signs = {}
        body = self.body.xreplace(signs)
        slope = sympy.diff(logarithm(body), X)
        return Piece(
            low=low, high=high, body=body, log_slope=slope, slope=compiled(slope), bend=compiled(sympy.diff(slope, X))
        )  # fmt: skip

    def piece_at(self, x: arb) -> Piece:
        """The piece that x lies in (the one to the right, of a kink)."""
        for piece in self.pieces:
            if piece.high is None or x < piece.high:
                return piece
        return self.pieces[-1]

    @cached_property
    def right_tails(self) -> tuple[Tail, ...]:
        """Bounds for all x beyond some point; none are needed where the support ends."""
        return () if self.high is not None else tails_of(self.pieces[-1].body, self.kinks[-1] if self.kinks else fmpq(0))

    @cached_property
    def slope_forms(self) -> list[sympy.Expr]:
        """(log f)' right of the last kink, in several forms."""
        return forms_of(self.pieces[-1].log_slope)

    @cached_property
    def mirrored(self) -> Density:
        """x -> f(-x)."""
        return self if self.is_even else self.mirrored_as_it_is

    @cached_property
    def mirrored_as_it_is(self) -> Density:
        """x -> f(-x), also where the two are the same."""
        return Density(mirrored_form(self.expression), is_proportional=self.is_proportional)

    # Integrals.

    def upper(self, x: arb, order: int = 0) -> arb:
        """The integral of y^order f(y) over y > x, for an exact x; for order > 0, x >= 0 is needed."""
        end = None if self.high is None else arb(self.high)
        start = x if self.low is None else x.max(arb(self.low)).mid()
        if end is not None and start >= end:
            return arb(0)
        breaks = [arb(kink) for kink in self.kinks if arb(kink) > start]

        if end is not None:
            return self._finite(self._pieced([start, *(b for b in breaks if b < end), end], order))
        outside = self._at_infinity(order)
        if outside is not None:
            reach = (start + 1).max(arb(1)).max(breaks[-1] + 1 if breaks else start + 1).upper()
            inside = self._pieced([start, *breaks, reach], order)
            return self._finite(
                inside + integral(lambda m, t: _spent(outside, m, t), [arb(0), 1 / reach], within=_hair(inside))
            )
        if not all(tail.is_finite(order) for tail in self.right_tails):
            raise ImpossibleRequest(f"{self}: the moment of order {order} is infinite, or not shown to be finite.")
        least = max([arb(tail.start) for tail in self.right_tails] + [arb(1)], key=float)
        reach = (start + 1).max(least).max(breaks[-1] + 1 if breaks else start + 1).upper()
        total = self._finite(self._pieced([start, *breaks, reach], order))
        for _ in range(_DOUBLINGS):
            rest = self.beyond(reach, order)
            goal = abs(total).upper() * arb(2) ** (8 - int(ctx.prec))
            if rest < goal:
                return total + rest / 2 + arb(0, 1) * rest / 2
            further = (2 * reach).upper()
            total += integral(lambda m, y: self.value(m, y) * y**order, [reach, further], within=goal)
            reach = further
        raise PrecisionError(f"the tail of {self} does not vanish within reach; ask for fewer digits.", reached=0)

    def _at_infinity(self, order: int) -> Function | None:
        """x^order f(x) |dx/dt| in t = 1/x, where that is smooth at t = 0: the tail is then one
        integral over an interval that ends at 0. Only for the last piece, right of all kinks and of 0."""
        found = self.__dict__.setdefault("_infinity", {})
        if order not in found:
            form = inverted_form(self.pieces[-1].body * X**order)
            found[order] = None if form is None else compiled(form)
        result: Function | None = found[order]
        return result

    def between(self, low: arb, high: arb) -> arb:
        """The integral of f over [low, high], for exact ends."""
        start = low if self.low is None else low.max(arb(self.low)).mid()
        end = high if self.high is None else high.min(arb(self.high)).mid()
        if not start < end:
            return arb(0)
        breaks = [arb(kink) for kink in self.kinks if start < arb(kink) < end]
        return self._finite(self._pieced([start, *breaks, end], 0))

    def _pieced(self, ends: list[arb], order: int) -> arb:
        """The integral of y^order f(y) from the first end to the last; the inner ends are the kinks between."""
        total = arb(0)
        for outer in pairwise(ends):
            for low, high in self._steps(*outer):
                size = abs(total).mid().max(self._rough(low, high, order))
                total += self._smoothed(low, high, order, size * arb(2) ** -int(ctx.prec))
        return total

    def _steps(self, low: arb, high: arb) -> list[tuple[arb, arb]]:
        """The stretch between two kinks as it is; or, where f falls steeply from one of its ends, cut into pieces that begin
        there with about the length on which f falls, each as long as all before. Nothing that is returned rests on the cuts."""
        piece, width = self.piece_at(((low + high) / 2).mid()), (high - low).mid()
        falls = [(-side * piece.slope(BALLS, end) * width).mid() for end, side in ((low, 1), (high, -1))]
        from_low, from_high = (bool(fall.is_finite() and fall > _STEEP) for fall in falls)
        if not from_low and not from_high:
            return [(low, high)]
        if from_low and from_high:
            middle = ((low + high) / 2).mid()
            return [*self._steps(low, middle), *self._steps(middle, high)]
        fall = falls[0] if from_low else falls[1]
        shares = [fmpq(0)]
        step = fmpq(1, 2 ** max(1, math.floor(float(fall.log().mid()) * 1.5) - 2))
        while step < 1:
            shares.append(step)
            step *= 2
        shares.append(fmpq(1))
        if from_low:
            cuts = [low, *((low + width * arb(share)).mid() for share in shares[1:-1]), high]
            return list(pairwise(cuts))
        cuts = [low, *((high - width * arb(share)).mid() for share in shares[-2:0:-1]), high]
        return list(pairwise(cuts))[::-1]

    def _rough(self, low: arb, high: arb, order: int) -> arb:
        """About the size of the integral over [low, high], or less: how accurate it need be."""
        width = high - low
        points = [(low + width * arb(fmpq(k, 8))).mid() for k in (1, 3, 5, 7)] + [
            (low + width * arb(2) ** -k).mid() for k in (6, 12)
        ]
        heights = [abs(self.value(BALLS, x) * x**order).mid() for x in points]
        return max((height * width / 64 for height in heights if height.is_finite()), default=arb(1), key=float).mid()

    def _smoothed(self, low: arb, high: arb, order: int, within: arb) -> arb:
        """Between two kinks, in a variable in which roots that vanish at a kink are smooth."""
        piece = self.piece_at(((low + high) / 2).mid())
        at_low, at_high = piece.smooth
        if at_low is not None and at_high is not None and piece.low is not None and piece.high is not None:
            middle = arb((piece.low + piece.high) / 2)
            if low < middle < high:
                return self._smoothed(low, middle, order, within) + self._smoothed(middle, high, order, within)
            at_low, at_high = (None, at_high) if not low < middle else (at_low, None)
        chosen = at_low or at_high
        if chosen is None:
            return integral(lambda m, y: self.value(m, y) * y**order, [low, high], within=within)
        return chosen.integral(low, high, order, within)

    def beyond(self, reach: arb, order: int) -> arb:
        """A bound on the integral of y^order f(y) over y > reach."""
        return sum((tail.bound(reach, order) for tail in self.right_tails), arb(0)).upper()

    def _finite(self, value: arb) -> arb:
        if not value.is_finite():
            raise NotCovered(
                f"{self}: its integral cannot be enclosed; the density may be singular, or not smooth between kinks."
            )
        return value

    def total(self) -> arb:
        """The integral of f over the line, at the working precision."""
        return _remembered(self, "total", self._total)

    def _total(self) -> arb:
        middle = self.middle
        if self.is_even:
            return 2 * self.upper(arb(0))
        return self.upper(arb(middle)) + self.mirrored.upper(arb(-middle))

    @cached_property
    def middle(self) -> fmpq:
        """A point inside the support."""
        if self.low is not None and self.high is not None:
            return (self.low + self.high) / 2
        if self.low is not None:
            return self.low + 1
        return self.high - 1 if self.high is not None else self.kinks[0] if self.kinks else fmpq(0)

    # What is proved.

    @cached_property
    def is_even(self) -> bool:
        """Whether f(-x) = f(x) is proved."""
        if self.low != (None if self.high is None else -self.high):
            return False
        other = self.body.xreplace({X: -X})
        if other == self.body:
            return True
        if is_long(self.body) or any(kink != 0 for kink in self.kinks) or self._is_seen_uneven():
            return False
        half = sympy.Symbol("a", positive=True)
        try:
            proofs.zero(other.xreplace({X: half}) - self.body.xreplace({X: half}))
        except NotProved:
            return False
        return True

    def _is_seen_uneven(self) -> bool:
        """Whether f(-x) and f(x) differ at some point, which spares a proof that may be long and must fail."""
        points = (arb(fmpq(7, 16)), arb(fmpq(5, 4)))
        pairs = ((self.log_value(BALLS, x), self.log_value(BALLS, -x)) for x in points)
        return any(bool(right < left or right > left) for left, right in pairs)

    def require_density(self) -> None:
        """Prove that f >= 0 and that it integrates to 1 (or to some positive number, where it is proportional to a density).

        Raises InputError where it is seen not to, NotCovered where neither is shown.
        """
        for piece in self.pieces:
            if not (is_positive(piece.body) or is_never_negative(piece, piece.body, piece.body)):
                self._require_not_negative(piece)
                raise NotCovered(f"{self}: it is not shown that it is never negative.")
        with working_precision(_CHECK_BITS):
            total = self.total()
            if not total > 0:
                raise InputError(f"{self}: its integral is {total.str(10)}, and a density has a positive one.")
            if not self.is_proportional and not abs(total - 1) < _TOLERANCE:
                raise InputError(
                    f"{self}: it integrates to {total.str(20, radius=False)}, not to 1; divide by that, or write "
                    "CustomNoise.proportional_to(...) (in text a leading ~), and it is normalised."
                )

    def _require_not_negative(self, piece: Piece) -> None:
        function = compiled(piece.body)
        for point in samples(piece):
            if function(BALLS, arb(point)) < 0:
                raise InputError(f"{self}: it is negative at x = {point}, and a density is not.")

    @cached_property
    def is_log_concave(self) -> bool | None:
        """True: proved. False: a point is known where it is not. None: not shown.

        A bend that is never positive shows it only where log f is finite: x^2 e^(-x^2) has one, and two hills.
        """
        for piece in self.pieces:
            bend = sympy.diff(piece.log_slope, X)
            if any(piece.bend(BALLS, arb(point)) > 0 for point in samples(piece)):
                return False
            if not (is_never_negative(piece, -bend, -bend) and is_positive_inside(piece)):
                return None
        for left, right in pairwise(self.pieces):
            before, after = slope_at(left, left.high, -1), slope_at(right, left.high, 1)
            if not after <= before:
                return False if after > before else None
        return True

    @cached_property
    def is_symmetric_unimodal(self) -> bool:
        """Whether f is proved even, and proved not to rise right of 0."""
        if not self.is_even:
            return False
        if self.is_log_concave:
            return True
        rights = [piece for piece in self.pieces if piece.high is None or piece.high > 0]
        for piece in rights:
            part = self._piece(max(piece.low, fmpq(0)) if piece.low is not None else fmpq(0), piece.high)
            # At 0 itself an even smooth density is level, so that a falling slope is looked for there instead.
            if not is_never_negative(part, -part.log_slope, -sympy.diff(part.log_slope, X) if part.low == 0 else None):
                return False
        return True

    @cached_property
    def steepest_loss(self) -> fmpq | None:
        """The limit of -(log f)' to the right, where it is known to be a rational number: the least slope that a log-concave
        density's loss per unit of shift never exceeds."""
        limit = self._slope_limit
        return rational(-limit) if limit is not None and limit.is_Rational else None

    @property
    def grows_without_bound(self) -> bool:
        """Whether the loss of a log-concave density is known to have no bound to the right."""
        return bool(self._slope_limit == -sympy.oo)

    @cached_property
    def _slope_limit(self) -> sympy.Expr | None:
        return -sympy.oo if self.high is not None else limit_at_infinity(self.pieces[-1].log_slope)


def density_of(value: Any, *, is_proportional: bool = False) -> Density:
    """The density that a user hands in: a SymPy expression, text, or a `Density`. Raises InputError, NotCovered."""
    if isinstance(value, Density):
        return value
    if isinstance(value, str) and value.lstrip().startswith("~"):
        value, is_proportional = value.lstrip()[1:], True
    found = Density(read(value), is_proportional=is_proportional)
    found.require_density()
    return found


def _spent(function: Function, m: Any, x: Any) -> Any:
    spend()
    return function(m, x)


def _hair(size: arb) -> arb:
    """What is negligible beside a number, at the working precision."""
    found: arb = abs(size).mid() * arb(2) ** -int(ctx.prec)
    return found


def moved(law: Density, d: fmpq) -> sympy.Expr:
    """f(x - d)."""
    return law.body.xreplace({X: X - sympy.Rational(int(d.p), int(d.q))})


def expectation(law: Density, quantity: sympy.Expr) -> arb:
    """The integral of f times a quantity q whose square has bounded tails under f too: |q| <= (1 + q^2)/2."""
    squared = Density(law.body * quantity**2, is_proportional=True)
    function = compiled(quantity)
    kinks = sorted({*law.kinks, *squared.kinks})
    ends = [arb(kinks[0] if kinks else law.middle), arb(kinks[-1] if kinks else law.middle)]
    sides = [(law, squared), (law.mirrored_as_it_is, squared.mirrored_as_it_is)]
    starts = [arb(tail.start) for pair in sides for one in pair for tail in one.right_tails]
    least = max([arb(1), *(abs(end) + 1 for end in ends), *starts], key=float)

    def integrand(m: Any, x: acb) -> acb:
        value: acb = law.value(m, x) * function(m, x)
        return value

    reach = least.upper()
    total = integral(integrand, [-reach, *(arb(k) for k in kinks), reach])
    for _ in range(_DOUBLINGS):
        rest = sum((one.beyond(reach, 0) for pair in sides for one in pair), arb(0)) / 2
        goal = abs(total).upper() * arb(2) ** (8 - int(ctx.prec))
        if rest < goal:
            return total + arb(0, 1) * rest.upper()
        further = (2 * reach).upper()
        total += integral(integrand, [reach, further], within=goal) + integral(integrand, [-further, -reach], within=goal)
        reach = further
    raise PrecisionError(f"the tails of {law} do not vanish within reach; ask for fewer digits.", reached=0)


def _remembered(density: Density, what: str, compute: Callable[[], arb]) -> arb:
    """A number that depends on the density and the working precision only."""
    store: dict[tuple[str, int], arb] = density.__dict__.setdefault("_store", {})
    key = (what, int(ctx.prec))
    if key not in store:
        store[key] = compute()
    return store[key]
