"""README.md tells the truth: every command in it is run and every output compared, every Python block is a doctest.

Console blocks are one session, in the order of the file, in a directory that holds a copy of examples/. Nothing is elided
from an output, with one exception: what `make` prints while it installs or tests depends on the machine, and of `make test`
only the last line's form is checked (the suite cannot run inside itself).

`make readme` writes the present outputs into README.md, and the shipped evidence, to be read before they are committed.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest


def blocks(root: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (root / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def session(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that is claimed for it."""
    if block.startswith("$ make "):  # its output shows commands of its own
        command, _, output = block.removeprefix("$ ").partition("\n")
        return [(command, output)]
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
    assert parts[0] == "", "a console block begins with a command"
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts[1:])]


class Shell:
    """Just enough of a shell for a README: `dpverify ...`, `make demo`, `cat FILE` and `echo $?`."""

    def __init__(self, directory: Path, root: Path) -> None:
        self.directory, self.root, self.code = directory, root, 0

    def run(self, command: str) -> str:
        if command == "echo $?":
            return f"{self.code}\n"
        program, *words = shlex.split(command)
        if program == "cat":
            return "".join((self.directory / word).read_text() for word in words)
        started = {"dpverify": ["-m", "dpverify", *words], "make": [str(self.root / "examples" / "demo.py")]}[program]
        done = subprocess.run(
            [sys.executable, *started],
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.code = done.returncode
        return done.stdout


@pytest.fixture
def shell(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    shutil.copytree(root / "examples", tmp_path / "examples")
    monkeypatch.setenv("PYTHONPATH", str(root))
    return Shell(tmp_path, root)


def test_every_console_block_is_what_happens(root: Path, shell: Shell) -> None:
    commands = [step for block in blocks(root, "console") for step in session(block)]
    assert {command.split()[0] for command, _ in commands} >= {"make", "dpverify"}
    for command, claimed in commands:
        if command == "make test":
            assert re.search(r"^=+ \d+ passed.* in [\d.]+s.* =+$", claimed, re.MULTILINE)
        else:
            assert shell.run(command).rstrip("\n") == claimed.rstrip("\n"), command  # blank lines part the commands


def test_every_python_block_is_what_happens(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    found = blocks(root, "python")
    assert found
    for number, block in enumerate(found):
        test = doctest.DocTestParser().get_doctest(block, names, f"README.md, Python block {number + 1}", "README.md", 0)
        assert test.examples
        outcome = doctest.DocTestRunner(verbose=False).run(test, clear_globs=False)
        assert outcome.failed == 0
        names = test.globs


def test_no_block_escapes_the_tests(root: Path) -> None:
    languages = re.findall(r"^```(\w*)$", (root / "README.md").read_text(), re.MULTILINE)[::2]
    assert set(languages) <= {"console", "python"}


def test_a_false_output_would_be_noticed(root: Path, shell: Shell) -> None:
    assert shell.run("dpverify bound laplace --epsilon 1 --delta 0 --sensitivity 2") != shell.run(
        "dpverify bound laplace --epsilon 1 --delta 0"
    )


def refresh(root: Path) -> None:
    """Write the present output of every command and of every Python example into README.md, and the evidence it saves."""
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(root / "examples", Path(place) / "examples")
        shell = Shell(Path(place), root)

        def console(block: re.Match[str]) -> str:
            steps = [
                (command, claimed if command == "make test" else shell.run(command)) for command, claimed in session(block[1])
            ]
            return "```console\n" + "\n".join(f"$ {command}\n{output}" for command, output in steps) + "```"

        names: dict = {}

        def python(block: re.Match[str]) -> str:
            written = []
            for example in doctest.DocTestParser().get_examples(block[1]):
                lines = example.source.splitlines()
                written += [f"{'...' if place else '>>>'} {line}" for place, line in enumerate(lines)]
                with contextlib.redirect_stdout(io.StringIO()) as output:
                    exec(compile(example.source, "README.md", "single"), names)
                written += output.getvalue().splitlines()
            return "```python\n" + "\n".join(written) + "\n```"

        text = (root / "README.md").read_text()
        text = re.sub(r"^```console\n(.*?)^```$", console, text, flags=re.MULTILINE | re.DOTALL)
        text = re.sub(r"^```python\n(.*?)^```$", python, text, flags=re.MULTILINE | re.DOTALL)
        (root / "README.md").write_text(text)
        shutil.copy(Path(place) / "evidence.json", root / "examples" / "leaky_count_evidence.json")


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent
    os.environ["PYTHONPATH"] = str(here)
    sys.path.insert(0, str(here))
    refresh(here)
