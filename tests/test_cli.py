"""The command line as its users meet it: verbs, help, output, exit codes, and every way to misuse them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

import dpverify as dv
from dpverify import cli, mechanisms
from dpverify.cli import common, exit_codes

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = {verb: import_module(home).EXAMPLE for verb, (home, _) in cli.VERBS.items()}


def process(command: str, root: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `dpverify ...` in a process of its own, from the project's directory."""
    return subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=root,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


class TestVerbs:
    def test_without_a_verb_the_overview_is_shown_and_nothing_succeeds(self, dpverify) -> None:
        outcome = dpverify()
        assert outcome.code == 2
        assert "verbs:" in outcome.output

    @pytest.mark.parametrize("word", ["--help", "-h", "help"])
    def test_the_overview_names_every_verb(self, dpverify, word: str) -> None:
        outcome = dpverify(word)
        assert outcome.code == 0
        assert all(f"  {verb} " in outcome.output for verb in cli.VERBS)

    def test_the_version(self, dpverify) -> None:
        assert dpverify("--version").output == f"dpverify {dv.__version__}\n"

    def test_an_unknown_verb_names_the_known_ones(self, dpverify) -> None:
        outcome = dpverify("prove-everything")
        assert outcome.code == 2
        assert "'prove-everything'" in outcome.errors
        assert all(verb in outcome.errors for verb in cli.VERBS)

    @pytest.mark.parametrize("verb", cli.VERBS)
    def test_help_ends_with_an_example(self, dpverify, verb: str) -> None:
        outcome = dpverify(verb, "--help")
        assert outcome.code == 0
        assert outcome.output.endswith(f"example:\n  {EXAMPLES[verb]}\n")
        assert "--output-format {text,json" in outcome.output

    @pytest.mark.parametrize("verb", cli.VERBS)
    def test_the_example_runs_as_it_stands(self, root: Path, verb: str) -> None:
        done = process(EXAMPLES[verb], root)
        assert done.returncode == (1 if verb == "recheck" else 0), done.stderr
        assert done.stdout
        assert done.stderr == ""

    @pytest.mark.parametrize("verb", cli.VERBS)
    def test_every_verb_speaks_json(self, root: Path, verb: str) -> None:
        assert json.loads(process(f"{EXAMPLES[verb]} --output-format json", root).stdout)

    @pytest.mark.parametrize("verb", cli.VERBS)
    def test_every_verb_refuses_an_unknown_option(self, dpverify, verb: str) -> None:
        outcome = dpverify(verb, "--no-such-option")
        assert outcome.code == 2
        assert outcome.output == ""
        assert f"usage: dpverify {verb}" in outcome.errors


