"""Files of theorems, their formulas, the tactics, the report and the verb."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dpverify.errors import InputError
from dpverify.prove.engine import certify, judge, prove_all, with_lemmas, write
from dpverify.prove.kernel.statements import Range, Relation
from dpverify.prove.kernel.steps import check
from dpverify.prove.kernel.terms import Rejected, parse, show
from dpverify.prove.library import Entry, read
from dpverify.prove.schemas import SCHEMAS
from dpverify.prove.schemas.events import survival
from dpverify.prove.schemas.parts import negated
from dpverify.prove.schemas.reading import Reader, a_range
from dpverify.prove.tactics.boxes import bisect
from dpverify.prove.tactics.pins import difference
from dpverify.prove.tactics.search import NotFound, find, sample
from dpverify.report import proofs as report

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]

MINIMAL = """
id = "T"
source = "a test"
claim = "x + 1 exceeds x."
schema = "inequality"
[[statement]]
name = "more"
for = { x = "(-inf, inf)" }
show = "x + 1 > x"
[[mutant]]
why = "less"
change = { "statement.0.show" = "x - 1 > x" }
point = { x = "0" }
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "proofs").mkdir()
    return tmp_path / "proofs"


def one(directory: Path, text: str, name: str = "T") -> Entry:
    (directory / f"{name}.toml").write_text(text)
    return read(directory)[name]


class TestReading:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("-x^2 + 0.1", "(+ (- (^ x 2)) 1/10)"),
            ("1/3 - -2", "(- 1/3 -2)"),
            ("a*exp(-b)/pi", "(/ (* 3 (exp (- b))) (pi))"),
            ("diff(x^3, x)", "(* 3 (^ x 2))"),
            ("1e-3", "1/1000"),
            ("phi(x) +\n Phi(x)", "(+ (phi x) (Phi x))"),
        ],
    )
    def test_terms(self, text: str, expected: str) -> None:
        assert show(Reader({"a": "3"}).term(text)) == expected

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "x.y",
            "f(x)",
            "exp(x, y)",
            "[x]",
            "x if y else z",
            "'x'",
            "+x",
            "x // y",
            "lambda: 1",
            "1" * 5000,
            "(",
            "True",
            "x\u2212y",
            7,
        ],
    )
    def test_what_is_no_formula(self, text: str) -> None:
        with pytest.raises(Rejected):
            Reader().term(text)

    def test_relations(self) -> None:
        assert Reader().relation("x = y").op == "="
        assert Reader().relation("x >= y").op == ">="
        for text in ("x", "x < y < z", "x != y", "x in y"):
            with pytest.raises(Rejected):
                Reader().relation(text)

    def test_ranges(self) -> None:
        assert a_range("whole [1, 5)") == Range(Fraction(1), Fraction(5), False, True, True)
        assert a_range("(-inf, inf)") == Range()
        for text in ("[1, 2", "1, 2", "[one, 2]", "[1/0, 2]"):
            with pytest.raises(Rejected):
                a_range(text)

    def test_an_abbreviation_hides_no_variable(self) -> None:
        with pytest.raises(Rejected, match="both"):
            Reader({"k": "2"}).statement({"for": {"k": "(0, 1)"}, "show": "k > 0"})
        with pytest.raises(Rejected):
            Reader().statement({"where": [], "shows": "1 > 0"})


