"""`audit` and `recheck` on the command line: verdicts, evidence, and mechanisms that misbehave."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# Randomized response as coin counts: a true epsilon of log 3 = 1.0986; alpha = 1e-6 and a fixed seed.
COIN = """
def coin(data, rng, size):
    return rng.random(size) < (0.75 if data else 0.25)
"""
SURE = ("--alpha", "1e-6", "--samples", "20000")


@pytest.fixture
def mechanism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Write a file of mechanisms and name one of them as a target."""
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(name: str, content: str) -> str:
        place = tmp_path / f"mechanism_{len(list(tmp_path.iterdir()))}_{tmp_path.name.replace('-', '_')}.py"
        place.write_text(content)
        return f"{place}:{name}"

    return write


class TestVerdicts:
    def test_a_false_claim_is_refuted(self, dpverify, mechanism) -> None:
        outcome = dpverify("audit", mechanism("coin", COIN), "--epsilon", "0.8", "--inputs", "0", "1", *SURE)
        assert outcome.code == 1
        assert outcome.output.startswith("refuted: coin does not satisfy epsilon = 0.8")
        assert outcome.errors == ""

    def test_a_true_claim_is_not(self, dpverify, mechanism) -> None:
        outcome = dpverify("audit", mechanism("coin", COIN), "--epsilon", "1.1", "--inputs", "0", "1", *SURE)
        assert outcome.code == 0
        assert outcome.output.startswith("not refuted: ")

    def test_text_is_an_exact_decimal(self, dpverify, mechanism) -> None:
        words = ("--epsilon", "0.1", "--delta", "1/3", "--inputs", "0", "1", *SURE, "--output-format", "json")
        evidence = json.loads(dpverify("audit", mechanism("coin", COIN), *words).output)["evidence"]
        assert evidence["claim"] == {"epsilon": "1/10", "delta": "1/3"}

    def test_the_json_carries_the_evidence(self, dpverify, mechanism) -> None:
        target = mechanism("coin", COIN)
        outcome = dpverify("audit", target, "--epsilon", "0.8", "--inputs", "0", "1", *SURE, "--output-format", "json")
        data = json.loads(outcome.output)
        assert outcome.code == 1
        assert data["verdict"] == "refuted"
        assert data["evidence"]["schema"] == 1

    def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(self, dpverify, mechanism) -> None:
        target = mechanism("coin", COIN)
        words = ("audit", target, "--epsilon", "1.1", "--inputs", "0", "1", *SURE)
        assert dpverify(*words).output == dpverify(*words, "--seed", "0").output != dpverify(*words, "--seed", "1").output

    def test_bits_and_reals(self, dpverify, mechanism) -> None:
        target = mechanism("floats", "def floats(data, rng, size):\n    return data + rng.laplace(0, 1, size)\n")
        words = ("audit", target, "--epsilon", "1", "--inputs", "0", "1", "--samples", "1e5", "--alpha", "1e-6")
        assert dpverify(*words).code == 1
        assert dpverify(*words, "--outputs", "reals").code == 0


