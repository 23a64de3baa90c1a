"""`gate` and the outputs for other tools. Seeds are fixed; a true claim is refuted with a probability of at most 1e-6."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

import dpverify as dv
from dpverify.cli import gate
from dpverify.cli.common import options_of
from dpverify.errors import InputError
from dpverify.gate import cache
from dpverify.gate.config import read
from dpverify.gate.positions import positions
from dpverify.gate.sources import imported_files
from dpverify.report.findings import RULES

SCHEMAS = "DPVERIFY_TEST_SCHEMAS"
"""Names a directory that holds the published schema of SARIF 2.1.0, for machines that keep it elsewhere."""

# Randomized response: a true epsilon of log 3 = 1.0986.
MODULE = """
import dpverify as dv
from NAME_helper import coin

@dv.claim(epsilon=0.5, inputs=(0, 1), samples=5000)
def broken(data, rng, size):
    return coin(data, rng, size)

@dv.claim(epsilon="1.2", inputs=(0, 1), samples=5000)
def sound(data, rng, size):
    print("working")
    return coin(data, rng, size)
"""
HELPER = """
def coin(data, rng, size):
    return rng.random(size) < (0.75 if data else 0.25)

FIRST, SECOND = 0, 1
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest):
    """A project in a directory of its own: `project(toml)` writes its pyproject.toml; NAME is the name of its module."""
    name = f"gated_{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:12]}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    (tmp_path / f"{name}.py").write_text(MODULE.replace("NAME", name))
    (tmp_path / f"{name}_helper.py").write_text(HELPER)

    def write(toml: str) -> Path:
        (tmp_path / "pyproject.toml").write_text(toml.replace("NAME", name))
        return tmp_path

    write.name = name  # type: ignore[attr-defined]
    yield write
    for module in (name, f"{name}_helper"):
        sys.modules.pop(module, None)


DECORATED = '[tool.dpverify]\nmodules = ["NAME"]\n'
WRITTEN = """
[tool.dpverify]

[[tool.dpverify.claims]]
target = "NAME_helper.py:coin"
inputs = ["NAME_helper.py:FIRST", "1"]
epsilon = 1.2
samples = 5000
name = "the coin"

[[tool.dpverify.claims]]
mechanism = "gaussian"
sigma = 4.3
epsilon = 1
delta = 1e-6
"""


