"""How a mechanism wants to be called, and what counts as a batch of outputs.

A mechanism is f(data, rng, size) with `size` outputs a call, or f(data, rng) or f(data) with one. The form is read off the
names of its parameters, never off its behaviour. No sampling and no statistics live here.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from dpverify.audit.reading import from_array, from_objects
from dpverify.audit.table import Table
from dpverify.audit.unchanged import snapshot
from dpverify.errors import InputError, MechanismError, shown

_IMMUTABLE = frozenset(
    {int, float, complex, bool, str, bytes, type(None), np.float64, np.float32, np.int64, np.int32, np.bool_, np.str_}
)
"""Types of outputs that nobody can change afterwards."""

FORMS = "f(data, rng, size), f(data, rng) or f(data)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a call looks like. `rng` and `size` say whether the mechanism takes them, and `by_name` which go by keyword."""

    data: str
    order: tuple[str, ...]
    by_name: frozenset[str]

    @property
    def batched(self) -> bool:
        """Whether one call returns many outputs."""
        return "size" in self.order or "size" in self.by_name

    @property
    def seeded(self) -> bool:
        """Whether the mechanism draws from the generator that it is given."""
        return "rng" in self.order or "rng" in self.by_name

    def __str__(self) -> str:
        return f"f({', '.join(['data', *(['rng'] if self.seeded else []), *(['size'] if self.batched else [])])})"

    def call(self, mechanism: Callable[..., Any], data: Any, rng: np.random.Generator | None, size: int) -> Any:
        """Call the mechanism once."""
        given = {self.data: data, "rng": rng, "size": size}
        return mechanism(*(given[name] for name in self.order), **{name: given[name] for name in self.by_name})


def form_of(mechanism: Any) -> Form:
    """Read the form off the signature. Raises InputError that says what was found where it fits none."""
    if not callable(mechanism):
        raise InputError(f"mechanism = {shown(mechanism)}: a callable is needed, {FORMS}, not {type(mechanism).__name__}.")
    called = name_of(mechanism)
    try:
        parameters = list(inspect.signature(mechanism).parameters.values())
    except (ValueError, TypeError):
        raise InputError(
            f"{called} has no signature that Python can read, so the form of a call is unknown; "
            f"wrap it in a function of the form {FORMS}."
        ) from None
    written = f"{called}({', '.join(map(str, parameters))})"
    if inspect.iscoroutinefunction(mechanism) or inspect.iscoroutinefunction(type(mechanism).__call__):
        raise InputError(f"{written} is a coroutine function; wrap it in a plain function that runs it to its end.")
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)]
    unbound = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    others = [p for p in (positional or unbound) if p.name not in ("rng", "size")]
    if not others:
        raise InputError(f"{written} has no parameter for the data; the forms are {FORMS}, and the form is read off the names.")
    data = others[0]
    needed = [p.name for p in parameters if p is not data and p.name not in ("rng", "size") and _is_required(p)]
    if needed:
        raise InputError(
            f"{written} needs {', '.join(needed)}, which an audit does not know; the forms are {FORMS}, and the form is read "
            f"off the names rng and size. Bind further parameters with functools.partial or a wrapper."
        )
    wanted = [p for p in parameters if p.name in ("rng", "size")]
    by_name = frozenset(p.name for p in (data, *wanted) if p.kind is p.KEYWORD_ONLY)
    # by keyword whatever may be, so that a parameter with a default in between stays at its default
    in_place = [p for p in positional if p is data or p in wanted]
    order = tuple(p.name for p in in_place if p.kind is not p.POSITIONAL_OR_KEYWORD or p is positional[0] is data)
    return Form(data=data.name, order=order, by_name=by_name | {p.name for p in in_place if p.name not in order})


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)


def name_of(mechanism: Any) -> str:
    """A name for messages and evidence that is the same in every run."""
    inner = getattr(mechanism, "func", mechanism)  # functools.partial
    found = getattr(inner, "__name__", None)
    return str(found) if found else type(inner).__qualname__


def batch_of(returned: Any, size: int, where: str) -> Table:
    """What one batched call returned, as a table of `size` outputs. Raises MechanismError where it is no such batch."""
    outputs = outputs_of(returned, size, where)
    return from_array(outputs) if isinstance(outputs, np.ndarray) else from_objects(outputs)


def outputs_of(returned: Any, size: int, where: str) -> Any:
    """The `size` outputs that one batched call returned, as an array or a list. Raises as `batch_of` does.

    An array may be the very one that was returned, so that it is only good until the next call (`Table.kept`).
    """
    if isinstance(returned, np.ma.MaskedArray):
        returned = returned.tolist()
    if isinstance(returned, str | bytes | Mapping) or not (isinstance(returned, Iterable) or hasattr(returned, "__array__")):
        raise MechanismError(
            f"{where} returned {_kind(returned)}, and {size} outputs were asked for; "
            f"return an array whose first axis has length size, or a list of that many outputs."
        )
    if isinstance(returned, list | tuple):
        outputs: Any = returned
    elif hasattr(returned, "__array__"):
        outputs = np.asarray(returned)
        if outputs.ndim == 0:
            raise MechanismError(
                f"{where} returned an array without axes, and {size} outputs were asked for; "
                f"return an array whose first axis has length size."
            )
    else:
        outputs = list(islice(returned, size + 1))
    if len(outputs) != size:
        found = f"{len(outputs)}" if isinstance(returned, list | tuple | np.ndarray) or len(outputs) <= size else "more"
        raise MechanismError(
            f"{where} returned {found} outputs, and size = {size} were asked for; the first axis of the result runs over "
            f"independent outputs, one for each of size."
        )
    return outputs


def single(returned: Any, where: str) -> Any:
    """What a call that returns one output returned. Raises MechanismError where that is a promise of an output."""
    if type(returned) not in _IMMUTABLE and isinstance(returned, Generator | Coroutine | AsyncGenerator):
        if isinstance(returned, Coroutine):
            returned.close()  # Python warns of one that nobody awaits
        raise MechanismError(
            f"{where} returned a {type(returned).__name__}, which has not run yet and is no output; wrap the mechanism in a "
            f"plain function that runs it to its end and returns what it yields."
        )
    return returned


def kept(output: Any) -> Any:
    """An output as it is now: a mechanism that fills one list or one array again and again returns a new value every time."""
    kind = type(output)
    if kind in _IMMUTABLE:
        return output
    if kind is list:
        return [*map(kept, output)]
    if kind is tuple:
        return (*map(kept, output),)
    if kind is dict:
        return {key: kept(value) for key, value in output.items()}
    return snapshot(output)


def _kind(value: Any) -> str:
    return "None" if value is None else f"one {type(value).__name__}"
