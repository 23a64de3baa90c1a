"""`dpverify bound`: solve for whichever of epsilon, delta and the noise parameter is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpverify.cli.common import mechanism_called, publish, text, whole
from dpverify.errors import ImpossibleRequest, InputError

if TYPE_CHECKING:
    import argparse

EXAMPLE = "dpverify bound gaussian --epsilon 1 --delta 1e-6"


def configure(parser: argparse.ArgumentParser) -> None:
    """Options for the quantities; those of the mechanisms come from their declarations."""
    from dpverify.mechanisms import registry

    parser.add_argument("mechanism", metavar="NAME", type=text, help="a mechanism; `dpverify list` shows them all")
    quantities = parser.add_argument_group(
        "quantities", "A number is a decimal or a fraction and is taken exactly: 0.1, 1e-6, 1/3."
    )
    quantities.add_argument("--epsilon", metavar="E", type=text, help="privacy loss, in nats")
    quantities.add_argument("--delta", metavar="D", type=text, help="0 asks for pure differential privacy")
    quantities.add_argument("--sensitivity", metavar="S", type=text, default="1", help="default: 1")
    for name, owners in _owners(registry).items():
        quantities.add_argument(f"--{name}", metavar="X", type=text, help=f"parameter of {', '.join(owners)}")
    parser.add_argument("--digits", metavar="N", type=whole, default=15, help="guaranteed significant digits; default: 15")


def run(options: argparse.Namespace) -> int:
    """Solve and print. Raises InputError unless exactly one quantity is left out."""
    from dpverify.mechanisms import registry
    from dpverify.report import bound

    mechanism = mechanism_called(options.mechanism)
    given = _given(options, registry, mechanism)
    try:
        solved = mechanism.solve(sensitivity=options.sensitivity, digits=options.digits, **given)
    except ImpossibleRequest:
        if options.output_format == "json":
            publish(options, bound.refusal_as_data(options.mechanism, given, options.digits))
        raise
    if options.output_format == "json":
        publish(options, bound.as_data(solved))
    else:
        publish(options, bound.as_text(solved, {**given, "sensitivity": options.sensitivity}))
    return 0


def _owners(registry: Any) -> dict[str, list[str]]:
    """Which mechanisms have a parameter of each name."""
    owners: dict[str, list[str]] = {}
    for name, mechanism in sorted(registry.items()):
        for parameter in mechanism.parameters:
            owners.setdefault(parameter.name, []).append(name)
    return owners


def _given(options: argparse.Namespace, registry: Any, mechanism: Any) -> dict[str, str | None]:
    """What was given for epsilon, delta and each parameter of the mechanism; None for what was not."""
    own = [parameter.name for parameter in mechanism.parameters]
    foreign = [name for name in _owners(registry) if name not in own and getattr(options, name) is not None]
    if foreign:
        raise InputError(
            f"{options.mechanism} has no parameter {foreign[0]}; it has {', '.join(own)}. Leave --{foreign[0]} out."
        )
    return {name: getattr(options, name) for name in ("epsilon", "delta", *own)}
