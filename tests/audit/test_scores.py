"""Scalars read off whole outputs, learned scores and unions of intervals: what they compute, and what they find.

Each planted violation below is such that a single threshold on a single coordinate shows little of it.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.audit import families, learning, search
from dpverify.audit.cells import COMPARED, places
from dpverify.audit.events import Pieces, Within, event_from_json
from dpverify.audit.events import learned as learned_events
from dpverify.audit.events import pieces as pieces_events
from dpverify.audit.exploration import Exploration, Forecast
from dpverify.audit.features import (
    Aggregate,
    Combination,
    Coordinate,
    CountAbove,
    PlaceOfCode,
    PlaceOfLargest,
    Scalar,
    scalar_from_json,
)
from dpverify.audit.reading import from_array, from_objects
from dpverify.audit.scores import Axis, Score, Term
from dpverify.audit.table import Table
from dpverify.errors import InputError

ROWS = [[3.0, 1.0, 1.0], [0.0, 5.0, 2.0], [-1.0, -4.0, -2.0]]
RAGGED = [[3.0, 1.0], [], [2.0], [None, 4.0]]


def values(scalar: Scalar, rows: Any) -> list[float]:
    table = from_array(np.array(rows)) if all(len(row) == len(rows[0]) for row in rows) else from_objects(rows)
    return scalar.values(table).tolist()


def test_scalars_of_whole_outputs() -> None:
    places = ((0,), (1,), (2,))
    assert values(Aggregate("largest step"), ROWS) == [3, 5, 2]
    assert values(Aggregate("smallest step"), ROWS) == [-2, -3, -3]
    assert values(Aggregate("numbers"), ROWS) == [3, 3, 3]
    assert values(CountAbove(1.0), ROWS) == [1, 2, 0]
    assert values(CountAbove(0.0, steps=True), ROWS) == [1, 1, 1]
    assert values(PlaceOfLargest(places), ROWS) == [0, 1, 0]
    assert values(PlaceOfLargest(places, largest=False), ROWS) == [1, 0, 1]


@given(
    st.lists(st.floats(-4, 4) | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1.0]), min_size=1, max_size=20),
    st.sets(st.floats(-4, 4) | st.integers(-2, 2).map(float), max_size=6),
    st.booleans(),
)
def test_a_cell_counts_the_cuts_below_a_value(numbers: list[float], cuts: set[float], many: bool) -> None:
    there = sorted({cut + 0.0 for cut in cuts} | ({10.0 + k for k in range(COMPARED)} if many else set()))
    wanted = [len(there) + 1 if math.isnan(number) else sum(cut < number for cut in there) for number in numbers]
    assert places(np.array(numbers), there).tolist() == wanted


def test_a_cell_of_codes_is_exact() -> None:
    codes = np.array([2**63 + 1, 2**63, 5, 2**64 - 1], dtype=np.uint64)
    assert places(codes, np.unique(codes)).tolist() == [2, 1, 0, 3]


def test_scalars_of_ragged_outputs_skip_what_is_no_number() -> None:
    places = ((0,), (1,))
    assert values(Aggregate("numbers"), RAGGED) == [2, 0, 1, 1]
    assert np.array_equal(values(Aggregate("smallest step"), RAGGED), [-2, math.nan, 2, 4], equal_nan=True)
    assert np.array_equal(values(CountAbove(1.5), RAGGED), [1, math.nan, 1, 1], equal_nan=True)
    assert np.array_equal(values(CountAbove(1.5, steps=True), RAGGED), [1, math.nan, 1, 1], equal_nan=True)
    assert np.array_equal(values(PlaceOfLargest(places), RAGGED), [0, math.nan, 0, 1], equal_nan=True)
    assert np.isnan(values(Aggregate("largest step"), [["a", "b"], ["c", "d"]])).all()


@given(st.lists(st.lists(st.one_of(st.none(), st.floats(-9, 9)), max_size=4), min_size=1, max_size=6))
def test_what_a_scalar_says_of_an_output_is_the_same_in_every_batch(rows: list[Any]) -> None:
    """An event is a set of outputs: an output must not move in or out of it with the company that it keeps."""
    codes = tuple(sorted(map(int, np.unique(from_objects([*rows, [1.0]]).column((0,)).codes))))
    scalars: list[Scalar] = [
        *(Aggregate(which) for which in ("sum", "largest", "smallest", "nonzero", "numbers", "largest step", "smallest step")),
        CountAbove(0.5),
        CountAbove(0.5, steps=True),
        PlaceOfLargest(((0,), (1,), (2,))),
        PlaceOfCode((0,), codes),
        Score((Axis(Coordinate((0,)), (0.0,)), Axis(Aggregate("sum"), (-2.0, 1.0))), (Term((0, 1), tuple(range(12))),)),
    ]
    for scalar in scalars:
        alone = [float(scalar.values(from_objects([row]))[0]) for row in rows]
        assert np.array_equal(scalar.values(from_objects(rows)), alone, equal_nan=True)


SCORE = Score(
    (Axis(Coordinate((0,)), (0.5,)), Axis(Combination((1,), (0,), -1), (-1.0, 0.0, 1.0, 2.0))),
    (Term((0,), (100, -200, 7)), Term((0, 1), tuple(range(18)))),
)


def test_a_score_is_a_sum_of_table_entries() -> None:
    table = from_array(np.array([[0.5, 0.5], [0.6, 9.0], [math.nan, 1.0]]))
    assert SCORE.values(table).tolist() == [(100 + 1) / 1000, (-200 + 6 + 4) / 1000, (7 + 12 + 5) / 1000]
    assert "learned score of output[0], output[1] - output[0]" in SCORE.describe()


@pytest.mark.parametrize(
    "scalar",
    [
        SCORE,
        CountAbove(0.25, True),
        PlaceOfLargest(((0,), ("a", 1)), False),
        PlaceOfCode(("x",), (3, 2**63)),
        Aggregate("numbers"),
    ],
    ids=lambda scalar: type(scalar).__name__,
)
def test_scalars_survive_as_data(scalar: Scalar) -> None:
    again = scalar_from_json(json.loads(json.dumps(scalar.to_json())))
    assert again == scalar
    assert again.describe() == scalar.describe()
    event = Within(scalar, 0.5, math.inf)
    assert event_from_json(json.loads(json.dumps(event.to_json()))) == event


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("axes", 0, "cuts"), [0.5, 0.5]),
        (("axes", 1, "cuts"), [1.0, 0.0, 2.0, 3.0]),
        (("terms", 0, "axes"), [2]),
        (("terms", 0, "axes"), []),
        (("terms", 1, "axes"), [0, 1, 0]),
        (("terms", 0, "thousandths"), [1, 2]),
        (("terms", 0, "thousandths"), [1, 2, 10**10]),
    ],
    ids=str,
)
def test_a_score_that_was_edited_is_refused(path: tuple[Any, ...], value: Any) -> None:
    data = json.loads(json.dumps(SCORE.to_json()))
    inner = data
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    with pytest.raises(InputError, match="describes no scalar"):
        scalar_from_json(data)


def test_pieces_hold_the_intervals_that_they_name() -> None:
    event = Pieces(Coordinate(()), ((-math.inf, -1.0), (0.0, 1.0), (2.0, math.inf)))
    table = from_array(np.array([-math.inf, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf, math.nan]))
    assert event.mask(table).tolist() == [True, True, False, False, True, True, False, False, True, True, False]
    assert event.describe() == "output <= -1 or 0 < output <= 1 or output > 2"
    assert event_from_json(json.loads(json.dumps(event.to_json()))) == event
    many = Pieces(Coordinate(()), tuple((2.0 * k, 2.0 * k + 1) for k in range(7)))
    assert many.describe().endswith("or in one of 3 more intervals")
    broken = event.to_json() | {"intervals": [[0.0, 1.0], [1.0, 2.0]]}
    with pytest.raises(InputError, match="describes no event"):
        event_from_json(broken)


# --- learning -------------------------------------------------------------------------------------------------------

SIZE = 12_000
FORECAST = Forecast(delta=0.0, alpha=0.05, planned=100_000)


def exploration(first: Any, second: Any) -> Exploration:
    tables = [from_array(rows) if isinstance(rows, np.ndarray) else from_objects(rows) for rows in (first, second)]
    return search._halves((tables[0], tables[1]), FORECAST, thin=False)


def best(candidates: Any) -> float:
    return max((candidate.lead.promise for candidate in candidates), default=-math.inf)


def several_peaks(shift: float, rng: np.random.Generator) -> Any:
    """The likelihood ratio goes up and down three times: a square wave, 2e + 1 to 1."""
    x = rng.random(SIZE) * 6
    return np.where(rng.random(SIZE) < 1 / (1 + math.exp(-1)), 2 * (x // 2) + shift + x % 1, x)


def test_a_likelihood_ratio_that_goes_up_and_down_is_cut_into_pieces() -> None:
    rng = np.random.default_rng(1)
    both = exploration(several_peaks(0, rng), several_peaks(1, rng))
    found = list(pieces_events.propose(both, Coordinate(())))
    assert any(isinstance(candidate.event, Pieces) and len(candidate.event.intervals) >= 3 for candidate in found)
    assert best(found) > 1.6
    assert not list(pieces_events.propose(exploration(np.zeros(90), np.zeros(90)), Coordinate(())))


def many_bits(tilt: float, rng: np.random.Generator) -> Any:
    return (rng.random((SIZE, 12)) < 0.5 + tilt).astype(np.int8)


def test_independent_coordinates_are_added_up() -> None:
    """Twelve bits, 0.2 each way: the best two of them show 0.4 at most, all of them ten times that."""
    rng = np.random.default_rng(2)
    both = exploration(many_bits(0.05, rng), many_bits(-0.05, rng))
    axes = learning.axes_of(both.search, [Coordinate((place,)) for place in range(12)], 16)
    score = learning.additive(both.search, axes)
    assert score is not None
    assert len(score.axes) == 12
    assert best(learned_events.propose(both, score)) > 0.7
    alike = exploration(many_bits(0, rng), many_bits(0, rng))
    axes = learning.axes_of(alike.search, [Coordinate((place,)) for place in range(3)], 16)
    few = learning.additive(alike.search, axes[:1])
    assert few is None


def paired(same: bool, rng: np.random.Generator) -> Any:
    """Three uniform coordinates; the signs of the first two tend to agree, or to differ. None of them alone says anything."""
    x = rng.uniform(-1, 1, (SIZE, 3))
    agree = (x[:, 0] > 0) == (x[:, 1] > 0)
    flip = (agree != same) & (rng.random(SIZE) < 0.5)
    x[flip, 1] *= -1
    return x


def test_trees_see_what_two_coordinates_say_together() -> None:
    rng = np.random.default_rng(3)
    both = exploration(paired(True, rng), paired(False, rng))
    axes = learning.axes_of(both.search, [Coordinate((place,)) for place in range(3)], 8)
    score = learning.boosted(both.search, axes)
    assert score is not None
    assert best(learned_events.propose(both, score)) > 0.9
    assert any(len(term.axes) == 2 for term in score.terms)


def test_a_boosted_score_is_what_the_trees_say() -> None:
    """Up to a constant and the rounding to thousandths, the sum of tables is scikit-learn's own decision function."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng = np.random.default_rng(4)
    both = exploration(paired(True, rng), paired(False, rng))
    axes = learning.axes_of(both.search, [Coordinate((place,)) for place in range(3)], 8)
    models = []
    fit = HistGradientBoostingClassifier.fit

    def kept(self: Any, *arguments: Any) -> Any:
        models.append(self)
        return fit(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HistGradientBoostingClassifier, "fit", kept)
        score = learning.boosted(both.search, axes)
    assert score is not None
    table = both.rank[0]
    cells = np.stack([axis.places(table) for axis in axes], axis=1).astype(np.float32)
    difference = models[0].decision_function(cells) - score.values(table)
    assert np.ptp(difference) <= 0.001 * (len(score.terms) + 1)


