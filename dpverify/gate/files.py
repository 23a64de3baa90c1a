"""Evidence on disk: one file a claim, in a directory that version control leaves alone."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.errors import InputError

if TYPE_CHECKING:
    from dpverify.gate.outcome import Outcome

DIRECTORY = ".dpverify"
"""Where a project's evidence and cache are kept, beside its pyproject.toml."""


def saved(outcome: Outcome, directory: Path) -> Outcome:
    """The outcome with its evidence written into `directory`. Raises InputError where that cannot be done."""
    if outcome.result is None:
        return outcome
    path = directory / file_name(outcome.claim.name)
    write(path, json.dumps(outcome.result.evidence, indent=2, ensure_ascii=False) + "\n")
    return replace(outcome, evidence=relative(path))


def file_name(name: str) -> str:
    """A name for the file of a claim: readable, and different for claims of different names."""
    plain = re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII).strip("-.")[-60:]
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}.json"


def write(path: Path, content: str) -> None:
    """Write a file whole or not at all. The first one tells git to leave the directory alone. Raises InputError."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        top = next((one for one in (path.parent, *path.parent.parents) if one.name == DIRECTORY), None)
        if top is not None and not (ignore := top / ".gitignore").exists():
            ignore.write_text("*\n", encoding="utf-8")
        draft.write_text(content, encoding="utf-8", newline="\n")
        draft.replace(path)
    except OSError as error:
        raise InputError(
            f"{path}: the evidence cannot be written there ({error.strerror}); name a directory that you may write to."
        ) from error


def relative(path: Path) -> str:
    """The path as seen from the working directory, where it lies below it."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
