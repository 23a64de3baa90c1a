"""The plan of an audit: numbers of outputs that do suffice, and an epsilon that is seen; checked by simulation."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from dpverify.audit import plan, planning
from dpverify.audit.planning import audit_plan
from dpverify.audit.statistics import events
from dpverify.audit.statistics.counts import Counts
from dpverify.audit.statistics.power import power_at
from dpverify.errors import InputError

REPETITIONS = 400
LEAST = 325
"""Of 400 audits with power .9 fewer than 325 refute with probability 1e-7."""


def refuted(samples: int, mass: float, epsilon: float, delta: float, wanted: float) -> int:
    """How many of 400 simulated last looks refute, where the truth is `wanted`."""
    last = plan.stages_for(samples - min(plan.SPOT_CHECK, samples // 20), share=1 - plan.APART_SHARE)[-1]
    rng = np.random.default_rng(9)
    trials = 2 * last.confirm
    first = rng.binomial(trials, 0.5, REPETITIONS) if delta == 0 else np.full(REPETITIONS, last.confirm)
    hits, other_hits = rng.binomial(first, mass), rng.binomial(trials - first, (mass - delta) * math.exp(-wanted))
    alpha = 1e-3 * last.looks[-1].share / 2
    design: events.Design = "random-side" if delta == 0 else "fixed"
    return sum(
        events.rejects(
            Counts(hits=int(x), draws=int(n), other_hits=int(y), other_draws=int(trials - n)),
            epsilon=epsilon,
            delta=delta,
            alpha=alpha,
            design=design,
        )
        for x, y, n in zip(hits, other_hits, first, strict=True)
    )


@pytest.mark.parametrize(("mass", "resolution"), [(0.5, "0.1"), (0.1, "0.2"), (0.01, "0.5")])
def test_the_planned_outputs_show_the_resolution(mass: float, resolution: str) -> None:
    (row,) = audit_plan(epsilon=1, resolution=resolution, masses=(mass,)).rows
    assert row.exact
    assert row.samples is not None
    found = refuted(row.samples, mass, 1.0, 0.0, 1 + float(resolution))
    assert found >= LEAST
    fewer = refuted(row.samples // 2, mass, 1.0, 0.0, 1 + float(resolution))
    assert fewer < LEAST


def test_the_planned_outputs_show_the_resolution_at_a_delta() -> None:
    (row,) = audit_plan(epsilon=1, delta="0.01", resolution="0.5", masses=(0.3,)).rows
    assert row.exact
    assert row.samples is not None
    assert refuted(row.samples, 0.3, 1.0, 0.01, 1.5) >= LEAST


def test_given_outputs_show_the_epsilon_that_is_said() -> None:
    for row in audit_plan(epsilon=1, samples=50_000, masses=(0.5, 0.05)).rows:
        assert row.samples == 50_000
        assert refuted(50_000, row.mass, 1.0, 0.0, row.detectable_epsilon) >= LEAST


def test_finer_resolutions_and_rarer_events_need_more() -> None:
    needed = [
        [row.samples for row in audit_plan(epsilon=1, resolution=resolution).rows] for resolution in ("0.4", "0.2", "0.02")
    ]
    assert all(None not in row for row in needed)
    for row in needed:
        assert row == sorted(row)  # type: ignore[type-var]
    for one, other in pairwise(needed):
        assert all(a < b for a, b in zip(one, other, strict=True))  # type: ignore[operator]


def test_what_no_sample_shows_is_said() -> None:
    rows = audit_plan(epsilon=1, delta="0.2", resolution=1, masses=(0.1, 0.2)).rows
    assert [row.samples for row in rows] == [None, None]
    assert audit_plan(epsilon=1, resolution="1e-6", masses=(0.01,)).rows[0].samples is None
    assert math.isinf(audit_plan(epsilon=1, delta="0.2", masses=(0.1,)).rows[0].detectable_epsilon)
    assert math.isinf(audit_plan(epsilon=1, samples=100, masses=(0.001,)).rows[0].detectable_epsilon)


def test_beyond_seconds_of_work_the_number_is_an_approximation() -> None:
    (row,) = audit_plan(epsilon=1, resolution="1e-3", masses=(0.5,)).rows
    assert not row.exact
    assert row.samples is not None
    assert row.samples > planning.MOST_EXACT
    (row,) = audit_plan(epsilon=10, delta="1e-4", resolution="0.62", masses=(0.01,)).rows
    assert not row.exact
    (row,) = audit_plan(epsilon=10, delta="1e-4", samples=10**6, masses=(0.01,)).rows
    assert not row.exact


def test_the_power_lies_between_none_and_certainty_and_rises() -> None:
    powers = [
        power_at(draws=2_000, p=0.3, q=0.3 * math.exp(-e), epsilon=1.0, delta=0.0, alpha=1e-3) for e in (1.0, 1.2, 1.5, 2)
    ]
    assert powers == sorted(powers)
    assert powers[0] <= 1e-3
    assert powers[-1] > 0.99


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"resolution": 0}, "resolution = 0: the violation to be found is needed"),
        ({"resolution": "-1"}, "resolution = -1"),
        ({"resolution": 701}, "at most 700"),
        ({"masses": (0.5, 1.0)}, "strictly between 0 and 1"),
        ({"samples": 99}, "samples = 99: 100 or more is needed"),
        ({"epsilon": -1}, "a claim needs epsilon >= 0"),
        ({"alpha": 2}, "alpha = 2"),
    ],
)
def test_a_plan_that_cannot_be_made_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        audit_plan(**{"epsilon": 1, **options})  # type: ignore[arg-type]
