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
from dpverify.report.html import figures
from dpverify.report.html.style import STYLE
from dpverify.report.json import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpverify.gate.outcome import Outcome
    from dpverify.gate.pictures import Pictures

_CLASS = {0: "not-refuted", 1: "refuted", 2: "error", 3: "undecided", 4: "error"}

_FORMULA = (
    "<math><mrow><mi>P</mi>{left}<mi>S</mi>{right}<mo>≤</mo><msup><mi>e</mi><mn>{epsilon}</mn></msup><mi>Q</mi>{left}"
    "<mi>S</mi>{right}{rest}</mrow></math>"
)
_LEFT, _RIGHT = (f'<mo stretchy="false">{sign}</mo>' for sign in "()")


def as_html(
    outcomes: Sequence[Outcome],
    *,
    seed: int,
    alpha: float,
    title: str = "Privacy claims",
    pictures: Mapping[str, Pictures] | None = None,
    profiles: Mapping[str, Sequence[tuple[float, float]]] | None = None,
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
    parts.append(f"</main><footer><p>dpverify {__version__}, seed {seed}. {_FOOTER}</p></footer></body></html>")
    return "\n".join(parts) + "\n"


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


def _table(outcomes: Sequence[Outcome], names: Sequence[str]) -> str:
    rows = []
    for outcome, name in zip(outcomes, names, strict=True):
        found = line(outcome).partition("; ")[2]
        claim = f'<a href="#{name}">{escape(outcome.claim.name)}</a>'
        rows.append(
            f"<tr><td>{_badge(outcome)}</td><td>{claim}</td><td>{escape(outcome.claim.words)}</td><td>{escape(found)}</td></tr>"
        )
    head = "".join(f'<th scope="col">{label}</th>' for label in ("verdict", "claim", "claimed", "found"))
    return (
        '<div class="wide" id="claims" tabindex="0" role="region" aria-label="All claims">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _section(outcome: Outcome, name: str, pictures: Pictures | None, profile: Sequence[tuple[float, float]] | None) -> str:
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
    claim, result, analysis = outcome.claim, outcome.result, outcome.analysis
    rest = "" if str(claim.delta) == "0" else f"<mo>+</mo><mn>{escape(str(claim.delta))}</mn>"
    formula = _FORMULA.format(left=_LEFT, right=_RIGHT, epsilon=escape(str(claim.epsilon)), rest=rest)
    facts = [("claimed", f"{formula} for every set <i>S</i> of outputs, in either order of the two inputs")]
    if claim.place is not None:
        facts.append(("stands in", f"<code>{escape(str(claim.place))}</code>"))
    if result is not None:
        first, second = result.evidence["mechanism"]["inputs"]
        facts.append(("inputs", f"<code>{escape(first)}</code> and <code>{escape(second)}</code>"))
        facts.append(("measured", escape(measured(result))))
        if (witness := result.witness) is not None:
            sides = (f"{witness.hits:,} of {witness.draws:,}", f"{witness.other_hits:,} of {witness.other_draws:,}")
            counts = f"{sides[0]} outputs on inputs[{witness.likelier}], {sides[1]} on inputs[{1 - witness.likelier}]"
            facts.append(("witness", f"<em>{escape(witness.description)}</em>: {counts}. {escape(witness.remark)}"))
        else:
            facts.append(("power", escape(power(result.detectable_epsilon))))
        facts.append(("samples", f"{result.samples:,} outputs a side, of at most {result.evidence['samples']:,}"))
        facts += [("note", escape(note)) for note in result.remarks]
        if outcome.verdict is not None:
            facts.append(("meaning", escape(MEANING[outcome.verdict].format(alpha=result.evidence["alpha"]))))
    if analysis is not None:
        low, high = analysis.delta.bounds(9)
        facts.append(("certified", f"delta of <code>{escape(analysis.mechanism)}</code> is between {low} and {high}"))
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
    return f"<dl>{''.join(f'<dt>{label}</dt><dd>{content}</dd>' for label, content in facts)}</dl>"


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