class TestBound:
    KEYS = ("mechanism", "solved", "lower", "upper", "float", "digits", "expression", "status")

    def solved(self, dpverify, words: str) -> dict:
        outcome = dpverify("bound", *words.split(), "--output-format", "json")
        assert outcome.code == 0, outcome.errors
        return json.loads(outcome.output)

    def test_the_documented_keys_in_their_order(self, dpverify) -> None:
        answer = self.solved(dpverify, "gaussian --epsilon 1 --delta 1e-6")
        assert tuple(answer) == self.KEYS
        assert (answer["mechanism"], answer["solved"], answer["digits"]) == ("gaussian", "sigma", 15)
        assert answer["status"] == "certified"

    @pytest.mark.parametrize(
        ("words", "solved"),
        [
            ("gaussian --sigma 2 --delta 1e-6", "epsilon"),
            ("gaussian --sigma 2 --epsilon 1/2", "delta"),
            ("gaussian --epsilon 1/2 --delta 1e-6", "sigma"),
            ("laplace --epsilon 1/2 --delta 0", "scale"),
            ("logistic --scale 3 --delta 0", "epsilon"),
        ],
    )
    def test_whatever_is_left_out_is_solved_for(self, dpverify, words: str, solved: str) -> None:
        assert self.solved(dpverify, words)["solved"] == solved

    def test_the_number_is_the_one_of_the_library(self, dpverify) -> None:
        answer = self.solved(dpverify, "gaussian --epsilon 0.1 --delta 1e-6 --sensitivity 1/3 --digits 30")
        expected = dv.Gaussian.bound(epsilon="0.1", delta="1e-6", sensitivity="1/3", digits=30)
        assert (answer["lower"], answer["upper"]) == expected.bounds()
        assert answer["float"] == expected.upper

    def test_text_is_an_exact_decimal(self, dpverify) -> None:
        answer = self.solved(dpverify, "laplace --epsilon 0.1 --delta 0 --sensitivity 0.3")
        assert answer["lower"] == answer["upper"] == "3"

    def test_the_text_states_request_number_and_promise(self, dpverify) -> None:
        text = dpverify("bound", "laplace", "--epsilon", "1/2", "--delta", "0", "--sensitivity", "3").output
        assert text.startswith("laplace with epsilon = 1/2, delta = 0, sensitivity = 3\n")
        assert "least scale  6\n" in text
        assert "exactly 6\n" in text
        assert "6.0 (satisfies the claim; the double below it does not)" in text

    def test_a_negative_number_reaches_the_check_that_explains_it(self, dpverify) -> None:
        for number in ("-1", "-1e-6", "-1/2", "-.5"):
            outcome = dpverify("bound", "laplace", "--epsilon", number, "--delta", "0")
            assert outcome.code == 2
            assert f"epsilon = {number}" in outcome.errors

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ("laplace --epsilon 1", "delta and scale are missing"),
            ("laplace --epsilon 1 --delta 0 --scale 1", "leave one out"),
            ("lapalce --epsilon 1 --delta 0", "'lapalce' is not a mechanism"),
            ("laplace --epsilon one --delta 0", "'one'"),
            ("laplace --epsilon nan --delta 0", "nan"),
            ("laplace --epsilon 1 --delta 1", "delta = 1"),
            ("laplace --epsilon 1 --delta 0 --sensitivity 0", "sensitivity = 0"),
            ("laplace --epsilon 1 --delta 0 --digits 0", "digits = 0"),
            ("laplace --epsilon 1 --delta 0 --digits many", "'many' is not a whole number"),
            ("laplace --epsilon 1 --delta 0 --sigma 1", "unrecognized arguments: --sigma"),
            ("", "NAME"),
        ],
    )
    def test_a_request_that_cannot_be_answered_is_explained(self, dpverify, words: str, said: str) -> None:
        outcome = dpverify("bound", *words.split())
        assert outcome.code == 2
        assert said in outcome.errors
        assert "Traceback" not in outcome.errors
        assert outcome.output == ""

    LONG = "9" * 5000

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (f"bounded-laplace --scale 1 --upper 1 --epsilon 1 --sensitivity {LONG}", "give at most 1"),
            (f"bounded-laplace --scale 1 --upper 1 --epsilon 1 --lower {LONG}", "the domain is empty"),
            (f"bounded-laplace --scale 1 --upper 1 --epsilon 1 --lower 0,{LONG}", "the domain is empty"),
            (f"bounded-laplace --scale 1 --upper 1 --adjacency {LONG} --epsilon 1", "choose one of box, l2"),
            ("bounded-gaussian --upper 1 --epsilon 1 --delta 1e-9999", "delta = 1e-9999: bounded outputs"),
            (f"bounded-gaussian --upper 1 --epsilon 1 --delta 1/{LONG}", "ask for delta = 0"),
            (f"k-norm --dimension 2 --p 2 --epsilon 1 --delta 1/{LONG}", "ask for delta = 0"),
            (f"custom-noise --scale 1 --epsilon 1 --density {LONG}+", "no formula in x"),
            (f"gaussian --sigma 1 --epsilon 1 --digits {LONG}", "is not a whole number"),
            (f"gaussian --sigma 1 --epsilon 1 --nu {LONG}", "unrecognized arguments: --nu 999"),
            ("gaussian --sigma 1 --epsilon=--", "epsilon = '--'"),
            ("laplace --epsilon 1 --delta=-- --output-format csv", "delta = '--'"),
        ],
    )
    def test_numbers_of_any_length_get_a_short_answer(self, dpverify, words: str, said: str) -> None:
        outcome = dpverify("bound", *words.split())
        assert outcome.code == 2
        assert said in outcome.errors
        assert "internal error" not in outcome.errors
        assert len(outcome.errors) < 1200

    def test_an_impossible_request_is_refused_in_json_too(self, dpverify) -> None:
        outcome = dpverify("bound", "gaussian", "--epsilon", "1", "--delta", "0", "--output-format", "json")
        answer = json.loads(outcome.output)
        assert outcome.code == 2
        assert tuple(answer) == self.KEYS
        assert (answer["solved"], answer["status"], answer["lower"], answer["float"]) == ("sigma", "refused", None, None)
        assert "delta = 0" in outcome.errors

    def test_a_look_up_imports_nothing_heavy(self, root: Path) -> None:
        program = (
            "import sys; from dpverify.cli import main\n"
            "assert main(['bound', 'gaussian', '--epsilon', '1', '--delta', '1e-6']) == 0\n"
            "print(*{'numpy', 'scipy', 'sympy', 'sklearn', 'mpmath', 'hypothesis'} & set(sys.modules), file=sys.stderr)\n"
        )
        done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
        assert done.stderr.strip() == ""


