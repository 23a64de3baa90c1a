"""The pytest plugin, in runs of pytest of its own. Fixed seeds; a true claim fails a run with probability 1e-6 at most."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import dpverify as dv
from dpverify.gate.spending import share, share_of_assertion

if TYPE_CHECKING:
    from pathlib import Path

INSTALLED = list(importlib.metadata.entry_points(group="pytest11", name="dpverify"))
LOADED = () if INSTALLED else ("-p", "dpverify.pytest_plugin")

# Randomized response: a true epsilon of log 3 = 1.0986, far above 0.5 and below 1.2.
COINS = """
import pytest
import dpverify as dv

def coin(data, rng, size):
    return rng.random(size) < (0.75 if data else 0.25)

@dv.claim(epsilon=EPSILON, inputs=(0, 1), samples=5000)
def response(data, rng, size):
    return coin(data, rng, size)
"""
FALSE, TRUE = COINS.replace("EPSILON", "0.5"), COINS.replace("EPSILON", "'1.2'")


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """pytester forgets the modules that an inner run loads, and NumPy cannot be loaded twice: have them all beforehand."""
    dv.assert_private(lambda data, rng, size: rng.random(size) < 0.5, inputs=(0, 1), epsilon=1, samples=1000)
    assert dv.claim is not None


@pytest.fixture
def run(pytester: pytest.Pytester):
    """Run pytest on a file with this content."""

    def start(content: str, *words: str) -> pytest.RunResult:
        pytester.makepyfile(test_claims=content)
        return pytester.runpytest_inprocess(*LOADED, "-p", "no:cacheprovider", *words)

    return start


class TestClaims:
    def test_a_false_claim_fails_and_explains_itself(self, run, pytester: pytest.Pytester) -> None:
        result = run(FALSE)
        result.assert_outcomes(failed=1)
        text = result.stdout.str()
        for part in (
            "refuted: response does not satisfy epsilon = 0.5, delta = 0.",
            "claimed   epsilon = 0.5, delta = 0 (test_claims.py:7)",
            "measured  epsilon is at least ",
            "witness   ",
            "on 0  ",
            "meaning   A true claim is refuted with a probability of at most 5e-07.",
            "cause     probably: ",
            "fix       ",
            "recheck   dpverify recheck .dpverify/evidence/response-",
            "repeat    dpverify audit test_claims:response --epsilon 1/2 --inputs 0 1 --samples 5000 --alpha 5e-07 --seed 0",
        ):
            assert part in text, part
        assert "decide.py" not in text  # a traceback of dpverify helps nobody

    def test_the_recheck_command_works_as_printed(self, run, pytester: pytest.Pytester, dpverify) -> None:
        run(FALSE)
        (evidence,) = (pytester.path / ".dpverify" / "evidence").glob("*.json")
        assert (pytester.path / ".dpverify" / ".gitignore").read_text() == "*\n"
        assert dpverify("recheck", str(evidence)).code == 1

    def test_a_true_claim_has_one_line(self, run, pytester: pytest.Pytester) -> None:
        result = run(TRUE)
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(
            [
                "*= privacy claims =*",
                "not refuted  response: epsilon = 1.2, delta = 0; epsilon is at least *",
                "seed 0; a true claim is refuted with a probability of at most 1e-06 in the whole run",
            ]
        )
        assert not (pytester.path / ".dpverify").exists()

    def test_the_function_stays_a_function(self, run) -> None:
        content = (
            TRUE + "\ndef test_use():\n    import numpy as np\n    assert len(response(0, np.random.default_rng(1), 3)) == 3\n"
        )
        run(content).assert_outcomes(passed=2)

    def test_a_second_name_is_no_second_claim(self, run) -> None:
        run(TRUE + "\nagain = response\n").assert_outcomes(passed=1)

    def test_several_claims_of_one_function(self, run) -> None:
        content = TRUE.replace("@dv.claim", "@dv.claim(epsilon=0.4, inputs=(0, 1), samples=5000)\n@dv.claim", 1)
        result = run(content)
        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines(["FAILED test_claims.py::response[[]epsilon = 0.4, delta = 0[]]*"])

    def test_a_method_of_a_test_class(self, run) -> None:
        content = """
            import dpverify as dv

            class TestCoin:
                @dv.claim(epsilon=2, inputs=(0, 1), samples=5000)
                def response(self, data, rng, size):
                    return rng.random(size) < (0.75 if data else 0.25)
            """
        run(content).assert_outcomes(passed=1)

    def test_marks_and_selection_apply(self, run) -> None:
        run(TRUE.replace("@dv.claim", "@pytest.mark.skip(reason='slow')\n@dv.claim")).assert_outcomes(skipped=1)
        run(TRUE, "-k", "nothing").assert_outcomes(deselected=1)

    def test_what_cannot_be_checked_fails_with_every_reason(self, run) -> None:
        content = TRUE.replace("epsilon='1.2'", "epsilon='much', delta=2, outputs='bytes'")
        result = run(content)
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(
            [
                "error: the claim epsilon = much, delta = 2 of response could not be checked.",
                "*error     epsilon = 'much'*",
                "*delta = 2*",
                "*outputs = 'bytes'*",
            ]
        )

    def test_a_mechanism_that_raises_fails(self, run) -> None:
        result = run(TRUE.replace("    return coin(data, rng, size)", "    raise RuntimeError('out of noise')"))
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["*raised RuntimeError: out of noise*"])

    def test_evidence_that_cannot_be_written_is_said(self, run, pytester: pytest.Pytester) -> None:
        pytester.makefile("", evidence="a file")
        result = run(FALSE, "--dpverify-evidence", "evidence")
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["refuted: response does not satisfy*", "*the evidence cannot be written there*"])


class TestAssertions:
    ASSERTION = "\ndef test_it():\n    result = dv.assert_private(coin, inputs=(0, 1), epsilon=EPSILON, samples=5000)\n"

    def test_a_true_one(self, run) -> None:
        content = TRUE + self.ASSERTION.replace("EPSILON", "1.2") + "    assert result.verdict == 'not refuted'\n"
        result = run(content)
        result.assert_outcomes(passed=2)
        result.stdout.fnmatch_lines(["not refuted  test_claims.py::test_it: coin: epsilon = 1.2*"])

    def test_a_false_one(self, run) -> None:
        result = run(TRUE + self.ASSERTION.replace("EPSILON", "0.5"))
        result.assert_outcomes(passed=1, failed=1)
        text = result.stdout.str()
        assert "PrivacyViolation: refuted: test_claims.py::test_it: coin does not satisfy epsilon = 0.5" in text
        assert "def assert_private" not in text

    def test_the_budget_of_error_is_split(self, run, pytester: pytest.Pytester) -> None:
        twice = (
            self.ASSERTION.replace("EPSILON", "1.2") + "    dv.assert_private(coin, inputs=(0, 1), epsilon=2, samples=4999)\n"
        )
        run(TRUE + twice, "--dpverify-alpha=0.001", "--junitxml=out.xml").assert_outcomes(passed=2)
        text = (pytester.path / "out.xml").read_text()
        spent = [float(value) for value in re.findall(r'name="dpverify.alpha" value="([^"]+)"', text)]
        assert spent == pytest.approx([0.0005, 0.0005 / 2 / 2, 0.0005 / 2 / 6])

    def test_shares_never_exceed_the_whole(self) -> None:
        for claims, tests, assertions in ((1, 1, 1), (7, 300, 1000)):
            declared = claims * share(0.5, claims)
            inside = tests * sum(share_of_assertion(share(0.5, tests), number) for number in range(1, assertions + 1))
            assert declared + inside <= 1 + 1e-12
        assert share(0.5, 0) == 0.5


class TestOptions:
    def test_properties_in_the_junit_file(self, run, pytester: pytest.Pytester) -> None:
        run(FALSE, "--junitxml=out.xml")
        text = (pytester.path / "out.xml").read_text()
        for name, value in (("verdict", "refuted"), ("epsilon", "0.5"), ("seed", "0"), ("rule", "DP001")):
            assert f'<property name="dpverify.{name}" value="{value}" />' in text

    def test_a_random_seed_is_shown_and_can_be_given_again(self, run, pytester: pytest.Pytester) -> None:
        result = run(FALSE, "--dpverify-seed=random")
        result.assert_outcomes(failed=1)
        (evidence,) = (pytester.path / ".dpverify" / "evidence").glob("*.json")
        seed = json.loads(evidence.read_text())["seed"]
        assert f"seed {seed}; " in result.stdout.str()
        before = evidence.read_bytes()
        evidence.unlink()
        run(FALSE, f"--dpverify-seed={seed}")
        assert evidence.read_bytes() == before

    def test_options_from_a_file(self, run, pytester: pytest.Pytester) -> None:
        pytester.makeini("[pytest]\ndpverify_seed = 77\ndpverify_alpha = 1e-9\ndpverify_evidence = here\n")
        result = run(FALSE)
        result.stdout.fnmatch_lines(["seed 77; a true claim is refuted with a probability of at most 1e-09 in the whole run"])
        assert len(list((pytester.path / "here").glob("*.json"))) == 1

    @pytest.mark.parametrize(
        "option", ["--dpverify-seed=-1", "--dpverify-alpha=2", "--dpverify-alpha=x", "--dpverify-budget=soon"]
    )
    def test_what_is_wrong_with_an_option_is_said(self, run, option: str) -> None:
        result = run(TRUE, option)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        name, value = option.split("=")
        assert f"ERROR: {name} = '{value}'" in result.stderr.str()

    def test_a_budget_of_time_ends_a_run(self, run) -> None:
        # 10^9 outputs would take hours. What a slow machine has no time for costs power, and never a verdict of "refuted".
        content = TRUE.replace("samples=5000", "samples=10**9")
        content += "\ndef test_it():\n    dv.assert_private(coin, inputs=(0, 1), epsilon=1.2, samples=10**9)\n"
        result = run(content, "--dpverify-budget=2s")
        assert re.search(r"^(not refuted|undecided) +response: ", result.stdout.str(), re.MULTILINE)

    def test_xdist_shows_the_same(self, run) -> None:
        pytest.importorskip("xdist", reason="SKIPPED: pytest-xdist is not installed; pip install pytest-xdist")
        result = run(FALSE + TRUE.replace("response", "other"), "-n", "2", "--dpverify-seed=random")
        result.assert_outcomes(failed=1, passed=1)
        lines = [line for line in result.stdout.lines if line.startswith(("refuted  ", "not refuted  "))]
        assert sorted(line.split(":")[0].split()[-1] for line in lines) == ["other", "response"]
        assert "seed 0;" not in result.stdout.str()


def test_outside_pytest_an_assertion_stands_alone(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import dpverify as dv\n"
        "def coin(data, rng, size):\n    return rng.random(size) < (0.75 if data else 0.25)\n"
        "dv.assert_private(coin, inputs=(0, 1), epsilon=1.2, samples=5000)\n"
        "try:\n    dv.assert_private(coin, inputs=(0, 1), epsilon=0.5, samples=5000)\n"
        "except dv.PrivacyViolation as violation:\n    print(violation)\n"
        "try:\n    dv.assert_private(coin, inputs=(0, 1), epsilon=-1)\n"
        "except dv.InputError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("refuted: coin does not satisfy epsilon = 0.5, delta = 0.\n")
    assert "probability of at most 1e-06" in done.stdout
    assert "epsilon = -1" in done.stdout


def test_a_run_without_claims_loads_nothing_heavy() -> None:
    program = "import sys, dpverify.pytest_plugin; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "flint", "sympy", "dpverify.audit", "dpverify.gate.claims", "dpverify.report"} & set(loaded)
