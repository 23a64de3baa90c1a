"""The theorems of a directory: one TOML file a claim, `certificates/ID.json` beside them. Nothing is proved or judged here.

Reading needs the standard library only, so that certificates can be checked without any other package.
"""

from __future__ import annotations

import copy
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpverify.errors import InputError
from dpverify.prove.kernel.certificate import Obligation, Theorem
from dpverify.prove.kernel.terms import Rejected
from dpverify.prove.schemas import SCHEMAS
from dpverify.prove.schemas.parts import Data, lemma
from dpverify.prove.schemas.reading import Reader

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CERTIFICATES = "certificates"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A theorem with what its author wrote about it."""

    path: Path
    table: Mapping[str, Any]
    theorem: Theorem

    @property
    def name(self) -> str:
        return self.theorem.name

    @property
    def certificate_path(self) -> Path:
        return self.path.parent / CERTIFICATES / f"{self.name}.json"


def read(directory: Path) -> dict[str, Entry]:
    """All theorems of a directory by name, each after those that it uses. Raises InputError that names file and fault."""
    tables: dict[str, tuple[Path, dict[str, Any]]] = {}
    for path in sorted(directory.glob("*.toml")):
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: this theorem cannot be read ({error}); mend the file.") from error
        name = table.get("id")
        if name != path.stem:
            raise InputError(f"{path}: id = {name!r} is not the name of the file; a claim and its file carry one name.")
        tables[name] = (path, table)
    if not tables:
        raise InputError(f"{directory}: there are no theorems (*.toml) here; run from the project's root.")
    datas: dict[str, Data] = {}
    for name, (path, table) in tables.items():
        try:
            datas[name] = _data(table, datas)
        except Rejected as error:
            raise InputError(f"{path}: {error}.") from error
    entries = {}
    for name, (path, table) in tables.items():
        try:
            entries[name] = Entry(path=path, table=table, theorem=_theorem(table, datas))
        except (Rejected, KeyError, TypeError, AttributeError, IndexError) as error:
            raise InputError(f"{path}: this theorem cannot be built ({error!r}); mend the file.") from error
    return _in_order(entries)


def _data(table: Mapping[str, Any], datas: Mapping[str, Data]) -> Data:
    schema = table.get("schema")
    if schema not in SCHEMAS:
        raise Rejected(f"there is no schema {schema!r}; there are {', '.join(SCHEMAS)}")
    return Data(table=table, reader=Reader(table.get("let")), others=datas, schema=SCHEMAS[schema])


def _theorem(table: Mapping[str, Any], datas: Mapping[str, Data]) -> Theorem:
    schema = SCHEMAS[table["schema"]]
    mutants = [_obligations(_changed(table, mutant["change"]), datas) for mutant in table.get("mutant", [])]
    original = _obligations(table, datas)
    if any(mutant == original for mutant in mutants):
        raise Rejected("a mutant changes nothing")
    return Theorem(
        name=table["id"],
        claim=" ".join(table["claim"].split()),
        conclusion=schema.states(datas[table["id"]]),
        argument=schema.argument,
        obligations=original,
        refutes=schema.refutes,
        box=schema.box(datas[table["id"]]),
        mutants=tuple(mutants),
    )


def _obligations(table: Mapping[str, Any], datas: Mapping[str, Data]) -> tuple[Obligation, ...]:
    built = SCHEMAS[table["schema"]].build(_data(table, datas))
    lemmas = tuple(lemma(name) for name in table.get("lemmas", []))
    cites = tuple(Obligation(name=f"cite {number}", cite=text) for number, text in enumerate(table.get("cites", []), start=1))
    return (*built, *lemmas, *cites)


def _changed(table: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """The table with `change` applied: keys are paths such as noise.inverse or statement.0.show."""
    changed: Any = copy.deepcopy(dict(table))
    for path, value in change.items():
        *outer, last = path.split(".")
        place = changed
        for key in outer:
            place = place[int(key) if isinstance(place, list) else key]
        place[int(last) if isinstance(place, list) else last] = value
    return dict(changed)


def _in_order(entries: dict[str, Entry]) -> dict[str, Entry]:
    """Every theorem after its lemmas. Raises InputError for a circle or a lemma that does not exist."""
    ordered: dict[str, Entry] = {}

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in ordered:
            return
        if name in above:
            raise InputError(f"{' -> '.join((*above, name))}: theorems that use one another in a circle prove nothing.")
        if name not in entries:
            raise InputError(f"{entries[above[-1]].path}: there is no theorem {name!r} to use as a lemma.")
        for obligation in entries[name].theorem.obligations:
            if obligation.lemma:
                visit(obligation.lemma, (*above, name))
        ordered[name] = entries[name]

    for name in entries:
        visit(name, ())
    return ordered
