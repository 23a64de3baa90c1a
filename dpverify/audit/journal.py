"""A file in which an audit writes down every answer as it comes, so that it goes on where it was killed.

Everything that an audit decides follows from its request and the answers of its blocks. So resuming is running the
same audit with a crew that first repeats what is in the file: the same events, the same tests, the same alpha.

The file is a sequence of frames, each with its length and checksum; a frame that was cut short by the end of the process is
dropped, and its block is drawn again. Nothing in it is executed.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, BinaryIO

import numpy as np

from dpverify.audit.blocks import Answer, Life, Question
from dpverify.audit.calls import Request
from dpverify.audit.crew import Crew
from dpverify.audit.table import Column, Path, Table, path_from_json
from dpverify.errors import InputError, shown

MAGIC = b"dpverify checkpoint 1\n"
_HEAD = struct.Struct("<QI")


PATIENCE = 1.0
"""Seconds for which a lock is waited for."""


class Journal:
    """Answers on a file: those of an earlier process first, then new ones."""

    def __init__(self, path: str | os.PathLike[str], request: Mapping[str, Any]) -> None:
        self.path = os.fspath(path)
        try:
            self._file: BinaryIO = open(self.path, "a+b")  # noqa: SIM115 - held until the audit is over
        except OSError as error:
            raise InputError(
                f"checkpoint = {shown(self.path)}: this file cannot be written ({error.strerror}); name one that can."
            ) from error
        try:
            self._lock()
            self._begin(request)
        except BaseException:
            self._file.close()
            raise

    def next(self) -> tuple[dict[str, Any], bytes] | None:
        """The next frame of an earlier process, None after the last whole one; what follows it is cut off."""
        place = self._file.tell()
        frame = self._read()
        if frame is None:
            self._file.truncate(place)
            self._file.seek(place)
            return None
        head, _, rest = frame.partition(b"\n")
        try:
            return json.loads(head), rest
        except ValueError as error:
            raise self.unreadable() from error

    def write(self, head: Mapping[str, Any], rest: bytes = b"") -> None:
        """Add a frame. It is in the hands of the system when this returns, and survives the end of this process."""
        content = json.dumps(head).encode() + b"\n" + rest
        try:
            self._file.write(_HEAD.pack(len(content), zlib.crc32(content)) + content)
            self._file.flush()
        except OSError as error:
            raise InputError(f"checkpoint = {shown(self.path)}: writing failed ({error.strerror}); make room there.") from error

    def close(self) -> None:
        """Give back the file, which stays."""
        self._file.close()

    def _lock(self) -> None:
        """The workers of an audit that was killed hold its lock until they see that it is gone."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                if time.monotonic() < deadline:
                    time.sleep(0.05)
                    continue
                raise InputError(
                    f"checkpoint = {shown(self.path)}: another audit writes to this file; wait for it, or name another file."
                ) from None

    def _begin(self, request: Mapping[str, Any]) -> None:
        """Find the request of an earlier process and compare it, or write down this one."""
        self._file.seek(0)
        found = self._file.read(len(MAGIC))
        wanted = json.loads(json.dumps(request))
        if MAGIC.startswith(found) and (found != MAGIC or self._is_empty()):
            self._file.truncate(0)
            self._file.write(MAGIC)
            self.write(wanted)
            return
        if found != MAGIC:
            raise InputError(f"checkpoint = {shown(self.path)}: this file exists and is no checkpoint; name another file.")
        stored = self.next()
        if stored is None:
            self.write(wanted)
            return
        differing = [key for key in sorted({*stored[0], *wanted}) if stored[0].get(key) != wanted.get(key)]
        if differing:
            key = differing[0]
            raise InputError(
                f"checkpoint = {shown(self.path)}: it belongs to another audit, with {key} = {shown(stored[0].get(key))} and "
                f"not {shown(wanted.get(key))}; resume with the same request, or name another file."
            )

    def _is_empty(self) -> bool:
        place = self._file.tell()
        empty = not self._file.read(1)
        self._file.seek(place)
        return empty

    def _read(self) -> bytes | None:
        head = self._file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return None
        length, checksum = _HEAD.unpack(head)
        left = os.fstat(self._file.fileno()).st_size - self._file.tell()
        if length > left:
            return None
        content = self._file.read(length)
        return content if zlib.crc32(content) == checksum else None

    def unreadable(self) -> InputError:
        """What to say of a frame that is whole and makes no sense."""
        return InputError(
            f"checkpoint = {shown(self.path)}: a part of this file cannot be read; it was edited. Name another file."
        )


