"""From words on the command line to Python objects: the mechanism under audit and its two inputs.

Loading a file runs it, with the rights of whoever runs dpverify. Nothing is sampled here.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpverify.audit import leaving
from dpverify.errors import InputError, shown

if TYPE_CHECKING:
    from types import ModuleType

FORMS = "write module:name or path/to/file.py:name"
MODULE_FORMS = "write package.module or path/to/file.py"
_PREFIX = "_dpverify_target_"


def load_target(words: str) -> Any:
    """The callable that `words` (module:name or path/file.py:name) names; the name may have dots.

    Raises InputError that says which part is wrong: form, file, module, name, or an error in the user's own code.
    """
    found = load_object(words)
    name = words.rpartition(":")[2]
    if not callable(found):
        raise InputError(
            f"{words}: {name} is {_kind(found)}, and a mechanism is a callable: f(data), f(data, rng) or f(data, rng, size)."
        )
    return found


def load_object(words: str) -> Any:
    """Whatever `words` (module:name or path/file.py:name) names. Raises InputError as `load_target` does."""
    place, name = _split(words)
    return _named(load_module(place, words), name, words)


def load_input(words: str, *, option: str = "--inputs") -> Any:
    """One input of a mechanism: a Python literal, or path/file.py:NAME. Raises InputError when it is neither."""
    place, colon, name = words.strip().rpartition(":")
    if colon and place.endswith(".py") and _is_dotted(name):
        return _named(load_module(place, words), name, words)
    try:
        return ast.literal_eval(words.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
        reason = reason.split(" on line")[0].split(": <ast")[0]  # without positions and object addresses
        raise InputError(
            f"{option} {shown(words.strip(), str)}: this is no Python literal ({reason}). Write a number, a list such as "
            """"[1, 2]", text in two pairs of quotes such as "'yes'", or path/to/file.py:NAME."""
        ) from None


def _split(words: str) -> tuple[str, str]:
    place, colon, name = words.rpartition(":")
    if not colon or not place:
        raise InputError(f"{words}: the name of the mechanism is missing; {FORMS}.")
    if not _is_dotted(name):
        raise InputError(f"{words}: {name!r} is not a name of Python; {FORMS}.")
    return place, name


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def load_module(place: str, words: str, *, forms: str = FORMS) -> ModuleType:
    """The module that `place` (a dotted name, or a file that ends in .py) names. Raises InputError that begins with `words` and
    ends with the `forms` to write it in."""
    if place.endswith(".py"):
        return _module_from_file(Path(place), words, forms)
    if "/" in place or not _is_dotted(place):
        raise InputError(f"{words}: {place!r} is neither a file that ends in .py nor the name of a module; {forms}.")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as `python -m` does
    try:
        if importlib.util.find_spec(place.partition(".")[0]) is None:
            raise InputError(f"{words}: there is no module {place!r} here or among what is installed; {forms}.")
        with leaving.kept_here():
            return importlib.import_module(place)
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise _failed_import(place, words, error) from error


def _module_from_file(path: Path, words: str, forms: str) -> ModuleType:
    if not path.is_file():
        what = "is a directory" if path.is_dir() else "does not exist"
        raise InputError(f"{words}: the file {path} {what}; {forms}.")
    resolved = path.resolve()
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(resolved):
        return known
    name = path.stem if known is None and _is_free(path.stem) else f"{_PREFIX}{path.stem}"
    if (again := sys.modules.get(name)) is not None and getattr(again, "__file__", None) == str(resolved):
        return again
    if str(resolved.parent) not in sys.path:
        sys.path.insert(0, str(resolved.parent))  # as `python file.py` does, for what stands beside it
    spec = importlib.util.spec_from_file_location(name, resolved)
    assert spec is not None  # the name of the file ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with leaving.kept_here():
            spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        sys.modules.pop(name, None)
        raise _failed_import(str(path), words, error) from error
    return module


def _is_free(name: str) -> bool:
    """Whether a file may take its plain name, by which a child process can import it again."""
    return name.isidentifier() and importlib.util.find_spec(name) is None


def _failed_import(place: str, words: str, error: BaseException) -> InputError:
    if isinstance(error, SyntaxError):
        where = f"{error.filename or place}, line {error.lineno or 1}"
        return InputError(f"{words}: {where}: syntax error: {error.msg}. Correct the file and try again.")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != leaving.__file__]
    where = f" at {frames[-1].filename}, line {frames[-1].lineno}" if frames else ""
    remedy = (
        "Install what is missing, or run dpverify in the environment where it is installed"
        if isinstance(error, ImportError)
        else "Correct it, and see that it can be imported without running anything"
    )
    return InputError(f"{words}: importing {place} failed with {type(error).__name__}: {shown(error, str)}{where}. {remedy}.")


def _named(module: ModuleType, name: str, words: str) -> Any:
    found: Any = module
    holder = _kind(module)
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise InputError(f"{words}: {holder} has no {part!r}{_alternatives(found, part)}.") from None
        except Exception as error:  # a module's or a class's own __getattr__ may do anything
            raise InputError(
                f"{words}: looking up {part!r} failed with {type(error).__name__}: {shown(error, str)}."
                f" Correct it and try again."
            ) from error
        holder = f"{part}, {_kind(found)},"
    return found


def _kind(value: Any) -> str:
    if isinstance(value, type(sys)):
        return f"the module {value.__name__.removeprefix(_PREFIX)}"
    return f"of type {type(value).__name__}"


def _alternatives(found: Any, part: str) -> str:
    import difflib

    public = [name for name in dir(found) if not name.startswith("_")]
    close = difflib.get_close_matches(part, public, n=3)
    if close:
        return f"; did you mean {' or '.join(close)}?"[:-1]
    callables = (
        [name for name in public if name in vars(found) and callable(vars(found)[name])] if hasattr(found, "__dict__") else []
    )
    return f"; it has {', '.join(callables[:8])}" if callables else ""