class TestFiles:
    def test_a_theorem_is_read_proved_and_judged(self, directory: Path) -> None:
        entry = one(directory, MINIMAL)
        line = judge(entry, write(certify(entry)), {})
        assert (line.verdict, line.fault) == ("proved", "")

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("id = ", "cannot be read"),
            ('id = "S"', "name of the file"),
            (MINIMAL.replace('schema = "inequality"', 'schema = "hope"'), "no schema"),
            (MINIMAL.replace("x + 1 > x", "x + 1"), "comparison"),
            (MINIMAL.replace('show = "x - 1 > x"', 'show = "x + 1 > x"').replace("x - 1 > x", "x + 1 > x"), "changes nothing"),
            (MINIMAL + '[let]\nx1 = "("\n', "not a formula"),
            (MINIMAL.replace("statement.0.show", "statement.7.show"), "cannot be built"),
            (MINIMAL + "[surprise]\na = 1\n", "surprise"),
            (MINIMAL.replace('source = "a test"', 'source = "a test"\nlemmas = ["T"]'), "circle"),
            (MINIMAL.replace('source = "a test"', 'source = "a test"\nlemmas = ["U"]'), "no theorem 'U'"),
        ],
    )
    def test_a_bad_file_is_named(self, directory: Path, text: str, said: str) -> None:
        with pytest.raises(InputError, match=said) as caught:
            one(directory, text)
        assert "T.toml" in str(caught.value) or "circle" in said

    def test_an_empty_directory(self, directory: Path) -> None:
        with pytest.raises(InputError, match="no theorems"):
            read(directory)

    def test_an_unreadable_certificate_is_named(self, directory: Path) -> None:
        from dpverify.prove.engine import check_all

        entry = one(directory, MINIMAL)
        entry.certificate_path.parent.mkdir()
        entry.certificate_path.write_bytes(b"\xff\xfe")
        with pytest.raises(InputError, match=r"T\.json"):
            check_all({"T": entry}, {"T"})

    def test_lemmas_come_first(self) -> None:
        entries = read(ROOT / "proofs")
        order = list(entries)
        assert order.index("V-L1") < order.index("V-T3") < order.index("V-VAR")
        assert with_lemmas(entries, ["V-T3"]) == {"V-T3", "V-L1", "V-L2"}


