from __future__ import annotations

import json
import math

import pytest

from dpverify.report.json import to_json


def test_keys_keep_their_order_and_the_text_ends_with_a_newline() -> None:
    assert to_json({"b": 1, "a": [True, None]}) == '{\n  "b": 1,\n  "a": [\n    true,\n    null\n  ]\n}\n'


@pytest.mark.parametrize(("value", "text"), [(math.inf, "inf"), (-math.inf, "-inf"), (math.nan, "nan")])
def test_what_json_cannot_say_is_text(value: float, text: str) -> None:
    assert json.loads(to_json({"deep": [{"er": value}]}), parse_constant=pytest.fail) == {"deep": [{"er": text}]}


def test_text_is_readable_beyond_ascii() -> None:
    assert "ε" in to_json({"ε": 1})


def test_tuples_are_lists() -> None:
    assert json.loads(to_json((1, (2,)))) == [1, [2]]
