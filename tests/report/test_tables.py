from __future__ import annotations

from dpverify.report.tables import aligned, comma_separated


def test_columns_line_up_and_lines_end_where_their_text_does() -> None:
    assert aligned(["a", "long", "c"], [["1", "2", "3"], ["wide", "", ""]]) == "a     long  c\n1     2     3\nwide\n"


def test_commas_and_quotes_are_escaped() -> None:
    assert comma_separated(["a", "b"], [['x, "y"', "z"]]) == 'a,b\n"x, ""y""",z\n'
