"""What the report draws, and what it says below each picture. Every picture has its content in words as well."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from dpverify.report.html.svg import Plot
from dpverify.report.layout import up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpverify.audit.result import AuditResult
    from dpverify.gate.pictures import Law, Pictures

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
    tests = [test for test in result.evidence["tests"] if test["set_aside"] is None and min(test["draws"], test["other_draws"])]
    if tests:
        found.append(_trade_off(result, tests, f"{name}-trade-off"))
    if math.isfinite(result.detectable_epsilon):
        found.append(_power(result, f"{name}-power"))
    return found


def _inputs(result: AuditResult) -> tuple[str, str]:
    first, second = result.evidence["mechanism"]["inputs"]
    return (first, second) if max(len(first), len(second)) <= 14 and first != second else ("inputs[0]", "inputs[1]")


def _cells(law: Law) -> tuple[float, float]:
    return law.edges[0], law.edges[-1]


def _laws(result: AuditResult, pictures: Pictures, name: str) -> Figure:
    law = pictures.law
    first, second = _inputs(result)
    heights = [[count / pictures.drawn for count in side] for side in law.counts]
    top = max(max(side) for side in heights) * 1.3 or 1.0
    plot = Plot(
        name=name,
        title="The laws of the outputs on the two inputs",
        words=f"Shares of {pictures.drawn:,} outputs in {len(heights[0])} cells. "
        + _table_in_words(law, first, second, pictures.drawn),
        across=_cells(law),
        upward=(0.0, top),
        across_label=law.coordinate,
        upward_label="share of outputs",
        names=law.names,
    )
    for left, right, part in zip(law.edges, law.edges[1:], law.inside, strict=False):
        if part > 0:
            plot.block(left, right, part)
    plot.steps(law.edges, heights[0], "first")
    plot.steps(law.edges, heights[1], "second")
    plot.key([("first", f"on {first}"), ("second", f"on {second}")])
    kind = "witness event" if result.witness is not None else "event with the largest bound"
    return Figure(
        title="Laws of the outputs",
        svg=plot.drawn(),
        caption=f"{pictures.drawn:,} outputs on either input. Shaded: the {kind}, <em>{escape(pictures.event)}</em>.",
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
    first, second = _inputs(result)
    middles, logs, spreads = [], [], []
    for place, (one, other) in enumerate(zip(*law.counts, strict=True)):
        if min(one, other) >= _LEAST:
            middles.append((law.edges[place] + law.edges[place + 1]) / 2)
            logs.append(math.log(one / other))
            spreads.append(1.96 * math.sqrt(1 / one + 1 / other))
    reach = max([abs(log) + spread for log, spread in zip(logs, spreads, strict=True)] + [result.epsilon * 1.25, 0.1])
    low, high = (min(logs), max(logs)) if logs else (0.0, 0.0)
    plot = Plot(
        name=name,
        title="The likelihood ratio",
        words=f"Logarithm of the ratio of the counts of {first} and {second}, cell by cell: from {low:.3g} to {high:.3g}; the"
        f" claim without delta keeps it between -{result.epsilon:.4g} and {result.epsilon:.4g}.",
        across=_cells(law),
        upward=(-reach, reach),
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
        upward=(min(*values, -1.0), max(*values, needed) * 1.4),
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


def _trade_off(result: AuditResult, tests: Sequence[dict[str, Any]], name: str) -> Figure:
    points = []
    for test in tests:
        likely, rare = test["hits"] / test["draws"], test["other_hits"] / test["other_draws"]
        points.append((rare, 1 - likely, bool(test["rejects"]), test["description"]))
    best = max(points, key=lambda point: (point[2], -point[0] - point[1]))
    plot = Plot(
        name=name,
        title="Claimed and measured trade-off",
        words=f"{len(points)} tested events as errors of a test that tells the inputs apart; the best, {best[3]}, has a"
        f" false-alarm rate of {best[0]:.4g} and a miss rate of {best[1]:.4g}.",
        across=(0.0, 1.0),
        upward=(0.0, 1.0),
        across_label="false-alarm rate",
        upward_label="miss rate",
    )
    limit = [(place / 200, _least_miss(place / 200, result.epsilon, result.delta)) for place in range(201)]
    plot.band([(x, 0.0) for x, _ in limit], limit, "mark")
    plot.line(limit, "claim")
    plot.line([(0.0, 1.0), (1.0, 0.0)], "grid")
    for x, y, rejects, _ in points:
        plot.dot(x, y, "bad" if rejects else "")
    plot.key([("claim", "limit of the claim")])
    return Figure(
        title="Trade-off",
        svg=plot.drawn(),
        caption="Each dot is a tested event with its measured rates. If the claim holds, no event lies in the shaded area,"
        " chance aside; red dots lie there beyond chance.",
    )


def _least_miss(alarm: float, epsilon: float, delta: float) -> float:
    factor = math.exp(min(epsilon, 700.0))
    return max(0.0, 1 - delta - factor * alarm, (1 - delta - alarm) / factor)


def _power(result: AuditResult, name: str) -> Figure:
    claimed, ninety = result.epsilon, result.detectable_epsilon
    evidence = result.evidence
    last = max((test["alpha"] for test in evidence["tests"] if test["set_aside"] is None), default=evidence["alpha"])
    normal = NormalDist()
    least = -normal.inv_cdf(min(last, 0.4))
    spread = max((ninety - claimed) / (least + normal.inv_cdf(0.9)), 1e-12)
    reach = claimed + (ninety - claimed) * 1.8 if ninety > claimed else claimed + 1
    points = [
        (epsilon, normal.cdf((epsilon - claimed) / spread - least))
        for epsilon in (claimed + (reach - claimed) * place / 80 for place in range(81))
    ]
    plot = Plot(
        name=name,
        title="Power of the audit",
        words=f"A true epsilon of {up(ninety)} in a tested event would have been refuted with probability 0.9.",
        across=(claimed, reach),
        upward=(0.0, 1.0),
        across_label="true epsilon in the tested event",
        upward_label="probability of a refutation",
    )
    plot.line(points, "first")
    plot.dot(ninety, 0.9)
    return Figure(
        title="Power",
        svg=plot.drawn(),
        caption=f"The dot is computed exactly: epsilon = {up(ninety)}. The curve through it is a normal approximation.",
    )


def of_profile(points: Sequence[tuple[float, float]], claimed: tuple[float, float], name: str) -> Figure:
    """The privacy profile of a mechanism of the catalogue, and the claim as a point."""
    logs = [(epsilon, math.log10(delta)) for epsilon, delta in points if delta > 0]
    at = math.log10(claimed[1]) if claimed[1] > 0 else None
    values = [value for _, value in logs] + ([at] if at is not None else [])
    plot = Plot(
        name=name,
        title="The privacy profile and the claim",
        words=f"delta against epsilon on a logarithmic scale, and the claimed point epsilon = {claimed[0]:.4g}, delta ="
        f" {claimed[1]:.4g}.",
        across=(points[0][0], points[-1][0]),
        upward=(min(values, default=-1.0) - 0.5, max(values, default=0.0) + 0.5),
        across_label="epsilon (nats)",
        upward_label="log10 of delta",
    )
    if logs:
        plot.line(logs, "first")
    if at is not None:
        plot.dot(claimed[0], at)
        plot.text(claimed[0], at, "  claim")
    plot.key([("first", "least delta that holds")])
    caption = "The curve joins certified upper bounds. The claim holds where its point lies on the curve or above it."
    return Figure(title="Privacy profile", svg=plot.drawn(), caption=caption)
