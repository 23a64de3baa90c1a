"""`[tool.dpverify]` of a pyproject.toml: the claims of a project and how they are to be checked.

Whatever is wrong is collected, each fault with its file and line, and reported at once. Modules and targets that are named
are imported, with the rights of whoever runs dpverify; nothing is sampled.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from dpverify.errors import DpverifyError, InputError, shown
from dpverify.gate import spending
from dpverify.gate.checking import InvalidNeighbours, problems
from dpverify.gate.claims import SAMPLES, AnalyticClaim, Claim, Place, SampledClaim, claims_of
from dpverify.gate.files import relative
from dpverify.gate.foreign import completed
from dpverify.gate.positions import positions
from dpverify.gate.target import MODULE_FORMS, load_input, load_module, load_object

SECTION = "tool.dpverify"
CLAIMS = f"{SECTION}.claims"
_SETTINGS = ("modules", "pythonpath", "alpha", "budget", "seed", "claims")
_SAMPLED = ("target", "inputs", "epsilon", "delta", "samples", "outputs", "timeout", "neighbours", "distance", "name")
_ANALYTIC = ("mechanism", "epsilon", "delta", "sensitivity", "name")
_EXAMPLE = f'a claim looks like this:\n  [[{CLAIMS}]]\n  target = "module:name"\n  inputs = ["0", "1"]\n  epsilon = 1'


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong with a configuration, and where."""

    place: Place
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class ConfigurationError(InputError):
    """A configuration cannot be used; `problems` has every reason, and the message a line for each."""

    def __init__(self, found: list[Problem]) -> None:
        super().__init__("\n".join(map(str, found)))
        self.problems = tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What a project wants checked. `root` is where its pyproject.toml stands; `seconds` is the time for all claims."""

    root: Path
    claims: tuple[Claim, ...]
    alpha: float
    seed: int
    seconds: float | None


def read(path: Path) -> Configuration:
    """The configuration in a pyproject.toml. Raises InputError where there is none, ConfigurationError for what is in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"{path}: this file cannot be read ({reason}); name a pyproject.toml with a [{SECTION}].") from error
    try:
        data = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: this file is no TOML: {error}. Correct it and try again.") from error
    tool = data.get("tool", {})
    section = tool.get("dpverify") if isinstance(tool, dict) else None
    if not isinstance(section, dict):
        raise InputError(f"{path}: there is no [{SECTION}] in this file; {_EXAMPLE}")
    return _Reader(path, text, section).configuration()


