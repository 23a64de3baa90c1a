"""What the report draws, and what it says below each picture. Every picture has its content in words as well."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from dpverify.arithmetic.rounded import up
from dpverify.report.html.svg import Plot, below_key
from dpverify.report.shapes import best_of, height, limit_of, power_curve, stretches, tested_events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpverify.audit.result import AuditResult
    from dpverify.gate.pictures import Law, Pictures
    from dpverify.notions.sides import Sides
    from dpverify.report.shapes import TestedEvent

_LEAST = 5
"""Outputs of a cell below which its likelihood ratio is not drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture and what stands below it (HTML)."""

    title: str
    svg: str
    caption: str


def of_audit(result: AuditResult, pictures: Pictures | None, name: str) -> list[Figure]:
    """Every picture that there is something for; `name` begins the ids of their elements."""
    found = []
    if pictures is not None:
        found += [_laws(result, pictures, f"{name}-laws"), _ratio(result, pictures, f"{name}-ratio")]
        found.append(_capital(result, pictures, f"{name}-capital"))
    if tested := tested_events(result):
        found.append(_trade_off(result, pictures, tested, f"{name}-trade-off"))
    if math.isfinite(result.detectable_epsilon):
        found.append(_power(result, f"{name}-power"))
    return found


def inputs_of(result: AuditResult) -> tuple[str, str]:
    """How the two inputs are called: as they are where they are short and differ."""
    first, second = result.evidence["mechanism"]["inputs"]
    return (first, second) if max(len(first), len(second)) <= 14 and first != second else ("inputs[0]", "inputs[1]")


def _cells(law: Law) -> tuple[float, float]:
    return law.edges[0], law.edges[-1]


def _laws(result: AuditResult, pictures: Pictures, name: str) -> Figure:
    law = pictures.law
    first, second = inputs_of(result)
    heights = [[count / pictures.drawn for count in side] for side in law.counts]
    top = max(max(side) for side in heights) or 1.0
    plot = Plot(
        name=name,
        title="The laws of the outputs on the two inputs",
        words=f"Shares of {pictures.drawn:,} outputs in {len(heights[0])} cells. "
        + _table_in_words(law, first, second, pictures.drawn),
        across=_cells(law),
        upward=below_key(0.0, top, 2),
        across_label=law.coordinate,
        upward_label="share of outputs",
        names=law.names,
    )
    for left, right, part in stretches(law):
        plot.block(left, right, part)
    plot.steps(law.edges, heights[0], "first")
    plot.steps(law.edges, heights[1], "second")
    plot.key([("first", f"on {first}"), ("second", f"on {second}")])
    kind = "witness event" if result.witness is not None else "event with the largest bound"
    return Figure(
        title="Laws of the outputs",
        svg=plot.drawn(),
        caption=f"{pictures.drawn:,} outputs on either input. Shaded: the {kind}, <em>{escape(pictures.event)}</em>."
        + ("" if law.names else " The outermost cells hold all that lies beyond."),
    )


def _table_in_words(law: Law, first: str, second: str, drawn: int) -> str:
    cells = sorted(range(len(law.counts[0])), key=lambda cell: -(law.counts[0][cell] + law.counts[1][cell]))[:6]
    said = []
    for cell in sorted(cells):
        where = law.names[cell] if law.names else f"{law.edges[cell]:.4g} to {law.edges[cell + 1]:.4g}"
        shares = [100 * side[cell] / drawn for side in law.counts]
        said.append(f"{where}: {shares[0]:.1f} % on {first}, {shares[1]:.1f} % on {second}")
    return "The largest cells: " + "; ".join(said) + "."


def _ratio(result: AuditResult, pictures: Pictures, name: str) -> Figure:
    law = pictures.law
    first, second = inputs_of(result)
    middles, logs, spreads = [], [], []
    for place, (one, other) in enumerate(zip(*law.counts, strict=True)):
        if min(one, other) >= _LEAST:
            middles.append((law.edges[place] + law.edges[place + 1]) / 2)
            logs.append(math.log(one / other))
            spreads.append(1.96 * math.sqrt(1 / one + 1 / other))
    reach = max([abs(log) + spread for log, spread in zip(logs, spreads, strict=True)] + [result.epsilon, 0.1]) * 1.05
    low, high = (min(logs), max(logs)) if logs else (0.0, 0.0)
    plot = Plot(
        name=name,
        title="The likelihood ratio",
        words=f"Logarithm of the ratio of the counts of {first} and {second}, cell by cell: from {low:.3g} to {high:.3g}; the"
        f" claim without delta keeps it between -{result.epsilon:.4g} and {result.epsilon:.4g}.",
        across=_cells(law),
        upward=below_key(-reach, reach, 2),
        across_label=law.coordinate,
        upward_label="log likelihood ratio (nats)",
        names=law.names,
    )
    for sign in (-1, 1):
        plot.line([(law.edges[0], sign * result.epsilon), (law.edges[-1], sign * result.epsilon)], "claim")
    if law.names:
        for x, log, spread in zip(middles, logs, spreads, strict=True):
            plot.line([(x, log - spread), (x, log + spread)], "first")
            plot.dot(x, log)
    elif logs:
        lower, upper = (
            [(x, log + sign * spread) for x, log, spread in zip(middles, logs, spreads, strict=True)] for sign in (-1, 1)
        )
        plot.band(lower, upper)
        plot.line(list(zip(middles, logs, strict=True)), "first")
    plot.key([("first", f"log of {first} to {second}"), ("claim", "claimed limits")])
    return Figure(
        title="Likelihood ratio",
        svg=plot.drawn(),
        caption=f"Cells with fewer than {_LEAST} outputs on a side are left out; the bars are 95 % intervals of single cells,"
        " an approximation. The verdict does not rest on this picture.",
    )


def _capital(result: AuditResult, pictures: Pictures, name: str) -> Figure:
    alpha = result.evidence["alpha"]
    needed = -math.log10(alpha)
    points = [(float(pairs), capital / math.log(10)) for pairs, capital in pictures.capital]
    values = [value for _, value in points]
    plot = Plot(
        name=name,
        title="Capital of a bettor against the claim",
        words=f"Decimal logarithm of the capital after {points[-1][0]:,.0f} pairs: {values[-1]:.3g}; {needed:.3g} would"
        " refute.",
        across=(0.0, points[-1][0]),
        upward=below_key(min(*values, -1.0), max(*values, needed), 2),
        across_label="pairs of outputs",
        upward_label="log10 of the capital",
    )
    plot.line([(0.0, needed), (points[-1][0], needed)], "claim")
    plot.line(points, "first")
    plot.key([("first", "capital"), ("claim", f"1/alpha, alpha = {alpha:.3g}")])
    return Figure(
        title="Capital over samples",
        svg=plot.drawn(),
        caption="Who starts with 1 and bets on the shaded event, at odds that are fair if the claim holds, is ever worth"
        " 1/alpha with a probability of at most alpha. Drawn from outputs of their own.",
    )


def _trade_off(result: AuditResult, pictures: Pictures | None, tested: Sequence[TestedEvent], name: str) -> Figure:
    best = best_of(list(tested))
    measured = [] if pictures is None else list(pictures.trade_off)
    plot = Plot(
        name=name,
        title="Claimed and measured trade-off",
        words=f"{len(tested)} tested events as errors of a test that tells the inputs apart; the best, {best.description}, has"
        f" a false-alarm rate of {best.alarm:.4g} and a miss rate of {best.miss:.4g}. Where that happens the claim allows no"
        f" miss rate below {_allowed(result, best.alarm):.4g}.",
        across=(0.0, 1.0),
        upward=(0.0, 1.0),
        across_label="false-alarm rate",
        upward_label="miss rate",
    )
    limit = limit_of(result)
    plot.band([(x, 0.0) for x, _ in limit], limit, "mark")
    plot.line([(0.0, 1.0), (1.0, 0.0)], "perfect")
    plot.line(limit, "claim")
    if measured:
        plot.line(measured, "first")
    for event in tested:
        plot.dot(event.alarm, event.miss, "bad" if event.rejects else "")
    entries = [("perfect", "perfect privacy"), ("claim", "limit of the claim")]
    plot.key([*entries, *([("first", "measured")] if measured else [])])
    curve = " The curve joins the best tests on outputs of the picture, chosen on one half and measured on the other."
    return Figure(
        title="Trade-off, claimed and measured",
        svg=plot.drawn(),
        caption="Whoever guesses from an output which input it came from makes two kinds of errors. Each dot is a tested event"
        " with its rates. If the claim holds, none lies in the shaded area, chance aside; red dots lie there beyond chance."
        + (curve if measured else ""),
    )


def _allowed(result: AuditResult, alarm: float) -> float:
    return height(limit_of(result), alarm)


def _power(result: AuditResult, name: str) -> Figure:
    ninety, points = result.detectable_epsilon, power_curve(result)
    plot = Plot(
        name=name,
        title="Power of the audit",
        words=f"A true epsilon of {up(ninety)} in a tested event would have been refuted with probability 0.9.",
        across=(points[0][0], points[-1][0]),
        upward=(0.0, 1.0),
        across_label="true epsilon in the tested event",
        upward_label="probability of a refutation",
    )
    plot.line([(points[0][0], 0.9), (ninety, 0.9), (ninety, 0.0)], "claim")
    plot.line(points, "first")
    plot.dot(ninety, 0.9)
    return Figure(
        title="Power",
        svg=plot.drawn(),
        caption=f"How large a violation would have been found. The dot is computed exactly: epsilon = {up(ninety)}. The curve"
        " through it is a normal approximation.",
    )


def of_profile(sides: Sides, claimed: tuple[float, float], name: str) -> Figure:
    """The privacy profile of a mechanism of the catalogue, and the claim as a point."""
    places, lower, upper = sides.outline()
    least = min([value for value in sides.upper if value > 0] + [claimed[1] or 1.0])
    floor = math.log10(least) - 0.5
    low, high = (
        [(x, max(floor, math.log10(y)) if y > 0 else floor) for x, y in zip(places, side, strict=True)]
        for side in (lower, upper)
    )
    at = math.log10(claimed[1]) if claimed[1] > 0 else None
    here = min(range(len(sides.places)), key=lambda place: abs(sides.places[place] - claimed[0]))
    found = f"At epsilon = {sides.places[here]:.4g} the least delta is {sides.upper[here]:.4g}"
    share = f", {sides.upper[here] / claimed[1]:.4g} times the claimed one" if at is not None else ""
    plot = Plot(
        name=name,
        title="The privacy profile and the claim",
        words=f"delta against epsilon on a logarithmic scale, and the claimed point epsilon = {claimed[0]:.4g}, delta ="
        f" {claimed[1]:.4g}. {found}{share}.",
        across=(places[0], places[-1]),
        upward=(floor, max(y for _, y in high) + 0.5),
        across_label="epsilon (nats)",
        upward_label="log10 of delta",
    )
    if at is not None:
        plot.line([(places[0], at), (claimed[0], at), (claimed[0], floor)], "claim")
    plot.band(low, high, "certain")
    if at is not None:
        plot.dot(claimed[0], at)
        plot.label(claimed[0], at, "claim")
    plot.key([("first", "least delta that holds")])
    caption = (
        f"The curve lies within the line that is drawn, for certain: it is known from both sides. The claim holds where its"
        f" point lies on the curve or above it. {found}{share}."
    )
    return Figure(title="Privacy profile", svg=plot.drawn(), caption=caption)
