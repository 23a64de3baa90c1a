"""`dpverify derive`: how a mechanism's bound follows from its density."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpverify.cli.common import publish, text
from dpverify.errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

EXAMPLE = "dpverify derive laplace"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """The mechanism, and how much of the derivation to show."""
    parser.add_argument("mechanism", metavar="NAME", type=text, help="a mechanism; `dpverify list` shows them all")
    parser.add_argument("--latex", action="store_true", help="formulas as LaTeX")
    parser.add_argument("--steps", action="store_true", help="also why each step holds and how it was checked")


def run(options: argparse.Namespace) -> int:
    """Derive and print."""
    from dpverify.mechanisms import by_name, names
    from dpverify.report import derivation as report

    mechanism: Any = by_name(options.mechanism)
    if not _can_derive(mechanism):
        able = [name for name in names() if _can_derive(by_name(name))]
        why = getattr(mechanism, "no_derivation", None)
        what = f"{options.mechanism} has no derivation" + (f" yet: {why}" if why else "")
        raise InputError(f"{what}; there is one for {', '.join(able)}.")
    # A derivation is in symbols: any values of the parameters lead to it.
    derivation = mechanism(**dict.fromkeys((parameter.name for parameter in mechanism.parameters), 1)).derive()
    if options.output_format == "json":
        publish(options, report.as_data(derivation))
    else:
        publish(options, report.as_text(derivation, latex=options.latex, steps=options.steps))
    return 0


def _can_derive(mechanism: Any) -> bool:
    return hasattr(mechanism, "derive") and getattr(mechanism, "no_derivation", None) is None
