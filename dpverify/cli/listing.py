"""`dpverify list`: what is in the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.cli.common import publish

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

EXAMPLE = "dpverify list"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """`list` has no options of its own."""


def run(options: argparse.Namespace) -> int:
    """Print the mechanisms with their parameters, one a line."""
    from dpverify.mechanisms import by_name, names
    from dpverify.report import catalogue

    mechanisms = [by_name(name) for name in names()]
    publish(options, catalogue.as_data(mechanisms) if options.output_format == "json" else catalogue.as_text(mechanisms))
    return 0