class TestVerdicts:
    def test_decorated_functions(self, dpverify, project) -> None:
        place = project(DECORATED)
        outcome = dpverify("gate")
        assert outcome.code == 1
        assert outcome.output.startswith("refuted: broken does not satisfy epsilon = 0.5, delta = 0.\n")
        assert f"({project.name}.py:5)" in outcome.output
        assert "\nnot refuted  sound: epsilon = 1.2, delta = 0; epsilon is at least " in outcome.output
        assert outcome.output.endswith("2 claims: 1 not refuted, 1 refuted; seed 0, a true claim is refuted with a"
                                       " probability of at most 1e-06\n")  # fmt: skip
        assert "working" in outcome.errors  # what mechanisms print must not mix with the results
        assert len(list((place / ".dpverify" / "evidence").glob("*.json"))) == 2

    def test_a_mechanism_that_changes_the_directory(self, dpverify, project) -> None:
        place = project(DECORATED)
        helper = place / f"{project.name}_helper.py"
        helper.write_text("import os\n" + HELPER.replace("    return", '    os.chdir("/")\n    return'))
        words = "gate --output out.txt --also json=out.json --evidence saved"
        assert dpverify(*words.split()).code == 1
        assert (place / "out.txt").read_text().startswith("refuted: broken")
        assert json.loads((place / "out.json").read_text())
        assert len(list((place / "saved").glob("*.json"))) == 2

    def test_written_claims(self, dpverify, project) -> None:
        project(WRITTEN)
        outcome = dpverify("gate", "--verbose")
        assert outcome.code == 0
        assert "proved: gaussian (sigma = 4.3) satisfies epsilon = 1, delta = 0.000001." in outcome.output
        assert "no event that was tested contradicts epsilon = 1.2, delta = 0 of the coin." in outcome.output

    def test_decimals_of_the_file_are_exact(self, project) -> None:
        coin, gaussian = read(project(WRITTEN) / "pyproject.toml").claims
        assert (str(coin.epsilon), str(gaussian.parameters["sigma"])) == ("1.2", "4.3")  # type: ignore[union-attr]
        assert coin.inputs == (0, 1)  # type: ignore[union-attr]

    def test_options_replace_settings(self, dpverify, project) -> None:
        place = project(DECORATED + 'seed = "random"\nalpha = 1e-9\n')
        outcome = dpverify("gate", "--seed", "5", "--alpha", "1e-7", "--budget", "1m", "--evidence", "proof")
        assert "seed 5, a true claim is refuted with a probability of at most 1e-07" in outcome.output
        assert len(list((place / "proof").glob("*.json"))) == 2

    def test_a_budget_of_time_is_shared(self, dpverify, project) -> None:
        place = project(DECORATED + 'budget = "3s"\n')
        path = place / f"{project.name}.py"
        path.write_text(path.read_text().replace("5000", "10**9"))
        outcome = dpverify("gate", "--output-format", "json")
        broken, sound = json.loads(outcome.output)["claims"]
        assert broken["verdict"] in ("refuted", "not refuted", "undecided")  # a slow machine costs power
        assert sound["verdict"] in ("not refuted", "undecided")

    def test_a_failing_mechanism_does_not_stop_the_others(self, dpverify, project) -> None:
        place = project(DECORATED)
        path = place / f"{project.name}.py"
        path.write_text(path.read_text().replace("print(", "raise ValueError("))
        outcome = dpverify("gate")
        assert outcome.code == 1
        assert "2 claims: 1 refuted, 1 error" in outcome.output
        assert "raised ValueError: working" in outcome.output

    def test_inputs_that_are_no_neighbours(self, dpverify, project) -> None:
        project(WRITTEN.replace('inputs = ["NAME_helper.py:FIRST", "1"]', 'inputs = [[1], [2, 3]]\nneighbours = "replace"'))
        outcome = dpverify("gate")
        assert outcome.code == 2
        assert "rule      DP005 invalid neighbours" in outcome.output


