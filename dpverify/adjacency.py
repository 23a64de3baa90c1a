"""Neighbouring datasets: who is next to whom, in which norm answers are compared, and what a sensitivity then means.

Here stand relations, norms, and certified bounds on p-norm sensitivities. What a guarantee becomes for groups is a
conversion (`notions.conversion`); here only the sensitivities of groups are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from flint import arb, fmpq

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number, to_exact
from dpverify.arithmetic.powers import exact_power
from dpverify.enclose.refine import check_digits, enclose
from dpverify.errors import ImpossibleRequest, InputError


class Relation(StrEnum):
    """Which datasets are neighbours. The value is the word that is printed."""

    ADD_OR_REMOVE = "add or remove one record"
    """One dataset is the other with one record more. Also called unbounded."""
    REPLACE = "replace one record"
    """The datasets have the same size and differ in one record. Also called bounded."""

    def steps(self, other: Relation) -> int:
        """The most steps of this relation that lead from one neighbour under `other` to the other.

        A replacement is a removal and an addition, so 2 steps. Raises ImpossibleRequest where no number of steps will do:
        replacements never change the size.
        """
        if self is other:
            return 1
        if self is Relation.ADD_OR_REMOVE:
            return 2
        raise ImpossibleRequest(
            f"neighbours that {other.value} differ in size, and no number of steps that {self.value} leads from one to the"
            " other: bound the query under that relation itself."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """How far the true answer moves between neighbours: sup ||f(x) - f(x')||_p over neighbours x, x' under `relation`.

    `size` > 0 in units of the answer; `norm` is p, 1 <= p, or None for the maximum norm; `dimensions` is how many numbers
    the answer has. All exact. With one number every norm is the absolute value.
    """

    size: Fraction
    norm: Fraction | None
    relation: Relation
    dimensions: int = 1

    def meaning(self) -> str:
        """The definition in one sentence, with the numbers of this one."""
        name = "absolute value" if self.dimensions == 1 else "maximum norm" if self.norm is None else f"{self.norm}-norm"
        return f"Between datasets that {self.relation.value}, the true answer moves by at most {self.size} in the {name}."

    def for_groups(self, size: int) -> Sensitivity:
        """Between datasets `size` steps apart: at most `size` times as far, by the triangle inequality."""
        return _resized(self, self.size * _group(size))

    def under(self, relation: Relation) -> Sensitivity:
        """The bound that this one gives under another relation. Raises ImpossibleRequest where it gives none."""
        steps = self.relation.steps(relation)
        return Sensitivity(size=self.size * steps, norm=self.norm, relation=relation, dimensions=self.dimensions)

    def in_norm(self, norm: Number | None, *, digits: int = 15) -> Enclosure:
        """The least bound in another norm that follows from this one: size * max ||v||_q over ||v||_p = 1.

        That maximum is 1 for q >= p, and dimensions^(1/q - 1/p) below. In particular no p-norm sensitivity exceeds the
        1-norm sensitivity.
        """
        exponent, size = _inverse(checked_norm(norm)) - _inverse(checked_norm(self.norm)), to_exact(self.size, "size")
        if exponent <= 0:
            return Enclosure(size, digits=check_digits(digits))
        return _scaled_power(size, fmpq(self.dimensions), exponent, digits)


def sensitivity(
    size: Number, *, norm: Number | None = 1, relation: Relation = Relation.ADD_OR_REMOVE, dimensions: int = 1
) -> Sensitivity:
    """A `Sensitivity` from numbers as they are handed in. Raises InputError."""
    exact = to_exact(size, "sensitivity")
    if exact <= 0:
        raise InputError(f"sensitivity = {size}: if neighbours never differ there is nothing to protect; give a number > 0.")
    p = checked_norm(norm)
    return Sensitivity(
        size=_fraction(exact),
        norm=None if p is None else _fraction(p),
        relation=Relation(relation),
        dimensions=_group(dimensions),
    )


def norm_bound(coordinates: Sequence[Number], norm: Number | None, *, digits: int = 15) -> Enclosure:
    """A bound on the p-norm sensitivity from the sensitivity of each coordinate: (sum_k Delta_k^p)^{1/p}.

    `coordinates`: Delta_k >= 0, not all 0; `norm`: p >= 1, or None for the maximum. Returns an Enclosure, exact where the
    bound is rational. It is attained where one change of the data can move all coordinates at once. [Liu 2019, Lemma 2]
    """
    sizes = [to_exact(value, "coordinate sensitivity") for value in coordinates]
    if not sizes or min(sizes) < 0 or max(sizes) == 0:
        raise InputError(f"coordinate sensitivities = {list(coordinates)}: give numbers >= 0, at least one of them above 0.")
    p, most = checked_norm(norm), max(sizes)
    if p is None:
        return Enclosure(most, digits=check_digits(digits))
    # Relative to the largest, so that equal coordinates are seen to be rational multiples of one another.
    ratios = [size / most for size in sizes if size > 0]
    powers = [exact_power(ratio, p) for ratio in ratios]
    known = [power for power in powers if power is not None]
    if len(known) == len(powers):
        return _scaled_power(most, sum(known, fmpq(0)), 1 / p, digits)

    def value(bits: int) -> arb:
        total = sum((arb(ratio) ** arb(p) for ratio in ratios), arb(0))
        return arb(most) * total ** arb(1 / p)

    return enclose(value, check_digits(digits), what=lambda: f"the {p}-norm bound of {sizes}")


def range_bound(ranges: Sequence[tuple[Number, Number]], norm: Number | None, *, digits: int = 15) -> Enclosure:
    """A bound on the p-norm sensitivity of an answer whose coordinate k always lies in [a_k, b_k]:
    (sum_k (b_k - a_k)^p)^{1/p}. [Liu 2019, Claim 3]"""
    widths = []
    for low, high in ranges:
        width = to_exact(high, "upper end") - to_exact(low, "lower end")
        if width < 0:
            raise InputError(f"range = ({low}, {high}): the upper end is below the lower one; swap them.")
        widths.append(width)
    return norm_bound(widths, norm, digits=digits)


def checked_norm(norm: Number | None) -> fmpq | None:
    """p as an exact rational >= 1; None, "inf" and infinity are the maximum norm. Raises InputError."""
    if norm is None or norm in ("inf", float("inf")):
        return None
    p = to_exact(norm, "norm")
    if p < 1:
        raise InputError(f"norm = {norm}: below 1 the triangle inequality fails; give p >= 1, or None for the maximum norm.")
    return p


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _resized(given: Sensitivity, size: Fraction) -> Sensitivity:
    return Sensitivity(size=size, norm=given.norm, relation=given.relation, dimensions=given.dimensions)


def _inverse(norm: fmpq | None) -> fmpq:
    return fmpq(0) if norm is None else 1 / norm


def _group(size: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise InputError(f"size = {size!r}: a whole number of at least 1 is needed.")
    return size


def _scaled_power(factor: fmpq, base: fmpq, exponent: fmpq, digits: int) -> Enclosure:
    """factor * base^exponent, exact where it is rational."""
    exact = exact_power(base, exponent)
    if exact is not None:
        return Enclosure(factor * exact, digits=check_digits(digits))
    return enclose(
        lambda bits: arb(factor) * arb(base) ** arb(exponent), check_digits(digits), what=lambda: f"{base}^{exponent}"
    )