class TestList:
    def test_every_mechanism_with_its_parameters(self, dpverify) -> None:
        listed = json.loads(dpverify("list", "--output-format", "json").output)
        assert {entry["mechanism"] for entry in listed} >= {"laplace", "logistic", "gaussian"}
        text = dpverify("list").output
        for entry in listed:
            assert entry["parameters"]
            assert entry["description"]
            assert any(line.startswith(entry["mechanism"]) for line in text.splitlines())


class TestDerive:
    def test_the_outline_the_reasons_and_the_latex(self, dpverify) -> None:
        outline, reasons, latex = (dpverify("derive", "laplace", *more).output for more in ((), ("--steps",), ("--latex",)))
        assert "1. density" in outline
        assert "Checked by" not in outline
        assert "Checked by" in reasons
        assert r"\begin{align*}" in latex

    def test_the_data(self, dpverify) -> None:
        data = json.loads(dpverify("derive", "laplace", "--output-format", "json").output)
        assert data["mechanism"] == "laplace"
        assert data["steps"]

    def test_an_unknown_mechanism(self, dpverify) -> None:
        outcome = dpverify("derive", "laplac")
        assert outcome.code == 2
        assert "'laplac' is not a mechanism" in outcome.errors

    def test_a_mechanism_without_a_derivation_names_those_that_have_one(self, dpverify, monkeypatch) -> None:
        by_name = mechanisms.by_name
        monkeypatch.setattr(mechanisms, "by_name", lambda name: object if name == "laplace" else by_name(name))
        outcome = dpverify("derive", "laplace")
        assert outcome.code == 2
        assert "laplace has no derivation; there is one for" in outcome.errors
        assert "gaussian" in outcome.errors


class TestOutput:
    WORDS = ("bound", "laplace", "--epsilon", "1", "--delta", "0")

    def test_a_file_gets_what_standard_output_would_have_got(self, dpverify, tmp_path: Path) -> None:
        expected = dpverify(*self.WORDS).output
        outcome = dpverify(*self.WORDS, "--output", str(tmp_path / "bound.txt"))
        assert (outcome.code, outcome.output) == (0, "")
        assert (tmp_path / "bound.txt").read_text() == expected

    @pytest.mark.parametrize("place", ["missing/bound.txt", "."])
    def test_a_file_that_cannot_be_written_is_explained(self, dpverify, tmp_path: Path, place: str) -> None:
        outcome = dpverify(*self.WORDS, "--output", str(tmp_path / place))
        assert outcome.code == 2
        assert "--output" in outcome.errors
        assert "cannot be written" in outcome.errors

    def test_asking_whether_a_file_can_be_written_changes_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "old").write_text("kept")
        common.require_writable(str(tmp_path / "old"), "--output")
        common.require_writable(str(tmp_path / "new"), "--output")
        common.require_writable(None, "--output")
        assert (tmp_path / "old").read_text() == "kept"
        assert not (tmp_path / "new").exists()

    def test_a_reader_that_went_away_changes_no_exit_code(self, root: Path) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [sys.executable, "-m", "dpverify", *self.WORDS],
            cwd=root,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        os.close(writing)
        assert (done.returncode, done.stderr) == (0, "")

    @pytest.mark.parametrize("has_descriptor", [True, False])
    def test_what_is_left_of_a_broken_pipe_goes_nowhere(self, tmp_path: Path, monkeypatch, has_descriptor: bool) -> None:
        with open(tmp_path / "pipe", "w") as stream:

            class Broken:
                def write(self, written: str) -> None:
                    raise BrokenPipeError

                def fileno(self) -> int:
                    if has_descriptor:
                        return stream.fileno()
                    raise OSError

            monkeypatch.setattr(sys, "stdout", Broken())
            common.emit("lost")
            stream.write("nowhere" if has_descriptor else "")
        assert (tmp_path / "pipe").read_text() == ""

    def test_another_fault_of_standard_output_is_explained(self, monkeypatch) -> None:
        class Full:
            def write(self, written: str) -> None:
                raise OSError(28, "No space left on device")

        monkeypatch.setattr(sys, "stdout", Full())
        with pytest.raises(dv.InputError, match="No space left on device; use --output FILE"):
            common.emit("lost")

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="SKIPPED: this system has no /dev/full to write to")
    def test_a_full_disk_is_explained(self, root: Path) -> None:
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "dpverify", *self.WORDS],
                cwd=root,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert done.returncode == 2
        assert "standard output cannot be written" in done.stderr


def test_the_entry_point_leaves_with_the_exit_code(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["dpverify", "--version"])
    with pytest.raises(SystemExit) as left:
        cli.entry_point()
    assert left.value.code == 0


