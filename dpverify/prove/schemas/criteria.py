"""What rests on another theorem: a condition suffices, does not suffice, or is not needed, by the criterion of that theorem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpverify.prove.kernel.statements import NEGATED, Relation, Statement
from dpverify.prove.kernel.terms import Rejected, call
from dpverify.prove.schemas.parts import HALF, ONE, ZERO, Criterion, Data, Schema, lemma, obligation, told
from dpverify.prove.schemas.reading import ranges

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpverify.prove.kernel.certificate import Obligation
    from dpverify.prove.kernel.statements import Range
    from dpverify.prove.kernel.terms import Term


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A criterion with terms for its variables, and the condition under which the terms are looked at."""

    theorem: str
    criterion: Criterion
    at: Mapping[str, Term]
    variables: tuple[tuple[str, Range], ...]
    where: tuple[Relation, ...]

    @property
    def premises(self) -> tuple[tuple[str, Relation], ...]:
        """What must hold for the criterion to speak: its variables lie in their ranges, and its hypotheses hold."""
        found = []
        for name, domain in self.criterion.variables.items():
            if self.at[name] == name and dict(self.variables).get(name) == domain:
                continue
            for number, relation in enumerate(domain.relations(self.at[name])):
                found.append((f"{name} is admissible{', from above' * number}", relation))
        for number, hypothesis in enumerate(self.criterion.hypotheses, start=1):
            found.append((f"premise {number} of the criterion", hypothesis.under(self.at)))
        return tuple(found)

    @property
    def relation(self) -> Relation:
        return self.criterion.relation.under(self.at)


def _condition(data: Data) -> Condition:
    table = data.part("condition", "theorem", "criterion", "for", "where", "at", optional=("refuted", "printed", "bound"))
    other = data.other(table["theorem"])
    offered = other.schema.criteria(other)
    if table["criterion"] not in offered:
        raise Rejected(f"{table['theorem']} offers the criteria {sorted(offered)}, not {table['criterion']!r}")
    criterion = offered[table["criterion"]]
    variables = ranges(table["for"])
    data.reader.require_free(table["for"])
    if set(table["at"]) != set(criterion.variables):
        raise Rejected(f"at gives terms for {sorted(criterion.variables)}")
    return Condition(
        theorem=table["theorem"],
        criterion=criterion,
        at={name: data.reader.term(text) for name, text in table["at"].items()},
        variables=variables,
        where=tuple(data.reader.relation(text) for text in table["where"]),
    )


def _told(data: Data) -> str:
    table = data.table["condition"]
    values = ", ".join(f"{name} = {text}" for name, text in table["at"].items())
    return f"{told(table['for'], table['where'])}, at {values}: {_condition(data).criterion.says}"


def _sufficient(data: Data) -> tuple[Obligation, ...]:
    data.fields("condition")
    found = _condition(data)
    shown = [*found.premises, ("the criterion is met", found.relation)]
    statements = ((name, Statement(found.variables, found.where, relation)) for name, relation in shown)
    return (lemma(found.theorem), *(obligation(name, statement) for name, statement in statements))


SUFFICIENT = Schema(
    build=_sufficient,
    states=lambda data: f"{_told(data)}{data.where()}.",
    argument="The named theorem gives a criterion that suffices; it is applied with the given terms for its variables.",
)


def _insufficient(data: Data) -> tuple[Obligation, ...]:
    data.fields("condition")
    found = _condition(data)
    if not found.criterion.necessary:
        raise Rejected("this criterion suffices, but is not necessary: that it is missed refutes nothing")
    missed = Relation(NEGATED[found.relation.op], found.relation.left, found.relation.right)
    given = (*found.where, *(relation for _, relation in found.premises))
    return (
        lemma(found.theorem),
        obligation("the condition holds and the criterion is missed", Statement(found.variables, given, missed, exists=True)),
    )


INSUFFICIENT = Schema(
    build=_insufficient,
    states=lambda data: f"It is false that {_told(data)}{data.where()}.",
    argument="""\
The named theorem gives a criterion that is necessary. The condition of the claim holds at the witness, and the criterion is
missed there.""",
    refutes=True,
)


def _unneeded(data: Data) -> tuple[Obligation, ...]:
    data.fields("condition")
    table, found = data.table["condition"], _condition(data)
    if not {"refuted", "printed"} <= set(table) or set(table["printed"]) != {"for", "where"}:
        raise Rejected("a condition that is not needed has refuted, and printed with for and where")
    if set(table["printed"]["for"]) & set(table["for"]):
        raise Rejected("the printed condition has further variables only")
    refuted = data.reader.relation(table["refuted"])
    printed = ranges({**table["for"], **table["printed"]["for"]})
    data.reader.require_free(table["printed"]["for"])
    asked = tuple(data.reader.relation(text) for text in table["printed"]["where"])
    given = (*found.where, *(relation for _, relation in found.premises), found.relation)
    missed = Relation(NEGATED[refuted.op], refuted.left, refuted.right)
    return (
        lemma(found.theorem),
        obligation("the printed condition asks for no less", Statement(printed, (*found.where, *asked), refuted)),
        obligation("the criterion is met and the condition missed", Statement(found.variables, given, missed, exists=True)),
    )


UNNEEDED = Schema(
    build=_unneeded,
    states=lambda data: (
        f"It is false that {data.table['condition']['refuted']} is necessary; {_told(data)}, and some of it misses that."
    ),
    argument="""\
The named theorem gives a criterion that suffices. At the witness it is met, while what the printed condition implies fails:
so the printed condition, which asks for no less, is not necessary.""",
    refutes=True,
)


def _afterwards(data: Data) -> tuple[Obligation, ...]:
    data.fields("condition")
    found = _condition(data)
    if set(found.at) != {"p", "u", "w", "eps", "delta"}:
        raise Rejected("the mechanism is generalized Gaussian noise with a bound for its tail event")
    bound = data.reader.term(data.table["condition"]["bound"])
    eps, delta = found.at["eps"], found.at["delta"]

    def beyond(distance: Term) -> Term:
        return call("*", HALF, call("gammaq", call("/", ONE, found.at["p"]), call("^", distance, found.at["p"])))

    likely, unlikely = beyond(bound), beyond(call("+", bound, found.at["w"]))
    given = (*found.where, *(relation for _, relation in found.premises), found.relation, Relation(">", bound, ZERO))
    loss = Relation(">", call("log", call("/", likely, unlikely)), eps)
    return (
        lemma(found.theorem),
        obligation(
            "an atom is too likely", Statement(found.variables, (*given, loss), Relation(">", likely, delta), exists=True)
        ),
    )


AFTERWARDS = Schema(
    build=_afterwards,
    states=lambda data: (
        f"{_told(data)}; with its outputs beyond a bound moved to the bound it is not, in either reading: the true value "
        f"lies {data.table['condition']['bound']} scales below "
        "the bound, a neighbour w further, and the atom at the bound has a loss above eps and a probability above "
        f"delta{data.where()}."
    ),
    argument="""\
The named theorem makes the mechanism (eps, delta)-pDP. In units of the scale the noise exceeds x with the probability
Q(1/p, x^p)/2. Moving outputs to the bound makes an atom of what lies beyond it; its loss is the logarithm of the ratio of
its two probabilities, and exceeds eps on an event, the atom, of a probability above delta.""",
    refutes=True,
)
