"""dpverify: what is true of a differential-privacy claim, what is the number, and does the code do it?

The public names of the project, loaded on first use (PEP 562), so that importing dpverify costs next to nothing.
No formula, no number and no file access lives here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpverify.arithmetic.enclosure import Enclosure as Enclosure
    from dpverify.audit.api import AuditResult as AuditResult
    from dpverify.audit.api import audit as audit
    from dpverify.audit.evidence import recheck as recheck
    from dpverify.errors import DerivationError as DerivationError
    from dpverify.errors import DpverifyError as DpverifyError
    from dpverify.errors import ImpossibleRequest as ImpossibleRequest
    from dpverify.errors import InputError as InputError
    from dpverify.errors import MechanismError as MechanismError
    from dpverify.errors import MissingDependency as MissingDependency
    from dpverify.errors import PrecisionError as PrecisionError
    from dpverify.errors import UndecidedComparison as UndecidedComparison
    from dpverify.errors import UndecidedError as UndecidedError
    from dpverify.guarantees import Verdict as Verdict
    from dpverify.mechanisms import Gaussian as Gaussian
    from dpverify.mechanisms import Laplace as Laplace
    from dpverify.mechanisms import Logistic as Logistic

__version__ = "0.1.0"

_HOME = {
    "AuditResult": "dpverify.audit.api",
    "DerivationError": "dpverify.errors",
    "DpverifyError": "dpverify.errors",
    "Enclosure": "dpverify.arithmetic.enclosure",
    "Gaussian": "dpverify.mechanisms",
    "ImpossibleRequest": "dpverify.errors",
    "InputError": "dpverify.errors",
    "Laplace": "dpverify.mechanisms",
    "Logistic": "dpverify.mechanisms",
    "MechanismError": "dpverify.errors",
    "MissingDependency": "dpverify.errors",
    "PrecisionError": "dpverify.errors",
    "UndecidedComparison": "dpverify.errors",
    "UndecidedError": "dpverify.errors",
    "Verdict": "dpverify.guarantees",
    "audit": "dpverify.audit.api",
    "recheck": "dpverify.audit.evidence",
}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'dpverify' has no attribute {name!r}; the public names are {', '.join(__all__)}.")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
