"""Variances: of a law, of two mechanisms at their least scales, and of truncated Gaussian noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dpverify.prove.kernel.calculus import derivative
from dpverify.prove.kernel.statements import Range, Relation, Statement
from dpverify.prove.kernel.terms import Rejected, Term, call, substitute
from dpverify.prove.schemas.additive import law
from dpverify.prove.schemas.parts import (
    ONE,
    POSITIVE,
    ZERO,
    Data,
    Schema,
    closed,
    forall,
    lemma,
    obligation,
)
from dpverify.prove.schemas.reading import Reader, a_range, exact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dpverify.prove.kernel.certificate import Obligation

TWO, FOUR = Fraction(2), Fraction(4)
MOMENT = """\
The second moment of a symmetric law is 4 int_0^inf x (1 - F(x)) dx. The integrand is compared with a function whose
antiderivative is 0 at 0 and at most (at least) the value, up to c/x for x >= 1; so the moment is at most (at least) the
value."""


def _moment(data: Data, moment: Mapping[str, Any], cdf: Term, name: str = "") -> Iterator[Obligation]:
    """Bounds of the variance, stated as upper and lower."""
    if not moment or not set(moment) <= {"upper", "lower"}:
        raise Rejected("a moment has upper and lower bounds")
    integrand = call("*", FOUR, "x", call("-", ONE, cdf))
    for key, op in (("upper", "<="), ("lower", ">=")):
        if key not in moment:
            continue
        side = f"{name}{key}"
        integral, value, rest, bound = _integral(data, moment, key)
        start = substitute(integral, {"x": ZERO})
        limit = call("+" if key == "upper" else "-", value, call("/", rest, "x"))
        yield obligation(f"{side} bound of the integrand", forall({"x": POSITIVE}, op, integrand, bound))
        yield obligation(f"{side} bound, its antiderivative", forall({"x": POSITIVE}, "=", derivative(integral, "x"), bound))
        yield obligation(f"{side} bound, where it starts", forall({}, "=", start, ZERO))
        yield obligation(f"{side} bound, where it ends", forall({"x": Range(ONE)}, op, integral, limit))
        yield obligation(f"{side} bound, positive", forall({}, ">", value, ZERO))


def _integral(data: Data, moment: Mapping[str, Any], side: str) -> tuple[Term, Term, Term, Term]:
    """Antiderivative, value, the c of c/x, and the function that bounds the integrand."""
    if side not in moment or set(moment[side]) != {"antiderivative", "value", "rest", "integrand"}:
        raise Rejected(f"the {side} bound of a moment has integrand, antiderivative, value and rest")
    integral, value, bound = (data.reader.term(moment[side][name]) for name in ("antiderivative", "value", "integrand"))
    return integral, value, exact(moment[side]["rest"]), bound


# A formula for the variance.


def _printed(data: Data) -> tuple[Obligation, ...]:
    data.fields("noise", "moment", "printed")
    noise = data.part("noise", "exponent", "cdf", "tail")
    data.reader.require_free(("x",))
    psi, cdf, tail = (data.reader.term(noise[name]) for name in ("exponent", "cdf", "tail"))
    printed = data.part("printed", "formula", "at")
    formula = data.reader.term(printed["formula"])
    value = substitute(formula, {name: exact(text) for name, text in printed["at"].items()})
    moment = data.table["moment"]
    _, bound, *_ = _integral(data, moment, "upper")
    return (*law(psi, cdf, tail), *_moment(data, moment, cdf), closed("the printed formula exceeds it", ">", value, bound))


PRINTED = Schema(
    build=_printed,
    states=lambda data: (
        f"The law with the density e^-psi, psi(x) = {data.table['noise']['exponent']} for x >= 0 and even, has a variance of "
        f"at most {data.table['moment']['upper']['value']}; the "
        f"printed formula, {data.table['printed']['formula']} at "
        f"{', '.join(f'{k} = {v}' for k, v in data.table['printed']['at'].items())}, exceeds it{data.where()}."
    ),
    argument="F is the cdf of e^-psi (see the schema of privacy profiles). " + MOMENT,
    refutes=True,
)


# Two mechanisms at their least scales.


def _comparison(data: Data) -> tuple[Obligation, ...]:
    data.fields("comparison")
    data.reader.require_free(("x", "eps", "delta"))
    found: dict[str, Obligation] = {}
    for table in data.table["comparison"]:
        for made in _compared(data, table):
            if found.setdefault(made.name, made) != made:
                raise Rejected(f"two obligations are called {made.name!r}")
    return tuple(found.values())


def _compared(data: Data, table: Mapping[str, Any]) -> Iterator[Obligation]:
    if not {"noise", "against", "moment", "region"} <= set(table) <= {"noise", "against", "moment", "region", "covers"}:
        raise Rejected("a comparison has noise, against, moment and region, and may have covers")
    noise, gaussian = (data.other(table[name]) for name in ("noise", "against"))
    for other, field in ((noise, "inverse"), (gaussian, "whole_line")):
        if other.table["schema"] != "privacy profile" or field not in other.table["noise"]:
            raise Rejected("a family with a closed least scale is compared with Gaussian noise")
    psi = gaussian.reader.term(gaussian.table["noise"]["exponent"])
    standard = Reader().term("x^2/2 + log(2*pi)/2")
    profile, inverse = (
        gaussian.reader.term(gaussian.table["noise"]["profile"]),
        noise.reader.term(noise.table["noise"]["inverse"]),
    )
    yield from (lemma(table["noise"]), lemma(table["against"]), data.rests_on("V-L2"))
    yield obligation("the Gaussian is the standard one", forall({"x": POSITIVE}, "=", psi, standard))
    yield from _moment(data, table["moment"], noise.reader.term(noise.table["noise"]["cdf"]), f"{table['noise']}, ")
    for number, entry in enumerate(table["region"], start=1):
        yield from _region(data, f"{table['noise']}, region {number}", {**entry, "moment": table["moment"]}, profile, inverse)
    if "covers" in table:
        if any("numbers" in region for region in table["region"]):
            raise Rejected("regions that cover something speak of one number")
        _require_cover(table["covers"], table["region"])


def _region(data: Data, name: str, entry: Mapping[str, Any], profile: Term, inverse: Term) -> Iterator[Obligation]:
    """That the order of the variances is the one stated for all epsilon and delta of a region."""
    if not {"order", "epsilon", "delta"} <= set(entry) <= {"order", "epsilon", "delta", "shift", "numbers", "moment"}:
        raise Rejected(f"{name} has order, epsilon and delta, and may have shift and numbers")
    ranges = {"eps": a_range(entry["epsilon"]), "delta": a_range(entry["delta"])}
    epsilon, delta = ranges["eps"], ranges["delta"]
    if epsilon.low is None or epsilon.low < 0 or not _inside(delta):
        raise Rejected(f"{name} is not within epsilon >= 0 and 0 < delta < 1")
    smaller = entry["order"] == "smaller"
    if entry["order"] not in ("smaller", "larger") or (not smaller and "shift" in entry):
        raise Rejected(f"{name} has the order smaller or larger, and a lower bound of the shift only for smaller")
    _, variance, *_ = _integral(data, entry["moment"], "upper" if smaller else "lower")
    factor = call("/", ONE, call("sqrt", call("*", variance, _numbers(entry, smaller))))
    fixed = {key: domain.low for key, domain in ranges.items() if domain.low is not None and domain.low == domain.high}
    free = {key: domain for key, domain in ranges.items() if key not in fixed}

    def stated(what: str, op: str, left: Term, right: Term, over: Mapping[str, Range]) -> Obligation:
        relation = Relation(op, left, right).under(fixed)
        statement = Statement(tuple(over.items()), (), relation, exists=not over)
        return obligation(f"{name}, {what}", statement)

    shift: Term = inverse
    level: Term = "delta"
    if "shift" in entry:
        assert delta.high is not None
        shift, level = data.reader.term(entry["shift"]), delta.high
        yield stated("the shift of the noise", ">=", inverse, shift, free)
        yield stated("the shift is positive", ">", shift, ZERO, {key: d for key, d in free.items() if key == "eps"})
        free = {key: domain for key, domain in free.items() if key == "eps"}
    value = substitute(profile, {"d": call("*", factor, shift)})
    yield stated("the profile of a Gaussian of that variance", ">" if smaller else "<", value, level, free)


def _inside(delta: Range) -> bool:
    if delta.low is None or delta.high is None or delta.low < 0 or delta.high >= 1:
        return False
    return delta.low > 0 or delta.low_open


def _numbers(entry: Mapping[str, Any], smaller: bool) -> Fraction:
    """How many numbers decide: the shift of the Gaussian falls as their number grows."""
    domain = a_range(entry.get("numbers", "[1, 1]"))
    end = domain.high if smaller else domain.low
    if end is None or end < 1:
        raise Rejected("numbers has no end that decides")
    return end


def _require_cover(covers: Mapping[str, str], regions: list[Mapping[str, Any]]) -> None:
    """Require that the regions, all of the order smaller, cover a rectangle. Raises Rejected."""
    axes = ("epsilon", "delta")
    whole = {axis: a_range(covers[axis]) for axis in axes}
    parts = [{axis: a_range(region[axis]) for axis in axes} for region in regions if region["order"] == "smaller"]
    samples = {axis: [v for v in _samples([whole[axis], *(part[axis] for part in parts)]) if v in whole[axis]] for axis in axes}
    for one in samples["epsilon"]:
        for two in samples["delta"]:
            if not any(one in part["epsilon"] and two in part["delta"] for part in parts):
                raise Rejected(f"the regions leave out epsilon = {one}, delta = {two}")


def _samples(ranges: list[Range]) -> list[Fraction]:
    """Every end of the ranges, a point between neighbours, and a point beyond the last."""
    ends = sorted({end for domain in ranges for end in (domain.low, domain.high) if end is not None})
    return [*ends, *((a + b) / 2 for a, b in pairwise(ends)), ends[0] - 1, ends[-1] + 1]


def _states_comparison(data: Data) -> str:
    words = []
    for table in data.table["comparison"]:
        regions = [f"{r['order']} for eps in {r['epsilon']}, delta in {r['delta']}{_many(r)}" for r in table["region"]]
        if "covers" in table:
            regions.append(f"smaller for all eps in {table['covers']['epsilon']}, delta in {table['covers']['delta']}")
        words.append(f"of {table['noise']} against {table['against']}: " + ", ".join(regions))
    text = "The variance of noise at its least scale, against that of Gaussian noise at its least scale, "
    return text + "; ".join(words) + data.where() + "."


def _many(region: Mapping[str, str]) -> str:
    if "numbers" not in region:
        return ""
    return f" and m numbers for every m in {region['numbers']}, with sensitivity m for the noise and sqrt(m) for the Gaussian"


COMPARISON_ARGUMENT = (
    MOMENT
    + """
Let c be the upper (lower) bound, and let the noise have its least scale, at the shift D/s = d of the inverse. Gaussian
noise of the variance c s^2 has the shift d/sqrt(c). If its profile there exceeds delta, the Gaussian needs a larger
variance, and so does it if that holds at a smaller shift, since the profile grows with the shift (V-L2); if its profile is
below delta, a smaller variance will do. For m numbers, with sensitivities m and sqrt(m), that shift is d/sqrt(c m)."""
)


def _is_box(data: Data) -> bool:
    """Whether a comparison covers neither a rectangle, as said, nor single points of epsilon and delta."""

    def extended(text: str) -> bool:
        domain = a_range(text)
        return domain.low is None or domain.low != domain.high

    return any(
        "covers" not in table and any(extended(region[axis]) for region in table["region"] for axis in ("epsilon", "delta"))
        for table in data.table["comparison"]
    )


COMPARISON = Schema(build=_comparison, states=_states_comparison, argument=COMPARISON_ARGUMENT, box=_is_box)
REVERSAL = Schema(build=_comparison, states=_states_comparison, argument=COMPARISON_ARGUMENT, refutes=True)
