"""The auditor: does the code do what is claimed? A mechanism is sampled, a false claim is refuted with a witness.

`dpverify.audit` is the function and the package at once: calling the package is calling `dpverify.audit.api.audit`.
Only samples and statistics live here. No formula of a mechanism is ever read, and nothing of `derive` or `mechanisms`
is imported: the auditor's opinion is worth having because it is independent of theirs.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """Importing any module of this package binds `dpverify.audit` to the package, so the package must be callable."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from dpverify.audit.api import audit

        return audit(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