class TestSchemas:
    def changed(self, name: str, old: str, new: str) -> str:
        text = (ROOT / "proofs" / f"{name}.toml").read_text()
        assert old in text
        return text.replace(old, new)

    @pytest.mark.parametrize(
        ("name", "old", "new"),
        [
            ("V-T3", "bounded_loss = true", "unbounded_loss = true"),
            ("V-T3", '[noise]\n', '[let]\neps = "1"\n[noise]\n'),
            ("DR-A1", 'where = []', 'whence = []'),
            ("DR-A1", 'theorem = "V-T5"', 'theorem = "V-L1"'),
            ("DR-A1", 'theorem = "V-T5"', 'theorem = "V-T9999"'),
            ("DR-A1", 'd = "eps/c", ', ''),
            ("DR-A1-BEYOND", 'theorem = "V-T5"\ncriterion = "profile"', 'theorem = "TGG-P2"\ncriterion = "variance"'),
            ("DR-A1-BEYOND", 'theorem = "V-T5"\ncriterion = "profile"\n', 'theorem = "L-C8"\ncriterion = "event"\n'),
            ("CH-TIGHT", 'refuted = "S >= (L + D/2)*D/eps"\n', ''),
            ("CH-TIGHT", 'printed = { for = { k = "[0, inf)" }, where', 'printed = { whence'),
            ("L-POST-BIT", 'theorem = "L-C8"\ncriterion = "event"', 'theorem = "V-T5"\ncriterion = "profile"'),
            ("V-L1", '["h", "d"], ["d", "h"]', '["h", "d"]'),
            ("V-L1", 'weights = "[0, 1]"', 'weight = "[0, 1]"'),
            ("L-E7", 'of = "v^p"\nparameters = { p = "[1, inf)" }', 'of = "v^p"\nparameters = { l = "[1, inf)" }'),
            ("L-EXP", 'against = "L-E7"', 'against = "L-C8"'),
            ("L-EXP", 'of = "v^p"', 'of = "v^(2*p)"'),
            ("L-MON", 'low = "3"', 'low = "5"'),
            ("L-FIG1", 'orders = "whole [1, 5]"', 'orders = "[1, 5]"'),
            ("L-NORM", 'of = "x^p"\n', 'off = "x^p"\n'),
            ("CH-T2", 'D = "(0, inf)", eps', 'DD = "(0, inf)", eps'),
            ("CH-MSE", 'scale = "s1", side = "L"', 'scale = "s1"'),
            ("CH-MSE", 'scale = "s1", side = "L", at = "edge"', 'scale = "s1", side = "L", at = "top"'),
            ("CH-PROJ", 'D = "1"\n', 'D = "101"\n'),
            ("CH-PROJ-NARROW", 'variance = "0.5"\n', 'variance = "-0.5"\n'),
            ("V-P-MSE", 'factor = "0.95"', 'factor = "0"'),
            ("DR-LOOSE", 'sigma = "40000"', 'sigma = "-40000"'),
            ("DR-LOOSE", 'sigma = "40000"\n', ''),
            ("CH-LAM", 'vertices = "10"', 'vertices = "3"'),
            ("CH-GG-ONE", 'variance = "', 'variants = "'),
            ("CH-GG", 'fixed = { L1 = "10"', 'fixed = { L1 = "-10"'),
            ("L-VAR", 'rest = "0"\n', ''),
            ("L-VAR", '[moment.upper]', '[moment.middle]'),
            ("V-VAR", 'epsilon = "[0.05, inf)", delta = "(0, 0.0003]"', 'epsilon = "[0.06, inf)", delta = "(0, 0.0003]"'),
            ("V-VAR", 'epsilon = "[0.14, inf)"', 'epsilon = "[0.15, inf)"'),
            ("V-VAR", 'delta = "[0.0003, 0.0006]"', 'delta = "[0.0003, 0.0005]"'),
            ("V-VAR", 'epsilon = "[0.14, inf)", delta = "(0, 0.001]"', 'epsilon = "[0.14, inf)", delta = "[0, 0.001]"'),
            ("V-VAR", 'epsilon = "[0.14, inf)", delta', 'epsilon = "(-inf, inf)", delta'),
            ("V-VAR", '{ order = "smaller", epsilon = "[0.14', '{ order = "no larger", epsilon = "[0.14'),
            ("V-VAR", 'noise = "V-T4"\nagainst = "V-T5"', 'noise = "V-T5"\nagainst = "V-T5"'),
            ("V-VAR", 'noise = "V-T4"\nagainst = "V-T5"', 'noise = "V-T3"\nagainst = "V-T5"'),
            ("V-VAR", 'noise = "V-T4"\nagainst', 'noisy = "V-T4"\nagainst'),
            ("V-VAR", 'delta = "(0, 0.0003]", shift = "eps" }', 'delta = "(0, 0.0003]", shift = "eps", box = "x" }'),
            ("V-VAR-LARGE", 'moment.lower', 'moment.upper'),
            ("V-VAR-LARGE", 'rest = "10"\n', 'rest = "10"\n[comparison.moment.middle]\nvalue = "1"\n'),
            ("V-VAR", 'delta = "(0, 0.0003]"', 'delta = "(0, 1]"'),
            ("L-E7-P2", 'schema = "sufficient condition"', 'schema = "insufficient condition"'),
            ("L-E7-P2", 'schema = "sufficient condition"', 'schema = "post-hoc bound"'),
            ("CH-L2", 'numbers = "[1, 6]"', 'numbers = "[1, inf)"'),
            ("L-CL3", 'show = "s - t', 'shown = "s - t'),
            ("V-L8", 'norm = "1"\n', ''),
            ("V-L8", '[["-0.87", "-0.19"], ["1.67", "inf"]]', '[["-0.87", "-0.19"]]'),
            ("V-L8", '[["-0.19", "1.39"], ["1.39", "inf"]]', '[["-0.5", "1.39"], ["1.39", "inf"]]'),
            ("V-L8", 'd = "1"', 'd = "0.9"'),
            ("V-L8", 'family = "subbotin"', 'family = "laplace"'),
            ("V-P", 'least = "16"\n', ''),
            ("V-P", 'gained = "6.4e-4"', 'gained = "1e-5"'),
            ("L-SAME", 'exceeding = [0]', 'exceeding = [5]'),
            ("L-SAME", 'epsilon = "1"\n', ''),
            ("L-C7-PRINT", '[[mutant]]', '[[statement]]\nname = "b"\nshow = "1 > 2"\n[[mutant]]'),
            ("L-C7-PRINT", 'show = "((e + D)^2 - e^2)/B <= eps"', 'show = "((e + D)^2 - e^2)/B = eps"'),
        ],
    )  # fmt: skip
    def test_data_of_another_form_are_refused(self, directory: Path, name: str, old: str, new: str) -> None:
        for needed in ("V-L1", "V-L2", "V-T3", "V-T4", "V-T5", "TGG-P2", "L-C8", "L-E7", "L-BIT-EXACT", "CH-T2"):
            shutil.copy(ROOT / "proofs" / f"{needed}.toml", directory)
        (directory / f"{name}.toml").write_text(self.changed(name, old, new))
        with pytest.raises(InputError, match=name):
            read(directory)

    @pytest.mark.parametrize(
        ("name", "old", "new"),
        [
            # variables of an author that would be those of the schema
            ("L-C4", '{ p = "(1, inf)" }', '{ p = "(1, inf)", D = "(0, 1)" }'),
            ("L-BIT-EXACT", 'b = "(0, inf)"', 'b = "(0, inf)", a = "(0, 1)"'),
            ("L-E7-NO2", "parameters = {}", 'parameters = { L = "(0, 1)" }'),
            ("L-E7-NO2", '[refuted]\nfor = {', '[refuted]\nfor = { x = "(0, 1)",'),
            ("L-NORM", 'parameters = { p = "[1, inf)" }', 'parameters = { p = "[1, inf)", y = "(0, 1)" }'),
            ("L-NORM", '[root]\nof = "p"', '[root]\nof = "S"'),
            ("CH-T2", 'k = "[0, inf)" }', 'k = "[0, inf)", r = "(0, 1)" }'),
            ("CH-T2", 'S = "(0, inf)"', 'S = "(-inf, inf)"'),
            # a printed condition with a narrower range of a variable of the claim
            ("CH-TIGHT", 'printed = { for = { k = "[0, inf)" }', 'printed = { for = { k = "[0, inf)", S = "(100, inf)" }'),
            # tests that are no tests, or not all of them
            ("V-L1", 'weights = "[0, 1]"', 'weights = "[0, 1/2]"'),
            ("L-DELTA0", 'weights = "[0, 1]"', 'weights = "(0, 1]"'),
            ("L-DELTA0", 'weights = "[0, 1]"', 'weights = "whole [0, 1]"'),
            # boxes of negative size, ends at the wrong infinity, outputs counted twice
            ("V-L8", '[["-0.19", "1.39"], ["1.39", "inf"]]', '[["-0.19", "1.39"], ["1.39", "1.38"]]'),
            ("V-L8", '["1.67", "inf"]]', '["1.67", "-inf"]]'),
            ("L-SAME", "exceeding = [0]", "exceeding = [0, 0]"),
            # noise that is not log-concave, numbers that no claim has
            ("V-L8", 'p = "4"', 'p = "0.5"'),
            ("V-P", 'scale = "27.872"', 'scale = "-27.872"'),
            ("V-P", 'epsilon = "1"', 'epsilon = "-1"'),
            ("V-P-MSE", 'p = "7.62"', 'p = "0.62"'),
            # a binomial sum of something else, regions of many numbers that cover one
            ("L-E7", '[binomial]\norder = "p"', '[binomial]\norder = "q"'),
            ("V-VAR", 'delta = "(0, 0.001]", shift = "eps" }]', 'delta = "(0, 0.001]", shift = "eps", numbers = "[1, 2]" }]'),
            # verdicts are earned
            ("V-VAR-CROSS", 'schema = "variance comparison"', 'schema = "variance comparison"\nbox = false'),
            ("V-L2", '[scaling]', 'verdict = "proved"\n[scaling]'),
        ],
    )  # fmt: skip
    def test_data_that_would_make_a_claim_hollow_are_refused(self, directory: Path, name: str, old: str, new: str) -> None:
        self.test_data_of_another_form_are_refused(directory, name, old, new)

    def test_a_condition_that_only_has_the_name_is_not_used(self, directory: Path) -> None:
        for needed in ("TGG-P2", "L-E7", "CH-GG-ONE"):
            shutil.copy(ROOT / "proofs" / f"{needed}.toml", directory)
        (directory / "CH-T1.toml").write_text(MINIMAL.replace('id = "T"', 'id = "CH-T1"'))
        with pytest.raises(InputError, match="sufficient condition"):
            read(directory)

    def test_a_theorem_that_only_has_the_name_is_not_used(self, directory: Path) -> None:
        for needed in ("V-L2", "V-T3"):
            shutil.copy(ROOT / "proofs" / f"{needed}.toml", directory)
        (directory / "V-L1.toml").write_text(MINIMAL.replace('id = "T"', 'id = "V-L1"'))
        with pytest.raises(InputError, match="half-line"):
            read(directory)

    def test_noise_of_another_family_is_not_taken_for_gaussian(self, directory: Path) -> None:
        for needed in ("V-L1", "V-L2", "TGG-P2", "CH-PROJ"):
            shutil.copy(ROOT / "proofs" / f"{needed}.toml", directory)
        (directory / "V-T5.toml").write_text((ROOT / "proofs" / "V-T4.toml").read_text().replace("V-T4", "V-T5"))
        with pytest.raises(InputError, match="Gaussian"):
            read(directory)

    @pytest.mark.parametrize(
        ("name", "old", "new", "left"),
        [
            ("L-BIT-EXACT", 'tail = "gammaq(1/p, (x/b)^p)/2"', 'tail = "1 + gammaq(1/p, (x/b)^p)/2"', "the tail vanishes"),
            ("L-E7-NO2", 'mass = "1 - exp(-x)"', 'mass = "2 - exp(-x)"', "the mass starts at 0"),
            ("V-T3", 'cdf = "1 - exp(-x)/2"', 'cdf = "0 - exp(-x)/2"', "half the mass lies on each side"),
            ("V-T3", 'inverse = "eps - 2*log', 'inverse = "-1 + eps - 2*log', "and lies where the profile holds"),
            ("L-E7", 'bound = "(2*D + l)^p - (D + l)^p"', 'bound = "(2*D + l)^p - (D + l)^p + 1"', "the bracket"),
            ("L-VAR", 'value = "1/2"', 'value = "0.49"', "upper bound, where it ends"),
            ("L-VAR", 'antiderivative = "1/2 +', 'antiderivative = "1/4 +', "upper bound, where it starts"),
            ("CH-T1", 'k = "[0, inf)"', 'k = "(-inf, inf)"', "the criterion is met"),
            ("L-E7-P2", 'where = ["D <= L"]', 'where = ["D <= L", "D > L"]', "the criterion is met"),
            ("CH-T1", 'S = "(0, inf)", L', 'S = "(0, 0)", L', "the criterion is met"),
            ("L-HIST", 'where = ["gammaq(1/p, u^p) <= delta"]', "where = []", "premise 1 of the criterion"),
            ("CH-MSE", 's1 = "(0, inf)"', 's1 = "(-inf, 0)"', "a cut of sigma^2 by 35 %"),
            ("CH-PROJ", 'sigma = "3.74"', 'sigma = "3.73"', "the unbounded Gaussian is private"),
            ("CH-PROJ-NARROW", 'sigma = "3.73"', 'sigma = "3.74"', "the unbounded Gaussian must be wider"),
            ("DR-LOOSE", 'factor = "2.4"', 'factor = "2.6"', "region 2: the factor"),
            ("L-MON-ED", 'range = "(1, inf)"', 'range = "(0.5, inf)"', "the shift falls with u"),
            ("V-VAR", 'shift = "eps + 0.012"', 'shift = "eps + 0.05"', "V-T4, region 5, the shift of the noise"),
        ],
    )  # fmt: skip
    def test_false_data_stay_open(self, directory: Path, name: str, old: str, new: str, left: str) -> None:
        for needed in ("V-L1", "V-L2", "V-T3", "V-T4", "V-T5", "TGG-P2", "L-C8", "L-E7"):
            shutil.copy(ROOT / "proofs" / f"{needed}.toml", directory)
        (directory / f"{name}.toml").write_text(self.changed(name, old, new))
        entry = read(directory)[name]
        (stated,) = (obligation for obligation in entry.theorem.obligations if obligation.name == left)
        alone = replace(entry.theorem, obligations=(stated,), mutants=())
        assert not certify(replace(entry, theorem=alone, table={**entry.table, "mutant": []}))["obligations"]

    def test_survival_functions(self) -> None:
        from dpverify.prove.kernel.evaluation import evaluate
        from dpverify.prove.kernel.intervals import Arithmetic

        def value(family: str, x: str, p: str = "2") -> float:
            return float(evaluate(survival({"family": family, "p": p}, Fraction(x)), {}, Arithmetic(20)).low)

        for x in ("-3/2", "0", "7/10"):
            normal = value("gaussian", x)
            assert value("subbotin", x) == pytest.approx(normal, rel=1e-12)
            assert value("laplace", x) == pytest.approx(value("subbotin", x, "1"), rel=1e-12)
            assert value("generalized gaussian", x, "1") == pytest.approx(value("laplace", x), rel=1e-12)
        assert value("logistic", "0") == 0.5
        assert value("logistic", "1") + value("logistic", "-1") == pytest.approx(1, rel=1e-15)
        with pytest.raises(Rejected, match="family"):
            survival({"family": "cauchy", "p": "1"}, Fraction(1))

    def test_every_schema_says_why_it_is_right(self) -> None:
        for name, schema in SCHEMAS.items():
            assert schema.argument, name

    def test_equations_are_not_negated(self) -> None:
        with pytest.raises(Rejected):
            negated(Reader().statement({"show": "1 = 2"}))