class TestFaults:
    @pytest.fixture
    def failing(self, monkeypatch: pytest.MonkeyPatch):
        def fail_with(error: BaseException) -> None:
            def run(options: object) -> int:
                raise error

            monkeypatch.setattr("dpverify.cli.listing.run", run)
            monkeypatch.delenv(cli.SHOW_TRACEBACK, raising=False)

        return fail_with

    def test_a_fault_of_our_own_asks_to_be_reported(self, dpverify, failing) -> None:
        failing(KeyError("lost"))
        outcome = dpverify("list")
        assert outcome.code == 4
        assert "internal error: KeyError: 'lost'" in outcome.errors
        assert "please report it" in outcome.errors
        assert cli.SHOW_TRACEBACK in outcome.errors
        assert "Traceback" not in outcome.errors

    def test_the_traceback_is_shown_on_request(self, dpverify, failing, monkeypatch: pytest.MonkeyPatch) -> None:
        failing(KeyError("lost"))
        monkeypatch.setenv(cli.SHOW_TRACEBACK, "1")
        assert "Traceback" in dpverify("list").errors

    def test_an_interruption(self, dpverify, failing) -> None:
        failing(KeyboardInterrupt())
        outcome = dpverify("list")
        assert outcome.code == 130
        assert outcome.errors == "dpverify: interrupted.\n"

    def test_an_undecided_question(self, dpverify, failing) -> None:
        failing(dv.PrecisionError("3 of 9 digits were reached.", reached=3))
        outcome = dpverify("list")
        assert (outcome.code, outcome.errors) == (3, "dpverify: 3 of 9 digits were reached.\n")

    def test_what_is_raised_need_not_be_an_exception(self, dpverify, failing) -> None:
        failing(GeneratorExit("odd"))
        outcome = dpverify("list")
        assert outcome.code == 4
        assert "internal error: GeneratorExit: odd" in outcome.errors

    @pytest.mark.skipif(os.name == "nt", reason="SKIPPED: closing streams needs a POSIX shell")
    @pytest.mark.parametrize(
        ("words", "code"),
        [
            ("bound laplace --epsilon 1 --delta 0", 0),
            ("recheck examples/leaky_count_evidence.json", 1),
            ("audit examples/leaky_count.py:noisy_count --epsilon 1 --inputs 10 11", 1),
            ("no-such-verb", 2),
            ("bound laplace --no-such-option", 2),
        ],
    )
    def test_closed_streams_do_not_change_the_exit_code(self, root: Path, words: str, code: int) -> None:
        command = f"exec {shlex.quote(sys.executable)} -m dpverify {words} <&- >&- 2>&-"
        assert subprocess.run(["sh", "-c", command], cwd=root, check=False).returncode == code

    def test_a_lost_standard_error_does_not_hide_the_exit_code(self, root: Path) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([sys.executable, "-m", "dpverify", "no-such-verb"], cwd=root, stderr=writing, check=False)
        os.close(writing)
        assert done.returncode == 2


def test_every_verdict_has_an_exit_code() -> None:
    assert {verdict.value: exit_codes.of_verdict(verdict) for verdict in dv.Verdict} == {
        "proved": 0,
        "refuted": 1,
        "not refuted": 0,
        "undecided": 3,
    }


@pytest.mark.parametrize(
    ("word", "number"), [("7", 7), (" -3", -3), ("1_000", 1000), ("1e6", 10**6), ("10**6", 10**6), ("2E+3", 2000)]
)
def test_whole_numbers(word: str, number: int) -> None:
    assert common.whole(word) == number


@pytest.mark.parametrize(
    ("word", "meant"), [("--epsilom", "; did you mean --epsilon?"), ("--eps", "; did you mean --epsilon?"), ("--qqq", ".")]
)
def test_an_unknown_option_is_asked_about(dpverify, word: str, meant: str) -> None:
    outcome = dpverify("bound", "laplace", word, "1", "--delta", "0")
    assert outcome.code == 2
    assert f"unrecognized arguments: {word} 1{meant} `dpverify bound --help` shows" in outcome.errors


def test_a_bound_beyond_the_doubles_says_so(dpverify) -> None:
    outcome = dpverify("bound", "laplace", "--epsilon", "1", "--delta", "0", "--sensitivity", "1e500")
    assert outcome.code == 0
    assert "inf (no finite double is large enough)" in outcome.output


def test_as_many_digits_as_may_be_asked_for(dpverify) -> None:
    outcome = dpverify("bound", "laplace", "--epsilon", "1", "--delta", "0.1", "--digits", "10000")
    assert outcome.code == 0
    assert len(outcome.output) > 30_000
