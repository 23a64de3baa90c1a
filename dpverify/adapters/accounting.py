"""dp_accounting events and privacy-loss distributions: the claim is what the accountant says at a delta.

An event is drawn from as it is defined: the output of a Gaussian event on data 0 or 1 is data plus noise, that of a composed
event the tuple of its parts, and a Poisson-sampled event sees the data with its sampling probability. The inputs 0 and 1 are
the neighbours of the event's definition: a record that is absent or present. A privacy-loss distribution is drawn from
itself: its losses under the law of one input and of the other, which shows whether its own numbers agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.adapters._adapted import Adapted, needed_delta, on_grid
from dpverify.errors import InputError, shown

Draw = Callable[[Any, np.random.Generator], list[Any]]
"""From which outputs see the record (an array of truth values) to the columns of the outputs."""

MOST_PARTS = 10_000


def adapt(thing: Any, *, distance: Any, delta: Any, accountant: Any) -> Adapted:
    """An event, or a privacy-loss distribution."""
    name = type(thing).__name__
    if callable(getattr(thing, "get_epsilon_for_delta", None)):
        at = needed_delta(delta, "a privacy-loss distribution")
        return Adapted(
            name="dp_accounting privacy-loss distribution",
            epsilon=_finite(thing.get_epsilon_for_delta(float(at)), at),
            delta=float(at),
            mechanism=_of_losses(thing),
            source=f"get_epsilon_for_delta({at})",
            inputs=(0, 1),
        )
    if not name.endswith("DpEvent"):
        raise InputError(f"{shown(thing)}: an event or a privacy-loss distribution is needed, not a {name}.")
    draw = _draw(thing)
    at = needed_delta(delta, "an accountant")
    chosen = accountant() if accountant is not None else _default()
    chosen.compose(thing)

    def mechanism(data: Any, rng: np.random.Generator, size: int) -> Any:
        columns = draw(np.full(size, bool(data)), rng)
        return np.stack(columns, axis=1) if len(columns) != 1 else columns[0]

    return Adapted(
        name=f"dp_accounting {name}",
        epsilon=_finite(chosen.get_epsilon(float(at)), at),
        delta=float(at),
        mechanism=mechanism,
        source=f"get_epsilon({at}) of a {type(chosen).__name__}",
        inputs=(0, 1),
    )


def _default() -> Any:
    from importlib import import_module  # the event has brought its package along

    return import_module("dp_accounting.pld").PLDAccountant()


def _draw(event: Any) -> Draw:
    name = type(event).__name__
    if name == "GaussianDpEvent":
        return lambda seen, rng: [on_grid(seen + rng.normal(0.0, event.noise_multiplier, len(seen)))]
    if name == "LaplaceDpEvent":
        return lambda seen, rng: [on_grid(seen + rng.laplace(0.0, event.noise_multiplier, len(seen)))]
    if name == "ComposedDpEvent":
        return _together([_draw(part) for part in event.events])
    if name == "SelfComposedDpEvent":
        if event.count > MOST_PARTS:
            raise InputError(f"count = {event.count}: at most {MOST_PARTS} repetitions are drawn from; use fewer.")
        return _together([_draw(event.event)] * event.count)
    if name == "PoissonSampledDpEvent":
        inner, probability = _draw(event.event), event.sampling_probability
        return lambda seen, rng: inner(seen & (rng.random(len(seen)) < probability), rng)
    raise InputError(
        f"{name}: nothing is drawn from this event; Gaussian, Laplace, composed, self-composed and Poisson-sampled ones are."
    )


def _together(parts: list[Draw]) -> Draw:
    return lambda seen, rng: [column for part in parts for column in part(seen, rng)]


def _of_losses(distribution: Any) -> Callable[..., Any]:
    """Losses l with P(l), and with Q(l) = e^{-l} P(l); infinite losses only under P, the rest of Q where no loss is."""
    pmf = distribution._pmf_remove.to_dense_pmf()
    probabilities = np.asarray(pmf._probs, dtype=float)
    losses = (pmf._lower_loss + np.arange(len(probabilities))) * pmf._discretization
    first = np.append(probabilities, max(1 - probabilities.sum(), 0.0))
    second = probabilities * np.exp(-losses)
    second = np.append(second, max(1 - second.sum(), 0.0))
    values = (np.append(losses, np.inf), np.append(losses, -np.inf))
    laws = (first / first.sum(), second / second.sum())

    def mechanism(data: Any, rng: np.random.Generator, size: int) -> Any:
        side = int(bool(data))
        return rng.choice(values[side], size, p=laws[side])

    return mechanism


def _finite(epsilon: Any, delta: Any) -> float:
    value = float(epsilon)
    if not np.isfinite(value):
        raise InputError(f"delta = {delta}: no finite epsilon is claimed at it; give a larger delta.")
    return value
