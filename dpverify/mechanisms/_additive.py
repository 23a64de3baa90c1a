"""`AdditiveNoise`: what every mechanism "answer + scale * X" with symmetric log-concave X has in common.

A family states its formulas in units of the scale, once, against the arithmetic interface; this base class turns them
into certified numbers, second opinions, arrays, text and derivations.

Source of the general facts: S. Vinterbo, "Differential Privacy for Symmetric Log-Concave Mechanisms" (AISTATS 2022),
Lemmas 1 and 2. With d = sensitivity / scale, cdf F and the threshold t(epsilon, d) at which the privacy loss passes
epsilon,  delta(epsilon) = F(d - t) - e^epsilon F(-t),  for every real epsilon; it depends on sensitivity and scale
through d only and increases with d.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from flint import fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.enclose.refine import check_digits
from dpverify.errors import ImpossibleRequest, InputError
from dpverify.mechanisms import _certified, _expressions
from dpverify.mechanisms._mechanism import Engine, Mechanism, unknown_arithmetic

if TYPE_CHECKING:
    import numpy as np
    import sympy
    from numpy.typing import ArrayLike, NDArray

    from dpverify.derive.steps import Derivation
    from dpverify.mechanisms._pair import DominatingPair


class AdditiveNoise(Mechanism):
    """Noise `scale * X` added to a number that moves by at most `sensitivity` between neighbouring datasets."""

    loss_slope: ClassVar[int | None] = None
    """psi'(infinity) of the density e^{-psi}: the privacy loss never exceeds d times this. None where it is unbounded."""

    __slots__ = ()

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

    @property
    def exact_scale(self) -> fmpq:
        return self.exact_parameters[self.scale_name]

    @property
    def shift(self) -> fmpq:
        """d = sensitivity / scale, exactly."""
        return self.exact_sensitivity / self.exact_scale

    @classmethod
    def _engine(cls, arithmetic: str) -> Engine:
        if arithmetic == "arb":
            return _certified
        if arithmetic == "mpmath":  # imported only when it is asked for
            from dpverify.mechanisms import _second_opinion

            return _second_opinion
        raise unknown_arithmetic(arithmetic)

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


def _checked_order(order: int) -> int:
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise InputError(f"order = {order!r}: a moment needs a whole number of at least 1.")
    return order
