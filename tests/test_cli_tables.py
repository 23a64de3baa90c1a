"""The command line's tables: `bound` with lists, and `compare`."""

from __future__ import annotations

import csv
import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from flint import arb, fmpq

import dpverify as dv
from dpverify.cli import exit_codes
from dpverify.cli.progress import Progress
from dpverify.mechanisms import _comparison, by_name, names
from dpverify.report import compare

if TYPE_CHECKING:
    from pathlib import Path


def table(output: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(output)))


class TestBoundOfLists:
    WORDS = ("bound", "gaussian", "--epsilon", "0.1,1,10", "--delta", "1e-9,1e-6")

    def test_all_combinations_in_order(self, dpverify) -> None:
        rows = table(dpverify(*self.WORDS, "--output-format", "csv").output)
        assert [(row["epsilon"], row["delta"]) for row in rows] == [
            (epsilon, delta) for epsilon in ("0.1", "1", "10") for delta in ("1e-9", "1e-6")
        ]
        for row in rows:
            expected = dv.Gaussian.bound(epsilon=row["epsilon"], delta=row["delta"])
            assert (row["lower"], row["upper"]) == expected.bounds()
            assert float(row["float"]) == expected.upper
            assert (row["mechanism"], row["solved"], row["status"], row["reason"]) == ("gaussian", "sigma", "certified", "")

    def test_the_three_formats_agree(self, dpverify) -> None:
        data = json.loads(dpverify(*self.WORDS, "--output-format", "json").output)
        text = dpverify(*self.WORDS).output
        rows = table(dpverify(*self.WORDS, "--output-format", "csv").output)
        assert len(data) == len(rows) == 6
        for entry, row in zip(data, rows, strict=True):
            assert entry["lower"] == row["lower"]
            assert entry["given"] == {"epsilon": row["epsilon"], "delta": row["delta"], "sensitivity": "1"}
            assert repr(entry["float"]) in text
        assert text.splitlines()[1].split() == ["epsilon", "delta", "least", "sigma", "safe", "double"]

    def test_a_single_request_as_csv(self, dpverify) -> None:
        (row,) = table(dpverify("bound", "laplace", "--epsilon", "1/2", "--delta", "0", "--output-format", "csv").output)
        assert (row["lower"], row["upper"], row["float"]) == ("2", "2", "2.0")

    def test_shapes_pass_through_and_another_quantity_is_solved_for(self, dpverify) -> None:
        words = ("bound", "subbotin", "--p", "4", "--scale", "9", "--delta", "1e-3,1e-6", "--output-format", "csv")
        rows = table(dpverify(*words).output)
        assert [row["solved"] for row in rows] == ["epsilon", "epsilon"]
        noise = by_name("subbotin")(9, 4)
        assert [float(row["float"]) for row in rows] == [noise.epsilon(delta).upper for delta in ("1e-3", "1e-6")]

    def test_a_row_that_cannot_be_answered_says_why_and_the_others_stand(self, dpverify) -> None:
        outcome = dpverify("bound", "gaussian", "--epsilon", "1,2", "--delta", "0,1e-6", "--output-format", "csv")
        rows = table(outcome.output)
        assert outcome.code == 0
        assert [row["status"] for row in rows] == ["refused", "certified"] * 2
        assert "unbounded" in rows[0]["reason"]
        assert rows[0]["float"] == ""
        text = dpverify("bound", "gaussian", "--epsilon", "1,2", "--delta", "0,1e-6").output
        assert text.count("refused") == 2

    def test_if_no_row_can_be_answered_the_table_stands_and_the_code_tells(self, dpverify) -> None:
        outcome = dpverify("bound", "gaussian", "--epsilon", "1,2", "--delta", "0")
        assert outcome.code == 2
        assert outcome.output.count("refused") == 2
        assert "All digits" not in outcome.output
        assert "unbounded" in outcome.errors

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ("--epsilon 1,x --delta 0", "'x'"),
            ("--epsilon 1, --delta 0", "''"),
            ("--epsilon 1,2 --delta 1e-6 --sigma 3", "leave one out"),
            ("--epsilon 1,2", "delta and sigma are missing"),
            ("--epsilon 1 --delta 1e-6 --sensitivity 0 --output-format csv", "sensitivity = 0"),
        ],
    )
    def test_a_request_that_makes_no_sense_is_no_row(self, dpverify, words: str, said: str) -> None:
        outcome = dpverify("bound", "gaussian", *words.split())
        assert outcome.code == 2
        assert said in outcome.errors
        assert outcome.output == ""

    def test_an_interruption_loses_no_row(self, dpverify, monkeypatch) -> None:
        solve, calls = dv.Gaussian.solve, []

        def interrupted(**request: Any) -> Any:
            calls.append(request)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return solve(**request)

        monkeypatch.setattr(dv.Gaussian, "solve", interrupted)
        outcome = dpverify(*self.WORDS, "--output-format", "csv")
        assert outcome.code == exit_codes.INTERRUPTED
        assert [row["status"] for row in table(outcome.output)] == ["certified"] * 2

    def test_a_file_gets_the_table(self, dpverify, tmp_path: Path) -> None:
        outcome = dpverify(*self.WORDS, "--output-format", "csv", "--output", str(tmp_path / "table.csv"))
        assert (outcome.code, outcome.output) == (0, "")
        assert len(table((tmp_path / "table.csv").read_text())) == 6


