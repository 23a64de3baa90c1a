"""`dpverify bound`: solve for whichever of epsilon, delta and the noise parameter is left out; lists give a table."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from dpverify.cli.common import publish, text, whole
from dpverify.errors import DpverifyError, ImpossibleRequest, NotCovered, UndecidedError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

EXAMPLE = "dpverify bound gaussian --epsilon 1 --delta 1e-6"
FORMATS = ("text", "json", "csv")


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Options for the quantities. Those of a mechanism come from its declaration, and only its file is read for them."""
    parser.add_argument("mechanism", metavar="NAME", type=text, help="a mechanism; `dpverify list` shows them all")
    quantities = parser.add_argument_group(
        "quantities",
        "All but one of epsilon, delta and the mechanism's parameters. A number is a decimal or a fraction, taken exactly."
        " Lists, such as --epsilon 0.1,1,10 --delta 1e-9,1e-6, give a table of all combinations.",
    )
    quantities.add_argument("--epsilon", metavar="E", type=text, help="privacy loss, in nats; one or several")
    quantities.add_argument("--delta", metavar="D", type=text, help="0 asks for pure differential privacy; one or several")
    quantities.add_argument("--sensitivity", metavar="S", type=text, default="1", help="default: 1")
    for name, meaning in _parameters(words).items():
        quantities.add_argument(f"--{name}", metavar="X", type=text, help=meaning)
    parser.add_argument("--digits", metavar="N", type=whole, default=15, help="guaranteed significant digits; default: 15")


def run(options: argparse.Namespace) -> int:
    """Solve and print. Raises InputError unless exactly one quantity is left out."""
    from dpverify.mechanisms import by_name

    mechanism = by_name(options.mechanism)
    given = {name: getattr(options, name) for name in ("epsilon", "delta", *(one.name for one in mechanism.parameters))}
    listed = any("," in (given[name] or "") for name in ("epsilon", "delta"))
    if listed or options.output_format == "csv":
        return _table(options, mechanism, given)
    return _single(options, mechanism, given)


def _single(options: argparse.Namespace, mechanism: Any, given: dict[str, str | None]) -> int:
    from dpverify.report import bound

    try:
        solved = mechanism.solve(sensitivity=options.sensitivity, digits=options.digits, **given)
    except ImpossibleRequest:
        if options.output_format == "json":
            asked = {name: given[name] for name in _solvable(mechanism)}
            publish(options, bound.refusal_as_data(options.mechanism, asked, options.digits))
        raise
    if options.output_format == "json":
        publish(options, bound.as_data(solved))
    else:
        publish(options, bound.as_text(solved, {**given, "sensitivity": options.sensitivity}))
    return 0


def _table(options: argparse.Namespace, mechanism: Any, given: dict[str, str | None]) -> int:
    """One row a combination. A row that cannot be answered says why; the exit code is 0 if any row could.

    What was computed before an interruption is printed before it takes its course.
    """
    from dpverify.cli.progress import Progress
    from dpverify.report import bound

    epsilons, deltas = (_several(given[name], name) for name in ("epsilon", "delta"))
    rows: list[bound.Row] = []
    failure: DpverifyError | None = None
    try:
        with Progress(len(epsilons) * len(deltas)) as progress:
            for epsilon, delta in product(epsilons, deltas):
                request = {**given, "epsilon": epsilon, "delta": delta}
                try:
                    solved = mechanism.solve(sensitivity=options.sensitivity, digits=options.digits, **request)
                    rows.append(bound.answered(solved, {**request, "sensitivity": options.sensitivity}))
                except (ImpossibleRequest, NotCovered, UndecidedError) as error:
                    failure = error
                    full = {**request, "sensitivity": options.sensitivity}
                    unknown = next(name for name in _solvable(mechanism) if request[name] is None)
                    rows.append(bound.refused(options.mechanism, full, options.digits, unknown, error))
                progress.advance()
    finally:
        if rows:
            publish(options, bound.table_as_data(rows) if options.output_format == "json" else _written(options, rows))
    if failure is not None and all(row.solved is None for row in rows):
        raise failure
    return 0


def _solvable(mechanism: Any) -> tuple[str, ...]:
    """The quantities of which one is left out."""
    return "epsilon", "delta", mechanism.scale_name


def _written(options: argparse.Namespace, rows: list[Any]) -> str:
    from dpverify.report import bound

    return bound.table_as_csv(rows) if options.output_format == "csv" else bound.table_as_text(rows)


def _several(words: str | None, name: str) -> list[str | None]:
    """The numbers of a list, all of them readable; a quantity that is left out is one unknown."""
    from dpverify.arithmetic.exact import to_exact

    if words is None:
        return [None]
    numbers = [word.strip() for word in words.split(",")]
    for number in numbers:
        to_exact(number, name)
    return list(numbers)


def _parameters(words: Sequence[str]) -> dict[str, str]:
    """The parameters of the mechanism that is named among `words`, with their meaning; of all, where none is named."""
    from dpverify.mechanisms import by_name, names

    named = [name for name in names() if name in words] or names()
    found: dict[str, dict[str, None]] = {}
    for mechanism in map(by_name, named):
        for parameter in mechanism.parameters:
            found.setdefault(parameter.name, {})[parameter.meaning] = None
    return {name: "; ".join(meanings) for name, meanings in found.items()}
