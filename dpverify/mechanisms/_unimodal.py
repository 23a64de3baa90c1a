"""`UnimodalNoise`: additive noise whose privacy loss need not be monotone, nor its density symmetric.

Noise scale * X with a unimodal density f that is symmetric or log-concave; d = sensitivity / scale. The worst shift is the
sensitivity, for every real epsilon, because the hockey-stick divergence H(d) = int max(0, f(x - d) - e^eps f(x)) dx does
not fall as d grows:

- f symmetric (and no more than unimodal). Let f be smooth first. By the envelope theorem H'(d) is the integral of -f'(y)
  over the y with f(y) > e^eps f(y + d). Fold the line at 0: as f' is odd, H'(d) is the integral over y > 0 of -f'(y) >= 0
  times [y is such a point] - [-y is one]. If -y is one, then f(y) = f(-y) > e^eps f(d - y) >= e^eps f(d + y), since
  |d - y| <= d + y; so y is one too, and the bracket is never negative. A unimodal f that is not smooth is the limit in L1
  of smooth ones (its convolutions with narrow normal densities are symmetric and unimodal), and H is continuous in L1.
- f log-concave. The likelihood ratio is monotone, so the best event is a half line {x > t} and H(d) is the supremum over t
  of P(X > t - d) - e^eps P(X > t), every one of which grows with d. The other order of the pair is the same with half
  lines to the left.

The profile is the larger of the two orders of the pair; by P(S) - e^eps Q(S) = 1 - e^eps + e^eps (Q(S') - e^-eps P(S')), S'
the complement, it obeys delta(-eps) = 1 - e^-eps + e^-eps delta(eps). So a family states it for epsilon >= 0 only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from flint import arb, fmpq

from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.errors import ImpossibleRequest
from dpverify.mechanisms._additive import AdditiveNoise
from dpverify.mechanisms._event import Event, Measured, masses, measured_on
from dpverify.mechanisms._mechanism import Engine, unknown_arithmetic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

Exactly: TypeAlias = "fmpq | Callable[[Arithmetic], Value]"
"""A number: the rational that it is, or a formula for it where it is proved not to be rational."""


class UnimodalNoise(AdditiveNoise):
    """Additive noise that states its profile for epsilon >= 0 and where its loss is bounded; see `_unimodal`."""

    no_derivation: ClassVar[str | None] = "the engine derives profiles of half-line events with closed thresholds"

    loss_rises = False

    texts: ClassVar[dict[str, str]] = {}
    """What `expression` answers for "epsilon", "delta" and "scale", where the formula is none that can be run on text."""

    __slots__ = ()

    # What a family states, in units of the scale.

    def loss_limit(self, d: fmpq) -> Exactly | None:
        """The largest privacy loss at shift d; None where it is unbounded."""
        return None

    def shift_at_limit(self, eps: fmpq) -> Exactly:
        """The largest d whose largest loss is at most eps >= 0; 0 where there is none."""
        return fmpq(0)

    def event(self, m: Arithmetic, eps: Value, d: Value, *, fully: bool) -> Event | None:
        """Where the loss exceeds 0 <= eps below the largest loss at d > 0: `_event` says how accurately."""
        raise NotImplementedError

    def measured(self, m: Arithmetic, eps: Value, d: Value) -> Measured:
        """The profile for 0 <= eps below the largest loss at d > 0, from `event` unless the family knows better."""
        return measured_on(self, m, eps, d, lambda fully: self.event(m, eps, d, fully=fully))

    def tail_masses(self, m: Arithmetic, eps: fmpq, *, inclusive: bool) -> tuple[Value, Value]:
        """P and Q of {L > eps}, or of {L >= eps}, for a rational eps >= 0 that is not above the largest loss."""
        d = m.exact(self.shift)
        if self.loss_limit(self.shift) == eps:
            return m.rational(0), m.rational(0)  # where an event is stated, no value of the loss has a probability
        found = self.event(m, m.exact(eps), d, fully=True)
        return (arb.nan(), arb.nan()) if found is None else masses(self, m, d, found)

    def power_moment(self, order: fmpq) -> Value | fmpq:
        """The integral of f(x - d)^order f(x)^(1 - order), as a ball at the working precision or exactly."""
        from dpverify.mechanisms import _integrals

        return _integrals.power_moment(self, order)

    def log_moment(self, order: fmpq) -> arb | None:
        """log of `power_moment`, where it is known without it, for an order other than 1; None elsewhere."""
        return None

    def expected_loss(self) -> Value | fmpq:
        """E_P L, as a ball at the working precision or exactly."""
        from dpverify.mechanisms import _integrals

        return _integrals.mean_loss(self)

    def exact_delta(self, m: Arithmetic, eps: fmpq, d: fmpq) -> Value | fmpq | None:
        """The profile in closed form, for a rational request with eps >= 0 below the largest loss."""
        return None

    def exact_shift(self, m: Arithmetic, eps: fmpq, delta: fmpq) -> Value | fmpq | None:
        """The largest d with delta(eps) <= delta in closed form, for a possible request with delta > 0."""
        return None

    def exact_epsilon(self, m: Arithmetic, delta: fmpq, d: fmpq) -> Value | fmpq | None:
        """The least eps in closed form, for a possible request with 0 < delta < delta(0)."""
        return None

    def shift_start(self, eps: fmpq, delta: fmpq) -> float | None:
        """A double near the d that is looked for; only speed depends on it."""
        return None

    def epsilon_start(self, delta: fmpq, d: fmpq) -> float | None:
        """A double near the eps that is looked for; only speed depends on it."""
        return None

    # What follows.

    def loss_bound(self, m: Arithmetic) -> Value | None:
        limit = self.loss_limit(self.shift)
        return None if limit is None else m.exact(limit) if isinstance(limit, fmpq) else limit(m)

    def dominating_pair(self) -> Any:
        from dpverify.mechanisms._unimodal_pair import LogConcavePair, RegularPair

        return RegularPair(noise=self) if self.against_gaussian is None else LogConcavePair(noise=self)

    @classmethod
    def _engine(cls, arithmetic: str) -> Engine:
        from dpverify.mechanisms import _unimodal_engine

        if arithmetic == "arb":
            return _unimodal_engine.CERTIFIED
        if arithmetic == "mpmath":
            return _unimodal_engine.SECOND_OPINION
        raise unknown_arithmetic(arithmetic)

    @classmethod
    def expression(cls, solved: str) -> str:
        stated = cls.texts.get(solved)
        return super().expression(solved) if stated is None else stated

    def _refuse_impossible_bound(self, eps: fmpq, delta: fmpq) -> None:
        if delta > 0:
            return
        at_limit = self.shift_at_limit(eps)
        if not isinstance(at_limit, fmpq) or at_limit > 0:
            return
        name, scale = type(self).__name__, self.scale_name
        if self.loss_limit(fmpq(1)) is None:
            raise ImpossibleRequest(
                f"delta = 0: the privacy loss of {name} noise is unbounded, so no finite {scale} gives delta = 0; "
                "give delta > 0, or use Laplace noise for pure DP."
            )
        if eps == 0:
            raise ImpossibleRequest("epsilon = 0 and delta = 0: no noise hides everything; give epsilon > 0 or delta > 0.")
        raise ImpossibleRequest(
            f"delta = 0: no {scale} of {name} noise has a largest loss of {brief(eps)} or less; give delta > 0."
        )

    def _refuse_impossible_epsilon(self, delta: fmpq) -> None:
        if delta == 0 and self.loss_limit(self.shift) is None:
            raise ImpossibleRequest(
                f"delta = 0: the privacy loss of {type(self).__name__} noise is unbounded, so no finite epsilon gives "
                "delta = 0; give delta > 0."
            )

    def profile_array(self, epsilons: ArrayLike) -> NDArray[np.float64]:
        """delta at each epsilon: certified one at a time, and rounded up to a double (kind of exactness: *enclosure*)."""
        import numpy as np

        asked = np.asarray(epsilons, dtype=np.float64)
        return np.array([self.delta(float(eps)).upper for eps in asked.flat], dtype=np.float64).reshape(asked.shape)
