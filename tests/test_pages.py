"""README.md and docs/ tell the truth: every block of every page is run, and every output compared.

The blocks of a page are one session, in the order of the page, in a directory that holds a copy of examples/:

    console                     commands, each after "$ ", with all that they print
    python with >>>             a session of Python, with all that it prints
    any language with :caption: a file, which is written under the caption's name; what follows may use it

In yaml files, which belong to servers that are not here, the commands that begin with `dpverify` are run. A block below
`<!-- needs: LIBRARY -->` is skipped, loudly, where the library is not installed; .ci/adapters runs these where it is. Files
below dpverify/ and proofs/ are written into a copy. Nothing is elided from an output; seconds may differ, and of what
`make test` prints only the last line's form is checked (the suite cannot run inside itself).

`make pages` writes the present outputs into the pages, and the shipped evidence, to be read before they are committed.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.metadata
import io
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md", *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("docs/[!_]*/*.md")))]
PAGES[1:1] = [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("docs/*.md"))]
FENCE = re.compile(
    r"^(?:<!-- needs: (?P<needs>\w+) -->\n)?"
    r"^```(?:\{code-block\} )?(?P<language>\w*)\n(?:\n?:caption: (?P<caption>\S+)\n\n?)?(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SECONDS = re.compile(r"\bin \d+\.\d\ds\b")
PLUGIN = () if importlib.metadata.entry_points(group="pytest11", name="dpverify") else ("-p", "dpverify.pytest_plugin")
PORT = "8786"  # of a scheduler, as the pages write it; each session has one of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block of a page."""

    language: str
    caption: str | None
    needs: str | None
    text: str

    @classmethod
    def of(cls, match: re.Match[str]) -> Block:
        return cls(**match.groupdict())

    @property
    def is_session(self) -> bool:
        return self.language == "python" and self.caption is None and self.text.startswith(">>> ")

    @property
    def is_known(self) -> bool:
        return self.language == "console" or self.is_session or bool(self.language and self.caption)


def page_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(page: str) -> list[Block]:
    return [Block.of(match) for match in FENCE.finditer(page)]


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that is claimed for it."""
    if text.startswith("$ make "):  # its output shows commands of its own
        command, _, output = text.removeprefix("$ ").partition("\n")
        return [(command, output)]
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert parts[0] == "", "a console block begins with a command"
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts[1:])]


class Session:
    """One page: a directory, just enough of a shell, and the names that its Python blocks have bound."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.code, self.names = directory, 0, {}
        self.running: list[subprocess.Popen[bytes]] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        self.bring("examples")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_")) and name != "CI"}
        self.environment = {**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}

    def present(self, block: Block) -> str:
        """What the block would have to say: its commands and examples with the outputs that they have now."""
        if block.caption is not None:
            self.write(block.caption, block.text)
            if block.language == "yaml":
                for command in re.findall(r"^ +(?:- )?(dpverify .*)$", block.text, re.MULTILINE):
                    output = self.run(command)
                    assert self.code in (0, 1), output
            return block.text
        if block.language == "console":
            steps = ((command, self.output(command, claimed)) for command, claimed in commands(block.text))
            return "\n".join(f"$ {command}\n{output}".rstrip() + "\n" for command, output in steps)  # blank lines part them
        return "".join(self.example(one) for one in doctest.DocTestParser().get_examples(block.text))

    def output(self, command: str, claimed: str) -> str:
        if command == "make test":
            assert re.search(r"^=+ \d+ passed.* in [\d.]+s.* =+$", claimed, re.MULTILINE)
            return claimed
        now = self.run(command)
        return claimed if SECONDS.sub("", now).rstrip("\n") == SECONDS.sub("", claimed).rstrip("\n") else now

    def bring(self, top: str) -> None:
        """A copy of a directory of the project, which the page may change."""
        if not (self.directory / top).exists():
            shutil.copytree(ROOT / top, self.directory / top, ignore=shutil.ignore_patterns("__pycache__"))
        if top == "proofs":
            self.bring("reports")  # which holds the table of verdicts

    def write(self, name: str, text: str) -> None:
        path = self.directory / name
        if Path(name).parts[0] in ("dpverify", "proofs"):
            self.bring(Path(name).parts[0])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(self, command: str) -> str:
        if command == "echo $?":
            return f"{self.code}\n"
        program, *words = shlex.split(command.replace(PORT, self.port))
        if program == "cat":
            return "".join((self.directory / word).read_text() for word in words)
        if words[:1] == ["prove"]:
            self.bring("proofs")
        started = {
            "dask": ["-m", "dask", *words],
            "dpverify": ["-m", "dpverify", *words],
            "make": [str(ROOT / "examples" / "demo.py")],
            "pytest": ["-m", "pytest", *PLUGIN, "-p", "no:cacheprovider", *words],
            "python": words,
        }[program]
        options = {"cwd": self.directory, "env": self.environment, "stderr": subprocess.STDOUT}
        if words and words[-1] == "&":
            with (self.directory / f"{len(self.running)}.log").open("wb") as log:
                self.running.append(subprocess.Popen([sys.executable, *started[:-1]], stdout=log, **options))
            self.await_scheduler()
            return ""
        done = subprocess.run([sys.executable, *started], stdout=subprocess.PIPE, text=True, check=False, **options)
        self.code = done.returncode
        return done.stdout

    def await_scheduler(self) -> None:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(self.port)), timeout=1):
                return
            time.sleep(0.1)
        raise AssertionError((self.directory / "0.log").read_text())

    def example(self, example: doctest.Example) -> str:
        lines = example.source.splitlines()
        written = "".join(f"{'...' if place else '>>>'} {line}\n" for place, line in enumerate(lines))
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            try:
                exec(compile(example.source, "<page>", "single"), self.names)
            except Exception as error:
                if example.exc_msg is None:
                    raise
                output.write("Traceback (most recent call last):\n    ...\n")
                output.write("".join(traceback.format_exception_only(error)))
        return written + output.getvalue()

    def close(self) -> None:
        for process in self.running[::-1]:
            process.terminate()
            process.wait()
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(f"{self.directory}{os.sep}"):
                del sys.modules[name]


