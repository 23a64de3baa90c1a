from __future__ import annotations

from types import SimpleNamespace

from dpverify.report import catalogue


class Documented:
    """Add nothing.  delta(eps) = 1.

    More that is not shown.
    """

    name = "nothing"
    parameters = (SimpleNamespace(name="scale"), SimpleNamespace(name="p"))


class Undocumented:
    name = "a-much-longer-name"
    parameters = (SimpleNamespace(name="sigma"),)


def test_data_holds_the_first_line() -> None:
    assert catalogue.as_data([Documented]) == [
        {"mechanism": "nothing", "parameters": ["scale", "p"], "description": "Add nothing.  delta(eps) = 1."}
    ]


def test_the_table_is_aligned_and_leaves_the_formula_out() -> None:
    heading, *rows = catalogue.as_text([Documented, Undocumented]).splitlines()
    column = heading.index("what it does")
    assert rows[0][column:] == "Add nothing."
    assert rows[0][: len("nothing")] == "nothing"
    assert rows[1][column:] == ""