class TestConfiguration:
    def test_everything_that_is_wrong_is_said_at_once_with_its_line(self, dpverify, project) -> None:
        project(
            """
[tool.dpverify]
modules = ["NAME", "nowhere", "NAME_helper"]
alpha = 2
colour = "red"

[[tool.dpverify.claims]]
target = "NAME_helper.py:coil"
inputs = [0, 1]
epsilon = 1

[[tool.dpverify.claims]]
target = "NAME_helper.py:coin"
inputs = [0, 1]
epsilom = 1

[[tool.dpverify.claims]]
mechanism = "gausian"
epsilon = 1

[[tool.dpverify.claims]]
mechanism = "gaussian"
sigma = "wide"
epsilon = -1
samples = 3

[[tool.dpverify.claims]]
epsilon = 1

[[tool.dpverify.claims]]
target = "NAME_helper.py:coin"
inputs = ["no literal", 1]
epsilon = 1

[[tool.dpverify.claims]]
target = "NAME_helper.py:coin"
inputs = 3
epsilon = "1"
samples = 7
"""
        )
        outcome = dpverify("gate")
        assert (outcome.code, outcome.output) == (2, "")
        lines = outcome.errors.removeprefix("dpverify: ").splitlines()
        expected = [
            (5, "colour is no key of [tool.dpverify]"),
            (4, "alpha = '2'"),
            (3, "modules: nowhere: there is no module 'nowhere' here or among what is installed; write package.module or path"),
            (3, "no function in it has a claim"),
            (8, "has no 'coil'; did you mean coin"),
            (15, "epsilom is no key of [tool.dpverify.claims]; did you mean epsilon?"),
            (12, "epsilon is missing"),
            (18, "did you mean gaussian"),
            (25, "samples is no key"),
            (21, "epsilon = -1"),
            (21, "'wide'"),
            (27, "either a target"),
            (32, "inputs: no literal: this is no Python literal"),
            (37, "inputs = 3"),
            (35, "samples = 7"),
        ]
        assert len(lines) == len(expected), outcome.errors
        for line, (number, message) in zip(lines, expected, strict=True):
            assert line.startswith(f"pyproject.toml:{number}: "), (line, number, message)
            assert message in line

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("[tool.dpverify", "is no TOML"),
            ("[project]\n", "there is no [tool.dpverify]"),
            ("tool = 3\n", "there is no [tool.dpverify]"),
            ("[tool.dpverify]\n", "no claim is made here"),
            ("[tool.dpverify]\nclaims = 3\n", "pyproject.toml:2: claims: tables are needed"),
            ("[tool.dpverify]\nmodules = 3\n", "pyproject.toml:2: modules = 3"),
            ("[tool.dpverify]\nseed = true\n", "pyproject.toml:2: seed = True"),
            ("[tool.dpverify]\nmodules = ['missing.py']\n", "missing.py does not exist"),
        ],
    )
    def test_files_that_cannot_be_used(self, dpverify, project, content: str, message: str) -> None:
        project(content)
        outcome = dpverify("gate")
        assert outcome.code == 2
        assert message in outcome.errors
        assert "Traceback" not in outcome.errors

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('name = ""', "name = ''"),
            ("name = 3", "name = 3"),
            ('name = "two\\nlines"', "a text on one line is needed"),
            ("distance = 2", "distance = 2: objects of other libraries are asked about it"),
            ('distance = "far"', "distance = 'far'"),
        ],
    )
    def test_settings_of_a_claim_that_mean_nothing(self, dpverify, project, line: str, message: str) -> None:
        project(
            f'[[tool.dpverify.claims]]\ntarget = "NAME_helper.py:coin"\ninputs = [0, 1]\nepsilon = 2\nsamples = 200\n{line}\n'
        )
        outcome = dpverify("gate")
        assert (outcome.code, outcome.output) == (2, "")
        assert message in outcome.errors

    def test_a_name_of_an_analytic_claim(self, dpverify, project) -> None:
        project('[[tool.dpverify.claims]]\nmechanism = "laplace"\nscale = 1\nepsilon = 1\nname = ["a"]\n')
        outcome = dpverify("gate")
        assert (outcome.code, "name = ['a']" in outcome.errors) == (2, True)

    def test_a_directory_that_is_not_there(self, dpverify, project) -> None:
        project(f"{DECORATED}pythonpath = ['nowhere']\n")
        outcome = dpverify("gate")
        assert outcome.code == 2
        assert re.search(r"pyproject\.toml:\d+: pythonpath: .*nowhere: there is no such directory", outcome.errors)

    def test_two_results_of_one_file(self, dpverify, project) -> None:
        project(DECORATED)
        for words in (("--also", "json=a", "--also", "html=./a"), ("--output", "a", "--also", "json=a")):
            outcome = dpverify("gate", *words)
            assert (outcome.code, outcome.output) == (2, "")
            assert "is named twice; give each result a file of its own" in outcome.errors

    def test_nothing_is_sampled_where_evidence_cannot_be_written(self, dpverify, project) -> None:
        place = project(DECORATED)
        (place / f"{project.name}_helper.py").write_text("def coin(data, rng, size):\n    raise AssertionError('called')\n")
        (place / "file").write_text("")
        outcome = dpverify("gate", "--evidence", "file")
        assert (outcome.code, "evidence cannot be written" in outcome.errors) == (2, True)
        assert "called" not in outcome.errors + outcome.output

    def test_a_claim_of_a_method_is_not_passed_over(self, dpverify, project) -> None:
        place = project(DECORATED)
        (place / f"{project.name}.py").write_text(
            "import dpverify as dv\n\nclass Noise:\n    @dv.claim(epsilon=1, inputs=(0, 1), samples=200)\n"
            "    def add(self, data, noise, rng, size):\n        return [0] * size\n\n"
            "    @staticmethod\n    @dv.claim(epsilon=1, inputs=(0, 1), samples=200)\n"
            "    def zero(data, rng, size):\n        return [0] * size\n"
        )
        outcome = dpverify("gate")
        assert outcome.code == 2
        assert re.search(rf"{project.name}\.py:4: add: add\(self, data, noise, rng, size\) needs", outcome.errors)
        assert "zero" not in outcome.errors

    def test_a_claim_about_a_class_is_refused(self) -> None:
        with pytest.raises(InputError, match="on the class Noise"):

            @dv.claim(epsilon=1, inputs=(0, 1))
            class Noise:
                pass

    def test_no_sensitivity_makes_an_infinite_scale_a_remedy(self, dpverify, project) -> None:
        project('[[tool.dpverify.claims]]\nmechanism = "laplace"\nscale = 1\nsensitivity = "1e400"\nepsilon = 1\n')
        outcome = dpverify("gate")
        assert outcome.code == 1
        assert "inf" not in outcome.output
        assert "No scale is known that satisfies the claim" in " ".join(outcome.output.split())

    def test_an_audit_without_power_says_so(self, dpverify, project) -> None:
        project('[[tool.dpverify.claims]]\ntarget = "NAME_helper.py:coin"\ninputs = [0, 1]\nepsilon = 2\nsamples = 100\n')
        outcome = dpverify("gate", "--verbose")
        assert outcome.code == 0
        assert "no epsilon would have been found" in outcome.output
        assert "none: no epsilon, however large," in " ".join(outcome.output.split())

    def test_a_syntax_error_in_a_module(self, dpverify, project) -> None:
        place = project(DECORATED)
        (place / f"{project.name}.py").write_text("def broken(:\n")
        outcome = dpverify("gate")
        assert outcome.code == 2
        assert f"{project.name}.py, line 1: syntax error" in outcome.errors

    def test_files_that_cannot_be_read_or_written(self, dpverify, project) -> None:
        place = project(DECORATED)
        assert "cannot be read (No such file" in dpverify("gate", "--config", "other.toml").errors
        (place / "latin.toml").write_bytes(b"# \xe9")
        assert "it is not UTF-8" in dpverify("gate", "--config", "latin.toml").errors
        assert "--also nowhere/x: this file cannot be written" in dpverify("gate", "--also", "json=nowhere/x").errors
        assert "'xml=x' is not FORMAT=FILE" in dpverify("gate", "--also", "xml=x").errors
        (place / "file").write_text("")
        outcome = dpverify("gate", "--evidence", "file")
        assert (outcome.code, "evidence cannot be written" in outcome.errors) == (2, True)

    def test_lines_of_keys(self) -> None:
        found = positions('[a]\nx = 1\n"y z" = 2\n[[ a . b ]]\nx = 1 # [c]\n[[a.b]]\n\nx = 3\n')
        assert found["a", 0, "x"] == 2
        assert found["a", 0, "y z"] == 3
        assert (found["a.b", 0, "x"], found["a.b", 1, ""], found["a.b", 1, "x"]) == (5, 6, 8)

    def test_two_claims_of_one_name_are_told_apart(self, project) -> None:
        place = project(WRITTEN + WRITTEN.partition("claims]]")[2].partition("[[")[0].join(["[[tool.dpverify.claims]]", ""]))
        names = [claim.name for claim in read(place / "pyproject.toml").claims]
        assert names == ["the coin", "gaussian (sigma = 4.3)", "the coin (2)"]

    def test_a_name_that_looks_like_a_second_one(self, project) -> None:
        claims = "".join(
            f'[[tool.dpverify.claims]]\nmechanism = "laplace"\nscale = 1\nepsilon = 1\nname = "{name}"\n'
            for name in ("a", "a", "a (2)", "a")
        )
        names = [claim.name for claim in read(project(claims) / "pyproject.toml").claims]
        assert names == ["a", "a (3)", "a (2)", "a (4)"]