class TestTactics:
    def test_a_search_that_fails_says_for_what(self) -> None:
        statement = Reader().statement({"for": {"x": "(0, inf)"}, "show": "x > 1"})
        with pytest.raises(NotFound, match="tried"):
            find(statement, {}, Reader())
        with pytest.raises(NotFound, match="goal"):
            find(statement, {"kind": "exponentiate", "then": {"kind": "identity"}}, Reader())
        empty = Reader().statement({"for": {"x": "(0, 1)"}, "where": ["x > 2"], "show": "x > 1"})
        with pytest.raises(NotFound, match="admissible"):
            sample(empty, {}, Reader())

    def test_what_is_left_out_is_found(self) -> None:
        reader = Reader()
        cases = [
            ({"for": {"x": "[0, 1]"}, "show": "x*(1 - x) < 0.26"}, {}),
            ({"for": {"x": "[0, 1]"}, "where": ["x >= 0.6"], "show": "x*(1 - x) < 0.245"}, {"kind": "sign_box"}),
            ({"for": {"x": "whole [1, 3]"}, "show": "exp(x) > x"}, {"kind": "exact_finite", "variable": "x"}),
            ({"for": {"x": "[0, 1]"}, "show": "x*(1 - x) < 0.26"}, {"kind": "split", "variable": "x", "at": "0.5"}),
            ({"for": {"x": "(-inf, 3]"}, "show": "x < 4"}, {}),
            ({"for": {"x": "[0, 1]", "y": "[0, 1]"}, "show": "(x - y)^2 < 1.1"}, {}),
        ]
        for data, hint in cases:
            statement = reader.statement(data)
            check(statement, find(statement, hint, reader))
        for domain in ("[2, 3]", "whole [2, 9]", "(-inf, -5]", "[100, inf)"):
            if domain != "(-inf, -5]":
                assert sample(reader.statement({"for": {"x": domain}, "show": "x = x"}), {}, reader)

    def test_branch_and_bound_gives_up(self) -> None:
        unit, ray = {"for": {"x": "[0, 1]"}, "show": "x > 0.5"}, {"for": {"x": "[0, inf)"}, "show": "x > 2"}
        edge = {"for": {"x": "[0, 1]"}, "show": "log(x) < 5"}  # not defined at 0, however small the box
        for data in (unit, ray, edge, {"show": "1 > 2"}):
            with pytest.raises(Rejected):
                bisect(Reader().statement(data), 20)

    def test_obligations_that_are_not_met_are_open_and_named(self, directory: Path) -> None:
        entry = one(directory, MINIMAL.replace("x + 1 > x", "exp(x) > x"))
        complaints: list[str] = []
        line = judge(entry, write(certify(entry, complaints)), {})
        assert (line.verdict, line.outcome.missing) == ("open", ("more",))
        assert "more" in complaints[0]
        assert write(certify(entry)) == write(certify(entry))
        assert list(report.obligations(line)) == ["more: OPEN"]


