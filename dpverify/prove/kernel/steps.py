"""The step kinds: each reduces a goal to smaller goals, or closes it.

A step is a JSON object with a `kind` and exactly the fields that its kind knows. `check` either returns or raises Rejected. To
read this file is to read what a certificate can do; nothing else in the kernel accepts a statement.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from dpverify.prove.kernel.algebra import Algebra
from dpverify.prove.kernel.calculus import derivative
from dpverify.prove.kernel.evaluation import Box, evaluate, refined
from dpverify.prove.kernel.facts import instance
from dpverify.prove.kernel.intervals import Arithmetic, Interval
from dpverify.prove.kernel.statements import Range, Relation, Statement
from dpverify.prove.kernel.terms import Call, Rejected, Term, free, number, parse, variable

if TYPE_CHECKING:
    from collections.abc import Callable

Step: TypeAlias = dict[str, Any]
Subgoal: TypeAlias = "tuple[Statement, object]"
ZERO = Fraction(0)
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
DEEPEST, MOST_BOXES, MOST_CASES, MOST_ENTRIES = 40, 20_000, 500, 200


def check(goal: Statement, step: object, depth: int = 0) -> None:
    """Accept the statement because of the step, or raise Rejected."""
    if depth > DEEPEST:
        raise Rejected("steps are nested too deeply")
    for smaller, proof in reduce(goal, step):
        check(smaller, proof, depth + 1)


def reduce(goal: Statement, step: object) -> list[Subgoal]:
    """What remains to be shown after one step, each with the step offered for it. Raises Rejected where it does not apply."""
    if not isinstance(step, dict) or not isinstance(step.get("kind"), str) or step["kind"] not in KINDS:
        raise Rejected("this is not a step of a known kind")
    fields, rule = KINDS[step["kind"]]
    if set(step) != fields | {"kind"}:
        raise Rejected(f"a step {step['kind']} has the fields {sorted(fields)}")
    if goal.exists != (step["kind"] == "witness"):
        raise Rejected(f"a step {step['kind']} does not prove {goal.text()[:120]}")
    return rule(goal, step)


def certain(relation: Relation, box: Box, digits: int, form: Callable[[Term, Box, Arithmetic], Interval] = evaluate) -> bool:
    """Whether the relation certainly holds everywhere on the box."""
    value = form(relation.difference, box, Arithmetic(digits))
    if relation.op == "=":
        return value.low == value.high == 0
    return value.low > 0 if relation.strict else value.low >= 0


def point_of(statement: Statement, written: object) -> dict[str, Term]:
    """A rational point that lies in all ranges and certainly satisfies all hypotheses. Raises Rejected."""
    ranges = statement.ranges()
    if not isinstance(written, dict) or set(written) != set(ranges):
        raise Rejected(f"a point must name {sorted(ranges)}")
    point: dict[str, Term] = {}
    for name, text in written.items():
        value = number(text)
        if value not in ranges[name]:
            raise Rejected(f"{name} = {value} is not admissible")
        point[name] = value
    for hypothesis in statement.hypotheses:
        if not holds(hypothesis.under(point)):
            raise Rejected(f"the point does not satisfy {hypothesis.text()[:120]}")
    return point


def holds(relation: Relation, digits: int = 60) -> bool:
    """Whether a relation without variables certainly holds: exactly where algebra decides it, else by intervals."""
    algebra = Algebra({})
    try:
        above, _ = algebra.normal(relation.difference)
        if not above:
            return not relation.strict
        if relation.op == "=":
            return False
    except Rejected:
        pass  # the intervals decide whether it is defined at all
    return certain(relation, {}, digits)


# The kinds that close a goal.


def _identity(goal: Statement, step: Step) -> list[Subgoal]:
    """Both sides have the same normal form."""
    if goal.conclusion.strict or _algebra(goal).normal(goal.conclusion.difference)[0]:
        raise Rejected(f"no identity: {goal.conclusion.text()[:200]}")
    return []


def _nonneg_coeffs(goal: Statement, step: Step) -> list[Subgoal]:
    """right - left, less multiples of hypotheses, has coefficients of one sign.

    `use`: pairs [i, m]: m times what hypothesis i says to be non-negative is subtracted, where m >= 0 must be shown likewise
    (any m if the hypothesis is an equation). For a strict conclusion, what is left must be positive, or a used hypothesis
    strict and its m positive.
    """
    algebra = _algebra(goal)
    rest, gained = goal.conclusion.difference, False
    for entry in _listed(step["use"]):
        index, multiplier = _entry(entry, 2)
        hypothesis, factor = _hypothesis(goal, index), parse(multiplier)
        if goal.conclusion.op == "=" and hypothesis.op != "=":
            raise Rejected("an equation follows from equations only")
        if hypothesis.op != "=" and not algebra.has_sign(algebra.normal(factor)[0], strictly=False):
            raise Rejected(f"the multiplier {multiplier[:80]} is not shown to be non-negative")
        gained = gained or (hypothesis.strict and algebra.has_sign(algebra.normal(factor)[0], strictly=True))
        rest = Call("-", (rest, Call("*", (factor, hypothesis.difference))))
    above, _ = algebra.normal(rest)
    if goal.conclusion.op == "=":
        if above:
            raise Rejected(f"no equation: {goal.conclusion.text()[:200]}")
    elif not algebra.has_sign(above, strictly=goal.conclusion.strict and not gained):
        raise Rejected(f"coefficients do not show {goal.conclusion.text()[:200]}")
    return []


def _sign_box(goal: Statement, step: Step) -> list[Subgoal]:
    """Intervals on the leaves of a bisection of the box.

    `tree` lists it in preorder: a variable's name bisects the box along it, "." is a leaf by plain evaluation, "~" one by the
    mean-value form, "!" one on which a hypothesis certainly fails. The pieces cover the box by construction;
    open ends count as closed.
    """
    digits = _digits(step["digits"])
    tree = _listed(step["tree"], MOST_BOXES)
    arithmetic = Arithmetic(digits)
    box: Box = {}
    for name, domain in goal.variables:
        if domain.low is None or domain.high is None:
            raise Rejected(f"{name} has no finite range")
        box[name] = Interval(arithmetic.exact(domain.low).low, arithmetic.exact(domain.high).high)
    pending = [box]
    for token in tree:
        if not pending:
            raise Rejected("the tree goes on after its last leaf")
        box = pending.pop()
        if isinstance(token, str) and token in box:
            side = box[token]
            middle = arithmetic.down.divide(arithmetic.down.add(side.low, side.high), Decimal(2))
            if middle not in side:
                raise Rejected("a box is too small to be bisected")
            pending += [box | {token: Interval(middle, side.high)}, box | {token: Interval(side.low, middle)}]
        elif token == "!":
            if not any(fails(hypothesis, box, digits) for hypothesis in goal.hypotheses):
                raise Rejected("no hypothesis certainly fails on a box")
        elif token not in (".", "~") or not certain(goal.conclusion, box, digits, evaluate if token == "." else refined):
            raise Rejected(f"a leaf does not show {goal.conclusion.text()[:120]}")
    if pending:
        raise Rejected("the tree does not cover the box")
    return []


def _witness(goal: Statement, step: Step) -> list[Subgoal]:
    """A rational point at which everything holds."""
    point = point_of(goal, step["point"])
    if not holds(goal.conclusion.under(point)):
        raise Rejected(f"the witness does not show {goal.conclusion.text()[:120]}")
    return []


def _fact(goal: Statement, step: Step) -> list[Subgoal]:
    """The goal is an instance of a fact of the kernel, whose conditions are shown by `conditions`."""
    arguments = [parse(text) for text in _listed(step["at"])]
    conditions, conclusion = instance(step["name"], arguments)
    algebra, proofs = _algebra(goal), _listed(step["conditions"])
    for argument in arguments:
        algebra.normal(argument)  # it must be defined
    if len(proofs) != len(conditions) or conclusion != goal.conclusion:
        raise Rejected(f"{step['name']} is not what is to be shown: {goal.conclusion.text()[:120]}")
    return [(goal.concluding(condition), proof) for condition, proof in zip(conditions, proofs, strict=True)]


# The kinds that reduce a goal to others.


def _have(goal: Statement, step: Step) -> list[Subgoal]:
    """First show `claim` = [op, left, right], then the goal with it as a further hypothesis."""
    op, left, right = _entry(step["claim"], 3)
    claim = Relation(op, parse(left), parse(right))
    return [(goal.concluding(claim), step["proof"]), (goal.assuming(claim), step["then"])]


def _cases(goal: Statement, step: Step) -> list[Subgoal]:
    """A term that is defined is <= 0 or >= 0."""
    term = parse(step["term"])
    _algebra(goal).normal(term)
    sides = (("<=", step["below"]), (">=", step["above"]))
    return [(goal.assuming(Relation(op, term, ZERO)), proof) for op, proof in sides]


def _split(goal: Statement, step: Step) -> list[Subgoal]:
    """The range of a variable in two parts, which meet at a rational."""
    name, at = variable(step["variable"]), number(step["at"])
    domain = goal.ranges().get(name)
    if domain is None or at not in domain:
        raise Rejected(f"{name} does not take the value {step['at']}")
    parts = (replace(domain, high=at, high_open=False), step["below"]), (replace(domain, low=at, low_open=False), step["above"])
    return [(goal.with_range(name, part), proof) for part, proof in parts]


def _monotone(goal: Statement, step: Step) -> list[Subgoal]:
    """f >= 0 on an interval of `variable`, because f >= 0 at the end `from` and does not fall on the way from there.

    For f > 0, `strict` says whether the "base" (the value at that end) or the "slope" is to be positive; the latter needs the
    end to be open. f must be defined, hence continuous, up to and with that end. Hypotheses about the variable are given up:
    they might fail on the way.
    """
    name, end = variable(step["variable"]), step["from"]
    domain = goal.ranges().get(name)
    if domain is None or domain.whole or end not in ("low", "high") or goal.conclusion.op == "=":
        raise Rejected(f"{name} is not a real variable, or nothing is to be shown of a sign")
    start, is_open = (domain.low, domain.low_open) if end == "low" else (domain.high, domain.high_open)
    by_slope = step["strict"] == "slope"
    if start is None or step["strict"] not in ("base", "slope") or (by_slope and not (is_open and goal.conclusion.strict)):
        raise Rejected(f"{name} has no end {end} to start from")
    kept = tuple(h for h in goal.hypotheses if name not in free(h.left) | free(h.right))
    goal, value = replace(goal, hypotheses=kept), goal.conclusion.difference
    closed = replace(domain, low_open=False) if end == "low" else replace(domain, high_open=False)
    _algebra(goal.with_range(name, closed)).normal(value)
    base = Relation(">" if goal.conclusion.strict and not by_slope else ">=", value, ZERO)
    towards = {"low": (">", ">="), "high": ("<", "<=")}[end]
    slope = Relation(towards[0 if by_slope else 1], derivative(value, name), ZERO)
    return [(goal.concluding(base).at(name, start), step["base"]), (goal.concluding(slope), step["slope"])]


def _exponentiate(goal: Statement, step: Step) -> list[Subgoal]:
    """a < b exactly if e^a < e^b, and likewise for the other relations; sums of logarithms become products."""
    relation = goal.conclusion
    raised = Relation(relation.op, Call("exp", (relation.left,)), Call("exp", (relation.right,)))
    return [(goal.concluding(raised), step["then"])]


def _shift(goal: Statement, step: Step) -> list[Subgoal]:
    """Write a variable as a term in a new one, x' >= 0, that keeps its name: `side` is how.

    "above" and "below": x = b + x' or b - x', where x >= b or x <= b is a range or a hypothesis; the other end of the range and
    all hypotheses go along. "between": x = a + (b - a)/(1 + x') for x in a range (a, b) or (a, b], where x' = (b - x)/(x - a);
    b is not read.
    """
    name, side, bound = variable(step["variable"]), step["side"], parse(step["bound"])
    domain = goal.ranges().get(name)
    if domain is None or domain.whole or side not in ("above", "below", "between") or name in free(bound):
        raise Rejected(f"{name} cannot be shifted by {step['bound'][:80]}")
    whole = goal.assuming(*domain.relations(name))
    strict, weak = (">", ">=") if side == "above" else ("<", "<=")
    known = {h.op for h in whole.hypotheses if (h.left, h.right) == (name, bound)}
    known |= {TURNED[h.op] for h in whole.hypotheses if (h.left, h.right) == (bound, name)}
    if side == "between":
        if domain.low is None or domain.high is None or not domain.low_open:
            raise Rejected(f"{name} has no range (a, b) or (a, b]")
        value: Term = Call("+", (domain.low, Call("/", (domain.high - domain.low, Call("+", (Fraction(1), name))))))
        is_open = domain.high_open
    elif known & {strict, weak}:
        _algebra(goal).normal(bound)  # it must be defined
        value = Call("+" if side == "above" else "-", (bound, name))
        is_open = strict in known
    else:
        raise Rejected(f"{name} is not known to be {side} {step['bound'][:80]}")
    hypotheses = tuple(hypothesis.under({name: value}) for hypothesis in whole.hypotheses)
    moved = replace(goal, hypotheses=hypotheses, conclusion=goal.conclusion.under({name: value}))
    return [(moved.with_range(name, Range(ZERO, None, is_open)), step["then"])]


def _substitute(goal: Statement, step: Step) -> list[Subgoal]:
    """Eliminate `variable` by hypothesis `by`, an equation whose left side is that variable."""
    name = variable(step["variable"])
    hypothesis = _hypothesis(goal, step["by"])
    if hypothesis.op != "=" or hypothesis.left != name or name in free(hypothesis.right):
        raise Rejected(f"hypothesis {step['by']} does not determine {name}")
    domain = goal.ranges()[name]
    return [(goal.assuming(*domain.relations(name)).at(name, hypothesis.right), step["then"])]


def _generalise(goal: Statement, step: Step) -> list[Subgoal]:
    """Replace a `term` by a new real variable `name` everywhere: what holds for every value holds for this one."""
    term, name = parse(step["term"]), variable(step["name"])
    _algebra(goal).normal(term)
    if name in goal.ranges():
        raise Rejected(f"{name} is not new")
    old = (*goal.hypotheses, goal.conclusion)
    relations = [Relation(r.op, _with(r.left, term, name), _with(r.right, term, name)) for r in old]
    return [(Statement((*goal.variables, (name, Range())), tuple(relations[:-1]), relations[-1]), step["then"])]


def _exact_finite(goal: Statement, step: Step) -> list[Subgoal]:
    """One goal for each value of a whole variable with a finite range."""
    name = variable(step["variable"])
    domain = goal.ranges().get(name)
    proofs = _listed(step["each"], MOST_CASES)
    if domain is None or not domain.whole or domain.low is None or domain.high is None or domain.high - domain.low > MOST_CASES:
        raise Rejected(f"{name} does not run through finitely many whole numbers")
    values = [Fraction(k) for k in range(int(domain.low) - 1, int(domain.high) + 2) if Fraction(k) in domain]
    if len(proofs) != len(values):
        raise Rejected(f"{name} takes {len(values)} values")
    return [(_folded(goal.at(name, value)), proof) for value, proof in zip(values, proofs, strict=True)]


KINDS: dict[str, tuple[set[str], Callable[[Statement, Step], list[Subgoal]]]] = {
    "identity": (set(), _identity),
    "nonneg_coeffs": ({"use"}, _nonneg_coeffs),
    "sign_box": ({"tree", "digits"}, _sign_box),
    "witness": ({"point"}, _witness),
    "fact": ({"name", "at", "conditions"}, _fact),
    "have": ({"claim", "proof", "then"}, _have),
    "cases": ({"term", "below", "above"}, _cases),
    "split": ({"variable", "at", "below", "above"}, _split),
    "monotone": ({"variable", "from", "strict", "base", "slope"}, _monotone),
    "exponentiate": ({"then"}, _exponentiate),
    "shift": ({"variable", "side", "bound", "then"}, _shift),
    "substitute": ({"variable", "by", "then"}, _substitute),
    "generalise": ({"term", "name", "then"}, _generalise),
    "exact_finite": ({"variable", "each"}, _exact_finite),
}


# Helpers.


def _algebra(goal: Statement) -> Algebra:
    """Signs of the variables, from their ranges and from hypotheses of the form x >= 0 and x > 0."""
    signs: dict[str, int | None] = {}
    for name, domain in goal.variables:
        known = domain.sign
        for hypothesis in goal.hypotheses:
            if hypothesis.right == ZERO and hypothesis.left == name and hypothesis.op in (">", ">="):
                known = max(known or 0, int(hypothesis.strict))
        signs[name] = known
    return Algebra(signs)


def fails(hypothesis: Relation, box: Box, digits: int) -> bool:
    """Whether a hypothesis certainly fails everywhere on the box."""
    try:
        value = evaluate(hypothesis.difference, box, Arithmetic(digits))
    except Rejected:
        return False
    return value.high < 0 or (hypothesis.strict and value.high <= 0) or (hypothesis.op == "=" and value.low > 0)


def _with(term: Term, part: Term, name: str) -> Term:
    if term == part:
        return name
    return Call(term.head, tuple(_with(argument, part, name) for argument in term.args)) if isinstance(term, Call) else term


def _folded(goal: Statement) -> Statement:
    """Numbers combined, so that exponents that became numbers are seen as such."""
    relations = [Relation(r.op, _fold(r.left), _fold(r.right)) for r in (*goal.hypotheses, goal.conclusion)]
    return Statement(goal.variables, tuple(relations[:-1]), relations[-1])


def _fold(term: Term) -> Term:
    if not isinstance(term, Call):
        return term
    args = tuple(_fold(argument) for argument in term.args)
    if term.head in "+-*/" and all(isinstance(argument, Fraction) for argument in args):
        above, _ = Algebra({}).normal(Call(term.head, args))
        return above.get((), ZERO)
    return Call(term.head, args)


def _hypothesis(goal: Statement, index: object) -> Relation:
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(goal.hypotheses):
        raise Rejected(f"there is no hypothesis {str(index)[:20]}")
    return goal.hypotheses[index]


def _listed(value: object, most: int = MOST_ENTRIES) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise Rejected("a list of bounded length is needed")
    return value


def _entry(value: object, length: int) -> list[Any]:
    entry = _listed(value)
    if len(entry) != length or not all(isinstance(item, str | int) and not isinstance(item, bool) for item in entry):
        raise Rejected(f"an entry of {length} items is needed")
    return entry


def _digits(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 10 <= value <= 120:
        raise Rejected("digits must be a whole number from 10 to 120")
    return value
