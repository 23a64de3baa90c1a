"""The command line: words in, text or JSON out, an exit code that a script can rely on.

Here stands the list of verbs; each verb has a file of its own, read only when it is called, so that a
look-up does not pay for an audit. Nothing is computed here and nothing is laid out here (that is `report`).
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from dpverify.cli.common import emit, options_of, provide_streams
from dpverify.cli.exit_codes import INTERNAL, INTERRUPTED, NOTHING_REFUTED, REFUTED, UNDECIDED, UNUSABLE
from dpverify.errors import DpverifyError

if TYPE_CHECKING:
    from collections.abc import Sequence

VERBS = {
    "list": ("dpverify.cli.listing", "the mechanisms that dpverify knows, and their parameters"),
    "bound": ("dpverify.cli.bound", "a certified epsilon, delta or noise parameter: whichever is left out"),
    "compare": ("dpverify.cli.compare", "which mechanism adds the least noise at a given epsilon and delta"),
    "derive": ("dpverify.cli.derive", "how a mechanism's bound follows from its density, step by step"),
    "audit": ("dpverify.cli.audit", "sample a mechanism's code and try to refute its privacy claim"),
    "recheck": ("dpverify.cli.recheck", "recompute a verdict from saved evidence, without sampling"),
    "gate": ("dpverify.cli.gate", "every claim of a project, from pyproject.toml and from decorated functions"),
    "prove": ("dpverify.cli.prove", "theorems and refutations, each with a certificate that a small kernel checks"),
}

SHOW_TRACEBACK = "DPVERIFY_TRACEBACK"

_OVERVIEW = f"""\
usage: dpverify VERB [options]

Derive, bound and audit differential-privacy claims.

verbs:
{{verbs}}

`dpverify VERB --help` shows the options of a verb and an example; `dpverify --version` the version.

exit codes: {NOTHING_REFUTED} no claim refuted, {REFUTED} a claim refuted, {UNUSABLE} usage, configuration or mechanism error,
{UNDECIDED} undecided, {INTERNAL} internal error. {SHOW_TRACEBACK}=1 shows where an error came from.
"""


def entry_point() -> NoReturn:
    """Run the command line on the arguments of this process and leave with its exit code."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Messages go to standard error, results to standard output.

    `arguments` are the words after the program's name. Every exception ends here: one that dpverify raised on purpose
    becomes its message, any other becomes a request to report it.
    """
    try:
        provide_streams()
        return _run(arguments)
    except DpverifyError as error:
        _show_traceback()
        _say(f"dpverify: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        _show_traceback()
        _say("dpverify: interrupted.")
        return INTERRUPTED
    except BaseException as error:  # whatever user code may have raised: no exit code but one of ours may leave
        shown = _show_traceback()
        hint = "" if shown else f" Set {SHOW_TRACEBACK}=1 to see where it happened."
        _say(
            f"dpverify: internal error: {type(error).__name__}: {error}. This is a fault of dpverify itself;"
            f" please report it with the command that you ran.{hint}"
        )
        return INTERNAL


def _run(arguments: Sequence[str]) -> int:
    verb = arguments[0] if arguments else "--help"
    if verb in ("-h", "--help", "help"):
        emit(_OVERVIEW.format(verbs="\n".join(f"  {name:9}{purpose}" for name, (_, purpose) in VERBS.items())))
        return NOTHING_REFUTED if arguments else UNUSABLE
    if verb == "--version":
        from dpverify import __version__

        emit(f"dpverify {__version__}\n")
        return NOTHING_REFUTED
    if verb not in VERBS:
        _say(f"dpverify: there is no verb {verb!r}; the verbs are {', '.join(VERBS)}. Options follow the verb.")
        return UNUSABLE
    home = import_module(VERBS[verb][0])
    try:
        options = options_of(verb, VERBS[verb][1], home, arguments[1:])
    except SystemExit as stop:  # argparse has printed the help or what is wrong
        return int(stop.code or 0)
    code: int = home.run(options)
    return code


def _say(message: str) -> None:
    with suppress(OSError, ValueError):  # nobody listens; the exit code still speaks
        print(message, file=sys.stderr, flush=True)  # noqa: T201 - this is the voice of the command line


def _show_traceback() -> bool:
    if os.environ.get(SHOW_TRACEBACK, "") in ("", "0"):
        return False
    import traceback

    traceback.print_exc()
    return True
