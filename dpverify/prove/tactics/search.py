"""Steps for a statement, found by trying. An author's hint is a step with parts left out, in the notation of theorems."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from dpverify.prove.kernel.statements import Range, Statement
from dpverify.prove.kernel.steps import check, point_of, reduce
from dpverify.prove.kernel.terms import Rejected, free, show
from dpverify.prove.tactics.boxes import bisect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dpverify.prove.kernel.steps import Step
    from dpverify.prove.schemas.reading import Reader

DEFAULTS: dict[str, dict[str, Any]] = {
    "nonneg_coeffs": {"use": []},
    "sign_box": {"digits": 20},
    "monotone": {"strict": "base", "base": {}, "slope": {}},
    "have": {"proof": {}, "then": {}},
    "cases": {"below": {}, "above": {}},
    "split": {"below": {}, "above": {}},
    "shift": {"side": "above", "bound": "0", "then": {}},
    "substitute": {"then": {}},
    "generalise": {"then": {}},
    "exponentiate": {"then": {}},
    "fact": {"conditions": []},
}
_TERMS = {"bound", "term", "at"}
_CANDIDATES = tuple(
    Fraction(text) for text in ("1", "1/2", "2", "1/3", "3", "1/10", "3/2", "1/100", "5", "10", "7/10", "-1", "0")
)


class NotFound(Exception):
    """No step was found. The message names the goal."""


def find(goal: Statement, hint: Mapping[str, Any], reader: Reader) -> Step:
    """A step that the kernel accepts for the goal. Raises NotFound."""
    if not hint:
        return _automatic(goal)
    step = {**DEFAULTS.get(hint.get("kind", ""), {}), **hint}
    for key in _TERMS & set(step) - ({"at"} if step["kind"] == "fact" else set()):
        step[key] = show(reader.term(step[key]))
    if step["kind"] == "have":
        claim = reader.relation(step["claim"])
        step["claim"] = [claim.op, show(claim.left), show(claim.right)]
    elif step["kind"] == "nonneg_coeffs":
        step["use"] = [
            [index if index >= 0 else len(goal.hypotheses) + index, show(reader.term(multiplier))]
            for index, multiplier in step["use"]
        ]  # counted from the end if negative
    elif step["kind"] == "fact":
        step["at"] = [show(reader.term(text)) for text in step["at"]]
        if not step["conditions"]:
            from dpverify.prove.kernel.facts import FACTS

            step["conditions"] = [{} for _ in FACTS[step["name"]].conditions]
    elif step["kind"] == "sign_box" and "tree" not in step:
        step["tree"] = bisect(goal, step["digits"])
    elif step["kind"] == "witness":
        step["point"] = {name: str(reader.term(text)) for name, text in step["point"].items()}
    elif step["kind"] == "exact_finite" and "each" not in step:
        domain = goal.ranges()[step["variable"]]
        assert domain.low is not None
        assert domain.high is not None
        step["each"] = [{} for _ in range(int(domain.high - domain.low) + 1)]
    try:
        found = [find(smaller, part if isinstance(part, dict) else {}, reader) for smaller, part in reduce(goal, step)]
    except Rejected as error:
        raise NotFound(f"{error} [goal: {goal.text()[:300]}]") from error
    return _filled(step, found)


def _filled(step: Step, found: list[Step]) -> Step:
    """The step with its parts, which `reduce` named in the order of its fields, replaced by what was found."""
    rest = iter(found)
    order = {
        "have": ("proof", "then"),
        "cases": ("below", "above"),
        "split": ("below", "above"),
        "monotone": ("base", "slope"),
    }.get(step["kind"], ("then",))
    filled = dict(step)
    for field in ("conditions", "each"):
        if field in step:
            filled[field] = list(rest)
    for field in order:
        if field in step:
            filled[field] = next(rest)
    return filled


def _automatic(goal: Statement) -> Step:
    for step in _attempts(goal):
        try:
            check(goal, step)
        except Rejected:
            continue
        return step
    raise NotFound(f"nothing that was tried shows {goal.text()[:600]}")


def _attempts(goal: Statement) -> Iterator[Step]:
    if goal.exists:
        if not goal.variables:
            yield {"kind": "witness", "point": {}}
        return
    shifts = _shifts(goal)
    for count in range(min(len(shifts), 3) + 1):
        for chosen in combinations(shifts, count):
            if len({shift[0] for shift in chosen}) == count:
                yield from _closed(goal, chosen)
    if all(domain.low is not None and domain.high is not None for _, domain in goal.variables):
        for digits in (20, 40):
            try:
                yield {"kind": "sign_box", "digits": digits, "tree": bisect(goal, digits)}
            except Rejected:
                continue


def _closed(goal: Statement, chosen: tuple[tuple[str, str, str], ...]) -> Iterator[Step]:
    """Identity or coefficients after some shifts, with no hypothesis used or one of them."""
    if goal.conclusion.op == "=":
        leaves: list[Step] = [{"kind": "identity"}]
    else:
        leaves = [{"kind": "nonneg_coeffs", "use": []}]
        leaves += [{"kind": "nonneg_coeffs", "use": [[index, "1"]]} for index in range(len(goal.hypotheses))]
    for leaf in leaves:
        step = leaf
        for name, side, bound in reversed(chosen):
            step = {"kind": "shift", "variable": name, "side": side, "bound": bound, "then": step}
        yield step


def _shifts(goal: Statement) -> list[tuple[str, str, str]]:
    found = []
    for name, domain in goal.variables:
        if domain.whole:
            continue
        if domain.low is not None and domain.low != 0:
            found.append((name, "above", str(domain.low)))
        if domain.low is not None and domain.high is not None and domain.low_open:
            found.append((name, "between", "0"))
        if domain.high is not None:
            found.append((name, "below", str(domain.high)))
    for relation in goal.hypotheses:
        for one, bound, rising in ((relation.left, relation.right, ">"), (relation.right, relation.left, "<")):
            if isinstance(one, str) and one not in free(bound) and bound != 0 and relation.op != "=":
                found.append((one, "above" if relation.op.startswith(rising) else "below", show(bound)))
    return found[:8]


def sample(statement: Statement, hint: Mapping[str, str], reader: Reader) -> dict[str, str]:
    """A point that satisfies ranges and hypotheses; the hint fixes some of its coordinates. Raises NotFound."""
    choices = []
    for name, domain in statement.variables:
        choices.append([reader.term(hint[name])] if name in hint else list(_values(domain)))
    for values in product(*choices):
        point = {name: str(value) for (name, _), value in zip(statement.variables, values, strict=True)}
        try:
            point_of(statement, point)
        except Rejected:
            continue
        return point
    raise NotFound(f"no admissible point was found for {statement.text()[:400]}")


def _values(domain: Range) -> Iterator[Fraction]:
    if domain.low is not None and domain.high is not None:
        for part in ("1/2", "1/3", "9/10", "1/10", "0", "1"):
            value = domain.low + (domain.high - domain.low) * Fraction(part)
            value = Fraction(round(value)) if domain.whole else value
            if value in domain:
                yield value
    for value in _CANDIDATES:
        for shifted in {value, value + (domain.low or 0)}:
            if shifted in domain:
                yield shifted
