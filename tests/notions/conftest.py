"""What the tests of the notions share: families with a pair, and pairs stripped to the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dpverify.mechanisms import by_name

if TYPE_CHECKING:
    from flint import arb, fmpq

SHIFTS = ("1e-3", "1/3", "1", "4", "30")


class Bare:
    """A pair that offers nothing but the protocol: whatever is asked of it is searched for."""

    def __init__(self, pair: Any) -> None:
        self.pair = pair

    def hockey_stick(self, eps: fmpq) -> arb | fmpq:
        return self.pair.hockey_stick(eps)

    def loss_tail(self, eps: fmpq) -> arb | fmpq:
        return self.pair.loss_tail(eps)

    def loss_limit(self) -> arb | fmpq:
        return self.pair.loss_limit()

    def power_moment(self, order: fmpq) -> arb | fmpq:
        return self.pair.power_moment(order)

    def mean_loss(self) -> arb | fmpq:
        return self.pair.mean_loss()

    def reversed(self) -> Bare:
        return Bare(self.pair.reversed())


class Randomized:
    """Randomized response that tells the truth with odds e^epsilon, as a finite pair: its loss is +-epsilon."""

    is_symmetric = True

    def __init__(self, epsilon: fmpq) -> None:
        self.epsilon = epsilon

    def _truth(self) -> arb:
        from flint import arb

        return 1 / (1 + (-arb(self.epsilon)).exp())

    def hockey_stick(self, eps: fmpq) -> arb | fmpq:
        from flint import arb, fmpq

        if eps >= self.epsilon:
            return fmpq(0)
        p = self._truth()
        if eps <= -self.epsilon:
            return 1 - arb(eps).exp()
        return p - arb(eps).exp() * (1 - p)

    def loss_tail(self, eps: fmpq) -> arb | fmpq:
        from flint import fmpq

        return fmpq(0) if eps >= self.epsilon else self._truth() if eps >= -self.epsilon else fmpq(1)

    def loss_limit(self) -> fmpq:
        return self.epsilon

    def power_moment(self, order: fmpq) -> arb:
        from flint import arb

        p = self._truth()
        return p ** arb(order) * (1 - p) ** arb(1 - order) + (1 - p) ** arb(order) * p ** arb(1 - order)

    def mean_loss(self) -> arb:
        return (2 * self._truth() - 1) * self.epsilon

    def loss_atoms(self) -> tuple[tuple[fmpq, arb, arb], ...]:
        p = self._truth()
        return (self.epsilon, p, 1 - p), (-self.epsilon, 1 - p, p)

    def reversed(self) -> Randomized:
        return self


@pytest.fixture(params=["laplace", "logistic", "gaussian"])
def family(request: pytest.FixtureRequest) -> Any:
    """The families with closed forms, one after another."""
    return by_name(request.param)


@pytest.fixture
def bare() -> type[Bare]:
    return Bare


@pytest.fixture
def randomized() -> type[Randomized]:
    return Randomized