class TestReplay:
    @pytest.fixture
    def saved(self, dpverify, mechanism, tmp_path: Path) -> tuple[str, str]:
        target, place = mechanism("coin", COIN), str(tmp_path / "evidence.json")
        dpverify("audit", target, "--epsilon", "0.8", "--inputs", "0", "1", *SURE, "--evidence", place)
        return target, place

    def test_the_same_counts_are_drawn_again(self, dpverify, saved: tuple[str, str]) -> None:
        target, place = saved
        outcome = dpverify("recheck", place, "--replay", target)
        assert outcome.code == 1
        assert outcome.output.endswith("  replay    drawn again from the recorded seeds; every count agrees\n")
        assert dpverify("recheck", place, "--replay", target, "--inputs", "0", "1").output == outcome.output
        assert (
            json.loads(dpverify("recheck", place, "--replay", target, "--output-format", "json").output)["verdict"] == "refuted"
        )

    def test_invented_counts_are_noticed(self, dpverify, mechanism, saved: tuple[str, str]) -> None:
        _, place = saved
        other = mechanism("other", COIN.replace("coin", "other").replace("0.75", "0.7"))
        outcome = dpverify("recheck", place, "--replay", other)
        assert (outcome.code, outcome.output) == (2, "")
        assert "evidence.tests[0]." in outcome.errors or "evidence.drawn" in outcome.errors
        assert "is stored, and drawn again it is" in outcome.errors

    def test_what_cannot_be_replayed_is_said(self, dpverify, saved: tuple[str, str], tmp_path: Path) -> None:
        target, place = saved
        assert "--replay TARGET as well" in dpverify("recheck", place, "--inputs", "0", "1").errors
        evidence = json.loads((tmp_path / "evidence.json").read_text())
        strange = {**evidence, "mechanism": {**evidence["mechanism"], "inputs": ["<object>", "1"]}}
        (tmp_path / "strange.json").write_text(json.dumps(strange))
        assert "give both with --inputs" in dpverify("recheck", str(tmp_path / "strange.json"), "--replay", target).errors
        del evidence["outputs"]
        (tmp_path / "cut.json").write_text(json.dumps(evidence))
        outcome = dpverify("recheck", str(tmp_path / "cut.json"), "--replay", target)
        assert (outcome.code, "'outputs' is missing" in outcome.errors) == (2, True)


class TestEvidence:
    @pytest.fixture
    def saved(self, dpverify, mechanism, tmp_path: Path) -> Path:
        place = tmp_path / "evidence.json"
        words = ("--epsilon", "0.8", "--inputs", "0", "1", *SURE, "--evidence", str(place))
        assert dpverify("audit", mechanism("coin", COIN), *words).code == 1
        return place

    def test_the_file_holds_what_the_json_holds(self, dpverify, mechanism, saved: Path) -> None:
        target = mechanism("coin", COIN)
        outcome = dpverify("audit", target, "--epsilon", "0.8", "--inputs", "0", "1", *SURE, "--output-format", "json")
        assert json.loads(outcome.output)["evidence"] == json.loads(saved.read_text())

    def test_recheck_comes_to_the_same_verdict(self, dpverify, saved: Path) -> None:
        outcome = dpverify("recheck", str(saved))
        assert outcome.code == 1
        assert outcome.output.startswith("refuted: coin does not satisfy")
        assert "nothing was sampled" in outcome.output
        assert json.loads(dpverify("recheck", str(saved), "--output-format", "json").output)["verdict"] == "refuted"

    def test_recheck_reads_the_json_result_too(self, dpverify, mechanism, tmp_path: Path) -> None:
        result = str(tmp_path / "result.json")
        words = ("--epsilon", "0.8", "--inputs", "0", "1", *SURE, "--output-format", "json", "--output", result)
        assert dpverify("audit", mechanism("coin", COIN), *words).code == 1
        assert dpverify("recheck", result).code == 1

    def test_recheck_notices_changed_counts(self, dpverify, saved: Path) -> None:
        evidence = json.loads(saved.read_text())
        evidence["tests"][0]["hits"] -= 500
        saved.write_text(json.dumps(evidence))
        outcome = dpverify("recheck", str(saved))
        assert outcome.code == 2
        assert "evidence: tests[0]" in outcome.errors

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("", "is no JSON"),
            ("{", "is no JSON"),
            ("[]", "an object is needed"),
            ("{}", "schema is missing"),
            ("[" * 100_000, "is no JSON"),
        ],
    )
    def test_what_is_no_evidence_is_explained(self, dpverify, tmp_path: Path, content: str, said: str) -> None:
        (tmp_path / "file.json").write_text(content)
        outcome = dpverify("recheck", str(tmp_path / "file.json"))
        assert (outcome.code, outcome.output) == (2, "")
        assert said in outcome.errors

    def test_a_file_that_is_not_text(self, dpverify, tmp_path: Path) -> None:
        (tmp_path / "file.json").write_bytes(b"\xff\xfe\x00")
        assert dpverify("recheck", str(tmp_path / "file.json")).code == 2

    @pytest.mark.parametrize("name", ["missing.json", "."])
    def test_a_file_that_cannot_be_read_is_explained(self, dpverify, tmp_path: Path, name: str) -> None:
        outcome = dpverify("recheck", str(tmp_path / name))
        assert outcome.code == 2
        assert "cannot be read" in outcome.errors

    def test_the_shipped_evidence_is_what_the_audit_finds(self, dpverify, root: Path, tmp_path: Path, monkeypatch) -> None:
        monkeypatch.chdir(root)
        monkeypatch.setattr(sys, "path", list(sys.path))
        command = "audit examples/leaky_count.py:noisy_count --epsilon 1 --inputs 10 11 --evidence"
        dpverify(*command.split(), str(tmp_path / "new.json"))
        new = json.loads((tmp_path / "new.json").read_text())
        shipped = json.loads((root / "examples" / "leaky_count_evidence.json").read_text())
        assert {**new, "versions": None} == {**shipped, "versions": None}, "`make readme` renews it"