class TestPins:
    def test_theorems_and_mechanisms_state_the_same_formulas(self) -> None:
        entries = read(ROOT / "proofs")
        pinned = [entry for entry in entries.values() if "mechanism" in entry.table]
        assert {entry.table["mechanism"] for entry in pinned} >= {"laplace", "logistic", "gaussian"}
        assert [difference(entry) for entry in pinned] == [""] * len(pinned)

    @pytest.mark.parametrize(
        ("name", "old", "new", "said"),
        [
            ("V-T3", 'exponent = "x + log(2)"', 'exponent = "x"', "density"),
            ("V-T3", 'cdf = "1 - exp(-x)/2"', 'cdf = "1 - exp(-x)"', "cdf"),
            ("V-T3", 'threshold = "(eps + d)/2"', 'threshold = "eps + d"', "threshold"),
            ("V-T4", 'profile = "(exp(d/2)', 'profile = "2*(exp(d/2)', "profile"),
            ("V-T4", 'inverse = "eps + 2*', 'inverse = "eps + 3*', "scale"),
        ],
    )
    def test_a_changed_formula_shows(self, directory: Path, name: str, old: str, new: str, said: str) -> None:
        shutil.copytree(ROOT / "proofs", directory, dirs_exist_ok=True)
        path = directory / f"{name}.toml"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        entry = read(directory)[name]
        assert said in difference(entry)
        assert said in next(line.fault for line in prove_all({name: entry}, {name}))


