"""What can be wrong with a claim before anything is sampled. All of it is found, not the first fault alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from dpverify.errors import DpverifyError, InputError, shown
from dpverify.gate.claims import FEWEST_SAMPLES, AnalyticClaim, Claim, SampledClaim

RELATIONS = ("replace", "add or remove")
LONGEST = 10_000_000
"""Seconds that a call may be given, at most."""


class InvalidNeighbours(InputError):
    """The two inputs of a claim are no neighbours under the relation that the claim names: its verdict would mean nothing."""


def problems(claim: Claim) -> list[InputError]:
    """Everything that is wrong with a claim, in the order of its parts; [] where it can be checked."""
    checks = _sampled(claim) if isinstance(claim, SampledClaim) else _analytic(claim)
    found = []
    for check in checks:
        try:
            check()
        except InputError as error:
            found.append(error)
    return found


def _sampled(claim: SampledClaim) -> Iterator[Callable[[], Any]]:
    from dpverify.audit.callables import form_of

    yield lambda: _name(claim.name)
    yield lambda: form_of(claim.mechanism)
    yield from _numbers(claim)
    yield lambda: _pair(claim.inputs)
    yield lambda: _samples(claim.samples)
    yield lambda: _outputs(claim.outputs)
    yield lambda: _timeout(claim.timeout)
    yield lambda: _neighbours(claim)


def _analytic(claim: AnalyticClaim) -> Iterator[Callable[[], Any]]:
    yield lambda: _name(claim.name)
    yield from _numbers(claim)
    yield lambda: member(claim)


def _numbers(claim: Claim) -> Iterator[Callable[[], Any]]:
    from dpverify.guarantees import ApproxDP

    yield lambda: ApproxDP(epsilon=claim.epsilon, delta=0)
    yield lambda: ApproxDP(epsilon=0, delta=claim.delta)


def member(claim: AnalyticClaim) -> Any:
    """The mechanism of the catalogue that a claim speaks of. Raises InputError where it is none."""
    from dpverify.mechanisms import by_name

    try:
        return by_name(claim.mechanism)(**claim.parameters)
    except TypeError as error:  # an argument that no such mechanism has
        raise InputError(f"{claim.mechanism}: {error}; `dpverify list` shows the parameters of each mechanism.") from error


def _name(name: Any) -> None:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InputError(
            f"name = {shown(name)}: a text on one line is needed, by which reports call the claim; or leave it out."
        )


def _pair(inputs: Any) -> None:
    if not isinstance(inputs, tuple | list) or len(inputs) != 2:
        raise InputError(f"inputs = {shown(inputs)}: two neighbouring datasets are needed, as a pair.")


def _samples(samples: Any) -> None:
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < FEWEST_SAMPLES:
        raise InputError(f"samples = {shown(samples)}: a whole number of at least {FEWEST_SAMPLES} is needed, outputs a side.")


def _outputs(outputs: Any) -> None:
    if outputs not in ("bits", "reals"):
        raise InputError(f"outputs = {shown(outputs)}: write 'bits' (floats as they are) or 'reals' (floats rounded first).")


def _timeout(timeout: Any) -> None:
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < LONGEST):
        raise InputError(f"timeout = {shown(timeout)}: seconds that one call may take are needed, or nothing for no limit.")


def _neighbours(claim: SampledClaim) -> None:
    relation = claim.neighbours
    if relation is None:
        return
    if relation not in RELATIONS:
        raise InputError(f"neighbours = {shown(relation)}: write {' or '.join(map(repr, RELATIONS))}.")
    _pair(claim.inputs)
    try:
        first, second = (Counter(repr(record) for record in data) for data in claim.inputs)
    except TypeError:
        raise InputError(
            f"neighbours = {relation!r}: this can be checked for inputs that are sequences of records, and one of"
            f" {shown(claim.inputs)} is none; leave neighbours out, or give the records."
        ) from None
    gone, new = (first - second).total(), (second - first).total()
    if sorted((gone, new)) != ([1, 1] if relation == "replace" else [0, 1]):
        raise InvalidNeighbours(
            f"inputs: they are no neighbours that {relation} one record: {gone} of the records of inputs[0] are not in"
            f" inputs[1], and {new} the other way round. Give two datasets that differ in one record."
        )


def joined(errors: list[DpverifyError] | list[InputError]) -> str:
    """Several messages as one, each on a line of its own."""
    return "\n".join(str(error) for error in errors)
