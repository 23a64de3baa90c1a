"""The page: the verdict first, then one line a claim, then for each claim what was found, its pictures and its evidence."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from dpverify.gate.claims import SampledClaim
from dpverify.gate.outcome import RULES, worst
from dpverify.guarantees import Verdict
from dpverify.report.audit import MEANING, measured, power
from dpverify.report.gate import line, repeat_command, summary, word
from dpverify.report.html import figures, formulas
from dpverify.report.html.style import STYLE
from dpverify.report.json import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpverify.gate.outcome import Outcome
    from dpverify.gate.pictures import Pictures
    from dpverify.notions.sides import Sides

_CLASS = {0: "not-refuted", 1: "refuted", 2: "error", 3: "undecided", 4: "error"}


def as_html(
    outcomes: Sequence[Outcome],
    *,
    seed: int,
    alpha: float,
    title: str = "Privacy claims",
    pictures: Mapping[str, Pictures] | None = None,
    profiles: Mapping[str, Sides] | None = None,
) -> str:
    """The file. `pictures` and `profiles` hold what is drawn of sampled and of analytic claims, by the name of the claim."""
    from dpverify import __version__

    code = worst([outcome.exit_code for outcome in outcomes])
    sentence = _sentence(code, outcomes)
    names = _ids(outcomes)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}: {sentence}</title>',
        f"<style>{STYLE}</style></head>",
        '<body><a class="skip" href="#claims">To the claims</a>',
        f'<header><h1>{escape(title)}</h1><div class="verdict {_CLASS[code]}"><p><strong>{sentence}</strong></p>'
        f"<p>{escape(summary(outcomes))}.</p><p>{_meaning(outcomes, alpha)}</p></div></header>",
        f"<main>{_table(outcomes, names)}",
    ]
    for outcome, name in zip(outcomes, names, strict=True):
        drawn = (pictures or {}).get(outcome.claim.name)
        profile = (profiles or {}).get(outcome.claim.name)
        parts.append(_section(outcome, name, drawn, profile))
    parts.append(_WORDS)
    parts.append(f"</main><footer><p>dpverify {__version__}, seed {seed}. {_FOOTER}</p></footer></body></html>")
    return "\n".join(parts) + "\n"


_WORDS = (
    '<section aria-labelledby="words"><h2 id="words">What the words mean</h2><dl>'
    "<dt>proved</dt><dd>The claim follows from certified arithmetic.</dd>"
    "<dt>refuted</dt><dd>A witness contradicts the claim: an event with its counts, of an audit; a certified number, of a claim"
    " about numbers.</dd>"
    "<dt>not refuted</dt><dd>The events that were tested do not contradict the claim; others may. No audit can show that a"
    " mechanism is private; it can fail to show that it is not, and say how hard it tried.</dd>"
    "<dt>undecided</dt><dd>Precision, samples or time ran out before either could be said.</dd>"
    "<dt>epsilon, delta</dt><dd>How much an output may tell about one person, in nats (a factor of e to the epsilon between"
    " probabilities), and the probability that is left out of account. Less is more private.</dd>"
    "<dt>level</dt><dd>The probability of refuting a claim of this kind that is true.</dd></dl></section>"
)

_FOOTER = (
    "Evidence is not signed: <code>dpverify recheck</code> recomputes a verdict from its counts, and whoever doubts the counts"
    " draws again. Pictures are drawn from outputs of their own and carry no verdict."
)


def _sentence(code: int, outcomes: Sequence[Outcome]) -> str:
    """The verdict on all claims together."""
    wrong = sum(outcome.exit_code == code for outcome in outcomes)
    one = len(outcomes) == 1
    return {
        0: "The claim is not refuted." if one else "No claim is refuted.",
        1: "The claim is refuted." if one else f"{wrong} of {len(outcomes)} claims {'are' if wrong > 1 else 'is'} refuted.",
        3: "It cannot be told whether the claim holds." if one else f"{wrong} of {len(outcomes)} claims cannot be told.",
    }.get(code, "The claim could not be checked." if one else f"{wrong} of {len(outcomes)} claims could not be checked.")


def _meaning(outcomes: Sequence[Outcome], alpha: float) -> str:
    said = []
    if any(isinstance(one.claim, SampledClaim) for one in outcomes):
        said.append(f"The probability that this run refutes any true claim is at most {alpha:.3g}.")
        said.append("“Not refuted” speaks of the events that were tested; others may exist.")
    if any(one.verdict is Verdict.PROVED for one in outcomes):
        said.append("“Proved” rests on certified arithmetic, for the mechanism of the catalogue with the stated parameters.")
    return " ".join(said)


def _ids(outcomes: Sequence[Outcome]) -> list[str]:
    return [
        f"claim-{place}-{re.sub(r'[^a-z0-9]+', '-', outcome.claim.name.lower()).strip('-')}"
        for place, outcome in enumerate(outcomes, start=1)
    ]


def _badge(outcome: Outcome) -> str:
    verdict = word(outcome)
    return f'<span class="word {verdict.replace(" ", "-")}">{verdict}</span>'


_COLUMNS = ("verdict", "claim", "claimed", "found")
"""A phone shows a cell below the other, each with its label; the roles keep it a table for a screen reader."""


def _table(outcomes: Sequence[Outcome], names: Sequence[str]) -> str:
    rows = []
    for outcome, name in zip(outcomes, names, strict=True):
        found = line(outcome).partition("; ")[2]
        claim = f'<a href="#{name}">{escape(outcome.claim.name)}</a>'
        cells = (_badge(outcome), claim, escape(outcome.claim.words), escape(found))
        labelled = zip(_COLUMNS, cells, strict=True)
        row = "".join(f'<td role="cell" data-label="{label}">{cell}</td>' for label, cell in labelled)
        rows.append(f'<tr role="row">{row}</tr>')
    head = "".join(f'<th scope="col" role="columnheader">{label}</th>' for label in _COLUMNS)
    return (
        '<div class="wide" id="claims" tabindex="0" role="region" aria-label="All claims">'
        f'<table role="table"><thead role="rowgroup"><tr role="row">{head}</tr></thead>'
        f'<tbody role="rowgroup">{"".join(rows)}</tbody></table></div>'
    )


def _section(outcome: Outcome, name: str, pictures: Pictures | None, profile: Sides | None) -> str:
    claim, result = outcome.claim, outcome.result
    parts = [f'<section aria-labelledby="{name}"><h2 id="{name}">{_badge(outcome)} {escape(claim.name)}</h2>', _facts(outcome)]
    drawn = [] if result is None else figures.of_audit(result, pictures, name)
    if profile is not None:
        drawn.append(figures.of_profile(profile, (_number(claim.epsilon), _number(claim.delta)), f"{name}-profile"))
    if drawn:
        shown = (f"<figure><h3>{one.title}</h3>{one.svg}<figcaption>{one.caption}</figcaption></figure>" for one in drawn)
        parts.append(f'<div class="figures">{"".join(shown)}</div>')
    if result is not None:
        parts += [_tests(outcome), _evidence(outcome)]
    return "\n".join([*parts, "</section>"])


def _facts(outcome: Outcome) -> str:
    return f"<dl>{''.join(f'<dt>{label}</dt><dd>{content}</dd>' for label, content in facts_of(outcome))}</dl>"


def facts_of(outcome: Outcome) -> list[tuple[str, str]]:
    """What is known of a claim: (label, HTML) in the order of importance."""
    claim, result, analysis = outcome.claim, outcome.result, outcome.analysis
    laws = "the two inputs" if isinstance(claim, SampledClaim) else "any two neighbouring datasets"
    facts = [
        ("claimed", escape(claim.words)),
        (
            "that is",
            f"{formulas.inequality(claim.epsilon, claim.delta)} for every set {formulas.name('S')} of outputs, where"
            f" {formulas.name('P')} and {formulas.name('Q')} are the laws of the output on {laws}, in either order",
        ),
    ]
    if claim.place is not None:
        facts.append(("stands in", f"<code>{escape(str(claim.place))}</code>"))
    if result is not None:
        first, second = result.evidence["mechanism"]["inputs"]
        facts.append(("inputs", f"<code>{escape(first)}</code> and <code>{escape(second)}</code>"))
        facts.append(("measured", escape(measured(result))))
        if (witness := result.witness) is not None:
            sides = (f"{witness.hits:,} of {witness.draws:,}", f"{witness.other_hits:,} of {witness.other_draws:,}")
            named = figures.inputs_of(result)
            counts = f"{sides[0]} outputs on {named[witness.likelier]}, {sides[1]} on {named[1 - witness.likelier]}"
            facts.append(("witness", f"<em>{escape(witness.description)}</em>: {escape(counts)}. {escape(witness.remark)}"))
        else:
            facts.append(("power", escape(power(result.detectable_epsilon))))
        facts.append(("samples", f"{result.samples:,} outputs a side, of at most {result.evidence['samples']:,}"))
        versions = ", ".join(f"{name} {number}" for name, number in result.evidence["versions"].items())
        facts.append(("made with", f"seed {result.evidence['seed']}; {escape(versions)}"))
        facts += [("note", escape(note)) for note in result.remarks]
        if outcome.verdict is not None:
            facts.append(("meaning", escape(MEANING[outcome.verdict].format(alpha=result.evidence["alpha"]))))
    if analysis is not None:
        low, high = analysis.delta.bounds(9)
        facts.append(
            (
                "certified",
                f"{formulas.between(low, 'δ', high)} for <code>{escape(analysis.mechanism)}</code> at the claimed epsilon",
            )
        )
        if analysis.least is not None:
            facts.append(
                ("least", f"{analysis.scale_name} = {analysis.least!r} satisfies the claim, the double below does not")
            )
    if outcome.error is not None:
        facts.append(("error", escape(str(outcome.error)).replace("\n", "<br>")))
    if (diagnosis := outcome.diagnosis) is not None:
        probably = "" if analysis is not None else "Probably: "
        facts += [
            ("cause", probably + escape(diagnosis.cause)),
            ("fix", re.sub(r"`(.*?)`", r"<code>\1</code>", escape(diagnosis.fix))),
        ]
        facts.append(("rule", f"{diagnosis.rule} {RULES[diagnosis.rule]}"))
    return facts


def _tests(outcome: Outcome) -> str:
    assert outcome.result is not None  # asked for where there is one
    rows = [
        f'<tr><td>{escape(test["description"])}</td><td class="number">{test["hits"]:,} of {test["draws"]:,}</td>'
        f'<td class="number">{test["other_hits"]:,} of {test["other_draws"]:,}</td><td class="number">{test["alpha"]:.3g}</td>'
        f'<td class="number">{test["epsilon_lower"]:.4g}</td><td>{escape(test["set_aside"] or "")}</td></tr>'
        for test in outcome.result.evidence["tests"]
    ]
    labels = ("event", "likelier input", "other input", "level", "epsilon is at least", "set aside because")
    head = "".join(f'<th scope="col">{label}</th>' for label in labels)
    return (
        f"<details><summary>All {len(rows)} tests, with their counts</summary>"
        '<div class="wide" tabindex="0" role="region" aria-label="Tests and counts">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div></details>"
    )


def _evidence(outcome: Outcome) -> str:
    assert outcome.result is not None  # asked for where there is one
    commands = []
    if outcome.evidence is not None:
        commands.append(f"dpverify recheck {outcome.evidence}")
    if (again := repeat_command(outcome)) is not None:
        commands.append(again)
    shown = f"<pre tabindex='0'>{escape(chr(10).join(commands))}</pre>" if commands else ""
    evidence = escape(to_json(outcome.result.evidence))
    return (
        f"<details><summary>Check it yourself</summary>{shown}<p>The evidence, for a file of your own and "
        f"<code>dpverify recheck</code>:</p><pre tabindex='0'>{evidence}</pre></details>"
    )


def _number(value: object) -> float:
    from dpverify.arithmetic.exact import float_above, to_exact

    return float_above(to_exact(value, "the claim"))
