"""Words that name a mechanism or an input, and every way in which they can be wrong."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from dpverify.errors import InputError
from dpverify.gate.target import load_input, load_target

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def modules_and_path_restored() -> object:
    modules, path = dict(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - set(modules):
        del sys.modules[name]


@pytest.fixture
def write(tmp_path: Path) -> object:
    def writer(name: str, content: str) -> str:
        (tmp_path / name).write_text(content)
        return str(tmp_path / name)

    return writer


def test_a_function_in_a_file(write) -> None:
    path = write("counter_one.py", "def count(data):\n    return len(data)\n")
    assert load_target(f"{path}:count")([1, 2]) == 2


def test_a_file_is_run_once_for_target_and_inputs(write) -> None:
    path = write("runs_once.py", "import builtins\nstate = object()\ndef f(data):\n    return state\n")
    assert load_target(f"{path}:f")(0) is load_input(f"{path}:state")


def test_a_dotted_name_in_a_file(write) -> None:
    path = write("dotted.py", "class Case:\n    @staticmethod\n    def run(data):\n        return data\n")
    assert load_target(f"{path}:Case.run")(3) == 3


def test_a_file_may_import_what_stands_beside_it(write) -> None:
    write("helper_beside.py", "VALUE = 5\n")
    path = write("uses_helper.py", "from helper_beside import VALUE\ndef f(data):\n    return VALUE\n")
    assert load_target(f"{path}:f")(0) == 5


def test_a_file_called_like_a_standard_module_does_not_replace_it(write) -> None:
    import json

    path = write("json.py", "def f(data):\n    return 'mine'\n")
    assert load_target(f"{path}:f")(0) == "mine"
    assert load_target(f"{path}:f") is load_target(f"{path}:f")
    assert sys.modules["json"] is json


def test_a_file_whose_name_is_no_identifier(write) -> None:
    assert load_target(f"{write('a-b.c.py', 'def f(data): return 1')}:f")(0) == 1


def test_a_module_by_name() -> None:
    assert load_target("math:floor")(1.5) == 1


def test_a_module_in_the_working_directory(write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("module_right_here.py", "def f(data):\n    return 'here'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    assert load_target("module_right_here:f")(0) == "here"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "name of the mechanism is missing"),
        ("math", "name of the mechanism is missing"),
        (":floor", "name of the mechanism is missing"),
        ("math:", "'' is not a name of Python"),
        ("math:2floor", "'2floor' is not a name of Python"),
        ("math:flor", "the module math has no 'flor'; did you mean floor"),
        ("math:pi", "pi is of type float, and a mechanism is a callable"),
        ("no_such_module_anywhere:f", "there is no module 'no_such_module_anywhere'"),
        ("no/such/place:f", "neither a file that ends in .py nor the name of a module"),
        ("no/such/file.py:f", "the file no/such/file.py does not exist"),
        ("json.no_such_part:f", "ModuleNotFoundError"),
    ],
)
def test_a_bad_target_is_explained(words: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        load_target(words)
    assert said in str(caught.value)
    assert str(caught.value).startswith(words)


def test_a_directory_called_like_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        load_target(f"{tmp_path / 'folder.py'}:f")


def test_a_missing_part_of_a_name_says_what_lacks_it(write) -> None:
    path = write("parts.py", "def f(data):\n    return data\n")
    with pytest.raises(InputError, match=r"parts\.py:f\.x: f, of type function, has no 'x'"):
        load_target(f"{path}:f.x")


def test_a_missing_name_lists_what_there_is(write) -> None:
    path = write("has_others.py", "def alpha(data): pass\ndef beta(data): pass\nGAMMA = 1\n")
    with pytest.raises(InputError, match="has no 'zzz'; it has alpha, beta"):
        load_target(f"{path}:zzz")


def test_a_missing_name_in_an_empty_file(write) -> None:
    with pytest.raises(InputError, match=r"has no 'f'\.$"):
        load_target(f"{write('empty_file.py', '')}:f")


def test_a_syntax_error_names_file_and_line(write) -> None:
    path = write("broken_syntax.py", "x = 1\ndef f(:\n")
    with pytest.raises(InputError, match=r"broken_syntax\.py, line 2: syntax error"):
        load_target(f"{path}:f")
    assert "broken_syntax" not in sys.modules


@pytest.mark.parametrize("content", [b"x = '\xff'\n", b"x = 1\x00\n"])
def test_a_file_that_is_no_text_is_a_syntax_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "no_text.py").write_bytes(content)
    with pytest.raises(InputError, match=r"no_text\.py, line \d+: syntax error"):
        load_target(f"{tmp_path / 'no_text.py'}:f")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("x = 1\ny = 1 / 0\n", "ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
        ("class Odd(BaseException): pass\nraise Odd('x')\n", "Odd: x"),
        ("import package_that_nobody_installed\n", "Install what is missing"),
    ],
)
def test_a_file_that_fails_to_run_names_error_and_line(write, content: str, said: str) -> None:
    path = write("fails_to_run.py", content)
    with pytest.raises(InputError) as caught:
        load_target(f"{path}:f")
    assert said in str(caught.value)
    assert "fails_to_run.py, line " in str(caught.value)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("0", 0),
        (" -1", -1),
        ("[1, 2.5, None]", [1, 2.5, None]),
        ("{'a': 1}", {"a": 1}),
        ("'file.py:name'", "file.py:name"),
        ("(True, b'x')", (True, b"x")),
    ],
)
def test_an_input_is_a_literal(words: str, value: object) -> None:
    assert load_input(words) == value


def test_an_input_is_a_name_in_a_file(write) -> None:
    assert load_input(f"{write('inputs_here.py', 'DATA = [7]')}:DATA") == [7]


@pytest.mark.parametrize("words", ["yes", "1 +", "__import__('os')", "[1, 2", "{[]: 1}", "", "1" * 5000, "(" * 300 + ")" * 300])
def test_an_input_that_is_no_literal_is_explained_and_not_run(words: str) -> None:
    with pytest.raises(InputError, match="this is no Python literal") as caught:
        load_input(words)
    assert "<ast" not in str(caught.value)


def test_a_file_that_answers_for_its_names_may_fail(write) -> None:
    path = write("answers.py", "def __getattr__(name):\n    raise ValueError('never')\n")
    with pytest.raises(InputError, match="looking up 'f' failed with ValueError: never"):
        load_target(f"{path}:f")


def test_a_module_cannot_end_the_process_while_it_is_imported(tmp_path: Path) -> None:
    """Else a gate would end in silence, and green."""
    (tmp_path / "leaves.py").write_text("import os\nos._exit(0)\n")
    with pytest.raises(
        InputError, match=r"failed with SystemExit: os._exit\(0\) would end the whole process.*leaves.py, line 2"
    ):
        load_target(f"{tmp_path}/leaves.py:release")
