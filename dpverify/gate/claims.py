"""Claims: what a project says of its mechanisms, and where it says so. Values, and what can be wrong with them.

A sampled claim speaks of code and is audited; an analytic claim speaks of a mechanism of the catalogue and is decided by
certified arithmetic. Neither imports anything heavy: the decorator stands in modules that must load fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from dpverify.errors import InputError, shown

MARK = "__dpverify_claims__"
"""The attribute of a function that holds its claims."""

SAMPLES = 10**6
FEWEST_SAMPLES = 100

_Mechanism = TypeVar("_Mechanism", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a claim stands: a file as it was named, and a line counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledClaim:
    """`mechanism` is (epsilon, delta)-differentially private between two inputs: epsilon in nats, both as they were given.

    `samples` is a budget a side. `neighbours` names the relation that the inputs must fulfil, where it is to be checked.
    `target` is how the command line names the mechanism, where it can.
    """

    name: str
    mechanism: Callable[..., Any]
    inputs: tuple[Any, Any]
    epsilon: Any
    delta: Any = 0
    samples: int = SAMPLES
    outputs: str = "bits"
    timeout: float | None = None
    neighbours: str | None = None
    place: Place | None = None
    target: str | None = None

    @property
    def words(self) -> str:
        """The claim in words."""
        return f"epsilon = {shown(self.epsilon, str)}, delta = {shown(self.delta, str)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyticClaim:
    """The catalogue's mechanism with these parameters (the sensitivity among them) is (epsilon, delta)-DP."""

    name: str
    mechanism: str
    parameters: Mapping[str, Any]
    epsilon: Any
    delta: Any = 0
    place: Place | None = None

    @property
    def words(self) -> str:
        """The claim in words."""
        return f"epsilon = {shown(self.epsilon, str)}, delta = {shown(self.delta, str)}"


Claim: TypeAlias = SampledClaim | AnalyticClaim


def claim(
    *,
    epsilon: Any,
    inputs: tuple[Any, Any],
    delta: Any = 0,
    samples: int = SAMPLES,
    outputs: str = "bits",
    timeout: float | None = None,
    neighbours: str | None = None,
    name: str | None = None,
) -> Callable[[_Mechanism], _Mechanism]:
    """Claim that the decorated function, whose body is the sampler, is (epsilon, delta)-DP between two inputs.

    The function stays what it is; pytest (through the plugin) and `dpverify gate` find the claim and audit it.

    epsilon, delta  the claim: in nats, >= 0, and in [0, 1). A float is exactly that double, text an exact decimal or fraction
    inputs          two neighbouring datasets
    neighbours      "replace" or "add or remove": the inputs, two sequences of records, are checked to be such neighbours
    name            what reports call the claim; the name of the function, if it is left out

    `samples`, `outputs` and `timeout` are those of `audit`. Several claims may be stacked. Nothing is checked here: whoever
    runs the claims reports all that is wrong with them at once.
    """
    stated = {
        "epsilon": epsilon,
        "inputs": inputs,
        "delta": delta,
        "samples": samples,
        "outputs": outputs,
        "timeout": timeout,
        "neighbours": neighbours,
    }

    def decorated(mechanism: _Mechanism) -> _Mechanism:
        if isinstance(mechanism, type):
            raise InputError(
                f"@claim on the class {mechanism.__name__}: a claim is about a function that returns outputs, and nobody would"
                " check this one; decorate a function that makes an instance and calls it."
            )
        called = name or str(getattr(mechanism, "__name__", type(mechanism).__name__))
        one = SampledClaim(name=called, mechanism=mechanism, place=place_of(mechanism), target=_target(mechanism), **stated)
        try:
            setattr(mechanism, MARK, (one, *claims_of(mechanism)))
        except AttributeError:
            raise InputError(
                f"@claim on {shown(mechanism)}: nothing can be noted on an object of type {type(mechanism).__name__}; wrap it"
                " in a function."
            ) from None
        return mechanism

    return decorated


def claims_of(thing: Any) -> tuple[SampledClaim, ...]:
    """The claims that decorate an object, from the uppermost decorator down; () where there are none."""
    try:
        found = getattr(thing, MARK, ())
    except Exception:  # a stranger's __getattr__ may do anything
        return ()
    return found if isinstance(found, tuple) and all(isinstance(one, SampledClaim) for one in found) else ()


def place_of(mechanism: Any) -> Place | None:
    """Where a function begins, decorators included; None for what Python did not read from a file."""
    code = getattr(getattr(mechanism, "__wrapped__", mechanism), "__code__", None)
    return None if code is None else Place(file=code.co_filename, line=code.co_firstlineno)


def _target(mechanism: Any) -> str | None:
    module, name = getattr(mechanism, "__module__", None), getattr(mechanism, "__qualname__", None)
    if not module or not name or "<" in name or module == "__main__":
        return None
    return f"{module}:{name}"
