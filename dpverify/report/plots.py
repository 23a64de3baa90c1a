"""Pictures by matplotlib, for notebooks and papers: what `plot()` of mechanisms and of results draws.

matplotlib is an extra and is imported when something is drawn. Curves of a mechanism are regions that contain them for certain
(`notions.sides`); pictures of an audit show what `shapes` and `gate.pictures` say, as the HTML report does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpverify.errors import InputError, MissingDependency, shown
from dpverify.report.shapes import limit_of, power_curve, stretches, tested_events

if TYPE_CHECKING:
    from dpverify.audit.result import AuditResult
    from dpverify.gate.pictures import Pictures
    from dpverify.notions.sides import Sides

_BLUE, _ORANGE, _RED, _YELLOW = "#0b5cad", "#a43c00", "#a4161a", "#f1d58a"
_FLOOR = 1e-12
"""The least delta of a logarithmic axis, where the curve goes down to 0."""


def of_mechanism(mechanism: Any, kind: str, *, axes: Any = None, points: int | None = None, reach: Any = None) -> Any:
    """The privacy profile, the trade-off function or the distribution of the privacy loss. `Mechanism.plot` documents it."""
    draw = _chosen(kind, {"profile": _profile, "trade-off": _trade_off, "loss": _loss})
    options = {} if points is None else {"points": points}
    if kind != "trade-off":
        options["reach"] = reach
    elif reach is not None:
        raise InputError(f"reach = {shown(reach)}: a trade-off function goes from 0 to 1; leave it out.")
    return draw(mechanism, lambda: _axes(axes, repr(mechanism)), options)


def of_audit(
    result: AuditResult, kind: str, *, axes: Any = None, mechanism: Any = None, inputs: Any = None, seed: int | None = None
) -> Any:
    """What an audit measured. `AuditResult.plot` documents it."""
    drawn = {"trade-off": _measured_trade_off, "power": _power}
    pictured = {"laws": _laws, "capital": _capital}
    draw = _chosen(kind, {**drawn, **pictured})
    if mechanism is None and inputs is None:
        if kind in pictured:
            raise InputError(
                f"kind = {kind!r}: a result holds counts and no outputs; give mechanism= and inputs=, as they were audited,"
                f" and outputs are drawn for the picture. {' and '.join(map(repr, drawn))} need none."
            )
        pictures = None
    elif mechanism is None or inputs is None:
        raise InputError("mechanism, inputs: outputs are drawn from both; give both as they were audited, or neither.")
    else:
        pictures = _pictures(result, mechanism, inputs, seed)
    on = _axes(axes, f"{result.evidence['mechanism']['name']}: {result.verdict.value}")
    draw(on, result, pictures)
    on.legend(frameon=False)
    return on


def _chosen(kind: object, known: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    if not isinstance(kind, str) or kind not in known:
        raise InputError(f"kind = {shown(kind)}: there is no such picture; choose one of {', '.join(map(repr, known))}.")
    return known[kind]


def _axes(given: Any, title: str) -> Any:
    """The axes to draw on: new ones where none are given. Raises MissingDependency without matplotlib."""
    if given is not None:
        if not callable(getattr(given, "fill_between", None)):
            raise InputError(f"axes = {shown(given)}: axes of matplotlib are needed, as plt.subplots() returns them.")
        return given
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingDependency(
            "plot() draws with matplotlib, which is not installed here: pip install 'dpverify[report]'."
        ) from None
    _, found = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
    found.set_title(title, fontsize="medium")
    return found


def _region(axes: Any, sides: Sides, label: str, colour: str = _BLUE, floor: float = 0.0) -> None:
    """A region that contains the curve for certain, as good as a line where it is narrow."""
    places, lower, upper = sides.outline()
    low, high = ([max(value, floor) for value in side] for side in (lower, upper))
    axes.fill_between(places, low, high, color=colour, linewidth=1.4, label=label)


def _profile(mechanism: Any, axes: Callable[[], Any], options: dict[str, Any]) -> Any:
    from dpverify.notions.sides import of_profile

    sides = of_profile(mechanism, **options)
    on = axes()
    positive = [value for value in sides.upper if value > 0]
    floor = max(_FLOOR, min(positive)) if positive else _FLOOR
    _region(on, sides, "least delta that holds", floor=floor)
    on.set(xlabel="epsilon (nats)", ylabel="delta", yscale="log", xlim=(0, sides.places[-1]))
    on.set_ylim(floor, max([*positive, 10 * floor]) * 1.5)
    on.legend(frameon=False)
    return on


def _trade_off(mechanism: Any, axes: Callable[[], Any], options: dict[str, Any]) -> Any:
    from dpverify.notions.sides import of_trade_off

    sides = of_trade_off(mechanism, **options)
    on = axes()
    _squared(on)
    _region(on, sides, "least miss rate of any test")
    on.legend(frameon=False)
    return on


def _loss(mechanism: Any, axes: Callable[[], Any], options: dict[str, Any]) -> Any:
    from dpverify.errors import NotCovered
    from dpverify.notions.pair import pairs_of
    from dpverify.notions.sides import of_loss, reach_of

    drawn = []
    for pair in pairs_of(mechanism):
        try:
            drawn.append(of_loss(pair, **options))
        except NotCovered:
            if options["reach"] is not None:
                raise
            drawn.append(of_loss(pair, **{**options, "reach": reach_of(mechanism, None)}))
    on = axes()
    colours = (_BLUE, _ORANGE, "#1b6e3c", "#7a5200")
    for number, sides in enumerate(drawn):
        label = "P(L <= x)" if len(drawn) == 1 else f"P(L <= x), order {number + 1} of {len(drawn)}"
        _region(on, sides, label, colours[number % len(colours)])
    on.set(xlabel="privacy loss x (nats)", ylabel="probability", ylim=(-0.02, 1.02))
    on.legend(frameon=False)
    return on


def _squared(axes: Any) -> None:
    axes.plot([0, 1], [1, 0], color="grey", linewidth=0.8, label="perfect privacy")
    axes.set(xlabel="false-alarm rate", ylabel="miss rate", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))


def _pictures(result: AuditResult, mechanism: Any, inputs: Any, seed: int | None) -> Pictures:
    from dpverify.gate.claims import SampledClaim
    from dpverify.gate.pictures import pictured

    claim = SampledClaim(
        name=result.evidence["mechanism"]["name"],
        mechanism=mechanism,
        inputs=inputs,
        epsilon=result.epsilon,
        delta=result.delta,
    )
    found = pictured(claim, result, result.evidence["seed"] if seed is None else seed)
    if found is None:
        raise InputError("mechanism, inputs: no outputs could be drawn for a picture, or no event was tested.")
    return found


def _laws(axes: Any, result: AuditResult, pictures: Pictures) -> None:
    law = pictures.law
    kind = "witness" if result.witness is not None else "event with the largest bound"
    for left, right, part in stretches(law):
        axes.axvspan(left, right, color=_YELLOW, alpha=part, linewidth=0)
    axes.plot([], [], color=_YELLOW, linewidth=8, label=f"{kind}: {pictures.event}")
    styles = ((_BLUE, "-"), (_ORANGE, "--"))
    for name, counts, (colour, style) in zip(result.evidence["mechanism"]["inputs"], law.counts, styles, strict=True):
        shares = [count / pictures.drawn for count in counts]
        axes.stairs(shares, law.edges, color=colour, linestyle=style, label=f"on {shown(name, str)}")
    if law.names:
        axes.set_xticks([place + 0.5 for place in range(len(law.names))], law.names)
    axes.set(xlabel=law.coordinate, ylabel=f"share of {pictures.drawn:,} outputs", xlim=(law.edges[0], law.edges[-1]))


def _capital(axes: Any, result: AuditResult, pictures: Pictures) -> None:
    pairs, logs = zip(*pictures.capital, strict=True)
    axes.plot(pairs, [value / math.log(10) for value in logs], color=_BLUE, label="capital of a bettor against the claim")
    alpha = result.evidence["alpha"]
    axes.axhline(-math.log10(alpha), color="black", linestyle=":", label=f"1/alpha, alpha = {alpha:.3g}")
    axes.set(xlabel="pairs of outputs", ylabel="log10 of the capital")


def _measured_trade_off(axes: Any, result: AuditResult, pictures: Pictures | None) -> None:
    limit = limit_of(result)
    axes.fill_between(*zip(*limit, strict=True), color=_YELLOW, label="excluded by the claim")
    _squared(axes)
    axes.plot(*zip(*limit, strict=True), color="black", linestyle=":")
    if pictures is not None:
        axes.plot(*zip(*pictures.trade_off, strict=True), color=_BLUE, label="measured on outputs of the picture")
    tested = tested_events(result)
    for rejects, colour, label in ((False, "black", "tested events"), (True, _RED, "tested events that refute")):
        dots = [(event.alarm, event.miss) for event in tested if event.rejects is rejects]
        if dots:
            axes.plot(*zip(*dots, strict=True), "o", color=colour, label=label)


def _power(axes: Any, result: AuditResult, pictures: Pictures | None) -> None:
    if result.detectable_epsilon == math.inf:
        raise InputError("kind = 'power': the audit had none; no epsilon would have been refuted with probability 0.9.")
    axes.plot(*zip(*power_curve(result), strict=True), color=_BLUE, label="normal approximation")
    axes.plot([result.detectable_epsilon], [0.9], "o", color="black", label=f"epsilon = {result.detectable_epsilon:.4g}")
    axes.set(xlabel="true epsilon in the tested event", ylabel="probability of a refutation", ylim=(-0.02, 1.02))