class TestReport:
    def test_text_markdown_and_mapping(self) -> None:
        entries = read(ROOT / "proofs")
        wanted = with_lemmas(entries, ["V-L8", "V-P", "L-MINK", "CH-LAM", "L-BIT", "CH-MSE"])
        from dpverify.prove.engine import check_all

        lines = check_all(entries, wanted)
        text = report.as_text(lines)
        assert "CITED, NOT CHECKED: Weyl" in text
        assert "witness: 16 or more of 100 outputs above 1.2 scales" in text
        assert "shift (0.84, 0.84)" in text
        assert "K-norm" in text
        markdown = report.as_markdown(lines, "a command")
        assert markdown.count("\n## ") == len(lines)
        assert "mutant: " in markdown
        assert "[V-L8.toml](V-L8.toml)" in report.mapping(lines, "a command")
        stale = judge(entries["V-L8"], "{}", {})
        assert report.witness(stale) is None
        assert "REJECTED" in report.as_text([stale])
        assert "OPEN" in " ".join(report.obligations(stale))

    def test_numbers_of_witnesses(self) -> None:
        assert report._decimal("1/10") == "0.1"
        assert report._decimal("1/3") == "1/3"
        assert report._decimal("1/1000000000000000") == "1e-15"
        assert report._value(parse("(log -1)")) == "(not a single number)"
        assert Relation("<", parse("1"), parse("2")).text() == "(< 1 2)"


