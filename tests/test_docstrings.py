"""How the reference reads the docstrings of this project: nothing in a formula is taken for markup."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import pytest

import dpverify as dv
from dpverify.audit.api import audit


@pytest.fixture
def docstrings(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("_docstrings", root / "docs" / "_docstrings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("|x|^p and 2*x*y_1", r"\|x\|^p and 2\*x\*y\_1"),
        ("the sign `a*b`, and `n`s", r"the sign ``a*b``, and ``n``\ s"),
        ("an odd ` is no markup", r"an odd \` is no markup"),
        ("(kind: *exact*)", "(kind: *exact*)"),
        ("raises InputError.", r"raises :py:obj:`~dpverify.InputError`."),
        ("`InputError`", "``InputError``"),
    ],
)
def test_a_run_of_text(docstrings: ModuleType, text: str, made: str) -> None:
    assert docstrings.inline(text, ["InputError"]) == made


def test_a_code_that_goes_on_in_the_next_line(docstrings: ModuleType) -> None:
    assert docstrings.rst("see `a\nb` there") == ["see ``a b`` there", "", ""]


def test_a_table_becomes_a_list_of_definitions(docstrings: ModuleType) -> None:
    made = docstrings.rst("epsilon, delta  the claim,\n                in nats\nseed            >= 0")
    assert made[:4] == ["``epsilon, delta``", "    the claim, in nats", "``seed``", "    >= 0"]


def test_a_list_stays_one(docstrings: ModuleType) -> None:
    assert docstrings.rst("so:\n- first\n  item\n- second\nand on")[::2] == ["so:", "- first item", "- second", "and on", ""]


def test_an_indented_paragraph_is_shown_as_it_is(docstrings: ModuleType) -> None:
    assert docstrings.rst("a:\n\n    b = |c|")[-4:] == ["::", "", "    b = |c|", ""]


def test_no_public_docstring_has_a_table_that_is_none(docstrings: ModuleType) -> None:
    """A row that crosses the column turns a table into a heap of words."""
    for name in set(dv.__all__) - {"__version__"}:
        thing = audit if name == "audit" else getattr(dv, name)
        for paragraph in (inspect.getdoc(thing) or "").split("\n\n"):
            rows = paragraph.split("\n")
            if sum(row.startswith(" " * 8) and row.strip() != "" for row in rows):
                assert docstrings._column(rows) is not None or rows[0].startswith("    "), f"{name}: {paragraph}"
