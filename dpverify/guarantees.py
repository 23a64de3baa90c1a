"""The words of the project: what is claimed, and what can be said of a claim.

Small frozen types without behaviour beyond their own consistency. Numbers live in `enclose`, statistics in `audit`.
"""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What can be said of a claim. The value is the word that is printed."""

    PROVED = "proved"
    """The claim follows from certified arithmetic."""
    REFUTED = "refuted"
    """A witness contradicts the claim, with certainty or at the stated confidence."""
    NOT_REFUTED = "not refuted"
    """The events that were tested do not contradict the claim. Others may."""
    UNDECIDED = "undecided"
    """Precision, samples or time ran out before either could be said."""
