"""Values as pieces of HTML, for notebooks: each carries its own look, so it reads the same wherever it is shown.

Nothing is computed that the value does not hold already: a cell that ends in a value must not take seconds.
"""

from __future__ import annotations

import hashlib
from html import escape
from typing import TYPE_CHECKING, Any

from dpverify.report.html.formulas import between
from dpverify.report.html.style import PIECE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpverify.arithmetic.enclosure import Enclosure
    from dpverify.audit.result import AuditResult
    from dpverify.gate.outcome import Outcome
    from dpverify.mechanisms._mechanism import Mechanism, Solved
    from dpverify.verdict import Triangulation


def enclosure(value: Enclosure) -> str:
    """The guaranteed digits, both sides, and the doubles around it."""
    if value.is_infinite:
        return _piece("<p><strong>∞</strong></p>", [])
    low, high = value.bounds()
    side = ("exact", f"<code>{low}</code>") if low == high else ("certified", between(low, "x", high))
    doubles = f"<code>{value.lower!r}</code> and <code>{value.upper!r}</code>"
    return _piece(f"<p><strong><code>{escape(str(value))}</code></strong></p>", [side, ("doubles around it", doubles)])


def solved(found: Solved) -> str:
    """What was solved for, and its formula."""
    low, high = found.enclosure.bounds()
    return _piece(
        f"<p><strong>{escape(found.solved)} of {escape(found.mechanism)}:"
        f" <code>{escape(str(found.enclosure))}</code></strong></p>",
        [
            ("certified", between(low, found.solved, high)),
            ("safe double", f"<code>{found.safe_double!r}</code>"),
            ("formula", f"<code>{escape(found.expression)}</code>"),
        ],
    )


def mechanism(shown: Mechanism) -> str:
    """The parameters as they are held, and the formulas that answer for them."""
    about = (type(shown).__doc__ or "").strip().partition("\n")[0]
    values = [
        (one.name, f"<code>{escape(str(getattr(shown, one.name)))}</code> {escape(one.meaning)}") for one in shown.parameters
    ]
    formulas = [
        (f"least {solved}" if solved != "delta" else "delta", f"<code>{escape(shown.expression(solved))}</code>")
        for solved in ("delta", "epsilon", shown.scale_name)
    ]
    facts = [*values, ("sensitivity", f"<code>{escape(str(shown.sensitivity))}</code>"), *formulas]
    return _piece(f"<p><strong>{type(shown).__name__}</strong> {escape(about)}</p>", facts)


def audit(result: AuditResult) -> str:
    """The verdict first, what carries it, and the pictures that counts alone can give."""
    from dpverify.report.audit import MEANING, measured, power
    from dpverify.report.html import figures

    evidence = result.evidence
    claim = f"epsilon = {result.epsilon:.6g}, delta = {result.delta:.6g}"
    facts = [("claimed", f"{claim} of {escape(evidence['mechanism']['name'])}"), ("measured", escape(measured(result)))]
    if (witness := result.witness) is not None:
        named = figures.inputs_of(result)
        counts = f"{witness.hits:,} of {witness.draws:,} outputs on {named[witness.likelier]}, "
        counts += f"{witness.other_hits:,} of {witness.other_draws:,} on {named[1 - witness.likelier]}"
        facts.append(("witness", f"<em>{escape(witness.description)}</em>: {escape(counts)}. {escape(witness.remark)}"))
    else:
        facts.append(("power", escape(power(result.detectable_epsilon))))
    facts.append(("samples", f"{result.samples:,} outputs a side, of at most {evidence['samples']:,}"))
    facts += [("note", escape(note)) for note in result.notes]
    facts.append(("meaning", escape(MEANING[result.verdict].format(alpha=evidence["alpha"]))))
    drawn = figures.of_audit(result, None, _name(evidence))
    return _piece(_verdict(result.verdict.value), facts, drawn)


def triangulation(found: Triangulation) -> str:
    """Both opinions, and the audit below them."""
    facts = []
    if found.told is not None:
        delta, epsilon = found.certified_delta, found.certified_epsilon
        facts.append(("told", f"<code>{escape(found.told)}</code>"))
        facts += [
            (f"its {name}", between(*_around(name, value)))
            for name, value in (("delta", delta), ("epsilon", epsilon))
            if value is not None
        ]
        facts.append(("outputs", "are compatible with that law" if found.agrees else "do not follow that law"))
    facts += [("optimal event", escape(event)) for event in found.events]
    both = _piece(_verdict(found.verdict.value, " by what is certain and what was measured together"), facts)
    return both + audit(found.audit)


def outcome(found: Outcome) -> str:
    """A claim of a gate: its verdict, and what the report says of it."""
    from dpverify.report.gate import word
    from dpverify.report.html.page import facts_of

    drawn = []
    if found.result is not None:
        from dpverify.report.html import figures

        drawn = figures.of_audit(found.result, None, _name(found.result.evidence))
    return _piece(_verdict(word(found), f" {found.claim.name}"), facts_of(found), drawn)


def _around(name: str, value: Enclosure) -> tuple[str, str, str]:
    low, high = value.bounds(9)
    return low, name, high


def _verdict(word: str, rest: str = "") -> str:
    return f'<p><strong class="word {word.replace(" ", "-")}">{word}</strong>{escape(rest)}</p>'


def _name(evidence: dict[str, Any]) -> str:
    """What the ids of pictures begin with: the same for the same evidence, another for any other."""
    from dpverify.report.json import to_json

    return "dpverify-" + hashlib.sha256(to_json(evidence).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _piece(headline: str, facts: Iterable[tuple[str, str]], drawn: Iterable[Any] = ()) -> str:
    listed = "".join(f"<dt>{label}</dt><dd>{content}</dd>" for label, content in facts)
    shown = "".join(f"<figure><p>{one.title}</p>{one.svg}<figcaption>{one.caption}</figcaption></figure>" for one in drawn)
    figures = f'<div class="figures">{shown}</div>' if shown else ""
    return f'<div class="dpverify"><style>{PIECE}</style>{headline}<dl>{listed}</dl>{figures}</div>'
