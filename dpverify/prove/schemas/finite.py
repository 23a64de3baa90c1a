"""Mechanisms with finitely many outputs: exact deltas of both kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.prove.kernel.terms import Rejected, call
from dpverify.prove.schemas.parts import ONE, ZERO, Data, Schema, closed, forall, obligation

if TYPE_CHECKING:
    from dpverify.prove.kernel.certificate import Obligation
    from dpverify.prove.kernel.terms import Term


def _finite(data: Data) -> tuple[Obligation, ...]:
    data.fields("finite")
    table = data.table["finite"]
    if set(table) != {"p", "q", "epsilon", "exceeding", "approximate", "probabilistic"}:
        raise Rejected("a finite mechanism has p, q, epsilon, exceeding, approximate and probabilistic")
    laws: list[list[Term]] = [[data.reader.term(text) for text in table[name]] for name in ("p", "q")]
    eps = data.reader.term(table["epsilon"])
    outputs = range(len(laws[0]))
    if (
        len(laws[1]) != len(laws[0])
        or not set(table["exceeding"]) <= set(outputs)
        or not table["exceeding"]
        or len(set(table["exceeding"])) < len(table["exceeding"])
    ):
        raise Rejected("p and q have one entry for each output, and `exceeding` lists outputs, each once")
    found = []
    for name, law in zip("pq", laws, strict=True):
        found.append(obligation(f"{name} is a law", forall({}, "=", call("+", *law), ONE)))
        found += [obligation(f"{name} of output {i} is non-negative", forall({}, ">=", law[i], ZERO)) for i in outputs]
    scaled = [call("*", call("exp", eps), q) for q in laws[1]]
    for i in outputs:
        op, word = (">", "exceeds") if i in table["exceeding"] else ("<=", "does not exceed")
        found.append(obligation(f"the loss of output {i} {word} eps", forall({}, op, laws[0][i], scaled[i])))
    chosen = table["exceeding"]
    gained = call("+", *(call("-", laws[0][i], scaled[i]) for i in chosen))
    mass = call("+", *(laws[0][i] for i in chosen))
    for name, op, left, right in (
        ("the approximate delta", "<=", gained, data.reader.term(table["approximate"])),
        ("the probabilistic delta", ">=", mass, data.reader.term(table["probabilistic"])),
    ):
        found.append(closed(name, op, left, right))
    return tuple(found)


FINITE = Schema(
    build=_finite,
    states=lambda data: (
        "The mechanism with the output laws P = ({}) and Q = ({}) has, looked at with eps = {epsilon}, an approximate delta "
        "of at most {approximate} "
        "and a probabilistic delta of at least {probabilistic}".format(
            ", ".join(data.table["finite"]["p"]), ", ".join(data.table["finite"]["q"]), **data.table["finite"]
        )
        + data.where()
        + "."
    ),
    argument="""\
P and Q are the laws of a mechanism with finitely many outputs on two datasets, and each is the other with outputs
exchanged, or the pair is looked at in one order. The approximate delta is sum max(0, p - e^eps q), over the outputs whose
loss exceeds eps; the probabilistic delta is the P-probability of those outputs. The two bounds contradict the claim.""",
    refutes=True,
)