class TestVerb:
    def test_check_only_of_some(self, dpverify: Callable[..., object]) -> None:
        outcome = dpverify("prove", "V-T3", "V-P", "--check-only")
        assert (outcome.code, outcome.errors) == (0, "")
        assert outcome.output.startswith("V-P   refuted with witness\n")
        assert "V-L1" not in outcome.output

    def test_json_has_the_documented_keys(self, dpverify: Callable[..., object]) -> None:
        rows = json.loads(dpverify("prove", "L-BIT", "--output-format", "json").output)
        assert [list(row) for row in rows] == [
            ["id", "claim", "source", "verdict", "trust", "obligations", "witness", "seconds"]
        ]
        assert rows[0]["witness"].endswith("0.156499 > 0.1")

    def test_an_unknown_theorem(self, dpverify: Callable[..., object]) -> None:
        outcome = dpverify("prove", "V-T99")
        assert outcome.code == 2
        assert "no such theorem" in outcome.errors

    def test_write_is_for_the_whole_table(self, dpverify: Callable[..., object]) -> None:
        assert dpverify("prove", "V-T3", "--write").code == 2
        assert dpverify("prove", "--check-only", "--write").code == 2

    def test_a_stale_or_changed_verdict_is_a_failure(self, dpverify: Callable[..., object], tmp_path: Path) -> None:
        proofs = tmp_path / "proofs"
        proofs.mkdir()
        (proofs / "T.toml").write_text(MINIMAL)
        where = ("--directory", str(proofs))
        outcome = dpverify("prove", *where)
        assert outcome.code == 2
        assert "--write" in outcome.errors
        assert dpverify("prove", "--write", *where).code == 0
        first = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        assert {path.name for path in first} == {"T.toml", "T.json", "MAPPING.md", "proofs.json", "proofs.md"}
        assert dpverify("prove", "--write", *where).code == 0
        assert {path: path.read_bytes() for path in first} == first
        assert dpverify("prove", "--check-only", *where).code == 0
        (proofs / "T.toml").write_text(MINIMAL.replace("exceeds x", "is above x"))
        outcome = dpverify("prove", "--check-only", *where)
        assert outcome.code == 1
        assert "stale" in outcome.output
        (proofs / "certificates" / "T.json").unlink()
        assert dpverify("prove", "--check-only", *where).code == 1  # open, where the table says proved