class TestElsewhere:
    """A mechanism, or its module, that changes the working directory."""

    ELSEWHERE = """
import os
ZERO, ONE = 0, 1
def coin(data, rng, size):
    os.chdir("/")
    return rng.random(size) < (0.75 if data else 0.25)
"""

    @pytest.mark.parametrize("at_import", [False, True])
    @pytest.mark.parametrize("form", ["text", "html"])
    def test_results_are_written_where_they_were_asked_for(
        self, dpverify, tmp_path: Path, monkeypatch, at_import: bool, form: str
    ) -> None:
        monkeypatch.setattr(sys, "path", list(sys.path))
        monkeypatch.chdir(tmp_path)
        file = f"elsewhere_{at_import}_{form}.py"
        (tmp_path / file).write_text(self.ELSEWHERE + ('os.chdir("/")' if at_import else ""))
        words = f"audit {file}:coin --epsilon 0.8 --inputs {file}:ZERO {file}:ONE --output-format {form}".split()
        outcome = dpverify(*words, *SURE, *["--output", "out", "--evidence", "counts.json", "--checkpoint", "check"])
        assert (outcome.code, outcome.output, outcome.errors) == (1, "", "")
        assert {path.name for path in tmp_path.iterdir()} >= {"out", "counts.json", "check"}
        assert json.loads((tmp_path / "counts.json").read_text())["verdict"] == "refuted"


