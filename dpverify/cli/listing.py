"""`dpverify list`: what is in the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.cli.common import publish

if TYPE_CHECKING:
    import argparse

EXAMPLE = "dpverify list"


def configure(parser: argparse.ArgumentParser) -> None:
    """`list` has no options of its own."""


def run(options: argparse.Namespace) -> int:
    """Print the mechanisms with their parameters, one a line."""
    from dpverify.mechanisms import registry
    from dpverify.report import catalogue

    publish(options, catalogue.as_data(registry) if options.output_format == "json" else catalogue.as_text(registry))
    return 0
