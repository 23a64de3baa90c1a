"""Every error that dpverify raises on purpose.

One root class. A message says what was wrong (with the offending value), why, and what to do about it. The command line
prints the message alone and exits with `exit_code`; a traceback is left for faults of dpverify itself.
Nothing but error classes, and how their messages show a value, lives here; nothing of dpverify is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LONGEST_SHOWN = 200
"""Characters of a value that a message repeats, at most."""


class DpverifyError(Exception):
    """Root of all errors that dpverify raises on purpose. `exit_code` is what the command line returns for it."""

    exit_code = 2


class InputError(DpverifyError, ValueError):
    """A value, an option or a file that was handed in cannot be used as it is."""


class ImpossibleRequest(InputError):
    """The request is well formed, but no number can answer it (a Gaussian with delta = 0, say)."""


class NotCovered(InputError):
    """The question has an answer, and nothing here certifies it (yet); the message says what is missing."""


class NotStated(NotCovered, NotImplementedError):
    """A mechanism leaves out a formula that the question needs; the message says which."""


class MissingDependency(DpverifyError, ImportError):
    """An optional package is needed and is not installed; the message carries the install line."""


class UndecidedError(DpverifyError):
    """The question has an answer, but the precision or the time allowed did not reach it."""

    exit_code = 3


class PrecisionError(UndecidedError):
    """The digits asked for were not reached at the largest working precision. `reached` is the number that was."""

    def __init__(self, message: str, *, reached: int) -> None:
        super().__init__(message)
        self.reached = reached


class UndecidedComparison(UndecidedError):
    """Two enclosures overlap, so neither order is certain. Ask for more digits."""


class DerivationError(DpverifyError):
    """A step of a derivation did not pass its check: the formula that a mechanism states is wrong."""

    exit_code = 4


class MechanismError(DpverifyError):
    """A mechanism under audit failed: it raised, hung, died, changed its input or returned something that is no batch.

    `partial` holds whatever had been measured before it failed (an `AuditResult` or None).
    """

    def __init__(self, message: str, *, partial: Any = None) -> None:
        super().__init__(message)
        self.partial = partial


def shown(value: Any, form: Callable[[Any], str] = repr) -> str:
    """A value as a message shows it: `form` of it, on one line, without its middle where it is long. Never raises."""
    try:
        text = form(value)
    except Exception:  # Python refuses to write integers of more than 4,300 digits; a user's __repr__ may do anything
        whole = isinstance(value, int)
        text = f"an integer of {value.bit_length():,} bits" if whole else f"<{type(value).__name__} that cannot be shown>"
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_SHOWN else f"{text[:100]} ... {text[-40:]} ({len(text):,} characters)"