class TestMisuse:
    WORDS = ("--epsilon", "1", "--inputs", "0", "1")

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ("--inputs 0 1", "--epsilon"),
            ("--epsilon 1", "--inputs"),
            ("--epsilon 1 --inputs 0", "expected 2 arguments"),
            ("--epsilon 1 --inputs yes no", "--inputs yes: this is no Python literal"),
            ("--epsilon one --inputs 0 1", "epsilon = 'one'"),
            ("--epsilon -1e-3 --inputs 0 1", "epsilon = -1e-3"),
            ("--epsilon nan --inputs 0 1", "nan"),
            ("--epsilon 1 --delta 2 --inputs 0 1", "delta = 2"),
            ("--epsilon 1 --alpha 0 --inputs 0 1", "alpha = 0"),
            ("--epsilon 1 --samples 1 --inputs 0 1", "samples = 1"),
            ("--epsilon 1 --samples lots --inputs 0 1", "'lots' is not a whole number"),
            ("--epsilon 1 --seed -1 --inputs 0 1", "seed = -1"),
            ("--epsilon 1 --timeout 0 --inputs 0 1", "timeout = 0"),
            ("--epsilon 1 --outputs bytes --inputs 0 1", "invalid choice: 'bytes'"),
            ("--epsilon 1 --inputs 0 1 --output same --evidence same", "both name same"),
            ("--epsilon 1 --inputs 0 1 --output ./same --evidence same", "both name ./same"),
            ("--epsilon 1 --inputs 0 1 --evidence no/such/directory/file", "--evidence no/such/directory/file"),
        ],
    )
    def test_a_request_that_cannot_be_used_is_explained(self, dpverify, mechanism, words: str, said: str) -> None:
        outcome = dpverify("audit", mechanism("coin", COIN), *words.split())
        assert (outcome.code, outcome.output) == (2, "")
        assert said in outcome.errors
        assert "Traceback" not in outcome.errors

    def test_a_missing_file(self, dpverify) -> None:
        outcome = dpverify("audit", "no/such/file.py:f", *self.WORDS)
        assert outcome.code == 2
        assert "does not exist" in outcome.errors

    def test_a_mechanism_that_raises_names_the_line(self, dpverify, mechanism) -> None:
        outcome = dpverify("audit", mechanism("f", "def f(data, rng, size):\n    return [1 / data] * size\n"), *self.WORDS)
        assert outcome.code == 2
        assert "ZeroDivisionError" in outcome.errors
        assert "line 2" in outcome.errors
        assert "Traceback" not in outcome.errors

    def test_a_mechanism_that_leaves_the_program_decides_no_exit_code(self, dpverify, mechanism) -> None:
        target = mechanism("f", "import sys\ndef f(data, rng, size):\n    sys.exit(0)\n")
        assert dpverify("audit", target, *self.WORDS).code == 2

    def test_what_was_measured_before_a_failure_is_kept(self, dpverify, mechanism, tmp_path: Path) -> None:
        target = mechanism(
            "tiring",
            "calls = 0\n"
            "def tiring(data, rng, size):\n"
            "    global calls\n"
            "    calls += 1\n"
            "    if calls > 60:\n"
            "        raise OSError('worn out')\n"
            "    return rng.random(size) < 0.5\n",
        )
        place = tmp_path / "evidence.json"
        outcome = dpverify("audit", target, *self.WORDS, "--evidence", str(place))
        assert outcome.code == 2
        assert "worn out" in outcome.errors
        assert outcome.output.startswith("undecided: ")
        assert sum(json.loads(place.read_text())["drawn"]) > 0
        assert dpverify("recheck", str(place)).code == 3

    def test_an_interruption_while_loading_has_nothing_to_hand_over(self, dpverify, mechanism) -> None:
        outcome = dpverify("audit", mechanism("f", "raise KeyboardInterrupt\n"), *self.WORDS)
        assert (outcome.code, outcome.output, outcome.errors) == (130, "", "dpverify: interrupted.\n")

    def test_what_a_mechanism_prints_does_not_mix_with_the_result(self, dpverify, mechanism) -> None:
        target = mechanism(
            "loud",
            f"print('loading')\n{COIN}\ndef loud(data, rng, size):\n    print('hello')\n    return coin(data, rng, size)\n",
        )
        outcome = dpverify("audit", target, *self.WORDS, "--samples", "1000", "--output-format", "json")
        assert json.loads(outcome.output)["verdict"] == "not refuted"
        assert "loading" in outcome.errors
        assert "hello" in outcome.errors

    def test_a_call_that_hangs(self, dpverify, mechanism) -> None:
        target = mechanism("slow", "import time\ndef slow(data, rng, size):\n    time.sleep(60)\n")
        outcome = dpverify("audit", target, *self.WORDS, "--timeout", "0.5")
        assert outcome.code == 2
        assert "0.5" in outcome.errors


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="SKIPPED: this system has no interrupt signal")
def test_an_interrupted_audit_hands_over_what_it_measured(mechanism, root: Path, tmp_path: Path) -> None:
    started = tmp_path / "started"
    target = mechanism(
        "endless",
        "import pathlib, time\n"
        "calls = 0\n"
        "def endless(data, rng, size):\n"
        "    global calls\n"
        "    calls += 1\n"
        f"    if calls == 60: pathlib.Path({str(started)!r}).touch()\n"
        "    if calls >= 60: time.sleep(60)\n"
        "    return rng.random(size) < 0.5\n",
    )
    evidence = tmp_path / "evidence.json"
    command = f"audit {target} --epsilon 1 --inputs 0 1 --evidence {evidence}"
    running = subprocess.Popen(
        [sys.executable, "-m", "dpverify", *shlex.split(command)],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a shell may have it ignored in the background
    )
    while not started.exists() and running.poll() is None:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    output, errors = running.communicate()
    assert running.returncode == 130
    assert output.startswith("undecided: ")
    assert errors == "dpverify: interrupted.\n"
    assert sum(json.loads(evidence.read_text())["drawn"]) > 0
