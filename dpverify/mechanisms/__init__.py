"""WHAT is verified: one file a mechanism. A new mechanism is a new file here; nothing else in this package is edited.

A file `truncated_laplace.py` holds the class `TruncatedLaplace`, which the command line calls `truncated-laplace`.
Files whose names start with an underscore are what mechanisms have in common.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import TYPE_CHECKING

from dpverify.errors import InputError, shown

if TYPE_CHECKING:
    from dpverify.mechanisms._mechanism import Mechanism


def names() -> list[str]:
    """The command-line names of all mechanisms, sorted."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def class_names() -> list[str]:
    """The class names of all mechanisms, in the same order."""
    return [_class_name(name) for name in names()]


def by_name(name: str) -> type[Mechanism]:
    """The mechanism that the command line calls `name`. Imports that mechanism's file and no other."""
    if name not in names():
        raise InputError(f"{shown(name)} is not a mechanism; {_meant(name)}the mechanisms are {', '.join(names())}.")
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    found: type[Mechanism] = getattr(module, _class_name(name))
    return found


def by_class_name(class_name: str) -> type[Mechanism] | None:
    """The mechanism class called `class_name`, or None."""
    return next((by_name(name) for name in names() if _class_name(name) == class_name), None)


def _meant(name: str) -> str:
    """A question, where something like `name` (a class name, say) is known."""
    from difflib import get_close_matches

    wanted = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower().replace("_", "-")
    close = get_close_matches(wanted, names(), n=2) or [known for known in names() if wanted and known.startswith(wanted)]
    return f"did you mean {' or '.join(close)}? Otherwise, " if close else ""


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))
