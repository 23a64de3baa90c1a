"""A smooth curve of the odds of the side finds the odds that made the counts, and thresholds far out that counts pass over."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from dpverify.audit import odds
from dpverify.audit.events import Within, extremes, ladder, learned
from dpverify.audit.exploration import Exploration, Forecast
from dpverify.audit.features import Coordinate
from dpverify.audit.reading import from_array
from dpverify.audit.scores import Axis, Score, Term

FORECAST = Forecast(delta=0.0, alpha=0.05, planned=10**7)
PLACES = np.linspace(-3, 3, 25)


def test_the_curve_goes_through_counts_of_a_parabola() -> None:
    truth = 1 - 0.8 * PLACES + 0.3 * PLACES**2
    total = np.full(25, 10**6)
    hits = np.rint(total / (1 + np.exp(-truth))).astype(np.int64)
    curve = odds.fitted(PLACES, hits, total - hits)
    assert curve is not None
    found, error = curve.log_odds(PLACES)
    assert np.abs(found - truth).max() < 1e-3
    assert error.max() < 0.01


def test_a_rise_that_chance_may_show_is_no_curve() -> None:
    total = np.full(25, 200)
    hits = np.rint(total / (1 + np.exp(-0.05 * PLACES))).astype(np.int64)
    assert odds.fitted(PLACES, hits, total - hits) is None
    assert odds.fitted(PLACES, 100 * hits, 100 * (total - hits)) is not None


@pytest.mark.parametrize(
    ("places", "hits", "other_hits"),
    [
        (PLACES, np.ones(25, dtype=np.int64), np.zeros(25, dtype=np.int64)),
        (PLACES[:4], np.full(4, 100), np.full(4, 100)),
        (np.zeros(25), np.full(25, 100), np.full(25, 100)),
    ],
    ids=["one side", "few bins", "one place"],
)
def test_where_there_is_nothing_to_fit_there_is_no_curve(places, hits, other_hits) -> None:
    assert odds.fitted(places, hits, other_hits) is None


def test_what_is_foreseen_is_what_known_rates_give() -> None:
    total = np.full(25, 10**6)
    hits = np.rint(total / (1 + np.exp(-PLACES))).astype(np.int64)
    curve = odds.fitted(PLACES, hits, total - hits)
    assert curve is not None
    sizes = 10**8, 10**8
    for way, forward in ((1, False), (-1, True)):
        found = odds.foreseen(FORECAST, curve, PLACES[::way], hits[::way], (total - hits)[::way], sizes, forward=forward)
        more, less = (hits, total - hits) if forward else (total - hits, hits)
        known = FORECAST.of_rates(np.cumsum(more[::way]) / 10**8, np.cumsum(less[::way]) / 10**8)
        assert found == pytest.approx(known, abs=0.05)
        assert (found <= known + 1e-3).all()


def beyond_an_end(rng: np.random.Generator, low: float) -> np.ndarray:
    """Fifth powers near an end, as the largest of five has them: far out the odds are steep and hardly anything is seen."""
    return low + rng.random(400_000) ** 0.2


@pytest.mark.parametrize("sign", [1, -1], ids=["lower end", "upper end"])
def test_a_threshold_is_found_where_one_side_has_hardly_an_output(sign: int) -> None:
    rng = np.random.Generator(np.random.PCG64(5))
    tables = from_array(sign * beyond_an_end(rng, 0.0)), from_array(sign * beyond_an_end(rng, 0.1))
    exploration = Exploration(search=tables, rank=tables, forecast=FORECAST)
    forward = [one for one in extremes.propose(exploration, Coordinate(())) if one.lead.forward]
    best = max(forward, key=lambda one: one.lead.foreseen)
    assert isinstance(best.event, Within)
    cut = best.event.high if sign == 1 else -best.event.low

    def bound(place: float) -> float:
        return float(FORECAST.of_rates(np.array([place**5]), np.array([max(place - 0.1, 0.0) ** 5]))[0])

    # within a tenth of the best threshold there is, where 400,000 outputs a side show a few at most on the other side
    assert bound(cut) > 0.9 * max(bound(place) for place in np.linspace(0.1, 1, 200))
    assert (cut - 0.1) ** 5 * 400_000 < 20


def test_few_outputs_and_few_values_have_no_extremes() -> None:
    rng = np.random.Generator(np.random.PCG64(6))
    for values in (rng.normal(size=(2, 300)), rng.integers(0, 20, (2, 100_000))):
        tables = from_array(values[0]), from_array(values[1])
        assert not list(extremes.propose(Exploration(search=tables, rank=tables, forecast=FORECAST), Coordinate(())))


def test_the_best_cell_of_a_score_is_proposed_though_its_own_counts_are_poor() -> None:
    """Ten coins give eleven values of the score; the largest has one output in a thousand."""
    rng = np.random.Generator(np.random.PCG64(7))
    chances = 0.5, 0.45
    tables = [from_array((rng.random((60_000, 10)) < chance).astype(float)) for chance in chances]
    axes = tuple(Axis(Coordinate((place,)), (0.5,)) for place in range(10))
    score = Score(axes, tuple(Term((place,), (-95, 105, 0)) for place in range(10)))
    exploration = Exploration(search=(tables[0], tables[1]), rank=(tables[0], tables[1]), forecast=FORECAST)
    found = [one for one in learned.propose(exploration, score) if one.lead.foreseen > -math.inf and one.lead.forward]
    best = max(found, key=lambda one: one.lead.foreseen)
    # all ten ones: 2^-10 on the first side, .45^10 on the other
    assert best.event.mask(tables[0]).mean() == pytest.approx(2**-10, rel=0.5)
    truth = 10 * math.log(chances[0] / chances[1])
    assert 0.75 * truth < best.lead.foreseen < truth


def twenty_coins(rng: np.random.Generator, chance: float, size: int = 200_000) -> np.ndarray:
    return rng.binomial(20, chance, size).astype(float)


@pytest.mark.parametrize("sign", [1, -1], ids=["lower end", "upper end"])
def test_of_few_values_the_outermost_are_foreseen(sign: int) -> None:
    """Heads among 20 coins, chance .5025 or .4975: the event that is foreseen to be best is worth most of the best there is."""
    rng = np.random.Generator(np.random.PCG64(8))
    tables = from_array(sign * twenty_coins(rng, 0.4975)), from_array(sign * twenty_coins(rng, 0.5025))
    exploration = Exploration(search=tables, rank=tables, forecast=FORECAST)
    best = max(ladder.propose(exploration, Coordinate(())), key=lambda one: one.lead.foreseen)
    heads = np.arange(21)
    laws = [binom(20, chance).pmf(heads) for chance in (0.4975, 0.5025)]
    events = [heads >= k for k in range(1, 21)] + [heads < k for k in range(1, 21)]
    worth = [
        FORECAST.of_rates(*(np.array([law[event].sum()]) for law in laws[::way]))[0] for event in events for way in (1, -1)
    ]
    column = from_array(sign * heads.astype(float))
    found = [law[best.event.mask(column)].sum() for law in laws][:: 1 if best.lead.forward else -1]
    value = FORECAST.of_rates(*(np.array([chance]) for chance in found))[0]
    assert 0.85 * max(worth) <= value <= max(worth)
    assert best.lead.foreseen == pytest.approx(value, rel=0.2)


@pytest.mark.parametrize(
    "values",
    [
        lambda rng: rng.integers(0, 4, 20_000).astype(float),
        lambda rng: rng.random(20_000),
        lambda rng: np.concatenate([rng.integers(0, 9, 1_000).astype(float), rng.random(19_000)]),
        lambda rng: rng.integers(0, 9, 20_000).astype(float),
    ],
    ids=["too few values", "too many", "too many, seen late", "no rise"],
)
def test_other_scalars_have_no_ladder(values) -> None:
    rng = np.random.Generator(np.random.PCG64(4))
    tables = from_array(values(rng)), from_array(values(rng))
    exploration = Exploration(search=tables, rank=tables, forecast=FORECAST)
    assert list(ladder.propose(exploration, Coordinate(()))) == []


@pytest.mark.parametrize("size", [700, 3_000, 50_000])
@pytest.mark.parametrize("scale", [0.3, 1000.0])
def test_the_outermost_are_the_outermost(size: int, scale: float) -> None:
    values = np.rint(np.random.default_rng(size).laplace(0, scale, size))
    most = min(extremes.OUTERMOST, size // 5)
    smallest, largest = extremes._ends(values, most)
    assert np.array_equal(smallest, np.sort(values)[:most])
    assert np.array_equal(largest, np.sort(values)[size - most :])
