from __future__ import annotations

import pytest

import dpverify as dv
from dpverify.report import bound


def test_an_exact_answer_is_called_exact() -> None:
    solved = dv.Laplace.solve(epsilon="1/2", delta=0, scale=None)
    text = bound.as_text(solved, {"epsilon": "1/2", "delta": "0", "scale": None, "sensitivity": "1"})
    assert text.splitlines()[0] == "laplace with epsilon = 1/2, delta = 0, sensitivity = 1"
    assert "exactly 2\n" in text


def test_an_enclosure_is_shown_from_both_sides() -> None:
    solved = dv.Gaussian.solve(epsilon=1, delta="1e-6", sigma=None)
    lower, upper = solved.enclosure.bounds()
    assert f"between {lower} and {upper}\n" in bound.as_text(solved, {})


@pytest.mark.parametrize(
    ("given", "label", "promise"),
    [
        ({"epsilon": 1, "delta": None, "sigma": 2}, "  delta ", "the least double that is no smaller than delta"),
        (
            {"epsilon": None, "delta": "1e-6", "sigma": 2},
            "  least epsilon ",
            "the least double that is no smaller than epsilon",
        ),
        ({"epsilon": 1, "delta": "1e-6", "sigma": None}, "  least sigma ", "satisfies the claim"),
    ],
)
def test_each_quantity_comes_with_its_own_promise(given: dict, label: str, promise: str) -> None:
    text = bound.as_text(dv.Gaussian.solve(**given), given)
    assert label in text
    assert promise in text


def test_a_refusal_has_the_same_keys_as_an_answer() -> None:
    answer = bound.as_data(dv.Gaussian.solve(epsilon=1, delta="1e-6", sigma=None))
    refusal = bound.refusal_as_data("gaussian", {"epsilon": "1", "delta": "0", "sigma": None}, 15)
    assert tuple(answer) == tuple(refusal)
    assert refusal["solved"] == "sigma"