def test_trees_that_cannot_be_read_teach_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng = np.random.default_rng(4)
    both = exploration(paired(True, rng), paired(False, rng))
    axes = learning.axes_of(both.search, [Coordinate((place,)) for place in range(3)], 8)
    monkeypatch.setattr(HistGradientBoostingClassifier, "fit", lambda self, *arguments: self)
    assert learning.boosted(both.search, axes) is None


def test_what_changes_nothing_is_left_out_of_a_score() -> None:
    axes = [Axis(Coordinate((place,)), (0.0, 1.0)) for place in range(3)]
    terms = [
        ((0,), np.array([0.1, 0.1, 0.3, 0.3])),
        ((0, 1), np.tile([0.2, 0.5, 0.5, 0.5], 4)),
        ((2,), np.array([0.4, 0.4, 0.4, 0.4])),
    ]
    score = learning.simplified(axes, terms)
    assert score is not None
    assert [axis.cuts for axis in score.axes] == [(1.0,), (0.0,)]
    assert score.terms == (Term((0,), (100, 300, 300)), Term((0, 1), (200, 500, 500) * 3))
    assert learning.simplified(axes, terms[2:]) is None


def mixed(kind: int, rng: np.random.Generator) -> list[Any]:
    """A word, a missing value and a number; which word and whether it is missing go together."""
    words = rng.integers(0, 3, 3000)
    missing = rng.random(3000) < np.where((words == 1) == bool(kind), 0.7, 0.3)
    numbers = rng.normal(size=3000)
    return [["abc"[word], None if gone else 1.0, x] for word, gone, x in zip(words, missing, numbers, strict=True)]


