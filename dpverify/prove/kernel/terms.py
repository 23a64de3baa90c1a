"""Terms: the only language in which the kernel states anything.

A term is a rational number (`Fraction`), a variable (`str`) or a call of one of the functions in `ARITY`. Terms are immutable
and are written as s-expressions, `(* 2 (exp (- x)))`, with exact numbers only. Nothing is evaluated or simplified here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_CHARACTERS = 60_000
DEEPEST = 80
LONGEST_NUMBER = 2_000
"""Limits on what is read, so that a hostile certificate is refused instead of exhausting the machine."""


class Rejected(ValueError):
    """The kernel does not accept what it was handed. The message says which part and why."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function applied to terms."""

    head: str
    args: tuple[Term, ...]


Term: TypeAlias = "Fraction | str | Call"

ARITY: dict[str, tuple[int, int]] = {
    "+": (1, 1000),
    "*": (1, 1000),
    "-": (1, 2),
    "/": (2, 2),
    "^": (2, 2),  # base to the power exponent; the base is positive unless the exponent is an integer
    "exp": (1, 1),
    "log": (1, 1),
    "sqrt": (1, 1),
    "phi": (1, 1),  # density of the standard normal law
    "Phi": (1, 1),  # its cumulative distribution function
    "erfc": (1, 1),
    "gammaq": (2, 2),  # Q(a, x), the regularised upper incomplete gamma function, for a > 0 and x >= 0
    "gamma": (1, 1),  # Gamma(a) for a > 0
    "tail": (3, 3),  # P(Binomial(m, a) >= k): the arguments are m, k, a
    "pi": (0, 0),
}

_TOKEN = re.compile(r"\s*(?:([()])|([^\s()]+))")
_NUMBER = re.compile(r"-?\d+(?:/\d+)?", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)


def number(text: str) -> Fraction:
    """A rational written as `3`, `-7` or `22/7`. Raises Rejected."""
    if not isinstance(text, str) or len(text) > LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        raise Rejected(f"{str(text)[:40]!r} is not an exact rational")
    above, _, below = text.partition("/")
    if below and int(below) == 0:
        raise Rejected(f"{text[:40]!r} divides by zero")
    return Fraction(int(above), int(below or 1))


def variable(text: str) -> str:
    """The name of a variable. Raises Rejected."""
    if not isinstance(text, str) or len(text) > 40 or not _VARIABLE.fullmatch(text) or text in ARITY:
        raise Rejected(f"{str(text)[:40]!r} is not the name of a variable")
    return text


def call(head: str, *args: Term) -> Call:
    """A call with the number of its arguments checked. Raises Rejected."""
    if head not in ARITY:
        raise Rejected(f"there is no function {head[:40]!r}")
    least, most = ARITY[head]
    if not least <= len(args) <= most:
        raise Rejected(f"{head} does not take {len(args)} arguments")
    return Call(head, args)


def parse(text: str) -> Term:
    """Read one s-expression. Raises Rejected on anything else, or beyond the limits."""
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise Rejected("a term must be text of bounded length")
    tokens = [match.group(1) or match.group(2) for match in _TOKEN.finditer(text.rstrip())]
    term, rest = _read(tokens, 0, 0)
    if rest != len(tokens):
        raise Rejected(f"{text[:60]!r} is more than one term")
    return term


def _read(tokens: list[str], at: int, depth: int) -> tuple[Term, int]:
    if depth > DEEPEST:
        raise Rejected("a term is nested too deeply")
    if at >= len(tokens) or tokens[at] == ")":
        raise Rejected("a term ends too early")
    token = tokens[at]
    if token != "(":
        return (number(token) if _NUMBER.fullmatch(token) else variable(token)), at + 1
    if at + 1 >= len(tokens):
        raise Rejected("a term ends too early")
    head, at, args = tokens[at + 1], at + 2, []
    while at < len(tokens) and tokens[at] != ")":
        argument, at = _read(tokens, at, depth + 1)
        args.append(argument)
    if at >= len(tokens):
        raise Rejected("a bracket is not closed")
    return call(head, *args), at + 1


def show(term: Term) -> str:
    """The s-expression; `parse(show(t)) == t`."""
    if isinstance(term, Call):
        return "(" + " ".join([term.head, *map(show, term.args)]) + ")"
    return str(term)


def subterms(term: Term) -> Iterator[Term]:
    """The term and everything in it."""
    yield term
    if isinstance(term, Call):
        for argument in term.args:
            yield from subterms(argument)


def free(term: Term) -> frozenset[str]:
    """The variables of a term. No function binds any."""
    return frozenset(part for part in subterms(term) if isinstance(part, str))


def substitute(term: Term, values: Mapping[str, Term]) -> Term:
    """The term with variables replaced, all at once."""
    if isinstance(term, str):
        return values.get(term, term)
    if isinstance(term, Call):
        return Call(term.head, tuple(substitute(argument, values) for argument in term.args))
    return term
