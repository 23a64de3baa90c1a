"""Opacus accountants, by their history alone: (noise multiplier, sampling rate, steps). Nothing of torch is needed.

An output is the log likelihood ratio of all steps of the Poisson-sampled Gaussian mechanism, which is sufficient: no event
of the whole run of outputs tells the inputs apart better. The inputs 0 and 1 are a record that is absent or present.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpverify.adapters._adapted import Adapted, needed_delta, on_grid
from dpverify.errors import InputError, shown


def adapt(accountant_of_run: Any, *, distance: Any, delta: Any, accountant: Any) -> Adapted:
    """An accountant with a `history` and `get_epsilon(delta)`."""
    history = getattr(accountant_of_run, "history", None)
    if not isinstance(history, list) or not history or not all(_is_step(entry) for entry in history):
        raise InputError(
            f"history = {shown(history)}: a list of (noise multiplier, sampling rate, steps) is needed, as an accountant"
            " keeps that has seen a run."
        )
    at = needed_delta(delta, "an accountant")
    return Adapted(
        name=f"opacus {type(accountant_of_run).__name__}",
        epsilon=float(accountant_of_run.get_epsilon(delta=float(at))),
        delta=float(at),
        mechanism=_ratio_of(history),
        source=f"get_epsilon({at}) of the accountant",
        inputs=(0, 1),
    )


def _is_step(entry: Any) -> bool:
    return (
        isinstance(entry, tuple | list)
        and len(entry) == 3
        and all(isinstance(number, int | float) for number in entry)
        and entry[0] > 0
        and 0 < entry[1] <= 1
        and entry[2] >= 1
    )


def _ratio_of(history: list[Any]) -> Any:
    steps = [(float(noise), float(rate), int(count)) for noise, rate, count in history]

    def mechanism(data: Any, rng: np.random.Generator, size: int) -> Any:
        total = np.zeros(size)
        for noise, rate, count in steps:
            for _ in range(count):
                seen = rng.random(size) < rate if data else np.zeros(size, dtype=bool)
                output = seen + rng.normal(0.0, noise, size)
                total += np.log1p(rate * np.expm1((2 * output - 1) / (2 * noise**2)))
        return on_grid(total)

    return mechanism
