"""What a family states, and what follows from it by definition, each as a formula `f(m, ...)` that runs on any arithmetic.

Everything is in units of the scale. Nothing is proved here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sympy

from dpverify.arithmetic.interface import Arithmetic, Value
from dpverify.arithmetic.symbols import SYMBOLS
from dpverify.derive import regions
from dpverify.derive.algebra import NotProved
from dpverify.derive.proofs import Outcome, resolved
from dpverify.derive.protocol import NoiseFormulas
from dpverify.derive.regions import Region

Prove = Callable[[Region], Outcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class Formulas:
    """The formulas of one family."""

    noise: NoiseFormulas

    def log_density(self, m: Arithmetic, x: Value) -> Value:
        """log f(x)."""
        return self.noise.log_density(m, x)

    def density(self, m: Arithmetic, x: Value) -> Value:
        """f(x)."""
        return m.exp(self.noise.log_density(m, x))

    def cdf(self, m: Arithmetic, x: Value) -> Value:
        """F(x)."""
        return self.noise.cdf(m, x)

    def loss(self, m: Arithmetic, x: Value, d: Value) -> Value:
        """L(x) = log f(x - d) - log f(x): the privacy loss between noise about d and noise about 0."""
        return self.noise.log_density(m, x - d) - self.noise.log_density(m, x)

    def threshold(self, m: Arithmetic, eps: Value, d: Value) -> Value:
        """t."""
        return self.noise.threshold(m, eps, d)

    def profile(self, m: Arithmetic, eps: Value, d: Value) -> Value:
        """delta(epsilon) as stated."""
        return self.noise.profile(m, eps, d)

    def half_line(self, m: Arithmetic, eps: Value, d: Value) -> Value:
        """F(d - t) - e^epsilon F(-t)."""
        t = self.threshold(m, eps, d)
        return self.cdf(m, d - t) - m.exp(eps) * self.cdf(m, -t)

    @property
    def has_kink(self) -> bool:
        """Whether the density or the distribution function is written with |x|, sign(x) or a root, which need not be smooth
        at 0. What is written without them is smooth wherever it is defined."""
        (line,) = regions.LINE
        written = (self.log_density(SYMBOLS, line.x), self.cdf(SYMBOLS, line.x))
        return any(formula.has(sympy.Abs, sympy.sign) or _has_root(formula, line.x) for formula in written)

    def on_line(self, prove: Prove) -> str:
        """Prove something for every real x: at once, or, with a kink or where that fails, on both sides of 0."""
        return self._somehow(regions.LINE, regions.HALVES, prove)

    def on_plane(self, prove: Prove) -> str:
        """Prove something for every real x and d > 0: at once, or in the three strips between 0 and d."""
        return self._somehow(regions.PLANE, regions.STRIPS, prove)

    def _somehow(self, whole: Sequence[Region], split: Sequence[Region], prove: Prove) -> str:
        if not self.has_kink:
            try:
                return _each(whole, prove)
            except NotProved:
                pass  # smaller regions have more signs to go by
        return _each(split, prove)


def _has_root(formula: sympy.Expr, x: sympy.Symbol) -> bool:
    powers = sympy.sympify(formula).atoms(sympy.Pow)
    return any(power.base.has(x) and not power.exp.is_Integer for power in powers)


def symbolic(formula: Callable[..., Value], *arguments: sympy.Expr) -> sympy.Expr:
    """A formula on the symbols of a region, without |y| and sign(y), whose sign is known there."""
    return resolved(sympy.sympify(formula(SYMBOLS, *arguments)))


def told(outcome: Outcome, region: Region) -> str:
    """An outcome and the region it holds in, in words."""
    return f"{outcome.told(region.back)}, {region.words}"


def _each(pieces: Sequence[Region], prove: Prove) -> str:
    """The outcomes of all pieces, those of the same wording together."""
    words: dict[str, list[str]] = {}
    for piece in pieces:
        words.setdefault(prove(piece).told(piece.back), []).append(piece.words)
    return "; ".join(f"{outcome}, {_listed(where)}" for outcome, where in words.items())


def _listed(words: list[str]) -> str:
    """Joined as in: one, two and three."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