class TestCache:
    def test_a_second_run_remembers(self, dpverify, project) -> None:
        project(DECORATED)
        first, second = dpverify("gate"), dpverify("gate")
        assert "(remembered)" not in first.output
        assert second.output.count("(remembered)") == 2
        assert second.output.replace(" (remembered)", "") == first.output
        assert "(remembered)" not in dpverify("gate", "--no-cache").output

    def test_not_where_ci_is_true(self, dpverify, project, monkeypatch: pytest.MonkeyPatch) -> None:
        project(DECORATED)
        dpverify("gate")
        monkeypatch.setenv("CI", "true")
        assert "(remembered)" not in dpverify("gate").output
        assert cache.wanted({}) is cache.wanted({"CI": "false"}) is True

    def test_a_change_of_an_imported_file_is_noticed(self, dpverify, project) -> None:
        place = project(DECORATED)
        dpverify("gate")
        with (place / f"{project.name}_helper.py").open("a") as stream:
            stream.write("# changed\n")
        assert "(remembered)" not in dpverify("gate").output

    @pytest.mark.parametrize("options", [("--seed", "1"), ("--alpha", "1e-7"), ("--budget", "1h")])
    def test_a_change_of_the_request_is_noticed(self, dpverify, project, options: tuple[str, str]) -> None:
        project(DECORATED)
        dpverify("gate")
        assert "(remembered)" not in dpverify("gate", *options).output

    def test_what_was_tampered_with_is_forgotten(self, dpverify, project) -> None:
        place = project(DECORATED)
        first = dpverify("gate")
        for path in (place / ".dpverify" / "cache").glob("*.json"):
            path.write_text(path.read_text().replace('"verdict": "refuted"', '"verdict": "not refuted"'))
        again = dpverify("gate")
        assert again.code == first.code == 1
        assert again.output.count("(remembered)") == 1

    def test_files_that_are_imported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.syspath_prepend(str(tmp_path))
        package = tmp_path / "walked_package"
        (package / "deep").mkdir(parents=True)
        for name, content in {
            "__init__.py": "",
            "main.py": "import numpy, json\nfrom . import side\nfrom walked_package.deep import inner\nimport dpverify\n",
            "side.py": "def f():\n    from .deep.late import x\n",
            "deep/__init__.py": "",
            "deep/inner.py": "from .. import broken\nimport nowhere_at_all",
            "deep/late.py": "import walked_package.main\n",
            "broken.py": "def (",
            "other.py": "",
        }.items():
            (package / name).write_text(content)
        found = {str(path.relative_to(package)) for path in imported_files(package / "main.py")}
        assert found == {"__init__.py", "main.py", "side.py", "deep/__init__.py", "deep/inner.py", "deep/late.py", "broken.py"}

    def test_what_cannot_be_pickled_is_not_remembered(self, project) -> None:
        import dataclasses

        claim = read(project(DECORATED) / "pyproject.toml").claims[0]
        options: dict[str, Any] = {"alpha": 1e-6, "seed": 0, "seconds": None}
        assert cache.key_of(claim, **options) is not None
        assert cache.key_of(dataclasses.replace(claim, inputs=(lambda: 0, 1)), **options) is None
        assert cache.key_of(read(project(WRITTEN) / "pyproject.toml").claims[1], **options) is None