@contextlib.contextmanager
def session() -> Iterator[Session]:
    before, path = Path.cwd(), sys.path.copy()
    with tempfile.TemporaryDirectory() as place:
        opened = Session(Path(place).resolve())
        os.chdir(opened.directory)
        sys.path.insert(0, str(opened.directory))
        try:
            yield opened
        finally:
            opened.close()
            os.chdir(before)
            sys.path[:] = path


def check(found: list[Block]) -> None:
    with session() as opened:
        for block in found:
            assert opened.present(block).rstrip("\n") == block.text.rstrip("\n")


def without_needs(name: str) -> list[Block]:
    return [block for block in blocks(page_of(name)) if block.needs is None]


def is_here(library: str) -> bool:
    try:
        importlib.import_module(library)
    except ImportError:
        return False
    return True


def libraries() -> list[str]:
    return sorted({block.needs for name in PAGES for block in blocks(page_of(name)) if block.needs is not None})


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name != "README.md")) for name in PAGES if without_needs(name)],
)
def test_every_block_is_what_happens(name: str) -> None:
    check(without_needs(name))


@pytest.mark.parametrize("library", libraries(), ids="needs_{}".format)
def test_blocks_that_need_a_library(library: str) -> None:
    from dpverify.adapters import INSTALL

    if not is_here(library):
        pytest.skip(f"SKIPPED: {library} is not installed here: {INSTALL[library]}; .ci/adapters runs these blocks")
    for name in PAGES:
        check([block for block in blocks(page_of(name)) if block.needs == library])


@pytest.mark.parametrize("name", PAGES)
def test_no_block_escapes_the_tests(name: str) -> None:
    page = page_of(name)
    found = blocks(page)
    assert len(re.findall(r"^ *(?:```|~~~)", page, re.MULTILINE)) == 2 * len(found)
    assert [block for block in found if not block.is_known] == []
    assert page.count("<!-- needs: ") == sum(block.needs is not None for block in found)


def test_the_readme_shows_the_two_commands() -> None:
    shown = [
        command for block in blocks(page_of("README.md")) if block.language == "console" for command, _ in commands(block.text)
    ]
    assert {command.split()[0] for command in shown} >= {"make", "dpverify"}
    assert any(block.is_session for block in blocks(page_of("README.md")))


@pytest.mark.parametrize(
    ("language", "text", "false"),
    [
        ("console", "$ dpverify bound uniform --epsilon 1 --delta 0.5\n", "least scale  2"),
        ("python", ">>> 1 + 1\n", "3"),
        ("python", ">>> [][0]\n", "Traceback (most recent call last):\n    ...\nIndexError: another message"),
    ],
)
def test_a_false_output_is_noticed(language: str, text: str, false: str) -> None:
    with pytest.raises(AssertionError):
        check([Block(language=language, caption=None, needs=None, text=text + false)])


def test_an_exception_that_is_not_shown_is_noticed() -> None:
    with pytest.raises(IndexError):
        check([Block(language="python", caption=None, needs=None, text=">>> [][0]\n")])


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_files(name: str) -> None:
    for target in re.findall(r"\]\((?!https://|#)([^)#\s]+)", page_of(name)):
        assert (ROOT / name).parent.joinpath(target).exists(), target


def refresh() -> None:
    """Write the present output of every block into its page, and the evidence that README.md saves."""
    for name in PAGES:
        with session() as opened:

            def renewed(match: re.Match[str], opened: Session = opened) -> str:
                block = Block.of(match)
                if block.needs is not None and not is_here(block.needs):
                    return match[0]
                begin, end = match.start("text") - match.start(), match.end("text") - match.start()
                return f"{match[0][:begin]}{opened.present(block).rstrip()}\n{match[0][end:]}"

            page = FENCE.sub(renewed, page_of(name))
            (ROOT / name).write_text(page, encoding="utf-8")
            if name == "README.md":
                shutil.copy(opened.directory / "evidence.json", ROOT / "examples" / "leaky_count_evidence.json")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    refresh()
