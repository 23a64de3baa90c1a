"""Every step kind: what it closes, and the false or malformed uses that it must refuse."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dpverify.prove.kernel import steps
from dpverify.prove.kernel.evaluation import evaluate
from dpverify.prove.kernel.facts import FACTS, instance
from dpverify.prove.kernel.intervals import Arithmetic
from dpverify.prove.kernel.statements import Range, Relation, Statement
from dpverify.prove.kernel.steps import KINDS, certain, check, point_of
from dpverify.prove.kernel.terms import Rejected, parse
from dpverify.prove.schemas.reading import Reader

READER = Reader()
COEFFICIENTS: dict[str, Any] = {"kind": "nonneg_coeffs", "use": []}
IDENTITY = {"kind": "identity"}
POINTLESS = {"kind": "sign_box", "digits": 20, "tree": ["."]}


def goal(show: str, where: tuple[str, ...] = (), exists: bool = False, **ranges: str) -> Statement:
    stated = READER.statement({"for": ranges, "where": list(where), "show": show})
    return Statement(stated.variables, stated.hypotheses, stated.conclusion, exists)


def refused(statement: Statement, step: object) -> None:
    with pytest.raises(Rejected):
        check(statement, step)


class TestIdentity:
    def test_closes_what_is_identical(self) -> None:
        check(goal("(x + y)^2 = x^2 + 2*x*y + y^2", x="(-inf, inf)", y="(-inf, inf)"), IDENTITY)
        check(goal("x - x >= 0", x="(-inf, inf)"), IDENTITY)

    def test_refuses_anything_else(self) -> None:
        refused(goal("x = 2*x", x="(0, inf)"), IDENTITY)
        refused(goal("x - x > 0", x="(0, inf)"), IDENTITY)
        refused(goal("(x - y)/(x - y) = 1", x="(0, inf)", y="(0, inf)"), IDENTITY)  # not defined at x = y


class TestCoefficients:
    def test_uses_hypotheses(self) -> None:
        check(goal("x <= z", ("x <= y", "y <= z"), x="(-inf, inf)", y="(-inf, inf)", z="(-inf, inf)"),
              {"kind": "nonneg_coeffs", "use": [[0, "1"], [1, "1"]]})  # fmt: skip
        check(goal("x = 2*y", ("x - y = y",), x="(-inf, inf)", y="(-inf, inf)"), {"kind": "nonneg_coeffs", "use": [[0, "1"]]})
        check(goal("x >= -3*y", ("x = y",), x="(0, inf)", y="(0, inf)"), {"kind": "nonneg_coeffs", "use": [[0, "-1"]]})
        check(goal("x < z", ("x < z",), x="(-inf, inf)", z="(-inf, inf)"), {"kind": "nonneg_coeffs", "use": [[0, "1"]]})
        check(goal("x > 0", ("x > 0",), x="(-inf, inf)"), COEFFICIENTS)  # a hypothesis of this form is a sign

    @pytest.mark.parametrize(
        ("show", "where", "use"),
        [
            ("x >= y", (), []),
            ("x = 0", ("x >= 0",), [[0, "1"]]),  # an inequality proves no equation
            ("x = 1", (), []),
            ("x - y >= 0", ("y - x >= 0",), [[0, "-1"]]),  # a negative multiple of an inequality
            ("x < y", ("x <= y",), [[0, "1"]]),
            ("x < y", ("x < y",), [[0, "z"]]),  # z may be 0
            ("x >= 0", ("x >= 0",), [[1, "1"]]),
            ("x >= 0", ("x >= 0",), [[-1, "1"]]),
            ("x >= 0", ("x >= 0",), [[True, "1"]]),
            ("x >= 0", ("x >= 0",), [["0", "1"]]),
            ("x >= 0", ("x >= 0",), [[0]]),
            ("x >= 0", ("x >= 0",), [[0, 1]]),
            ("x >= 0", ("x >= 0",), "0"),
            ("x >= 0", ("x >= 0",), [[0, "1"]] * 300),
        ],
    )
    def test_refuses(self, show: str, where: tuple[str, ...], use: object) -> None:
        statement = goal(show, where, x="(-inf, inf)", y="(-inf, inf)", z="[0, inf)")
        refused(statement, {"kind": "nonneg_coeffs", "use": use})


class TestBoxes:
    def test_bisection_shows_what_the_whole_box_does_not(self) -> None:
        statement = goal("x*(1 - x) < 0.3", x="[0, 1]")
        refused(statement, POINTLESS)
        check(statement, {"kind": "sign_box", "digits": 20, "tree": ["x", "x", "~", "~", "x", "~", "~"]})

    def test_a_hypothesis_can_empty_a_piece(self) -> None:
        for hypothesis in ("x >= 0.6", "x > 0.5", "x - 0.7 = 0"):
            check(goal("x > 0.4", (hypothesis,), x="[0, 1]"), {"kind": "sign_box", "digits": 20, "tree": ["x", "!", "."]})

    @pytest.mark.parametrize(
        "tree",
        [
            [],
            ["x"],
            ["x", "."],
            [".", "."],
            ["y", ".", "."],
            ["q"],
            [["x"]],
            [7],
            "x..",
            ["x", "x", "."],
            ["x"] * 200,
            ["."] * 20_001,
        ],
    )
    def test_refuses_trees_that_do_not_cover(self, tree: object) -> None:
        refused(goal("x > -1", x="[0, 1]"), {"kind": "sign_box", "digits": 20, "tree": tree})

    @pytest.mark.parametrize("digits", [9, 121, "20", True, 20.0])
    def test_refuses_precisions(self, digits: object) -> None:
        refused(goal("x > -1", x="[0, 1]"), {"kind": "sign_box", "digits": digits, "tree": ["."]})

    def test_refuses_to_bisect_what_has_no_middle_left(self) -> None:
        end = "-0.77777777777777777777"
        refused(goal("x < 0", x=f"[{end}, {end}]"), {"kind": "sign_box", "digits": 20, "tree": ["x", ".", "."]})

    def test_refuses_infinite_ranges_and_what_is_false(self) -> None:
        refused(goal("x > -1", x="[0, inf)"), POINTLESS)
        refused(goal("x > 0.5", x="[0, 1]"), POINTLESS)
        refused(goal("log(x) < 5", x="[0, 1]"), POINTLESS)
        refused(goal("x > 0.5", ("log(x - 1) > 0",), x="[0, 1]"), {"kind": "sign_box", "digits": 20, "tree": ["x", "!", "."]})

    def test_equations_hold_only_for_exact_values(self) -> None:
        check(goal("2 + 2 = 4"), POINTLESS)
        refused(goal("sqrt(2)*sqrt(2) = 2"), POINTLESS)
        assert not certain(Relation("=", parse("2"), parse("3")), {}, 20)


class TestWitness:
    STATEMENT = goal("x^2 > 2", ("x*y = 1",), exists=True, x="(0, 2]", y="whole [0, 5]")

    def test_closes(self) -> None:
        check(goal("exp(x) > 2", ("x < 1",), exists=True, x="(0, 2]"), {"kind": "witness", "point": {"x": "9/10"}})

    @pytest.mark.parametrize(
        "point",
        [
            {"x": "0"},
            {"x": "3"},
            {"x": "1/2"},
            {"x": "3/2"},
            {"y": "1"},
            {},
            None,
            {"x": "0.9"},
            {"x": 1},
        ],
    )
    def test_refuses(self, point: object) -> None:
        refused(goal("exp(x) > 2", ("x < 1",), exists=True, x="(0, 2]"), {"kind": "witness", "point": point})

    def test_is_for_existence_only(self) -> None:
        refused(goal("x > 0", x="(0, 2]"), {"kind": "witness", "point": {"x": "1"}})
        refused(goal("x > 0", exists=True, x="(0, 2]"), COEFFICIENTS)

    def test_hypotheses_decided_by_algebra_or_intervals(self) -> None:
        statement = goal("x > 0", ("sqrt(x)*sqrt(x) = 2", "log(x) < 1", "x <= 2"), x="(0, 5)")
        assert point_of(statement, {"x": "2"})
        for text in ("3", "1/2"):
            with pytest.raises(Rejected):
                point_of(statement, {"x": text})
        with pytest.raises(Rejected):
            point_of(goal("x > 0", ("log(x - 3) < 9",), x="(0, 5)"), {"x": "2"})
        assert point_of(goal("x > 0", ("2*Phi(x) - 1 > 0",), x="(0, 5)"), {"x": "2"})
        with pytest.raises(Rejected):
            point_of(self.STATEMENT, {"x": "1", "y": "1/2"})


class TestFacts:
    @pytest.mark.parametrize("name", FACTS)
    def test_hold_at_many_points(self, name: str) -> None:
        """A fact that fails where its conditions hold would make the kernel worthless."""
        values = [Fraction(text) for text in ("-7/2", "-1", "-1/3", "0", "1/10", "2/3", "1", "5/4", "3", "8")]
        m, seen = Arithmetic(40), 0
        parameters = FACTS[name].parameters
        for number in range(len(values) ** len(parameters)):
            chosen = [values[number // len(values) ** place % len(values)] for place in range(len(parameters))]
            conditions, conclusion = instance(name, chosen)
            if all(steps.holds(condition) for condition in conditions):
                seen += 1
                assert evaluate(conclusion.difference, {}, m).high >= 0, chosen
        assert seen >= 5

    def test_conditions_are_shown(self) -> None:
        mills = goal("Phi(-x) <= phi(x)/x", x="(0, inf)")
        step = {"kind": "fact", "name": "mills", "at": ["x"], "conditions": [COEFFICIENTS]}
        check(mills, step)
        refused(goal("Phi(-x) <= phi(x)/x", x="[0, inf)"), step)
        refused(goal("Phi(-x) <= phi(x)", x="(0, inf)"), step)
        refused(mills, {**step, "conditions": []})
        refused(mills, {**step, "at": ["x", "x"]})
        refused(mills, {**step, "at": ["y"]})
        refused(mills, {**step, "at": "x"})
        refused(mills, {**step, "name": ["mills"]})
        refused(mills, {**step, "name": "wishful"})
        refused(goal("exp(1/x) >= 1 + 1/x", x="(-inf, inf)"),
                {"kind": "fact", "name": "exp_above_tangent", "at": ["(/ 1 x)"], "conditions": []})  # fmt: skip


class TestHaveAndCases:
    def test_an_intermediate_claim_must_be_shown(self) -> None:
        statement = goal("exp(x) >= x", x="(-inf, inf)")
        fact = {"kind": "fact", "name": "exp_above_tangent", "at": ["x"], "conditions": []}
        use = {"kind": "nonneg_coeffs", "use": [[0, "1"]]}
        check(statement, {"kind": "have", "claim": [">=", "(exp x)", "(+ 1 x)"], "proof": fact, "then": use})
        refused(statement, {"kind": "have", "claim": [">=", "(exp x)", "(+ 2 x)"], "proof": fact, "then": use})
        for claim in ([">=", "(exp x)"], ["!", "x", "x"], [1, "x", "x"], ["<", "x", 3], ["<", "q", "x"], "x", ["<", "x", None]):
            refused(statement, {"kind": "have", "claim": claim, "proof": fact, "then": use})

    def test_cases(self) -> None:
        product = {"kind": "fact", "name": "product_of_nonnegative", "at": ["x", "x"], "conditions": [COEFFICIENTS] * 2}
        negative = {
            "kind": "have",
            "claim": [">=", "(* (- x) (- x))", "0"],
            "proof": {
                "kind": "fact",
                "name": "product_of_nonnegative",
                "at": ["(- x)", "(- x)"],
                "conditions": [{"kind": "nonneg_coeffs", "use": [[0, "1"]]}] * 2,
            },
            "then": {"kind": "nonneg_coeffs", "use": [[1, "1"]]},
        }
        statement = goal("x*x >= 0", x="(-inf, inf)")
        check(statement, {"kind": "cases", "term": "x", "below": negative, "above": product})
        refused(statement, {"kind": "cases", "term": "x", "below": product, "above": product})
        refused(statement, {"kind": "cases", "term": "(log x)", "below": COEFFICIENTS, "above": COEFFICIENTS})


class TestSplit:
    def test_two_parts(self) -> None:
        step = {"kind": "split", "variable": "x", "at": "1/2", "below": POINTLESS, "above": POINTLESS}
        check(goal("x*(1 - x) < 0.6", x="[0, 1]"), step)
        refused(goal("x*(1 - x) < 0.4", x="[0, 1]"), step)
        for change in ({"at": "2"}, {"at": 1}, {"variable": "y"}, {"variable": 3}):
            refused(goal("x*(1 - x) < 0.6", x="[0, 1]"), {**step, **change})


class TestMonotone:
    STEP: ClassVar = {
        "kind": "monotone",
        "variable": "x",
        "from": "low",
        "strict": "base",
        "base": COEFFICIENTS,
        "slope": COEFFICIENTS,
    }

    def test_from_either_end(self) -> None:
        check(goal("exp(x) >= 1", x="[0, inf)"), self.STEP)
        check(goal("exp(x) > 1", x="(0, inf)"), {**self.STEP, "strict": "slope"})
        check(goal("exp(x) > 1/2", x="[0, inf)"), self.STEP)
        falling = {**self.STEP, "from": "high", "base": IDENTITY, "slope": COEFFICIENTS}
        check(goal("exp(-x) >= exp(-1)", x="(-inf, 1]"), falling)
        check(goal("exp(-x) > exp(-1)", x="(-inf, 1)"), {**falling, "strict": "slope"})

    @pytest.mark.parametrize(
        ("show", "where", "x", "change"),
        [
            ("exp(-x) >= 1", (), "[0, inf)", {}),
            ("exp(x) > 1", (), "[0, inf)", {"strict": "slope"}),  # equal at the closed end
            ("exp(x) >= 1", (), "(0, inf)", {"strict": "slope"}),
            ("exp(x) >= 1", (), "(-inf, inf)", {}),
            ("exp(x) >= 1", (), "[0, inf)", {"from": "high"}),
            ("exp(x) >= 1", (), "[0, inf)", {"from": ["low"]}),
            ("exp(x) >= 1", (), "[0, inf)", {"strict": "both"}),
            ("exp(x) >= 1", (), "whole [0, 9]", {}),
            ("x = x", (), "[0, inf)", {}),
            ("exp(x) >= 1", (), "[0, inf)", {"variable": "y"}),
            ("x - 1 >= 0", ("x >= 1",), "[0, inf)", {}),  # the hypothesis does not hold on the way
            ("1/x >= 1", (), "(0, 1]", {}),  # not defined at the end to start from
            ("-1/(x - 1) >= 1", (), "[0, inf)", {}),  # a pole on the way
        ],
    )
    def test_refuses(self, show: str, where: tuple[str, ...], x: str, change: dict[str, Any]) -> None:
        refused(goal(show, where, x=x), {**self.STEP, **change})

    def test_hypotheses_about_other_variables_are_kept(self) -> None:
        statement = goal("exp(x) + y >= 3", ("y >= 2",), x="[0, inf)", y="(-inf, inf)")
        check(statement, {**self.STEP, "base": {"kind": "nonneg_coeffs", "use": [[0, "1"]]}})


class TestShift:
    STEP: ClassVar = {"kind": "shift", "variable": "x", "side": "above", "bound": "y", "then": COEFFICIENTS}

    def test_by_a_range_or_a_hypothesis(self) -> None:
        for hypothesis in ("x >= y", "y <= x"):
            check(goal("x^2 >= y^2", (hypothesis,), x="(-inf, inf)", y="[0, inf)"), self.STEP)
        for hypothesis in ("x > y", "y < x"):
            check(goal("x^2 > y^2", (hypothesis,), x="(-inf, inf)", y="(0, inf)"), self.STEP)
        below = {**self.STEP, "side": "below"}
        check(goal("y - x >= 0", ("x <= y",), x="(-inf, inf)", y="(-inf, inf)"), below)
        check(goal("y - x > 0", ("y > x",), x="(-inf, inf)", y="(-inf, inf)"), below)
        check(goal("x^2 >= 4", x="[2, inf)"), {**self.STEP, "bound": "2"})
        check(goal("3 - x >= 0", x="(-inf, 3]"), {**below, "bound": "3"})
        between = {**self.STEP, "side": "between", "bound": "0"}
        check(goal("1 - x > 0", x="(0, 1)"), between)
        check(goal("1 - x >= 0", x="(0, 1]"), between)
        check(goal("(x - 1)*(3 - x) > 0", x="(1, 3)"), between)

    @pytest.mark.parametrize(
        ("show", "where", "x", "change"),
        [
            ("x >= y", (), "(-inf, inf)", {}),
            ("x >= y", ("x <= y",), "(-inf, inf)", {}),
            ("x > y", ("x >= y",), "(-inf, inf)", {}),
            ("x >= y", ("x = y",), "(-inf, inf)", {}),
            ("x >= y", ("x >= y",), "whole (-inf, inf)", {}),
            ("x >= y", ("x >= y",), "(-inf, inf)", {"side": "left"}),
            ("x >= y", ("x >= y",), "(-inf, inf)", {"bound": "(+ x y)"}),
            ("x >= y", ("x >= 1/y",), "(-inf, inf)", {"bound": "(/ 1 y)"}),
            ("x >= y", ("x >= y",), "(-inf, inf)", {"variable": "z"}),
            ("1 - x > 0", (), "(0, 1]", {"side": "between", "bound": "0"}),
            ("1 - x >= 0", (), "[0, 1]", {"side": "between", "bound": "0"}),
            ("1 - x >= 0", (), "(0, inf)", {"side": "between", "bound": "0"}),
        ],
    )
    def test_refuses(self, show: str, where: tuple[str, ...], x: str, change: dict[str, Any]) -> None:
        refused(goal(show, where, x=x, y="(-inf, inf)"), {**self.STEP, **change})


class TestOthers:
    def test_substitute(self) -> None:
        statement = goal("x = 4", ("x = 2*y", "y = 2"), x="(0, inf)", y="(0, 9]")
        then = {"kind": "nonneg_coeffs", "use": [[1, "2"]]}
        check(statement, {"kind": "substitute", "variable": "x", "by": 0, "then": then})
        refused(statement, {"kind": "substitute", "variable": "y", "by": 0, "then": then})
        refused(goal("x = 4", ("x >= 2*y",), x="(0, inf)", y="(0, inf)"),
                {"kind": "substitute", "variable": "x", "by": 0, "then": then})  # fmt: skip
        refused(goal("x = 0", ("x = 2*x",), x="(0, inf)"), {"kind": "substitute", "variable": "x", "by": 0, "then": IDENTITY})

    def test_generalise(self) -> None:
        statement = goal("exp(x)^2 + 1 > 0", ("exp(x) >= 0",), x="(-inf, inf)")
        step = {"kind": "generalise", "term": "(exp x)", "name": "e", "then": COEFFICIENTS}
        check(statement, step)
        refused(goal("exp(x) > 0", x="(-inf, inf)"), step)  # nothing is known of e
        refused(statement, {**step, "name": "x"})
        refused(statement, {**step, "term": "(log x)"})

    def test_exponentiate(self) -> None:
        check(goal("log(x) + log(y) = log(x*y)", x="(0, inf)", y="(0, inf)"), {"kind": "exponentiate", "then": IDENTITY})
        check(goal("log(1 + x) > 0", x="(0, inf)"), {"kind": "exponentiate", "then": COEFFICIENTS})
        refused(goal("log(x) > 0", x="(0, inf)"), {"kind": "exponentiate", "then": COEFFICIENTS})

    def test_exact_finite(self) -> None:
        statement = goal("(1 + x)^n >= 1 + (n/1)*x", n="whole [1, 4]", x="[0, inf)")
        step = {"kind": "exact_finite", "variable": "n", "each": [COEFFICIENTS] * 4}
        check(statement, step)
        check(goal("n*n < 17", n="whole (0, 9/2)"), {**step, "each": [POINTLESS] * 4})
        refused(statement, {**step, "each": [COEFFICIENTS] * 3})
        refused(goal("1/n > 0", n="whole [0, 3]"), step)
        for domain in ("[1, 4]", "whole [1, inf)", "whole (-inf, 4]", "whole [1, 1000]"):
            refused(goal("n >= 1", n=domain), step)
        refused(statement, {**step, "variable": "m"})

    @pytest.mark.parametrize(
        "step", [None, [], "identity", {}, {"kind": "wish"}, {"kind": ["identity"]}, {"kind": "identity", "more": 1}]
    )
    def test_what_is_no_step(self, step: object) -> None:
        refused(goal("x = x", x="(0, inf)"), step)

    def test_nesting_is_bounded(self) -> None:
        step: dict[str, Any] = {"kind": "exponentiate", "then": IDENTITY}
        for _ in range(steps.DEEPEST + 1):
            step = {"kind": "cases", "term": "x", "below": IDENTITY, "above": step}
        refused(goal("x = x", x="(0, inf)"), step)

    def test_every_kind_is_tested_here(self) -> None:
        source = Path(__file__).read_text(encoding="utf-8")
        assert [kind for kind in KINDS if f'"kind": "{kind}"' not in source] == []


class TestStatements:
    def test_variables_are_declared_once(self) -> None:
        x = ("x", Range())
        for variables in ((), (x, x)):
            with pytest.raises(Rejected):
                Statement(variables, (), Relation("<", "x", Fraction(1)))

    def test_ranges(self) -> None:
        assert Fraction(3, 2) not in Range(whole=True)
        assert Fraction(0) not in Range(Fraction(0), None, True)
        assert Fraction(2) in Range(Fraction(0), Fraction(2))
        assert Range(Fraction(-1)).sign is None
        assert "whole" in Range(Fraction(0), Fraction(2), whole=True).text()

    def test_the_text_tells_statements_apart(self) -> None:
        texts = {
            goal("x > 0", x="(0, 1)").text(),
            goal("x > 0", x="[0, 1)").text(),
            goal("x > 0", x="(0, 1]").text(),
            goal("x > 0", x="(0, inf)").text(),
            goal("x > 0", x="whole (0, inf)").text(),
            goal("x >= 0", x="(0, 1)").text(),
            goal("x > 0", ("x > 0",), x="(0, 1)").text(),
            goal("x > 0", exists=True, x="(0, 1)").text(),
        }
        assert len(texts) == 8