class Recalled:
    """A crew that answers from a journal as long as it has answers, then asks another crew and writes down what it says."""

    def __init__(self, crew: Crew, journal: Journal) -> None:
        self.hands = crew.hands
        self._crew = crew
        self._journal = journal
        self._past = True
        self._lives: dict[str, Life] = {}

    def answers(self, requests: Iterable[Request], question: Question) -> Iterator[tuple[Request, Answer]]:
        source = iter(requests)
        asked = _digest(question)
        if self._past:
            for request in source:
                frame = self._journal.next()
                if frame is None:
                    self._past = False
                    source = _chain(request, source)
                    break
                yield request, self._recalled(request, asked, *frame)
            else:
                return
        for request, answer in self._crew.answers(source, question):
            self._write(request, asked, answer)
            yield request, answer

    def close(self) -> None:
        self._crew.close()

    def _recalled(self, request: Request, asked: str, head: dict[str, Any], rest: bytes) -> Answer:
        try:
            if head["request"] != _key(request) or head["asked"] != asked:
                raise InputError(
                    f"checkpoint = {shown(self._journal.path)}: block {request.block} of this audit is another one there. The "
                    f"file was written by another version of dpverify or of what it computes with; name another file."
                )
            life = head["life"]
            if isinstance(life, list):
                self._lives[life[0]] = Life(name=str(life[0]), first=int(life[1]), again=int(life[2]))
                life = life[0]
            return Answer(
                size=int(head["size"]),
                width=int(head["width"]),
                hits=tuple(map(int, head["hits"])),
                neighbours=tuple((float(excess), float(variance)) for excess, variance in head["neighbours"]),
                mark=None if head["mark"] is None else int(head["mark"]),
                life=None if life is None else self._lives[life],
                table=None if head["table"] is None else _table(head["table"], rest),
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            if isinstance(error, InputError):
                raise
            raise self._journal.unreadable() from error

    def _write(self, request: Request, asked: str, answer: Answer) -> None:
        life: Any = None if answer.life is None else answer.life.name
        if answer.life is not None and answer.life.name not in self._lives:
            self._lives[answer.life.name] = answer.life
            life = [answer.life.name, answer.life.first, answer.life.again]
        layout, rest = (None, b"") if answer.table is None else _laid_out(answer.table)
        head = {
            "request": _key(request),
            "asked": asked,
            "size": answer.size,
            "width": answer.width,
            "hits": answer.hits,
            "neighbours": answer.neighbours,
            "mark": answer.mark,
            "life": life,
            "table": layout,
        }
        self._journal.write(head, rest)


def _chain(first: Request, rest: Iterator[Request]) -> Iterator[Request]:
    yield first
    yield from rest


def _key(request: Request) -> list[Any]:
    return [request.side, request.block, request.size, request.apart]


def _digest(question: Question) -> str:
    events = [[event.to_json(), precise] for event, precise in zip(question.events, question.precise, strict=True)]
    grid = [[list(path), spacing] for path, spacing in question.grid.items()] if events else []
    return blake2b(json.dumps([events, grid, question.keep]).encode(), digest_size=12).hexdigest()


def _laid_out(table: Table) -> tuple[dict[str, Any], bytes]:
    """A table as a description and the bytes of its arrays, one after the other."""
    columns, parts = [], []
    for path, column in table.columns.items():
        parts += [np.ascontiguousarray(column.values, dtype="<f8").tobytes(), np.ascontiguousarray(column.kinds).tobytes()]
        if column.exact is not None:
            parts.append(np.ascontiguousarray(column.exact, dtype="<u8").tobytes())
        labels = {str(code): label for code, label in column.labels.items()}
        texts = None if column.texts is None else column.texts.tolist()
        columns.append({"path": list(path), "exact": column.exact is not None, "labels": labels, "texts": texts})
    return {"size": table.size, "columns": columns}, b"".join(parts)


def _table(layout: dict[str, Any], rest: bytes) -> Table:
    size, place = int(layout["size"]), 0

    def array(kind: str) -> Any:
        nonlocal place
        found = np.frombuffer(rest, dtype=kind, count=size, offset=place)
        place += found.nbytes
        return found.copy()  # at an address that fits its type

    columns: dict[Path, Column] = {}
    for one in layout["columns"]:
        values, kinds = array("<f8"), array("u1")
        exact = array("<u8") if one["exact"] else None
        labels = {int(code): text for code, text in one["labels"].items()}
        texts = None if one["texts"] is None else np.array([None, *one["texts"]], dtype=object)[1:]
        columns[path_from_json(one["path"])] = Column(values, kinds, exact, labels, texts)
    return Table(size, columns)
