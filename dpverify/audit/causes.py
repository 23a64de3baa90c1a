"""What probably lies behind a refutation: reused randomness, floats that leak, a support that shows the input, or the noise.

A guess for whoever looks for the fault, read off the witness and the exploration outputs. *Heuristic*: no verdict rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpverify.arithmetic.rounded import down
from dpverify.audit.result import Cause, Witness
from dpverify.audit.table import Floats, Kind, Table, name, path_from_json

FEWEST = 400
"""Outputs a side from which on the spread of either side says something."""

FEWEST_UNMATCHED = 10

TOO_MANY_TO_MISS = 7.0
"""Occurrences to be expected that are missed altogether once in a thousand times."""


def likely_cause(
    witness: Witness, explored: tuple[Sequence[Table], Sequence[Table]], epsilon: float, *, reused: bool, curve: bool = False
) -> Cause:
    """What the witness and the exploration outputs look like; `reused`: outputs of one batch depended on each other; `curve`:
    the claim has many points, so that `epsilon` is not the one that the witness refutes."""
    if reused:
        text = "reused randomness; the noise is not drawn afresh for every output (a fixed seed, a key or a draw used twice)."
        return Cause(kind="reuse", text=text)
    if witness.precise:
        text = "floating point; the low-order bits of an output show the answer to which the noise was added."
        return Cause(kind="precision", text=text)
    if all(tables and all(_is_constant(table) for table in tables) for tables in explored):
        text = "reused randomness, or none; an input gives the same output again and again (a fixed seed, noise left out)."
        return Cause(kind="constant", text=text)
    spreads = [_spread(tables) for tables in explored]
    if spreads[0] is not None and spreads[1] is not None:
        sizes = min(sum(table.size for table in tables) for tables in explored)
        ratio = spreads[1] / spreads[0]
        if abs(math.log(ratio)) > 0.05 + 8 / math.sqrt(sizes):
            text = f"scale; the noise depends on the data: its spread on inputs[1] is {ratio:.3g} times that on inputs[0]."
            return Cause(kind="scale", text=text)
    if witness.hits >= FEWEST_UNMATCHED and witness.other_hits == 0 and _never(witness, epsilon):
        text = (
            f"support; inputs[{witness.likelier}] gives outputs that inputs[{1 - witness.likelier}] does not give (bounds, "
            f"rounding, missing values or a release without noise that depend on the data)."
        )
        return Cause(kind="support", text=text)
    if (told := _presence(witness.event)) is not None:
        text = f"presence; how often {told} depends on the data by more than the claim allows."
        return Cause(kind="presence", text=text)
    factor = f" by a factor of at least {down(witness.epsilon_lower / epsilon)}" if epsilon > 0 and not curve else ""
    text = f"scale or sensitivity; the noise is too small for how far the answer moves between these inputs{factor}."
    return Cause(kind="scale", text=text)


def _presence(event: Mapping[str, Any]) -> str | None:
    """What a witness tells that is no matter of how large numbers are: a missing value, a key or an item, equality."""
    if event["family"] == "kind":
        if event["kind"] == Kind.ABSENT.name.lower():
            return f"{name(path_from_json(event['path']))} is there"
        return f"{name(path_from_json(event['path']))} {Kind[event['kind'].upper()].words}"
    if event["family"] == "holds":
        return f"{event['example']} is among the items of {name(path_from_json(event['path']))}"
    if event["family"] == "equal":
        return "two items of an output are equal"
    return None


def _never(witness: Witness, epsilon: float) -> bool:
    """Whether no hits at all are fewer than even twice the epsilon that is claimed would leave to chance."""
    expected = witness.hits / witness.draws * witness.other_draws * math.exp(-min(2 * epsilon, 700.0))
    return witness.epsilon_lower > 2 * epsilon or expected > TOO_MANY_TO_MISS


def _is_constant(table: Table) -> bool:
    codes = table.whole()
    return bool((codes == codes[0]).all())


def _spread(tables: Sequence[Table]) -> float | None:
    """The middle half of the outputs where these are numbers that vary; None where they are something else."""
    parts: list[Floats] = []
    for table in tables:
        if set(table.columns) != {()}:
            return None
        parts.append(table.column(()).values)
    values = np.concatenate(parts) if parts else np.zeros(0)
    if len(values) < FEWEST or not np.isfinite(values).all() or len(np.unique(values[:FEWEST])) < 20:
        return None
    low, high = np.quantile(values, [0.25, 0.75])
    return float(high - low) if high > low else None