class TestCompare:
    WORDS = ("compare", "--epsilon", "1", "--delta", "1e-6")

    def test_every_family_that_needs_no_shape_is_there(self, dpverify) -> None:
        rows = json.loads(dpverify(*self.WORDS, "--output-format", "json").output)
        needs_none = {
            name
            for name in names()
            if hasattr(by_name(name), "mean_squared_error") and all(one.is_scale for one in by_name(name).parameters)
        }
        assert needs_none <= {row["mechanism"] for row in rows}
        assert {"laplace", "gaussian", "subbotin"} <= {row["mechanism"] for row in rows}

    def test_the_ranking_is_by_certified_errors_at_the_least_doubles(self, dpverify) -> None:
        rows = json.loads(dpverify(*self.WORDS, "--output-format", "json").output)
        answered = [row for row in rows if row["status"] == "certified"]
        places = list(range(1, len(answered) + 1))
        (equal,) = (i for i, row in enumerate(answered) if (row["mechanism"], row["shape"]) == ("subbotin", "p = 2"))
        assert answered[equal - 1]["mechanism"] == "gaussian"
        places[equal] -= 1  # the same noise, so the same place
        assert [row["rank"] for row in answered] == places
        assert [row["float"] for row in answered] == sorted(row["float"] for row in answered)
        assert answered[0]["ratio"] == 1
        for row in answered:
            if not row["shape"]:
                family = by_name(row["mechanism"])
                member = family.calibrate(epsilon=1, delta="1e-6")
                assert row["scale"] == float(getattr(member, family.scale_name))
                assert (row["lower"], row["upper"]) == member.mean_squared_error().bounds()

    def test_what_enters_with_a_shape_satisfies_the_claim(self) -> None:
        for compute in _comparison.entries(1, "1e-3", 1):
            one = compute(15)
            if one.member is not None:
                assert one.member.delta(1).exact_lower <= 1e-3

    def test_errors_beyond_the_doubles_are_ranked_all_the_same(self) -> None:
        def one(name: str, low: fmpq, high: fmpq) -> _comparison.Contender:
            return _comparison.Contender(
                mechanism=name,
                shape="",
                scale_name="scale",
                member=dv.Laplace(1),
                error=dv.Enclosure(low, digits=15) if low == high else dv.Enclosure(arb(low).union(arb(high)), digits=15),
                status="certified",
                reason=None,
            )

        tiny, huge = fmpq(1, 10**400), fmpq(10**400)
        rows = [
            one("a", 2 * huge, 2 * huge),
            one("b", huge, huge),
            one("c", 2 * tiny, 2 * tiny),
            one("d", tiny, tiny),
            one("e", huge, 3 * huge / 2),
        ]
        ranked = _comparison.ranked(rows)
        assert [row.mechanism for row in ranked] == ["d", "c", "b", "e", "a"]
        assert _comparison.ranks(ranked) == [1, 2, 3, 3, 5]
        assert [row["ratio"] for row in compare.as_data(ranked)][:3] == [1, 2, float("inf")]
        assert [row["ratio"] for row in compare.as_data(ranked[2:])][::2] == [1, 2]

    def test_an_error_without_a_bound_is_last(self) -> None:
        wide = dv.StudentT(1, nu=2)
        row: dict[str, Any] = {"shape": "", "scale_name": "scale", "status": "certified", "reason": None}
        rows = [
            _comparison.Contender(mechanism=str(one), member=one, error=one.mean_squared_error(), **row)
            for one in (wide, dv.Laplace(1))
        ]
        assert [row.member for row in _comparison.ranked(rows)] == [dv.Laplace(1), wide]

    def test_refusals_are_rows_with_their_reason(self, dpverify) -> None:
        rows = table(dpverify("compare", "--epsilon", "1", "--output-format", "csv").output)
        (gaussian,) = (row for row in rows if row["mechanism"] == "gaussian")
        assert (gaussian["status"], gaussian["rank"], gaussian["scale"]) == ("refused", "", "")
        assert "unbounded" in gaussian["reason"]
        text = dpverify("compare", "--epsilon", "1").output
        assert "not ranked" in text
        assert "unbounded" in text

    def test_if_nothing_is_possible_the_code_tells(self, dpverify) -> None:
        outcome = dpverify("compare", "--epsilon", "0")
        assert outcome.code == 2
        assert "rank  " not in outcome.output
        assert "not ranked" in outcome.output

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ("--epsilon -1", "epsilon = -1"),
            ("--epsilon 1 --digits 0", "digits = 0"),
            ("--epsilon 1 --delta 1", "delta = 1"),
            ("--epsilon 1 --sensitivity 0", "sensitivity = 0"),
            ("--delta 1e-6", "--epsilon"),
        ],
    )
    def test_a_request_that_makes_no_sense(self, dpverify, words: str, said: str) -> None:
        outcome = dpverify("compare", *words.split())
        assert outcome.code == 2
        assert said in outcome.errors
        assert outcome.output == ""

    def test_an_interruption_loses_no_row(self, dpverify, monkeypatch) -> None:
        entries = _comparison.entries

        def stopped(*request: Any, **named: Any) -> Any:
            def interrupt(digits: int) -> Any:
                raise KeyboardInterrupt

            return [*entries(*request, **named)[:2], interrupt]

        monkeypatch.setattr(_comparison, "entries", stopped)
        outcome = dpverify(*self.WORDS, "--output-format", "csv")
        assert outcome.code == exit_codes.INTERRUPTED
        assert len(table(outcome.output)) == 2


class TestProgress:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def test_on_a_terminal_the_bar_comes_and_goes(self, monkeypatch) -> None:
        from dpverify.cli import progress

        terminal = self.Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setattr(progress, "QUIET", 0.0)
        with Progress(2) as bar:
            bar.advance()
            bar.advance()
        assert "] 1 of 2" in terminal.getvalue()
        assert terminal.getvalue().endswith("\r\x1b[K")

    def test_quick_tables_and_other_streams_stay_silent(self, monkeypatch) -> None:
        for stream in (self.Terminal(), io.StringIO()):
            monkeypatch.setattr(sys, "stderr", stream)
            with Progress(1) as bar:
                bar.advance()
            assert stream.getvalue() == ""