class _Reader:
    """Reads one section; `problems` fills up on the way."""

    def __init__(self, path: Path, text: str, section: dict[str, Any]) -> None:
        self.path = path
        self.root = path.resolve().parent
        self.section = section
        self.lines = positions(text)
        self.problems: list[Problem] = []

    def configuration(self) -> Configuration:
        """All of it. Raises ConfigurationError."""
        self._unknown(self.section, _SETTINGS, SECTION, 0)
        for place in (*reversed(self._texts("pythonpath")), "."):
            folder = self.root / place
            if not folder.is_dir():
                self._problem(self._place(SECTION, 0, "pythonpath"), f"pythonpath: {folder}: there is no such directory.")
            elif str(folder) not in sys.path:
                sys.path.insert(0, str(folder))
        alpha = self._setting("alpha", spending.alpha_of, float(spending.ALPHA))
        seed = self._setting("seed", spending.seed_from, 0)
        seconds = self._setting("budget", spending.seconds_of, None)
        claims = _named_apart([*self._decorated(), *self._listed()])
        if not claims and not self.problems:
            self._problem(self._place(SECTION, 0, ""), f"no claim is made here: list modules, or write one; {_EXAMPLE}")
        if self.problems:
            raise ConfigurationError(self.problems)
        return Configuration(root=self.root, claims=tuple(claims), alpha=alpha, seed=seed, seconds=seconds)

    # --- parts ------------------------------------------------------------------------------------------------------

    def _setting(self, name: str, reader: Callable[[str, str], Any], default: Any) -> Any:
        value = self.section.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
            self._problem(self._place(SECTION, 0, name), f"{name} = {shown(value)}: a number or text is needed.")
            return default
        return self._kept(lambda: reader(str(value), name), self._place(SECTION, 0, name), default)

    def _texts(self, name: str) -> list[str]:
        value = self.section.get(name, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            self._problem(self._place(SECTION, 0, name), f"{name} = {shown(value)}: a list of texts is needed.")
            return []
        return value

    def _decorated(self) -> Iterator[Claim]:
        """The claims that decorate functions of the modules that are listed."""
        place = self._place(SECTION, 0, "modules")
        for words in self._texts("modules"):
            module = self._kept(
                partial(load_module, self._located(words), f"modules: {words}", forms=MODULE_FORMS), place, None
            )
            if module is None:
                continue
            own = [thing for thing in vars(module).values() if getattr(thing, "__module__", None) == module.__name__]
            members = [one for thing in own if isinstance(thing, type) for one in vars(thing).values()]
            found = {id(claim): claim for thing in (*own, *members) for claim in claims_of(thing)}
            if not found:
                self._problem(place, f"modules: {words}: no function in it has a claim; decorate one with @dpverify.claim.")
            for claim in found.values():
                if claim.place is not None:
                    claim = replace(claim, place=replace(claim.place, file=relative(Path(claim.place.file))))
                self._checked(claim, claim.place or place)
                yield claim

    def _listed(self) -> Iterator[Claim]:
        """The claims that are written out."""
        tables = self.section.get("claims", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            self._problem(self._place(SECTION, 0, "claims"), f"claims: tables are needed; {_EXAMPLE}")
            return
        for number, table in enumerate(tables):
            place = self._place(CLAIMS, number, "")
            if ("target" in table) == ("mechanism" in table):
                self._problem(
                    place,
                    "a claim has either a target (code, module:name) or a mechanism (of the catalogue, such as gaussian).",
                )
                continue
            if "target" in table:
                self._unknown(table, _SAMPLED, CLAIMS, number)
            if "mechanism" in table and "epsilon" not in table:
                self._problem(place, "the claim says nothing of epsilon; add epsilon = ...")
                continue
            claim = self._sampled(table, number) if "target" in table else self._analytic(table, number)
            if claim is not None:
                self._checked(claim, place)
                yield claim

    def _sampled(self, table: dict[str, Any], number: int) -> Claim | None:
        words = str(table["target"])
        where = self._place(CLAIMS, number, "target")
        found = self._kept(lambda: load_object(self._located(words)), where, None)
        inputs = self._inputs(table.get("inputs"), self._place(CLAIMS, number, "inputs"))
        if found is None or ("inputs" in table and inputs is None):
            self._check_rest(table, number)
            return None
        distance, delta = (float(one) if isinstance(one := table.get(key), Decimal) else one for key in ("distance", "delta"))
        claimed = self._kept(
            lambda: completed(
                found,
                inputs=inputs,
                epsilon=table.get("epsilon"),
                delta=table.get("delta") if "epsilon" in table else delta,
                distance=1 if distance is None else distance,
            ),
            self._place(CLAIMS, number, ""),
            None,
        )
        if claimed is None:
            return None
        given = {key: table[key] for key in ("outputs", "neighbours") if key in table}
        return SampledClaim(
            name=table.get("name", words),
            **claimed,
            samples=table.get("samples", SAMPLES),
            timeout=_timeout(table),
            place=self._place(CLAIMS, number, ""),
            target=words,
            **given,
        )

    def _check_rest(self, table: dict[str, Any], number: int) -> None:
        """What is wrong with a claim beside its target or its inputs, which are none: to be mended in the same go."""
        words = str(table["target"])
        stand_in = SampledClaim(
            name=table.get("name", words),
            mechanism=_nothing,
            inputs=(0, 1),
            epsilon=table.get("epsilon", 0),
            delta=table.get("delta", 0),
            samples=table.get("samples", SAMPLES),
            timeout=_timeout(table),
            outputs=table.get("outputs", "bits"),
            place=self._place(CLAIMS, number, ""),
            target=words,
        )
        self._checked(stand_in, self._place(CLAIMS, number, ""))

    def _inputs(self, value: Any, place: Place) -> tuple[Any, Any] | None:
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != 2:
            self._problem(
                place, f"inputs = {shown(value)}: a list of two datasets is needed, such as [0, 1] or ['a.py:X', 'a.py:Y']."
            )
            return None
        read = []
        for one in value:
            if not isinstance(one, str):
                read.append(_floats(one))
                continue
            before = len(self.problems)
            read.append(self._kept(partial(load_input, self._located(one), option="inputs:"), place, None))
            if len(self.problems) > before:
                return None
        return read[0], read[1]

    def _analytic(self, table: dict[str, Any], number: int) -> Claim | None:
        from dpverify.mechanisms import by_name

        name = str(table["mechanism"])
        family = self._kept(lambda: by_name(name), self._place(CLAIMS, number, "mechanism"), None)
        if family is None:
            return None
        own = tuple(parameter.name for parameter in family.parameters)
        self._unknown(table, (*_ANALYTIC, *own), CLAIMS, number)
        parameters = {key: table[key] for key in (*own, "sensitivity") if key in table}
        default = f"{name} ({', '.join(f'{key} = {value}' for key, value in parameters.items())})"
        return AnalyticClaim(
            name=table.get("name", default),
            mechanism=name,
            parameters=parameters,
            epsilon=table["epsilon"],
            delta=table.get("delta", 0),
            place=self._place(CLAIMS, number, ""),
        )

    # --- faults -----------------------------------------------------------------------------------------------------

    def _checked(self, claim: Claim, place: Place) -> None:
        """Inputs that are no neighbours are a finding about the claim, and no fault of the file."""
        for error in problems(claim):
            if not isinstance(error, InvalidNeighbours):
                self._problem(place, f"{claim.name}: {error}")

    def _unknown(self, table: dict[str, Any], known: tuple[str, ...], name: str, number: int) -> None:
        for key in table:
            if key not in known:
                close = get_close_matches(key, known, n=1)
                meant = f"did you mean {close[0]}? Otherwise, " if close else ""
                message = f"{key} is no key of [{name}]; {meant}the keys are {', '.join(known)}."
                self._problem(self._place(name, number, key), message)

    def _kept(self, work: Callable[[], Any], place: Place, otherwise: Any) -> Any:
        """The result of work, or a problem."""
        try:
            return work()
        except DpverifyError as error:
            self._problem(place, str(error))
            return otherwise

    def _problem(self, place: Place, message: str) -> None:
        self.problems.append(Problem(place=place, message=message))

    def _place(self, table: str, number: int, key: str) -> Place:
        """The line of a key, else of its table, else of the section."""
        tried = ((table, number, key), (table, number, ""), (SECTION, 0, table.rpartition(".")[2]), (SECTION, 0, ""))
        return Place(file=relative(self.path), line=next((self.lines[one] for one in tried if one in self.lines), 1))

    def _located(self, words: str) -> str:
        """Files are named as seen from the pyproject.toml."""
        file, dot, rest = words.partition(".py")
        return relative(self.root / f"{file}.py") + rest if dot and (not rest or rest.startswith(":")) else words


def _floats(value: Any) -> Any:
    """TOML's decimals are claims elsewhere; in data they are floats."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_floats(one) for one in value]
    if isinstance(value, dict):
        return {key: _floats(one) for key, one in value.items()}
    return value


def _named_apart(claims: list[Claim]) -> list[Claim]:
    """No two of the same name: evidence and reports go by it."""
    taken = {str(claim.name) for claim in claims}
    seen: set[str] = set()
    apart = []
    for claim in claims:
        name, number = str(claim.name), 1
        while name in seen or (number > 1 and name in taken):
            number += 1
            name = f"{claim.name} ({number})"
        seen.add(name)
        apart.append(claim if number == 1 else replace(claim, name=name))
    return apart


def _timeout(table: dict[str, Any]) -> Any:
    given = table.get("timeout")
    return float(given) if isinstance(given, Decimal) else given


def _nothing(data: Any, rng: Any, size: int) -> list[None]:
    """Stands for a target that is none."""
    return [None] * size
