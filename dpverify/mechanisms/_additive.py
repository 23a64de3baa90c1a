"""`AdditiveNoise`: what every mechanism "answer + scale * X" with symmetric log-concave X has in common.

A family states its formulas in units of the scale, once, against the arithmetic interface; this base class turns them
into certified numbers, second opinions, arrays, text and derivations.

Source of the general facts: S. Vinterbo, "Differential Privacy for Symmetric Log-Concave Mechanisms" (AISTATS 2022),
Lemmas 1 and 2. With d = sensitivity / scale, cdf F and the threshold t(epsilon, d) at which the privacy loss passes
epsilon,  delta(epsilon) = F(d - t) - e^epsilon F(-t),  for every real epsilon; it depends on sensitivity and scale
through d only and increases with d.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from flint import fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number, to_exact
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.enclose.refine import check_digits
from dpverify.errors import ImpossibleRequest, InputError, NotCovered, NotStated, shown
from dpverify.mechanisms import _certified, _expressions
from dpverify.mechanisms._mechanism import Engine, Mechanism, unknown_arithmetic
from dpverify.mechanisms._parameters import checked_delta, checked_epsilon

if TYPE_CHECKING:
    import numpy as np
    import sympy
    from numpy.typing import ArrayLike, NDArray

    from dpverify.derive.steps import Derivation
    from dpverify.mechanisms._pair import AdditivePair
    from dpverify.notions.pair import DominatingPair
    from dpverify.samplers.sampler import Sampler


class AdditiveNoise(Mechanism):
    """Noise `scale * X` added to a number that moves by at most `sensitivity` between neighbouring datasets."""

    loss_slope: ClassVar[int | None] = None
    """psi'(infinity) of the density e^{-psi}: the privacy loss never exceeds d times this. None where it is unbounded."""

    no_derivation: ClassVar[str | None] = None
    """Why `derive` has no derivation of this family yet; None where it has one."""

    __slots__ = ()

    # What a family states. All in units of the scale; m is the arithmetic.

    def log_density(self, m: Arithmetic, x: Value) -> Value:
        """log f(x)."""
        raise self._undeclared("log_density")

    def cdf(self, m: Arithmetic, x: Value) -> Value:
        """F(x)."""
        raise self._undeclared("cdf")

    def threshold(self, m: Arithmetic, eps: Value, d: Value) -> Value:
        """t = sup{x : psi(x) - psi(x - d) <= eps}, where it is finite."""
        raise self._undeclared("threshold")

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
        raise self._undeclared("absolute_moment")

    def _undeclared(self, formula: str) -> NotStated:
        return NotStated(
            f"{self.name}: {type(self).__name__} states no {formula}(), which this question needs; state it as a method "
            "(`AdditiveNoise` says what it means)."
        )

    # What a family may state beyond that; what it leaves out (None) is found by certified roots and integrals.

    attains_loss_limit: ClassVar[bool] = False
    """Whether the largest privacy loss is attained: psi' = loss_slope on the whole positive half line."""

    loss_rises: ClassVar[bool] = True
    """Whether X is symmetric and log-concave with a density that is positive everywhere: its privacy loss then never falls,
    which the least scale of probabilistic DP rests on."""

    zcdp_is_mean_loss: ClassVar[bool] = False
    """Whether the log of the power moment is concave in (order - 1/2)^2. It is then at most its tangent, so that the
    Renyi divergence of order alpha is at most alpha times the mean loss. A family that says so gives the proof."""

    @property
    def against_gaussian(self) -> str | None:
        """How symmetric log-concave X, of density e^{-psi}, compares with a Gaussian: "equal" to a standard one; "heavier",
        where psi' is concave on x > 0; "lighter", where psi grows faster than every quadratic; None where nothing is known.

        Tests are half lines, so the noise is mu-GDP exactly if h(x) - h(x - d) <= mu for all x, h = Phi^{-1}(F). If h is
        concave on x > 0 its slope falls with |x|, and the least mu is 2 h(d/2). Heavier noise has such an h: from
        f = phi(h) h' the slope g of log h' is h h' - psi', at most 0 at 0, with the slope h'^2 + h h' g - psi'' of its own.
        Were g ever positive, then where it becomes so g = 0 and h'^2 >= psi''; from there on h' rises and psi'' does not, so
        g goes on rising, and h' outgrows every exponential of a line; but then 1 - F = Phi(-h) vanishes faster than it can,
        psi being at most quadratic. For lighter noise h outgrows every line, and no mu is enough.
        """
        return None

    def log_power_moment(self, m: Arithmetic, order: Value, d: Value) -> Value | None:
        """log of the integral of f(x - d)^order f(x)^(1 - order)."""
        return None

    def mean_loss(self, m: Arithmetic, d: Value) -> Value | None:
        """E L under the noise moved by d."""
        return None

    def loss_variance(self, m: Arithmetic, d: Value) -> Value | None:
        """Var L under the noise moved by d."""
        return None

    def loss_bound(self, m: Arithmetic) -> Value | None:
        """The largest privacy loss; None where it is unbounded."""
        return None if self.loss_slope is None else m.exact(self.shift * self.loss_slope)

    @property
    def tail_degree(self) -> fmpq | None:
        """A k with x psi'(x) <= k (psi(x) - psi(0)) on x > 0. It bounds the tails of integrals where the loss is unbounded."""
        return None

    def score_variance(self, m: Arithmetic) -> Value | None:
        """E psi'(X)^2, the variance of the score."""
        return None

    def upper_quantile(self, m: Arithmetic, tail: Value) -> Value | None:
        """The x >= 0 with F(-x) = tail, for 0 < tail < 1/2."""
        return None

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """`size` independent draws of X as doubles. A family states it where there is a quicker way than by its cdf."""
        from dpverify.mechanisms import _sampling

        return _sampling.by_inversion(self, rng, size)

    def shift_guess(self, eps: float, log_delta: float) -> float | None:
        """A double near `shift_for`; only speed depends on it."""
        return None

    def epsilon_guess(self, log_delta: float, d: float) -> float | None:
        """A double near `epsilon_for`; only speed depends on it."""
        return None

    def sampler(self, granularity: Number | None = None) -> Sampler:
        """f(data, rng, size): `size` independent releases of data + noise.

        As ideal-model doubles; with a `granularity` (> 0, in units of the answer) rounded to the nearest multiple of it and
        exact to the last bit. Rounding is post-processing, so the guarantee is the same.
        """
        from dpverify.mechanisms import _sampling

        return _sampling.in_doubles(self) if granularity is None else _sampling.on_grid(self, granularity)

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
        """The checked derivation of the privacy profile from the density. Raises DerivationError if a check fails, and
        NotCovered for a family that has no derivation yet."""
        if self.no_derivation is not None:
            raise NotCovered(f"{self.name} has no derivation yet: {self.no_derivation}.")
        from dpverify.mechanisms import _symbolic

        return _symbolic.derivation(self)

    def dominating_pair(self) -> AdditivePair:
        """The pair (noise moved by the sensitivity, noise) whose hockey-stick divergence is delta(epsilon) everywhere."""
        from dpverify.mechanisms._pair import AdditivePair

        return AdditivePair(noise=self)

    def dominating_pairs(self) -> tuple[DominatingPair, ...]:
        return (self.dominating_pair(),)

    @classmethod
    def bound_probabilistic(
        cls,
        *,
        epsilon: Number,
        delta: Number,
        sensitivity: Number = 1,
        reading: str = "union",
        digits: int = 15,
        **shape: Any,
    ) -> Enclosure:
        """The least scale at which P(loss > epsilon) <= delta.

        `reading`: "union", the loss being that against the worse of both neighbours [Liu 2019, Corollary 8]; "pairwise", the
        signed loss against one neighbour. `epsilon` >= 0 in nats, 0 <= `delta` < 1. Returns an Enclosure; its `.upper` is the
        least double that satisfies the claim. Probabilistic DP implies (epsilon, delta)-DP; it is not closed under
        post-processing. Raises ImpossibleRequest where no scale will do, and NotCovered for noise whose loss need not rise.
        """
        from dpverify.mechanisms import _disclosure

        if not cls.loss_rises:
            raise NotCovered(
                f"{cls.name}: the least scale of probabilistic DP is certified for symmetric log-concave densities on the "
                "whole line, whose loss rises; ask notions.probabilistic for P(loss > epsilon) at a scale of your choice."
            )

        member = cls(**{cls.scale_name: 1, **shape}, sensitivity=sensitivity)
        return _disclosure.scale(member, checked_epsilon(epsilon), checked_delta(delta), reading, check_digits(digits))

    def profile_array(self, epsilons: ArrayLike) -> NDArray[np.float64]:
        """delta at each epsilon, in double precision (kind of exactness: *heuristic*), for plots and tables."""
        from dpverify.mechanisms import _arrays

        return _arrays.profile(self, epsilons)

    def moment(self, order: int, *, digits: int = 15) -> Enclosure:
        """E Z^order of the noise Z, for an integer order >= 1 (exactly 0 for odd orders, by symmetry)."""
        if checked_order(order) % 2:
            return Enclosure(fmpq(0), digits=check_digits(digits))
        return self.mean_absolute_moment(order, digits=digits)

    def mean_absolute_moment(self, order: int, *, digits: int = 15) -> Enclosure:
        """E |Z|^order of the noise Z, for an integer order >= 1."""
        return _certified.absolute_moment(self, checked_order(order), check_digits(digits))

    def variance(self, *, digits: int = 15) -> Enclosure:
        """E Z^2 of the noise Z, which is its mean squared error."""
        return self.mean_absolute_moment(2, digits=digits)

    def tail_probability(self, bound: Number, *, digits: int = 15) -> Enclosure:
        """P(|Z| > bound) for the noise Z; `bound` >= 0, in units of the answer. Raises InputError."""
        return _certified.tail_probability(self, checked_bound(bound), check_digits(digits))

    def tail_bound(self, probability: Number, *, digits: int = 15) -> Enclosure:
        """The least bound with P(|Z| > bound) <= probability, in units of the answer, for 0 < probability <= 1.

        Raises ImpossibleRequest at probability 0: the noise is unbounded.
        """
        return _certified.tail_bound(self, checked_probability(probability), check_digits(digits))

    def fisher_information(self, *, digits: int = 15) -> Enclosure:
        """E psi'(X)^2 / scale^2: what one output tells of the true answer, in inverse squared units of it."""
        return _certified.fisher_information(self, check_digits(digits))

    def mean_squared_error(self, *, digits: int = 15) -> Enclosure:
        """E Z^2 of the noise Z, in squared units of the answer."""
        return self.variance(digits=digits)


def checked_order(order: int) -> int:
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise InputError(f"order = {order!r}: a moment needs a whole number of at least 1.")
    return order


def checked_bound(value: Number) -> fmpq:
    number = to_exact(value, "bound")
    if number < 0:
        raise InputError(f"bound = {shown(value, str)}: the size of a noise is never negative; give a number >= 0.")
    return number


def checked_probability(value: Number) -> fmpq:
    number = to_exact(value, "probability")
    if number == 0:
        raise ImpossibleRequest("probability = 0: the noise exceeds every bound sometimes; give a probability in (0, 1].")
    if not 0 < number <= 1:
        raise InputError(f"probability = {shown(value, str)}: give a number in (0, 1].")
    return number