@pytest.fixture(scope="module")
def sarif_schema() -> dict:
    place = Path(os.environ.get(SCHEMAS, Path(__file__).resolve().parents[2] / "shared")) / "sarif-2.1.0.json"
    if not place.is_file():
        pytest.skip(
            f"SKIPPED: the published schema of SARIF 2.1.0 is not at hand; set {SCHEMAS} to a directory with sarif-2.1.0.json"
        )
    return json.loads(place.read_text(encoding="utf-8"))


ALL_KINDS = (
    DECORATED
    + WRITTEN.partition("[tool.dpverify]\n")[2].replace("4.3", "4.2")
    + """
[[tool.dpverify.claims]]
target = "NAME_helper.py:coin"
inputs = [[1], [1]]
epsilon = 1
neighbours = "replace"
"""
)


class TestOutputs:
    def test_json_follows_its_schema(self, dpverify, project, root: Path) -> None:
        project(ALL_KINDS)
        outcome = dpverify("gate", "--output-format", "json")
        data = json.loads(outcome.output)
        schema = json.loads((root / "dpverify" / "report" / "gate.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(data, schema, cls=jsonschema.Draft202012Validator)
        assert data["exit_code"] == outcome.code == 1
        assert [claim["verdict"] for claim in data["claims"]] == ["refuted", "not refuted", "not refuted", "refuted", None]
        data["claims"][0]["verdict"] = "passed"
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data, schema, cls=jsonschema.Draft202012Validator)

    def test_sarif_follows_the_published_schema(self, dpverify, project, sarif_schema: dict) -> None:
        project(ALL_KINDS)
        log = json.loads(dpverify("gate", "--output-format", "sarif").output)
        jsonschema.validate(log, sarif_schema)
        broken = json.loads(json.dumps(log).replace('"level": "error"', '"level": "bad"'))
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, sarif_schema)

    def test_sarif_names_rules_places_and_texts(self, dpverify, project) -> None:
        project(ALL_KINDS)
        (run,) = json.loads(dpverify("gate", "--output-format", "sarif").output)["runs"]
        rules = run["tool"]["driver"]["rules"]
        assert [rule["id"] for rule in rules] == list(RULES)
        assert {"DP001", "DP002", "DP003", "DP004", "DP005", "DP006"} <= set(RULES)
        assert [result["ruleId"] for result in run["results"]] == ["DP001", "DP002", "DP005"]
        assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
        place = run["results"][1]["locations"][0]["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "pyproject.toml", "uriBaseId": "%SRCROOT%"}
        lines = Path("pyproject.toml").read_text().splitlines()
        assert lines[place["region"]["startLine"]] == 'mechanism = "gaussian"'
        assert run["results"][0]["message"]["text"].startswith("refuted: broken does not satisfy")
        assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 1}]

    def test_junit(self, dpverify, project) -> None:
        project(ALL_KINDS)
        suites = ElementTree.fromstring(dpverify("gate", "--output-format", "junit").output.encode())
        (suite,) = suites
        assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
            "tests": "5",
            "failures": "2",
            "errors": "1",
        }
        kinds = [[child.tag for child in case if child.tag != "properties"] for case in suite]
        assert kinds == [["failure"], ["system-out"], ["system-out"], ["failure"], ["error"]]
        properties = {one.get("name"): one.get("value") for one in suite[0].find("properties")}  # type: ignore[union-attr]
        assert (properties["rule"], properties["verdict"], properties["seed"]) == ("DP001", "refuted", "0")

    def test_github(self, dpverify, project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        project(ALL_KINDS)
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
        lines = dpverify("gate", "--output-format", "github").output.splitlines()
        errors = [line for line in lines if line.startswith("::error ")]
        assert len(errors) == 3
        assert errors[0].startswith(
            f"::error file={project.name}.py,line=5,title=DP001 statistical violation%3A broken::refuted: "
        )
        assert "%0A  witness" in errors[0]
        summary = (tmp_path / "summary.md").read_text()
        assert "| ❌ **refuted** | broken | epsilon is at least " in summary
        assert "| **not refuted** | sound | " in summary
        assert summary.count("<details>") == 3
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "summary.md"))
        outcome = dpverify("gate", "--output-format", "github")
        assert (outcome.code, "GITHUB_STEP_SUMMARY" in outcome.errors) == (2, True)

    def test_several_at_once_say_the_same(self, dpverify, project) -> None:
        place = project(ALL_KINDS)
        outcome = dpverify(
            "gate", "--also", "sarif=x.sarif", "--also", "junit=x.xml", "--also", "json=x.json", "--output", "x.txt"
        )
        assert outcome.output == ""
        names = [claim["name"] for claim in json.loads((place / "x.json").read_text())["claims"]]
        assert all(f" {name}: " in (place / "x.txt").read_text() for name in names)
        assert [case.get("name") for case in ElementTree.parse(place / "x.xml").iter("testcase")] == names
        assert json.loads((place / "x.sarif").read_text())["version"] == "2.1.0"

    def test_faults_of_a_configuration_are_results_too(self, dpverify, project, sarif_schema: dict) -> None:
        place = project(DECORATED + "colour = 1\n")
        outcome = dpverify("gate", "--also", "sarif=x.sarif", "--output-format", "github")
        assert outcome.code == 2
        assert outcome.output.startswith("::error file=pyproject.toml,line=3,title=DP000")
        log = json.loads((place / "x.sarif").read_text())
        jsonschema.validate(log, sarif_schema)
        assert log["runs"][0]["invocations"][0]["executionSuccessful"] is False

    @pytest.mark.parametrize("form", ["junit", "sarif", "github"])
    def test_audit_in_these_formats(self, dpverify, project, form: str) -> None:
        project(DECORATED)
        target = f"{project.name}_helper.py:coin"
        words = ("--inputs", "0", "1", "--samples", "5000", "--alpha", "1e-6", "--output-format", form)
        refuted = dpverify("audit", target, "--epsilon", "0.5", *words)
        assert refuted.code == 1
        assert "refuted: coin does not satisfy epsilon = 0.5" in refuted.output
        assert "DP001" in refuted.output
        fine = dpverify("audit", f"{project.name}_helper:coin", "--epsilon", "1.2", *words)
        assert fine.code == 0
        assert '"ruleId"' not in fine.output
        assert "::error" not in fine.output
        if form == "sarif":
            (result,) = json.loads(refuted.output)["runs"][0]["results"]
            assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == f"{project.name}_helper.py"

    @pytest.mark.parametrize("form", ["junit", "sarif", "github"])
    def test_prove_in_these_formats(self, dpverify, root: Path, form: str) -> None:
        outcome = dpverify("prove", "V-T3", "--check-only", "--directory", str(root / "proofs"), "--output-format", form)
        assert outcome.code == 0
        assert ("V-T3" in outcome.output) is (form != "sarif")  # SARIF lists what is out of order


