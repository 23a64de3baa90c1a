"""Every family finds a planted violation, says what it found, and survives being saved."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.audit.api import audit
from dpverify.audit.events import Both, Equal, Holds, IsKind, OneOf, OnLattice, Within, event_from_json
from dpverify.audit.events.lattice import NO_BIT, lowest_bits, multiples
from dpverify.audit.events.pieces import Pieces, _in_cells
from dpverify.audit.events.thresholds import cut_points, plain_cut
from dpverify.audit.features import Aggregate, Combination, Coordinate, scalar_from_json
from dpverify.audit.grid import before_rounding
from dpverify.audit.ordered import Ordered
from dpverify.audit.reading import from_array, from_objects
from dpverify.audit.table import LENGTH, Kind
from dpverify.errors import InputError
from dpverify.guarantees import Verdict

X = Coordinate(())
TEXT = from_objects(["yes", "no"])


def rounded(values: Any) -> Any:
    """To multiples of 2^-10, so that low-order bits say nothing."""
    return np.round(np.asarray(values) * 1024) / 1024


# One mechanism for each family. Only the planted violation separates the two inputs, or it separates them far better.


def threshold(data, rng, size):
    return rounded(data + rng.laplace(0, 0.3, size))


def interval(data, rng, size):
    """A bump between 2 and 3 that only one input has."""
    bump = rng.random(size) < 0.2 * data
    return rounded(np.where(bump, 2 + rng.random(size), 5 * rng.random(size)))


def outer_interval(data, rng, size):
    """The same centre and twice the width: both tails are likelier, no threshold is much."""
    return rounded(rng.normal(0, 1 + data, size))


def atom_of_a_coordinate(data, rng, size):
    values = rng.integers(0, 40, size)
    return np.where((rng.random(size) < 0.1) & (data == 1), 17, values)


def set_of_atoms(data, rng, size):
    """Even numbers on one input: each alone is rare."""
    values = rng.integers(0, 100, size)
    return np.where(rng.random(size) < 0.6 * data, values & ~1, values)


def whole_output(data, rng, size):
    """Two numbers of three bits, each uniform; only whether they share an odd number of bits tells the inputs apart."""
    first, second = np.divmod(np.arange(49), 7) + np.ones((2, 1), dtype=int)
    odd = np.bitwise_count(first & second) % 2
    weight = np.where(odd == 1, 0.9 if data else 0.1, 0.1 if data else 0.9)
    chosen = rng.choice(49, size, p=weight / weight.sum())
    return np.stack([first[chosen], second[chosen]], axis=1)


def text_category(data, rng, size):
    return np.array(["blue", "green", "red"])[np.where(rng.random(size) < 0.3 * data, 2, rng.integers(0, 2, size))]


def difference(data, rng, size):
    shared = rng.normal(0, 10, size)
    return rounded(np.stack([shared + data, shared + rng.laplace(0, 0.2, size)], axis=1))


def total(data, rng, size):
    shared = rng.normal(0, 10, size)
    return rounded(np.stack([shared + data, -shared + rng.laplace(0, 0.2, size)], axis=1))


def equality(data, rng, size):
    pair = rng.integers(0, 1000, (size, 2))
    pair[:, 1] = np.where(rng.random(size) < 0.3 * data, pair[:, 0], pair[:, 1])
    return pair


def missing(data, rng, size):
    return np.where(rng.random(size) < 0.2 + 0.3 * data, np.nan, rounded(rng.normal(size=size)))


def no_answer(data, rng):
    return None if rng.random() < 0.1 + 0.4 * data else int(rng.integers(0, 9))


def mixed_types(data, rng):
    return "refused" if rng.random() < 0.1 + 0.4 * data else float(rng.integers(0, 9))


def ragged(data, rng):
    return [int(rng.integers(0, 9)) for _ in range(rng.poisson(2 + 2 * data))]


def dictionary(data, rng):
    answer = {"count": int(rng.integers(0, 9))}
    if rng.random() < 0.05 + 0.3 * data:
        answer["rare"] = 1
    return answer


def letters(data, rng):
    """A set of half of twenty letters; one of them, which may stand anywhere among the others, leaks."""
    found = {letter for letter in "abcdefghijklnopqrst" if rng.random() < 0.5}
    return found | {"m"} if rng.random() < 0.1 + 0.3 * data else found


def floats_of_a_set(data, rng):
    return frozenset((2.0 * data + rng.laplace(size=3)).tolist())


def support(data, rng, size):
    return rng.integers(0, 20 + data, size)


def lattice(data, rng, size):
    return data + rng.laplace(0, 1, size)


def category_and_value(data, rng, size):
    """The value leaks its sign only where the category is 2."""
    category = rng.integers(0, 6, size)
    value = rng.normal(0, 1, size)
    value = np.where(category == 2, np.abs(value) * (1 if data else -1), value)
    return rounded(np.stack([category, value], axis=1))


def two_thresholds(data, rng, size):
    """The correlation of two standard normal numbers changes its sign."""
    first, noise = rng.normal(size=(2, size))
    return rounded(np.stack([first, (0.9 if data else -0.9) * first + math.sqrt(0.19) * noise], axis=1))


def ones(data, rng, size):
    return (rng.random((size, 30)) < (0.6 if data else 0.4)).astype(np.int8)


def matrix(data, rng, size):
    grid = rng.normal(size=(size, 2, 2))
    grid[:, 1, 0] += 2 * data
    return rounded(grid)


def structured(data, rng, size):
    batch = np.zeros(size, dtype=[("label", "U3"), ("value", float)])
    batch["label"] = np.where(rng.random(size) < 0.5, "yes", "no")
    batch["value"] = rounded(rng.laplace(2 * data, 0.5, size))
    return batch


PLANTED: list[tuple[Callable[..., Any], float, str]] = [
    (threshold, 1, "output"),
    (interval, 0.2, "output"),
    (outer_interval, 1.5, "output"),
    (atom_of_a_coordinate, 1, "output is 17|16 < output <= 17"),
    (set_of_atoms, 0.5, "output is one of"),
    (whole_output, 1, "output is one of"),
    (text_category, 1, "'red'"),
    (difference, 2, r"output\[0\] - output\[1\]"),
    (total, 2, r"output\[0\] \+ output\[1\]|sum"),
    (equality, 2, r"output\[0\] == output\[1\]|output\[0\] - output\[1\]"),
    (missing, 0.4, "output is NaN|output is a number|output is not|output"),
    (no_answer, 1, "None|number"),
    (mixed_types, 1, "text|number|refused|length"),
    (ragged, 0.7, "length of output|absent|output"),
    (dictionary, 1, "rare|length"),
    (letters, 0.8, "'m' is (not )?among the items of output"),
    (floats_of_a_set, 2, r"output\[\d\] |smallest|largest|sum"),
    (support, 1, "20|> 19"),
    (lattice, 1, r"multiple of 2\^"),
    (category_and_value, 1, r"output\[0\].* and output\[1\]|output"),
    (two_thresholds, 1, r"output\[0\].* and output\[1\]|output\[0\] [-+] output\[1\]|largest|smallest"),
    (ones, 3, "sum of all numbers|count of non-zero"),
    (matrix, 2, r"output\[1\]\[0\]|largest|sum"),
    (structured, 3, r"output\['value'\]|sum|largest"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "epsilon", "said"), PLANTED, ids=lambda value: getattr(value, "__name__", ""))
def test_a_planted_violation_is_found(mechanism: Any, epsilon: float, said: str) -> None:
    """The claim is false, so there is no false alarm to bound; the seed is fixed."""
    result = audit(mechanism, inputs=(0, 1), epsilon=epsilon, samples=8_000, alpha=1e-4, seed=1)
    assert result.verdict is Verdict.REFUTED
    assert result.witness is not None
    assert re.search(said, result.witness.description), result.witness.description
    assert event_from_json(json.loads(json.dumps(result.witness.event))).describe() == result.witness.description


def test_both_directions_are_tried() -> None:
    for inputs, likelier in (((0, 1), 1), ((1, 0), 0)):
        result = audit(support, inputs=inputs, epsilon=1, samples=8_000, alpha=1e-4)
        assert result.witness is not None
        assert result.witness.likelier == likelier
        assert result.witness.other_hits == 0


# --- single events ----------------------------------------------------------------------------------------------------

NUMBERS = from_array(np.array([-1.0, 0.0, 0.5, 2.0, math.nan, math.inf]))
SETS = from_objects([{"a", "b"}, {"a", "A"}, set(), {"b"}])
PAIRS = from_array(np.array([[1.0, 1.0], [1.0, 2.0], [math.nan, math.nan], [3.0, -3.0]]))


@pytest.mark.parametrize(
    ("event", "table", "rows", "text"),
    [
        (Within(X, -math.inf, 0.5), NUMBERS, [0, 1, 2], "output <= 0.5"),
        (Within(X, 0.0, math.inf), NUMBERS, [2, 3, 5], "output > 0"),
        (Within(X, -1.0, 0.5), NUMBERS, [1, 2], "-1 < output <= 0.5"),
        (Within(X, 0.0, 2.0, False), NUMBERS, [0, 1, 5], "output <= 0 or > 2"),
        (Within(Combination((0,), (1,), -1), 0.5, math.inf), PAIRS, [3], "output[0] - output[1] > 0.5"),
        (Within(Combination((0,), (1,), 1), -math.inf, 0.0), PAIRS, [3], "output[0] + output[1] <= 0"),
        (Within(Aggregate("sum"), 1.0, math.inf), PAIRS, [0, 1], "sum of all numbers in output > 1"),
        (Within(Aggregate("largest"), 1.0, math.inf), PAIRS, [1, 3], "largest number in output > 1"),
        (Within(Aggregate("smallest"), -math.inf, 0.0), PAIRS, [3], "smallest number in output <= 0"),
        (Within(Aggregate("nonzero"), 1.0, math.inf), PAIRS, [0, 1, 3], "count of non-zero numbers in output > 1"),
        (Equal((0,), (1,)), PAIRS, [0, 2], "output[0] == output[1]"),
        (Equal((0,), (1,), True), PAIRS, [1, 3], "output[0] != output[1]"),
        (IsKind((), Kind.NAN), NUMBERS, [4], "output is NaN"),
        (IsKind((), Kind.NAN, True), NUMBERS, [0, 1, 2, 3, 5], "output is not NaN"),
        (IsKind((7,), Kind.ABSENT), PAIRS, [0, 1, 2, 3], "output[7] is absent"),
        (OnLattice((), 0, None), NUMBERS, [0, 1, 3], "output is a multiple of 2^0"),
        (OnLattice((), 0, 1, False), NUMBERS, [2], "|output| < 2^1 and output is not a multiple of 2^0"),
        (OnLattice((), 0, None, True, 0.5), NUMBERS, [2], "output - 0.5 is a multiple of 2^0"),
        (OnLattice((), 0, None, True, -0.5), NUMBERS, [2], "output + 0.5 is a multiple of 2^0"),
        (OneOf(None, (int(TEXT.whole()[0]),), ("'yes'",)), TEXT, [0], "output is 'yes'"),
        (
            OneOf((), tuple(map(int, TEXT.column(()).codes)), ("'yes'",)),
            TEXT,
            [0, 1],
            "output is one of 'yes' and 1 more values",
        ),
        (Holds((), int(SETS.column((0,)).codes[0]), "'a'"), SETS, [0, 1], "'a' is among the items of output"),
        (Holds((), int(SETS.column((0,)).codes[0]), "'a'", True), SETS, [2, 3], "'a' is not among the items of output"),
        (Both(Within(X, 0.0, math.inf), Within(X, -math.inf, 2.0)), NUMBERS, [2, 3], "output > 0 and output <= 2"),
    ],
)
def test_an_event_holds_what_it_says_and_can_be_saved(event: Any, table: Any, rows: list[int], text: str) -> None:
    assert np.flatnonzero(event.mask(table)).tolist() == rows
    assert event.describe() == text
    again = event_from_json(json.loads(json.dumps(event.to_json())))
    assert again == event
    assert again.describe() == text


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"family": "unheard of"},
        {"family": "within", "of": {"scalar": "coordinate"}, "low": 0, "high": 1, "inside": True},
        {"family": "within", "of": X.to_json(), "low": "x", "high": 1, "inside": True},
        {"family": "one of", "path": None, "codes": [], "examples": []},
        {"family": "one of", "path": None, "codes": ["xyz"], "examples": []},
        {"family": "kind", "path": [], "kind": "odd", "negated": False},
        {"family": "holds", "path": [], "code": f"{2**64:x}", "example": "1", "negated": False},
        {"family": "both", "first": {}, "second": {}},
    ],
)
def test_what_describes_no_event_is_refused(data: Any) -> None:
    with pytest.raises(InputError, match="evidence: "):
        event_from_json(data)


@pytest.mark.parametrize("data", [{"scalar": "aggregate", "which": "median"}, {"scalar": "other"}])
def test_what_describes_no_scalar_is_refused(data: Any) -> None:
    with pytest.raises(InputError, match="describes no scalar"):
        scalar_from_json(data)


# --- parts ------------------------------------------------------------------------------------------------------------


@given(st.integers(-(2**52), 2**52 - 1), st.integers(-1000, 900))
def test_the_lowest_bit_of_a_double(odd: int, exponent: int) -> None:
    """(2 m + 1) 2^e is a multiple of 2^e and of no larger power."""
    value = math.ldexp(2 * odd + 1, exponent)
    lowest, magnitude = lowest_bits(np.array([value]))
    assert lowest[0] == exponent
    assert 2.0 ** (magnitude[0] - 1) <= abs(value) < 2.0 ** magnitude[0]


DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(DOUBLES, min_size=1, max_size=20), st.integers(-1080, 1030))
def test_multiples_are_told_as_their_lowest_bits_tell_them(values: list[float], exponent: int) -> None:
    array = np.array([*values, 0.0, 5e-324, math.ldexp(3, exponent // 2), math.ldexp(1, min(exponent, 1023))])
    assert multiples(array, exponent).tolist() == (lowest_bits(array)[0] >= exponent).tolist()


@given(st.lists(st.floats(-9, 9), min_size=2, max_size=140, unique=True), st.booleans())
def test_intervals_are_counted_however_many_there_are(ends: list[float], from_below: bool) -> None:
    ends = sorted(ends)[: len(ends) // 2 * 2]
    intervals = tuple(zip(ends[::2], ends[1::2], strict=True))
    if from_below:
        intervals = ((-math.inf, intervals[0][1]), *intervals[1:])
    values = np.array([*ends, *np.linspace(-10, 10, 50), math.nan, math.inf, -math.inf])
    expected = [any(low < value <= high or value == low == -math.inf for low, high in intervals) for value in values.tolist()]
    table, event = from_array(values), Pieces(X, intervals)
    assert event.mask(table).tolist() == expected
    moved = before_rounding(event, {(): 0.5}, table)
    assert moved is None or moved.mask(table).tolist() == event.mask(table.rounded({(): 0.5})).tolist()
    assert before_rounding(event, {}, table) is event


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=30), st.integers(-5, 5), st.sampled_from([0.25, 1.0]), st.data())
def test_a_number_is_counted_without_rounding_as_with_it(steps: list[int], at: int, spacing: float, data: Any) -> None:
    nudges = data.draw(st.lists(st.sampled_from([-0.5, -0.3, 0.0, 0.2, 0.5]), min_size=len(steps), max_size=len(steps)))
    values = (np.array(steps, dtype=np.float64) + nudges) * spacing
    values = np.concatenate([values, np.nextafter(values, math.inf), np.nextafter(values, -math.inf), [-0.0]])
    table = from_array(values)
    grid = {(): spacing}
    event = OneOf((), (int(np.float64(at * spacing).view(np.uint64)),), (repr(at * spacing),))
    plain = before_rounding(event, grid, table)
    assert isinstance(plain, Within)
    assert plain.mask(table).tolist() == event.mask(table.rounded(grid)).tolist()


def test_what_no_rounded_number_is_is_sought_among_rounded_ones() -> None:
    numbers = from_array(np.array([0.0, 1.0]))
    for code in (1 << 63, int(np.float64(0.3).view(np.uint64)), int(np.float64(2.0**60).view(np.uint64))):
        assert before_rounding(OneOf((), (code,), ("",)), {(): 0.25}, numbers) is None
    zero = OneOf((), (0,), ("0",))
    assert before_rounding(zero, {(): 0.25}, numbers) is not None
    assert before_rounding(zero, {}, numbers) is None
    for table in (from_array(np.array([0.0, math.nan])), TEXT):
        assert before_rounding(zero, {(): 0.25}, table) is None


def test_numbers_on_a_grid_are_ordered_as_others_are() -> None:
    rng = np.random.default_rng(3)
    first, second = (np.rint(rng.normal(0, 50, size)) / 4 for size in (900, 1100))
    second[7] = math.nan
    plain, steps = Ordered.of(first, second), Ordered.of(first, second, spacing=0.25)
    for attribute in ("first", "second", "pooled", "counts"):
        assert np.array_equal(getattr(plain, attribute), getattr(steps, attribute))
    for odd in (0.1, 2.0**40, math.inf):  # which are no such multiples
        assert Ordered.of(np.append(first, odd), second, spacing=0.25).pooled[-1] == max(odd, plain.pooled[-1])


def test_values_are_counted_in_cells_and_what_is_no_number_in_none() -> None:
    values = np.array([math.nan, -13.0, -12.0, 0.0, 0.25, 8.0, math.inf, -math.inf])
    cuts = np.array([-12.0, -3.0, 0.0, 0.5, 7.0])
    assert _in_cells(values, cuts).tolist() == [3, 0, 1, 1, 0, 2]


def test_zero_is_a_multiple_of_everything_and_infinity_of_nothing() -> None:
    lowest, magnitude = lowest_bits(np.array([0.0, math.inf, math.nan]))
    assert lowest.tolist()[0] == NO_BIT
    assert magnitude[0] == -NO_BIT
    mask = OnLattice((), -1000, None).mask(from_array(np.array([0.0, math.inf, math.nan])))
    assert mask.tolist() == [True, False, False]


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30, unique=True), st.data())
def test_a_plain_cut_separates_as_the_cut_does(values: list[float], data: Any) -> None:
    pooled = np.sort(np.array(values))
    cut = data.draw(st.sampled_from(list(pooled[:-1])))
    plain = plain_cut(cut, pooled)
    assert ((pooled <= plain) == (pooled <= cut)).all()
    assert len(repr(plain)) <= max(len(repr(float(cut))), 6)


def test_cuts_reach_into_the_tails() -> None:
    values = np.sort(np.random.default_rng(0).normal(size=20_000))
    cuts = cut_points(Ordered.of(values, values[::2]), 512)
    assert values[0] in cuts
    assert values[-2] in cuts
    assert len(cuts) < 700
    assert plain_cut(math.inf, values) == math.inf


def test_lengths_are_coordinates() -> None:
    assert Coordinate((LENGTH,)).values(from_objects(["a", "abc"])).tolist() == [1, 3]


def test_noise_on_a_grid_shows_the_answer_that_lies_off_it() -> None:
    def snapped_noise(data: float, rng: np.random.Generator, size: int) -> Any:
        return data + np.ldexp((rng.geometric(1e-6, size) - rng.geometric(1e-6, size)).astype(float), -20)

    found = audit(snapped_noise, inputs=(0.1, 0.7), epsilon=2, samples=40_000, alpha="1e-6")
    assert found.verdict is Verdict.REFUTED
    assert found.verdict_on_reals is Verdict.NOT_REFUTED
    assert found.witness is not None
    assert re.fullmatch(r"(\|.*\| < 2\^\d+ and )?output - 0\.[17] is a multiple of 2\^-\d+", found.witness.description)


def test_bytes_of_one_width_are_read_place_by_place() -> None:
    def masked(data: int, rng: np.random.Generator, size: int) -> list[bytes]:
        told = np.where(rng.random((size, 6)) < 0.75, data, 1 - data).astype(np.uint8)
        return [row.tobytes() for row in np.concatenate([rng.integers(0, 256, (size, 6), dtype=np.uint8), told], axis=1)]

    found = audit(masked, inputs=(0, 1), epsilon="1.5", samples=40_000, alpha="1e-6")
    assert found.verdict is Verdict.REFUTED  # each of six bits is told at ln 3
    assert found.epsilon_lower > 1.5
