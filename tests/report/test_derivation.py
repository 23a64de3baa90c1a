from __future__ import annotations

import pytest

import dpverify as dv
from dpverify.report import derivation as report


@pytest.fixture(scope="module")
def derivation() -> object:
    return dv.Laplace(1).derive()


def test_the_outline_has_every_step_and_says_how_to_see_more(derivation) -> None:
    text = report.as_text(derivation, latex=False, steps=False)
    for number, step in enumerate(derivation.steps, start=1):
        assert f"\n{number}. {step.name}\n" in text
    assert " ".join(text.split("\n\n")[0].split()) == " ".join(derivation.summary.split())
    assert text.endswith("--steps shows why each step holds and how it was checked.\n")


def test_the_steps_come_as_text_or_as_latex(derivation) -> None:
    assert report.as_text(derivation, latex=False, steps=True) == derivation.text().rstrip("\n") + "\n"
    assert report.as_text(derivation, latex=True, steps=False) == derivation.latex().rstrip("\n") + "\n"


def test_data_names_how_each_step_was_checked(derivation) -> None:
    data = report.as_data(derivation)
    assert data["mechanism"] == "laplace"
    assert all(step["check"] and step["how"] for step in data["steps"])
