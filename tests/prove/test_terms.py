"""Terms: what is read, what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.prove.kernel import terms
from dpverify.prove.kernel.terms import Call, Rejected, free, parse, show, substitute

leaves = st.one_of(st.fractions(), st.sampled_from(["x", "y1", "eps"]))
term_strategy = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda a, b: Call("+", (a, b)), inner, inner),
        st.builds(lambda a: Call("exp", (a,)), inner),
        st.builds(lambda a, b: Call("^", (a, b)), inner, inner),
    ),
    max_leaves=12,
)


@given(term_strategy)
def test_what_is_shown_reads_back_as_the_same_term(term: terms.Term) -> None:
    assert parse(show(term)) == term


@pytest.mark.parametrize(
    "text",
    [
        "",
        ")",
        "(+ 1",
        "(",
        "(+ 1 2) 3",
        "1.5",
        "1/0",
        "1e5",
        "(sin x)",
        "(exp 1 2)",
        "(pi 1)",
        "exp",
        "x-y",
        "__import__",
        "a" * 41,
        "1" * (terms.LONGEST_NUMBER + 1),
        "(- " * 100 + "x" + ")" * 100,
        " " * (terms.MOST_CHARACTERS + 1),
        None,
        7,
        ["x"],
    ],
)
def test_anything_else_is_refused(text: object) -> None:
    with pytest.raises(Rejected):
        parse(text)  # type: ignore[arg-type]


def test_substitution_happens_all_at_once() -> None:
    swapped = substitute(parse("(- x (* 2 y))"), {"x": "y", "y": "x"})
    assert show(swapped) == "(- y (* 2 x))"
    assert free(swapped) == {"x", "y"}


@pytest.mark.parametrize("text", [3, "3.0", "--1", "1/-2", ""])
def test_numbers_are_exact_rationals_in_text(text: object) -> None:
    with pytest.raises(Rejected):
        terms.number(text)  # type: ignore[arg-type]
    assert terms.number("-22/7") == Fraction(-22, 7)
