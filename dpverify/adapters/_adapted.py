"""What every adapter returns, and what adapters share: reading a claim off a curve, and drawing one output at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """An object of another library as an audit needs it.

    name        what reports call it
    epsilon     the claim that was read off it, with `delta`; nats
    mechanism   f(data, size) or f(data, rng, size); libraries with generators of their own cannot be seeded
    source      in words: where the claim was read
    inputs      two neighbouring inputs, where the object fixes them; else None
    """

    name: str
    epsilon: Any
    delta: Any
    mechanism: Callable[..., Any]
    source: str
    inputs: tuple[Any, Any] | None = None


def one_by_one(release: Callable[[Any], Any]) -> Callable[[Any, int], list[Any]]:
    """A batched mechanism from one that returns one output a call and takes no generator."""

    def mechanism(data: Any, size: int) -> list[Any]:
        return [release(data) for _ in range(size)]

    return mechanism


def on_grid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Multiples of 2^-20: what is drawn here stands for real numbers, whose low-order bits are nobody's claim."""
    return np.rint(values * 2.0**20) / 2.0**20


def needed_delta(delta: Any, what: str) -> Any:
    """`delta`, or an InputError that says which curve cannot be read without one."""
    if delta is None:
        raise InputError(f"{what} gives an epsilon for every delta: say at which, with delta=...")
    return delta


def of_zcdp(rho: Any, delta: Any, what: str) -> tuple[Any, Any]:
    """(epsilon, delta) that rho-zCDP implies at this delta: refuting it refutes rho."""
    from dpverify.guarantees import ZCDP, ApproxDP
    from dpverify.notions.conversion import convert

    guarantee = convert(ZCDP(rho=rho), ApproxDP, delta=needed_delta(delta, what)).guarantee
    assert isinstance(guarantee, ApproxDP)  # what was asked for
    return guarantee.epsilon, guarantee.delta
