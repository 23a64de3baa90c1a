"""dpverify: what is true of a differential-privacy claim, what is the number, and does the code do it?

The public names of the project, loaded on first use (PEP 562), so that importing dpverify costs next to nothing.
No formula, no number and no file access lives here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpverify.arithmetic.enclosure import Enclosure as Enclosure
    from dpverify.assertions import PrivacyViolation as PrivacyViolation
    from dpverify.assertions import assert_private as assert_private
    from dpverify.audit.api import AuditResult as AuditResult
    from dpverify.audit.api import audit as audit
    from dpverify.audit.evidence import recheck as recheck
    from dpverify.audit.neighbours import BoundedDifference as BoundedDifference
    from dpverify.audit.neighbours import add_or_remove as add_or_remove
    from dpverify.audit.neighbours import bounded_difference as bounded_difference
    from dpverify.audit.neighbours import check_neighbours as check_neighbours
    from dpverify.audit.neighbours import replace_one as replace_one
    from dpverify.audit.planning import audit_plan as audit_plan
    from dpverify.errors import DerivationError as DerivationError
    from dpverify.errors import DpverifyError as DpverifyError
    from dpverify.errors import ImpossibleRequest as ImpossibleRequest
    from dpverify.errors import InputError as InputError
    from dpverify.errors import MechanismError as MechanismError
    from dpverify.errors import MissingDependency as MissingDependency
    from dpverify.errors import NotCovered as NotCovered
    from dpverify.errors import PrecisionError as PrecisionError
    from dpverify.errors import UndecidedComparison as UndecidedComparison
    from dpverify.errors import UndecidedError as UndecidedError
    from dpverify.gate.claims import claim as claim
    from dpverify.guarantees import ZCDP as ZCDP
    from dpverify.guarantees import ApproxDP as ApproxDP
    from dpverify.guarantees import ConcentratedDP as ConcentratedDP
    from dpverify.guarantees import GaussianDP as GaussianDP
    from dpverify.guarantees import ProbabilisticDP as ProbabilisticDP
    from dpverify.guarantees import PureDP as PureDP
    from dpverify.guarantees import RandomDP as RandomDP
    from dpverify.guarantees import RenyiDP as RenyiDP
    from dpverify.guarantees import Verdict as Verdict

    # Types for the best known mechanisms. The others need no line here: they are found by name, and typed as Any.
    from dpverify.mechanisms.gaussian import Gaussian as Gaussian
    from dpverify.mechanisms.laplace import Laplace as Laplace
    from dpverify.mechanisms.logistic import Logistic as Logistic
    from dpverify.notions.conversion import convert as convert
    from dpverify.verdict import triangulate as triangulate

__version__ = "0.1.0"

_HOME = {
    "ApproxDP": "dpverify.guarantees",
    "AuditResult": "dpverify.audit.api",
    "BoundedDifference": "dpverify.audit.neighbours",
    "ConcentratedDP": "dpverify.guarantees",
    "DerivationError": "dpverify.errors",
    "DpverifyError": "dpverify.errors",
    "Enclosure": "dpverify.arithmetic.enclosure",
    "GaussianDP": "dpverify.guarantees",
    "ImpossibleRequest": "dpverify.errors",
    "InputError": "dpverify.errors",
    "MechanismError": "dpverify.errors",
    "MissingDependency": "dpverify.errors",
    "NotCovered": "dpverify.errors",
    "PrecisionError": "dpverify.errors",
    "PrivacyViolation": "dpverify.assertions",
    "ProbabilisticDP": "dpverify.guarantees",
    "PureDP": "dpverify.guarantees",
    "RandomDP": "dpverify.guarantees",
    "RenyiDP": "dpverify.guarantees",
    "UndecidedComparison": "dpverify.errors",
    "UndecidedError": "dpverify.errors",
    "Verdict": "dpverify.guarantees",
    "ZCDP": "dpverify.guarantees",
    "add_or_remove": "dpverify.audit.neighbours",
    "assert_private": "dpverify.assertions",
    "audit": "dpverify.audit.api",
    "audit_plan": "dpverify.audit.planning",
    "bounded_difference": "dpverify.audit.neighbours",
    "check_neighbours": "dpverify.audit.neighbours",
    "claim": "dpverify.gate.claims",
    "convert": "dpverify.notions.conversion",
    "recheck": "dpverify.audit.evidence",
    "replace_one": "dpverify.audit.neighbours",
    "triangulate": "dpverify.verdict",
}


def __getattr__(name: str) -> Any:
    if name == "__all__":  # asked for by `from dpverify import *`
        return _public_names()
    home = _HOME.get(name)
    if name == "audit":  # the package itself, which can be called: a function in its place would hide its modules
        value: Any = import_module("dpverify.audit")
    elif home is not None:
        value = getattr(import_module(home), name)
    elif name.startswith("_") or (value := _mechanism(name)) is None:
        from difflib import get_close_matches

        close = {known.lower(): known for known in _public_names()}
        meant = [close[one] for one in get_close_matches(name.lower(), close, n=2)]
        question = f"did you mean {' or '.join(meant)}? Otherwise, " if meant else ""
        raise AttributeError(
            f"module 'dpverify' has no attribute {name!r}; {question}the public names are {', '.join(_public_names())}."
        )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_public_names(), "__all__"})


def _mechanism(class_name: str) -> Any:
    return import_module("dpverify.mechanisms").by_class_name(class_name)


def _public_names() -> list[str]:
    return ["__version__", *sorted([*_HOME, *import_module("dpverify.mechanisms").class_names()])]
