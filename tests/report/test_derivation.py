from __future__ import annotations

import pytest

import dpverify as dv
from dpverify.report import derivation as report


@pytest.fixture(scope="module")
def derivation() -> object:
    return dv.Laplace(1).derive()


def test_the_result_alone_says_how_to_see_the_steps(derivation) -> None:
    text = report.as_text(derivation, latex=False, steps=False)
    assert text.startswith(derivation.summary)
    assert f"{len(derivation.steps)} steps" in text
    assert "--steps" in text


def test_the_steps_come_as_text_or_as_latex(derivation) -> None:
    assert report.as_text(derivation, latex=False, steps=True) == derivation.text().rstrip("\n") + "\n"
    assert report.as_text(derivation, latex=True, steps=False) == derivation.latex().rstrip("\n") + "\n"


def test_data_names_how_each_step_was_checked(derivation) -> None:
    data = report.as_data(derivation)
    assert data["mechanism"] == "laplace"
    assert all(step["check"] and step["how"] for step in data["steps"])
