import math

import numpy as np
import pytest

from dpverify.audit.statistics import power
from dpverify.audit.statistics.binomial import upper
from dpverify.audit.statistics.events import Counts, Design, detectable_epsilon, rejects
from dpverify.errors import InputError


def refuted(
    epsilon_true: float, q: float, n1: int, n2: int, epsilon: float, delta: float, alpha: float, design: Design
) -> float:
    """The probability of rejection, by the decision itself on the whole sample space."""
    p = min(1.0, math.exp(epsilon_true) * q + delta)

    def mass(n: int, r: float) -> list[float]:
        return [math.comb(n, j) * r**j * (1 - r) ** (n - j) for j in range(n + 1)]

    total = 0.0
    for y, py in enumerate(mass(n2, q)):
        # the region rises with x, so that a bisection finds its edge
        low, high = 0, n1 + 1
        while low < high:
            middle = (low + high) // 2
            counts = Counts(hits=middle, draws=n1, other_hits=y, other_draws=n2)
            if rejects(counts, epsilon=epsilon, delta=delta, alpha=alpha, design=design):
                high = middle
            else:
                low = middle + 1
        total += py * sum(mass(n1, p)[low:])
    return total


@pytest.mark.parametrize(
    ("y", "n2", "n1", "epsilon", "delta", "alpha", "design"),
    [
        (0, 60, 60, 0.5, 0.0, 0.05, "random-side"),
        (4, 80, 80, 0.5, 0.0, 0.05, "random-side"),
        (2, 24, 24, 0.2, 0.0, 0.1, "fixed"),
        (1, 30, 20, 0.0, 0.1, 0.05, "random-side"),
        (0, 400, 400, 3.2, 0.01, 0.1, "fixed"),  # one count of Y stands for 25 of X
    ],
)
def test_the_detectable_epsilon_has_the_power_it_says(
    y: int, n2: int, n1: int, epsilon: float, delta: float, alpha: float, design: Design
) -> None:
    found = detectable_epsilon(
        other_hits=y, other_draws=n2, draws=n1, epsilon=epsilon, delta=delta, alpha=alpha, power=0.8, design=design
    )
    q = upper(y, n2, alpha)
    assert epsilon < found < math.inf
    assert refuted(found, q, n1, n2, epsilon, delta, alpha, design) >= 0.8 - 1e-6
    # the conditional region is exact, the joint one is known from inside
    shorter = found - (1e-3 if design == "random-side" and delta == 0 else 0.25)
    assert refuted(shorter, q, n1, n2, epsilon, delta, alpha, design) < 0.8


def test_what_no_violation_could_show_is_infinite() -> None:
    assert detectable_epsilon(other_hits=5, other_draws=5, draws=5, epsilon=0.1, delta=0.0, alpha=0.01) == math.inf
    assert detectable_epsilon(other_hits=0, other_draws=0, draws=5, epsilon=0.1, delta=0.0, alpha=0.01) == math.inf
    assert detectable_epsilon(other_hits=9000, other_draws=10**4, draws=10**4, epsilon=0.1, delta=0.0, alpha=0.001) == math.inf
    assert detectable_epsilon(other_hits=2, other_draws=20, draws=20, epsilon=2.0, delta=0.5, alpha=0.001) == math.inf
    assert detectable_epsilon(other_hits=1, other_draws=20, draws=20, epsilon=0.0, delta=1.0, alpha=0.1) == math.inf
    assert detectable_epsilon(other_hits=1, other_draws=20, draws=20, epsilon=900.0, delta=0.1, alpha=0.1) == math.inf


def test_more_draws_and_less_power_detect_less() -> None:
    def found(n: int, wanted: float, delta: float) -> float:
        y = n // 1000
        return detectable_epsilon(other_hits=y, other_draws=n, draws=n, epsilon=1.0, delta=delta, alpha=1e-3, power=wanted)

    for delta in (0.0, 1e-5):
        values = [found(n, 0.9, delta) for n in (10**4, 10**5, 10**6)]
        assert values[0] > values[1] > values[2] > 1.0
        assert found(10**5, 0.5, delta) < values[1]


def test_wrong_numbers_are_refused() -> None:
    for wrong in ({"power": 0.0}, {"power": 1.0}, {"epsilon": -1.0}, {"delta": 2.0}, {"alpha": 0.0}, {"other_hits": 11}):
        with pytest.raises(InputError):
            detectable_epsilon(
                **{"other_hits": 1, "other_draws": 10, "draws": 10, "epsilon": 1.0, "delta": 0.0, "alpha": 0.1, **wrong}
            )


@pytest.mark.parametrize(("epsilon", "alpha"), [(0.0, 0.05), (1.0, 1e-3), (4.0, 1e-6)])
def test_the_walk_along_the_conditional_region_finds_its_edge(epsilon: float, alpha: float) -> None:
    draws = 4000
    critical = power._conditional_critical(3, 120, draws, epsilon, alpha)
    for y in (3, 4, 30, 77, 120):
        x = int(critical[y - 3])
        if x <= draws:
            counts = Counts(hits=x, draws=draws, other_hits=y, other_draws=draws)
            assert rejects(counts, epsilon=epsilon, delta=0.0, alpha=alpha)
        counts = Counts(hits=x - 1, draws=draws, other_hits=y, other_draws=draws)
        assert not rejects(counts, epsilon=epsilon, delta=0.0, alpha=alpha)


def test_an_edge_found_at_a_few_counts_is_that_which_is_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    first, last, draws = 200_000, 206_000, 10**6
    few = power._conditional_critical(first, last, draws, 1.0, 1e-4)
    monkeypatch.setattr(power, "MOST_WALKED", 10**9)
    walked = power._conditional_critical(first, last, draws, 1.0, 1e-4)
    assert np.all(few >= walked)  # the power is understated
    assert np.all(few - walked <= 4e-3 * math.e * math.sqrt(last) + 2)