class TestPages:
    def test_of_a_gate(self, dpverify, project) -> None:
        place = project(ALL_KINDS)
        assert dpverify("gate", "--also", "html=x.html").code == 1
        page = (place / "x.html").read_text()
        assert "<strong>2 of 5 claims are refuted.</strong>" in page
        assert page.count("<h3>Laws of the outputs</h3>") == 3
        assert page.count("<h3>Privacy profile</h3>") == 1

    def test_of_an_audit(self, dpverify, project) -> None:
        project(DECORATED)
        words = ("--epsilon", "0.5", "--inputs", "0", "1", "--samples", "5000", "--alpha", "1e-6", "--output-format", "html")
        outcome = dpverify("audit", f"{project.name}_helper.py:coin", *words)
        assert outcome.code == 1
        assert "<h1>Audit of coin</h1>" in outcome.output
        assert "<strong>The claim is refuted.</strong>" in outcome.output
        assert "<h3>Capital over samples</h3>" in outcome.output


class TestDocuments:
    @pytest.mark.parametrize("file", ["action.yml", "docs/how-to/gate.md"])
    def test_the_commands_for_continuous_integration_are_understood(self, root: Path, file: str) -> None:
        commands = re.findall(r"^ +(?:- )?(dpverify gate .*)$", (root / file).read_text(), re.MULTILINE)
        assert commands
        for command in commands:
            words = [word.replace("$BUDGET", "5m").replace("$SEED", "0") for word in shlex.split(command)[2:]]
            options = options_of("gate", "purpose", gate, words)
            assert [form for form, _ in options.also] != []

    def test_the_page_lists_the_rules(self, root: Path) -> None:
        assert re.findall(r"^\| (DP\d+) \|", (root / "docs" / "how-to" / "gate.md").read_text(), re.MULTILINE) == list(RULES)
