"""The exit codes, which scripts rely on, and what a verdict means for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpverify.guarantees import Verdict

NOTHING_REFUTED = 0
REFUTED = 1
UNUSABLE = 2
UNDECIDED = 3
INTERNAL = 4
INTERRUPTED = 130

_OF_VERDICT = {"proved": NOTHING_REFUTED, "not refuted": NOTHING_REFUTED, "refuted": REFUTED, "undecided": UNDECIDED}


def of_verdict(verdict: Verdict) -> int:
    """0 where no claim is refuted, 1 where one is, 3 where neither could be said."""
    return _OF_VERDICT[verdict.value]
