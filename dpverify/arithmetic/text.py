"""Formulas as plain text, for readers without SymPy: `exp(-d) - 1`.

The text is produced by running the formula itself, so it cannot drift from what is computed.
"""

from __future__ import annotations

from flint import fmpq

_SUM, _PRODUCT, _POWER, _ATOM = 1, 2, 3, 4


class Text:
    """An expression as text, with the precedence of its outermost operator."""

    __slots__ = ("negated", "rank", "text")

    def __init__(self, text: str, rank: int = _ATOM, *, negated: Text | None = None) -> None:
        self.text = text
        self.rank = rank
        self.negated = negated

    def __str__(self) -> str:
        return self.text

    def at_least(self, rank: int) -> str:
        return self.text if self.rank >= rank else f"({self.text})"

    @property
    def is_signed(self) -> bool:
        """Whether the text starts with a minus sign."""
        return self.text.startswith("-")

    def _factor(self, operator: str, right: str) -> Text:
        """This times or over `right`; -a/b needs no brackets, but counts as a sum to what surrounds it."""
        if self.negated is not None:
            return Text(f"{self.text}{operator}{right}", _SUM)
        return Text(f"{self.at_least(_PRODUCT)}{operator}{right}", _PRODUCT)

    def __add__(self, other: Text | int) -> Text:
        right = _text(other)
        return Text(f"{self.text} + {right.at_least(_PRODUCT if right.is_signed else _SUM)}", _SUM)

    def __radd__(self, other: int) -> Text:
        return _text(other) + self

    def __sub__(self, other: Text | int) -> Text:
        return Text(f"{self.text} - {_text(other).at_least(_PRODUCT)}", _SUM)

    def __rsub__(self, other: int) -> Text:
        return _text(other) - self

    def __mul__(self, other: Text | int) -> Text:
        if self.text == "1":
            return _text(other)
        return self._factor("*", _text(other).at_least(_PRODUCT))

    def __rmul__(self, other: int) -> Text:
        return _text(other) * self

    def __truediv__(self, other: Text | int) -> Text:
        return self._factor("/", _text(other).at_least(_POWER))

    def __rtruediv__(self, other: int) -> Text:
        return _text(other) / self

    def __pow__(self, other: Text | int) -> Text:
        return Text(f"{self.at_least(_ATOM)}^{_text(other).at_least(_ATOM)}", _POWER)

    def __neg__(self) -> Text:
        if self.negated is not None:
            return self.negated
        return Text(f"-{self.at_least(_PRODUCT)}", _SUM, negated=self)


def _text(value: Text | int) -> Text:
    if isinstance(value, Text):
        return value
    return Text(str(value), _ATOM if value >= 0 else _SUM)


class TextArithmetic:
    """Writes formulas down."""

    name = "text"

    def exact(self, number: fmpq) -> Text:
        return Text(str(number), _ATOM if number.q == 1 and number >= 0 else _PRODUCT if number > 0 else _SUM)

    def rational(self, above: int, below: int = 1) -> Text:
        return self.exact(fmpq(above, below))

    def pi(self) -> Text:
        return Text("pi")

    def exp(self, x: Text) -> Text:
        return Text(f"exp({x})")

    def expm1(self, x: Text) -> Text:
        return Text(f"expm1({x})")

    def log(self, x: Text) -> Text:
        return Text(f"log({x})")

    def log1p(self, x: Text) -> Text:
        return Text(f"log1p({x})")

    def sqrt(self, x: Text) -> Text:
        return Text(f"sqrt({x})")

    def abs(self, x: Text) -> Text:
        return Text(f"|{x}|")

    def sign(self, x: Text) -> Text:
        return Text(f"sign({x})")

    def normal_cdf(self, x: Text) -> Text:
        return Text(f"Phi({x})")

    def zeta(self, x: Text) -> Text:
        return Text(f"zeta({x})")

    def power(self, x: Text, y: Text) -> Text:
        return x**y

    def atan(self, x: Text) -> Text:
        return Text(f"atan({x})")

    def floor(self, x: Text) -> Text:
        return Text(f"floor({x})")

    def gamma(self, x: Text) -> Text:
        return Text(f"Gamma({x})")

    def gamma_upper(self, a: Text, x: Text) -> Text:
        return Text(f"Q({a}, {x})")

    def gamma_lower(self, a: Text, x: Text) -> Text:
        return Text(f"P({a}, {x})")

    def student_cdf(self, nu: Text, x: Text) -> Text:
        return Text(f"T({nu}, {x})")

    def hurwitz_zeta(self, s: Text, a: Text) -> Text:
        return Text(f"zeta({s}, {a})")


TEXT = TextArithmetic()
