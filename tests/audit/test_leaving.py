"""Code of others cannot end this process by `os._exit`, its children can, and no child comes back."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

from dpverify.audit.leaving import kept_here


class Left(BaseException):
    """Stands for the end of a process."""


def leave(status: int) -> NoReturn:
    raise Left(status)


def test_here_leaving_is_an_exception_and_only_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverify.audit.leaving._leave", leave)
    with pytest.raises(SystemExit, match=r"os._exit\(0\) would end the whole process"), kept_here():
        os._exit(0)
    with pytest.raises(Left):
        os._exit(0)


def test_a_child_leaves_with_its_own_code_or_where_it_would_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverify.audit.leaving._leave", leave)
    with pytest.raises(Left, match=r"^1$"), kept_here():  # noqa: PT012 - the child is made in between
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(Left, match=r"^3$"):
            os._exit(3)


def test_threads_may_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverify.audit.leaving._leave", leave)
    first, second = kept_here(), kept_here()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    with pytest.raises(SystemExit):
        os._exit(0)
    second.__exit__(None, None, None)
    with pytest.raises(Left):
        os._exit(0)
