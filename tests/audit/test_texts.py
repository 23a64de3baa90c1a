"""Parts of texts: what they are, what they are called, and that what leaks through one of them is found.

Mechanisms return texts that are all different. Those with a planted violation have a false claim, so there is no false alarm
to bound; the sound ones are refuted with probability alpha = 1e-6 at most, each. Seeds are fixed.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.audit import dissecting, families
from dpverify.audit.api import audit
from dpverify.audit.dissecting import opened
from dpverify.audit.events import IsKind, OneOf, Within, event_from_json
from dpverify.audit.evidence import recheck
from dpverify.audit.exploration import Exploration, Forecast
from dpverify.audit.features import Coordinate
from dpverify.audit.journal import _laid_out, _table
from dpverify.audit.reading import from_array, from_objects
from dpverify.audit.table import LENGTH, Kind, Table, joined, name, path_from_json
from dpverify.audit.texts import NUMBER, Part, is_part, part_of
from dpverify.errors import InputError
from dpverify.guarantees import Verdict

ROW = "ann,12.5,x=-3;y=.5e1"
JSON = '{"age": 40, "tags": ["a", "bc"], "length": 7, "note": null, "ok": true, "x": NaN}'


def cell(text: Any, *steps: int | str) -> Any:
    """What is there: a number, a text, or the kind of what is neither."""
    column = from_objects([text, 5, None]).column(tuple(steps))
    kind = Kind(column.kinds[0])
    assert [Kind(other) for other in column.kinds[1:]] == [Kind.ABSENT] * 2  # what is no text has no parts
    if kind is Kind.NUMBER:
        return float(column.values[0])
    return column.texts[0] if kind is Kind.TEXT and column.texts is not None else kind


@pytest.mark.parametrize(
    ("text", "steps", "found"),
    [
        ("abc", ["text:character:0:"], 97),
        ("abc", ["text:character:-1:"], 99),
        ("abc", ["text:character:3:"], Kind.ABSENT),
        ("abc", ["text:character:-4:"], Kind.ABSENT),
        ("", ["text:character:-1:"], Kind.ABSENT),
        ("\N{GRINNING FACE}", ["text:character:0:"], 0x1F600),
        ("abc", ["text:first:2:"], "ab"),
        ("abc", ["text:last:2:"], "bc"),
        ("abc", ["text:last:9:"], "abc"),
        (ROW, ["text:field:0:,"], "ann"),
        (ROW, ["text:field:-1:,"], "x=-3;y=.5e1"),
        (ROW, ["text:field:3:,"], Kind.ABSENT),
        (ROW, ["text:field:-4:,"], Kind.ABSENT),
        (ROW, ["text:field:1:,", "text:number::"], 12.5),
        (ROW, ["text:field:0:,", "text:number::"], Kind.ABSENT),
        (ROW, ["text:field:2:,", "text:field:0:;", "text:field:1:=", "text:number::"], -3),
        (ROW, ["text:field:0:,", LENGTH], 3),
        (ROW, ["text:number:0:"], 12.5),
        (ROW, ["text:number:1:"], -3),
        (ROW, ["text:number:2:"], 5),
        (ROW, ["text:number:3:"], Kind.ABSENT),
        ("12.75", ["text:number::"], 12.75),
        ("nan", ["text:number::"], Kind.ABSENT),
        ("-inf", ["text:number::"], -math.inf),
        ("1e999", ["text:number:0:"], Kind.ABSENT),
        ("a: b", ["text:field:1::"], " b"),
        ("aB 1-\N{LATIN SMALL LETTER E WITH ACUTE}", ["text:class::digits"], 1),
        ("aB 1-\N{LATIN SMALL LETTER E WITH ACUTE}", ["text:class::upper"], 1),
        ("aB 1-", ["text:class::lower"], 1),
        ("aB 1-", ["text:class::spaces"], 1),
        ("aB 1-", ["text:class::others"], 1),
        ("abcabc", ["text:count::bc"], 2),
        ("a:b:c", ["text:count:::"], 2),
        (JSON, ["text:json::", "age"], 40),
        (JSON, ["text:json::", "tags", 1], "bc"),
        (JSON, ["text:json::", "tags", 1, "text:character:-1:"], 99),
        (JSON, ["text:json::", "tags", 2], Kind.ABSENT),
        (JSON, ["text:json::", "tags", "x"], Kind.ABSENT),
        (JSON, ["text:json::", "tags", LENGTH], 2),
        (JSON, ["text:json::", "tags"], Kind.LIST),
        (JSON, ["text:json::", "age", LENGTH], Kind.ABSENT),
        (JSON, ["text:json::", "age", "text:first:1:"], Kind.ABSENT),
        (JSON, ["text:json::", "age", "text:field:1:,"], Kind.ABSENT),
        (JSON, ["text:json::", "age", "text:number:0:"], Kind.ABSENT),
        (JSON, ["text:json::", "age", "text:number:1:"], Kind.ABSENT),
        (JSON, ["text:json::", "age", "text:class::digits"], Kind.ABSENT),
        (JSON, ["text:json::", "age", "text:json::"], Kind.ABSENT),
        (JSON, ["text:json::", "'length'"], 7),
        (JSON, ["text:json::", "note"], Kind.NONE),
        (JSON, ["text:json::", "ok"], 1),
        (JSON, ["text:json::", "x"], Kind.NAN),
        ("no JSON", ["text:json::", "age"], Kind.ABSENT),
        ("[" * 100_000, ["text:json::", 0], Kind.ABSENT),
    ],
)
def test_a_part_is_what_it_says(text: str, steps: list[int | str], found: Any) -> None:
    assert cell(text, *steps) == found


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("2024-01-15 12:30", ["2024", "01", "15", "12", "30"]),
        ("about 12kg, -3.5% or 1e-3.", ["12", "-3.5", "1e-3."[:-1]]),
        ("a3f09b 7f3a 1_000 x-1", ["1"]),
        ("$5.", ["5."]),
    ],
)
def test_numbers_in_a_text_stand_by_themselves(text: str, numbers: list[str]) -> None:
    assert [match[0] for match in NUMBER.finditer(text)] == numbers


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (("text:character:0:",), "first character of output"),
        (("text:character:-1:",), "last character of output"),
        (("text:character:4:",), "character 5 of output"),
        (("text:character:-3:",), "character 3 from the end of output"),
        (("row", "text:first:2:"), "first 2 characters of output['row']"),
        (("text:field:1:,", LENGTH), "length of field 2 of output split at ','"),
        (("text:field:-1:\n", "text:number::"), "last field of output split at '\\n' read as a number"),
        (("text:number:1:",), "number 2 in output"),
        (("text:class::upper",), "count of capital letters A-Z in output"),
        (("text:count::#",), "count of '#' in output"),
        (("text:json::", "age", 0), "(output read as JSON)['age'][0]"),
        (("'length'",), "output['length']"),
    ],
)
def test_a_part_has_a_name_that_a_reader_understands(path: Any, said: str) -> None:
    assert name(path) == said
    assert path_from_json(json.loads(json.dumps(path))) == path


@pytest.mark.parametrize(
    "step",
    [
        "text:",
        "text:character",
        "text:character::",
        "text:character:01:",
        "text:character:0:x",
        "text:first:0:",
        "text:field:0:",
        "text:field::,",
        "text:number:-1:",
        "text:number::,",
        "text:class::vowels",
        "text:count::",
        "text:json:1:",
        "text:other::",
        "text:character:x:",
    ],
)
def test_what_is_no_part_is_refused_in_evidence(step: str) -> None:
    with pytest.raises(InputError, match="describes no event"):
        event_from_json({"family": "kind", "path": [step], "kind": "text", "negated": False})
    assert not is_part(("age", step.removeprefix("text:")))
    assert part_of("age") is None


def test_events_on_parts_hold_what_they_say_and_can_be_saved() -> None:
    table = from_objects(["ab", "b4", "", "b9"])
    last, first = ("text:character:-1:",), ("text:first:1:",)
    codes = tuple(map(int, table.column(first).codes[1:2]))
    for event, rows, text in (
        (Within(Coordinate(last), -math.inf, 52.5), [1], "code point of last character of output <= 52.5 ('4')"),
        (
            Within(Coordinate(("text:field:0:b", LENGTH)), 0.5, math.inf),
            [0],
            "length of first field of output split at 'b' > 0.5",
        ),
        (OneOf(first, codes, ("'b'",)), [1, 3], "first 1 characters of output is 'b'"),
        (IsKind(last, Kind.ABSENT), [2], "last character of output is absent"),
    ):
        assert np.flatnonzero(event.mask(table)).tolist() == rows
        assert event.describe() == text
        assert event_from_json(json.loads(json.dumps(event.to_json()))) == event


def test_a_key_that_looks_like_a_step_of_another_kind_is_a_key() -> None:
    table = from_objects([{"length": 3.5, "text:json::": 1}, {"length": 4.5, "text:json::": 2}])
    assert table.column((LENGTH,)).values.tolist() == [2, 2]
    assert table.column(("'length'",)).values.tolist() == [3.5, 4.5]
    assert table.column(("'text:json::'",)).values.tolist() == [1, 2]
    assert table.example(0) == "{['length']=3.5, ['text:json::']=1}"
    records = np.array([(1.5, 2.5)], dtype=[("length", float), ("b", float)])
    assert from_array(records).column(("'length'",)).values.tolist() == [1.5]


def test_texts_beside_other_things_are_kept_as_they_are() -> None:
    class Loud(str):
        __slots__ = ()

        def __str__(self) -> str:
            return self.upper()

    table = from_objects([np.str_("ab"), Loud("cd"), 3, None, b"ef", "gh"])
    texts = table.column(()).texts
    assert texts is not None
    assert texts.tolist() == ["ab", "cd", None, None, None, "gh"]
    assert table.example(1) == "('cd')"
    assert joined([table, from_objects([1.0])]).column(()).texts.tolist() == [*texts, None]  # type: ignore[union-attr]
    assert table.rounded({(): 1.0}).column(()).texts is texts
    assert from_objects([b"x"]).column(()).texts is None


@given(st.lists(st.text(alphabet="a1,.-=\n{}#\0\N{EURO SIGN}", max_size=9), min_size=1, max_size=8))
def test_what_a_part_is_depends_on_the_one_text_alone(texts: list[str]) -> None:
    together = from_objects(texts)
    alone = joined([from_objects([text]) for text in texts])
    mixed = from_objects([*texts, None, 3]).taken(slice(0, len(texts)))
    for kind, place, of in [
        *(("character", place, "") for place in (0, 2, -1, -3)),
        ("first", 2, ""),
        ("last", 2, ""),
        ("field", 1, ","),
        ("field", -2, "="),
        ("number", None, ""),
        ("number", 0, ""),
        ("number", 2, ""),
        ("class", None, "digits"),
        ("count", None, "a"),
    ]:
        path = (Part(kind, place, of).step,)
        for other in (alone, mixed):
            assert together.column(path).codes.tolist() == other.column(path).codes.tolist()
            assert together.column(path).kinds.tolist() == other.column(path).kinds.tolist()


def test_counting_characters_takes_many_texts_together(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a1b2"] * 5 + ["\N{EURO SIGN}7"] * 5
    monkeypatch.setattr("dpverify.audit.texts.CHUNK", 7)
    assert from_objects(texts).column(("text:class::digits",)).values.tolist() == [2] * 5 + [1] * 5


def test_tables_with_texts_can_be_laid_out_and_say_how_wide_they_are() -> None:
    table = from_objects([f"{'x' * 80}{n}" for n in range(100)])
    layout, rest = _laid_out(table)
    again = _table(json.loads(json.dumps(layout)), rest)
    assert again.column(()).texts.tolist() == table.column(()).texts.tolist()  # type: ignore[union-attr]
    assert again.whole().tolist() == table.whole().tolist()
    assert table.width > 2 + 16
    assert from_objects(["yes", "no"] * 50).width == 2


# --- which parts are opened -------------------------------------------------------------------------------------------

HEX = np.array(list("0123456789abcdef"))


def tokens(rng: np.random.Generator, size: int, length: int = 12) -> list[str]:
    """Texts that are all different and say nothing."""
    return ["".join(row) for row in HEX[rng.integers(0, 16, (size, length))]]


def coins(data: int, rng: np.random.Generator, size: int) -> list[bool]:
    """Which texts leak: 5 % for one input, 30 % for the other."""
    found: list[bool] = (rng.random(size) < (0.3 if data else 0.05)).tolist()
    return found


def noisy(data: int, rng: np.random.Generator, size: int, scale: float) -> list[float]:
    found: list[float] = (data + rng.laplace(0, scale, size)).tolist()
    return found


def pair(mechanism: Any, size: int = 4_000) -> tuple[Table, Table]:
    first, second = (from_objects(mechanism(data, np.random.default_rng(data), size)) for data in (0, 1))
    return first, second


def test_texts_of_few_values_and_numbers_are_left_alone() -> None:
    tables = pair(lambda data, rng, size: [f"bin {value}" for value in rng.integers(0, 30, size)])
    assert opened(tables) is tables
    numbers = from_array(np.arange(100.0)), from_array(np.arange(100.0))
    assert opened(numbers) is numbers


def test_parts_that_are_opened_are_what_is_read_off_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dissecting, "ROWS", 700)
    tables = pair(json_text)
    found = opened(tables)
    parts = [path for path in found[0].columns if is_part(path)]
    assert ("text:json::", "value") in parts
    for table, plain in zip(found, tables, strict=True):
        assert table.whole().tolist() == plain.whole().tolist()
        assert table.coordinates == plain.coordinates
        assert table.example(0) == plain.example(0)
        for path in parts:
            assert table.column(path).codes.tolist() == plain.column(path).codes.tolist()


def test_one_side_may_have_no_texts_at_all_and_few_of_them_may_be_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dissecting, "MOST_CHARACTERS", 1_000)
    rows = tokens(np.random.default_rng(0), 500)
    for missing in ([1.5] * 500, [{"a": 1}] * 500):
        found = opened((from_objects(rows), from_objects(missing)))
        parts = [path for path in found[0].columns if is_part(path)]
        assert parts
        assert all((found[1].column(path).kinds == Kind.ABSENT).all() for path in parts)
    nested = from_objects([{"note": text} for text in rows]), from_objects([{}] * 500)
    assert any(is_part(path) for path in opened(nested)[1].columns)


# --- leaks ------------------------------------------------------------------------------------------------------------


def last_character(data, rng, size):
    return [text + ("f" if leaks else "e") for text, leaks in zip(tokens(rng, size), coins(data, rng, size), strict=True)]


def prefix(data, rng, size):
    return [("id-" if leaks else "no-") + text for text, leaks in zip(tokens(rng, size), coins(data, rng, size), strict=True)]


def repeated_character(data, rng, size):
    """The first two characters are equal too often; each alone says nothing."""
    return [
        text[0] + (text[0] if leaks else text[1]) + text[2:]
        for text, leaks in zip(tokens(rng, size), coins(data, rng, size), strict=True)
    ]


def middle_field(data, rng, size):
    rows = zip(tokens(rng, size), coins(data, rng, size), tokens(rng, size), strict=True)
    return [f"{one},{'NY' if leaks else 'LA'},{other}" for one, leaks, other in rows]


def end_of_a_field(data, rng, size):
    rows = zip(tokens(rng, size, 8), coins(data, rng, size), tokens(rng, size, 8), rng.integers(1, 9, size), strict=True)
    return [f"{'z' * int(width)}{one}{'7' if leaks else 'q'},{other}" for one, leaks, other, width in rows]


def formatted_number(data, rng, size):
    return [f"{value:.4f}" for value in noisy(data, rng, size, 0.5)]


def number_in_a_label(data, rng, size):
    return [f"about {value:.4f} people" for value in noisy(data, rng, size, 0.5)]


def row_of_numbers(data, rng, size):
    rows = zip(rng.integers(0, 10**6, size), noisy(data, rng, size, 0.5), rng.normal(size=size), strict=True)
    return [f"user{user};{value:.3f};{other:.3f}" for user, value, other in rows]


def lines_of_values(data, rng, size):
    rows = zip(tokens(rng, size), noisy(data, rng, size, 0.5), strict=True)
    return [f"id={one}\nvalue={value:.3f}\n" for one, value in rows]


def json_text(data, rng, size):
    rows = zip(tokens(rng, size), noisy(data, rng, size, 0.5), strict=True)
    return [json.dumps({"id": one, "value": round(value, 4), "tags": ["a"]}) for one, value in rows]


def presence(data, rng, size):
    """A sign somewhere among the characters, in the place of another one."""
    rows = zip(tokens(rng, size), coins(data, rng, size), rng.integers(0, 12, size), strict=True)
    return [f"{one[:place]}{'#' if leaks else '='}{one[place:]}" for one, leaks, place in rows]


def many_digits(data, rng, size):
    """Digits rather than letters, each of them as good as any other."""
    letters = np.array(list("abcdefgh0123"))
    return [
        "".join(row)
        for row in letters[np.where(rng.random((size, 16)) < 0.4 + 0.2 * data, 8, 0) + rng.integers(0, 4, (size, 16))]
    ]


def words_of_any_number(data, rng, size):
    rows = zip(tokens(rng, size, 6), coins(data, rng, size), rng.integers(1, 5, size), strict=True)
    return [" ".join([one] * int(count)) + (" yes" if leaks else " no") for one, leaks, count in rows]


LEAKS = [
    (last_character, "last character of output|last 2 characters of output|score"),
    (prefix, "character|'i|'n"),
    (repeated_character, "first . characters of output"),
    (middle_field, "field 2 of output split at ','|count of '.?[NYLA]"),
    (end_of_a_field, "from the end|field 1|first field|count of '[7q]|score"),
    (formatted_number, "output read as a number|length of output|first character"),
    (number_in_a_label, "number|output split at ' '|character"),
    (row_of_numbers, "field 2 of output split at ';'|number in output"),
    (lines_of_values, "field 2 of output split at"),
    (json_text, "output read as JSON.\\['value'\\]"),
    (presence, "count of '[#=]'"),
    (many_digits, "count of|score|character"),
    (words_of_any_number, "last|count of|score|from the end"),
]


@pytest.mark.parametrize(("mechanism", "said"), LEAKS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_leak_in_a_part_of_a_text_is_found(mechanism: Any, said: str) -> None:
    result = audit(mechanism, inputs=(0, 1), epsilon=1, samples=100_000, alpha=1e-4, seed=1)
    assert result.verdict is Verdict.REFUTED
    assert result.verdict_on_reals is Verdict.REFUTED
    assert result.witness is not None
    assert re.search(said, result.witness.description), result.witness.description
    saved = json.loads(json.dumps(result.evidence))
    assert recheck(saved).verdict is Verdict.REFUTED
    for test in saved["tests"]:
        assert event_from_json(test["event"]).describe() == test["description"]


def test_a_leak_in_the_text_under_a_key_is_found() -> None:
    def mechanism(data, rng, size):
        return [{"note": text, "n": 1} for text in last_character(data, rng, size)]

    result = audit(mechanism, inputs=(0, 1), epsilon=0.5, samples=20_000, alpha=1e-4, seed=1)
    assert result.verdict is Verdict.REFUTED
    assert result.witness is not None
    assert "output['note']" in result.witness.description


def test_a_leak_under_a_key_called_length_is_found() -> None:
    def mechanism(data, rng, size):
        return [{"length": value} for value in noisy(data, rng, size, 0.5)]

    result = audit(mechanism, inputs=(0, 1), epsilon=1, samples=20_000, alpha=1e-4, seed=1)
    assert result.verdict is Verdict.REFUTED


def sound_row(data, rng, size):
    """Laplace noise of scale 1 between two fields that say nothing."""
    rows = zip(tokens(rng, size), noisy(data, rng, size, 1.0), rng.integers(0, 2, size), strict=True)
    return [f"{one},{value:.3f},{'ab'[side]}" for one, value, side in rows]


@pytest.mark.parametrize("mechanism", [sound_row, lambda data, rng, size: tokens(rng, size)], ids=["row", "tokens"])
def test_texts_that_keep_their_promise_are_not_refuted(mechanism: Any) -> None:
    result = audit(mechanism, inputs=(0, 1), epsilon=1, samples=20_000, alpha=1e-6, seed=2)
    assert result.verdict is Verdict.NOT_REFUTED
    assert result.epsilon_lower < 1


def test_any_number_of_workers_reads_the_same_off_texts() -> None:
    found = [
        json.dumps(audit(sound_row, inputs=(0, 1), epsilon=0.9, samples=8_000, seed=5, workers=workers).evidence)
        for workers in (1, 2)
    ]
    assert found[0] == found[1]


def test_what_differs_by_chance_alone_is_not_looked_at_together() -> None:
    """A leak that one character shows is told by that character: no score of it and of others that say nothing."""
    tables = opened(pair(last_character, 8_000))
    exploration = Exploration(search=tables, rank=tables, forecast=Forecast(delta=0.0, alpha=1e-4, planned=10_000))
    parts = [path for path in tables[0].columns if is_part(path)]
    together = families._together(exploration, [(LENGTH,), *parts])
    assert (LENGTH,) in together
    assert ("text:character:-1:",) in together
    assert len(together) < len(parts)
    few = tables[0].taken(slice(0, 500)), tables[1].taken(slice(0, 500))
    exploration = Exploration(search=few, rank=few, forecast=Forecast(delta=0.0, alpha=1e-4, planned=10_000))
    assert families._together(exploration, [(LENGTH,), *parts]) == [(LENGTH,)]
