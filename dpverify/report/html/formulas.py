"""Formulas of the report in MathML: what browsers set as mathematics and screen readers read as it."""

from __future__ import annotations

import re
from html import escape

_LEFT, _RIGHT = (f'<mo stretchy="false">{sign}</mo>' for sign in "()")


def name(letter: str) -> str:
    """A letter as a formula of its own."""
    return f"<math><mi>{escape(letter)}</mi></math>"


def inequality(epsilon: object, delta: object) -> str:
    """P(S) <= e^epsilon Q(S) + delta, with the numbers as they were claimed."""
    probability = [f"<mi>{law}</mi>{_LEFT}<mi>S</mi>{_RIGHT}" for law in "PQ"]
    rest = "" if str(delta) == "0" else f"<mo>+</mo>{_number(delta)}"
    power = f"<msup><mi>e</mi><mrow>{_number(epsilon)}</mrow></msup>"
    return f"<math><mrow>{probability[0]}<mo>≤</mo>{power}<mspace width='0.17em'/>{probability[1]}{rest}</mrow></math>"


def between(low: object, letter: str, high: object) -> str:
    """low <= letter <= high, or letter = low where both are the same."""
    if str(low) == str(high):
        return f"<math><mrow><mi>{letter}</mi><mo>=</mo>{_number(low)}</mrow></math>"
    first = f"<math><mrow>{_number(low)}<mo>≤</mo><mi>{letter}</mi></mrow></math>"
    return f"{first} <math><mrow><mo>≤</mo>{_number(high)}</mrow></math>"  # in two, so that a line may end in between


def _number(value: object) -> str:
    """A number: powers of ten and fractions are set as such, whatever else is set as it stands."""
    text = str(value)
    if scientific := re.fullmatch(r"([-+]?[\d.]+)[eE]([-+]?\d+)", text):
        digits, exponent = scientific[1], int(scientific[2])
        size = f"<mo>&#8722;</mo><mn>{-exponent}</mn>" if exponent < 0 else f"<mn>{exponent}</mn>"
        ten = f"<msup><mn>10</mn><mrow>{size}</mrow></msup>"
        return ten if digits == "1" else f"<mn>{digits}</mn><mo>·</mo>{ten}"
    if fraction := re.fullmatch(r"(\d+)/(\d+)", text):
        return f"<mn>{fraction[1]}</mn><mo>/</mo><mn>{fraction[2]}</mn>"
    return f"<mn>{escape(text)}</mn>"
