"""What every verb shares: its parser, the two output options, and a way to write that cannot surprise.

No verb's own options live here.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from dpverify.errors import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_ONLY_DASHES = re.compile(r"--[a-z-]+=--")
_NEGATIVE = re.compile(r"-\.?\d.*")


def options_of(verb: str, purpose: str, home: ModuleType, words: Sequence[str]) -> argparse.Namespace:
    """The options of one verb, read from `words`. Raises SystemExit once the help, or what is wrong, has been printed.

    `home` offers `configure(parser, words)` and `EXAMPLE`, a command that can be run as it stands, and may offer `FORMATS`.
    """
    parser = _Parser(
        prog=f"dpverify {verb}",
        description=f"{purpose[0].upper()}{purpose[1:]}.",
        epilog=f"example:\n  {home.EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    home.configure(parser, words)
    output = parser.add_argument_group("output")
    formats = getattr(home, "FORMATS", ("text", "json"))
    output.add_argument("--output-format", choices=formats, default="text", help="default: text")
    output.add_argument("--output", metavar="FILE", help="write the result to FILE instead of standard output")
    # argparse takes -1e-6 and -1/2 for options, and drops the value of --option=--. A leading blank makes them values; every
    # reader of a number ignores it.
    return parser.parse_args([_kept(word) for word in words])


def _kept(word: str) -> str:
    if _NEGATIVE.fullmatch(word):
        return " " + word
    return word.replace("=", "= ", 1) if _ONLY_DASHES.fullmatch(word) else word


class _Parser(argparse.ArgumentParser):
    """Says beside what is wrong what was meant, perhaps, and where help is."""

    def error(self, message: str) -> NoReturn:
        from difflib import get_close_matches

        unknown = [word.partition("=")[0] for word in message.split() if word.startswith("--")]
        options = [option for option in self._option_string_actions if option.startswith("--")]
        close = []
        for word in unknown:
            begun = [option for option in options if len(word) > 3 and option.startswith(word)]
            close += begun or get_close_matches(word, options, n=1, cutoff=0.7)
        meant = f"; did you mean {' or '.join(close)}?" if close and message.startswith("unrecognized") else "."
        said = " ".join(shown(word, str) for word in message.split())
        super().error(f"{said}{meant} `{self.prog} --help` shows the options and an example.")


def text(word: str) -> str:
    """The type of an option whose value is passed on unread."""
    return word.strip()


def whole(word: str) -> int:
    """The type of an option that is a whole number; 10**6 and 1e6 are understood as well as 1000000 and 1_000_000."""
    plain = word.strip().replace("_", "")
    match = re.fullmatch(r"([+-]?\d{1,19})(?:\*\*(\d{1,2})|[eE]\+?(\d{1,2}))?", plain, re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(f"{shown(word.strip())} is not a whole number; write 1000000, 1e6 or 10**6")
    number, power, exponent = match.groups()
    if power is not None:
        return int(pow(int(number), int(power)))
    return int(number) * int(pow(10, int(exponent or 0)))


def provide_streams() -> None:
    """Give a process that was started with closed streams some that go nowhere: what is written there is lost, not fatal."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            if nowhere != number:  # else the next file that somebody opens would take the place of the stream
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8"))


def publish(options: argparse.Namespace, result: str | dict[str, Any] | list[Any]) -> None:
    """Write a verb's result where --output says. Text is written as it is, anything else as JSON."""
    if isinstance(result, str):
        written = result
    else:
        from dpverify.report.json import to_json

        written = to_json(result)
    if options.output is None:
        emit(written)
    else:
        write_file(options.output, written, "--output")


def emit(written: str) -> None:
    """Write to standard output. A reader that went away early (`| head`) changes nothing, the exit code included."""
    try:
        sys.stdout.write(written)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
    except OSError as error:
        _silence(sys.stdout)
        raise InputError(f"standard output cannot be written: {error.strerror}; use --output FILE.") from error


def _silence(stream: Any) -> None:
    """Let what is left in the stream's buffer go nowhere, so that closing it at exit cannot fail again."""
    try:
        descriptor = stream.fileno()
    except (AttributeError, OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def write_file(path: str, written: str, option: str) -> None:
    """Write a file as UTF-8. Raises InputError that names the option, the path and the reason."""
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(written)
    except OSError as error:
        raise _unwritable(path, option, error) from error


def require_writable(path: str | None, option: str) -> str | None:
    """Find out before the work starts whether its result can be written. An existing file keeps its content. Returned is the
    same file under a name that stays true wherever audited code goes meanwhile."""
    if path is None:
        return None
    existed = os.path.lexists(path)
    try:
        with open(path, "a", encoding="utf-8"):
            pass
        if not existed:
            os.remove(path)
    except OSError as error:
        raise _unwritable(path, option, error) from error
    return os.path.abspath(path)


def _unwritable(path: str, option: str, error: OSError) -> InputError:
    remedy = "create the directory first" if error.errno == errno.ENOENT else "name a file that you may write"
    return InputError(f"{option} {path}: this file cannot be written ({error.strerror}); {remedy}.")
