"""Outcomes of earlier runs, by a hash of everything that they follow from. What is remembered is evidence, and rechecked.

The hash covers the claim, its level, seed and time, every project file that the mechanism imports, the versions of Python
and of all installed packages. With fixed seeds the same hash means the same audit. Off where CI=true: there a run shows
what it has done itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import platform
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpverify.errors import InputError
from dpverify.gate.claims import SampledClaim
from dpverify.gate.files import DIRECTORY, write
from dpverify.gate.outcome import Diagnosis, Outcome
from dpverify.gate.sources import imported_files

if TYPE_CHECKING:
    from dpverify.gate.claims import Claim


def wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a cache may be used here."""
    return environment.get("CI", "").lower() not in ("true", "1", "yes")


def key_of(claim: Claim, *, alpha: float, seed: int, seconds: float | None) -> str | None:
    """The hash; None for what is decided quicker than looked up, or cannot be written down."""
    file = getattr(getattr(claim, "mechanism", None), "__code__", None)
    if not isinstance(claim, SampledClaim) or file is None or not Path(file.co_filename).is_file():
        return None
    said = (claim.words, claim.samples, claim.outputs, claim.timeout, claim.neighbours, alpha, seed, seconds)
    code = (claim.mechanism.__module__, claim.mechanism.__qualname__, file.co_firstlineno)
    try:
        data = pickle.dumps((said, code, claim.inputs))
    except Exception:  # whatever a user's class does when it is pickled
        return None
    digest = hashlib.sha256(data)
    digest.update(_environment().encode())
    for path in imported_files(Path(file.co_filename)):
        digest.update(str(path).encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _environment() -> str:
    from importlib.metadata import distributions

    packages = sorted({f"{one.metadata['Name']}=={one.version}" for one in distributions()})
    return "\n".join([platform.python_version(), platform.platform(), *packages])


def remembered(claim: Claim, key: str, root: Path) -> Outcome | None:
    """The outcome under this key, its verdict recomputed from the counts; None where there is none that holds."""
    from dpverify.audit.evidence import recheck

    try:
        stored = json.loads(_path(root, key).read_text(encoding="utf-8"))
        result = recheck(stored["evidence"])
        diagnosis = None if stored["diagnosis"] is None else Diagnosis(**stored["diagnosis"])
        return Outcome(
            claim=claim,
            verdict=result.verdict,
            alpha=float(stored["alpha"]),
            seed=int(stored["seed"]),
            result=result,
            diagnosis=diagnosis,
            seconds=0.0,
            remembered=True,
        )
    except (OSError, ValueError, TypeError, KeyError, InputError):
        return None


def remember(outcome: Outcome, key: str, root: Path) -> None:
    """Keep an outcome that rests on an audit that came to its end."""
    if outcome.result is None or outcome.error is not None or outcome.remembered:
        return
    found = outcome.diagnosis
    stored: dict[str, Any] = {
        "alpha": outcome.alpha,
        "seed": outcome.seed,
        "diagnosis": None if found is None else {"rule": found.rule, "cause": found.cause, "fix": found.fix},
        "evidence": outcome.result.evidence,
    }
    write(_path(root, key), json.dumps(stored) + "\n")


def _path(root: Path, key: str) -> Path:
    return root / DIRECTORY / "cache" / f"{key}.json"
