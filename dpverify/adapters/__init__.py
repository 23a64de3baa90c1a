"""Objects of other libraries: what they claim of themselves, and outputs drawn from them. One file a library.

Every adapter is duck-typed: it is chosen by the name of the package that an object comes from, reads what the object
offers, and imports no library beyond what the object has brought along. No statistics live here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpverify.errors import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpverify.adapters._adapted import Adapted

_HOME = {
    "diffprivlib": "diffprivlib",
    "dp_accounting": "accounting",
    "opacus": "opacus",
    "opendp": "opendp",
    "pydp": "python_dp",
    "tmlt": "tmlt",
}
"""The package that an object's type comes from, and the file here that reads it."""

INSTALL = {
    "diffprivlib": 'pip install diffprivlib "scikit-learn<1.8"',
    "dp_accounting": "pip install dp-accounting",
    "opacus": "pip install opacus",  # which brings PyTorch; its accountants need numpy and scipy alone
    "opendp": "pip install opendp",
    "pydp": "pip install python-dp",
    "tmlt": 'pip install tmlt.core "numpy<2"',
}


def library_of(thing: Any) -> str | None:
    """The name of the package that `thing` comes from, where an adapter reads it; None for all else."""
    for kind in type(thing).__mro__:
        package = str(getattr(kind, "__module__", "")).partition(".")[0]
        if package in _HOME:
            return package
    return None


def adapt(thing: Any, *, distance: Any = 1, delta: Any = None, accountant: Callable[[], Any] | None = None) -> Adapted:
    """What an object of another library claims, and how to draw from it.

    distance    how far neighbouring inputs are apart, in the object's own input metric (d_in), where it asks for one
    delta       the delta at which a curve (zCDP, a privacy profile, an accountant) is read; curves need one
    accountant  makes the dp_accounting accountant that is asked about an event; its PLD accountant unless given

    Returns an `Adapted`: epsilon, delta, a mechanism for `audit`. Raises InputError for an object that no adapter reads, and
    where the object does not say what it would have to say.
    """
    package = library_of(thing)
    if package is None:
        raise InputError(
            f"{shown(thing)} comes from none of {', '.join(_HOME)}: state epsilon and delta, and give a callable"
            " f(data, rng, size)."
        )
    adapted: Adapted = import_module(f"{__name__}.{_HOME[package]}").adapt(
        thing, distance=distance, delta=delta, accountant=accountant
    )
    adapted.mechanism.__name__ = adapted.name  # by which evidence and reports call it
    return adapted
