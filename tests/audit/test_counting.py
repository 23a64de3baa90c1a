"""Events counted by way of others are counted as they are alone."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpverify.audit import counting, dependence
from dpverify.audit.counting import RARE, counts_of
from dpverify.audit.events import Event, IsKind, Within
from dpverify.audit.features import Coordinate
from dpverify.audit.grid import before_rounding
from dpverify.audit.reading import from_array
from dpverify.audit.table import Kind

X = Coordinate(())
ENDS = st.sampled_from([-math.inf, -30.0, -21.0, -14.0, 0.0, 14.0, 22.0, 31.0, math.inf])


@st.composite
def thresholds(draw: st.DrawFn) -> Within:
    low, high = sorted((draw(ENDS), draw(ENDS)))
    return Within(X, low, high if high > low else math.inf, draw(st.booleans()))


@given(st.lists(thresholds(), min_size=1, max_size=5), st.lists(st.booleans(), min_size=5, max_size=5), st.integers(0, 9))
def test_thresholds_inside_others_are_counted_as_alone(events: list[Within], precise: list[bool], seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 10, 600)
    values[::50] = math.nan
    values[100:104] = -40.0  # hits that follow each other
    table, grid = from_array(values), {(): 0.5}
    chosen: list[Event] = [*events, IsKind((), Kind.NAN)]
    exact = [*precise[: len(events)], False]
    expected = [
        dependence.counted(event.mask(table if sees else table.rounded(grid)))
        for event, sees in zip(chosen, exact, strict=True)
    ]
    assert counts_of(table, chosen, exact, grid) == expected


def test_a_rare_threshold_answers_for_those_that_imply_it() -> None:
    outermost, inner, interval = Within(X, -math.inf, -20.0), Within(X, -math.inf, -25.0), Within(X, -30.0, -22.0)
    other, wide = Within(X, 20.0, math.inf), Within(X, 5.0, math.inf)
    assert counting._nested((inner, outermost, None, interval, other, wide)) == [(1, [0, 3]), (5, [4])]
    values = np.random.default_rng(0).normal(0, 10, 3000)
    table = from_array(values)
    assert np.count_nonzero(values <= -20) * RARE < 3000
    assert before_rounding(outermost, {}, table) is outermost
    assert [hits for hits, _, _ in counts_of(table, [inner, outermost, interval], [True] * 3, {})] == [
        np.count_nonzero(one.mask(table)) for one in (inner, outermost, interval)
    ]