def test_scores_read_words_and_missing_values_too() -> None:
    rng = np.random.default_rng(5)
    both = exploration(mixed(0, rng), mixed(1, rng))
    scalars = families._score_scalars(both, [(0,), (1,), (2,)])
    assert any(isinstance(scalar, PlaceOfCode) for scalar in scalars)
    score = learning.boosted(both.search, learning.axes_of(both.search, scalars, 8))
    assert score is not None
    assert best(learned_events.propose(both, score)) > 0.4


def picked(first: Any, second: Any, enough: float) -> list[str]:
    tables: tuple[Table, Table] = (from_array(first), from_array(second))
    return [one.event.describe() for one in search.pick(tables, grid={}, bits=False, forecast=FORECAST, enough=enough)]


def test_trees_grow_only_where_nothing_cheaper_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    grown: list[int] = []
    boosted = learning.boosted
    monkeypatch.setattr(learning, "boosted", lambda tables, axes: grown.append(len(axes)) or boosted(tables, axes))
    rng = np.random.default_rng(6)
    first, second = paired(True, rng), paired(False, rng)
    picked(first, second, -math.inf)
    assert not grown
    picked(first, second, math.inf)
    assert grown
    grown.clear()
    picked(many_bits(0.05, rng)[:, :4], many_bits(-0.05, rng)[:, :4], math.inf)  # sixteen patterns are counted instead
    picked(first[:, :1], second[:, :1], math.inf)  # one coordinate is a matter of intervals
    picked(first[:900], second[:900], math.inf)  # too few to learn from
    assert not grown
